//! Mapping of LINE's error responses to [`PlatformError`].

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::wire::Refusal;
use crate::PlatformError;

/// Removes the address of a call from its error, since it can name people.
pub(super) fn hide(error: reqwest::Error) -> reqwest::Error {
    error.without_url()
}

/// Maps a call without a response to an error.
pub(super) fn failed(error: reqwest::Error) -> PlatformError {
    if error.is_connect() || error.is_builder() {
        return PlatformError::Unreachable(hide(error));
    }
    PlatformError::Unknown(Some(hide(error)))
}

/// Maps a response other than success to an error.
pub(super) fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> PlatformError {
    let says = |text: &str| {
        serde_json::from_slice::<Refusal>(body)
            .is_ok_and(|refusal| refusal.message.to_ascii_lowercase().contains(text))
    };
    match status {
        StatusCode::UNAUTHORIZED => PlatformError::Unauthorized,
        StatusCode::NOT_FOUND => PlatformError::NotFound,
        StatusCode::BAD_REQUEST if says("reply token") => PlatformError::InvalidReplyToken,
        // "You have reached your monthly limit.": no reasonable wait helps.
        StatusCode::TOO_MANY_REQUESTS if says("monthly limit") => PlatformError::QuotaExceeded,
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = wait.and_then(|value| value.parse().ok()).map(Duration::from_secs);
            PlatformError::RateLimited { retry_after }
        }
        status if status.is_server_error() => PlatformError::Unknown(None),
        status => PlatformError::Refused { status: status.as_u16() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(status: u16, message: &str) -> &'static str {
        let body = serde_json::json!({ "message": message }).to_string();
        refused(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes()).code()
    }

    #[test]
    fn a_used_up_month_is_no_rate_limit() {
        assert_eq!(code(429, "You have reached your monthly limit."), "quota");
        assert_eq!(
            code(429, "The API rate limit has been exceeded. Try again later."),
            "rate_limited"
        );
    }

    #[test]
    fn refusals_are_told_apart() {
        assert_eq!(code(400, "Invalid reply token"), "expired_token");
        assert_eq!(code(400, "The request body has 1 error(s)"), "platform_error");
        assert_eq!(code(401, "Authentication failed."), "unauthorized");
        assert_eq!(code(404, "Not found"), "not_found");
        assert_eq!(code(500, "Internal Server Error"), "unknown_outcome");
    }
}
