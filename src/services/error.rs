//! Errors of services: one enum, which every surface renders in its own way.

use std::fmt::Display;
use std::sync::Arc;

use chatkeep_blobs::BlobError;
use chatkeep_core::assistant::limits;
use chatkeep_core::bounds::BoundExceeded;
use chatkeep_core::http::guard::Forbidden;
use chatkeep_search::saved_searches::CompareError;
use chatkeep_store::{
    DatabaseFault, KEYS_OF_USER, SAVED_SEARCHES_OF_USER, StoreError, WEBHOOKS_OF_USER,
};
use chatkeep_view::pseudonyms::MaskError;
use chatkeep_workers::assistant::CompileError;
use chatkeep_workers::log_failure;
use tracing::error;

use super::FieldPath;
use super::masks::MaskFailure;
use crate::event_renderer::RenderError;

/// Reason for which a service refuses a request or cannot fulfil it. It never contains SQL, a path
/// or a secret; internal causes are logged where they become one of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// A value is invalid: its place in the request (absent if not known), and a sentence about it.
    /// The defect is for surfaces that say it in another language.
    #[error("{why}")]
    Invalid { field: Option<FieldPath>, why: String, defect: Defect },
    /// The credential is missing, unknown or expired.
    #[error("invalid or missing credential")]
    InvalidKey,
    /// The scopes of the credential, or the times that it may read, do not cover the operation.
    #[error("insufficient permissions")]
    InsufficientPermissions,
    /// A value of that field is beyond the permissions of the credential.
    #[error("insufficient permissions for {field}")]
    InsufficientFor { field: FieldPath },
    /// A credential that shows pseudonyms does not get it.
    #[error("this is not available to a key that shows pseudonyms: use a key without them")]
    PseudonymousKey,
    /// The caller is not a member, their role is too low, or there is no such channel; callers are
    /// not told which.
    #[error("permission denied")]
    PermissionDenied,
    /// Named object that does not exist within what the caller may see.
    #[error("not found")]
    NotFound,
    /// The object has changed since the version that the caller expects.
    #[error("the object has another version")]
    Stale,
    /// The present state does not allow it; a sentence says why.
    #[error("{0}")]
    Conflict(&'static str),
    /// The user has as many keys as a user can have.
    #[error("a user can have at most {KEYS_OF_USER} active keys")]
    TooManyKeys,
    /// The user has as many webhooks as a user can have.
    #[error("a user can have at most {WEBHOOKS_OF_USER} webhooks")]
    TooManyWebhooks,
    /// The user has as many saved searches as a user can have.
    #[error("a user can have at most {SAVED_SEARCHES_OF_USER} saved searches")]
    TooManySavedSearches,
    /// The webhook is disabled, so nothing can be sent to it.
    #[error("the webhook is disabled")]
    WebhookDisabled,
    /// The plan of the channel's owner does not include semantic mode.
    #[error("semantic mode requires the pro plan")]
    PlanRequired,
    /// The rules of the channel would have that many bytes.
    #[error("the rules would have {bytes} bytes; at most {} are allowed", limits::RULE_BYTES)]
    RulesTooLarge { bytes: i64 },
    /// The channel has as many rules as a channel can have.
    #[error("a channel can have at most {} rules", limits::RULES)]
    TooManyRules,
    /// Events after the cursor of the feed were purged before they were read.
    #[error("events after the cursor are not retained any more")]
    CursorExpired,
    /// The first request with the same idempotency key is still running.
    #[error("a request with the same idempotency key is running")]
    RequestRunning,
    /// Something broke inside of the service.
    #[error("internal error")]
    Internal,
    /// A dependency is down; the same request may succeed later.
    #[error("a dependency is unavailable")]
    Unavailable,
}

/// Kind of defect of a value. Its text continues a sentence that begins with the name of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// Nothing is given.
    #[error("must not be empty")]
    Empty,
    /// A text has more characters than allowed.
    #[error("is longer than {max} characters")]
    TooLong { max: usize },
    /// A list has more keywords than allowed.
    #[error("contains more than {max} keywords")]
    TooManyKeywords { max: usize },
    /// A list has fewer keywords than needed.
    #[error("must contain at least {min} keyword")]
    TooFewKeywords { min: usize },
    /// A list has more texts than allowed.
    #[error("contains more than {max} texts")]
    TooManyTexts { max: usize },
    /// A text that a rule must not answer is one of its keywords.
    #[error("is a keyword of the rule")]
    IsKeyword,
    /// A keyword is a text that the rule must not answer.
    #[error("is a text that the rule must not answer")]
    IsNotFor,
    /// The times of a query leave none.
    #[error("leaves no time")]
    NoTime,
    /// No scope is chosen.
    #[error("must contain at least one scope")]
    NoScope,
    /// No event is chosen.
    #[error("must contain at least one event")]
    NoEvent,
    /// A time that must be in the future is not.
    #[error("must be in the future")]
    Past,
    /// An address cannot be called.
    #[error("cannot be used: {0}")]
    Address(Forbidden),
    /// Any other defect, which its sentence describes.
    #[error("is invalid")]
    Other,
}

