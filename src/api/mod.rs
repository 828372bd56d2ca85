//! The REST surface, version 1 (interface specification, "Endpoints"; contract sections 1 to 6).
//!
//! Handlers are short: an extractor says who calls and what they may (`auth`), the store does
//! the work, a view struct is the answer. Every error is an `ApiError`, turned into its
//! one form in one place.

mod assistant;
mod auth;
mod channels;
mod cursor;
mod error;
mod extract;
mod me;
mod media;
mod messages;
mod random;
mod respond;
mod subscriptions;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{get, post, put};
use chatkeep_core::blobs::Blobs;
use chatkeep_core::store::Store;
use chatkeep_core::time::SharedClock;

pub use random::{api_key, key_id};

use error::ApiError;

/// Request bodies, at most (contract section 1).
const MAX_BODY: usize = 1024 * 1024;

/// What the API works with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Api {
    pub store: Store,
    pub blobs: Blobs,
    pub clock: SharedClock,
}

/// The API's routes, under `/api` and `/api/v1` alike.
pub fn router(api: Api) -> Router {
    let v1 = v1().with_state(api);
    let versioned = Router::new()
        .nest("/api/v1", v1.clone().fallback(not_found).method_not_allowed_fallback(wrong_method))
        .nest("/api", v1.fallback(unknown).method_not_allowed_fallback(wrong_method));
    versioned
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn(respond::catch_panics))
        .layer(from_fn(respond::finish))
}

fn v1() -> Router<Api> {
    Router::new()
        .route("/me", get(me::me))
        .route("/usage", get(me::usage))
        .route("/channels", get(channels::list))
        .route("/channels/{channelId}", get(channels::detail))
        .route("/channels/{channelId}/members", get(channels::members))
        .route(
            "/channels/{channelId}/assistant/config",
            get(assistant::config::read).put(assistant::config::change),
        )
        .route(
            "/channels/{channelId}/assistant/qa",
            get(assistant::qa::list).post(assistant::qa::add),
        )
        .route(
            "/channels/{channelId}/assistant/qa/{qaId}",
            put(assistant::qa::replace).delete(assistant::qa::remove),
        )
        .route(
            "/channels/{channelId}/assistant/welcome",
            get(assistant::texts::welcome).put(assistant::texts::set_welcome),
        )
        .route(
            "/channels/{channelId}/assistant/rules",
            get(assistant::texts::rules).put(assistant::texts::set_rules),
        )
        .route("/channels/{channelId}/backup/messages", get(messages::list))
        .route("/channels/{channelId}/backup/messages/{messageId}", get(messages::one))
        .route("/channels/{channelId}/backup/media", get(media::list))
        .route("/channels/{channelId}/backup/media/{messageId}", get(media::file))
        .route(
            "/channels/{channelId}/backup/subscribe",
            post(subscriptions::subscribe).delete(subscriptions::unsubscribe),
        )
        .route("/subscriptions", get(subscriptions::list))
}

async fn not_found() -> ApiError {
    ApiError::NotFound
}

/// An unknown route, or an unknown version of the API.
async fn unknown(uri: axum::http::Uri) -> ApiError {
    let first = uri.path().trim_start_matches('/').split('/').next().unwrap_or_default();
    let version = first.strip_prefix('v').is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    if version { ApiError::UnknownVersion } else { ApiError::NotFound }
}

async fn wrong_method() -> ApiError {
    ApiError::MethodNotAllowed
}
