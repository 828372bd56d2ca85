//! Check of a snapshot: every stored byte, and what is in the parts.

use std::path::Path;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::embedded::check_bus_copy;
use chatkeep_core::config::Database;
use chatkeep_store::Store;

use super::files::{NotedObject, WorkFolder};
use super::layout::PartName;
use super::ledger::check_ledger;
use super::manifest::{ListedBlob, SnapshotManifest};
use super::seal::AgeIdentities;
use super::{SnapshotError, SnapshotService};

/// Number of references to files read at once.
const PAGE: u32 = 1_000;

/// Result of a check without findings.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    /// Manifest of the snapshot.
    pub manifest: SnapshotManifest,
    /// True if the content of the parts was checked, too; false for an encrypted snapshot without
    /// identities.
    pub contents: bool,
}

impl SnapshotService {
    /// Reads everything that a snapshot consists of and compares it with its manifest; decrypts and
    /// opens database, bus and ledger where possible, in the folder `scratch`.
    ///
    /// # Errors
    /// [`SnapshotError::Damaged`] with the object, or another reason for which it could not be
    /// restored.
    #[boxed]
    pub async fn verify(
        &self,
        id: &str,
        identities: &AgeIdentities,
        scratch: &Path,
    ) -> Result<VerifyReport, SnapshotError> {
        let manifest = self.manifest(id).await?;
        let work = WorkFolder::create(scratch.join("verify"))?;
        for part in &manifest.parts {
            let object = manifest.object(part);
            manifest.fetch(&self.archive, part.noted(&object), None).await?;
        }
        self.verify_files(&manifest, &work).await?;
        let contents = !manifest.is_encrypted() || !identities.is_empty();
        if contents {
            self.verify_contents(&manifest, identities, &work).await?;
        }
        Ok(VerifyReport { manifest, contents })
    }

    /// Reads every file of the list, and notes those that are damaged, so that the next snapshot
    /// copies them again. The error is about the first one.
    async fn verify_files(
        &self,
        manifest: &SnapshotManifest,
        work: &WorkFolder,
    ) -> Result<(), SnapshotError> {
        let Some(mut list) = self.blob_list(manifest, work).await? else { return Ok(()) };
        let (mut count, mut damaged) = (0, None);
        while let Some(ListedBlob { blob, stored }) = list.next().await? {
            let Some(stored) = stored else { continue };
            if !manifest.is_encrypted() && stored.sha256 != blob {
                return Err(manifest.damaged(&stored.object, "is listed with another hash"));
            }
            match manifest.fetch(&self.archive, NotedObject::from(&stored), None).await {
                Err(error @ SnapshotError::Damaged { .. }) => {
                    self.note_damaged(&stored.object).await;
                    damaged.get_or_insert(error);
                }
                read => read?,
            }
            count += 1;
        }
        if let Some(error) = damaged {
            return Err(error);
        }
        if count != manifest.files {
            let why = format!("has {count} files instead of {}", manifest.files);
            return Err(manifest.damaged(PartName::Blobs.file(), why));
        }
        Ok(())
    }

    /// Opens the parts.
    async fn verify_contents(
        &self,
        manifest: &SnapshotManifest,
        identities: &AgeIdentities,
        work: &WorkFolder,
    ) -> Result<(), SnapshotError> {
        for name in [PartName::Bus, PartName::Database, PartName::Ledger] {
            self.fetch_part(manifest, name, identities, work.path()).await?;
        }
        check_parts(manifest, work.path()).await?;
        if !manifest.has_database() {
            return Ok(());
        }
        let Some(mut list) = self.blob_list(manifest, work).await? else { return Ok(()) };
        let store = Store::open_as_is(&Database::Sqlite, work.path()).await?;
        let mut after = None;
        loop {
            let page = store.media().referenced_blobs(after.as_ref(), PAGE).await?;
            let Some(end) = page.last() else { break };
            after = Some(end.clone());
            for blob in page {
                if list.find(blob.as_str()).await?.is_none() {
                    let why = format!("lacks {blob}, which a message refers to");
                    return Err(manifest.damaged(PartName::Blobs.file(), why));
                }
            }
        }
        store.close().await;
        Ok(())
    }

    /// Reads a part, decrypted, into its file in a folder, if the snapshot has it.
    pub(super) async fn fetch_part(
        &self,
        manifest: &SnapshotManifest,
        name: PartName,
        identities: &AgeIdentities,
        folder: &Path,
    ) -> Result<(), SnapshotError> {
        let Some(part) = manifest.part(name) else { return Ok(()) };
        let (object, into) = (manifest.object(part), folder.join(name.file()));
        manifest.fetch_open(&self.archive, part.noted(&object), identities, &into).await
    }
}

/// Checks the parts in a folder: that the files are whole, and what the manifest says of them.
pub(super) async fn check_parts(
    manifest: &SnapshotManifest,
    folder: &Path,
) -> Result<(), SnapshotError> {
    let bus = folder.join(PartName::Bus.file());
    if manifest.part(PartName::Bus).is_some() {
        check_bus_copy(&bus).await?;
    }
    if manifest.has_database() {
        let found = Store::check_copy(&folder.join(PartName::Database.file())).await?;
        if found != manifest.schema {
            let why = format!("has schema {found} instead of {}", manifest.schema);
            return Err(manifest.damaged(PartName::Database.file(), why));
        }
    }
    if manifest.part(PartName::Ledger).is_some() {
        check_ledger(&folder.join(PartName::Ledger.file())).await?;
    }
    Ok(())
}
