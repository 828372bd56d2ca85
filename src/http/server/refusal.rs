//! Error responses of the server itself, before and beside all routes, in the common form of
//! errors. Each ends its connection.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use chatkeep_core::random;
use serde_json::json;

use crate::error_code::ErrorCode;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const VERSION: HeaderName = HeaderName::from_static("x-api-version");
/// Length of a request id generated here.
const ID: usize = 20;

/// Error response of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RefusedRequest {
    status: StatusCode,
    code: ErrorCode,
    error: &'static str,
}

/// The server is at its bound.
pub(super) const NO_ROOM: RefusedRequest = RefusedRequest {
    status: StatusCode::SERVICE_UNAVAILABLE,
    code: ErrorCode::Unavailable,
    error: "Service unavailable",
};

/// The request body was below the minimum speed.
pub(super) const SLOW_BODY: RefusedRequest = RefusedRequest {
    status: StatusCode::REQUEST_TIMEOUT,
    code: ErrorCode::RequestTimeout,
    error: "The request body came too slowly",
};

/// The request head timed out.
pub(super) const SLOW_HEAD: RefusedRequest = RefusedRequest {
    status: StatusCode::REQUEST_TIMEOUT,
    code: ErrorCode::RequestTimeout,
    error: "The request did not come in time",
};

/// Responses that hyper sends by itself.
const OF_HYPER: [RefusedRequest; 3] = [
    RefusedRequest {
        status: StatusCode::BAD_REQUEST,
        code: ErrorCode::InvalidRequest,
        error: "The request is not one of HTTP/1.1",
    },
    RefusedRequest {
        status: StatusCode::URI_TOO_LONG,
        code: ErrorCode::UriTooLong,
        error: "The address of the request is too long",
    },
    RefusedRequest {
        status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        code: ErrorCode::HeadersTooLarge,
        error: "The address and headers of the request are too large",
    },
];

impl RefusedRequest {
    /// Returns the replacement for hyper's response of these bytes: a head without a body, and
    /// without the request id of every router's response.
    pub(super) fn of_hyper(bytes: &[u8]) -> Option<Self> {
        let head = bytes.strip_prefix(b"HTTP/1.1 ").or_else(|| bytes.strip_prefix(b"HTTP/1.0 "))?;
        let status = StatusCode::from_bytes(head.get(..3)?).ok()?;
        let refusal = OF_HYPER.into_iter().find(|refusal| refusal.status == status)?;
        let head = head.strip_suffix(b"\r\n\r\n")?.to_ascii_lowercase();
        let is_whole = !head.windows(4).any(|part| part == b"\r\n\r\n");
        let name = b"x-request-id";
        let is_ours = head.windows(name.len()).any(|part| part == name);
        (is_whole && !is_ours).then_some(refusal)
    }

    /// Returns the response; `headers`, of a response that it replaces, keep those about the
    /// request.
    pub(super) fn answer(self, headers: &HeaderMap) -> Response<Body> {
        let id = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
        let id = id.map_or_else(|| random::text(ID), str::to_owned);
        let mut answer = Response::new(Body::from(self.body(&id)));
        *answer.status_mut() = self.status;
        for (name, value) in self.headers(&id) {
            if let Ok(value) = HeaderValue::from_str(&value) {
                answer.headers_mut().insert(name, value);
            }
        }
        answer
    }

    /// Returns the same as the bytes of a whole response.
    pub(super) fn bytes(self) -> Vec<u8> {
        let id = random::text(ID);
        let body = self.body(&id);
        let headers = self.headers(&id).into_iter();
        let headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
        let (status, headers, length) = (self.status, headers.join("\r\n"), body.len());
        let answer =
            format!("HTTP/1.1 {status}\r\n{headers}\r\ncontent-length: {length}\r\n\r\n{body}");
        answer.into_bytes()
    }

    fn body(self, id: &str) -> String {
        json!({"error": self.error, "code": self.code, "requestId": id}).to_string()
    }

    fn headers(self, id: &str) -> Vec<(HeaderName, String)> {
        let mut headers = vec![
            (header::CONTENT_TYPE, "application/json".to_owned()),
            (header::CONNECTION, "close".to_owned()),
            (REQUEST_ID, id.to_owned()),
            (VERSION, "v1".to_owned()),
        ];
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT) {
            headers.push((header::RETRY_AFTER, "5".to_owned()));
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_refusals_are_hypers() {
        let found = |text: &str| RefusedRequest::of_hyper(text.as_bytes()).map(|found| found.code);
        let bare = "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(found(bare), Some(ErrorCode::HeadersTooLarge));
        assert_eq!(found("HTTP/1.1 400 Bad Request\r\n\r\n"), Some(ErrorCode::InvalidRequest));
        assert_eq!(found("HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(found("HTTP/1.1 400 Bad Request\r\nX-Request-Id: a\r\n\r\n"), None);
        assert_eq!(found("HTTP/1.1 400 Bad Request\r\n\r\n{}\r\n\r\n"), None);
        assert_eq!(found("400"), None);
    }
}
