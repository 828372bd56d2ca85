//! Errors of all HTTP surfaces: one enum, one table of status, code and public text.
//!
//! Policy: internal errors are logged with their causes where they become an [`HttpError`]; the
//! caller gets a fixed sentence. No error contains SQL, a path, a secret or a stack trace.

use std::borrow::Cow;
use std::fmt::Display;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_core::assistant::limits;
use chatkeep_services::{FieldPath, ServiceError};
use chatkeep_store::{KEYS_OF_USER, SAVED_SEARCHES_OF_USER, WEBHOOKS_OF_USER};
use serde_json::{Map, Value};

use super::error_body::ErrorBody;
use super::error_code::ErrorCode;

/// Error of a request, as the caller sees it.
#[derive(Clone, Debug)]
pub enum HttpError {
    /// 400: location of a value and a sentence about it. Without a location only when the value is
    /// unknown.
    Invalid {
        /// Location of the value.
        field: Option<FieldPath>,
        /// Sentence on the mistake.
        why: String,
    },
    /// 401.
    InvalidKey,
    /// 403: the key's scopes do not cover the operation.
    InsufficientPermissions,
    /// 403: a value in that field is beyond the key's scopes.
    InsufficientFor {
        /// Location of the value.
        field: FieldPath,
    },
    /// 403: not a member, role too low, or no such channel; the reason is not disclosed.
    PermissionDenied,
    /// 404.
    NotFound,
    /// 404.
    UnknownVersion,
    /// 405.
    MethodNotAllowed,
    /// 409.
    Conflict(&'static str),
    /// 412: `If-Match` names another version.
    Stale,
    /// 413.
    TooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 429.
    RateLimited {
        /// Time to wait, in seconds.
        retry_after: u64,
    },
    /// Error of one route.
    Refused {
        /// Status of the response.
        status: StatusCode,
        /// Code for programs.
        code: ErrorCode,
        /// Sentence for people.
        error: &'static str,
    },
    /// Error of one route with a computed sentence.
    Explained {
        /// Status of the response.
        status: StatusCode,
        /// Code for programs.
        code: ErrorCode,
        /// Sentence for people.
        error: String,
    },
    /// 400: the rules of a channel would be too large.
    RulesTooLarge {
        /// Size that they would have, in bytes.
        bytes: i64,
    },
    /// 400: the channel would have more rules than a channel can have.
    TooManyRules,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

/// Returns the description of a status in the documentation.
pub fn sentence(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "Invalid value: `field` names it, `error` gives the reason",
        401 => "Invalid or missing API key",
        403 => {
            "The scopes or `notBefore` of the credential do not cover the operation \
             (`insufficient_permissions`), or the caller lacks the role in the channel \
             (`permission_denied`)"
        }
        404 => "Not found",
        406 => "The response is not available in a media type that `Accept` allows",
        409 => "The request conflicts with the present state: `code` and `error` give the reason",
        410 => "Events after the cursor are no longer retained",
        412 => "The object has changed: `If-Match` names another version",
        413 => "The request body is too large",
        415 => "The request body must be application/json",
        416 => "The requested range is outside the file",
        422 => "The Idempotency-Key was used for another request",
        429 => "Rate limit exceeded",
        503 => "Service unavailable",
        _ => "Internal server error",
    }
}

impl HttpError {
    /// Creates an error about an invalid value, with a whole sentence.
    pub fn invalid(field: FieldPath, why: impl Into<String>) -> Self {
        Self::Invalid { field: Some(field), why: why.into() }
    }

    /// Creates an error from a predicate about the location: `must be …`, `is longer than …`.
    pub fn invalid_value(field: FieldPath, why: impl Display) -> Self {
        let why = format!("{field} {why}");
        Self::invalid(field, why)
    }

    /// The first request with this key is still running.
    pub const RUNNING: Self = Self::Conflict(
        "The first request with this Idempotency-Key has not ended, or was interrupted less than two \
         minutes ago: try again later",
    );

