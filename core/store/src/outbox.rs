//! Outbox of events in commit order: source of the pull feed and of outgoing webhooks.
//!
//! A row is written in the transaction of its change, and holds ids only. They are resolved when
//! the event is delivered, so no content erased meanwhile can be delivered.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::bookmark::Bookmark;
use super::change_log::shown;
use super::channels::channel_keys;
use super::db::Sql;
use super::outbox_kind::OutboxEventKind;
use super::unstored::UnstoredMessage;
use super::{OutboxStore, StoreError, parsed};
use crate::query::query_as;

/// Maximum number of rows examined in one read: bounds the work for a caller with quiet channels
/// among many busy ones.
const WINDOW: i64 = 20_000;

/// Outbox event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxEvent {
    /// Position in the log.
    pub place: OutboxPosition,
    /// Kind.
    pub kind: OutboxEventKind,
    /// Time of the event, by the platform's clock if that has one.
    pub at: Timestamp,
    /// Channel; `None` for an event about a user alone.
    pub channel: Option<ChannelId>,
    /// Message id, or user id.
    pub subject: Option<String>,
    /// Further subject: the disabled webhook, the saved search, or the [times of imported
    /// messages](crate::ImportedTimes).
    pub detail: Option<String>,
    /// Properties of an unstored message to deliver.
    pub unstored: Option<UnstoredMessage>,
}

/// Position in the event log.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct OutboxPosition(
    /// Transaction number (always 0 on SQLite).
    pub i64,
    /// Sequence number.
    pub i64,
);

impl OutboxPosition {
    /// Returns the id of the event at this position on every surface.
    pub fn event_id(self) -> String {
        format!("evt_{}_{}", self.0, self.1)
    }

    /// Returns the position of the event with that id; `None` for the id of an event that is not in
    /// the log.
    pub fn of_event(id: &str) -> Option<Self> {
        let (tx, seq) = id.strip_prefix("evt_")?.split_once('_')?;
        let place = Self(tx.parse().ok()?, seq.parse().ok()?);
        // Numbers may be written in several ways, ids in one.
        (place.event_id() == id).then_some(place)
    }
}

/// Page of events.
#[derive(Debug, Default)]
pub struct OutboxPage {
    /// Events in order.
    pub outbox_events: Vec<OutboxEvent>,
    /// Start of the next page.
    pub next: Bookmark,
    /// `true` if there may be more already.
    pub more: bool,
    /// `true` if events between the bookmark and these were purged. Whether the reader would have
    /// got any of them is not known any more.
    pub missed: bool,
}

/// Reader of the feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedReader<'a> {
    /// User whose usage the reader may know.
    pub user: &'a UserId,
    /// Channels that the reader may read.
    pub channels: &'a [ChannelId],
    /// Events before this time are excluded.
    pub not_before: Option<Timestamp>,
}

/// Rows between two positions, of which SQLite needs the sequence numbers alone.
const ROWS: Sql = Sql {
    sqlite: concat!(
        "SELECT CAST(0 AS BIGINT) AS tx, seq, logged_at, type, at, channel_id, subject_id,
                detail_id, unstored
             FROM outbox_events
             WHERE seq > $2 AND seq <= $4 AND at >= $7 AND ",
        shown!(),
        "
               AND (recipient_id IS NULL OR recipient_id = $6)
               AND (channel_id IN (SELECT value ->> 'c' FROM json_each($5))
                    OR (channel_id IS NULL AND subject_id = $6))
             ORDER BY seq LIMIT $8"
    ),
    postgres: concat!(
        "SELECT tx, seq, logged_at, type, at, channel_id, subject_id, detail_id, unstored
               FROM outbox_events
               WHERE (tx, seq) > ($1, $2) AND (tx, seq) <= ($3, $4) AND at >= $7 AND ",
        shown!(),
        "
                 AND (recipient_id IS NULL OR recipient_id = $6)
                 AND (channel_id IN (SELECT value ->> 'c' FROM json_each($5))
                      OR (channel_id IS NULL AND subject_id = $6))
               ORDER BY tx, seq LIMIT $8"
    ),
};

