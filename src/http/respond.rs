//! Common parts of every response: version, request ID, security headers, and the JSON form of
//! errors.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use chatkeep_core::{panics, random};
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::field::Empty;
use tracing::{Instrument as _, info_span};
use url::form_urlencoded;

use super::caller_kind::KnownCaller;
use super::error::HttpError;
use super::error_body::{ErrorBody, ErrorView};
use super::error_code::ErrorCode;
use super::measure::Measurement;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
static VERSION: HeaderName = HeaderName::from_static("x-api-version");
/// A caller's request id is echoed up to this length.
const MAX_ID: usize = 128;
/// Length of a new request id in letters.
const ID: usize = 20;
/// Maximum bytes of a path in the log.
const MAX_PATH: usize = 256;

/// Referrer policy of pages. Of one that hides more, browsers send the forms with `Origin: null`,
/// which are refused.
static PAGE_REFERRER: (HeaderName, HeaderValue) = constant("referrer-policy", "same-origin");

/// Security headers of responses that do not have them.
static SAFETY: [(HeaderName, HeaderValue); 5] = [
    constant("x-content-type-options", "nosniff"),
    constant("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    constant("referrer-policy", "no-referrer"),
    constant("cross-origin-resource-policy", "same-origin"),
    constant("cache-control", "private, no-cache"),
];

/// Returns a header that every response may share: names are not parsed for each of them.
const fn constant(name: &'static str, value: &'static str) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_static(value))
}

/// The body of an error with the members that it alone has.
#[derive(Serialize)]
struct WholeError<'a> {
    #[serde(flatten)]
    view: ErrorView<'a>,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

/// ID of a request, for surfaces with an error form of their own.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Cursor of the next page of a list, which becomes the `Link` header of the response.
#[derive(Clone, Debug)]
pub struct NextPage(pub String);

/// Adds the common headers to every response of `router` and gives every error the same form: of
/// routes, unknown paths, wrong methods and layers beneath them. It wraps everything that a
/// listener serves, so that no surface lacks it.
pub fn with_common_layers(router: Router) -> Router {
    router.layer(from_fn(finish))
}

/// Adds the headers and writes the body of errors. HEAD is handled as GET; the server omits the
/// body and keeps its length, so that both headers are the same.
async fn finish(mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let path = shown(uri.path());
    let span = info_span!("request", id = %id, %method, path, trace_id = Empty);
    request.extensions_mut().insert(KnownCaller::default());
    let measurement = Measurement::begin(&request, span.clone(), path);
    if method == Method::HEAD {
        *request.method_mut() = Method::GET;
        // Only GET has ranges.
        request.headers_mut().remove(header::RANGE);
    }
    request.extensions_mut().insert(RequestId(id.clone()));
    let work = catch_panics(request, next).instrument(measurement.trace());
    let mut response = work.instrument(span).await;
    let body = response.extensions_mut().remove::<ErrorBody>();
    if let Some(body) = body.or_else(|| bare_error(&response)) {
        response = error_response(&response, &body, &id);
    }
    if let Some(NextPage(cursor)) = response.extensions_mut().remove::<NextPage>() {
        link_next(response.headers_mut(), &uri, &cursor);
    }
    let headers = response.headers_mut();
    // At once: the map would grow three times.
    headers.reserve(SAFETY.len() + 2);
    headers.insert(VERSION.clone(), HeaderValue::from_static("v1"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID.clone(), id);
    }
    let of_pages = is_page(headers).then_some(&PAGE_REFERRER);
    for (name, value) in of_pages.into_iter().chain(&SAFETY) {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    weaken_compressed_tag(headers);
    measurement.end(response.status());
    response
}

/// Returns true for a page that a browser shows.
fn is_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let html = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    html && !headers.contains_key(header::CONTENT_DISPOSITION)
}

/// Returns the beginning of a path, for logs: callers choose its length.
fn shown(path: &str) -> &str {
    path.get(..path.floor_char_boundary(MAX_PATH)).unwrap_or_default()
}

/// Catches panics of handlers, which are bugs: the caller gets a plain 500, and the process
/// continues.
pub(super) async fn catch_panics(request: Request, next: Next) -> Response {
    match panics::catch("request", next.run(request)).await {
        Ok(response) => response,
        Err(_panicked) => HttpError::Internal.into_response(),
    }
}

/// Returns the caller's request ID if it is short and a single word, otherwise a new one: lines of
/// the log have it as it is, and a blank or a quotation mark would begin another field there.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if is_request_id(id) => id.to_owned(),
        _ => random::text(ID),
    }
}

fn is_request_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/+=-".contains(&byte);
    !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(plain)
}

/// Returns the body of an error without a form of its own: from axum, hyper or a library. JSON
/// already has its form, and so have pages for people.
fn bare_error(response: &Response) -> Option<ErrorBody> {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let has_form = ["application/json", "text/html"].iter().any(|form| kind.starts_with(form));
    let is_error = status.is_client_error() || status.is_server_error();
    (is_error && !has_form).then(|| HttpError::of_status(status).into_body().1)
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
        // A webhook with a bad signature is not helped by a key.
        StatusCode::UNAUTHORIZED if body.code != ErrorCode::InvalidSignature => {
            let challenge = headers.entry(header::WWW_AUTHENTICATE);
            challenge.or_insert(HeaderValue::from_static("Bearer"));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.entry(header::RETRY_AFTER).or_insert(HeaderValue::from_static("5"));
        }
        _ => {}
    }
    for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::CONTENT_ENCODING] {
        headers.remove(name);
    }
    let body = WholeError { view, more: &body.more };
    let mut response = (status, axum::Json(body)).into_response();
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

/// Weakens the tag of a compressed body, which differs from the bytes that a strong tag identifies.
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
