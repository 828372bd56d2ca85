//! Activity log of a channel, for its owner: who changed what, and who read messages. The changes are
//! logged where they are stored, the reads where access becomes reading ([`ChannelAccess::read`]).

use chatkeep_core::time::Timestamp;
use chatkeep_store::{ActivityChange, ActivityRead, ReadPosition, Store};

use super::access::{ChannelAccess, Owner, ReadMembers};
use super::{ServiceError, Window};

/// Activity logs. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ActivityService {
    store: Store,
}

impl ActivityService {
    pub(super) const fn new(store: Store) -> Self {
        Self { store }
    }

    /// Returns the changes of a channel's settings, rules and roles, newest first, and the cursor of
    /// the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page of the activity log"))]
    pub(crate) async fn changes(
        &self,
        access: &ChannelAccess<Owner, ReadMembers>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<ActivityChange>, Option<String>), ServiceError> {
        let channel = access.channel();
        let window: Window<(i64, i64)> =
            Window::open(format!("activity-changes:{channel}"), limit, cursor)?;
        let after = window.after.map(|(at, id)| (Timestamp::from_millis(at), id));
        let mut changes = self.store.activity().changes(channel, after, window.wanted()).await?;
        let next = window.cut(&mut changes, |change| (change.at.millis(), change.id));
        Ok((changes, next))
    }

    /// Returns who read messages of a channel: one row for each day, reader and action, newest day
    /// first, and the cursor of the next page. A read appears within seconds.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page of the activity log"))]
    pub(crate) async fn reads(
        &self,
        access: &ChannelAccess<Owner, ReadMembers>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<ActivityRead>, Option<String>), ServiceError> {
        let channel = access.channel();
        let window: Window<ReadPosition> =
            Window::open(format!("activity-reads:{channel}"), limit, cursor)?;
        let after = window.after.as_ref();
        let mut reads = self.store.activity().reads(channel, after, window.wanted()).await?;
        let next = window.cut(&mut reads, ActivityRead::position);
        Ok((reads, next))
    }
}
