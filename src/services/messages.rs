//! Stored messages of a channel: pages, single messages, days and gaps.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MessageFilter, Order, ReadAction, Store, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::when::{When, first};
use chrono::{Days, NaiveDate, NaiveTime};
use chrono_tz::Tz;

use super::access::{ChannelAccess, Member, ReadMessages};
use super::gaps::TimeSpan;
use super::{FieldPath, ServiceError, decode_cursor, encode_cursor};

/// Position in a list: a time, and the id of a message sent then.
type Keyset = (Timestamp, MessageId);

/// Request for a page of messages.
#[derive(Clone, Debug)]
pub struct MessageQuery {
    /// Maximum number of messages.
    pub limit: u32,
    /// Cursor of the page; the first page without it.
    pub cursor: Option<String>,
    /// Order by time.
    pub order: Order,
    /// Only that day, in the channel's zone.
    pub date: Option<NaiveDate>,
    /// Sent at or after this time; read in the channel's zone.
    pub from: Option<When>,
    /// Sent before this time; read in the channel's zone.
    pub to: Option<When>,
    /// Id of a message, or a time: the first page is on both sides of it.
    pub around: Option<String>,
    /// Sent by this person, or by the caller (`me`).
    pub sender: Option<UserId>,
    /// Only messages of this type.
    pub kind: Option<MessageType>,
}

/// Page of messages.
#[derive(Debug)]
pub struct MessagePage {
    /// Messages in the requested order.
    pub messages: Vec<Masked<StoredMessage>>,
    /// Index of the position that the page is around, or that it begins at: 0.
    pub position: usize,
    /// Cursor of the next page.
    pub next: Option<String>,
    /// Time of the page.
    pub span: TimeSpan,
    /// Time that was asked for, whatever the caller may read.
    pub requested: TimeSpan,
}

impl MessageQuery {
    /// Returns a request for all messages in that order, at most `limit` on a page.
    pub const fn all(order: Order, limit: u32) -> Self {
        Self {
            limit,
            cursor: None,
            order,
            date: None,
            from: None,
            to: None,
            around: None,
            sender: None,
            kind: None,
        }
    }

    /// Returns the cursor of a page that continues after that message of the list.
    pub fn cursor_after(&self, message: &StoredMessage) -> Option<String> {
        encode_cursor(&self.binding(&message.channel), &(message.sent_at.millis(), &message.id))
    }

    /// Returns the text that cursors of this list are bound to.
    fn binding(&self, channel: &ChannelId) -> String {
        let Self { order, date, from, to, sender, kind, .. } = self;
        format!("messages:{channel}:{order:?}:{date:?}:{from:?}:{to:?}:{sender:?}:{kind:?}")
    }

    /// Returns the filter of the store, without times: they need the channel's zone.
    fn filter(&self, binding: &str) -> Result<MessageFilter, ServiceError> {
        let after: Option<(i64, MessageId)> =
            self.cursor.as_deref().map(|text| decode_cursor(binding, text)).transpose()?;
        Ok(MessageFilter {
            from: None,
            to: None,
            sender: self.sender.clone(),
            kind: self.kind,
            order: self.order,
            after: after.map(|(at, id)| (Timestamp::from_millis(at), id)),
            limit: self.limit,
        })
    }
}

/// Messages of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MessageService {
    pub(super) store: Store,
    /// Zone of channels without one of their own.
    time_zone: Tz,
}

impl MessageService {
    pub(super) const fn new(store: Store, time_zone: Tz) -> Self {
        Self { store, time_zone }
    }

    /// Returns a page of a channel's messages.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor or time, [`ServiceError::NotFound`] when there is
    /// no message that `around` names.
    #[boxed]
    pub async fn page(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        query: &MessageQuery,
    ) -> Result<MessagePage, ServiceError> {
        let channel = access.read(ReadAction::List);
        let binding = query.binding(channel);
        let mut filter = query.filter(&binding)?;
        filter.sender = filter.sender.map(|sender| access.caller.person(sender));
        let requested = self.requested(channel, query).await?;
        filter.from = requested.from.max(access.not_before());
        filter.to = requested.to;
        let bounds = &access.caller.bounds;
        let (messages, position, next, span) = match &query.around {
            Some(around) if filter.after.is_none() => {
                let around = self.position(channel, around, bounds).await?;
                self.around(channel, (&filter, requested), around).await?
            }
            _ => {
                let page = self.store.messages().list(channel, &filter).await?;
                let span = requested.of_page(&filter, page.next.as_ref().map(|(at, _)| *at));
                (page.messages, 0, page.next, span)
            }
        };
        let next = next.and_then(|(at, id)| encode_cursor(&binding, &(at.millis(), id)));
        let messages = access.caller.mask.show_all(messages);
        Ok(MessagePage { messages, position, next, span, requested })
    }

    /// Returns the time that a request for a page asks for.
    async fn requested(
        &self,
        channel: &ChannelId,
        query: &MessageQuery,
    ) -> Result<TimeSpan, ServiceError> {
        let from = self.moment(Some(channel), FieldPath::FROM, query.from).await?;
        let to = self.moment(Some(channel), FieldPath::TO, query.to).await?;
        let span = TimeSpan { from, to };
        let Some(date) = query.date else { return Ok(span) };
        let (from, to) = self.day(channel, date).await?;
        Ok(span.within((Some(from), Some(to))))
    }

