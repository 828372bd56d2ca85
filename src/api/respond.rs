//! What every answer carries: version, request id, safety headers, and for errors the one JSON
//! form.

use std::panic::AssertUnwindSafe;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use tracing::{Instrument as _, error, info_span};
use url::form_urlencoded;

use super::cursor;
use super::deprecation;
use super::error::{ApiError, ErrorBody, ErrorView};
use super::random;

const REQUEST_ID: &str = "x-request-id";
const VERSION: &str = "x-api-version";
const DEPRECATED: &str = "x-deprecated";
/// A caller's request id is echoed up to this length.
const MAX_ID: usize = 128;

/// What a browser is told about answers that are not pages.
const SAFETY: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "private, no-cache"),
];

/// Adds the headers and writes the body of errors. HEAD is answered as GET; the server tells the
/// length of the body and leaves it out, so that both tell the same.
pub(super) async fn finish(mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let span = info_span!("request", id = %id, %method, path = uri.path());
    if method == Method::HEAD {
        *request.method_mut() = Method::GET;
        // Only GET has ranges.
        request.headers_mut().remove(header::RANGE);
    }
    let mut response = next.run(request).instrument(span).await;
    if let Some(body) = response.extensions_mut().remove::<ErrorBody>() {
        response = error_response(&response, &body, &id);
    }
    if let Some(cursor::Next(cursor)) = response.extensions_mut().remove::<cursor::Next>() {
        link_next(response.headers_mut(), &uri, &cursor);
    }
    let headers = response.headers_mut();
    headers.insert(VERSION, HeaderValue::from_static("v1"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    for (name, value) in SAFETY {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    weaken_compressed_tag(headers);
    response
}

/// Tells of deprecated routes; runs where the matched route is known.
pub(super) async fn deprecate(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = request.method().clone();
    let mut response = next.run(request).await;
    if let Some(text) = path.and_then(|path| deprecation::of(&method, &path))
        && let Ok(text) = HeaderValue::from_str(text)
    {
        response.headers_mut().insert(DEPRECATED, text);
    }
    response
}

/// 406 for callers who take nothing that the API has. Routes that stream files decide themselves.
pub(super) async fn negotiate(request: Request, next: Next) -> Response {
    let streams = ["/export", "/media/"].iter().any(|part| request.uri().path().contains(part));
    if streams || takes_json(request.headers()) {
        return next.run(request).await;
    }
    ApiError::Refused {
        status: StatusCode::NOT_ACCEPTABLE,
        code: "not_acceptable",
        error: "Answers are application/json",
    }
    .into_response()
}

fn takes_json(headers: &HeaderMap) -> bool {
    let mut given = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .peekable();
    given.peek().is_none()
        || given.any(|kind| matches!(kind, "*/*" | "application/*" | "application/json" | ""))
}

/// A handler that panics is a bug of ours: the caller gets a plain 500, the process lives on.
pub(super) async fn catch_panics(request: Request, next: Next) -> Response {
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_panic) => {
            error!("a handler panicked");
            ApiError::Internal.into_response()
        }
    }
}

/// The caller's own id where it is printable and short, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if !id.is_empty() && id.len() <= MAX_ID => id.to_owned(),
        _ => random::text(20),
    }
}

fn error_response(bare: &Response, body: &ErrorBody, request_id: &str) -> Response {
    let (status, mut headers) = (bare.status(), bare.headers().clone());
    let view = ErrorView {
        error: &body.error,
        code: body.code,
        field: body.field.as_deref(),
        retry_after: body.retry_after,
        request_id,
    };
    match status {
        StatusCode::UNAUTHORIZED => {
            let challenge = headers.entry(header::WWW_AUTHENTICATE);
            challenge.or_insert(HeaderValue::from_static("Bearer"));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("5"));
        }
        _ => {}
    }
    if let Some(seconds) = body.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    headers.remove(header::CONTENT_LENGTH);
    let mut response = (status, axum::Json(view)).into_response();
    response.headers_mut().extend(headers);
    response
}

/// `Link` to the next page: the same address with another cursor.
fn link_next(headers: &mut HeaderMap, uri: &Uri, cursor: &str) {
    let given = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let kept = given.filter(|(name, _)| name != "cursor");
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(kept)
        .append_pair("cursor", cursor)
        .finish();
    if let Ok(link) = HeaderValue::from_str(&format!("<{}?{query}>; rel=\"next\"", uri.path())) {
        headers.insert(header::LINK, link);
    }
}

/// A compressed body is not the bytes that a strong tag names.
fn weaken_compressed_tag(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CONTENT_ENCODING) {
        return;
    }
    let strong = headers.get(header::ETAG).filter(|tag| tag.as_bytes().starts_with(b"\""));
    let weak = strong.map(|tag| [b"W/", tag.as_bytes()].concat());
    if let Some(weak) = weak.and_then(|tag| HeaderValue::from_bytes(&tag).ok()) {
        headers.insert(header::ETAG, weak);
    }
}
