//! Errors of services: one enum, which every surface renders in its own way.

use std::fmt::Display;

use chatkeep_core::bounds::BoundExceeded;
use chatkeep_store::{DatabaseFault, StoreError};
use chatkeep_workers::log_failure;

use super::FieldPath;

/// Reason for which a service refuses a request or cannot fulfil it. It never contains SQL, a path
/// or a secret; internal causes are logged where they become one of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServiceError {
    /// A value is invalid: its place in the request (absent if not known), and a sentence about it.
    #[error("{why}")]
    Invalid { field: Option<FieldPath>, why: String },
    /// The credential is missing, unknown or expired.
    #[error("invalid or missing credential")]
    InvalidKey,
    /// The scopes of the credential do not cover the operation.
    #[error("insufficient permissions")]
    InsufficientPermissions,
    /// The caller is not a member, their role is too low, or there is no such channel; callers are
    /// not told which.
    #[error("permission denied")]
    PermissionDenied,
    /// Named object that does not exist within what the caller may see.
    #[error("not found")]
    NotFound,
    /// Something broke inside of the service.
    #[error("internal error")]
    Internal,
    /// A dependency is down; the same request may succeed later.
    #[error("a dependency is unavailable")]
    Unavailable,
}

impl ServiceError {
    /// Creates an error about a value, with a sentence about it: `must be …`, `is longer than …`.
    pub(crate) fn invalid_value(field: FieldPath, why: impl Display) -> Self {
        let why = format!("{field} {why}");
        Self::Invalid { field: Some(field), why }
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
        let error = match cause.fault() {
            DatabaseFault::Unavailable => Self::Unavailable,
            DatabaseFault::Refused => {
                let why = "A value of the request cannot be stored".to_owned();
                Self::Invalid { field: None, why }
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

/// The error of a decoder: the place of a value, and a sentence about it.
impl From<(FieldPath, String)> for ServiceError {
    fn from((field, why): (FieldPath, String)) -> Self {
        Self::invalid_value(field, why)
    }
}
