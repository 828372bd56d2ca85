//! The demo's page: its files, its state, and the live stream of events. Only the demo serves it;
//! it is not part of a deployment.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use axum::{Json, Router};
use chatkeep_workers::tap::{Notice, Tap};
use futures_util::{Stream, StreamExt as _};
use serde::Serialize;
use serde_json::json;
use tokio_stream::wrappers::BroadcastStream;

use super::act::{Act, Outcome};
use super::sample::Sample;
use crate::http::HttpError;
use chatkeep_emulator::{Change, Entry, User};

/// Content security policy: only own resources, and photos that the script fetched.
const POLICY: &str = "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'";

/// The page's files: path, type and text.
const FILES: [(&str, &str, &str); 7] = [
    ("/demo", HTML, include_str!("page/index.html")),
    ("/demo/app.js", SCRIPT, include_str!("page/app.js")),
    ("/demo/client.js", SCRIPT, include_str!("page/client.js")),
    ("/demo/chat.js", SCRIPT, include_str!("page/chat.js")),
    ("/demo/bubble.js", SCRIPT, include_str!("page/bubble.js")),
    ("/demo/behind.js", SCRIPT, include_str!("page/behind.js")),
    ("/demo/style.css", "text/css; charset=utf-8", include_str!("page/style.css")),
];
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// State of the page's routes.
#[derive(Clone)]
struct Page {
    sample: Arc<Sample>,
    tap: Tap,
}

pub(super) fn router(sample: Arc<Sample>, tap: Tap) -> Router {
    let file = |router: Router<Page>, (path, kind, text): (&str, &'static str, &'static str)| {
        // A new version of the demo comes with new files.
        let headers = [
            (header::CONTENT_TYPE, kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        router.route(path, get(move || async move { (headers, text) }))
    };
    let routes = Router::new()
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/demo/state", get(state))
        .route("/demo/act", post(act))
        .route("/demo/events", get(events));
    FILES.into_iter().fold(routes, file).with_state(Page { sample, tap })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageState {
    group_id: String,
    group_name: String,
    key: String,
    /// The signed-in owner of the page and its key.
    owner_id: String,
    bot_name: String,
    /// People in the group.
    people: Vec<Person>,
    /// People who may join, the next one first.
    outside: Vec<Person>,
    /// People who joined and left since the demo started.
    notes: Vec<Note>,
}

#[derive(Serialize)]
struct Person {
    id: String,
    name: String,
}

/// A line of the chat itself.
#[derive(Serialize)]
struct Note {
    /// Milliseconds since the Unix epoch.
    at: i64,
    /// `memberJoined` or `memberLeft`.
    kind: String,
    /// Names of the people.
    names: String,
}

impl From<User> for Person {
    fn from(user: User) -> Self {
        Self { id: user.user_id, name: user.display_name }
    }
}

async fn state(State(page): State<Page>) -> Json<PageState> {
    let (people, line) = (page.sample.people(), page.sample.line());
    let chat = people.chat();
    Json(PageState {
        group_id: people.group().to_string(),
        group_name: chat.and_then(|chat| chat.name).unwrap_or_default(),
        key: page.sample.key().to_owned(),
        owner_id: people.owner().user_id.clone(),
        bot_name: line.bot().display_name,
        people: people.members().into_iter().map(Person::from).collect(),
        outside: people.outside().into_iter().map(Person::from).collect(),
        notes: notes(line.transcript(people.group().as_str())),
    })
}

/// Returns who joined and left since the bot joined the group; earlier entries are its creation.
fn notes(lines: Vec<Entry>) -> Vec<Note> {
    let since = lines.into_iter().skip_while(|line| line.kind != "join");
    let moves = since.filter(|line| matches!(line.kind.as_str(), "memberJoined" | "memberLeft"));
    moves.map(|l| Note { at: l.at, kind: l.kind, names: l.text.unwrap_or_default() }).collect()
}

async fn act(State(page): State<Page>, Json(act): Json<Act>) -> Result<Json<Outcome>, HttpError> {
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
    json!({ "stage": notice.stage, "event": notice.event, "outcome": notice.outcome })
}
