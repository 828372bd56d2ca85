//! Data stored about the caller themself, by channel: seeing it, exporting it, having it erased,
//! and opting out of the backup. Open to everybody about themselves, whatever their role, also after
//! they left.

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_i18n::Language;
use chatkeep_store::{
    Channel, ChannelJob, MemberStatus, OptOutChange, OptOuts, OwnMessages, Store,
};
use chatkeep_transfer::{OwnExport, OwnFormat, own_data};
use chatkeep_view::Links;
use chrono_tz::Tz;
use futures_util::stream::{BoxStream, StreamExt as _};

use super::access::{Caller, Reaches, ReadMessages, Scoped, WriteBackup};
use super::deletion::DeletionService;
use super::documents::{DocumentError, permitted};
use super::user_permits::UserPermits;
use super::{ServiceError, Window};

/// Page size when all channels of a person are needed.
const PAGE: u32 = 500;

/// Data stored about the caller in one channel.
#[derive(Clone, Debug)]
pub struct OwnChannel {
    /// The channel.
    pub channel: Channel,
    /// Their role; `None` for somebody whom only an import knows.
    pub role: Option<Role>,
    /// `None` as above.
    pub status: Option<MemberStatus>,
    /// Time at which they joined, or were first seen.
    pub joined_at: Option<Timestamp>,
    /// Number of their stored messages.
    pub messages: i64,
    /// False if nothing that they write is stored from now on.
    pub kept: bool,
}

/// Data stored about the caller.
#[derive(Clone, Debug)]
pub struct OwnData {
    /// A page of the channels, by id.
    pub channels: Vec<OwnChannel>,
    /// Cursor of the next page.
    pub next: Option<String>,
    /// False after opting out of all channels, those to come included.
    pub kept_everywhere: bool,
}

/// Data of callers about themselves. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MyDataService {
    store: Store,
    clock: SharedClock,
    deletion: DeletionService,
    /// Zone of the times in an export for reading.
    time_zone: Tz,
    permits: UserPermits,
    /// Addresses of messages in exports.
    links: Links,
}

impl MyDataService {
    pub(super) const fn new(
        store: Store,
        clock: SharedClock,
        deletion: DeletionService,
        time_zone: Tz,
        permits: UserPermits,
        links: Links,
    ) -> Self {
        Self { store, clock, deletion, time_zone, permits, links }
    }

