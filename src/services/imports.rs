//! Imports of messages from files, and their removal.

use std::path::Path;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::Blobs;
use chatkeep_core::event::{ChannelKind, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::SharedClock;
use chatkeep_store::{ImportId, ImportRecord, ImportState, Store, StoreError};
use chatkeep_transfer::TransferError;
use chatkeep_transfer::import::{Form, Import, ImportPlan, ImportProgress, Summary, Zone};
use chatkeep_transfer::line::DateOrder;
use encoding_rs::Encoding;

use super::media_store::{self, MediaStoreError};
use super::operator::Operator;
use super::processes::{media_store_of, running};

/// Batch size: messages removed in one transaction.
const BATCH: u32 = 500;

/// Request for an import.
#[derive(Debug)]
pub struct ImportRequest<'a> {
    /// File, folder or archive with the messages.
    pub file: &'a Path,
    /// Channel that the messages belong to.
    pub channel: ChannelId,
    /// Format of the file.
    pub form: Form,
    /// Zone of times without one; the channel's by default.
    pub zone: Option<Zone>,
    /// Order of day and month in dates, where the file does not show it.
    pub date_order: Option<DateOrder>,
    /// Encoding of a LINE text; detected by default.
    pub encoding: Option<&'static Encoding>,
    /// Names of people in a LINE text from a computer.
    pub names: &'a [String],
    /// True for a dry run, which changes nothing.
    pub dry_run: bool,
    /// Store for media files; `None` leaves them out.
    pub blobs: Option<Blobs>,
    /// Maximum size of a media file in bytes; larger ones are left out.
    pub max_file: u64,
}

/// Changes with which a channel was opened for an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedChannel {
    /// True if the user was not known before.
    pub user_added: bool,
    /// True if the channel belongs to a bot.
    pub has_bot: bool,
}

/// Reason for which nothing can be imported into a channel.
#[derive(Debug, thiserror::Error)]
pub enum OpenChannelError {
    /// The channel is not known, and its id does not say of which kind it is.
    #[error("{0} is not a LINE ID (C…, R… or U…)")]
    NoKind(ChannelId),
    /// Nobody subscribes to the channel.
    #[error("the channel {0} has no backup subscription, so its messages are not stored")]
    NotSubscribed(ChannelId),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removal of an import, as far as it has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoProgress {
    /// Number of removed messages.
    pub messages: u64,
    /// Bytes that they counted for.
    pub freed_bytes: i64,
}

/// Imports. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ImportService {
    store: Store,
    clock: SharedClock,
}

impl ImportService {
    /// Creates the service; commands have it without the others.
    pub const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Inspects the file of an import. Changes nothing.
    ///
    /// # Errors
    /// Returns an error if it cannot be imported, more information is needed, or the store fails.
    #[boxed(?Send)]
    pub async fn plan(
        &self,
        _: &Operator,
        request: &ImportRequest<'_>,
    ) -> Result<ImportPlan, TransferError> {
        let known = self.store.channels().channel(&request.channel).await?;
        let own = || known.and_then(|channel| Zone::parse(&channel.time_zone?));
        self.import(request, request.zone.or_else(own)).plan(request.file).await
    }

    /// Verifies that the files of the database are in the media store of an import. One that no
    /// service has used yet is recorded, unless it is a dry run.
    ///
    /// # Errors
    /// [`MediaStoreError::Other`], or when one of them fails.
    #[boxed]
    pub async fn check_media_store(
        &self,
        _: &Operator,
        blobs: &Blobs,
        dry_run: bool,
    ) -> Result<(), MediaStoreError> {
        media_store::check(&self.store, blobs).await?;
        let recorded = self.store.media().recorded_identity().await?;
        let found = blobs.known_identity().await?;
        if dry_run || (recorded.is_some() && recorded == found) {
            return Ok(());
        }
        // The first files are about to arrive: they belong where running processes look for them.
        let running = running(&self.store).await?;
        if let Some(theirs) = running.iter().find_map(media_store_of)
            && found.as_deref() != Some(theirs)
        {
            return Err(media_store::other(blobs, found, Some(theirs.to_owned())));
        }
        let identity = media_store::identify(&self.store, blobs).await?;
        Ok(media_store::record(&self.store, &identity).await?)
    }

