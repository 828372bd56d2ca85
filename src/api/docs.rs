//! `/openapi.json` and the page `/docs` to browse it; everything the page needs is in the binary.

use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use chatkeep_http::{HttpError, Packed};
use tracing::error;

/// The page's own scripts and styles, nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; connect-src 'self'; font-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

/// The page itself. Unlike the one that comes with Swagger UI it has the product's name, and no
/// field for the address of another document.
const PAGE: &str = include_str!("docs.html");

/// The OpenAPI document, made when it is asked for first: most processes never are.
static DOCUMENT: LazyLock<Result<Bytes, serde_json::Error>> =
    LazyLock::new(|| crate::openapi().to_json().map(Bytes::from));

/// Styles and script of Swagger UI, compressed (`build.rs`).
const STYLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui.css.gz"));
const BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/swagger-ui-bundle.js.gz"));

/// Starts Swagger UI with the document.
const START: &str = include_str!("docs.js");

/// Media type of scripts.
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns the documentation's routes.
pub(super) fn router() -> Router {
    Router::new()
        .route("/openapi.json", get(|| async { document() }))
        .route("/docs", get(|| async { Redirect::permanent("/docs/") }))
        .route("/docs/", get(|| async { page() }))
        .route("/docs/index.html", get(|| async { page() }))
        .route("/docs/docs.js", get(|| async { content(SCRIPT, START) }))
        .route(
            "/docs/swagger-ui.css",
            get(|headers: HeaderMap| async move {
                content("text/css; charset=utf-8", Packed { gzip: STYLES, headers })
            }),
        )
        .route(
            "/docs/swagger-ui-bundle.js",
            get(|headers: HeaderMap| async move { content(SCRIPT, Packed { gzip: BUNDLE, headers }) }),
        )
}

fn document() -> Response {
    match &*DOCUMENT {
        Ok(json) => {
            let kind = HeaderValue::from_static("application/json");
            ([(header::CONTENT_TYPE, kind)], json.clone()).into_response()
        }
        Err(error) => {
            error!(%error, "the OpenAPI document cannot be written");
            HttpError::Internal.into_response()
        }
    }
}

fn page() -> Response {
    content("text/html; charset=utf-8", PAGE)
}

/// Serves a part of the page.
fn content(kind: &'static str, body: impl IntoResponse) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}
