//! Counts of a digest: messages by channel, person and type.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;

use super::sql::{PEOPLE, QUARTERS, TOTALS, TYPES};
use super::{DigestScope, ceiling};
use crate::activity::{DAY, HOUR};
use crate::query::query_as;
use crate::{ActivityPerson, ActivityStore, MessageStore, StoreError};

/// People by the number of their messages.
#[derive(Clone, Debug)]
pub struct PeopleCounts {
    /// Start of the time that is counted: that of the digest, or a later quarter of an hour, up to
    /// the next start of a day in UTC, where the part of a day before that has too many messages to
    /// be counted one by one.
    pub since: Timestamp,
    /// Number of people who wrote, the bot and an unknown person included.
    pub total: i64,
    /// Those with the most messages.
    pub people: Vec<ActivityPerson>,
}

/// Number of messages of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeCount {
    /// Message type.
    pub kind: MessageType,
    /// Number of messages that were not unsent.
    pub messages: i64,
    /// `true` if there may be more: only the newest were counted.
    pub at_least: bool,
}

#[derive(sqlx_macros::FromRow)]
struct PersonRow {
    counter: String,
    item: String,
    messages: i64,
    people: i64,
    display_name: Option<String>,
    picture_url: Option<String>,
}

/// Part of a day at the start of a digest: its messages are added to the days from `first` on, or
/// taken away from them.
struct Edge {
    first: i64,
    from: i64,
    to: i64,
    sign: i64,
}

impl ActivityStore<'_> {
    /// Returns the number of messages of each of the channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn message_totals<'s>(
        &'s self,
        scope: DigestScope<'s>,
    ) -> Result<HashMap<ChannelId, i64>, StoreError> {
        let (keys, from) = (scope.keys()?, scope.millis());
        let totals = query_as(TOTALS).bind(&keys).bind(ceiling(from, HOUR)).bind(from);
        let rows: Vec<(String, i64)> = self.store.db.fetch_all(totals).await?;
        Ok(rows.into_iter().map(|(channel, messages)| (channel.into(), messages)).collect())
    }

    /// Returns the people of all channels together, at most `limit` of them by name, with at most
    /// `edge` messages counted one by one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn people_counts<'s>(
        &'s self,
        scope: DigestScope<'s>,
        (limit, edge): (u32, i64),
    ) -> Result<PeopleCounts, StoreError> {
        let keys = scope.keys()?;
        let Edge { first, from, to, sign } = self.edge(&keys, scope.millis(), edge).await?;
        let people = query_as(PEOPLE).bind(&keys).bind(first).bind(from).bind(to).bind(sign);
        let rows: Vec<PersonRow> = self.store.db.fetch_all(people.bind(i64::from(limit))).await?;
        let since = if sign < 0 { scope.from } else { Timestamp::from_millis(from) };
        let total = rows.first().map_or(0, |row| row.people);
        let person = |row: PersonRow| ActivityPerson {
            user: (!row.item.is_empty()).then(|| UserId::new(row.item)),
            is_bot: row.counter == "bot",
            display_name: row.display_name,
            picture_url: row.picture_url,
            messages: row.messages,
        };
        Ok(PeopleCounts { since, total, people: rows.into_iter().map(person).collect() })
    }

    /// Returns the shorter way from the start of a digest to that of a day in UTC; where both have
    /// more than `most` messages, the way from as early as the first has no more than that.
    async fn edge(&self, keys: &str, from: i64, most: i64) -> Result<Edge, StoreError> {
        let (day, next) = (from - from.rem_euclid(DAY), ceiling(from, DAY));
        if day == next {
            return Ok(Edge { first: next, from, to: next, sign: 1 });
        }
        let quarters = query_as(QUARTERS).bind(keys).bind(day).bind(next);
        let quarters: Vec<(i64, i64)> = self.store.db.fetch_all(quarters).await?;
        let count = |after: bool| {
            let wanted = quarters.iter().filter(|(at, _)| (*at >= from) == after);
            wanted.map(|(_, messages)| messages).sum::<i64>()
        };
        let (added, taken) = (count(true), count(false));
        if taken < added && taken <= most {
            return Ok(Edge { first: day, from: day, to: from, sign: -1 });
        }
        let begin = if added <= most { from } else { begin_within(&quarters, next, most) };
        Ok(Edge { first: next, from: begin, to: next, sign: 1 })
    }
}

/// Returns the earliest start of a quarter of an hour from which at most `most` messages were sent
/// until `end`. The quarters are in order, the latest first.
fn begin_within(quarters: &[(i64, i64)], end: i64, most: i64) -> i64 {
    let (mut begin, mut left) = (end, most);
    for (at, messages) in quarters {
        left -= messages;
        if left < 0 {
            break;
        }
        begin = *at;
    }
    begin
}

impl MessageStore<'_> {
    /// Returns the number of messages of each type but texts, with at most `limit` examined of each
    /// channel and type.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn type_counts<'s>(
        &'s self,
        scope: DigestScope<'s>,
        limit: u32,
    ) -> Result<Vec<TypeCount>, StoreError> {
        let kinds: Vec<_> =
            MessageType::ALL.into_iter().filter(|kind| *kind != MessageType::Text).collect();
        let keys = scope.type_keys(&kinds)?;
        let counts = query_as(TYPES).bind(&keys).bind(scope.millis()).bind(i64::from(limit));
        let rows: Vec<(String, i64, i64)> = self.store.db.fetch_all(counts).await?;
        let none = |kind| TypeCount { kind, messages: 0, at_least: false };
        let mut counts: Vec<_> = kinds.into_iter().map(none).collect();
        for (name, examined, messages) in rows {
            for count in counts.iter_mut().filter(|count| count.kind.name() == name) {
                count.messages += messages;
                count.at_least |= examined >= i64::from(limit);
            }
        }
        Ok(counts)
    }
}
