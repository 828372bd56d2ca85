//! Restoration of a snapshot into a new folder, or of its files and ledger beside a restored dump of
//! PostgreSQL.
//!
//! A folder is put together under another name and renamed when everything is right: a restoration
//! that is interrupted leaves no folder that looks whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::Blobs;
use chatkeep_core::config::{BlobsKind, Database, S3Config};
use chatkeep_store::{Check, Store};
use tempfile::TempDir;

use super::layout::PartName;
use super::manifest::SnapshotManifest;
use super::new_folder::NewFolder;
use super::overlap::real;
use super::replay::{ErasedIn, ErasureReplay, ReadLedgers};
use super::restored_files::{DamagedFiles, RestoredFiles};
use super::seal::AgeIdentities;
use super::verify::check_parts;
use super::{SnapshotError, SnapshotService};
use crate::doctor::{Doctor, DoctorOptions, FileChecks, Finding, Repair, Report};
use crate::earlier_texts::EarlierTextErasure;
use crate::media_store;
use crate::processes::running;

/// Media store in a data folder.
const BLOBS: &str = "blobs";

/// Place that a snapshot is restored to.
#[derive(Clone, Debug)]
pub enum RestoreDestination {
    /// A new data folder. Its files of messages lie in it, or in another media store.
    Folder { path: PathBuf, blobs: Option<BlobsKind> },
    /// A database that was restored otherwise, and its media store.
    Database { database: Database, blobs: BlobsKind },
}

/// Request to restore a snapshot.
#[derive(Clone, Debug)]
pub struct RestoreRequest {
    /// Id of the snapshot, or `latest`.
    pub id: String,
    pub into: RestoreDestination,
    pub identities: AgeIdentities,
    pub erased_in: Vec<ErasedIn>,
    /// True to leave out files of messages that are damaged or missing in the archive; otherwise
    /// they end the restoration.
    pub skip_damaged_files: bool,
    /// Access to a media store that is a bucket.
    pub s3: S3Config,
}

/// Result of a restoration.
#[derive(Debug)]
pub struct RestoreReport {
    pub manifest: SnapshotManifest,
    /// Number of messages, tombstones included.
    pub messages: i64,
    /// Number of files of messages that were restored.
    pub files: u64,
    /// Number of files that messages refer to and the snapshot does not have.
    pub missing: u64,
    /// Files that the snapshot has, and that were left out because they are damaged or missing.
    pub damaged: DamagedFiles,
    /// Number of erasures since the snapshot that were replayed.
    pub replayed: u64,
    /// Ledgers that were read for them.
    pub ledgers: ReadLedgers,
    /// Number of messages whose earlier texts were erased, for their channels keep none any more.
    pub earlier_texts: usize,
    /// Reasons for which ledgers of later snapshots could not be read.
    pub unread: Vec<String>,
    /// Number of differences, most of which are of before the snapshot, that were repaired.
    pub repaired: u64,
    /// Number of differences that are left: rows without their channel.
    pub left: u64,
}

impl SnapshotService {
    /// Restores a snapshot, replays what was erased since, and checks the result. `found` gets each
    /// finding of the check.
    ///
    /// # Errors
    /// Returns an error that says what is in the way. A new folder is not there then.
    #[boxed]
    pub async fn restore(
        &self,
        request: &RestoreRequest,
        found: &mut (dyn FnMut(&Finding) + Send),
    ) -> Result<RestoreReport, SnapshotError> {
        let manifest = self.manifest(&request.id).await?;
        if manifest.is_encrypted() && request.identities.is_empty() {
            return Err(SnapshotError::Encrypted(manifest.id));
        }
        match &request.into {
            RestoreDestination::Folder { path, blobs } => {
                self.restore_folder(manifest, request, (path, blobs.as_ref()), found).await
            }
            RestoreDestination::Database { database, blobs } => {
                self.restore_beside(manifest, request, (database, blobs), found).await
            }
        }
    }

