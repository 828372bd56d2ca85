//! Why a login is refused, and what the browser is told of it. Causes are logged where they are
//! found; nothing secret and nothing that the caller sent is repeated.

use axum::http::StatusCode;
use chatkeep_core::store::StoreError;

use crate::api::{ApiError, FieldPath};

/// Why a login is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// No identity provider is configured.
    #[error("login is not set up")]
    NotConfigured,
    /// The page to return to is not one of this service.
    #[error("the return path is not a local one")]
    BadReturn,
    /// The provider's call back is not of the form it has to have.
    #[error("the call back is malformed")]
    Malformed,
    /// No such login was started in this browser, or it was used already, or took too long.
    #[error("no such login is pending")]
    NotPending,
    /// The person, or the provider for them, said no.
    #[error("the provider denied the login")]
    Denied,
    /// The provider does not take the code, or its token is not one to believe.
    #[error("the login could not be confirmed")]
    Unconfirmed,
    /// The provider is down or does not know this service.
    #[error("the identity provider is not available")]
    Unavailable,
    /// Nobody is signed in.
    #[error("nobody is signed in")]
    SignedOut,
    /// The request may come from a page of somebody else.
    #[error("no CSRF token")]
    Forged,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl From<LoginError> for ApiError {
    fn from(error: LoginError) -> Self {
        let (status, code, error) = match error {
            LoginError::NotConfigured => return Self::NotFound,
            LoginError::Unavailable => return Self::Unavailable,
            LoginError::Store(error) => return error.into(),
            LoginError::BadReturn => {
                let why = "must be a path of this service that begins with /";
                return Self::invalid_value(FieldPath::parameter("returnTo"), why);
            }
            LoginError::Malformed => {
                (StatusCode::BAD_REQUEST, "invalid_request", "The login request is not valid")
            }
            LoginError::NotPending => (
                StatusCode::BAD_REQUEST,
                "login_not_pending",
                "This login was not started in this browser, was used already or took too long",
            ),
            LoginError::Denied => {
                (StatusCode::FORBIDDEN, "login_denied", "The identity provider denied the login")
            }
            LoginError::Unconfirmed => (
                StatusCode::UNAUTHORIZED,
                "login_unconfirmed",
                "The identity provider did not confirm the login",
            ),
            LoginError::SignedOut => {
                (StatusCode::UNAUTHORIZED, "not_signed_in", "Nobody is signed in")
            }
            LoginError::Forged => (
                StatusCode::FORBIDDEN,
                "invalid_csrf_token",
                "The X-CSRF-Token header is missing or wrong",
            ),
        };
        Self::Refused { status, code, error }
    }
}
