//! Changes of the activity counters within a transaction.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::{MessageState, MessageType};
use chatkeep_core::time::{DAY_MILLIS, Timestamp};
use serde::Serialize;

use super::sql::{ADD, ADD_ARRAYS, DROP_EMPTY};
use crate::arrays::Column;
use crate::db::Tx;
use crate::query::query;
use crate::{ReplyOrigin, StoreError};

/// Milliseconds of a quarter of an hour: the steps in which the offsets of time zones differ.
pub(crate) const QUARTER: i64 = 900_000;
/// Milliseconds of an hour: the step of nearly all time zones.
pub(crate) const HOUR: i64 = 3_600_000;
/// Milliseconds of a day.
pub(crate) const DAY: i64 = DAY_MILLIS;
/// Milliseconds of a block, 32 days: with it, a year of a person takes a dozen rows.
pub(crate) const BLOCK: i64 = 32 * DAY;

/// Stored message that was not retracted, with what it is counted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Time of sending.
    pub(crate) sent_at: Timestamp,
    /// Sender, if known.
    pub(crate) sender: Option<UserId>,
    /// Message type.
    pub(crate) kind: MessageType,
    /// `true` if the bot sent it.
    pub(crate) is_bot: bool,
    /// Size of its content in bytes.
    pub(crate) bytes: i64,
    /// Origin of a reply of the bot.
    pub(crate) origin: Option<ReplyOrigin>,
}

impl Counted {
    /// Returns what a message is counted by; `None` for one that does not count.
    pub(crate) fn of(state: &MessageState, origin: Option<&ReplyOrigin>) -> Option<Self> {
        let sent_at = state.sent_at.filter(|_| state.counts())?;
        Some(Self {
            sent_at,
            sender: state.sender.clone(),
            kind: state.kind.unwrap_or(MessageType::Other),
            is_bot: state.is_bot,
            bytes: state.bytes(),
            origin: origin.cloned(),
        })
    }
}

/// Key of a counter within a channel.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CounterKey {
    counter: &'static str,
    at: i64,
    item: Cow<'static, str>,
}

/// Changes of a channel's counters, in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct ActivityDelta(BTreeMap<CounterKey, (i64, i64)>);

/// Element of the JSON list that the statements read.
#[derive(Serialize)]
struct CounterRow<'a> {
    c: &'a str,
    k: &'static str,
    at: i64,
    i: &'a str,
    n: i64,
    b: i64,
}

impl ActivityDelta {
    /// Adds a message, or takes it away: `sign` is 1 or -1.
    pub(crate) fn add_message(&mut self, message: &Counted, sign: i64) {
        let begin = |length| begin(message.sent_at, length);
        self.add("quarter", begin(QUARTER), Cow::Borrowed(""), (sign, 0));
        self.add("hour", begin(HOUR), Cow::Borrowed(""), (sign, 0));
        let (by_day, by_block) =
            if message.is_bot { ("bot", "bot_block") } else { ("person", "person_block") };
        let sender = message.sender.as_ref().filter(|_| !message.is_bot);
        let sender = Cow::Owned(sender.map_or_else(String::new, ToString::to_string));
        self.add(by_day, begin(DAY), Cow::clone(&sender), (sign, 0));
        self.add(by_block, begin(BLOCK), sender, (sign, 0));
        if let Some(origin) = &message.origin {
            self.add_answer(message.sent_at, origin, sign);
        }
        self.add("type", 0, Cow::Borrowed(message.kind.name()), (sign, sign * message.bytes));
    }

    /// Adds the bytes of a stored file; less than 0 to take them away.
    pub(crate) fn add_file(&mut self, kind: MessageType, bytes: i64) {
        self.add("type", 0, Cow::Borrowed(kind.name()), (0, bytes));
    }

    fn add_answer(&mut self, sent_at: Timestamp, origin: &ReplyOrigin, sign: i64) {
        let (by_day, by_block, item) = match &origin.rule {
            Some(rule) => ("rule", "rule_block", Cow::Owned(rule.as_str().to_owned())),
            None => ("reply", "reply_block", Cow::Borrowed(origin.source.name())),
        };
        self.add(by_day, begin(sent_at, DAY), Cow::clone(&item), (sign, 0));
        self.add(by_block, begin(sent_at, BLOCK), item, (sign, 0));
    }

    fn add(
        &mut self,
        counter: &'static str,
        at: i64,
        item: Cow<'static, str>,
        (messages, bytes): (i64, i64),
    ) {
        let value = self.0.entry(CounterKey { counter, at, item }).or_default();
        value.0 += messages;
        value.1 += bytes;
    }

    fn rows<'a>(&'a self, channel: &'a ChannelId) -> impl Iterator<Item = CounterRow<'a>> {
        let changed = self.0.iter().filter(|(_, (messages, bytes))| *messages != 0 || *bytes != 0);
        changed.map(|(key, (messages, bytes))| CounterRow {
            c: channel.as_str(),
            k: key.counter,
            at: key.at,
            i: &key.item,
            n: *messages,
            b: *bytes,
        })
    }
}

/// Returns the start of the span of that length in which a time lies, in milliseconds since 1970.
fn begin(at: Timestamp, length: i64) -> i64 {
    at.millis().div_euclid(length) * length
}

/// Writes the changes of channels that the transaction has locked. A counter that falls to nothing
/// is deleted: none names a person who is counted no more.
pub(crate) async fn save_activity<'a>(
    tx: &mut Tx,
    channels: impl Iterator<Item = (&'a ChannelId, &'a ActivityDelta)>,
) -> Result<(), StoreError> {
    let rows: Vec<_> = channels.flat_map(|(channel, delta)| delta.rows(channel)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    if tx.takes_arrays() {
        tx.execute_rows(ADD_ARRAYS, columns(&rows)).await?;
    } else {
        let json = serde_json::to_string(&rows)?;
        tx.execute(query(ADD).bind(&json)).await?;
    }
    let lowered: Vec<_> = rows.iter().filter(|row| row.n < 0 || row.b < 0).collect();
    if !lowered.is_empty() {
        let json = serde_json::to_string(&lowered)?;
        tx.execute(query(DROP_EMPTY).bind(&json)).await?;
    }
    Ok(())
}

fn columns<'a>(rows: &'a [CounterRow<'_>]) -> Vec<Column<'a>> {
    let texts = |of: fn(&'a CounterRow<'_>) -> &'a str| {
        Column::Text(rows.iter().map(|row| Some(of(row))).collect())
    };
    let numbers = |of: fn(&CounterRow<'_>) -> i64| {
        Column::Int(rows.iter().map(|row| Some(of(row))).collect())
    };
    vec![
        texts(|row| row.c),
        texts(|row| row.k),
        numbers(|row| row.at),
        texts(|row| row.i),
        numbers(|row| row.n),
        numbers(|row| row.b),
    ]
}

/// Counts stored messages of the bot, by their times of sending, as answers of that origin. The
/// transaction has locked the channel.
pub(crate) async fn count_answers(
    tx: &mut Tx,
    channel: &ChannelId,
    origin: &ReplyOrigin,
    sent_at: &[Timestamp],
) -> Result<(), StoreError> {
    let mut delta = ActivityDelta::default();
    for at in sent_at {
        delta.add_answer(*at, origin, 1);
    }
    save_activity(tx, std::iter::once((channel, &delta))).await
}

#[cfg(test)]
#[path = "delta_edge_tests.rs"]
mod edge_tests;