    async fn restore_folder(
        &self,
        manifest: SnapshotManifest,
        request: &RestoreRequest,
        (path, blobs): (&Path, Option<&BlobsKind>),
        found: &mut (dyn FnMut(&Finding) + Send),
    ) -> Result<RestoreReport, SnapshotError> {
        if !manifest.has_database() {
            return Err(SnapshotError::NeedsDatabase(manifest.id));
        }
        if path.try_exists()? {
            return Err(SnapshotError::Exists(path.display().to_string()));
        }
        // Opened, it would make the folder.
        let blobs = outside(path, blobs)?;
        let new = NewFolder::begin(path)?;
        let folder = new.work.path();
        for name in [PartName::Bus, PartName::Database, PartName::Settings] {
            self.fetch_part(&manifest, name, &request.identities, folder).await?;
        }
        let scratch = new.scratch()?;
        self.fetch_part(&manifest, PartName::Ledger, &request.identities, scratch.path()).await?;
        check_parts_in(&manifest, folder, scratch.path()).await?;
        let inside = BlobsKind::Folder(folder.join(BLOBS));
        let blobs = Blobs::open(blobs.unwrap_or(&inside), &request.s3)?;
        let store = Store::open_for_scan(&Database::Sqlite, folder).await?;
        store.processes().forget_all().await?;
        store.exports().forget_exports().await?;
        self.leave_what_was_lost(&store).await?;
        let restoration = Restoration { service: self, request, manifest, scratch: &scratch };
        let report = restoration.fill(&store, &blobs, found).await;
        store.close().await;
        let report = report?;
        if report.replayed > 0 || report.earlier_texts > 0 || report.repaired > 0 {
            Store::rewrite_embedded(folder).await?;
        }
        drop(scratch);
        new.finish(path)?;
        Ok(report)
    }

    async fn restore_beside(
        &self,
        manifest: SnapshotManifest,
        request: &RestoreRequest,
        (database, blobs): (&Database, &BlobsKind),
        found: &mut (dyn FnMut(&Finding) + Send),
    ) -> Result<RestoreReport, SnapshotError> {
        if manifest.has_database() {
            return Err(SnapshotError::NeedsFolder(manifest.id));
        }
        // Looked at before it is migrated: what runs on it may be of an earlier version.
        let store = Store::open_as_is(database, Path::new("")).await?;
        let processes = running(&store).await;
        store.close().await;
        let processes = processes?.len();
        if processes > 0 {
            return Err(SnapshotError::InUse(processes));
        }
        let store = Store::open_existing(database, Path::new("")).await?;
        store.exports().forget_exports().await?;
        self.leave_what_was_lost(&store).await?;
        let blobs = Blobs::open(blobs, &request.s3)?;
        let scratch = tempfile::tempdir()?;
        self.fetch_part(&manifest, PartName::Ledger, &request.identities, scratch.path()).await?;
        let restoration = Restoration { service: self, request, manifest, scratch: &scratch };
        let report = restoration.fill(&store, &blobs, found).await;
        store.close().await;
        report
    }

    /// Prepares a database for what came since its copy was made.
    async fn leave_what_was_lost(&self, store: &Store) -> Result<(), SnapshotError> {
        store.outbox().leave_lost_positions(self.clock.now()).await?;
        Ok(store.processes().leave_lost_events(self.clock.now()).await?)
    }
}

/// Returns the media store of a new data folder; `None` for the folder of files in it.
///
/// # Errors
/// [`SnapshotError::InNewFolder`] for any other place in it.
fn outside<'a>(
    folder: &Path,
    blobs: Option<&'a BlobsKind>,
) -> Result<Option<&'a BlobsKind>, SnapshotError> {
    let Some(BlobsKind::Folder(media)) = blobs else { return Ok(blobs) };
    let (whole, part) = (real(folder), real(media));
    if part == whole.join(BLOBS) {
        return Ok(None);
    }
    if part.starts_with(&whole) {
        let (folder, media) = (folder.display().to_string(), media.display().to_string());
        return Err(SnapshotError::InNewFolder { folder, media });
    }
    Ok(blobs)
}

