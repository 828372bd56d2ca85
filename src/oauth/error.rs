//! Errors of the protocol (RFC 6749, RFC 7591). No input is repeated.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_services::ServiceError;
use serde_json::json;

/// Error response for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OAuthError {
    pub(super) code: &'static str,
    pub(super) why: &'static str,
}

impl OAuthError {
    pub(super) const fn new(code: &'static str, why: &'static str) -> Self {
        Self { code, why }
    }

    /// Returns the parameters that report it to a client.
    pub(super) const fn pairs(&self) -> [(&'static str, &'static str); 2] {
        [("error", self.code), ("error_description", self.why)]
    }

    pub(super) const fn request(why: &'static str) -> Self {
        Self::new("invalid_request", why)
    }

    pub(super) const fn grant() -> Self {
        Self::new(
            "invalid_grant",
            "The grant is unknown, already used, expired, or of another client",
        )
    }

    pub(super) const fn client(why: &'static str) -> Self {
        Self::new("invalid_client", why)
    }
}

impl From<ServiceError> for OAuthError {
    fn from(error: ServiceError) -> Self {
        if matches!(error, ServiceError::Invalid { .. }) {
            return Self::request("A value of the request cannot be stored");
        }
        Self::new("temporarily_unavailable", "Try again in a few seconds")
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let status = match self.code {
            "temporarily_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
            "invalid_client" => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        };
        (status, Json(json!({"error": self.code, "error_description": self.why}))).into_response()
    }
}
