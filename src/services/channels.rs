//! Channels of callers: the list, a channel's settings, and the coverage of its backup.

use std::slice;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_core::time::SharedClock;
use chatkeep_search::REACH;
use chatkeep_store::{BotChannels, Channel, ChannelName, Coverage, Store, StoreError};
use chatkeep_view::pseudonyms::{Mask, Masked};
use chrono_tz::Tz;

use super::access::{Admin, Caller, ChannelAccess, Member, ReadMembers, ReadMessages, WriteBackup};
use super::assistant::AssistantSettings;
use super::cursor::not_ours;
use super::operator::Operator;
use super::time_zone::parse_time_zone;
use super::{FieldPath, Nullable, ServiceError, Window, encode_cursor};

/// Text that cursors of the list of channels are bound to.
const LIST: &str = "channels";
/// A hundred years.
const MAX_DAYS: u32 = 36_500;

/// A channel with its settings.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// The channel.
    pub channel: Masked<Channel>,
    /// The settings of its assistant.
    pub assistant: AssistantSettings,
    /// True while the channel has a backup subscription.
    pub is_backed_up: bool,
    /// True while every subscriber's quota is exceeded: new messages are not stored.
    pub is_paused: bool,
    /// Zone in which the channel's days begin: its own, otherwise the service's.
    pub zone: Tz,
}

/// Change of the backup settings of a channel.
#[derive(Clone, Debug, Default)]
pub struct BackupChange {
    /// IANA name of the zone in which the channel's days begin; none for the service's.
    pub time_zone: Nullable<String>,
    /// Days after which messages and their files are deleted; none keeps them. Only the owner may
    /// change it.
    pub retention_days: Nullable<u32>,
    /// Setting for earlier texts of edited messages; none leaves it as it is. Switching it off
    /// erases those that are stored.
    pub keep_earlier_texts: Option<bool>,
}

/// Channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ChannelService {
    pub(super) store: Store,
    clock: SharedClock,
    /// Zone of channels without one of their own.
    time_zone: Tz,
}

impl ChannelService {
    /// Creates the service; commands have it without the others.
    pub const fn new(store: Store, clock: SharedClock, time_zone: Tz) -> Self {
        Self { store, clock, time_zone }
    }

    /// Returns the zone of channels without one of their own.
    pub const fn default_zone(&self) -> Tz {
        self.time_zone
    }