/// Checks the parts, of which the ledger lies in a folder of its own.
async fn check_parts_in(
    manifest: &SnapshotManifest,
    folder: &Path,
    scratch: &Path,
) -> Result<(), SnapshotError> {
    let ledger = manifest.part(PartName::Ledger).cloned();
    let parts: Vec<_> =
        manifest.parts.iter().filter(|part| Some(*part) != ledger.as_ref()).cloned().collect();
    check_parts(&SnapshotManifest { parts, ..manifest.clone() }, folder).await?;
    let parts = ledger.into_iter().collect();
    check_parts(&SnapshotManifest { parts, ..manifest.clone() }, scratch).await
}

/// Restoration whose database is there.
pub(super) struct Restoration<'a> {
    pub(super) service: &'a SnapshotService,
    pub(super) request: &'a RestoreRequest,
    pub(super) manifest: SnapshotManifest,
    pub(super) scratch: &'a TempDir,
}

impl Restoration<'_> {
    /// Replays erasures, restores the files that are left then, and checks everything.
    async fn fill(
        self,
        store: &Store,
        blobs: &Blobs,
        found: &mut (dyn FnMut(&Finding) + Send),
    ) -> Result<RestoreReport, SnapshotError> {
        media_store::check_owner(store, blobs).await?;
        let ErasureReplay { entries: replayed, ledgers, unread } = self.replay(store).await?;
        // The service on it, whose job this is, may start much later.
        let (texts_of, clock) = (store.clone(), Arc::clone(&self.service.clock));
        let earlier_texts = EarlierTextErasure { store: texts_of, clock }.erase_at_once().await?;
        let RestoredFiles { whole: files, missing, damaged } = self.files(store, blobs).await?;
        // Without a list of files they are where they were.
        if self.manifest.part(PartName::Blobs).is_some() {
            media_store::adopt(store, blobs).await?;
        }
        self.service.record_source(store).await?;
        let doctor = self.check(store, blobs, found).await?;
        let messages = store.messages().count_messages().await?;
        let (repaired, left) = (doctor.repaired, doctor.left());
        let Self { manifest, .. } = self;
        Ok(RestoreReport {
            manifest,
            messages,
            files,
            missing,
            damaged,
            replayed,
            ledgers,
            earlier_texts,
            unread,
            repaired,
            left,
        })
    }

    /// Checks the result, and repairs what can be recomputed: it may differ since before the
    /// snapshot. What a media store holds beyond is left alone, for events that are handled again
    /// may refer to it.
    async fn check(
        &self,
        store: &Store,
        blobs: &Blobs,
        found: &mut (dyn FnMut(&Finding) + Send),
    ) -> Result<Report, SnapshotError> {
        let repair = Some(Repair { clock: Arc::clone(&self.service.clock) });
        // Without a list of files nobody knows which media store has them.
        let listed = self.manifest.part(PartName::Blobs).is_some();
        let files = if listed { FileChecks::Recorded } else { FileChecks::None };
        let options = DoctorOptions { repair, files, ..DoctorOptions::default() };
        let mut wrong = 0;
        let mut listener = |finding: &Finding| {
            // Rows without their channel were so before, and nobody sees them.
            let is_loose = finding.difference.check == Check::LooseRows;
            wrong += u64::from(!finding.repaired && !is_loose);
            found(finding);
        };
        let doctor = Doctor { store, blobs: Some(blobs), indexes: &[], replicas: None, options };
        let report = doctor.run(&mut listener).await?;
        if wrong > 0 {
            return Err(SnapshotError::Differs(wrong));
        }
        match report.unchecked.first() {
            Some(why) => Err(SnapshotError::Unchecked(why.clone())),
            None => Ok(report),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_store_is_beside_a_new_folder_or_the_one_in_it() {
        let root = tempfile::tempdir().unwrap();
        let new = root.path().join("new");
        let at = |path: &str| BlobsKind::Folder(root.path().join(path));
        for path in ["files", "new-files", "."] {
            let media = at(path);
            assert!(outside(&new, Some(&media)).unwrap().is_some(), "{path}");
        }
        assert!(outside(&new, Some(&at("new/blobs"))).unwrap().is_none());
        assert!(outside(&new, None).unwrap().is_none());
        for path in ["new", "new/files", "new/blobs/more"] {
            let error = outside(&new, Some(&at(path))).unwrap_err();
            assert!(matches!(error, SnapshotError::InNewFolder { .. }), "{path}: {error}");
        }
        assert!(!new.exists());
    }
}
