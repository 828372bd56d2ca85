//! News of a channel as server-sent events. An event has no content, at most ids: the page fetches
//! what is new or changed, as it fetches everything else.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use chatkeep_core::id::MessageId;
use chatkeep_services::access::{Member, ReadMessages};
use chatkeep_services::live::{FollowerPlace, News};
use futures_util::StreamExt as _;
use serde::Deserialize;

use super::Console;
use super::error::PageError;
use super::visitor::{Asked, Visitor};

/// Interval of comments that keep proxies from closing a quiet connection.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Header of a browser that connects again: the id of the last event that it got.
const LAST_EVENT_ID: &str = "last-event-id";
/// Pause of a browser before it connects again.
const RETRY: Duration = Duration::from_secs(3);

#[derive(Debug, Default, Deserialize)]
pub(super) struct NewsQuery {
    /// Position of the page when it was made.
    since: Option<String>,
}

pub(super) async fn news(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<NewsQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    // A browser that connects again by itself still has the address of the page.
    let last = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let since = last.or(query.since.as_deref()).map(FollowerPlace::parse);
    let (place, news) = console.services.live.follow(access, since).await?;
    // The first event says nothing; it makes the browser know the pause, and where it began.
    let begin = Event::default().retry(RETRY).id(place.text()).comment("ready");
    let begin = futures_util::stream::iter([begin]);
    let events = begin.chain(news.flat_map(|news| futures_util::stream::iter(events(&news))));
    let events = Sse::new(events.map(Ok::<_, Infallible>));
    let mut response = events.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that gather responses would hold the events up.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// Returns the events about news: browsers drop an event without data.
fn events(news: &News) -> Vec<Event> {
    let event = |name, data: &str| Event::default().event(name).data(data).id(news.place.text());
    if news.stale {
        return vec![event("stale", "messages")];
    }
    let newer = news.newer.then(|| event("news", "messages"));
    let ids: Vec<_> = news.changed.iter().map(MessageId::as_str).collect();
    let changed = serde_json::to_string(&ids).ok().filter(|_| !ids.is_empty());
    newer.into_iter().chain(changed.map(|ids| event("changed", &ids))).collect()
}