    /// Returns any channel.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn any(
        &self,
        _: &Operator,
        channel: &ChannelId,
    ) -> Result<Option<Channel>, StoreError> {
        self.store.channels().channel(channel).await
    }

    /// Returns the ids of all channels.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn ids_of_all(&self, _: &Operator) -> Result<Vec<ChannelId>, StoreError> {
        self.store.channels().channel_ids().await
    }

    /// Returns the number of channels of each bot.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn bots(&self, _: &Operator) -> Result<Vec<BotChannels>, StoreError> {
        self.store.channels().bots_of_channels().await
    }

    /// Assigns a channel to a bot; `false` for an unknown channel.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn assign(
        &self,
        _: &Operator,
        channel: &ChannelId,
        bot: &str,
    ) -> Result<bool, StoreError> {
        self.store.channels().assign_channel(channel, bot, self.clock.now()).await
    }

    /// Assigns all channels of the bot `from` to another bot, and returns their number.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn reassign(&self, _: &Operator, from: &str, bot: &str) -> Result<u64, StoreError> {
        self.store.channels().rename_bot(from, bot, self.clock.now()).await
    }

    /// Returns at most `limit` of all channels from after that one, each with its number of
    /// subscribers.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn page_of_all(
        &self,
        _: &Operator,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<(Channel, i64)>, StoreError> {
        self.store.channels().list(after, limit).await
    }

    /// Returns at most `limit` channels that the caller may see, and the cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        caller: &Caller,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<Masked<Channel>>, Option<String>), ServiceError> {
        let window = Window::open(LIST, limit, cursor)?;
        let (after, wanted) = (window.after.as_ref(), window.wanted());
        let channels = self.store.channels();
        if let Some(only) = after.filter(|_| caller.mask.is_on()).map(slice::from_ref)
            && channels.channels_of(&caller.user, Some(only), None, 1).await?.is_empty()
        {
            return Err(not_ours());
        }
        let mut channels =
            channels.channels_of(&caller.user, caller.channels(), after, wanted).await?;
        let next = window.cut(&mut channels, |channel| channel.id.clone());
        Ok((caller.mask.show_all(channels), next))
    }

    /// Returns the cursor of a page that continues after that channel of the list.
    pub fn cursor_after(channel: &Channel) -> Option<String> {
        encode_cursor(LIST, &channel.id)
    }

    /// Returns the names of the channels that the caller may see.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn names(&self, caller: &Caller) -> Result<Vec<Masked<ChannelName>>, ServiceError> {
        let names = self.store.channels().names_of(&caller.user, caller.channels(), REACH).await?;
        Ok(caller.mask.show_all(names))
    }

    /// Returns a channel.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] when it has been removed meanwhile.
    pub async fn one<R, S>(
        &self,
        access: &ChannelAccess<R, S>,
    ) -> Result<Masked<Channel>, ServiceError> {
        let channel = self.store.channels().channel(access.without_reading()).await?;
        let channel = channel.ok_or(ServiceError::PermissionDenied)?;
        Ok(access.caller.mask.show(channel))
    }

    /// Returns a channel with its settings.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] when the channel is gone.
    #[boxed]
    pub async fn settings(
        &self,
        access: &ChannelAccess<Member, ReadMembers>,
    ) -> Result<ChannelSettings, ServiceError> {
        self.settings_of(access.channel(), &access.caller.mask).await
    }

    /// Changes the backup settings of a channel.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an unknown zone or a bad number of days,
    /// [`ServiceError::PermissionDenied`] when somebody else than the owner changes the retention,
    /// [`ServiceError::InsufficientPermissions`] when a credential does, or has earlier texts erased,
    /// that may not read all times.
    #[boxed]
    pub async fn change_backup(
        &self,
        access: &ChannelAccess<Admin, WriteBackup>,
        change: BackupChange,
    ) -> Result<ChannelSettings, ServiceError> {
        change.check()?;
        let (channel, by, now) = (access.channel(), access.user(), self.clock.now());
        if change.keep_earlier_texts == Some(false) && self.one(access).await?.keeps_earlier_texts {
            // It erases what such a credential may not read.
            access.caller.reads_all_times()?;
        }
        if let Nullable::To(days) = change.retention_days {
            let (present, _) = self.store.channels().retention(channel).await?;
            if days.map(i64::from) != present {
                // It deletes, and that is the owner's.
                if access.role != Role::Owner {
                    return Err(ServiceError::PermissionDenied);
                }
                access.caller.reads_all_times()?;
                self.store.channels().set_retention(channel, days, by, now).await?;
            }
        }
        if let Nullable::To(zone) = &change.time_zone {
            self.store.channels().set_time_zone(channel, zone.as_deref(), by, now).await?;
        }
        if let Some(keep) = change.keep_earlier_texts {
            self.store.channels().set_earlier_texts(channel, keep, by, now).await?;
        }
        self.settings_of(channel, &access.caller.mask).await
    }

    /// Returns true if somebody backs the channel up.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn is_backed_up(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
    ) -> Result<bool, ServiceError> {
        Ok(self.store.accounts().backup_state(access.without_reading()).await?.is_subscribed())
    }

    /// Returns the coverage of a channel's backup within the caller's bounds: since when it is
    /// backed up, and what is missing.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn coverage(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
    ) -> Result<Coverage, ServiceError> {
        let (channel, start) = (access.without_reading(), access.not_before());
        let mut coverage = self.store.messages().coverage(channel, start).await?;
        coverage.gaps.retain(|gap| !gap.is_moment());
        Ok(coverage)
    }

    async fn settings_of(
        &self,
        id: &ChannelId,
        mask: &Mask,
    ) -> Result<ChannelSettings, ServiceError> {
        let channel =
            self.store.channels().channel(id).await?.ok_or(ServiceError::PermissionDenied)?;
        let plan = self.store.members().owner_plan(id).await?;
        let setting = self.store.assistant().assistant_setting(id).await?;
        let assistant = AssistantSettings::new(setting, plan).shown(mask);
        let backup = self.store.accounts().backup_state(id).await?;
        let zone = channel.zone(self.time_zone);
        let channel = mask.show(channel);
        let (is_backed_up, is_paused) = (backup.is_subscribed(), backup.is_paused());
        Ok(ChannelSettings { channel, assistant, is_backed_up, is_paused, zone })
    }
}

impl BackupChange {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an unknown zone or a bad number of days.
    pub fn check(&self) -> Result<(), ServiceError> {
        if let Nullable::To(Some(zone)) = &self.time_zone {
            parse_time_zone(FieldPath::body("/timeZone"), zone)?;
        }
        if let Nullable::To(Some(days)) = self.retention_days
            && !(1..=MAX_DAYS).contains(&days)
        {
            let why = format_args!("must be null or a whole number from 1 to {MAX_DAYS}");
            return Err(ServiceError::invalid_value(FieldPath::body("/retentionDays"), why));
        }
        Ok(())
    }
}
