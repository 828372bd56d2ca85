//! Errors of the API: one enum, one table of status, code and public text (contract section 1).
//!
//! Policy: whatever goes wrong inside is logged with its causes where it is turned into an
//! [`ApiError`]; the caller gets a fixed sentence. No error shows SQL, a path, a secret or a stack.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::store::StoreError;
use tracing::error;

/// What went wrong, as the caller may know it.
#[derive(Clone, Debug)]
pub(crate) enum ApiError {
    /// 400: a field, and what is wrong with it.
    Invalid { field: Option<Cow<'static, str>>, why: String },
    /// 401.
    InvalidKey,
    /// 403: the key's scopes do not cover the operation.
    InsufficientPermissions,
    /// 403: not a member, role too low, no such channel. Which one is not told.
    PermissionDenied,
    /// 403: the mode needs the plan.
    SemanticNeedsPro,
    /// 404.
    NotFound,
    /// 404.
    UnknownVersion,
    /// 405.
    MethodNotAllowed,
    /// 409.
    Conflict(&'static str),
    /// 413.
    TooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
    /// A refusal of a part beside this one.
    Refused { status: StatusCode, code: &'static str, error: &'static str },
}

/// What [`super::respond::finish`] writes into the body.
#[derive(Clone, Debug)]
pub(super) struct ErrorBody {
    pub(super) error: Cow<'static, str>,
    pub(super) code: &'static str,
    pub(super) field: Option<Cow<'static, str>>,
}

impl ApiError {
    /// A value that is not acceptable.
    pub(super) fn invalid(field: impl Into<Cow<'static, str>>, why: impl Into<String>) -> Self {
        Self::Invalid { field: Some(field.into()), why: why.into() }
    }

    /// Status, stable code and public sentence.
    fn parts(&self) -> (StatusCode, &'static str, Cow<'static, str>) {
        let (status, code, error) = match self {
            Self::Invalid { why, .. } => {
                return (StatusCode::BAD_REQUEST, "invalid_request", why.clone().into());
            }
            Self::InvalidKey => {
                (StatusCode::UNAUTHORIZED, "invalid_api_key", "Invalid or missing API key")
            }
            Self::InsufficientPermissions => {
                (StatusCode::FORBIDDEN, "insufficient_permissions", "Insufficient permissions")
            }
            Self::PermissionDenied => {
                (StatusCode::FORBIDDEN, "permission_denied", "Permission denied")
            }
            Self::SemanticNeedsPro => {
                (StatusCode::FORBIDDEN, "plan_required", "Semantic mode requires the pro plan")
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "Not found"),
            Self::UnknownVersion => {
                (StatusCode::NOT_FOUND, "unknown_api_version", "Unknown API version")
            }
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "This route does not take that method",
            ),
            Self::Conflict(why) => (StatusCode::CONFLICT, "conflict", *why),
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "The request body is too large")
            }
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The request body must be application/json",
            ),
            Self::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal server error")
            }
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Service unavailable")
            }
            Self::Refused { status, code, error } => (*status, *code, *error),
        };
        (status, code, error.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code, error) = self.parts();
        let field = match self {
            Self::Invalid { field, .. } => field,
            _ => None,
        };
        let mut response = status.into_response();
        response.extensions_mut().insert(ErrorBody { error, code, field });
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(cause: StoreError) -> Self {
        let transient = cause.is_transient();
        let cause: &dyn std::error::Error = &cause;
        error!(error = cause, "store failed");
        if transient { Self::Unavailable } else { Self::Internal }
    }
}