    /// The mode needs the plan.
    const SEMANTIC_NEEDS_PRO: Self = Self::Refused {
        status: StatusCode::FORBIDDEN,
        code: ErrorCode::PlanRequired,
        error: "Semantic mode requires the pro plan",
    };

    /// No coding of bodies is known.
    pub(super) const COMPRESSED: Self = Self::Refused {
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        code: ErrorCode::UnsupportedMediaType,
        error: "The request body must not be compressed: `Content-Encoding` has to be absent",
    };

    /// Events after the cursor were purged before they were read.
    const CURSOR_EXPIRED: Self = Self::Refused {
        status: StatusCode::GONE,
        code: ErrorCode::CursorExpired,
        error: "Events after the cursor are no longer retained: start again with cursor=latest, and \
                list the objects that you keep a copy of",
    };

    /// The request may come from a page of another origin (CSRF).
    pub const FORGED: Self = Self::Refused {
        status: StatusCode::FORBIDDEN,
        code: ErrorCode::InvalidCsrfToken,
        error: "The X-CSRF-Token header is missing or wrong",
    };

    /// Returns the error for a user who has as many keys as a user may have.
    fn too_many_keys() -> Self {
        Self::Explained {
            status: StatusCode::CONFLICT,
            code: ErrorCode::TooManyKeys,
            error: format!("A user can have at most {KEYS_OF_USER} active keys: delete one first"),
        }
    }

    /// Returns the error for a user who has as many webhooks as a user may have.
    fn too_many_webhooks() -> Self {
        Self::Explained {
            status: StatusCode::CONFLICT,
            code: ErrorCode::Conflict,
            error: format!("A user can have at most {WEBHOOKS_OF_USER} webhooks: delete one first"),
        }
    }

    /// Returns the error for a user who has as many saved searches as a user may have.
    fn too_many_saved_searches() -> Self {
        Self::Explained {
            status: StatusCode::CONFLICT,
            code: ErrorCode::Conflict,
            error: format!(
                "A user can have at most {SAVED_SEARCHES_OF_USER} saved searches: delete one first"
            ),
        }
    }

    /// Nothing can be sent to the webhook.
    const WEBHOOK_DISABLED: Self = Self::Conflict("The webhook is disabled: enable it first");

    /// Returns the stable code and the sentence of the response.
    pub fn code_and_sentence(&self) -> (ErrorCode, Cow<'static, str>) {
        let (_, code, error) = self.parts();
        (code, error)
    }

    /// Status, stable code and public sentence.
    fn parts(&self) -> (StatusCode, ErrorCode, Cow<'static, str>) {
        let (status, code, error) = match self {
            Self::Invalid { why, .. } => {
                return (StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, why.clone().into());
            }
            Self::RulesTooLarge { bytes } => {
                let why = format!(
                    "The rules of the channel would have {bytes} bytes; at most {} are allowed",
                    limits::RULE_BYTES
                );
                return (StatusCode::BAD_REQUEST, ErrorCode::RulesTooLarge, why.into());
            }
            Self::TooManyRules => {
                let why = format!("A channel can have at most {} rules", limits::RULES);
                return (StatusCode::BAD_REQUEST, ErrorCode::TooManyRules, why.into());
            }
            Self::Refused { status, code, error } => (*status, *code, *error),
            Self::Explained { status, code, error } => {
                return (*status, *code, error.clone().into());
            }
            Self::Conflict(why) => (StatusCode::CONFLICT, ErrorCode::Conflict, *why),
            other => other.fixed(),
        };
        (status, code, error.into())
    }

