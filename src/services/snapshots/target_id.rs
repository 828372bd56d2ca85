//! Id of a snapshot target, an object in it that the first use writes. The database records it with
//! the address: another target at that address, such as the empty folder of a disk that is not
//! mounted, would get the next snapshots, and the earlier ones would seem lost.

use std::fmt;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_blobs::ArchiveError;
use chatkeep_core::config::{BlobsKind, Config, S3Config};
use chatkeep_core::random::random_name;
use chatkeep_core::time::SharedClock;
use chatkeep_store::Store;

use super::layout::TARGET_ID;
use super::{SnapshotError, SnapshotService, place_for_writing};

/// Snapshot target that is not one of those that the database has used at its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSnapshotTarget {
    /// Its location.
    place: String,
    state: OtherTargetState,
}

/// State of such a target.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OtherTargetState {
    NoFolder,
    NoId,
    /// Another id.
    Id(String),
    /// Another id, beside what another database has stored.
    Foreign(String),
}

impl fmt::Display for OtherSnapshotTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, state } = self;
        write!(f, "{place} is not the snapshot target that this database has used there: ")?;
        match state {
            OtherTargetState::NoFolder => f.write_str("there is no such folder")?,
            OtherTargetState::NoId => write!(f, "it has no {TARGET_ID}")?,
            OtherTargetState::Id(id) => write!(f, "its {TARGET_ID} is another one, {id}")?,
            OtherTargetState::Foreign(id) => write!(
                f,
                "its {TARGET_ID} is another one, {id}, and it has what is not of this database"
            )?,
        }
        f.write_str(". Mount it, or name the right one (snapshot.target, --target)")?;
        let folder = if *state == OtherTargetState::NoFolder { "make the folder and " } else { "" };
        write!(
            f,
            ". If this one is to have the snapshots from now on, {folder}run `chatkeep snapshot adopt \
             --target {place}`"
        )
    }
}

impl std::error::Error for OtherSnapshotTarget {}

impl SnapshotService {
    /// Opens the place `target`, or else that of the settings, for a database. Creates the folder of
    /// one that the database has not used yet.
    ///
    /// # Errors
    /// Those of [`Self::open`]; [`SnapshotError::OtherTarget`] if the folder of one that it has
    /// used is not there, or when the database fails.
    #[boxed]
    pub async fn open_for(
        store: &Store,
        config: &Config,
        target: Option<&BlobsKind>,
        clock: SharedClock,
    ) -> Result<Self, SnapshotError> {
        let target = place_for_writing(config, target)?.clone();
        let address = address(&target, &config.s3);
        let is_new = store.processes().snapshot_target_ids(&address).await?.is_empty();
        let (config, place) = (config.clone(), target.to_string());
        // A file system of another machine may not answer.
        let open = move || {
            let open = if is_new { Self::open } else { Self::open_existing };
            open(&config, Some(&target), clock)
        };
        match tokio::task::spawn_blocking(open).await.map_err(std::io::Error::other)? {
            Err(SnapshotError::Archive(ArchiveError::Missing(_))) => {
                Err(OtherSnapshotTarget { place, state: OtherTargetState::NoFolder }.into())
            }
            opened => opened,
        }
    }

    /// Verifies that the place is one that the database has used at its address, or the first one
    /// there. Changes nothing.
    ///
    /// # Errors
    /// [`SnapshotError::OtherTarget`], or when the database or the archive fails.
    pub(crate) async fn check_target_id(&self, store: &Store) -> Result<(), SnapshotError> {
        let recorded = store.processes().snapshot_target_ids(&self.address).await?;
        let found = self.target_id().await?;
        if recorded.is_empty() || found.as_ref().is_some_and(|found| recorded.contains(found)) {
            return Ok(());
        }
        let state = match found {
            None => OtherTargetState::NoId,
            Some(id) if self.is_foreign(store).await? => OtherTargetState::Foreign(id),
            Some(id) => OtherTargetState::Id(id),
        };
        Err(OtherSnapshotTarget { place: self.place().to_owned(), state }.into())
    }

