//! Errors of the protocol (RFC 6749, RFC 7591). No input is repeated.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_services::ServiceError;

/// Error code of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OAuthErrorCode {
    AccessDenied,
    InvalidClient,
    InvalidClientMetadata,
    InvalidGrant,
    InvalidRedirectUri,
    InvalidRequest,
    InvalidScope,
    InvalidTarget,
    TemporarilyUnavailable,
    UnsupportedGrantType,
    UnsupportedResponseType,
}

/// Error response for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OAuthError {
    pub(super) code: OAuthErrorCode,
    pub(super) why: &'static str,
}

impl OAuthErrorCode {
    /// Returns its name in the protocol.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AccessDenied => "access_denied",
            Self::InvalidClient => "invalid_client",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
        }
    }

    /// Returns the status of a response with it.
    const fn status(self) -> StatusCode {
        match self {
            Self::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::InvalidClient => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl OAuthError {
    pub(super) const fn new(code: OAuthErrorCode, why: &'static str) -> Self {
        Self { code, why }
    }

    /// Returns the parameters that report it to a client.
    pub(super) const fn pairs(&self) -> [(&'static str, &'static str); 2] {
        [("error", self.code.name()), ("error_description", self.why)]
    }

    pub(super) const fn request(why: &'static str) -> Self {
        Self::new(OAuthErrorCode::InvalidRequest, why)
    }

    pub(super) const fn grant() -> Self {
        Self::new(
            OAuthErrorCode::InvalidGrant,
            "The grant is unknown, already used, expired, or of another client",
        )
    }

    pub(super) const fn client(why: &'static str) -> Self {
        Self::new(OAuthErrorCode::InvalidClient, why)
    }
}

impl From<ServiceError> for OAuthError {
    fn from(error: ServiceError) -> Self {
        if matches!(error, ServiceError::Invalid { .. }) {
            return Self::request("A value of the request cannot be stored");
        }
        Self::new(OAuthErrorCode::TemporarilyUnavailable, "Try again in a few seconds")
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        (self.code.status(), Json(BTreeMap::from(self.pairs()))).into_response()
    }
}
