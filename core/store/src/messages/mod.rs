//! Reads stored messages: one, a page of many, and the gaps between them.

mod earlier;
mod quotes;
mod rows;
mod sql;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, RuleId, UserId};
use chatkeep_core::message::{Content, EarlierTexts, MessageType};
use chatkeep_core::time::Timestamp;

use super::ingest::BulkKey;
use super::media::{MediaRecord, MediaStatus};
use super::{MessageStore, ReplySource, StoreError};
use crate::query::query_as;
use rows::FullRow;
pub(super) use rows::{MessageRow, VersionedRow, origin_of, state_of, versioned_columns};
use sql::{ALL, ALL_WITHIN, CHOSEN, COUNT, OF_SENDER, OF_SENDER_WITHIN, OF_TYPE, ONE};

/// Stored message with its sender.
#[derive(Clone, Debug)]
pub struct StoredMessage {
    /// Channel.
    pub channel: ChannelId,
    /// Message id.
    pub id: MessageId,
    /// Time of sending.
    pub sent_at: Timestamp,
    /// Time of storing.
    pub backed_up_at: Timestamp,
    /// Sender, if the platform names one.
    pub sender: Option<Sender>,
    /// Message type.
    pub kind: MessageType,
    /// Content; erased once the message is unsent.
    pub content: Option<Content>,
    /// Size of its stored content, its earlier texts and its stored file, in bytes, which is what it
    /// counts for.
    pub bytes: i64,
    /// Quoted message.
    pub quoted: Option<MessageId>,
    /// Time of its present content, if it was edited.
    pub edited_at: Option<Timestamp>,
    /// Time of its retraction.
    pub unsent_at: Option<Timestamp>,
    /// `true` if the bot sent it.
    pub is_bot: bool,
    /// Origin of a reply of the bot; `None` for other messages, and where it is not known.
    pub reply: Option<ReplyOrigin>,
    /// Media record, for media types.
    pub media: Option<MediaRecord>,
    /// Earlier texts, if it was edited; only there once
    /// [`MessageStore::add_earlier_texts`](crate::MessageStore::add_earlier_texts) has read it.
    pub earlier_texts: EarlierTexts,
}

impl StoredMessage {
    /// Returns the file's status, for media types.
    pub fn media_status(&self) -> Option<MediaStatus> {
        self.media.as_ref().map(|media| media.status)
    }
}

/// Sender of a message.
#[derive(Clone, Debug)]
pub struct Sender {
    /// User id.
    pub id: UserId,
    /// Name, once known.
    pub display_name: Option<String>,
    /// Picture, once known.
    pub picture_url: Option<String>,
}

/// Origin of a reply of the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyOrigin {
    /// Source.
    pub source: ReplySource,
    /// Rule, for [`ReplySource::Qa`]. It may have been changed or removed since.
    pub rule: Option<RuleId>,
}

/// Order of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    #[default]
    Descending,
    /// Oldest first.
    Ascending,
}

/// Filter of a channel's messages.
#[derive(Clone, Debug, Default)]
pub struct MessageFilter {
    /// Earliest time of sending.
    pub from: Option<Timestamp>,
    /// Time of sending that all messages are before.
    pub to: Option<Timestamp>,
    /// Sender.
    pub sender: Option<UserId>,
    /// Message type.
    pub kind: Option<MessageType>,
    /// Order.
    pub order: Order,
    /// Keyset: only what comes after this message in that order.
    pub after: Option<(Timestamp, MessageId)>,
    /// Maximum number of messages.
    pub limit: u32,
}

impl MessageFilter {
    /// Returns the first time of sending and the end of the range, in milliseconds since 1970. The
    /// cursor is a bound, too: SQLite looks up the index by these two and would walk to the cursor.
    fn bounds(&self) -> (i64, i64) {
        let from = self.from.map_or(i64::MIN, Timestamp::millis);
        let to = self.to.map_or(i64::MAX, Timestamp::millis);
        match (&self.after, self.order) {
            (Some((at, _)), Order::Descending) => (from, to.min(at.millis().saturating_add(1))),
            (Some((at, _)), Order::Ascending) => (from.max(at.millis()), to),
            (None, _) => (from, to),
        }
    }

    /// Returns the keyset at which the page starts. The bound of the range is one, too: PostgreSQL
    /// looks up the index by the keyset, and would walk to the range. No message id is empty.
    fn start(&self) -> (i64, &str) {
        let bound = match self.order {
            Order::Descending => self.to.map_or((i64::MAX, ""), |to| (to.millis(), "")),
            Order::Ascending => self.from.map_or((i64::MIN, ""), |from| (from.millis(), "")),
        };
        match (&self.after, self.order) {
            (Some((at, id)), Order::Descending) => bound.min((at.millis(), id.as_str())),
            (Some((at, id)), Order::Ascending) => bound.max((at.millis(), id.as_str())),
            (None, _) => bound,
        }
    }
}

/// Page of messages.
#[derive(Debug)]
pub struct MessagePage {
    /// Messages of the page.
    pub messages: Vec<StoredMessage>,
    /// Keyset of the next page; `None` at the end.
    pub next: Option<(Timestamp, MessageId)>,
}

