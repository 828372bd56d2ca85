//! Subscriptions: users who back up a channel, each with the bytes that do not count for them.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::activity_log::{ChangeKind, NewChange, log_change};
use super::channels::channel_keys;
use super::coverage::{CoverageChange, note_subscription};
use super::db::{Sql, Tx, locking};
use super::ingest::{close_gaps, lock_ledger, save_ledger};
use super::{AccountStore, StoreError, channel_locks};
use crate::presence_sql::{has_left, takes_part};
use crate::query::{query, query_as};

/// Result of subscribing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribed {
    /// Subscribed from now on.
    New,
    /// Subscribed before; nothing changed.
    Already,
    /// There is no such channel.
    NoChannel,
}

/// Active subscription.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Channel.
    pub channel: ChannelId,
    /// Time of subscribing.
    pub created_at: Timestamp,
    /// Baseline: bytes of the channel that would not count for a user subscribing now.
    pub bytes_at_subscribe: i64,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct LockedSubscription {
    cancelled_at: i64,
    bytes_at_subscribe: i64,
}

const OF_CHANNEL: &str = "SELECT bytes, counted_at FROM channels WHERE channel_id = $1";

const LOCK_ONE: Sql = locking!(
    "SELECT cancelled_at, bytes_at_subscribe FROM subscriptions
     WHERE channel_id = $1 AND user_id = $2"
);

/// The subscriber with those of the channel, by key: a new subscription refers to its user, which
/// PostgreSQL locks, and all of them are charged.
const LOCK_USERS: Sql = locking!(
    "SELECT user_id FROM users
     WHERE user_id = $2 OR user_id IN (SELECT user_id FROM subscriptions
                                       WHERE channel_id = $1 AND cancelled_at = 0)
     ORDER BY user_id"
);

const SAVE: &str = "
    INSERT INTO subscriptions (channel_id, user_id, created_at, bytes_at_subscribe)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (channel_id, user_id) DO UPDATE SET created_at = excluded.created_at,
        cancelled_at = 0, bytes_at_subscribe = excluded.bytes_at_subscribe";

/// Owners who left become members when another user is about to own the channel: should they come
/// back, there is one owner all the same.
const DEPOSE: &str = concat!(
    "UPDATE members SET role = 'member', role_at = $3
     WHERE channel_id = $1 AND user_id <> $2 AND role = 'owner' AND ",
    has_left!("members"),
    " AND EXISTS (SELECT 1 FROM members m WHERE m.channel_id = $1 AND m.user_id = $2 AND ",
    takes_part!("m"),
    ")"
);

/// The first subscriber of a channel without an active owner becomes its owner. The channel's row
/// is locked, as by joins and leaves.
const CLAIM: &str = concat!(
    "UPDATE members SET role = 'owner', role_at = $3
     WHERE channel_id = $1 AND user_id = $2 AND role <> 'owner'
       AND NOT EXISTS (SELECT 1 FROM members o WHERE o.channel_id = $1 AND o.role = 'owner')
       AND EXISTS (SELECT 1 FROM members m WHERE m.channel_id = $1 AND m.user_id = $2 AND ",
    takes_part!("m"),
    ")"
);

const CANCEL: &str =
    "UPDATE subscriptions SET cancelled_at = $3 WHERE channel_id = $1 AND user_id = $2";

const OF_USER: &str =
    "SELECT channel_id FROM subscriptions WHERE user_id = $1 AND cancelled_at = 0";

/// Builds a statement that reads the subscribers of those channels.
macro_rules! subscribers {
    ($channels:literal) => {
        concat!(
            "SELECT s.channel_id, s.user_id, s.created_at, u.plan, u.used_bytes
             FROM subscriptions s JOIN users u ON u.user_id = s.user_id
             WHERE s.cancelled_at = 0 AND ",
            $channels
        )
    };
}

pub(super) use subscribers;

pub(super) const SUBSCRIBERS: &str = subscribers!("s.channel_id = $1");

const COUNT: &str = "SELECT COUNT(*) FROM subscriptions WHERE channel_id = $1 AND cancelled_at = 0";

const LIST: &str = "
    SELECT channel_id, created_at, bytes_at_subscribe FROM subscriptions
    WHERE user_id = $1 AND cancelled_at = 0 AND channel_id > $2
      AND (CAST($4 AS TEXT) IS NULL OR channel_id IN (SELECT value ->> 'c' FROM json_each($4)))
    ORDER BY channel_id LIMIT $3";

/// State of a channel's backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackupState {
    /// Nobody has the channel backed up.
    #[default]
    Off,
    /// Messages are stored.
    Running,
    /// Every subscriber has used up the quota: nothing is stored.
    Paused,
}

