//! Errors of a login, and their responses to the browser. Causes are logged at their source; no
//! secret and no input of the caller is repeated.

use axum::http::StatusCode;
use chatkeep_http::{ErrorCode, HttpError};
use chatkeep_services::{FieldPath, ServiceError};

/// Reason for refusing a login.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    /// No identity provider is configured.
    #[error("login is not configured")]
    NotConfigured,
    /// The page to return to is not one of this service.
    #[error("the return path is not local")]
    BadReturn,
    /// Invalid form of the provider's callback.
    #[error("the callback is malformed")]
    Malformed,
    /// No such login was started in this browser, or it was used already, or expired.
    #[error("no such login is pending")]
    NotPending,
    /// The user, or the provider for them, denied it.
    #[error("the provider denied the login")]
    Denied,
    /// The provider rejects the code, or its token is invalid.
    #[error("the login could not be confirmed")]
    Unconfirmed,
    /// The provider is down or does not know this service.
    #[error("the identity provider is unavailable")]
    Unavailable,
    /// There is no session.
    #[error("not signed in")]
    SignedOut,
    /// The request may come from a page of another origin (CSRF).
    #[error("no CSRF token")]
    Forged,
    /// A session or a login could not be stored or read.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl From<LoginError> for HttpError {
    fn from(error: LoginError) -> Self {
        let (status, code, error) = match error {
            LoginError::NotConfigured => return Self::NotFound,
            LoginError::Unavailable => return Self::Unavailable,
            LoginError::Service(error) => return error.into(),
            LoginError::Forged => return Self::FORGED,
            LoginError::BadReturn => {
                let why = "must be a path of this service that begins with /";
                return Self::invalid_value(FieldPath::parameter("returnTo"), why);
            }
            LoginError::Malformed => (
                StatusCode::BAD_REQUEST,
                ErrorCode::InvalidRequest,
                "The login request is not valid",
            ),
            LoginError::NotPending => (
                StatusCode::BAD_REQUEST,
                ErrorCode::LoginNotPending,
                "This login was not started in this browser, was used already or took too long",
            ),
            LoginError::Denied => (
                StatusCode::FORBIDDEN,
                ErrorCode::LoginDenied,
                "The identity provider denied the login",
            ),
            LoginError::Unconfirmed => (
                StatusCode::UNAUTHORIZED,
                ErrorCode::LoginUnconfirmed,
                "The identity provider did not confirm the login",
            ),
            LoginError::SignedOut => {
                (StatusCode::UNAUTHORIZED, ErrorCode::NotSignedIn, "Nobody is signed in")
            }
        };
        Self::Refused { status, code, error }
    }
}
