//! Ledger of one transaction: the bytes of each channel and subscriber, charged message by message,
//! so that backup pauses at exactly the right one, and the activity counters. Whoever stores,
//! changes or removes a message or a file charges it here, so that no counter is forgotten.

use std::collections::BTreeMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::plan::{Plan, Usage, UsageStatus};
use chatkeep_core::time::Timestamp;

use super::activity::{ActivityDelta, Counted};
use super::{StoreError, parsed};

/// Counters and subscribers of a channel.
#[derive(Debug, Default)]
pub(super) struct ChannelAccount {
    pub(super) bytes_delta: i64,
    pub(super) count_delta: i64,
    activity: ActivityDelta,
    subscribers: Vec<Subscriber>,
}

#[derive(Debug)]
struct Subscriber {
    user: UserId,
    since: Timestamp,
    baseline_delta: i64,
}

/// Usage of a user within the transaction.
#[derive(Debug)]
pub(super) struct UserAccount {
    plan: Plan,
    before: i64,
    used: i64,
}

/// Row of `subscriptions` with its user's plan and usage.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct SubscriberRow {
    pub(super) channel_id: String,
    pub(super) user_id: String,
    pub(super) created_at: i64,
    pub(super) plan: String,
    pub(super) used_bytes: i64,
}

/// Accounts of a transaction.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) channels: BTreeMap<ChannelId, ChannelAccount>,
    pub(super) users: BTreeMap<UserId, UserAccount>,
}

impl Ledger {
    pub(super) fn new(
        channels: impl IntoIterator<Item = ChannelId>,
        subscribers: Vec<SubscriberRow>,
    ) -> Result<Self, StoreError> {
        let channels = channels.into_iter().map(|id| (id, ChannelAccount::default())).collect();
        let mut ledger = Self { channels, users: BTreeMap::new() };
        for row in subscribers {
            let plan = parsed(Plan::parse(&row.plan), "users", "plan", &row.user_id)?;
            let user = UserId::new(row.user_id);
            let account = UserAccount { plan, before: row.used_bytes, used: row.used_bytes };
            ledger.users.entry(user.clone()).or_insert(account);
            if let Some(channel) = ledger.channels.get_mut(row.channel_id.as_str()) {
                let since = Timestamp::from_millis(row.created_at);
                channel.subscribers.push(Subscriber { user, since, baseline_delta: 0 });
            }
        }
        Ok(ledger)
    }

    /// Returns `true` if the channel has a subscription.
    pub(super) fn subscribed(&self, channel: &ChannelId) -> bool {
        self.channels.get(channel.as_str()).is_some_and(|account| !account.subscribers.is_empty())
    }

    /// Returns `true` if backup of the channel is paused: every subscriber's quota is exceeded.
    pub(super) fn paused(&self, channel: &ChannelId) -> bool {
        let running = |subscriber: &Subscriber| {
            self.users.get(&subscriber.user).is_some_and(|user| !user.usage().exceeded())
        };
        !self
            .channels
            .get(channel.as_str())
            .is_some_and(|account| account.subscribers.iter().any(running))
    }

    /// Returns `true` if every subscriber stays below their quota with these bytes added.
    pub(super) fn has_room(&self, bytes: i64) -> bool {
        let room =
            |user: &UserAccount| !Usage::new(user.used.saturating_add(bytes), user.plan).exceeded();
        self.users.values().all(room)
    }

    /// Returns a storing time for now that is after every subscription of the channel, so that the
    /// content counts for all of them.
    pub(super) fn storing_time(&self, channel: &ChannelId, now: Timestamp) -> Timestamp {
        let subscribers = self.channels.get(channel.as_str()).map(|account| &account.subscribers);
        let latest = subscribers.into_iter().flatten().map(|s| s.since.millis() + 1).max();
        Timestamp::from_millis(latest.unwrap_or_default().max(now.millis()))
    }

