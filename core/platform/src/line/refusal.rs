//! Mapping of LINE's error responses to [`PlatformError`].

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use tracing::debug;

use super::wire::Refusal;
use crate::{PlatformError, RefusalReason};

/// Maximum length of an explanation, in characters.
const MAX_REASON: usize = 200;
/// Maximum length of LINE's id of a call; it is 36 characters.
const MAX_REQUEST_ID: usize = 100;

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
    let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
    let says = |text: &str| refusal.message.to_ascii_lowercase().contains(text);
    let reason = RefusalReason {
        explanation: explanation(&refusal.message, &detail_of(&refusal)),
        request_id: request_id(headers).map(str::to_owned),
    };
    debug!(status = status.as_u16(), %reason, "LINE refused a call");
    match status {
        StatusCode::UNAUTHORIZED => PlatformError::Unauthorized,
        // Content that is not kept any more is gone.
        StatusCode::NOT_FOUND | StatusCode::GONE => PlatformError::NotFound,
        StatusCode::BAD_REQUEST if says("reply token") => PlatformError::InvalidReplyToken,
        // "You have reached your monthly limit.": no reasonable wait helps.
        StatusCode::TOO_MANY_REQUESTS if says("monthly limit") => PlatformError::QuotaExceeded,
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = wait.and_then(|value| value.parse().ok()).map(Duration::from_secs);
            PlatformError::RateLimited { retry_after }
        }
        status if status.is_server_error() => PlatformError::Unknown(None),
        status => PlatformError::Refused { status: status.as_u16(), reason },
    }
}

/// Returns LINE's id of a call, which its support asks for.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get("x-line-request-id")?.to_str().ok()?;
    (1..=MAX_REQUEST_ID).contains(&id.len()).then_some(id)
}

/// Returns the first field that LINE objects to, and why; empty if it names none.
fn detail_of(refusal: &Refusal) -> String {
    let text = |name: &str| refusal.details[0][name].as_str().unwrap_or_default();
    match (text("property"), text("message")) {
        ("", message) => message.to_owned(),
        (property, "") => property.to_owned(),
        (property, message) => format!("{property}: {message}"),
    }
}

/// Joins the two texts that explain a failure.
pub(super) fn explanation(reason: &str, detail: &str) -> String {
    let joined = match (reason.trim(), detail.trim()) {
        (reason, "") => reason.to_owned(),
        ("", detail) => detail.to_owned(),
        (reason, detail) => format!("{reason}: {detail}"),
    };
    joined.chars().filter(|character| !character.is_control()).take(MAX_REASON).collect()
}

#[cfg(test)]
#[path = "refusal_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn code(status: u16, message: &str) -> &'static str {
        let body = serde_json::json!({ "message": message }).to_string();
        refused(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes()).code()
    }

    #[test]
    fn the_reason_of_a_refusal_is_told_with_the_id_of_the_call() {
        let mut headers = HeaderMap::new();
        headers.insert("x-line-request-id", "5f8c-1".parse().unwrap());
        let body = r#"{"message":"The request body has 1 error(s)",
                       "details":[{"message":"May not be empty","property":"messages[0].text"}]}"#;
        let told = refused(StatusCode::BAD_REQUEST, &headers, body.as_bytes()).to_string();
        assert_eq!(
            told,
            "the platform responded with status 400: The request body has 1 error(s): \
             messages[0].text: May not be empty (request 5f8c-1)"
        );
        let headers = HeaderMap::new();
        for (body, expected) in [
            (
                r#"{"message":"Access to this API is not available"}"#,
                ": Access to this API is not available",
            ),
            (r#"{"message":"odd\n","details":{"x":1}}"#, ": odd"),
            ("<html>", ""),
        ] {
            let told = refused(StatusCode::FORBIDDEN, &headers, body.as_bytes()).to_string();
            assert_eq!(told, format!("the platform responded with status 403{expected}"));
        }
    }

    #[test]
    fn an_explanation_is_short_and_plain() {
        assert_eq!(explanation("COULD_NOT_CONNECT", " TLS\n"), "COULD_NOT_CONNECT: TLS");
        assert_eq!((explanation("", "x"), explanation("x", "")), ("x".into(), "x".into()));
        assert_eq!(explanation(&"é".repeat(300), "").chars().count(), MAX_REASON);
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
        assert_eq!(code(410, "Gone"), "not_found");
        assert_eq!(code(500, "Internal Server Error"), "unknown_outcome");
    }
}
