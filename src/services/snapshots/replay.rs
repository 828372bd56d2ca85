//! Erasures of after a snapshot, repeated on its restored database.

use std::fmt;
use std::path::{Path, PathBuf};

use chatkeep_core::config::Database;
use chatkeep_core::time::Timestamp;
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

/// Ledgers that a restoration has read: it knows of no erasure beyond them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadLedgers {
    /// Location of the snapshots, as in the settings.
    place: String,
    /// Time at which the present ledger there was last written; `None` if there is none.
    present: Option<Timestamp>,
    /// Id of the newest later snapshot whose ledger was read.
    newest: Option<String>,
    /// Databases were named, and read.
    has_named: bool,
}

impl fmt::Display for ReadLedgers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match self.present {
            Some(written) => write!(f, "the current ledger in {place} is of {written}")?,
            None => write!(f, "there is no current ledger in {place}")?,
        }
        match &self.newest {
            Some(id) => write!(f, ", the newest one of a later snapshot is that of {id}")?,
            None => f.write_str(", no ledger of a later snapshot was read")?,
        }
        f.write_str(if self.has_named {
            ", and the data of --erased-in know of none"
        } else {
            ", and --erased-in, which names the former data, was not given"
        })
    }
}

/// Erasures that a restoration has repeated.
#[derive(Debug)]
pub(super) struct ErasureReplay {
    /// Number of entries that were new.
    pub(super) entries: u64,
    /// Ledgers that were read.
    pub(super) ledgers: ReadLedgers,
    /// Reasons for which ledgers of later snapshots could not be read.
    pub(super) unread: Vec<String>,
}

impl Restoration<'_> {
    /// Replays the ledgers of the snapshot, of all later ones, the present one of the archive, and
    /// those of the databases that were named.
    pub(super) async fn replay(&self, store: &Store) -> Result<ErasureReplay, SnapshotError> {
        let (mut unread, mut newest) = (Vec::new(), None);
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
            let done = self.replay_later(&mut replay, &own, &manifest).await;
            match done {
                Err(error) if error.is_about_one() => unread.push(error.to_string()),
                Ok(false) => {}
                Ok(true) => newest = Some(manifest.id),
                Err(error) => return Err(error),
            }
        }
        let (files, present) = self.present().await?;
        for file in files {
            replay.file(&file).await?;
        }
        for other in &self.request.erased_in {
            let other = open_other(other).await?;
            let done = replay.database(&other).await;
            other.close().await;
            done?;
        }
        let ledgers = ReadLedgers {
            place: self.service.place().to_owned(),
            present,
            newest,
            has_named: !self.request.erased_in.is_empty(),
        };
        Ok(ErasureReplay { entries: replay.replayed, ledgers, unread })
    }

    /// Replays the ledger of a later snapshot by way of the file `own`. Returns whether it has one.
    async fn replay_later(
        &self,
        replay: &mut LedgerReplay<'_>,
        own: &Path,
        manifest: &SnapshotManifest,
    ) -> Result<bool, SnapshotError> {
        if manifest.part(PartName::Ledger).is_none() {
            return Ok(false);
        }
        let (folder, keys) = (self.scratch.path(), &self.request.identities);
        let fetched = self.service.fetch_part(manifest, PartName::Ledger, keys, folder).await;
        let done = match fetched {
            Ok(()) => replay.file(own).await,
            failed => failed,
        };
        remove_file(own)?;
        done.map(|()| true)
    }

    /// Reads the present ledgers of the archive. Returns the files with them, and the time at which
    /// the newest was written.
    async fn present(&self) -> Result<(Vec<PathBuf>, Option<Timestamp>), SnapshotError> {
        let (mut files, mut written) = (Vec::new(), None::<Timestamp>);
        for name in [LEDGER.to_owned(), [LEDGER, AGE].concat()] {
            // Before it is read: what a service writes there meanwhile is newer.
            written = written.max(self.service.archive.written_at(&name).await?);
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
        Ok((files, written))
    }
}

async fn open_other(other: &ErasedIn) -> Result<Store, StoreError> {
    match other {
        ErasedIn::Folder(folder) => Store::open_as_is(&Database::Sqlite, folder).await,
        ErasedIn::Server(database) => Store::open_as_is(database, Path::new("")).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_told_with_its_time() {
        let mut read = ReadLedgers {
            place: "s3://bucket/a".to_owned(),
            present: Some(Timestamp::from_millis(1_767_323_045_678)),
            newest: None,
            has_named: false,
        };
        assert_eq!(
            read.to_string(),
            "the current ledger in s3://bucket/a is of 2026-01-02T03:04:05.678Z, no ledger of a \
             later snapshot was read, and --erased-in, which names the former data, was not given"
        );
        (read.present, read.newest) = (None, Some("20260102T030405678Z-0badcafe".to_owned()));
        read.has_named = true;
        assert_eq!(
            read.to_string(),
            "there is no current ledger in s3://bucket/a, the newest one of a later snapshot is that \
             of 20260102T030405678Z-0badcafe, and the data of --erased-in know of none"
        );
    }
}