    /// Returns a message, with its earlier texts where the channel keeps them.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] when the channel has no such message that the caller may read.
    #[boxed]
    pub async fn one(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        message: &MessageId,
    ) -> Result<Masked<StoredMessage>, ServiceError> {
        let channel = access.read(ReadAction::Open);
        let message = self.store.messages().message(channel, message).await?;
        let readable = |m: &StoredMessage| access.caller.bounds.reads(m.sent_at);
        let mut message = message.filter(readable).ok_or(ServiceError::NotFound)?;
        let alone = std::slice::from_mut(&mut message);
        self.store.messages().add_earlier_texts(channel, alone).await?;
        Ok(access.caller.mask.show(message))
    }

    /// Returns those of these messages of the channel that the caller may read, in any order.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn several(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        messages: impl IntoIterator<Item = MessageId>,
    ) -> Result<Vec<Masked<StoredMessage>>, ServiceError> {
        let channel = access.read(ReadAction::List);
        let found = self.chosen(&access.caller.bounds, channel, messages).await?;
        Ok(access.caller.mask.show_all(found))
    }

    /// Returns the zone in which the days of a channel begin; without a channel, that of the
    /// service.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for an unknown channel.
    #[boxed]
    pub async fn zone(&self, channel: Option<&ChannelId>) -> Result<Tz, ServiceError> {
        let Some(channel) = channel else { return Ok(self.time_zone) };
        let channel =
            self.store.channels().channel(channel).await?.ok_or(ServiceError::PermissionDenied)?;
        Ok(channel.zone(self.time_zone))
    }

    /// Returns the point in time that a value names: in the channel's zone if there is one channel,
    /// else in the service's.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] of `field` for a time beyond the range of a calendar.
    #[boxed]
    pub async fn moment(
        &self,
        channel: Option<&ChannelId>,
        field: FieldPath,
        when: Option<When>,
    ) -> Result<Option<Timestamp>, ServiceError> {
        let Some(when) = when else {
            return Ok(None);
        };
        let zone = if when.is_local() { self.zone(channel).await? } else { self.time_zone };
        point_in_time(field, Some(when), zone)
    }

    /// Returns the times between which a day lies in the channel's zone.
    async fn day(
        &self,
        channel: &ChannelId,
        date: NaiveDate,
    ) -> Result<(Timestamp, Timestamp), ServiceError> {
        let zone = self.zone(Some(channel)).await?;
        let wrong = || ServiceError::invalid_value(FieldPath::parameter("date"), "is out of range");
        day_in(zone, date).ok_or_else(wrong)
    }

    /// Returns the position that `around` names.
    async fn position(
        &self,
        channel: &ChannelId,
        around: &str,
        bounds: &Bounds,
    ) -> Result<Keyset, ServiceError> {
        let field = FieldPath::parameter("around");
        if let Some(time) = self.moment(Some(channel), field, When::parse(around)).await? {
            return Ok((time, MessageId::new("")));
        }
        let message = self.store.messages().message(channel, &MessageId::from(around)).await?;
        let readable = message.filter(|m| bounds.reads(m.sent_at));
        readable.map(|message| (message.sent_at, message.id)).ok_or(ServiceError::NotFound)
    }

    /// Returns a page with as much before a position as after it, in the order of the filter, and
    /// the index of the position.
    async fn around(
        &self,
        channel: &ChannelId,
        (filter, requested): (&MessageFilter, TimeSpan),
        around: Keyset,
    ) -> Result<(Vec<StoredMessage>, usize, Option<Keyset>, TimeSpan), ServiceError> {
        let half = filter.limit / 2;
        let side = |order, limit| {
            let after = Some(around.clone());
            MessageFilter { order, limit, after, ..filter.clone() }
        };
        // The message itself belongs to the older side.
        let mut older = side(Order::Descending, filter.limit - half);
        older.after = Some((around.0, MessageId::new(format!("{}\u{1}", around.1))));
        let older = self.store.messages().list(channel, &older).await?;
        let newer = side(Order::Ascending, half.max(1));
        let newer = self.store.messages().list(channel, &newer).await?;
        let (newer, newest) = if half == 0 && !older.messages.is_empty() {
            // Without a newer side the page ends at the position.
            (Vec::new(), (!newer.messages.is_empty()).then_some(around))
        } else {
            (newer.messages, newer.next)
        };
        let time = |next: &Option<Keyset>| next.as_ref().map(|(at, _)| *at);
        let from = time(&older.next).or(requested.from);
        let span = TimeSpan { from, to: time(&newest).or(requested.to) };
        Ok(match filter.order {
            Order::Ascending => {
                let (next, position) = (newest, older.messages.len());
                (older.messages.into_iter().rev().chain(newer).collect(), position, next, span)
            }
            Order::Descending => {
                let position = newer.len();
                (
                    newer.into_iter().rev().chain(older.messages).collect(),
                    position,
                    older.next,
                    span,
                )
            }
        })
    }
}

/// Returns the times between which a day lies in that zone; `None` beyond the range of a calendar.
pub(super) fn day_in(zone: Tz, date: NaiveDate) -> Option<(Timestamp, Timestamp)> {
    let next = date.checked_add_days(Days::new(1))?;
    let midnight = |day: NaiveDate| first(zone, day.and_time(NaiveTime::MIN));
    Some((midnight(date)?, midnight(next)?))
}

/// Returns the point in time that a value names in that zone.
///
/// # Errors
/// [`ServiceError::Invalid`] of `field` for a time beyond the range of a calendar.
pub fn point_in_time(
    field: FieldPath,
    when: Option<When>,
    zone: Tz,
) -> Result<Option<Timestamp>, ServiceError> {
    let Some(when) = when else {
        return Ok(None);
    };
    let wrong = || ServiceError::invalid_value(field, "is out of range");
    when.within(zone).map(Some).ok_or_else(wrong)
}