impl BackupState {
    /// Returns true if somebody has the channel backed up.
    pub fn is_subscribed(self) -> bool {
        self != Self::Off
    }

    /// Returns true if nothing is stored because of the quota.
    pub fn is_paused(self) -> bool {
        self == Self::Paused
    }
}

impl AccountStore<'_> {
    /// Subscribes a user to a channel. The content stored so far is the baseline. A user who does
    /// so while the channel has no active owner becomes its owner, also when subscribed already;
    /// owners who left become members.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn subscribe(
        &self,
        channel: &ChannelId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Subscribed, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let subscribed = subscribe_in(&mut tx, channel, user, now).await?;
        tx.commit().await?;
        Ok(subscribed)
    }

    /// Cancels a subscription; stored messages are kept. `false` when there was none.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn unsubscribe(
        &self,
        channel: &ChannelId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut channels = self.subscribed_channels(user).await?;
        channels.insert(channel.clone());
        let mut tx = self.store.db.begin().await?;
        let ended = unsubscribe_in(&mut tx, channel, user, &channels, now).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Returns the channels that a user subscribes to now.
    pub(super) async fn subscribed_channels(
        &self,
        user: &UserId,
    ) -> Result<BTreeSet<ChannelId>, StoreError> {
        let rows: Vec<(String,)> =
            self.store.db.fetch_all(query_as(OF_USER).bind(user.as_str())).await?;
        Ok(rows.into_iter().map(|(id,)| ChannelId::new(id)).collect())
    }

    /// Returns a user's active subscriptions by channel, after `after`, at most `limit`; only of
    /// the channels of `only` if given.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn subscriptions(
        &self,
        user: &UserId,
        only: Option<&[ChannelId]>,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<Subscription>, StoreError> {
        let after = after.map_or("", ChannelId::as_str);
        let only = only.map(channel_keys).transpose()?;
        let rows: Vec<(String, i64, i64)> = self
            .store
            .db
            .fetch_all(
                query_as(LIST).bind(user.as_str()).bind(after).bind(i64::from(limit)).bind(&only),
            )
            .await?;
        let subscription =
            |(channel, created_at, bytes_at_subscribe): (String, _, _)| Subscription {
                channel: ChannelId::from(channel),
                created_at: Timestamp::from_millis(created_at),
                bytes_at_subscribe,
            };
        Ok(rows.into_iter().map(subscription).collect())
    }

    /// Returns the state of a channel's backup.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn backup_state(&self, channel: &ChannelId) -> Result<BackupState, StoreError> {
        let mut states = self.backup_states(std::slice::from_ref(channel)).await?;
        Ok(states.remove(channel).unwrap_or_default())
    }
}

