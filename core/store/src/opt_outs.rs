//! People who asked not to be kept: from when to when, in which channels. The time of sending
//! decides, so that late, repeated and disordered events change nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chatkeep_core::event::{Event, EventOrigin};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::{DAY, Timestamp};
use serde::Serialize;

use super::db::{Db, Tx};
use super::ingest::BulkKey;
use super::members::UserKey;
use super::{Gap, GapReason, StoreError};
use crate::query::{Query, query, query_as};

const OF_USERS: &str = "
    SELECT user_id, channel_id, at, opted_out FROM opt_outs
    WHERE user_id IN (SELECT value ->> 'u' FROM json_each($1))
    ORDER BY user_id, at, opted_out";
/// Ids only. Returns those that are new.
const REMEMBER: &str = "
    INSERT INTO erased_messages (channel_id, message_id)
    SELECT value ->> 'c', value ->> 'm' FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, message_id) DO NOTHING
    RETURNING channel_id, message_id";
const COUNT_DAYS: &str = "
    INSERT INTO opted_out_days (channel_id, day_at, messages)
    SELECT value ->> 'c', CAST(value ->> 'at' AS BIGINT), CAST(value ->> 'n' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, day_at) DO UPDATE SET
        messages = opted_out_days.messages + excluded.messages";
/// Edits of messages that were sent while their authors had opted out, and came before them.
const DROP_STRAYS: &str = "
    DELETE FROM messages
    WHERE sent_at IS NULL AND unsent_at IS NULL
      AND (channel_id, message_id) IN
          (SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";
const REMEMBERED: &str = "
    SELECT channel_id, message_id FROM erased_messages
    WHERE (channel_id, message_id) IN
          (SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";

/// Changes of mind of some people.
#[derive(Clone, Debug, Default)]
pub struct OptOuts {
    /// Oldest first; of two at the same time the opt-out comes last.
    changes: HashMap<UserId, Vec<Change>>,
}

#[derive(Clone, Debug)]
struct Change {
    /// `None` for every channel.
    channel: Option<ChannelId>,
    at: Timestamp,
    opted_out: bool,
}

#[derive(Serialize)]
struct Day<'a> {
    c: &'a str,
    at: i64,
    n: i64,
}

type Row = (String, String, i64, i64);

impl OptOuts {
    /// Loads the changes of these people, inside of a transaction.
    pub(super) async fn load<'a>(
        tx: &mut Tx,
        users: impl IntoIterator<Item = &'a UserId>,
    ) -> Result<Self, StoreError> {
        let Some(keys) = user_keys(users)? else { return Ok(Self::default()) };
        Ok(Self::of(tx.fetch_all(of_users(&keys)).await?))
    }

    /// Reads the changes of these people.
    pub(super) async fn read<'a>(
        db: &Db,
        users: impl IntoIterator<Item = &'a UserId>,
    ) -> Result<Self, StoreError> {
        let Some(keys) = user_keys(users)? else { return Ok(Self::default()) };
        Ok(Self::of(db.fetch_all(of_users(&keys)).await?))
    }

    fn of(rows: Vec<Row>) -> Self {
        let mut changes: HashMap<UserId, Vec<Change>> = HashMap::new();
        for (user, channel, at, opted_out) in rows {
            changes.entry(user.into()).or_default().push(Change {
                channel: (!channel.is_empty()).then(|| channel.into()),
                at: Timestamp::from_millis(at),
                opted_out: opted_out != 0,
            });
        }
        Self { changes }
    }

    /// Returns `true` if nobody of them ever opted out.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns `true` if that person opted out at some time, of one channel or of all.
    pub fn mention(&self, user: &UserId) -> bool {
        self.changes.contains_key(user)
    }

    /// Returns `true` if nothing is kept of what that person does in the channel at that time: the
    /// latest change until then decides, be it about the channel or about all.
    pub fn refuse(&self, channel: &ChannelId, user: &UserId, at: Timestamp) -> bool {
        let Some(changes) = self.changes.get(user) else { return false };
        let concerned = changes.iter().rev().find(|change| {
            change.at <= at && change.channel.as_ref().is_none_or(|only| only == channel)
        });
        concerned.is_some_and(|change| change.opted_out)
    }

    /// Returns `true` if nothing is kept of what that person does in the channel at some time from
    /// `from` to `until`.
    pub(super) fn refuse_within(
        &self,
        channel: &ChannelId,
        user: &UserId,
        from: Timestamp,
        until: Timestamp,
    ) -> bool {
        let mut changes = self.changes.get(user).into_iter().flatten();
        self.refuse(channel, user, from)
            || changes.any(|change| {
                change.opted_out
                    && change.channel.as_ref().is_none_or(|only| only == channel)
                    && (from..=until).contains(&change.at)
            })
    }

    /// Returns `true` if nothing is kept of that event, because of who caused it. Outside of any chat
    /// the changes about all channels decide.
    pub fn refuse_event(&self, event: &Event) -> bool {
        let nowhere = ChannelId::new("");
        let channel = event.channel.as_ref().map_or(&nowhere, |channel| &channel.id);
        event.sender.as_ref().is_some_and(|sender| self.refuse(channel, sender, event.at))
    }

    /// Returns `true` if nothing is kept of the event with that origin.
    pub(super) fn refuse_origin(&self, origin: &EventOrigin) -> bool {
        let EventOrigin { channel, chat, author, at, .. } = origin;
        author.as_ref().is_some_and(|author| {
            self.refuse(channel, author, *at) || self.refuse(chat, author, *at)
        })
    }

    /// Returns `true` if that person's latest change about all channels was to opt out.
    pub fn from_all(&self, user: &UserId) -> bool {
        let changes = self.changes.get(user).into_iter().flatten();
        changes.rev().find(|change| change.channel.is_none()).is_some_and(|last| last.opted_out)
    }
}

