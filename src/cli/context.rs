//! Settings of a command, and opening of the resources that they name.
//!
//! A [`Context`] opens existing data only: in a wrong folder a command reports it instead of
//! showing an empty list. Only commands that get a [`CreatingContext`] can create a data folder or
//! a database, and only `migrate` changes the schema of one: the service beside a command may be of
//! an earlier version, which would not start any more.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use chatkeep_blobs::Blobs;
use chatkeep_bus::{Bus, BusError};
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{BlobsKind, BusKind, Config, Database};
use chatkeep_core::time::SharedClock;
use chatkeep_services::account::AccountService;
use chatkeep_services::channels::ChannelService;
use chatkeep_services::exports::ExportService;
use chatkeep_services::imports::ImportService;
use chatkeep_services::indexing::IndexingService;
use chatkeep_services::keys::KeyService;
use chatkeep_services::media_store::{self, MediaStoreError};
use chatkeep_services::operator::Operator;
use chatkeep_services::snapshots::{
    BeforeMigration, SnapshotError, SnapshotService, SnapshotSource, copy_before_migration,
    remove_leftovers,
};
use chatkeep_store::{SchemaState, Store, StoreError};
use chatkeep_transfer::out::note;

use crate::app::{self, PreflightError};
use crate::private::{check_data_folder, check_owner, has_data, make_data_folder};

/// Settings and clock of a command that works with existing data.
pub(super) struct Context {
    pub(super) config: Config,
    pub(super) clock: SharedClock,
    /// Permission of whoever runs the command.
    pub(super) operator: Operator,
}

/// Context of a command that may create data.
pub(super) struct CreatingContext(pub(super) Context);

impl Context {
    /// Creates the context of a command with these settings.
    pub(super) const fn new(config: Config, clock: SharedClock) -> Self {
        Self { config, clock, operator: Operator::at_command_line() }
    }

    /// Returns the data folder.
    ///
    /// # Errors
    /// [`PreflightError`] when there is none, or when this user may not write to it.
    pub(super) fn data_folder(&self) -> anyhow::Result<&Path> {
        let folder = self.config.data.as_path();
        let file = matches!(self.config.database, Database::Sqlite);
        let place = if file { folder.join("chatkeep.db") } else { folder.to_owned() };
        if !place.exists() {
            return Err(no_data(folder.display(), "--data").into());
        }
        check_user(folder)?;
        check_data_folder(folder)?;
        Ok(folder)
    }

    /// Opens the database.
    ///
    /// # Errors
    /// [`PreflightError`] when it has no data of chatkeep, or its schema is that of an earlier
    /// version, else when it cannot be opened or reached.
    pub(super) async fn store(&self) -> anyhow::Result<Store> {
        match &self.config.database {
            Database::Sqlite => drop(self.data_folder()?),
            // Indexes and locks are in the data folder even then.
            Database::Postgres(_) => check_owner(&self.config.data).map_err(PreflightError)?,
        }
        self.refuse_pending().await?;
        // Nothing is to be migrated: a command works while another process migrates, and on a database
        // that can only be read.
        let store = Store::open_as_is(&self.config.database, &self.config.data).await;
        match store {
            Err(StoreError::NoData) => Err(match &self.config.database {
                Database::Sqlite => no_data(self.config.data.display(), "--data"),
                database @ Database::Postgres(_) => no_data(database, "--database"),
            }
            .into()),
            store => opened(&self.config, store),
        }
    }

    /// Refuses a database whose schema is that of an earlier version; one without data passes.
    async fn refuse_pending(&self) -> anyhow::Result<()> {
        let SchemaState { found, known, pending } = self.schema_state().await?;
        let Some(found) = found.filter(|_| !pending.is_empty()) else { return Ok(()) };
        Err(PreflightError(format!(
            "the database has schema {found}, and this program needs {known}: use the program that \
             the service runs, or bring the database up to date with `chatkeep migrate` (or the \
             start of this version's service), after which earlier versions do not start on it"
        ))
        .into())
    }

    /// Copies the database if opening it is about to change its data.
    async fn before_migration(&self) -> anyhow::Result<()> {
        let copied = copy_before_migration(&self.config, Arc::clone(&self.clock)).await;
        match copied.map_err(|error| app::no_copy(&self.config, error))? {
            BeforeMigration::Nothing => {}
            BeforeMigration::Copied { id, folder } => {
                note!("chatkeep: the database was copied first: {id} in {}", folder.display());
            }
            BeforeMigration::Unprotected => note!("chatkeep: {}", app::UNPROTECTED),
        }
        Ok(())
    }

    /// Compares the schema of the database with that of this version.
    ///
    /// # Errors
    /// Returns an error if it is of a later version, or cannot be read.
    pub(super) async fn schema_state(&self) -> anyhow::Result<SchemaState> {
        let state = Store::schema_state(&self.config.database, &self.config.data).await;
        opened(&self.config, state)
    }

