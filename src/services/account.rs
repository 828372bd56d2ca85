//! The caller's account: who they are, what they use, and what they are notified of.

use std::cmp::Reverse;
use std::collections::HashMap;

use chatkeep_core::plan::Usage;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Channel, ChannelUsage, Store, User};

use super::ServiceError;
use super::access::{Caller, Scoped, WriteBackup};

/// Usage of the quota that the caller may see.
#[derive(Clone, Debug)]
pub(crate) struct AccountUsage {
    /// Sum of the channels, and the quota of the plan.
    pub(crate) total: Usage,
    /// Usage of each channel.
    pub(crate) channels: Vec<ChannelUsage>,
    /// Time of the measurement.
    pub(crate) at: Timestamp,
}

/// Part of a channel in the caller's usage.
#[derive(Clone, Debug)]
pub(crate) struct ChannelShare {
    /// The channel; `None` when the caller may not see it any more.
    pub(crate) channel: Option<Channel>,
    /// Its usage.
    pub(crate) usage: ChannelUsage,
    /// Number of its stored media files.
    pub(crate) files: i64,
}

impl ChannelShare {
    /// Returns the bytes that count against the caller's quota.
    pub(crate) fn counted(&self) -> i64 {
        (self.usage.bytes - self.usage.bytes_at_subscribe).max(0)
    }
}

/// Accounts of callers. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct AccountService {
    store: Store,
    clock: SharedClock,
}

impl AccountService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns the caller's user.
    ///
    /// # Errors
    /// [`ServiceError::InvalidKey`] when the user is gone: the credential is treated as deleted.
    pub(crate) async fn user(&self, caller: &Caller) -> Result<User, ServiceError> {
        self.store.accounts().user(&caller.user).await?.ok_or(ServiceError::InvalidKey)
    }

    /// Returns the caller's usage; with a credential that is restricted to channels, that of these
    /// and their sum.
    ///
    /// # Errors
    /// As of [`Self::user`].
    pub(crate) async fn usage(&self, caller: &Caller) -> Result<AccountUsage, ServiceError> {
        let user = self.user(caller).await?;
        let mut usage = self.store.accounts().usage(&user.id).await?;
        usage.channels.retain(|channel| caller.bounds.sees(&channel.channel));
        let total = Usage::new(usage.total(), user.plan);
        // The counters change with what they count, so they are true whenever they are read.
        Ok(AccountUsage { total, channels: usage.channels, at: self.clock.now() })
    }

    /// Returns the caller's usage, and the part of each channel, the largest first.
    ///
    /// # Errors
    /// As of [`Self::user`].
    pub(crate) async fn shares(
        &self,
        caller: &Caller,
    ) -> Result<(AccountUsage, Vec<ChannelShare>), ServiceError> {
        let usage = self.usage(caller).await?;
        let ids: Vec<_> = usage.channels.iter().map(|usage| usage.channel.clone()).collect();
        let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let seen = self.store.channels().channels_of(&caller.user, Some(&ids), None, limit).await?;
        let mut seen: HashMap<_, _> =
            seen.into_iter().map(|channel| (channel.id.clone(), channel)).collect();
        let files = self.store.media().stored_media(&ids).await?;
        let share = |usage: &ChannelUsage| ChannelShare {
            channel: seen.remove(&usage.channel),
            files: files.get(&usage.channel).copied().unwrap_or_default(),
            usage: usage.clone(),
        };
        let mut shares: Vec<_> = usage.channels.iter().map(share).collect();
        shares.sort_by_key(|share| Reverse(share.counted()));
        Ok((usage, shares))
    }

    /// Returns true when the bot notifies the caller in their own chat about quota usage.
    ///
    /// # Errors
    /// As of [`Self::user`].
    pub(crate) async fn wants_notices(&self, caller: &Caller) -> Result<bool, ServiceError> {
        self.store.accounts().wants_notices(&caller.user).await?.ok_or(ServiceError::InvalidKey)
    }

    /// Enables or disables the notices about quota usage.
    ///
    /// # Errors
    /// As of [`Self::user`].
    pub(crate) async fn set_notices(
        &self,
        access: &Scoped<WriteBackup>,
        enabled: bool,
    ) -> Result<(), ServiceError> {
        let known = self.store.accounts().set_notices_enabled(&access.caller.user, enabled).await?;
        if known { Ok(()) } else { Err(ServiceError::InvalidKey) }
    }
}
