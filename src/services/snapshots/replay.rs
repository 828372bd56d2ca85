//! Erasures of after a snapshot, repeated on its restored database.

use std::path::{Path, PathBuf};

use chatkeep_core::config::Database;
use chatkeep_store::{Store, StoreError};

use super::SnapshotError;
use super::files::write_file;
use super::layout::{AGE, LEDGER, PartName};
use super::ledger::LedgerReplay;
use super::restore::Restoration;

/// Database that knows what was erased since the snapshot.
#[derive(Clone, Debug)]
pub(crate) enum ErasedIn {
    /// A data folder.
    Folder(PathBuf),
    /// A server.
    Server(Database),
}

impl Restoration<'_> {
    /// Replays the ledgers of the snapshot, of all later ones, the present one of the archive, and
    /// those of the databases that were named.
    pub(super) async fn replay(&self, store: &Store) -> Result<u64, SnapshotError> {
        let mut replay = LedgerReplay::on(store, self.service.clock.now()).await?;
        let own = self.scratch.path().join(PartName::Ledger.file());
        if own.try_exists()? {
            replay.file(&own).await?;
            std::fs::remove_file(&own)?;
        }
        for later in self.service.manifests().await? {
            if later.id > self.manifest.id {
                let (folder, keys) = (self.scratch.path(), &self.request.identities);
                self.service.fetch_part(&later, PartName::Ledger, keys, folder).await?;
                replay.file(&own).await?;
                std::fs::remove_file(&own)?;
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
        Ok(replay.replayed)
    }

    /// Reads the present ledgers of the archive.
    async fn present(&self) -> Result<Vec<PathBuf>, SnapshotError> {
        let mut files = Vec::new();
        for name in [LEDGER.to_owned(), format!("{LEDGER}{}", AGE)] {
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