    /// Opens a channel for an import: makes the user, if one is given, a member and a subscriber,
    /// and assigns a channel that belongs to no bot to `bot`. User and channel are created if they
    /// are not known. Without a bot the channel stays unassigned, so that no bot of several gets
    /// access to the imported messages.
    ///
    /// # Errors
    /// [`OpenChannelError::NotSubscribed`] if nothing of the channel would be stored.
    #[boxed]
    pub async fn open(
        &self,
        _: &Operator,
        channel: &ChannelId,
        user: Option<&UserId>,
        bot: Option<&str>,
    ) -> Result<OpenedChannel, OpenChannelError> {
        let user_added = match user {
            Some(user) => self.subscribe(channel, user).await?,
            None => false,
        };
        let backup = self.store.accounts().backup_state(channel).await?;
        if !backup.is_subscribed() {
            return Err(OpenChannelError::NotSubscribed(channel.clone()));
        }
        Ok(OpenedChannel { user_added, has_bot: self.give_bot(channel, bot).await? })
    }

    /// Imports a file as planned, and reports progress. The messages that it adds can be removed by
    /// the import number in the summary.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or the store fails; what was imported by then
    /// stays.
    pub async fn run(
        &self,
        _: &Operator,
        request: &ImportRequest<'_>,
        plan: ImportPlan,
        mut watch: impl FnMut(ImportProgress),
    ) -> Result<Summary, TransferError> {
        self.import(request, request.zone).run(plan, &mut watch).await
    }

    /// Returns all imports, newest first, or those into one channel.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn list(
        &self,
        _: &Operator,
        channel: Option<&ChannelId>,
    ) -> Result<Vec<ImportRecord>, StoreError> {
        self.store.imports().list(channel).await
    }

    /// Returns the present state of an import.
    pub fn state(&self, import: &ImportRecord) -> ImportState {
        import.state(self.clock.now())
    }

    /// Returns one import.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn one(
        &self,
        _: &Operator,
        import: ImportId,
    ) -> Result<Option<ImportRecord>, StoreError> {
        self.store.imports().import_record(import).await
    }

    /// Removes the messages that an import added, and nothing else, and reports progress. Stopped
    /// half-way, it can be repeated for the rest.
    ///
    /// # Errors
    /// Returns an error when the store fails; what was removed by then stays removed.
    pub async fn undo(
        &self,
        _: &Operator,
        import: &ImportRecord,
        mut watch: impl FnMut(UndoProgress),
    ) -> Result<UndoProgress, StoreError> {
        let mut undone = UndoProgress::default();
        loop {
            let removed = self.store.imports().undo_import(import, BATCH, self.clock.now()).await?;
            undone.messages += removed.messages.len() as u64;
            undone.freed_bytes += removed.bytes;
            watch(undone);
            if removed.last {
                return Ok(undone);
            }
        }
    }

    fn import<'a>(&'a self, request: &'a ImportRequest<'_>, zone: Option<Zone>) -> Import<'a> {
        Import {
            store: &self.store,
            trial: request.dry_run,
            blobs: request.blobs.as_ref(),
            clock: &self.clock,
            channel: &request.channel,
            form: request.form,
            zone,
            date_order: request.date_order,
            encoding: request.encoding,
            names: request.names,
            max_file: request.max_file,
        }
    }

    /// Makes a user a member of and a subscriber to a channel; `true` if they were not known.
    async fn subscribe(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<bool, OpenChannelError> {
        let known = self.store.channels().channel(channel).await?;
        let known = known.map(|channel| (channel.platform, channel.kind));
        let (platform, kind) = known
            .or_else(|| Some((PlatformKind::Line, line_kind_of(channel)?)))
            .ok_or_else(|| OpenChannelError::NoKind(channel.clone()))?;
        let now = self.clock.now();
        let is_new = self.store.accounts().user(user).await?.is_none();
        if is_new {
            self.store.accounts().add_user(user, None, now).await?;
        }
        self.store.imports().open_for_import(channel, platform, kind, user, now).await?;
        Ok(is_new)
    }

    /// Assigns a channel that belongs to no bot; returns whether it belongs to one now.
    async fn give_bot(&self, channel: &ChannelId, bot: Option<&str>) -> Result<bool, StoreError> {
        let known = self.store.channels().channel(channel).await?;
        if known.is_none_or(|channel| !channel.bot.is_empty()) {
            return Ok(true);
        }
        let Some(bot) = bot else { return Ok(false) };
        self.store.channels().assign_channel(channel, bot, self.clock.now()).await?;
        Ok(true)
    }
}

/// Returns the kind of channel that a LINE id names.
fn line_kind_of(channel: &ChannelId) -> Option<ChannelKind> {
    match channel.as_str().chars().next()? {
        'C' => Some(ChannelKind::Group),
        'R' => Some(ChannelKind::Room),
        'U' => Some(ChannelKind::User),
        _ => None,
    }
}
