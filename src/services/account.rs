//! The caller's account: who they are, what they use, and what they are notified of.

use std::cmp::Reverse;
use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Subject;
use chatkeep_core::id::UserId;
use chatkeep_core::plan::{Plan, Usage};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Channel, ChannelUsage, Store, StoreError, User};
use chatkeep_view::pseudonyms::Masked;
use chrono::{DateTime, Datelike as _, Months, NaiveDate, NaiveTime};

use super::ServiceError;
use super::access::{Caller, Scoped, WriteBackup};
use super::operator::Operator;

/// Usage of the quota that the caller may see.
#[derive(Clone, Debug)]
pub struct AccountUsage {
    /// Sum of all of the user's subscriptions, and the quota of the plan.
    pub total: Usage,
    /// Usage of each channel that the caller may see.
    pub channels: Vec<ChannelUsage>,
    /// Time of the measurement.
    pub at: Timestamp,
}

/// Part of a channel in the caller's usage.
#[derive(Clone, Debug)]
pub struct ChannelShare {
    /// The channel; `None` when the caller may not see it any more.
    pub channel: Option<Channel>,
    /// Its usage.
    pub usage: ChannelUsage,
}

/// Usage of the quota at the end of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthUsage {
    /// First day of the month; months are those of UTC, as are the days by which usage is stored.
    pub first: NaiveDate,
    /// Used bytes at its end, or now.
    pub bytes: i64,
}

impl ChannelShare {
    /// Returns the bytes that count against the caller's quota.
    pub fn counted(&self) -> i64 {
        (self.usage.bytes - self.usage.bytes_at_subscribe).max(0)
    }
}

/// Accounts of callers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AccountService {
    store: Store,
    clock: SharedClock,
}

impl AccountService {
    /// Creates the service; commands have it without the others.
    pub const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Registers a user. Of one who is known already, name and plan are changed where they are
    /// given.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn register(
        &self,
        operator: &Operator,
        user: &UserId,
        name: Option<&str>,
        plan: Option<Plan>,
    ) -> Result<(), StoreError> {
        self.store.accounts().add_user(user, name, self.clock.now()).await?;
        if let Some(plan) = plan {
            self.set_plan(operator, user, plan).await?;
        }
        Ok(())
    }

    /// Changes the plan of a user; `false` for an unknown user.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn set_plan(
        &self,
        _: &Operator,
        user: &UserId,
        plan: Plan,
    ) -> Result<bool, StoreError> {
        self.store.accounts().set_plan(user, plan, self.clock.now()).await
    }

    /// Returns at most `limit` of all users from after that one.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn page_of_all(
        &self,
        _: &Operator,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<User>, StoreError> {
        self.store.accounts().users(after, limit).await
    }

    /// Returns the caller's user.
    ///
    /// # Errors
    /// [`ServiceError::InvalidKey`] when the user is gone: the credential is treated as deleted.
    #[boxed]
    pub async fn user(&self, caller: &Caller) -> Result<Masked<User>, ServiceError> {
        let user = self.store.accounts().user(&caller.user).await?;
        Ok(caller.mask.show(user.ok_or(ServiceError::InvalidKey)?))
    }

    /// Returns the caller's usage. The quota is the user's, so its numbers are theirs, too; a
    /// credential that is restricted to channels gets the usage of these alone beside them.
    ///
    /// # Errors
    /// Those of [`Self::user`].
    #[boxed]
    pub async fn usage(&self, caller: &Caller) -> Result<AccountUsage, ServiceError> {
        let user = self.user(caller).await?;
        let mut usage = self.store.accounts().usage(&user.id).await?;
        let total = Usage::new(usage.total(), user.plan);
        usage.channels.retain(|channel| caller.bounds.sees(&channel.channel));
        // The counters change with what they count, so they are true whenever they are read.
        Ok(AccountUsage { total, channels: usage.channels, at: self.clock.now() })
    }

    /// Returns the caller's usage, and the part of each channel, the largest first.
    ///
    /// # Errors
    /// Those of [`Self::user`].
    #[boxed]
    pub async fn shares(
        &self,
        caller: &Caller,
    ) -> Result<(AccountUsage, Vec<ChannelShare>), ServiceError> {
        let usage = self.usage(caller).await?;
        let ids: Vec<_> = usage.channels.iter().map(|usage| usage.channel.clone()).collect();
        let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let seen = self.store.channels().channels_of(&caller.user, Some(&ids), None, limit).await?;
        let mut seen: HashMap<_, _> =
            seen.into_iter().map(|channel| (channel.id.clone(), channel)).collect();
        let share = |usage: &ChannelUsage| ChannelShare {
            channel: seen.remove(&usage.channel),
            usage: usage.clone(),
        };
        let mut shares: Vec<_> = usage.channels.iter().map(share).collect();
        shares.sort_by_key(|share| Reverse(share.counted()));
        Ok((usage, shares))
    }

    /// Returns the caller's usage at the end of each of the last `months` months and now, oldest
    /// first, from the first month on for which it is known; nothing for a credential that is
    /// restricted to channels.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn usage_by_month(
        &self,
        caller: &Caller,
        months: u32,
    ) -> Result<Vec<MonthUsage>, ServiceError> {
        if caller.channels().is_some() {
            return Ok(Vec::new());
        }
        let first = |back| first_of_month(self.clock.now(), back);
        let Some(since) = first(months.saturating_sub(1)) else { return Ok(Vec::new()) };
        let days = self.store.accounts().usage_days(&caller.user, midnight(since)).await?;
        let month = |back| {
            let first = first(back)?;
            let end = midnight(first.checked_add_months(Months::new(1))?);
            let last = days.iter().rev().find(|day| day.day < end)?;
            Some(MonthUsage { first, bytes: last.bytes })
        };
        Ok((0..months).rev().filter_map(month).collect())
    }

    /// Returns true when the bot notifies the caller in their own chat about quota usage.
    ///
    /// # Errors
    /// Those of [`Self::user`].
    #[boxed]
    pub async fn wants_notices(&self, caller: &Caller) -> Result<bool, ServiceError> {
        self.store.accounts().wants_notices(&caller.user).await?.ok_or(ServiceError::InvalidKey)
    }

    /// Enables or disables the notices about quota usage.
    ///
    /// # Errors
    /// Those of [`Self::user`]; [`ServiceError::PermissionDenied`] with a key that is bound to
    /// channels.
    #[boxed]
    pub async fn set_notices(
        &self,
        access: &Scoped<WriteBackup>,
        enabled: bool,
    ) -> Result<(), ServiceError> {
        let account = Subject::of_account(None);
        access.caller.admit(&account, self.clock.now())?;
        let known = self.store.accounts().set_notices_enabled(&access.caller.user, enabled).await?;
        if known { Ok(()) } else { Err(ServiceError::InvalidKey) }
    }
}

/// Returns the first day of the month that many months before a time, in UTC.
fn first_of_month(at: Timestamp, back: u32) -> Option<NaiveDate> {
    let day = DateTime::from_timestamp_millis(at.millis())?.date_naive();
    day.with_day(1)?.checked_sub_months(Months::new(back))
}

/// Returns the start of a day in UTC.
fn midnight(day: NaiveDate) -> Timestamp {
    Timestamp::from_millis(day.and_time(NaiveTime::MIN).and_utc().timestamp_millis())
}