    /// Returns what is stored about the caller, by channel: at most `limit` of those that the
    /// credential may see.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        access: &Scoped<ReadMessages>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<OwnData, ServiceError> {
        access.caller.sees_people()?;
        let user = &access.caller.user;
        let window = Window::open("my-data", limit, cursor)?;
        let (after, wanted) = (window.after.as_ref(), window.wanted());
        let mut ids = self.store.members().channels_knowing(user, after, wanted).await?;
        let next = window.cut(&mut ids, ChannelId::clone);
        ids.retain(|channel| access.caller.bounds.sees(channel));
        let opt_outs = self.store.members().opt_outs([user]).await?;
        let channels = self.own_channels(user, ids, &opt_outs).await?;
        Ok(OwnData { channels, next, kept_everywhere: !opt_outs.from_all(user) })
    }

    /// Returns what is stored about the caller in one channel.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for somebody whom the channel does not know.
    #[boxed]
    pub async fn one(&self, access: &Reaches<ReadMessages>) -> Result<OwnChannel, ServiceError> {
        access.caller.sees_people()?;
        let (user, channel) = (&access.caller.user, &access.channel);
        self.check_takes_part(user, channel).await?;
        let opt_outs = self.store.members().opt_outs([user]).await?;
        let own = self.own_channels(user, vec![channel.clone()], &opt_outs).await?;
        own.into_iter().next().ok_or(ServiceError::PermissionDenied)
    }

    /// Returns the caller's messages in one channel. It takes long where they are many.
    ///
    /// # Errors
    /// Those of [`Self::one`].
    #[boxed]
    pub async fn messages(
        &self,
        access: &Reaches<ReadMessages>,
    ) -> Result<OwnMessages, ServiceError> {
        access.caller.sees_people()?;
        let (user, channel) = (&access.caller.user, &access.channel);
        self.check_takes_part(user, channel).await?;
        Ok(self.store.members().own_messages(user, channel).await?)
    }

    /// Returns the erasure of the caller's messages in a channel that is not finished yet, if there
    /// is one.
    ///
    /// # Errors
    /// Those of [`Self::one`].
    #[boxed]
    pub async fn running_erasure(
        &self,
        access: &Reaches<ReadMessages>,
    ) -> Result<Option<ChannelJob>, ServiceError> {
        let (user, channel) = (&access.caller.user, &access.channel);
        self.check_takes_part(user, channel).await?;
        Ok(self.store.jobs().running_erasure(channel, user).await?)
    }

    async fn own_channels(
        &self,
        user: &UserId,
        ids: Vec<ChannelId>,
        opt_outs: &OptOuts,
    ) -> Result<Vec<OwnChannel>, ServiceError> {
        let counts = self.store.members().own_counts(user, &ids).await?;
        let now = self.clock.now();
        let mut channels = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(channel) = self.store.channels().channel(&id).await? else { continue };
            let member = self.store.members().member(&id, user).await?;
            channels.push(OwnChannel {
                channel,
                role: member.as_ref().map(|member| member.role),
                status: member.as_ref().map(|member| member.status),
                joined_at: member.map(|member| member.joined_at),
                messages: counts.get(&id).copied().unwrap_or_default(),
                kept: !opt_outs.refuse(&id, user, now),
            });
        }
        Ok(channels)
    }

    /// Refuses somebody whom the channel does not know, neither as a member nor from an import.
    async fn check_takes_part(
        &self,
        user: &UserId,
        channel: &ChannelId,
    ) -> Result<(), ServiceError> {
        let known = self.store.members().is_known(user, channel).await?;
        if known { Ok(()) } else { Err(ServiceError::PermissionDenied) }
    }

    /// Opts the caller out of the backup of a channel from now on, or in again. What was stored
    /// before stays until they erase it.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for somebody whom the channel does not know,
    /// [`ServiceError::Conflict`] after a thousand changes.
    #[boxed]
    pub async fn set_opted_in(
        &self,
        access: &Reaches<WriteBackup>,
        kept: bool,
    ) -> Result<(), ServiceError> {
        let user = &access.caller.user;
        self.check_takes_part(user, &access.channel).await?;
        self.change(user, Some(&access.channel), kept).await
    }

    /// Opts the caller out of the backup of every channel from now on, those to come included, or
    /// in again, whatever they said about single channels before.
    ///
    /// # Errors
    /// Those of [`Self::set_opted_in`]; [`ServiceError::PermissionDenied`] for a credential that is
    /// restricted to channels.
    #[boxed]
    pub async fn set_opted_in_everywhere(
        &self,
        access: &Scoped<WriteBackup>,
        kept: bool,
    ) -> Result<(), ServiceError> {
        unrestricted(&access.caller)?;
        self.change(&access.caller.user, None, kept).await
    }

    async fn change(
        &self,
        user: &UserId,
        channel: Option<&ChannelId>,
        kept: bool,
    ) -> Result<(), ServiceError> {
        let now = || self.clock.now();
        match self.store.members().set_opted_out(user, channel, !kept, now).await? {
            OptOutChange::Done => Ok(()),
            OptOutChange::TooMany => {
                Err(ServiceError::Conflict("The backup was opted out of too often to opt in again"))
            }
        }
    }

    /// Erases the caller's messages in a channel. The job is done already when they were few.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for somebody whom the channel does not know.
    #[boxed]
    pub async fn erase(&self, access: &Reaches<WriteBackup>) -> Result<ChannelJob, ServiceError> {
        self.deletion.erase(access, access.caller.user.clone()).await
    }

    /// Begins to erase the caller's messages in every channel, and returns a job for each channel
    /// that has some.
    ///
    /// # Errors
    /// Those of [`Self::set_opted_in_everywhere`]; the first error when the erasure cannot begin in
    /// some channels, after it began in all the others.
    #[boxed]
    pub async fn erase_everywhere(
        &self,
        access: &Scoped<WriteBackup>,
    ) -> Result<Vec<ChannelJob>, ServiceError> {
        unrestricted(&access.caller)?;
        let (mut jobs, mut failed) = (Vec::new(), None);
        for channel in self.channels(&access.caller).await? {
            match self.deletion.queue_own(access, &channel).await {
                Ok(job) => jobs.extend(job),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(jobs), Err)
    }

    /// Exports the caller's own messages in all channels that the credential may see, oldest first
    /// in each. An error in the stream ends the document half-way, also once the credential ends.
    ///
    /// # Errors
    /// [`ServiceError::InvalidKey`] when the user is gone, [`ServiceError::Unavailable`] when too
    /// many documents are being sent, or too many to this user.
    #[boxed]
    pub async fn export(
        &self,
        access: &Scoped<ReadMessages>,
        format: OwnFormat,
        language: Language,
    ) -> Result<BoxStream<'static, Result<Bytes, DocumentError>>, ServiceError> {
        access.caller.sees_people()?;
        let caller = &access.caller;
        let permit = self.permits.take(&caller.user).ok_or(ServiceError::Unavailable)?;
        let user = self.store.accounts().user(&caller.user).await?;
        let user = user.ok_or(ServiceError::InvalidKey)?;
        let mut channels = self.channels(caller).await?;
        channels.retain(|channel| caller.bounds.sees(channel));
        let export = OwnExport {
            format,
            user: user.id,
            name: user.display_name,
            not_before: caller.not_before(),
            at: self.clock.now(),
            zone: self.time_zone,
            language,
            links: self.links.clone(),
        };
        let document = own_data(self.store.clone(), channels, export).boxed();
        Ok(permitted(document, access.clone(), permit))
    }

    /// Returns every channel that knows the caller.
    async fn channels(&self, caller: &Caller) -> Result<Vec<ChannelId>, ServiceError> {
        let mut channels: Vec<ChannelId> = Vec::new();
        loop {
            let after = channels.last();
            let page = self.store.members().channels_knowing(&caller.user, after, PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            channels.extend(page);
            if is_last {
                return Ok(channels);
            }
        }
    }
}

/// Refuses a credential that is restricted to channels: the request is about all.
fn unrestricted(caller: &Caller) -> Result<(), ServiceError> {
    if caller.channels().is_some() { Err(ServiceError::PermissionDenied) } else { Ok(()) }
}
