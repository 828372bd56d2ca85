//! What every answer carries: version, request id, and for errors the one JSON form.

use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use serde::Serialize;
use tracing::{Instrument as _, error, info_span};

use super::error::{ApiError, ErrorBody};
use super::random;

const REQUEST_ID: &str = "x-request-id";
const VERSION: &str = "x-api-version";
/// A caller's request id is echoed up to this length.
const MAX_ID: usize = 128;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    error: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    request_id: &'a str,
}

/// Adds the headers and writes the body of errors.
pub(super) async fn finish(request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let span = info_span!("request", id = %id, %method, path);
    let mut response = next.run(request).instrument(span).await;
    if let Some(body) = response.extensions_mut().remove::<ErrorBody>() {
        let given = std::mem::take(response.headers_mut());
        response = error_response(response.status(), &body, &id);
        // What a handler says beside the body, such as when to ask again.
        response.headers_mut().extend(given);
    }
    let headers = response.headers_mut();
    headers.insert(VERSION, HeaderValue::from_static("v1"));
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    response
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
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if !id.is_empty() && id.len() <= MAX_ID => id.to_owned(),
        _ => random::text(20),
    }
}

fn error_response(status: StatusCode, body: &ErrorBody, request_id: &str) -> Response {
    let body =
        Body { error: &body.error, code: body.code, field: body.field.as_deref(), request_id };
    let mut response = (status, axum::Json(body)).into_response();
    let headers = response.headers_mut();
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        _ => {}
    }
    response
}