    /// Returns the place if it is not one that the database has used at its address, nor the first one
    /// there.
    ///
    /// # Errors
    /// Returns an error when the database or the archive fails.
    #[boxed]
    pub async fn other_target(
        &self,
        store: &Store,
    ) -> Result<Option<OtherSnapshotTarget>, SnapshotError> {
        match self.check_target_id(store).await {
            Ok(()) => Ok(None),
            Err(SnapshotError::OtherTarget(other)) => Ok(Some(other)),
            Err(error) => Err(error),
        }
    }

    /// Records the place as one that the database uses; gives it an id if it has none.
    ///
    /// # Errors
    /// Returns an error when the database or the archive fails.
    pub(super) async fn record_target(&self, store: &Store) -> Result<(), SnapshotError> {
        let id = if let Some(id) = self.target_id().await? {
            id
        } else {
            self.archive.put(TARGET_ID, Bytes::from(random_name() + "\n")).await?;
            // Of two processes that do so at once the id of the later one stays. Both record what
            // they read, and each takes either.
            self.target_id().await?.unwrap_or_default()
        };
        if !store.processes().snapshot_target_ids(&self.address).await?.contains(&id) {
            store.processes().record_snapshot_target(&self.address, &id).await?;
        }
        Ok(())
    }

    /// Records the place as one of a database that is restored from it, if it has an id.
    ///
    /// # Errors
    /// Returns an error when the database or the archive fails.
    pub(super) async fn record_source(&self, store: &Store) -> Result<(), SnapshotError> {
        let Some(id) = self.target_id().await? else { return Ok(()) };
        Ok(store.processes().record_snapshot_target(&self.address, &id).await?)
    }

    /// Returns the id of the place; `None` until it is used.
    pub(super) async fn target_id(&self) -> Result<Option<String>, SnapshotError> {
        let found = self.archive.read(TARGET_ID).await?;
        let text = |found: Bytes| String::from_utf8_lossy(found.trim_ascii()).into_owned();
        // A crash may leave an empty file.
        Ok(found.map(text).filter(|id| !id.is_empty()))
    }
}

