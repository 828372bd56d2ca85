//! What a webhook is answered.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What a webhook is answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Accepted,
    BadSignature,
    /// Another one with a bad signature, and the seconds until it would be looked at again.
    Limited(u32),
    NotAWebhook,
    TooLarge,
    Unavailable,
    /// There is no such bot.
    NotFound,
    /// It has to be said which bot: these are the paths.
    Several(String),
}

impl Answer {
    /// Its name in metrics.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::BadSignature => "bad_signature",
            Self::Limited(_) => "rate_limited",
            Self::NotAWebhook => "not_a_webhook",
            Self::TooLarge => "too_large",
            Self::Unavailable => "unavailable",
            Self::NotFound | Self::Several(_) => "no_such_bot",
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let retry_after = match self {
            Self::Limited(seconds) => Some(seconds),
            Self::Unavailable => Some(5),
            _ => None,
        };
        let (status, body) = match self {
            Self::Accepted => (StatusCode::OK, "{}".to_owned()),
            Self::BadSignature => {
                (StatusCode::UNAUTHORIZED, refusal("Invalid signature", "invalid_signature"))
            }
            Self::Limited(seconds) => (
                StatusCode::TOO_MANY_REQUESTS,
                format!(
                    r#"{{"error":"Rate limit exceeded","code":"rate_limited","retryAfter":{seconds}}}"#
                ),
            ),
            Self::NotAWebhook => (
                StatusCode::BAD_REQUEST,
                refusal("The body is not a webhook of LINE", "invalid_body"),
            ),
            Self::TooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, refusal("The body is too large", "body_too_large"))
            }
            Self::Unavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, refusal("Service unavailable", "unavailable"))
            }
            Self::NotFound => (StatusCode::NOT_FOUND, refusal("Not found", "not_found")),
            Self::Several(paths) => {
                let sentence = format!("Several bots are configured, each with its path: {paths}");
                (StatusCode::NOT_FOUND, refusal(&sentence, "not_found"))
            }
        };
        let json = HeaderValue::from_static("application/json");
        let mut response = (status, [(header::CONTENT_TYPE, json)], body).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn refusal(sentence: &str, code: &str) -> String {
    format!(r#"{{"error":"{sentence}","code":"{code}"}}"#)
}
