//! Retention: deletes messages older than their channel's limit, and those of channels long without
//! a subscription. In small batches, each one transaction, so that backup goes on between them.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::{DAY, Timestamp};

use super::super::activity_log::{ChangeKind, NewChange, forget_activity, log_change};
use super::super::channel_locks::lock_one;
use super::super::channels::channel_keys;
use super::super::db::Tx;
use super::super::unknown_events::forget_unknown;
use super::super::{ChannelStore, StoreError};
use super::lock_ledger;
use super::removal::{ALL, BEFORE, DELETED_BEFORE, RemovalMode, Removed, remove};
use super::stray_edits::{forget_skipped, forget_stray_edits};
use crate::query::{query, query_as};

const SET: &str = "UPDATE channels SET retention_days = $2 WHERE channel_id = $1";
/// A deletion removes as retention does; the later of both times is told.
const OF_CHANNEL: &str = "
    SELECT retention_days,
           CASE WHEN deleted_before > retained_from THEN deleted_before ELSE retained_from END
    FROM channels WHERE channel_id = $1";
const REMOVED: &str = "
    SELECT channel_id,
           CASE WHEN deleted_before > retained_from THEN deleted_before ELSE retained_from END
    FROM channels
    WHERE (deleted_before > 0 OR retained_from > 0)
      AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    ORDER BY channel_id";
const RETAINED: &str = "
    UPDATE channels SET retained_from = $2 WHERE channel_id = $1 AND retained_from < $2";

const OUTDATED: &str = "
    SELECT c.channel_id FROM channels c
    WHERE c.retention_days IS NOT NULL
      AND (EXISTS (SELECT 1 FROM messages m
                   WHERE m.channel_id = c.channel_id
                     AND m.sent_at < $1 - c.retention_days * 86400000)
           OR EXISTS (SELECT 1 FROM messages m
                      WHERE m.channel_id = c.channel_id
                        AND m.sent_at IS NULL AND m.content IS NOT NULL
                        AND m.edited_at < $1 - c.retention_days * 86400000)
           OR EXISTS (SELECT 1 FROM other_events e
                      WHERE e.channel_id = c.channel_id
                        AND e.at < $1 - c.retention_days * 86400000))
    ORDER BY c.channel_id";

const ABANDONED: &str = "
    SELECT s.channel_id FROM subscriptions s
    GROUP BY s.channel_id
    HAVING MIN(s.cancelled_at) > 0 AND MAX(s.cancelled_at) < $1
       AND (EXISTS (SELECT 1 FROM messages m WHERE m.channel_id = s.channel_id)
            OR EXISTS (SELECT 1 FROM other_events e
                       WHERE e.channel_id = s.channel_id AND e.at < $1)
            OR EXISTS (SELECT 1 FROM channel_changes c
                       WHERE c.channel_id = s.channel_id AND c.at < $1)
            OR EXISTS (SELECT 1 FROM channel_reads r
                       WHERE r.channel_id = s.channel_id AND r.day_at < $1))
    ORDER BY s.channel_id";
const LAST_CANCELLED: &str = "
    SELECT MIN(cancelled_at), MAX(cancelled_at) FROM subscriptions WHERE channel_id = $1";

