//! Layers around the responses of the surfaces: entity tags, turns of large responses, compression,
//! and access from pages of other origins.

use axum::Router;
use axum::extract::Request;
use axum::http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header,
};
use axum::middleware::{from_fn, from_fn_with_state, map_request};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::accept::takes_gzip;
use super::large::LargeResponses;
use super::{etag, large};

/// Minimum bytes of a response that is compressed.
const WORTH_COMPRESSING: u64 = 860;

/// Adds entity tags, turns of large responses and compression to the responses of `router`. Pages
/// of `origins` may call it from a browser.
pub fn served(router: Router, large: LargeResponses, origins: &[String]) -> Router {
    let router = router
        .layer(from_fn(etag::layer))
        .layer(from_fn_with_state(large, large::layer))
        .layer(compression())
        .layer(map_request(ask_for_gzip));
    match cors(origins) {
        Some(cors) => {
            router.layer(map_request(show_options)).layer(cors).layer(map_request(hide_options))
        }
        None => router,
    }
}

/// Mark of a request with the method `OPTIONS` that is no preflight.
#[derive(Clone)]
struct PlainOptions;

/// Hides the method of a request for the options of a path from the layer that answers preflights: it
/// would answer any.
async fn hide_options(mut request: Request) -> Request {
    let headers = request.headers();
    let is_preflight = headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if request.method() == Method::OPTIONS && !is_preflight {
        *request.method_mut() = Method::GET;
        request.extensions_mut().insert(PlainOptions);
    }
    request
}

/// Gives a request back the method that [`hide_options`] took.
async fn show_options(mut request: Request) -> Request {
    if request.extensions_mut().remove::<PlainOptions>().is_some() {
        *request.method_mut() = Method::OPTIONS;
    }
    request
}

/// Reduces `Accept-Encoding` to the one encoding that responses may have. A request that refuses
/// `identity` is answered with it all the same (RFC 9110, section 12.5.3): it may have changed
/// something, and a refusal afterwards would hide that.
async fn ask_for_gzip(mut request: Request) -> Request {
    let headers = request.headers_mut();
    if takes_gzip(headers) {
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    } else {
        headers.remove(header::ACCEPT_ENCODING);
    }
    request
}

fn compression() -> CompressionLayer<impl Predicate> {
    let worth = SizeAbove::new(WORTH_COMPRESSING)
        .and(NotForContentType::IMAGES)
        // Events are sent as they come, and compression would gather them.
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("video/"))
        .and(NotForContentType::const_new("audio/"))
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(NotForContentType::const_new("application/zip"))
        // A range is one of the file itself, and a compressed download could not be resumed.
        .and(|_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions| {
            !headers.contains_key(header::ACCEPT_RANGES)
        });
    CompressionLayer::new().compress_when(worth)
}

fn cors(origins: &[String]) -> Option<CorsLayer> {
    let allowed: Vec<_> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if allowed.is_empty() {
        return None;
    }
    let named = HeaderName::from_static;
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(allowed))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            header::IF_RANGE,
            header::RANGE,
            named("idempotency-key"),
            named("x-request-id"),
            named("mcp-protocol-version"),
            named("mcp-method"),
            named("mcp-name"),
        ])
        .expose_headers([
            header::ETAG,
            header::WWW_AUTHENTICATE,
            header::LINK,
            header::RETRY_AFTER,
            header::CONTENT_RANGE,
            header::CONTENT_DISPOSITION,
            header::LOCATION,
            named("idempotent-replayed"),
            named("x-api-version"),
            named("x-request-id"),
            named("x-deprecated"),
            named("x-ratelimit-limit"),
            named("x-ratelimit-remaining"),
            named("x-ratelimit-reset"),
        ]);
    Some(layer)
}
