//! News of a channel as server-sent events. An event has no content: the page fetches what is new,
//! as it fetches everything else.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;

use super::Console;
use super::error::PageError;
use super::visitor::Visitor;
use crate::services::access::{Member, ReadMessages};

/// Interval of comments that keep proxies from closing a quiet connection.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Pause of a browser before it connects again.
const RETRY: Duration = Duration::from_secs(3);

pub(super) async fn news(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let news = console.services.live.follow(access).await?;
    // The first event says nothing; it makes the browser know the pause.
    let begin = futures_util::stream::iter([Event::default().retry(RETRY).comment("ready")]);
    // Browsers drop an event without data.
    let events = begin.chain(news.map(|()| Event::default().event("news").data("messages")));
    let events = Sse::new(events.map(Ok::<_, Infallible>));
    let mut response = events.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that gather responses would hold the events up.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}