fn user_keys<'a>(
    users: impl IntoIterator<Item = &'a UserId>,
) -> Result<Option<String>, StoreError> {
    let users: BTreeSet<_> = users.into_iter().map(UserId::as_str).collect();
    if users.is_empty() {
        return Ok(None);
    }
    let keys: Vec<_> = users.into_iter().map(|u| UserKey { u }).collect();
    Ok(Some(serde_json::to_string(&keys)?))
}

fn of_users(keys: &str) -> Query<'_, Row> {
    query_as(OF_USERS).bind(keys)
}

impl OptOuts {
    /// Returns `true` if that is what they said last, so that saying it again changes nothing.
    pub(super) fn says(&self, user: &UserId, channel: Option<&ChannelId>, opted_out: bool) -> bool {
        let changes = self.changes.get(user).map_or(&[][..], Vec::as_slice);
        match channel {
            Some(_) => {
                let concerned = |change: &&Change| {
                    change.channel.is_none() || change.channel.as_ref() == channel
                };
                changes.iter().rev().find(concerned).is_some_and(|last| last.opted_out) == opted_out
            }
            // It ends what was said about single channels, too.
            None => changes
                .last()
                .map_or(!opted_out, |last| last.channel.is_none() && last.opted_out == opted_out),
        }
    }
}

/// Returns those of these messages that are never to be stored.
pub(super) async fn remembered(
    tx: &mut Tx,
    keys: &[BulkKey<'_>],
) -> Result<BTreeSet<(ChannelId, MessageId)>, StoreError> {
    if keys.is_empty() {
        return Ok(BTreeSet::new());
    }
    let keys = serde_json::to_string(keys)?;
    let rows: Vec<(String, String)> = tx.fetch_all(query_as(REMEMBERED).bind(&keys)).await?;
    Ok(rows.into_iter().map(|(c, m)| (c.into(), m.into())).collect())
}

/// Counts messages that are not kept, each with the time of its sending, once however often they
/// come.
pub(super) async fn count_opted_out(
    tx: &mut Tx,
    messages: &BTreeMap<(ChannelId, MessageId), Timestamp>,
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let keys = messages.keys().map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) });
    let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
    tx.execute(query(DROP_STRAYS).bind(&keys)).await?;
    let new: Vec<(String, String)> = tx.fetch_all(query_as(REMEMBER).bind(&keys)).await?;
    let mut days: BTreeMap<(ChannelId, i64), i64> = BTreeMap::new();
    for (channel, message) in new {
        let key = (ChannelId::from(channel), MessageId::from(message));
        if let Some(at) = messages.get(&key) {
            *days.entry((key.0, at.utc_day().millis())).or_default() += 1;
        }
    }
    let rows: Vec<_> =
        days.iter().map(|((c, at), n)| Day { c: c.as_str(), at: *at, n: *n }).collect();
    let rows = serde_json::to_string(&rows)?;
    tx.execute(query(COUNT_DAYS).bind(&rows)).await?;
    Ok(())
}

/// Returns the gap for a day on which people wrote who had opted out.
pub(super) fn opted_out_day(day: Timestamp, messages: i64) -> Gap {
    Gap { from: day, to: Some(day.plus(DAY)), reason: GapReason::OptedOut, skipped: Some(messages) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opt_outs(changes: &[(&str, i64, bool)]) -> OptOuts {
        let rows = changes.iter().map(|(channel, at, opted_out)| {
            ("U1".to_owned(), (*channel).to_owned(), *at, i64::from(*opted_out))
        });
        OptOuts::of(rows.collect())
    }

    fn refused(opt_outs: &OptOuts, channel: &str, at: i64) -> bool {
        opt_outs.refuse(&channel.into(), &"U1".into(), Timestamp::from_millis(at))
    }

    #[test]
    fn the_time_of_sending_decides() {
        let known = opt_outs(&[("C1", 10, true), ("C1", 20, false)]);
        let times = [9, 10, 19, 20].map(|at| refused(&known, "C1", at));
        assert_eq!(times, [false, true, true, false]);
        assert!(!refused(&known, "C2", 15));
        let other = known.refuse(&"C1".into(), &"U2".into(), Timestamp::from_millis(15));
        assert!(!other, "somebody else");
    }

    #[test]
    fn the_latest_change_counts_be_it_about_one_channel_or_all() {
        let known = opt_outs(&[("", 10, true), ("C1", 20, false), ("", 30, false)]);
        assert!(refused(&known, "C1", 15) && refused(&known, "C2", 25));
        assert!(!refused(&known, "C1", 25) && !refused(&known, "C2", 30));
        let at_once = opt_outs(&[("C1", 10, false), ("", 10, true)]);
        assert!(refused(&at_once, "C1", 10), "in doubt nothing is kept");
    }

    #[test]
    fn what_was_said_last_is_not_said_again() {
        let known = opt_outs(&[("C1", 10, true)]);
        let (user, channel) = ("U1".into(), "C1".into());
        assert!(known.says(&user, Some(&channel), true));
        assert!(!known.says(&user, Some(&channel), false));
        assert!(!known.says(&user, None, false), "it ends the opt-out of the channel");
        assert!(OptOuts::default().says(&user, None, false));
        assert!(!OptOuts::default().says(&user, None, true));
    }
}
