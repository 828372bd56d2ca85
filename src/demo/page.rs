//! The demo's page: what it shows, what it lets people do, and the live stream of what happens.
//! Only the demo serves this; it has no place in a real deployment.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chatkeep_workers::tap::{Notice, Tap};
use futures_util::{Stream, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_stream::wrappers::BroadcastStream;

use super::emulator::{ActError, Change, Told};
use super::sample::{Sample, picture_post};
use crate::api::ApiError;

/// What a page may load: only what comes from here.
const POLICY: &str = "default-src 'self'; frame-ancestors 'none'";

/// What the page's routes work with.
#[derive(Clone)]
struct Page {
    sample: Arc<Sample>,
    tap: Tap,
}

pub(super) fn router(sample: Arc<Sample>, tap: Tap) -> Router {
    let file = |kind: &'static str, text: &'static str| {
        get(move || async move {
            ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, POLICY)], text)
        })
    };
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/demo") }))
        .route("/demo", file("text/html; charset=utf-8", include_str!("page/index.html")))
        .route("/demo/app.js", file("text/javascript; charset=utf-8", include_str!("page/app.js")))
        .route("/demo/style.css", file("text/css; charset=utf-8", include_str!("page/style.css")))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/demo/state", get(state))
        .route("/demo/act", post(act))
        .route("/demo/events", get(events))
        .with_state(Page { sample, tap })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageState {
    group_id: String,
    group_name: String,
    key: String,
    people: Vec<Person>,
}

#[derive(Serialize)]
struct Person {
    id: String,
    name: String,
}

/// What a person at the page may do.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Act {
    Say { user_id: String, text: String },
    Image { user_id: String },
    Unsend { message_id: String },
    Join,
    Leave { user_id: String },
    Redeliver,
}

async fn state(State(page): State<Page>) -> Json<PageState> {
    let chat = page.sample.chat();
    let people = page.sample.people().into_iter();
    Json(PageState {
        group_id: chat.as_ref().map(|chat| chat.chat_id.clone()).unwrap_or_default(),
        group_name: chat.and_then(|chat| chat.name).unwrap_or_default(),
        key: page.sample.key().to_owned(),
        people: people.map(|p| Person { id: p.user_id, name: p.display_name }).collect(),
    })
}

async fn act(State(page): State<Page>, Json(act): Json<Act>) -> Response {
    match perform(&page.sample, act).await {
        Ok(says) => Json(json!({ "says": says })).into_response(),
        Err(error) => {
            let (status, code, error) = (StatusCode::CONFLICT, "conflict", error.to_string());
            ApiError::Explained { status, code, error }.into_response()
        }
    }
}

async fn perform(sample: &Sample, act: Act) -> Result<String, ActError> {
    let line = sample.line();
    let group = sample.chat().map(|chat| chat.chat_id).unwrap_or_default();
    let told = match act {
        Act::Say { user_id, text } => line.say(&group, &user_id, text).await?,
        Act::Image { user_id } => line.post_message(&group, &user_id, picture_post()).await?,
        Act::Unsend { message_id } => line.unsend(&message_id).await?,
        Act::Leave { user_id } => line.members_leave(&group, &[&user_id]).await?,
        Act::Join => {
            let [one, two] = sample.newcomers();
            line.members_join(&group, &[&one.user_id, &two.user_id]).await?
        }
        Act::Redeliver => return Ok(redeliver(sample).await),
    };
    Ok(outcome(&told))
}

async fn redeliver(sample: &Sample) -> String {
    let last = sample.line().deliveries().last().map(|attempt| attempt.webhook);
    let again = match last {
        Some(number) => sample.line().redeliver(number).await,
        None => None,
    };
    match again.and_then(|delivery| delivery.status) {
        Some(status) => format!("delivered again, answered {status}: nothing may change"),
        None => "there is no webhook to deliver again".to_owned(),
    }
}

fn outcome(told: &Told) -> String {
    match &told.delivery {
        Some(delivery) => match delivery.status {
            Some(status) => format!("webhook answered {status}"),
            None => "webhook not answered".to_owned(),
        },
        None => "the bot is not in the group".to_owned(),
    }
}

/// Notices of the pipeline, and of everything that changes at the emulated LINE.
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