    /// Charges the change of a message stored at `stored_at`: what it counted by before, and what
    /// it counts by now.
    pub(super) fn charge_message(
        &mut self,
        channel: &ChannelId,
        stored_at: Timestamp,
        before: Option<&Counted>,
        after: Option<&Counted>,
    ) {
        let bytes = |message: Option<&Counted>| message.map_or(0, |message| message.bytes);
        let count = i64::from(after.is_some()) - i64::from(before.is_some());
        self.charge(channel, stored_at, bytes(after) - bytes(before), count);
        if let Some(account) = self.channels.get_mut(channel.as_str()) {
            for (message, sign) in [(before, -1), (after, 1)] {
                if let Some(message) = message {
                    account.activity.add_message(message, sign);
                }
            }
        }
    }

    /// Charges a change in size of the file of a message of that type, stored at `stored_at`.
    pub(super) fn charge_file(
        &mut self,
        channel: &ChannelId,
        stored_at: Timestamp,
        kind: MessageType,
        bytes: i64,
    ) {
        self.charge(channel, stored_at, bytes, 0);
        if let Some(account) = self.channels.get_mut(channel.as_str()) {
            account.activity.add_file(kind, bytes);
        }
    }

    /// Charges a change in size of something stored at `stored_at`. Later subscribers had it in the
    /// baseline, so for them the baseline changes and the usage stays.
    fn charge(&mut self, channel: &ChannelId, stored_at: Timestamp, bytes: i64, count: i64) {
        let Some(account) = self.channels.get_mut(channel.as_str()) else {
            return;
        };
        account.bytes_delta += bytes;
        account.count_delta += count;
        for subscriber in &mut account.subscribers {
            if stored_at <= subscriber.since {
                subscriber.baseline_delta += bytes;
            } else if let Some(user) = self.users.get_mut(&subscriber.user) {
                user.used += bytes;
            }
        }
    }

    /// Releases bytes that no longer count for a user.
    pub(super) fn release(&mut self, user: &UserId, bytes: i64) {
        if let Some(account) = self.users.get_mut(user.as_str()) {
            account.used -= bytes;
        }
    }

    /// Channels with changed counters: id, bytes, messages.
    pub(super) fn channel_deltas(&self) -> impl Iterator<Item = (&ChannelId, i64, i64)> {
        self.channels
            .iter()
            .map(|(id, account)| (id, account.bytes_delta, account.count_delta))
            .filter(|(_, bytes, count)| *bytes != 0 || *count != 0)
    }

    /// Changes of the channels' activity counters.
    pub(super) fn activity(&self) -> impl Iterator<Item = (&ChannelId, &ActivityDelta)> {
        self.channels.iter().map(|(id, account)| (id, &account.activity))
    }

    /// Subscriptions with a changed baseline: channel, user, bytes.
    pub(super) fn baseline_deltas(&self) -> impl Iterator<Item = (&ChannelId, &UserId, i64)> {
        self.channels.iter().flat_map(|(id, account)| {
            let changed = account.subscribers.iter().filter(|s| s.baseline_delta != 0);
            changed.map(move |s| (id, &s.user, s.baseline_delta))
        })
    }

    /// Users with changed usage: id, bytes.
    pub(super) fn user_deltas(&self) -> impl Iterator<Item = (&UserId, i64)> {
        self.users
            .iter()
            .map(|(id, account)| (id, account.used - account.before))
            .filter(|(_, bytes)| *bytes != 0)
    }

    /// Users with a changed usage status, with the old and the new one.
    pub(super) fn crossings(&self) -> impl Iterator<Item = (&UserId, UsageStatus, UsageStatus)> {
        self.users.iter().filter_map(|(id, account)| {
            let before = Usage::new(account.before, account.plan).status();
            let after = account.usage().status();
            (before != after).then_some((id, before, after))
        })
    }
}

impl UserAccount {
    fn usage(&self) -> Usage {
        Usage::new(self.used, self.plan)
    }
}

#[cfg(test)]
#[path = "ledger_edge_tests.rs"]
mod edge_tests;
