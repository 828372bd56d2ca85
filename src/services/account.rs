//! The caller's account: who they are, what they use, and what they are notified of.

use chatkeep_core::id::UserId;
use chatkeep_core::plan::{Plan, Usage};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ChannelUsage, Store, StoreError, User};

use super::ServiceError;
use super::access::{Caller, Scoped, WriteBackup};
use super::operator::Operator;

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

/// Accounts of callers. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct AccountService {
    store: Store,
    clock: SharedClock,
}

impl AccountService {
    /// Creates the service; commands have it without the others.
    pub(crate) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Registers a user. Of one who is known already, name and plan are changed where they are
    /// given.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(crate) async fn register(
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
    pub(crate) async fn set_plan(
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
    pub(crate) async fn page_of_all(
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