impl ServiceError {
    /// Creates an error about a value, with a sentence about it: `must be …`, `is longer than …`.
    pub fn invalid_value(field: FieldPath, why: impl Display) -> Self {
        let why = format!("{field} {why}");
        Self::Invalid { field: Some(field), why, defect: Defect::Other }
    }

    /// Creates an error about a value with that defect.
    pub fn defective(field: FieldPath, defect: Defect) -> Self {
        let why = format!("{field} {defect}");
        Self::Invalid { field: Some(field), why, defect }
    }
}

impl From<BoundExceeded> for ServiceError {
    fn from(exceeded: BoundExceeded) -> Self {
        match exceeded {
            BoundExceeded::End => Self::InvalidKey,
            BoundExceeded::Scope => Self::InsufficientPermissions,
            BoundExceeded::Channel => Self::PermissionDenied,
            BoundExceeded::Time => Self::NotFound,
        }
    }
}

/// A value that the database refuses for good is the fault of the request, which must not be
/// repeated.
impl From<&StoreError> for ServiceError {
    fn from(cause: &StoreError) -> Self {
        if matches!(cause, StoreError::ClaimLost) {
            return Self::RequestRunning;
        }
        let error = match cause.fault() {
            DatabaseFault::Unavailable | DatabaseFault::Cancelled => Self::Unavailable,
            DatabaseFault::Refused => {
                let why = "A value of the request cannot be stored".to_owned();
                Self::Invalid { field: None, why, defect: Defect::Other }
            }
            DatabaseFault::Unknown => Self::Internal,
        };
        log_failure!(error, cause, "store failed");
        error
    }
}

impl From<StoreError> for ServiceError {
    fn from(cause: StoreError) -> Self {
        (&cause).into()
    }
}

impl From<MaskFailure> for ServiceError {
    fn from(cause: MaskFailure) -> Self {
        match cause {
            MaskFailure::Store(cause) => cause.into(),
            MaskFailure::Mask(cause) => cause.into(),
        }
    }
}

impl From<RenderError> for ServiceError {
    fn from(cause: RenderError) -> Self {
        match cause {
            RenderError::Store(cause) | RenderError::Compare(CompareError::Store(cause)) => {
                cause.into()
            }
            RenderError::Mask(cause) => cause.into(),
            RenderError::Compare(CompareError::Search(_)) | RenderError::Json(_) => {
                log_failure!(error, &cause, "cannot render events");
                Self::Internal
            }
        }
    }
}

impl From<MaskError> for ServiceError {
    fn from(cause: MaskError) -> Self {
        let cause: &dyn std::error::Error = &cause;
        error!(error = cause, "cannot mask people for a key with pseudonyms: nothing is shown");
        Self::Internal
    }
}

impl From<Arc<CompileError>> for ServiceError {
    fn from(cause: Arc<CompileError>) -> Self {
        if let CompileError::Store(cause) = &*cause {
            return cause.into();
        }
        let cause: &dyn std::error::Error = &*cause;
        error!(error = cause, "the assistant cannot be compiled");
        Self::Internal
    }
}

impl From<CompileError> for ServiceError {
    fn from(cause: CompileError) -> Self {
        Arc::new(cause).into()
    }
}

/// A file that is gone was unsent in the meantime.
impl From<BlobError> for ServiceError {
    fn from(cause: BlobError) -> Self {
        if matches!(cause, BlobError::NotFound(_)) {
            return Self::NotFound;
        }
        let is_transient = cause.is_transient();
        log_failure!(error, &cause, "media store failed");
        if is_transient { Self::Unavailable } else { Self::Internal }
    }
}

/// The error of a decoder: the place of a value, and a sentence about it.
impl From<(FieldPath, String)> for ServiceError {
    fn from((field, why): (FieldPath, String)) -> Self {
        Self::invalid_value(field, why)
    }
}
