//! `/openapi.json` and the page `/docs` to browse it; everything the page needs is in the binary.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use chatkeep_http::HttpError;
use tracing::error;
use utoipa_swagger_ui::Config;

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

/// Returns the documentation's routes.
pub(super) fn router() -> Router {
    let config = Config::from("/openapi.json")
        .try_it_out_enabled(true)
        // Stored in the browser only, so never part of an address or visible to another origin.
        .persist_authorization(true)
        // The validator would send the document to an external server.
        .validator_url("none")
        .use_base_layout();
    let config = Arc::new(config);
    Router::new()
        .route("/openapi.json", get(|| async { document() }))
        .route("/docs", get(|| async { Redirect::permanent("/docs/") }))
        .route("/docs/", get(|| async { page() }))
        .route(
            "/docs/{*file}",
            get(move |Path(path): Path<String>| async move { file(&path, config) }),
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
fn content(kind: &str, body: impl IntoResponse) -> Response {
    let kind = HeaderValue::from_str(kind);
    let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    (StatusCode::OK, headers, body).into_response()
}

fn file(path: &str, config: Arc<Config<'static>>) -> Response {
    if path == "index.html" {
        return page();
    }
    match utoipa_swagger_ui::serve(path, config) {
        Ok(Some(file)) => content(&file.content_type, file.bytes.into_owned()),
        Ok(None) => HttpError::NotFound.into_response(),
        Err(cause) => {
            error!(cause, "rendering the API documentation failed");
            HttpError::Internal.into_response()
        }
    }
}