    /// Returns the snapshots in that place, or else in that of the settings.
    ///
    /// # Errors
    /// [`PreflightError`] when no place is known or a setting is wrong, else when it cannot be
    /// opened.
    pub(super) fn snapshots(&self, target: Option<&BlobsKind>) -> anyhow::Result<SnapshotService> {
        let clock = Arc::clone(&self.clock);
        opened_snapshots(SnapshotService::open_existing(&self.config, target, clock))
    }

    /// Returns the same for removing what no snapshot needs any more.
    ///
    /// # Errors
    /// Those of [`Self::snapshots`].
    pub(super) fn pruned_snapshots(
        &self,
        target: Option<&BlobsKind>,
    ) -> anyhow::Result<SnapshotService> {
        let clock = Arc::clone(&self.clock);
        opened_snapshots(SnapshotService::open_for_pruning(&self.config, target, clock))
    }

    /// Returns the same for a database, creating the folder of a place that it has not used yet.
    ///
    /// # Errors
    /// Those of [`Self::snapshots`].
    pub(super) async fn new_snapshots(
        &self,
        store: &Store,
        target: Option<&BlobsKind>,
    ) -> anyhow::Result<SnapshotService> {
        let clock = Arc::clone(&self.clock);
        opened_snapshots(SnapshotService::open_for(store, &self.config, target, clock).await)
    }

    /// Opens what a snapshot is made of.
    ///
    /// # Errors
    /// Those of [`Self::store`] and [`Self::blobs`].
    pub(super) async fn snapshot_source(&self) -> anyhow::Result<SnapshotSource> {
        let store = self.store().await?;
        self.remove_leftovers(&store).await;
        Ok(SnapshotSource::of(&self.config, store, self.blobs()?))
    }

    /// Removes the copies of what is stored that a killed command or service has left.
    async fn remove_leftovers(&self, store: &Store) {
        if let Err(error) = remove_leftovers(&self.config.data, store).await {
            let error = with_causes(&error);
            note!("chatkeep: what an interrupted snapshot left cannot be removed: {error}");
        }
    }

    /// Returns the accounts of users.
    pub(super) fn accounts(&self, store: &Store) -> AccountService {
        AccountService::new(store.clone(), Arc::clone(&self.clock))
    }

    /// Returns the channels.
    pub(super) fn channels(&self, store: &Store) -> ChannelService {
        ChannelService::new(store.clone(), Arc::clone(&self.clock), self.config.time_zone)
    }

    /// Returns the exports of channels.
    ///
    /// # Errors
    /// Returns an error if the address of the service is invalid.
    pub(super) fn exports(&self, store: &Store) -> anyhow::Result<ExportService> {
        let links = app::links(&self.config)?;
        Ok(ExportService::new(store.clone(), self.config.time_zone, links))
    }

    /// Returns the imports.
    pub(super) fn imports(&self, store: &Store) -> ImportService {
        ImportService::new(store.clone(), Arc::clone(&self.clock))
    }

    /// Returns the rebuilding of the search index.
    pub(super) fn indexing(&self, store: &Store) -> IndexingService {
        IndexingService::new(store.clone(), Arc::clone(&self.clock))
    }

    /// Returns the API keys.
    pub(super) fn keys(&self, store: &Store) -> KeyService {
        KeyService::new(store.clone(), Arc::clone(&self.clock))
    }

    /// Opens the bus beside a process that may be running.
    ///
    /// # Errors
    /// [`PreflightError`] when no process has run on it, else when it cannot be opened or reached.
    pub(super) async fn bus(&self) -> anyhow::Result<Bus> {
        if matches!(self.config.bus, BusKind::Embedded) {
            self.data_folder()?;
        }
        self.known_bus().await?.ok_or_else(|| {
            let bus = match &self.config.bus {
                BusKind::Embedded => format!("in {}", self.config.data.display()),
                nats @ BusKind::Nats(_) => format!("at {nats}"),
            };
            PreflightError(format!(
                "no chatkeep process has used the bus {bus} yet: give --data, --bus or --config"
            ))
            .into()
        })
    }

    /// Opens the bus as [`Context::bus`] does; `None` when no process has run on it.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened or reached.
    pub(super) async fn known_bus(&self) -> anyhow::Result<Option<Bus>> {
        match app::attach_known_bus(&self.config, Arc::clone(&self.clock)).await {
            Err(BusError::Missing(_)) => Ok(None),
            bus => Ok(Some(bus.with_context(|| app::no_bus(&self.config))?)),
        }
    }

    /// Opens the media store.
    ///
    /// # Errors
    /// [`PreflightError`] when there is no such folder, else when the settings do not fit together.
    pub(super) fn blobs(&self) -> anyhow::Result<Blobs> {
        let Config { blobs, s3, .. } = &self.config;
        if self.has_no_files_yet() {
            return open_blobs(&self.config, Blobs::open(blobs, s3));
        }
        if let BlobsKind::Folder(folder) = blobs
            && !folder.exists()
        {
            let folder = folder.display();
            let why = format!("{folder} contains no media files of chatkeep");
            return Err(PreflightError(format!("{why}: give --data, --blobs or --config")).into());
        }
        open_blobs(&self.config, Blobs::open_existing(blobs, s3))
    }