impl ChannelStore<'_> {
    /// Sets the days after which a channel's messages are removed (`None`: never) on behalf of `by`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_retention(
        &self,
        channel: &ChannelId,
        days: Option<u32>,
        by: &UserId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let c = channel.as_str();
        let mut tx = self.store.db.begin().await?;
        // Otherwise the log of two changes at once would have the same value before both.
        lock_one(&mut tx, channel).await?;
        let known: Option<(Option<i64>, i64)> =
            tx.fetch_optional(query_as(OF_CHANNEL).bind(c)).await?;
        tx.execute(query(SET).bind(c).bind(days.map(i64::from))).await?;
        let before = known.and_then(|(days, _)| days).map(|days| days.to_string());
        let after = days.map(|days| days.to_string());
        if before != after {
            let (before, after) = (before.as_deref(), after.as_deref());
            let kind = ChangeKind::Retention;
            let change = NewChange { channel, by, kind, subject: None, before, after };
            log_change(&mut tx, change, now).await?;
        }
        tx.commit().await
    }

    /// Returns the days after which a channel's messages are removed, and the time before which
    /// those were sent that are removed already, by a deletion or because of their age.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn retention(
        &self,
        channel: &ChannelId,
    ) -> Result<(Option<i64>, Option<Timestamp>), StoreError> {
        let row: Option<(Option<i64>, i64)> =
            self.store.db.fetch_optional(query_as(OF_CHANNEL).bind(channel.as_str())).await?;
        let (days, before) = row.unwrap_or_default();
        Ok((days, (before > 0).then(|| Timestamp::from_millis(before))))
    }

    /// Returns those of these channels of which messages are removed already, by a deletion or because
    /// of their age, with the time before which these were sent.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn removed_before(
        &self,
        channels: &[ChannelId],
    ) -> Result<Vec<(ChannelId, Timestamp)>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(REMOVED).bind(&keys)).await?;
        let removed = |(id, before): (String, i64)| (id.into(), Timestamp::from_millis(before));
        Ok(rows.into_iter().map(removed).collect())
    }

    /// Returns the channels with messages, edits that wait for their message, or events of unknown type,
    /// older than their retention.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn outdated_channels(&self, now: Timestamp) -> Result<Vec<ChannelId>, StoreError> {
        let rows: Vec<(String,)> =
            self.store.db.fetch_all(query_as(OUTDATED).bind(now.millis())).await?;
        Ok(rows.into_iter().map(|(id,)| id.into()).collect())
    }

    /// Deletes the oldest messages of a channel, at most `limit`, that exceed its retention, and all
    /// events of unknown type and edits without their message that do, as a job of
    /// [`JobStore::work_on_job`](crate::JobStore::work_on_job) does. Repeat until [`Removed::last`].
    /// The retention is read each time: it may have been changed.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn delete_outdated(
        &self,
        channel: &ChannelId,
        limit: u32,
        now: Timestamp,
    ) -> Result<Removed, StoreError> {
        let c = channel.as_str();
        let mut tx = self.store.db.begin_bulk().await?;
        let mut before = None;
        let removed = remove(&mut tx, channel, now, (RemovalMode::Delete, limit), async |tx| {
            before = cutoff(tx, channel, now).await?;
            let Some(before) = before else {
                return Ok(Vec::new());
            };
            let limit = i64::from(limit);
            Ok(tx.fetch_all(query_as(BEFORE).bind(c).bind(before).bind(limit)).await?)
        })
        .await?;
        if let Some(before) = before.map(Timestamp::from_millis) {
            forget_stray_edits(&mut tx, channel, None, before).await?;
            forget_skipped(&mut tx, channel, before).await?;
            forget_unknown(&mut tx, channel, before).await?;
        }
        if let Some(before) = before.filter(|_| !removed.messages.is_empty()) {
            tx.execute(query(DELETED_BEFORE).bind(c).bind(before)).await?;
            tx.execute(query(RETAINED).bind(c).bind(before)).await?;
        }
        tx.commit().await?;
        Ok(removed)
    }

    /// Returns the channels whose last subscription was cancelled before that time, and that have
    /// messages, or an activity log or events of unknown type from before it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn abandoned_channels(
        &self,
        before: Timestamp,
    ) -> Result<Vec<ChannelId>, StoreError> {
        let rows: Vec<(String,)> =
            self.store.db.fetch_all(query_as(ABANDONED).bind(before.millis())).await?;
        Ok(rows.into_iter().map(|(id,)| id.into()).collect())
    }

    /// Deletes messages of a channel, at most `limit`, whose last subscription was cancelled before
    /// that time, and all events of unknown type from before it; none when somebody subscribes.
    /// Repeat until [`Removed::last`].
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn delete_abandoned(
        &self,
        channel: &ChannelId,
        before: Timestamp,
        limit: u32,
        now: Timestamp,
    ) -> Result<Removed, StoreError> {
        let c = channel.as_str();
        let mut tx = self.store.db.begin_bulk().await?;
        let mut ended = None;
        let removed = remove(&mut tx, channel, now, (RemovalMode::Delete, limit), async |tx| {
            ended = abandoned_at(tx, channel, before).await?;
            if ended.is_none() {
                return Ok(Vec::new());
            }
            let limit = i64::from(limit);
            Ok(tx.fetch_all(query_as(ALL).bind(c).bind(limit)).await?)
        })
        .await?;
        if ended.is_some() {
            forget_unknown(&mut tx, channel, before).await?;
        }
        // Late deliveries from that time stay away; later messages are for new subscribers.
        if let Some(ended) = ended.filter(|_| !removed.messages.is_empty()) {
            tx.execute(query(DELETED_BEFORE).bind(c).bind(ended)).await?;
        }
        tx.commit().await?;
        Ok(removed)
    }

    /// Deletes a batch of the activity log from before that time of a channel whose last
    /// subscription was cancelled before it, and returns the number of rows; 0 at the end. Call it
    /// once the messages are gone.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn forget_abandoned(
        &self,
        channel: &ChannelId,
        before: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        lock_ledger(&mut tx, &[channel].into()).await?;
        let gone = match abandoned_at(&mut tx, channel, before).await? {
            Some(_) => forget_activity(&mut tx, channel, before).await?,
            None => 0,
        };
        tx.commit().await?;
        Ok(gone)
    }
}

/// Returns the time in milliseconds since 1970 at which the last subscription of a channel was
/// cancelled, if that was before `before`.
async fn abandoned_at(
    tx: &mut Tx,
    channel: &ChannelId,
    before: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let (first, last): (Option<i64>, Option<i64>) =
        tx.fetch_one(query_as(LAST_CANCELLED).bind(channel.as_str())).await?;
    // 0 is a subscription that goes on.
    Ok(last.filter(|last| first > Some(0) && *last < before.millis()))
}

/// Returns the time before which messages of the channel are too old now, in milliseconds since
/// 1970.
async fn cutoff(
    tx: &mut Tx,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let row: Option<(Option<i64>, i64)> =
        tx.fetch_optional(query_as(OF_CHANNEL).bind(channel.as_str())).await?;
    Ok(row
        .and_then(|(days, _)| days)
        .map(|days| now.minus(DAY * u32::try_from(days).unwrap_or(u32::MAX)).millis()))
}
