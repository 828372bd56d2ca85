//! The web console: pages for people, rendered on the server, readable without script.
//!
//! A handler asks the services for what it shows and renders a template of
//! `src/console/templates/console/`. Common to all pages, and added in one place (`visitor::layer`): who
//! looks, in which language, the security headers, and the pages of refusals. Scripts and styles
//! are files of the binary under names that contain their hash ([`assets`]); nothing is loaded from
//! anywhere else.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod account;
mod activity;
mod activity_log;
mod activity_row;
mod assets;
mod assistant;
mod bubble;
mod channel;
mod dates;
mod error;
mod export;
mod exports;
mod form;
mod frame;
mod home;
mod idempotent_form;
mod job;
mod labels;
mod live;
mod media;
mod my_data;
mod operator;
mod origin;
mod people;
mod permalink;
mod picture;
mod refusals;
mod rows;
mod search;
mod search_form;
mod settings;
mod sign_in;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::{get, post};
use chatkeep_core::time::SharedClock;
use chatkeep_http::{BrowserSessions, MAX_BODY};
use chatkeep_services::Services;

pub use assets::router as assets;
pub use dates::Dates;
pub use refusals::layer as refusals;
pub use sign_in::{DemoPerson, DemoRole, SignInOffer, demo_people};
pub use visitor::{language_of, switch_language};

/// Entrances of a deployment.
#[derive(Clone, Copy, Debug)]
pub struct Entrances {
    /// Path to which `/` leads.
    pub home: &'static str,
    /// Path of the page on which people sign in, where that is not the console's own.
    pub sign_in: Option<&'static str>,
    /// True if pages of the same origin may show the console in a frame, as the demo's does. No
    /// deployment has such pages.
    pub framed: bool,
}

/// Shared state of the console. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Console {
    /// The use cases.
    pub services: Services,
    /// Sessions of the visitors.
    pub sessions: BrowserSessions,
    /// Sign-in that is offered to people; `None` where it is not set up.
    pub sign_in: Option<SignInOffer>,
    /// Address at which models read.
    pub mcp: Arc<str>,
    /// Clock of relative times.
    pub clock: SharedClock,
    /// Addresses by which people enter and leave.
    pub entrances: Entrances,
}

impl Default for Entrances {
    fn default() -> Self {
        Self { home: "/console", sign_in: None, framed: false }
    }
}

/// Returns true for the path of a picture that pages show. Their other files ask for nobody.
pub fn is_file(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts.as_slice(), ["", "c", _, "picture"] | ["", "c", _, "people", _, "picture"])
}

/// Path that signs out.
const SIGN_OUT: &str = "/console/sign-out";

/// Returns the console's routes. A layer around them finds out who calls.
pub fn router(console: Console) -> Router {
    let home = console.entrances.home;
    let pages = Router::new()
        .route("/console", get(home::page))
        .route("/console/sign-in", get(sign_in::page))
        .route(SIGN_OUT, post(sign_in::leave))
        .route("/console/my-data", get(my_data::list).post(my_data::change_all))
        .route("/console/my-data/file", get(my_data::file))
        .route("/console/my-data/chats/{channel}", get(my_data::one).post(my_data::change))
        .route("/console/operator/line", get(operator::line).post(operator::set_webhook))
        .route("/c/{channel}", get(timeline::page))
        .route("/c/{channel}/m/{message}", get(permalink::page))
        .route("/c/{channel}/search", get(search::page))
        .route("/c/{channel}/media", get(media::page))
        .route("/c/{channel}/activity", get(activity::page))
        .route("/c/{channel}/people", get(people::list))
        .route("/c/{channel}/people/{user}", get(people::one).post(people::change))
        .route("/c/{channel}/settings", get(settings::page).post(settings::change))
        .route("/c/{channel}/activity-log", get(activity_log::page))
        .route("/c/{channel}/jobs/{job}", get(job::page))
        .merge(assistant::router())
        .route("/c/{channel}/export", get(export::page).post(exports::begin))
        .route("/c/{channel}/export/file", get(export::file))
        .route("/c/{channel}/exports", get(exports::page).post(exports::delete))
        .route("/c/{channel}/exports/{export}/document", get(exports::document))
        .route("/c/{channel}/picture", get(picture::channel))
        .route("/c/{channel}/people/{person}/picture", get(picture::person))
        .route("/c/{channel}/news", get(live::news))
        .route("/c/{channel}/rows", get(rows::page))
        .merge(account::router())
        .route_layer(DefaultBodyLimit::max(MAX_BODY))
        .route_layer(from_fn_with_state(console.clone(), visitor::layer))
        .with_state(console);
    Router::new().route("/", get(move || async move { Redirect::to(home) })).merge(pages)
}
