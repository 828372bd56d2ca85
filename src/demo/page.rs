//! The demo's page: its files, its state, and the live stream of events. Only the demo serves it;
//! it is not part of a deployment.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chatkeep_console::{language_of, switch_language};
use chatkeep_core::plan::Plan;
use chatkeep_emulator::Change;
use chatkeep_http::HttpError;
use chatkeep_i18n::Language;
use chatkeep_workers::tap::{Notice, Tap};
use futures_util::{Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use tokio_stream::wrappers::BroadcastStream;

use super::act::{GroupAct, Outcome};
use super::sample::Sample;
use super::state::PageState;
use super::texts;

/// Content security policy: only own resources, photos that the script fetched, and the console in
/// a frame.
const POLICY: &str = "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'";

/// The page's files: path, type and text.
const FILES: [(&str, &str, &str); 6] = [
    ("/demo/app.js", SCRIPT, include_str!("page/app.js")),
    ("/demo/client.js", SCRIPT, include_str!("page/client.js")),
    ("/demo/chat.js", SCRIPT, include_str!("page/chat.js")),
    ("/demo/bubble.js", SCRIPT, include_str!("page/bubble.js")),
    ("/demo/behind.js", SCRIPT, include_str!("page/behind.js")),
    ("/demo/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// State of the page's routes.
#[derive(Clone)]
struct Page {
    sample: Arc<Sample>,
    tap: Tap,
}

#[derive(Template)]
#[template(path = "demo/index.html", whitespace = "minimize")]
struct DemoPage {
    language: Language,
    texts: BTreeMap<&'static str, String>,
}

impl DemoPage {
    fn text(&self, key: &str) -> &str {
        self.texts.get(key).map(String::as_str).unwrap_or_default()
    }

    /// Returns the plans with their names, which are those of the console.
    fn plans(&self) -> impl Iterator<Item = (&'static str, String)> {
        let name = |plan: &Plan| self.language.text(&format!("plan-{}", plan.name()));
        Plan::ALL.iter().map(move |plan| (plan.name(), name(plan)))
    }
}

#[derive(Deserialize)]
struct Group {
    group: Option<String>,
}

pub(super) fn router(sample: Arc<Sample>, tap: Tap) -> Router {
    let file = |router: Router<Page>, (path, kind, text): (&str, &'static str, &'static str)| {
        // A new version of the demo comes with new files.
        let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
        router.route(path, get(move || async move { (headers, text) }))
    };
    let routes = Router::new()
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/demo", get(page))
        .route("/demo/texts", get(words))
        .route("/demo/state", get(state))
        .route("/demo/act", post(act))
        .route("/demo/events", get(events));
    FILES.into_iter().fold(routes, file).with_state(Page { sample, tap })
}

async fn page(headers: HeaderMap, address: Uri) -> Response {
    // Browsers reach it on this machine, without TLS.
    if let Some(switched) = switch_language(false, &address) {
        return switched;
    }
    let language = language_of(&headers);
    let page = DemoPage { language, texts: texts::of(language) };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "Accept-Language, Cookie"),
    ];
    match page.render() {
        Ok(html) => (headers, Html(html)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Returns the texts for the script.
async fn words(headers: HeaderMap) -> Json<BTreeMap<&'static str, String>> {
    Json(texts::of(language_of(&headers)))
}

async fn state(
    State(page): State<Page>,
    Query(query): Query<Group>,
) -> Result<Json<PageState>, HttpError> {
    let people = page.sample.group(query.group.as_deref()).ok_or(HttpError::NotFound)?;
    Ok(Json(PageState::of(&page.sample, people).await?))
}

async fn act(
    State(page): State<Page>,
    Json(act): Json<GroupAct>,
) -> Result<Json<Outcome>, HttpError> {
    Ok(Json(act.perform(&page.sample).await?))
}

/// Stream of pipeline notifications and of all changes at the emulated LINE.
async fn events(State(page): State<Page>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let pipeline = BroadcastStream::new(page.tap.watch());
    // A watcher that fell behind misses some; the page reads the state anyway.
    let pipeline = pipeline.filter_map(async |notice| notice.ok().map(|notice| line(&notice)));
    let platform = BroadcastStream::new(page.sample.line().subscribe());
    let platform = platform.filter_map(async |change| match change {
        Ok(Change::Posted(_) | Change::Altered(_) | Change::Chat(_)) => {
            Some(json!({ "stage": "line", "event": "", "outcome": "changed" }))
        }
        _ => None,
    });
    let both = futures_util::stream::select(Box::pin(pipeline), Box::pin(platform));
    let events = both.map(|value| Ok(Event::default().data(value.to_string())));
    Sse::new(events).keep_alive(KeepAlive::default())
}

fn line(notice: &Notice) -> serde_json::Value {
    json!({ "stage": notice.stage, "event": notice.event, "outcome": notice.step.name() })
}