    /// Returns the parts of errors with a fixed text.
    const fn fixed(&self) -> (StatusCode, ErrorCode, &'static str) {
        match self {
            Self::InvalidKey => {
                (StatusCode::UNAUTHORIZED, ErrorCode::InvalidApiKey, "Invalid or missing API key")
            }
            Self::InsufficientPermissions | Self::InsufficientFor { .. } => (
                StatusCode::FORBIDDEN,
                ErrorCode::InsufficientPermissions,
                "Insufficient permissions",
            ),
            Self::PermissionDenied => {
                (StatusCode::FORBIDDEN, ErrorCode::PermissionDenied, "Permission denied")
            }
            Self::NotFound => (StatusCode::NOT_FOUND, ErrorCode::NotFound, "Not found"),
            Self::UnknownVersion => {
                (StatusCode::NOT_FOUND, ErrorCode::UnknownApiVersion, "Unknown API version")
            }
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                ErrorCode::MethodNotAllowed,
                "The route does not support this method",
            ),
            Self::Stale => (
                StatusCode::PRECONDITION_FAILED,
                ErrorCode::PreconditionFailed,
                "The object has changed: read it again and send its current ETag in If-Match",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                ErrorCode::BodyTooLarge,
                "The request body is too large",
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                ErrorCode::UnsupportedMediaType,
                "The request body must be application/json",
            ),
            Self::RateLimited { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited, "Rate limit exceeded")
            }
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable, "Service unavailable")
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal, "Internal server error"),
        }
    }
}

impl HttpError {
    /// Returns the status and the body.
    pub(super) fn into_body(self) -> (StatusCode, ErrorBody) {
        let (status, code, error) = self.parts();
        let (field, retry_after) = match self {
            Self::Invalid { field, .. } => (field.map(|field| field.text()), None),
            Self::InsufficientFor { field } => (Some(field.text()), None),
            Self::RulesTooLarge { .. } | Self::TooManyRules => (Some(FieldPath::BODY.text()), None),
            Self::RateLimited { retry_after } => (None, Some(retry_after)),
            _ => (None, None),
        };
        (status, ErrorBody { error, code, field, retry_after, more: Map::new() })
    }

    /// Returns the response with additional members in its body.
    pub fn with(self, more: Map<String, Value>) -> Response {
        let (status, body) = self.into_body();
        let mut response = status.into_response();
        if let Some(seconds) = body.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(ErrorBody { more, ..body });
        response
    }

    /// Returns the error for a status from beneath the routes: axum, hyper, a library.
    pub(super) const fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::UnsupportedMediaType,
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable,
            status if status.as_u16() >= 500 => {
                Self::Refused { status, code: ErrorCode::Internal, error: "Internal server error" }
            }
            status => Self::Refused {
                status,
                code: ErrorCode::InvalidRequest,
                error: "The request is not valid",
            },
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        self.with(Map::new())
    }
}

impl From<ServiceError> for HttpError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Invalid { field, why, .. } => Self::Invalid { field, why },
            ServiceError::InvalidKey => Self::InvalidKey,
            ServiceError::InsufficientPermissions => Self::InsufficientPermissions,
            ServiceError::InsufficientFor { field } => Self::InsufficientFor { field },
            ServiceError::PseudonymousKey => super::pseudonymous::REFUSED,
            ServiceError::PermissionDenied => Self::PermissionDenied,
            ServiceError::NotFound => Self::NotFound,
            ServiceError::Stale => Self::Stale,
            ServiceError::Conflict(why) => Self::Conflict(why),
            ServiceError::TooManyKeys => Self::too_many_keys(),
            ServiceError::TooManyWebhooks => Self::too_many_webhooks(),
            ServiceError::TooManySavedSearches => Self::too_many_saved_searches(),
            ServiceError::WebhookDisabled => Self::WEBHOOK_DISABLED,
            ServiceError::PlanRequired => Self::SEMANTIC_NEEDS_PRO,
            ServiceError::RulesTooLarge { bytes } => Self::RulesTooLarge { bytes },
            ServiceError::TooManyRules => Self::TooManyRules,
            ServiceError::CursorExpired => Self::CURSOR_EXPIRED,
            ServiceError::RequestRunning => Self::RUNNING,
            ServiceError::Internal => Self::Internal,
            ServiceError::Unavailable => Self::Unavailable,
        }
    }
}
