//! Activity log of a channel, for its owner: who changed what, and who read messages. The changes are
//! logged where they are stored, the reads where access becomes reading ([`ChannelAccess::read`]).

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ActivityChange, ActivityFilter, ActivityRead, ChangeKind, ReadAction, ReadPosition, Store,
};
use chrono::NaiveDate;
use chrono_tz::Tz;

use super::access::{ChannelAccess, Owner, ReadMembers};
use super::messages::day_in;
use super::{FieldPath, ServiceError, Window};

/// Request for a page of an activity log.
#[derive(Clone, Debug)]
pub struct ActivityLogQuery<K> {
    /// Only of this kind.
    pub kind: Option<K>,
    /// Only of this person.
    pub user: Option<UserId>,
    /// Only of this day: in the channel's zone for changes, in UTC for reads, which are counted so.
    pub day: Option<NaiveDate>,
    /// Maximum number of rows.
    pub limit: u32,
    /// Cursor of the page; the first page without it.
    pub cursor: Option<String>,
}

/// Activity logs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ActivityLogService {
    store: Store,
    /// Zone of channels without one of their own.
    time_zone: Tz,
}

impl ActivityLogService {
    pub(super) const fn new(store: Store, time_zone: Tz) -> Self {
        Self { store, time_zone }
    }

    /// Returns the changes of a channel's settings, rules and roles, newest first, and the cursor of
    /// the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor or day.
    #[boxed]
    pub async fn changes(
        &self,
        access: &ChannelAccess<Owner, ReadMembers>,
        query: &ActivityLogQuery<ChangeKind>,
    ) -> Result<(Vec<ActivityChange>, Option<String>), ServiceError> {
        access.caller.sees_people()?;
        let channel = access.channel();
        let found = self.store.channels().channel(channel).await?;
        let zone = found.ok_or(ServiceError::PermissionDenied)?.zone(self.time_zone);
        let filter = query.filter(zone)?;
        let binding = format!("activity-changes:{channel}:{filter:?}");
        let window: Window<(i64, i64)> =
            Window::open(binding, query.limit, query.cursor.as_deref())?;
        let after = window.after.map(|(at, id)| (Timestamp::from_millis(at), id));
        let activity = self.store.activity_log();
        let mut changes = activity.changes(channel, &filter, after, window.wanted()).await?;
        let next = window.cut(&mut changes, |change| (change.at.millis(), change.id));
        Ok((changes, next))
    }

    /// Returns who read messages of a channel: one row for each day, reader and action, newest day
    /// first, and the cursor of the next page. A read appears within seconds.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor or day.
    #[boxed]
    pub async fn reads(
        &self,
        access: &ChannelAccess<Owner, ReadMembers>,
        query: &ActivityLogQuery<ReadAction>,
    ) -> Result<(Vec<ActivityRead>, Option<String>), ServiceError> {
        access.caller.sees_people()?;
        let (channel, filter) = (access.channel(), query.filter(Tz::UTC)?);
        let binding = format!("activity-reads:{channel}:{filter:?}");
        let window: Window<ReadPosition> =
            Window::open(binding, query.limit, query.cursor.as_deref())?;
        let (activity, after) = (self.store.activity_log(), window.after.as_ref());
        let mut reads = activity.reads(channel, &filter, after, window.wanted()).await?;
        let next = window.cut(&mut reads, ActivityRead::position);
        Ok((reads, next))
    }
}

impl<K: Copy> ActivityLogQuery<K> {
    fn filter(&self, zone: Tz) -> Result<ActivityFilter<K>, ServiceError> {
        let field = || FieldPath::parameter("day");
        let out_of_range = || ServiceError::invalid_value(field(), "is out of range");
        let times = self.day.map(|day| day_in(zone, day).ok_or_else(out_of_range)).transpose()?;
        Ok(ActivityFilter { kind: self.kind, user: self.user.clone(), times })
    }
}
