//! Responses to webhooks.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_http::{ErrorCode, HttpError};

/// Number of headers for which there is room: those that all responses have are added to them.
const HEADERS: usize = 12;

/// Response to a webhook.
#[derive(Clone, Debug)]
pub(super) enum WebhookResponse {
    Accepted,
    BadSignature,
    /// Another one with a bad signature, and the seconds after which one would be verified again.
    Limited(u32),
    /// Not in the format of the platform of this name.
    NotAWebhook(&'static str),
    TooLarge,
    /// The body could not be read to its end.
    BrokenOff,
    Unavailable,
    /// No such bot.
    NotFound,
    /// Path without a bot where there are several: these are the paths.
    Several(String),
}

impl WebhookResponse {
    /// Returns true for the response to a webhook whose signature is right.
    pub(super) const fn is_signed(&self) -> bool {
        matches!(self, Self::Accepted | Self::NotAWebhook(_) | Self::Unavailable)
    }

    /// Returns its name in metrics.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::BadSignature => "bad_signature",
            Self::Limited(_) => "rate_limited",
            Self::NotAWebhook(_) => "not_a_webhook",
            Self::TooLarge => "too_large",
            Self::BrokenOff => "broken_off",
            Self::Unavailable => "unavailable",
            Self::NotFound | Self::Several(_) => "no_such_bot",
        }
    }
}

/// Returns the response to an accepted webhook, whose headers are allocated once.
fn accepted() -> Response {
    let mut response = Response::new(Body::from("{}"));
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl IntoResponse for WebhookResponse {
    fn into_response(self) -> Response {
        let (status, code, error) = match self {
            Self::Accepted => return accepted(),
            Self::Limited(seconds) => {
                return HttpError::RateLimited { retry_after: seconds.into() }.into_response();
            }
            Self::TooLarge => return HttpError::TooLarge.into_response(),
            Self::Unavailable => return HttpError::Unavailable.into_response(),
            Self::NotFound => return HttpError::NotFound.into_response(),
            Self::Several(paths) => {
                let error = format!("Several bots are configured, each with its path: {paths}");
                let (status, code) = (StatusCode::NOT_FOUND, ErrorCode::NotFound);
                return HttpError::Explained { status, code, error }.into_response();
            }
            Self::BadSignature => {
                (StatusCode::UNAUTHORIZED, ErrorCode::InvalidSignature, "Invalid signature")
            }
            Self::BrokenOff => {
                (StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, "The body could not be read")
            }
            Self::NotAWebhook(platform) => {
                let error = format!("The body is not a webhook of {platform}");
                let (status, code) = (StatusCode::BAD_REQUEST, ErrorCode::InvalidBody);
                return HttpError::Explained { status, code, error }.into_response();
            }
        };
        HttpError::Refused { status, code, error }.into_response()
    }
}
