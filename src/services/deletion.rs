//! Deletion of messages and erasure of people's messages. Many messages are removed by a job, which
//! continues without the request that started it.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::random;
use chatkeep_core::role::Role;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ChannelJob, JobKind, NewChannelJob, Store};
use chatkeep_view::when::When;

use super::access::{ChannelAccess, Owner, Reaches, Scoped, WriteBackup};
use super::messages::MessageService;
use super::{FieldPath, ServiceError};
use crate::removals::RemovalWorker;

/// Messages that a deletion would remove.
#[derive(Clone, Copy, Debug)]
pub struct DeletionEstimate {
    /// Number of messages.
    pub messages: i64,
    /// Bytes that would be freed, media included.
    pub bytes: i64,
}

/// Deletion of messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DeletionService {
    store: Store,
    clock: SharedClock,
    messages: MessageService,
    worker: RemovalWorker,
}

impl DeletionService {
    pub(super) const fn new(
        store: Store,
        clock: SharedClock,
        messages: MessageService,
        worker: RemovalWorker,
    ) -> Self {
        Self { store, clock, messages, worker }
    }

    /// Counts the messages sent before a time.
    ///
    /// # Errors
    /// [`ServiceError::InsufficientPermissions`] for a credential that may not read all times,
    /// [`ServiceError::Invalid`] for a time beyond the range of a calendar.
    #[boxed]
    pub async fn estimate(
        &self,
        access: &ChannelAccess<Owner, WriteBackup>,
        before: When,
    ) -> Result<DeletionEstimate, ServiceError> {
        access.caller.reads_all_times()?;
        let before = self.moment(access.channel(), before).await?;
        let (messages, bytes) =
            self.store.messages().count_before(access.channel(), before).await?;
        Ok(DeletionEstimate { messages, bytes })
    }

    /// Deletes the messages sent before a time. The job is done already when they were few.
    ///
    /// # Errors
    /// Those of [`Self::estimate`].
    #[boxed]
    pub async fn delete(
        &self,
        access: &ChannelAccess<Owner, WriteBackup>,
        before: When,
    ) -> Result<ChannelJob, ServiceError> {
        access.caller.reads_all_times()?;
        let before = self.moment(access.channel(), before).await?;
        self.remove(access.channel(), access.user(), &JobKind::Deletion, before).await
    }

    /// Erases a person's messages in a channel; open to the owner, and to the person themself, also
    /// after they left. The job is done already when they were few.
    ///
    /// # Errors
    /// [`ServiceError::InsufficientPermissions`] for a credential that may not read all times,
    /// [`ServiceError::PermissionDenied`] for others.
    #[boxed]
    pub async fn erase(
        &self,
        access: &Reaches<WriteBackup>,
        user: UserId,
    ) -> Result<ChannelJob, ServiceError> {
        access.caller.reads_all_times()?;
        // Some are known from an import alone.
        let own = access.caller.user == user
            && self.store.members().is_known(&user, &access.channel).await?;
        if access.role != Some(Role::Owner) && !own {
            return Err(ServiceError::PermissionDenied);
        }
        let (kind, now) = (JobKind::Erasure(user), self.clock.now());
        self.remove(&access.channel, &access.caller.user, &kind, now).await
    }

    /// Begins to erase the caller's own messages in a channel, if there are any: any worker does it.
    ///
    /// # Errors
    /// [`ServiceError::InsufficientPermissions`] for a credential that may not read all times.
    pub(super) async fn queue_own(
        &self,
        access: &Scoped<WriteBackup>,
        channel: &ChannelId,
    ) -> Result<Option<ChannelJob>, ServiceError> {
        access.caller.reads_all_times()?;
        let (id, now) = (job_id(), self.clock.now());
        let (by, kind) = (&access.caller.user, JobKind::Erasure(access.caller.user.clone()));
        let new =
            NewChannelJob { id: &id, channel, kind: &kind, sent_before: now, by, worker: None };
        Ok(self.store.jobs().begin_needed_job(&new, now).await?)
    }

    /// Returns a job; open to the owner, and to the person whose messages are erased.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for others, [`ServiceError::NotFound`] when the owner
    /// asks for an unknown one.
    #[boxed]
    pub async fn job(
        &self,
        access: &Reaches<WriteBackup>,
        id: &str,
    ) -> Result<ChannelJob, ServiceError> {
        let job = self.store.jobs().channel_job(&access.channel, id).await?;
        let owner = access.role == Some(Role::Owner);
        let own = |job: &ChannelJob| job.kind == JobKind::Erasure(access.caller.user.clone());
        match job {
            Some(job) if owner || own(&job) => Ok(job),
            None if owner => Err(ServiceError::NotFound),
            _ => Err(ServiceError::PermissionDenied),
        }
    }

    /// Returns the time before which messages are deleted: the present for a later one, because a
    /// deletion also keeps out what is delivered late, and must not keep out what is still to be
    /// sent.
    async fn moment(&self, channel: &ChannelId, before: When) -> Result<Timestamp, ServiceError> {
        let zone = self.messages.zone(Some(channel)).await?;
        let field = FieldPath::parameter("before");
        let out_of_range = || ServiceError::invalid_value(field, "is out of range");
        Ok(before.within(zone).ok_or_else(out_of_range)?.min(self.clock.now()))
    }

    /// Begins to remove what was sent before that time; a few messages are removed at once.
    async fn remove(
        &self,
        channel: &ChannelId,
        by: &UserId,
        kind: &JobKind,
        sent_before: Timestamp,
    ) -> Result<ChannelJob, ServiceError> {
        let id = job_id();
        let worker = Some(self.worker.worker());
        let new = NewChannelJob { id: &id, channel, kind, sent_before, by, worker };
        let (job, claimed) = self.store.jobs().begin_job(&new, self.clock.now()).await?;
        if claimed { Ok(self.worker.finish(job).await?) } else { Ok(job) }
    }
}

/// Returns the id of a new job.
fn job_id() -> String {
    format!("job_{}", random::text(16))
}
