//! Pull feed of events, in order.

use axum::extract::State;
use chatkeep_store::{FeedReader, OutboxPosition};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::auth::{ReadMessages, Scoped};
use super::cursor::Page;
use super::error::ApiError;
use super::extract::{Limit, Query};
use crate::services::{decode_cursor, encode_cursor};
use crate::view::EventView;

/// Channels of one caller that are read at once.
const CHANNELS: u32 = 10_000;
const LIST: &str = "events";

/// `GET /api/events`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventList {
    /// Events of the page, in order.
    events: Vec<EventView>,
    /// Cursor for the next request; always present, so that polling can continue with it later.
    next_cursor: String,
    /// True when more events are available now.
    has_more: bool,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// `nextCursor` of the last response; when absent, the feed begins with the oldest retained
    /// event.
    cursor: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    access: Scoped<ReadMessages>,
    Query(query): Query<EventQuery>,
) -> Result<Page<EventList>, ApiError> {
    let caller = access.caller;
    let after = query.cursor.as_deref().map(|text| decode_cursor(LIST, text)).transpose()?;
    let channels =
        api.store.channels().channels_of(&caller.user, caller.channels(), None, CHANNELS).await?;
    let channels: Vec<_> = channels.into_iter().map(|channel| channel.id).collect();
    let reader =
        FeedReader { user: &caller.user, channels: &channels, not_before: caller.not_before() };
    let after: OutboxPosition = after.unwrap_or_default();
    let feed = api.store.outbox().outbox_events(reader, after, query.limit.0).await?;
    let events = api.event_renderer().events(feed.outbox_events, &caller.bounds).await?;
    let next_cursor = encode_cursor(LIST, &feed.next).ok_or(ApiError::Internal)?;
    let next = feed.more.then(|| next_cursor.clone());
    Ok(Page { body: EventList { events, next_cursor, has_more: feed.more }, next })
}
