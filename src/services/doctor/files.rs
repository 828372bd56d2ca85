//! Check of media records against their files, and of files against their references.

use std::collections::BTreeSet;

use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_store::{Check, Difference, MediaAudit, MediaRepair};
use futures_util::{StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};

use super::report::ReportWriter;
use super::{Doctor, DoctorError, FileChecks, one};
use crate::media_store;

/// Page size when reading records.
const PAGE: u32 = 500;
/// Concurrency of file checks.
const AT_ONCE: usize = 16;
/// Batch size of lookups by name.
const NAMES: usize = 1_000;

/// Sentence about unreferenced files of a media store without a known owner.
const UNKNOWN_FILES: &str = "files that this database does not know are left: none of its own is in \
    the media store, which may belong to another database. If it does not, run `chatkeep doctor \
    --new-media-store`";

/// Difference of a record, and its repair.
type Wrong = (Difference, MediaRepair);

impl Doctor<'_> {
    /// Checks a channel's media records.
    pub(super) async fn media(
        &self,
        channel: &ChannelId,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let mut after: Option<MessageId> = None;
        loop {
            let page = self.store.audits().audit_media(channel, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.message.clone());
            report.checked.media += i64::try_from(page.len()).unwrap_or(i64::MAX);
            // All of them before any repair: those under way would keep the connections that it needs,
            // and nobody would drive them meanwhile.
            let wrong = match self.differing(channel, &page, self.files(report)).await {
                Err(error) if error.is_of_media_store() => {
                    report.leave_files(&error);
                    self.differing(channel, &page, None).await?
                }
                wrong => wrong?,
            };
            for (found, wrong) in page.into_iter().zip(wrong) {
                if let Some((difference, mend)) = wrong {
                    let repaired = match self.repairing() {
                        Some(now) => {
                            self.store.audits().mend_media(channel, &found, &mend, now).await?
                        }
                        None => false,
                    };
                    report.add(one(difference), repaired);
                }
            }
        }
    }

    /// Returns the media store, as far as files are to be checked.
    fn files(&self, report: &ReportWriter<'_>) -> Option<&Blobs> {
        let are_checked = self.options.files != FileChecks::None && !report.files_left;
        self.blobs.filter(|_| are_checked)
    }

    /// Returns the difference of each record.
    async fn differing(
        &self,
        channel: &ChannelId,
        page: &[MediaAudit],
        blobs: Option<&Blobs>,
    ) -> Result<Vec<Option<Wrong>>, DoctorError> {
        let checks: Vec<_> = page.iter().map(|found| self.medium(channel, found, blobs)).collect();
        futures_util::stream::iter(checks).buffered(AT_ONCE).try_collect().await
    }

    /// Returns the difference of a record, one at most, so that each is repaired as it was found.
    async fn medium(
        &self,
        channel: &ChannelId,
        found: &MediaAudit,
        blobs: Option<&Blobs>,
    ) -> Result<Option<Wrong>, DoctorError> {
        let place = format!("{channel} {}", found.message);
        if let Some(fault) = found.fault {
            let recorded = format!("{}, {} bytes", found.status, found.bytes);
            let difference = Difference::new(Check::MediaRecord, place, recorded, fault.words());
            return Ok(Some((difference, fault.mend())));
        }
        let Some(blobs) = blobs else { return Ok(None) };
        if let Some(blob) = &found.blob
            && let Some((truth, mend)) = self.change_of(blobs, found, blob).await?
        {
            let recorded = if found.lost {
                format!("lost, {blob}")
            } else {
                format!("{} bytes in {blob}", found.bytes)
            };
            let difference = Difference::new(Check::MediaFile, place, recorded, truth);
            return Ok(self.still(channel, found).await?.then_some((difference, mend)));
        }
        if let Some(preview) = found.preview.as_ref().filter(|_| !found.lost)
            && blobs.size(preview).await?.is_none()
        {
            media_store::check(self.store, blobs).await?;
            let difference = Difference::new(Check::MediaPreview, place, preview, "no such file");
            let wrong = (difference, MediaRepair::DropPreview);
            return Ok(self.still(channel, found).await?.then_some(wrong));
        }
        Ok(None)
    }

    /// Returns true if a record is unchanged since the check: else its file went with its message
    /// meanwhile.
    async fn still(&self, channel: &ChannelId, found: &MediaAudit) -> Result<bool, DoctorError> {
        Ok(self.store.audits().audit_medium(channel, &found.message).await?.as_ref() == Some(found))
    }

    /// Returns the actual state of a record's file, where it differs.
    async fn change_of(
        &self,
        blobs: &Blobs,
        found: &MediaAudit,
        blob: &BlobId,
    ) -> Result<Option<(String, MediaRepair)>, DoctorError> {
        let Some(size) = blobs.size(blob).await? else {
            return self.missing(blobs, found).await;
        };
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == found.bytes && !found.lost && !self.options.deep {
            return Ok(None);
        }
        Ok(match sound(blobs, blob).await {
            Ok(false) => Some((format!("{size} bytes of other content"), MediaRepair::Discard)),
            Ok(true) if found.lost => Some((format!("{size} bytes"), MediaRepair::Find(size))),
            Ok(true) if size == found.bytes => None,
            Ok(true) => Some((format!("{size} bytes"), MediaRepair::Resize(size))),
            Err(BlobError::NotFound(_)) => return self.missing(blobs, found).await,
            Err(error) => return Err(error.into()),
        })
    }

    /// Returns the state of a record's file that is not there. In another media store, such as that
    /// of a disk which was unmounted a moment ago, no file is.
    async fn missing(
        &self,
        blobs: &Blobs,
        found: &MediaAudit,
    ) -> Result<Option<(String, MediaRepair)>, DoctorError> {
        if found.lost {
            return Ok(None);
        }
        media_store::check(self.store, blobs).await?;
        Ok(Some(("no such file".to_owned(), MediaRepair::Lose)))
    }

    /// Reports unreferenced files that the orphan sweep does not know of.
    pub(super) async fn unreferenced_files(
        &self,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let Some(blobs) = self.files(report) else { return Ok(()) };
        match self.orphans(blobs, report).await {
            Err(error) if error.is_of_media_store() => {
                report.leave_files(&error);
                Ok(())
            }
            done => done,
        }
    }

    async fn orphans(
        &self,
        blobs: &Blobs,
        report: &mut ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let may_go = media_store::is_own(self.store, blobs).await?;
        let fate = if may_go { "--repair deletes it" } else { "it is left" };
        let mut is_told = may_go;
        let mut names = blobs.list().try_chunks(NAMES);
        while let Some(chunk) = names.try_next().await.map_err(|error| error.1)? {
            report.checked.files += i64::try_from(chunk.len()).unwrap_or(i64::MAX);
            let unheld =
                self.store.audits().unreferenced_blobs(&chunk.into_iter().collect()).await?;
            let unheld = self.still_there(blobs, unheld).await?;
            if unheld.is_empty() {
                continue;
            }
            if !std::mem::replace(&mut is_told, true) {
                report.uncheck(UNKNOWN_FILES.to_owned());
            }
            let repaired = may_go && self.repairing().is_some();
            if repaired {
                self.store.audits().mark_blobs(&unheld).await?;
            }
            let difference = |blob: &BlobId| {
                Difference::new(Check::File, blob.as_str(), "no message refers to it", fate)
            };
            report.add(unheld.iter().map(difference), repaired);
        }
        Ok(())
    }

    /// Returns those that were not swept since they were listed, and are still unreferenced.
    async fn still_there(
        &self,
        blobs: &Blobs,
        unheld: BTreeSet<BlobId>,
    ) -> Result<BTreeSet<BlobId>, DoctorError> {
        let mut there = BTreeSet::new();
        for blob in unheld {
            if blobs.size(&blob).await?.is_some() {
                there.insert(blob);
            }
        }
        Ok(if there.is_empty() {
            there
        } else {
            self.store.audits().unreferenced_blobs(&there).await?
        })
    }
}

/// Returns true if the SHA-256 of a file's content is its name.
async fn sound(blobs: &Blobs, blob: &BlobId) -> Result<bool, BlobError> {
    let mut stream = blobs.get(blob, None).await?.stream;
    let mut hash = Sha256::new();
    while let Some(piece) = stream.try_next().await? {
        hash.update(&piece);
    }
    Ok(hex::encode(hash.finalize()) == blob.as_str())
}
