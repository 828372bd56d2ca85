//! Routes: a handler under a path, with what its signature says about it.
//!
//! [`Routes`] is filled by the one table in `table.rs`. From it come the router, the OpenAPI
//! document and the list that tests walk.

mod complete;
mod describe;
mod descriptions;
mod errors;
mod examples;
mod headers;
mod openapi;
mod strict;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use chatkeep_http::HttpError;

pub(super) use complete::complete;
pub use describe::Need;
pub(super) use describe::{Answer, Describe, Endpoint, Input, Output};
pub(super) use descriptions::lift;
pub(super) use examples::Examples;
pub(super) use openapi::document;
use strict::Takes;
pub(super) use strict::admitted;

use super::Api;

/// Documentation of a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteText {
    pub(super) id: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
}

/// The parts of the API, in the order of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// The caller: profile, usage, sign-out.
    Account,
    /// Channels and their settings.
    Channels,
    /// Members of channels and their roles.
    Members,
    /// The assistant's rules, texts and tests.
    Assistant,
    /// Messages and search.
    Messages,
    /// Media files.
    Media,
    /// Subscriptions, exports and imports.
    Backup,
    /// Events of channels.
    Events,
    /// Webhook endpoints and their deliveries.
    Webhooks,
    /// API keys.
    Keys,
}

/// A route, for documentation and tests.
#[derive(Clone, Debug)]
pub struct RouteInfo {
    /// Method of the requests.
    pub method: Method,
    /// Path under `/api`, with parameters in braces.
    pub path: &'static str,
    /// The operation's name, `verb_thing`.
    pub id: &'static str,
    /// Part of the API that it belongs to.
    pub tag: Tag,
    /// Permission that a caller needs.
    pub need: Need,
}

/// A route with its documentation and description.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) text: RouteText,
    pub(super) describe: Describe,
}

/// All routes.
#[derive(Default)]
pub(super) struct Routes {
    routes: Vec<Route>,
    handlers: BTreeMap<&'static str, MethodRouter<Api>>,
}

impl Tag {
    pub(super) const ALL: [Self; 10] = [
        Self::Account,
        Self::Channels,
        Self::Members,
        Self::Assistant,
        Self::Messages,
        Self::Media,
        Self::Backup,
        Self::Events,
        Self::Webhooks,
        Self::Keys,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Account => "Account",
            Self::Channels => "Channels",
            Self::Members => "Members",
            Self::Assistant => "Assistant",
            Self::Messages => "Messages",
            Self::Media => "Media",
            Self::Backup => "Backup",
            Self::Events => "Events",
            Self::Webhooks => "Webhooks",
            Self::Keys => "Keys",
        }
    }

    /// Returns a sentence about what the part is for.
    const fn description(self) -> &'static str {
        match self {
            Self::Account => "The caller, their plan and its usage",
            Self::Channels => "Groups, rooms and one-to-one chats",
            Self::Members => "Members of a channel and their roles",
            Self::Assistant => {
                "Question-and-answer rules, welcome message and group rules of the bot"
            }
            Self::Messages => "Stored messages: lists, search and export",
            Self::Media => "Images, videos, audio and files of messages",
            Self::Backup => "Backup subscriptions, retention, deletion and coverage",
            Self::Events => "Feed of events in order",
            Self::Webhooks => "Webhook endpoints and their deliveries",
            Self::Keys => "API keys of the caller",
        }
    }
}

/// Returns the documentation of a route: operation ID, tag and summary.
pub(super) const fn text(id: &'static str, tag: Tag, summary: &'static str) -> RouteText {
    RouteText { id, tag, summary, description: "" }
}

impl RouteText {
    /// Adds a description.
    pub(super) const fn more(self, description: &'static str) -> Self {
        Self { description, ..self }
    }
}

impl Routes {
    pub(super) fn get<T: 'static>(
        self,
        path: &'static str,
        handler: impl Endpoint<T>,
        text: RouteText,
    ) -> Self {
        self.add(Method::GET, MethodFilter::GET, path, handler, text)
    }

    pub(super) fn put<T: 'static>(
        self,
        path: &'static str,
        handler: impl Endpoint<T>,
        text: RouteText,
    ) -> Self {
        self.add(Method::PUT, MethodFilter::PUT, path, handler, text)
    }

    pub(super) fn post<T: 'static>(
        self,
        path: &'static str,
        handler: impl Endpoint<T>,
        text: RouteText,
    ) -> Self {
        self.add(Method::POST, MethodFilter::POST, path, handler, text)
    }

    pub(super) fn delete<T: 'static>(
        self,
        path: &'static str,
        handler: impl Endpoint<T>,
        text: RouteText,
    ) -> Self {
        self.add(Method::DELETE, MethodFilter::DELETE, path, handler, text)
    }

    fn add<H: Endpoint<T>, T: 'static>(
        mut self,
        method: Method,
        filter: MethodFilter,
        path: &'static str,
        handler: H,
        text: RouteText,
    ) -> Self {
        let mut describe = Describe::default();
        H::describe(&mut describe);
        let takes = Takes::of(&describe);
        let handler =
            move |state: State<Api>, request: Request| takes.call(handler.clone(), state, request);
        self.routes.push(Route { method, path, text, describe });
        let known = self.handlers.remove(path).unwrap_or_default();
        self.handlers.insert(path, known.on(filter, handler));
        self
    }

    /// Returns information about each route.
    pub(super) fn infos(&self) -> Vec<RouteInfo> {
        let info = |route: &Route| RouteInfo {
            method: route.method.clone(),
            path: route.path,
            id: route.text.id,
            tag: route.text.tag,
            need: route.describe.need,
        };
        self.routes.iter().map(info).collect()
    }

    pub(super) fn all(&self) -> &[Route] {
        &self.routes
    }

    /// Returns the router: every path also answers OPTIONS, and 405 to other methods, both with
    /// `Allow`.
    pub(super) fn router(self) -> Router<Api> {
        let mut router = Router::new();
        for (path, handlers) in self.handlers {
            let allow =
                Arc::<str>::from(self.routes.iter().fold("OPTIONS".to_owned(), |allow, route| {
                    match &route.method {
                        _ if route.path != path => allow,
                        &Method::GET => allow + ", GET, HEAD",
                        method => allow + ", " + method.as_str(),
                    }
                }));
            let refused = Arc::clone(&allow);
            let options = on(MethodFilter::OPTIONS, async move || allowed(&allow));
            let refuse = async move || wrong_method(&refused);
            router = router.route(path, handlers.merge(options).fallback(refuse));
        }
        router
    }
}

fn allowed(methods: &str) -> Response {
    with_allow(StatusCode::NO_CONTENT.into_response(), methods)
}

fn wrong_method(methods: &str) -> Response {
    with_allow(HttpError::MethodNotAllowed.into_response(), methods)
}

fn with_allow(mut response: Response, methods: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(methods) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    response
}
