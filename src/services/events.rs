//! Pull feed of events, in order.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_store::{Bookmark, FeedReader, ReadAction, Store};
use chatkeep_view::EventView;

use super::access::{ReadMessages, Scoped};
use super::{ServiceError, decode_cursor, encode_cursor};
use crate::event_renderer::{EventReader, EventRenderer};

const LIST: &str = "events";
/// Cursor of a reader who begins now: no cursor of a list is this text.
const LATEST: &str = "latest";

/// Page of the feed.
pub struct EventPage {
    /// Events within the caller's permissions, in order.
    pub events: Vec<EventView>,
    /// Cursor at which the feed continues, also when there are no more events now.
    pub next: String,
    /// True when more events are available now.
    pub has_more: bool,
}

/// Feed of events. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EventService {
    store: Store,
    renderer: EventRenderer,
}

impl EventService {
    pub(super) const fn new(store: Store, renderer: EventRenderer) -> Self {
        Self { store, renderer }
    }

    /// Returns at most `limit` events from after the cursor; without one, from the oldest retained
    /// event. The cursor `latest` is the end of the feed.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor, [`ServiceError::CursorExpired`] when events after
    /// it were purged.
    #[boxed]
    pub async fn page(
        &self,
        access: &Scoped<ReadMessages>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<EventPage, ServiceError> {
        if cursor == Some(LATEST) {
            return self.end().await;
        }
        let caller = &access.caller;
        let after = cursor.map(|text| decode_cursor(LIST, text)).transpose()?;
        let after: Bookmark = after.unwrap_or_default();
        let channels = self.store.channels();
        let channels = channels.names_of(&caller.user, caller.channels(), u32::MAX).await?;
        let channels: Vec<_> = channels.into_iter().map(|channel| channel.id).collect();
        let reader =
            FeedReader { user: &caller.user, channels: &channels, not_before: caller.not_before() };
        let feed = self.store.outbox().outbox_events(reader, after, limit).await?;
        if feed.missed && cursor.is_some() {
            return Err(ServiceError::CursorExpired);
        }
        let channels = feed.outbox_events.iter().filter_map(|event| event.channel.as_ref());
        access.record(&channels.cloned().collect::<BTreeSet<_>>(), ReadAction::Events);
        let reader = EventReader { bounds: &caller.bounds, mask: &caller.mask };
        let events = self.renderer.events(feed.outbox_events, reader).await?;
        let next = encode_cursor(LIST, &feed.next).ok_or(ServiceError::Internal)?;
        Ok(EventPage { events, next, has_more: feed.more })
    }

    /// Returns an empty page at the end of the feed.
    async fn end(&self) -> Result<EventPage, ServiceError> {
        let end = self.store.outbox().log_state().await?.newest();
        let next = encode_cursor(LIST, &end).ok_or(ServiceError::Internal)?;
        Ok(EventPage { events: Vec::new(), next, has_more: false })
    }
}