#[derive(Debug, sqlx_macros::FromRow)]
struct Row {
    tx: i64,
    seq: i64,
    logged_at: i64,
    r#type: String,
    at: i64,
    channel_id: Option<String>,
    subject_id: Option<String>,
    detail_id: Option<String>,
    unstored: Option<String>,
}

impl OutboxStore<'_> {
    /// Returns the events after `after` that the reader may know, at most `limit`. After an event
    /// that the database has lost, these are the events that were logged since shortly before it;
    /// after a position beyond all others, all of them: nobody knows which were read.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn outbox_events<'s>(
        &'s self,
        reader: FeedReader<'s>,
        after: Bookmark,
        limit: u32,
    ) -> Result<OutboxPage, StoreError> {
        let (begin, end) = self.feed_window(after).await?;
        let rows = match end {
            Some(end) => self.feed_rows(reader, begin, end.at, limit).await?,
            None => Vec::new(),
        };
        // Asked after the rows were read: what is purged from now on was read.
        let purged = self.log_state().await?.purged;
        let missed = begin < purged;
        let full = rows.len() >= limit as usize;
        // What was purged is over for whoever goes on from here.
        let rest = if missed { purged.into() } else { after };
        let next = rows.last().filter(|_| full).map(Row::bookmark).or(end).unwrap_or(rest);
        let outbox_events =
            rows.into_iter().map(OutboxEvent::try_from).collect::<Result<Vec<_>, _>>()?;
        let more = full || (end.is_some() && self.log_window(next, WINDOW).await?.end.is_some());
        Ok(OutboxPage { outbox_events, next, more, missed })
    }

    /// Returns the rows after `after`, up to `end`, that the reader may know.
    async fn feed_rows(
        &self,
        reader: FeedReader<'_>,
        after: OutboxPosition,
        end: OutboxPosition,
        limit: u32,
    ) -> Result<Vec<Row>, StoreError> {
        let channels = channel_keys(reader.channels)?;
        let from = reader.not_before.map_or(i64::MIN, Timestamp::millis);
        let rows = query_as(ROWS)
            .bind(after.0)
            .bind(after.1)
            .bind(end.0)
            .bind(end.1)
            .bind(&channels)
            .bind(reader.user.as_str())
            .bind(from)
            .bind(i64::from(limit));
        Ok(self.store.db.fetch_all(rows).await?)
    }

    /// Returns the bounds of the next rows to examine after `after`; no end at the end of the log.
    async fn feed_window(
        &self,
        after: Bookmark,
    ) -> Result<(OutboxPosition, Option<Bookmark>), StoreError> {
        let window = self.log_window(after, WINDOW).await?;
        let begin = if window.is_lost {
            self.reentry(after).await?
        } else if window.end.is_none() && after.at > self.log_state().await?.latest() {
            OutboxPosition::default()
        } else {
            return Ok((after.at, window.end));
        };
        Ok((begin, self.log_window(begin.into(), WINDOW).await?.end))
    }
}

impl Row {
    const fn bookmark(&self) -> Bookmark {
        let logged_at = Some(Timestamp::from_millis(self.logged_at));
        Bookmark { at: OutboxPosition(self.tx, self.seq), logged_at }
    }
}

impl TryFrom<Row> for OutboxEvent {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let kind = OutboxEventKind::parse(&row.r#type);
        let unstored =
            UnstoredMessage::read(row.unstored.as_deref(), "outbox_events", &row.seq.to_string())?;
        Ok(Self {
            place: OutboxPosition(row.tx, row.seq),
            kind: parsed(kind, "outbox_events", "type", &row.seq.to_string())?,
            at: Timestamp::from_millis(row.at),
            channel: row.channel_id.map(ChannelId::from),
            subject: row.subject_id,
            detail: row.detail_id,
            unstored,
        })
    }
}

#[cfg(test)]
#[path = "outbox_edge_tests.rs"]
mod edge_tests;