impl MessageStore<'_> {
    /// Returns a page of a channel's messages.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(
        &self,
        channel: &ChannelId,
        filter: &MessageFilter,
    ) -> Result<MessagePage, StoreError> {
        let (from, to) = filter.bounds();
        let pages = match (&filter.sender, filter.kind) {
            (Some(_), _) => OF_SENDER,
            (None, None | Some(MessageType::Text)) => ALL,
            (None, Some(_)) => OF_TYPE,
        };
        let sql = match filter.order {
            Order::Descending => pages.newest,
            Order::Ascending => pages.oldest,
        };
        let (at, id) = filter.start();
        let sender = filter.sender.as_ref().map(UserId::as_str);
        let kind = filter.kind.map(MessageType::name);
        let wanted = i64::from(filter.limit) + 1;
        let rows: Vec<FullRow> = self
            .store
            .db
            .fetch_packed(
                query_as(sql)
                    .bind(channel.as_str())
                    .bind(from)
                    .bind(to)
                    .bind(at)
                    .bind(id)
                    .bind(sender)
                    .bind(kind)
                    .bind(wanted),
            )
            .await?;
        let mut messages =
            rows.into_iter().map(StoredMessage::try_from).collect::<Result<Vec<_>, _>>()?;
        let more = messages.len() > filter.limit as usize;
        messages.truncate(filter.limit as usize);
        let next = messages.last().filter(|_| more).map(|m| (m.sent_at, m.id.clone()));
        Ok(MessagePage { messages, next })
    }

    /// Returns a page of a channel's messages, oldest first, that also ends before its contents and
    /// earlier texts have more than `bytes`; it has one message at least, if there is one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list_within(
        &self,
        channel: &ChannelId,
        filter: &MessageFilter,
        bytes: u32,
    ) -> Result<MessagePage, StoreError> {
        let mut filter = MessageFilter { order: Order::Ascending, ..filter.clone() };
        let sql = if filter.sender.is_some() { OF_SENDER_WITHIN } else { ALL_WITHIN };
        let ((from, to), (at, id)) = (filter.bounds(), filter.start());
        let (count,): (i64,) = self
            .store
            .db
            .fetch_one(
                query_as(sql)
                    .bind(channel.as_str())
                    .bind(from)
                    .bind(to)
                    .bind(at)
                    .bind(id)
                    .bind(filter.sender.as_ref().map(UserId::as_str))
                    .bind(filter.kind.map(MessageType::name))
                    .bind(i64::from(filter.limit))
                    .bind(i64::from(bytes)),
            )
            .await?;
        let count = u32::try_from(count).unwrap_or(filter.limit);
        filter.limit = count.clamp(1, filter.limit.max(1));
        self.list(channel, &filter).await
    }

    /// Returns the number of a channel's messages that were sent in that range.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn count(
        &self,
        channel: &ChannelId,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<i64, StoreError> {
        let from = from.map_or(i64::MIN, Timestamp::millis);
        let to = to.map_or(i64::MAX, Timestamp::millis);
        let (count,): (i64,) = self
            .store
            .db
            .fetch_one(query_as(COUNT).bind(channel.as_str()).bind(from).bind(to))
            .await?;
        Ok(count)
    }

    /// Returns one message of a channel; `None` when it is not stored.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn message(
        &self,
        channel: &ChannelId,
        message: &MessageId,
    ) -> Result<Option<StoredMessage>, StoreError> {
        let row: Option<FullRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE).bind(channel.as_str()).bind(message.as_str()))
            .await?;
        row.map(StoredMessage::try_from).transpose()
    }
}

impl MessageStore<'_> {
    /// Returns the stored messages of those channels and ids, in any order.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn chosen_messages(
        &self,
        keys: &[(ChannelId, MessageId)],
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let keys: Vec<_> =
            keys.iter().map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<FullRow> = self.store.db.fetch_packed(query_as(CHOSEN).bind(&keys)).await?;
        rows.into_iter().map(StoredMessage::try_from).collect()
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Both bounds at which an index may be entered are the narrowest that there are: a page of one
    /// day in a channel of years does not read the years.
    #[test]
    fn a_page_starts_at_its_range_or_at_its_cursor() {
        let range = MessageFilter { from: Some(at(10)), to: Some(at(20)), ..Default::default() };
        let newest = |after| MessageFilter { after, ..range.clone() };
        let oldest = |after| MessageFilter { order: Order::Ascending, ..newest(after) };
        assert_eq!(newest(None).start(), (20, ""));
        assert_eq!(oldest(None).start(), (10, ""));
        let cursor = |millis| Some((at(millis), MessageId::from("m")));
        assert_eq!(
            (newest(cursor(15)).start(), newest(cursor(15)).bounds()),
            ((15, "m"), (10, 16))
        );
        assert_eq!(
            (oldest(cursor(15)).start(), oldest(cursor(15)).bounds()),
            ((15, "m"), (15, 20))
        );
        assert_eq!(newest(cursor(30)).start(), (20, ""), "a cursor does not widen the range");
        assert_eq!(oldest(cursor(5)).start(), (10, ""), "a cursor does not widen the range");
        let all = MessageFilter::default();
        assert_eq!((all.start(), all.bounds()), ((i64::MAX, ""), (i64::MIN, i64::MAX)));
    }
}
