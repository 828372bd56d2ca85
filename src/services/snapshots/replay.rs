//! Erasures of after a snapshot, repeated on its restored database.

use std::path::{Path, PathBuf};

use chatkeep_core::config::Database;
use chatkeep_store::{Store, StoreError};

use super::SnapshotError;
use super::files::{remove_file, write_file};
use super::layout::{AGE, LEDGER, PartName};
use super::ledger::LedgerReplay;
use super::manifest::SnapshotManifest;
use super::restore::Restoration;

/// Database that knows what was erased since the snapshot.
#[derive(Clone, Debug)]
pub enum ErasedIn {
    /// A data folder.
    Folder(PathBuf),
    /// A server.
    Server(Database),
}

impl Restoration<'_> {
    /// Replays the ledgers of the snapshot, of all later ones, the present one of the archive, and
    /// those of the databases that were named. Returns the number of entries that were new, and the
    /// reasons for which ledgers of later snapshots could not be read.
    pub(super) async fn replay(&self, store: &Store) -> Result<(u64, Vec<String>), SnapshotError> {
        let mut unread = Vec::new();
        let mut replay = LedgerReplay::on(store, self.service.clock.now()).await?;
        let own = self.scratch.path().join(PartName::Ledger.file());
        if own.try_exists()? {
            replay.file(&own).await?;
            std::fs::remove_file(&own)?;
        }
        for later in self.service.list().await? {
            if later.id <= self.manifest.id {
                continue;
            }
            unread.extend(later.fault);
            let Some(manifest) = later.manifest else { continue };
            match self.replay_later(&mut replay, &own, &manifest).await {
                Err(error) if error.is_about_one() => unread.push(error.to_string()),
                done => done?,
            }
        }
        for file in self.present().await? {
            replay.file(&file).await?;
        }
        for other in &self.request.erased_in {
            let other = open_other(other).await?;
            let done = replay.database(&other).await;
            other.close().await;
            done?;
        }
        Ok((replay.replayed, unread))
    }

    /// Replays the ledger of a later snapshot, if it has one, by way of the file `own`.
    async fn replay_later(
        &self,
        replay: &mut LedgerReplay<'_>,
        own: &Path,
        manifest: &SnapshotManifest,
    ) -> Result<(), SnapshotError> {
        if manifest.part(PartName::Ledger).is_none() {
            return Ok(());
        }
        let (folder, keys) = (self.scratch.path(), &self.request.identities);
        let fetched = self.service.fetch_part(manifest, PartName::Ledger, keys, folder).await;
        let done = match fetched {
            Ok(()) => replay.file(own).await,
            failed => failed,
        };
        remove_file(own)?;
        done
    }

    /// Reads the present ledgers of the archive.
    async fn present(&self) -> Result<Vec<PathBuf>, SnapshotError> {
        let mut files = Vec::new();
        for name in [LEDGER.to_owned(), [LEDGER, AGE].concat()] {
            let Some(content) = self.service.archive.get(&name).await? else { continue };
            let path = self.scratch.path().join(format!("present-{name}"));
            write_file(content, &path).await?;
            if name == LEDGER {
                files.push(path);
            } else if self.request.identities.is_empty() {
                return Err(SnapshotError::Encrypted(format!("{} ({name})", self.manifest.id)));
            } else {
                let opened = path.with_extension("");
                let opened = opened.with_added_extension("opened");
                self.request.identities.open(&name, &path, &opened).await?;
                files.push(opened);
            }
        }
        Ok(files)
    }
}

async fn open_other(other: &ErasedIn) -> Result<Store, StoreError> {
    match other {
        ErasedIn::Folder(folder) => Store::open_as_is(&Database::Sqlite, folder).await,
        ErasedIn::Server(database) => Store::open_as_is(database, Path::new("")).await,
    }
}
