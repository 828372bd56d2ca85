//! Channels of callers.

use chatkeep_store::{Channel, Store};

use super::access::{Caller, ChannelAccess};
use super::{ServiceError, Window};

/// Channels. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ChannelService {
    store: Store,
}

impl ChannelService {
    pub(super) const fn new(store: Store) -> Self {
        Self { store }
    }

    /// Returns at most `limit` channels that the caller may see, and the cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    pub(crate) async fn page(
        &self,
        caller: &Caller,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<Channel>, Option<String>), ServiceError> {
        let window = Window::open("channels", limit, cursor)?;
        let (after, wanted) = (window.after.as_ref(), window.wanted());
        let mut channels =
            self.store.channels_of(&caller.user, caller.channels(), after, wanted).await?;
        let next = window.cut(&mut channels, |channel| channel.id.clone());
        Ok((channels, next))
    }

    /// Returns a channel.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] when it has been removed meanwhile.
    pub(crate) async fn one<R, S>(
        &self,
        access: &ChannelAccess<R, S>,
    ) -> Result<Channel, ServiceError> {
        let channel = self.store.channel(&access.channel).await?;
        channel.ok_or(ServiceError::PermissionDenied)
    }
}
