//! Parts of the surfaces as their callers meet them: requests in, responses out, without a socket.

mod accept;
mod completion;
mod compression;
mod cookies;
mod errors;
mod etags;
mod extraction;
mod paths;
mod ranges;
mod responses;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, Response};
use serde_json::Value;
use tower::ServiceExt as _;

/// Sends a request; returns the response with its whole body.
async fn answered(router: &Router, request: Request<Body>) -> Response<Bytes> {
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    Response::from_parts(parts, to_bytes(body, usize::MAX).await.unwrap())
}

/// Sends a GET without headers.
async fn got(router: &Router, path: &str) -> Response<Bytes> {
    answered(router, Request::get(path).body(Body::empty()).unwrap()).await
}

/// Returns the body of a response as JSON; null for anything else.
fn json_of(answer: &Response<Bytes>) -> Value {
    serde_json::from_slice(answer.body()).unwrap_or_default()
}

/// Returns the text of a header; empty when it is absent.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("", |value| value.to_str().unwrap())
}
