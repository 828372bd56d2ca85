//! Files of the pages: style, script, icon. Their names contain their hash, so browsers keep them
//! for good.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Bytes of the hash in a name.
const HASH: usize = 9;

/// File of the pages.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Path of the file, with its hash.
    pub path: String,
    content_type: &'static str,
    content: &'static str,
}

/// Files of the pages.
#[derive(Debug)]
pub(crate) struct Assets {
    pub style: Asset,
    pub script: Asset,
    /// Script of the pages of rules.
    pub rules: Asset,
    /// Script of pages with work that goes on.
    pub progress: Asset,
    /// Script of the page of exports.
    pub export: Asset,
    pub icon: Asset,
}

/// All files.
pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    style: Asset::new(
        "console",
        "css",
        "text/css; charset=utf-8",
        include_str!("assets/console.css"),
    ),
    script: Asset::new(
        "console",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("assets/console.js"),
    ),
    rules: Asset::new(
        "rules",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("assets/rules.js"),
    ),
    progress: Asset::new(
        "progress",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("assets/progress.js"),
    ),
    export: Asset::new(
        "export",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("assets/export.js"),
    ),
    icon: Asset::new("icon", "svg", "image/svg+xml", include_str!("assets/icon.svg")),
});

impl Asset {
    fn new(name: &str, extension: &str, content_type: &'static str, content: &'static str) -> Self {
        let digest = Sha256::digest(content.as_bytes());
        let hash = URL_SAFE_NO_PAD.encode(&digest[..HASH]);
        let path = format!("/console/assets/{name}.{hash}.{extension}");
        Self { path, content_type, content }
    }

    fn response(&self) -> Response {
        let fixed = |name: HeaderName, value: &'static str| (name, HeaderValue::from_static(value));
        let headers = [
            fixed(header::CONTENT_TYPE, self.content_type),
            fixed(header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        ];
        (headers, self.content).into_response()
    }
}

/// Returns the routes of the files.
pub fn router() -> Router {
    let Assets { style, script, rules, progress, export, icon } = &*ASSETS;
    [style, script, rules, progress, export, icon]
        .into_iter()
        .fold(Router::new(), |router, asset| {
            router.route(&asset.path, get(move || async move { asset.response() }))
        })
}