    /// Returns true without the folder of media files that belongs to an embedded database: a new one
    /// has no files yet.
    fn has_no_files_yet(&self) -> bool {
        let Config { blobs, database, data, .. } = &self.config;
        let BlobsKind::Folder(folder) = blobs else { return false };
        matches!(database, Database::Sqlite) && folder.starts_with(data) && !folder.exists()
    }

    /// Opens the media store that the files of the database are in.
    ///
    /// # Errors
    /// Those of [`Self::blobs`]; [`PreflightError`] when they are in another one.
    pub(super) async fn media_store(&self, store: &Store) -> anyhow::Result<Blobs> {
        let blobs = self.blobs()?;
        media_store::check(store, &blobs).await.map_err(wrong_media_store)?;
        Ok(blobs)
    }
}

/// Turns the refusal of a media store into a usage error.
pub(super) fn wrong_media_store(error: MediaStoreError) -> anyhow::Error {
    match error {
        MediaStoreError::Other(other) => PreflightError(other.to_string()).into(),
        error => error.into(),
    }
}

fn no_data(place: impl std::fmt::Display, flag: &str) -> PreflightError {
    PreflightError(format!("{place} contains no chatkeep data: give {flag} or --config"))
}

/// Refuses to work as root in the data folder of another user: the service, which runs as that user,
/// could not use the files that root creates there.
fn check_user(folder: &Path) -> Result<(), PreflightError> {
    if has_data(folder) {
        return check_owner(folder).map_err(PreflightError);
    }
    let owner = std::fs::metadata(folder).map_or(0, |found| found.uid());
    if owner == 0 || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let folder = folder.display();
    Err(PreflightError(format!(
        "{folder} belongs to the user {owner}, as which the service runs: run the command as that \
         user (sudo -u '#{owner}' chatkeep …; of the installed service: sudo -u chatkeep chatkeep …)"
    )))
}

impl CreatingContext {
    /// Opens the database, creating it together with the folder of media files where there is none:
    /// other commands take a missing folder for a wrong one.
    ///
    /// # Errors
    /// [`PreflightError`] when its schema is that of an earlier version, else when one of them
    /// cannot be created, opened or reached.
    pub(super) async fn store(&self) -> anyhow::Result<Store> {
        check_user(&self.0.config.data)?;
        self.0.refuse_pending().await?;
        self.open().await
    }

    /// Opens the database as [`Self::store`] does, and brings its schema up to date. What a
    /// migration is about to change is copied before.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be created, copied, migrated, opened or reached.
    pub(super) async fn migrated_store(&self) -> anyhow::Result<Store> {
        check_user(&self.0.config.data)?;
        self.0.before_migration().await?;
        let store = self.open().await?;
        self.0.remove_leftovers(&store).await;
        Ok(store)
    }

    async fn open(&self) -> anyhow::Result<Store> {
        let Config { database, data, blobs, .. } = &self.0.config;
        make_data_folder(data)?;
        if let BlobsKind::Folder(folder) = blobs {
            let why = || format!("cannot create the media folder {}", folder.display());
            std::fs::create_dir_all(folder).with_context(why)?;
        }
        opened(&self.0.config, Store::open_for_scan(database, data).await)
    }

    /// Opens the media store, creating it where there is none; a dry run gets `None` then.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or the settings do not fit together. In a
    /// dry run, as of [`Context::blobs`].
    pub(super) fn blobs(&self, dry_run: bool) -> anyhow::Result<Option<Blobs>> {
        let Self(context) = self;
        if !dry_run {
            let Config { blobs, s3, .. } = &context.config;
            return open_blobs(&context.config, Blobs::open(blobs, s3)).map(Some);
        }
        if context.has_no_files_yet() {
            return Ok(None);
        }
        context.blobs().map(Some)
    }
}

fn opened_snapshots(
    service: Result<SnapshotService, SnapshotError>,
) -> anyhow::Result<SnapshotService> {
    service.map_err(|error| match error {
        error @ (SnapshotError::NoTarget
        | SnapshotError::Recipient(_)
        | SnapshotError::Overlaps { .. }) => PreflightError(error.to_string()).into(),
        error => error.into(),
    })
}

fn opened<T>(config: &Config, store: Result<T, StoreError>) -> anyhow::Result<T> {
    match store {
        // The error is self-explanatory.
        Err(error @ StoreError::Newer { .. }) => Err(error.into()),
        store => store.with_context(|| app::no_database(config)),
    }
}

fn open_blobs<E: std::error::Error + Send + Sync + 'static>(
    config: &Config,
    blobs: Result<Blobs, E>,
) -> anyhow::Result<Blobs> {
    blobs.with_context(|| app::no_media_store(config))
}