/// Returns the address by which a target is recorded: the same one for the same setting, from
/// whichever folder a command is run.
pub(super) fn address(target: &BlobsKind, s3: &S3Config) -> String {
    match target {
        BlobsKind::Folder(folder) => {
            std::path::absolute(folder).unwrap_or_else(|_| folder.clone()).display().to_string()
        }
        BlobsKind::S3 { .. } => {
            format!("{target} at {}", s3.endpoint.as_deref().unwrap_or("Amazon S3"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use chatkeep_core::config::{Database, Sources};
    use chatkeep_core::time::SystemClock;

    use super::super::{SnapshotPlace, SnapshotReason, SnapshotSource};
    use super::*;

    /// Deployment with a snapshot target beside its data.
    struct Scene {
        folder: tempfile::TempDir,
        source: SnapshotSource,
    }

    impl Scene {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
            let embedded_database = true;
            let source =
                SnapshotSource { store, blobs: None, embedded_database, embedded_bus: false };
            Self { folder, source }
        }

        fn config(&self, name: &str) -> Config {
            let setting = |name: &str, value: &Path| (name.to_owned(), value.display().to_string());
            let environment = vec![
                setting("CHATKEEP_DATA", self.folder.path()),
                setting("CHATKEEP_SNAPSHOT_TARGET", &self.folder.path().join(name)),
            ];
            Config::load(Sources::new(None, environment, Vec::new())).unwrap()
        }

        fn place(&self, name: &str) -> SnapshotPlace {
            let store = self.source.store.clone();
            SnapshotPlace::new(self.config(name), store, Arc::new(SystemClock), |_| {})
        }

        /// Makes a snapshot; returns the number of those that are there then.
        async fn snapshot(&self, place: &SnapshotPlace) -> Result<usize, SnapshotError> {
            let service = place.service().await?;
            service.create(&self.source, SnapshotReason::Manual).await?;
            Ok(service.manifests().await?.len())
        }

        /// Returns the refusal of a place, in which nothing may be changed.
        async fn refused(&self, name: &str, place: &SnapshotPlace) -> String {
            let files = || names_in(&self.folder.path().join(name));
            let before = files();
            let refused = self.snapshot(place).await.unwrap_err();
            assert!(matches!(refused, SnapshotError::OtherTarget(_)), "{refused}");
            assert_eq!(files(), before);
            refused.to_string()
        }

        fn rename(&self, from: &str, to: &str) {
            let path = |name: &str| self.folder.path().join(name);
            fs::rename(path(from), path(to)).unwrap();
        }
    }

    /// Returns the names of what is in a folder; `None` if there is none.
    fn names_in(folder: &Path) -> Option<Vec<String>> {
        let entries = fs::read_dir(folder).ok()?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<_> = entries.map(Result::unwrap).map(name).collect();
        names.sort();
        Some(names)
    }

    #[tokio::test]
    async fn another_target_at_the_same_address_is_refused_until_it_is_adopted() {
        let scene = Scene::new().await;
        let running = scene.place("disk");
        assert_eq!(scene.snapshot(&running).await.unwrap(), 1);
        scene.rename("disk", "away");
        let said = scene.refused("disk", &scene.place("disk")).await;
        assert!(said.contains("there is no such folder") && said.contains("make the"), "{said}");
        // The mount point, for a service that runs and for one that starts.
        fs::create_dir(scene.folder.path().join("disk")).unwrap();
        for place in [&running, &scene.place("disk")] {
            let said = scene.refused("disk", place).await;
            assert!(said.contains("it has no snapshot-target.id. Mount it"), "{said}");
            assert!(said.contains("run `chatkeep snapshot adopt --target /"), "{said}");
        }
        fs::write(scene.folder.path().join("disk").join(TARGET_ID), "of another disk").unwrap();
        let said = scene.refused("disk", &running).await;
        assert!(said.contains("is another one, of another disk. Mount it"), "{said}");
        // Accepted, it is one of two that take turns.
        let (config, clock) = (scene.config("disk"), Arc::new(SystemClock));
        let service = SnapshotService::open_existing(&config, None, clock).unwrap();
        service.adopt(&scene.source).await.unwrap();
        assert_eq!(scene.snapshot(&running).await.unwrap(), 1);
        scene.rename("disk", "second");
        scene.rename("away", "disk");
        assert_eq!(scene.snapshot(&running).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn a_target_of_another_database_says_so() {
        let (scene, other) = (Scene::new().await, Scene::new().await);
        scene.snapshot(&scene.place("disk")).await.unwrap();
        other.snapshot(&other.place("disk")).await.unwrap();
        scene.rename("disk", "away");
        fs::rename(other.folder.path().join("disk"), scene.folder.path().join("disk")).unwrap();
        let said = scene.refused("disk", &scene.place("disk")).await;
        assert!(said.contains("and it has what is not of this database. Mount it"), "{said}");
    }

    #[tokio::test]
    async fn another_address_and_a_target_of_an_earlier_version_are_recorded() {
        let scene = Scene::new().await;
        scene.snapshot(&scene.place("first")).await.unwrap();
        assert_eq!(scene.snapshot(&scene.place("empty")).await.unwrap(), 1);
        // One of an earlier version, at an address that nobody has recorded.
        fs::remove_file(scene.folder.path().join("first").join(TARGET_ID)).unwrap();
        scene.rename("first", "earlier");
        assert_eq!(scene.snapshot(&scene.place("earlier")).await.unwrap(), 2);
        let id = fs::read_to_string(scene.folder.path().join("earlier").join(TARGET_ID)).unwrap();
        assert_eq!(id.trim().len(), random_name().len());
        scene.rename("earlier", "away");
        scene.refused("earlier", &scene.place("earlier")).await;
    }
}
