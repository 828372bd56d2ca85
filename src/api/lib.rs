//! The REST API, version 1.
//!
//! Handlers are short: an extractor authenticates and authorizes the caller (`auth`), a service
//! does the work, a view struct is the response. Every route is in one table; its documentation is
//! derived from the handler's signature.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod address;
mod assistant;
mod auth;
mod backup;
mod channels;
mod cursor;
mod deprecation;
mod docs;
mod editable;
mod etag;
mod events;
mod export;
mod export_jobs;
mod extract;
mod idempotency;
mod input;
mod jobs;
mod keys;
mod me;
mod media;
mod members;
mod messages;
mod negotiation;
mod replay;
mod route;
mod saved_searches;
mod search;
mod subscriptions;
mod table;
mod webhooks;

use axum::Router;
use axum::extract::{DefaultBodyLimit, FromRef};
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::any;
use chatkeep_http::{HttpError, LargeResponses, MAX_BODY, PublicUrl};
use chatkeep_services::Services;

pub use idempotency::Idempotency;
pub use route::{Need, RouteInfo, Tag};

/// State of the handlers; each takes the part that it needs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Api {
    /// The use cases.
    pub services: Services,
    /// Builds and sends large responses in turn.
    pub large: LargeResponses,
    /// Address of this service, for links in responses.
    pub url: PublicUrl,
}

impl FromRef<Api> for Services {
    fn from_ref(api: &Api) -> Self {
        api.services.clone()
    }
}

/// Returns true for the path of a media file.
pub fn is_media_file(path: &str) -> bool {
    matches!(
        parts_of(path).as_slice(),
        ["channels", _, "backup", "media", message] if !message.is_empty()
    )
}

/// Returns the parts of a path under `/api` or `/api/v1`; none of any other path.
fn parts_of(path: &str) -> Vec<&str> {
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        ["", "api", "v1", rest @ ..] | ["", "api", rest @ ..] => rest.to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the API's routes, under both `/api` and `/api/v1`. The caller of a request is known when
/// it comes here: see [`chatkeep_http::identify`].
pub fn router(api: Api, idempotency: Idempotency) -> Router {
    let v1 = table::routes().router().layer(from_fn(deprecation::layer)).with_state(api);
    Router::new()
        .nest("/api/v1", v1.clone().fallback(not_found))
        .nest("/api", v1.fallback(unknown))
        // Below it, too, but no path that a nested router sees.
        .route("/api/", any(not_found))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(idempotency, idempotency::layer))
        .layer(from_fn(negotiation::layer))
}

/// Returns the routes of the documentation, for everybody.
pub fn docs() -> Router {
    docs::router()
}

/// Returns every route, for documentation and tests.
pub fn catalogue() -> Vec<RouteInfo> {
    table::routes().infos()
}

/// Returns the OpenAPI document.
pub fn openapi() -> utoipa::openapi::OpenApi {
    route::document(&table::routes())
}

async fn not_found() -> HttpError {
    HttpError::NotFound
}

/// Returns the error for an unknown route or an unknown version of the API.
async fn unknown(uri: Uri) -> HttpError {
    let first = uri.path().trim_start_matches('/').split('/').next().unwrap_or_default();
    let version = first != "v1"
        && first.strip_prefix('v').is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    if version { HttpError::UnknownVersion } else { HttpError::NotFound }
}

#[cfg(test)]
mod tests {
    mod bounds;
    mod conformity;
    mod document;
    mod examples;
    mod fixture;
    mod idempotency;
    mod inputs;
    mod keys;
    mod limits;
    mod not_acceptable;
    mod schemas;
    mod sessions;

    use super::*;

    #[test]
    fn media_files_are_told_from_everything_else() {
        for path in ["/api/channels/C1/backup/media/m1", "/api/v1/channels/C1/backup/media/m%2F1"] {
            assert!(is_media_file(path), "{path}");
        }
        for path in [
            "/api/channels/C1/backup/media",
            "/api/channels/C1/backup/media/",
            "/api/channels/C1/backup/media/m1/x",
            "/api/channels/C1/backup/messages/m1",
            "/api/v2/channels/C1/backup/media/m1",
            "/channels/C1/backup/media/m1",
            "/api",
        ] {
            assert!(!is_media_file(path), "{path}");
        }
    }
}