async fn subscribe_in(
    tx: &mut Tx,
    channel: &ChannelId,
    user: &UserId,
    now: Timestamp,
) -> Result<Subscribed, StoreError> {
    if !channel_locks::lock_one(tx, channel).await? {
        return Ok(Subscribed::NoChannel);
    }
    let (bytes, counted_at): (i64, i64) =
        tx.fetch_one(query_as(OF_CHANNEL).bind(channel.as_str())).await?;
    let known: Option<LockedSubscription> =
        tx.fetch_optional(query_as(LOCK_ONE).bind(channel.as_str()).bind(user.as_str())).await?;
    if known.is_some_and(|row| row.cancelled_at == 0) {
        claim_ownership(tx, channel, user, now).await?;
        return Ok(Subscribed::Already);
    }
    // Not before any stored content, so that time alone decides on the baseline.
    let since = now.millis().max(counted_at);
    let (c, u) = (channel.as_str(), user.as_str());
    let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK_USERS).bind(c).bind(u)).await?;
    let others = has_subscribers(tx, channel).await?;
    tx.execute(query(SAVE).bind(c).bind(u).bind(since).bind(bytes)).await?;
    claim_ownership(tx, channel, user, Timestamp::from_millis(since)).await?;
    if !others {
        let since = Timestamp::from_millis(since);
        note_subscription(tx, channel, since, CoverageChange::Subscribed).await?;
    }
    log_subscription(tx, channel, user, (None, Some("subscribed")), now).await?;
    resume(tx, &BTreeSet::from([channel.clone()]), now).await?;
    Ok(Subscribed::New)
}

/// Makes a user the owner of a channel that has no active one.
async fn claim_ownership(
    tx: &mut Tx,
    channel: &ChannelId,
    user: &UserId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let (c, u) = (channel.as_str(), user.as_str());
    tx.execute(query(DEPOSE).bind(c).bind(u).bind(at.millis())).await?;
    tx.execute(query(CLAIM).bind(c).bind(u).bind(at.millis())).await?;
    Ok(())
}

/// Cancels a subscription. `channels` are those that the user subscribes to, with this one.
async fn unsubscribe_in(
    tx: &mut Tx,
    channel: &ChannelId,
    user: &UserId,
    channels: &BTreeSet<ChannelId>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut ledger = lock_ledger(tx, &channels.iter().collect()).await?;
    let (c, u) = (channel.as_str(), user.as_str());
    let bytes: Option<(i64, i64)> = tx.fetch_optional(query_as(OF_CHANNEL).bind(c)).await?;
    let known: Option<LockedSubscription> =
        tx.fetch_optional(query_as(LOCK_ONE).bind(c).bind(u)).await?;
    let (Some((bytes, _)), Some(known)) = (bytes, known) else {
        return Ok(false);
    };
    if known.cancelled_at != 0 {
        return Ok(false);
    }
    ledger.release(user, bytes - known.bytes_at_subscribe);
    // Before this room resumes the user's channels, of which this one is none any more.
    tx.execute(query(CANCEL).bind(c).bind(u).bind(now.millis())).await?;
    save_ledger(tx, &ledger, now).await?;
    log_subscription(tx, channel, user, (Some("subscribed"), None), now).await?;
    if !has_subscribers(tx, channel).await? {
        note_subscription(tx, channel, now, CoverageChange::Unsubscribed).await?;
    }
    resume(tx, channels, now).await?;
    Ok(true)
}

/// Logs that somebody subscribed to a channel, or cancelled.
async fn log_subscription(
    tx: &mut Tx,
    channel: &ChannelId,
    by: &UserId,
    (before, after): (Option<&str>, Option<&str>),
    now: Timestamp,
) -> Result<(), StoreError> {
    let kind = ChangeKind::Subscription;
    log_change(tx, NewChange { channel, by, kind, subject: None, before, after }, now).await
}

async fn has_subscribers(tx: &mut Tx, channel: &ChannelId) -> Result<bool, StoreError> {
    let (count,): (i64,) = tx.fetch_one(query_as(COUNT).bind(channel.as_str())).await?;
    Ok(count > 0)
}

/// Closes the quota gaps of those channels with running (resumed) backup, and of those without any
/// subscription: no quota is in the way of that any more.
pub(super) async fn resume(
    tx: &mut Tx,
    channels: &BTreeSet<ChannelId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let ledger = lock_ledger(tx, &channels.iter().collect()).await?;
    let is_over = |id: &&ChannelId| !(ledger.subscribed(id) && ledger.paused(id));
    let over = channels.iter().filter(is_over).cloned().collect();
    close_gaps(tx, &over, now).await
}
