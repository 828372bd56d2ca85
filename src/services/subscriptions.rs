//! Backup subscriptions of callers.

use std::slice;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{Store, Subscribed, Subscription};

use super::access::{Caller, ChannelAccess, Member, Reaches, WriteBackup};
use super::cursor::not_ours;
use super::{ServiceError, Window};

/// Backup subscriptions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SubscriptionService {
    store: Store,
    clock: SharedClock,
}

impl SubscriptionService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Creates the caller's subscription for a channel; returns false when they had one already.
    /// The caller becomes the owner if the channel has no owner who is in it.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] when the channel is gone.
    #[boxed]
    pub async fn subscribe(
        &self,
        access: &ChannelAccess<Member, WriteBackup>,
    ) -> Result<bool, ServiceError> {
        let now = self.clock.now();
        match self.store.accounts().subscribe(access.channel(), access.user(), now).await? {
            Subscribed::New => Ok(true),
            Subscribed::Already => Ok(false),
            Subscribed::NoChannel => Err(ServiceError::PermissionDenied),
        }
    }

    /// Cancels the caller's subscription, also after they left the channel, as it still counts
    /// against their quota; stored messages are kept.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for somebody who is not in the channel and has none.
    #[boxed]
    pub async fn unsubscribe(&self, access: &Reaches<WriteBackup>) -> Result<(), ServiceError> {
        let user = &access.caller.user;
        let ended =
            self.store.accounts().unsubscribe(&access.channel, user, self.clock.now()).await?;
        if ended || access.role.is_some() { Ok(()) } else { Err(ServiceError::PermissionDenied) }
    }

    /// Returns true while the caller has a subscription for the channel.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub async fn has<R: Sync, S: Sync>(
        &self,
        access: &ChannelAccess<R, S>,
    ) -> Result<bool, ServiceError> {
        let only = [access.without_reading().clone()];
        let found =
            self.store.accounts().subscriptions(access.user(), Some(&only), None, 1).await?;
        Ok(!found.is_empty())
    }

    /// Returns at most `limit` subscriptions of the caller, and the cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        caller: &Caller,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<Subscription>, Option<String>), ServiceError> {
        let window = Window::open("subscriptions", limit, cursor)?;
        let (after, wanted) = (window.after.as_ref(), window.wanted());
        let accounts = self.store.accounts();
        if let Some(only) = after.filter(|_| caller.mask.is_on()).map(slice::from_ref)
            && accounts.subscriptions(&caller.user, Some(only), None, 1).await?.is_empty()
        {
            return Err(not_ours());
        }
        let mut rows =
            accounts.subscriptions(&caller.user, caller.channels(), after, wanted).await?;
        let next = window.cut(&mut rows, |row| row.channel.clone());
        Ok((rows, next))
    }
}
