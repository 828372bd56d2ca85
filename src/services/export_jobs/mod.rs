//! Exports that are written in the background and downloaded once they are completed: they survive a
//! closed connection and a restart, and a download can be resumed.
//!
//! An export belongs to the person who requested it. Its files say what messages were when they were
//! written; a change or removal of one of them takes its part out of date at once (the store's
//! module `exports`), and a worker writes it again.

mod worker;

use std::ops::Range;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::random;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ExportJob, JobStatus, NewExportJob, PartBlob, ReadAction, Store};
use chatkeep_transfer::Format;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::ServiceError;
use super::access::{ChannelAccess, Member, ReadMessages};
use super::documents::DocumentError;
use super::exports::{ExportRequest, ExportService};

pub use worker::{ExportPurge, ExportWorker};

/// Beginning of the id of every export.
pub(super) const EXPORT_ID: &str = "exp_";

/// Document of a completed export.
#[derive(Clone, Debug)]
pub struct ExportDocument {
    /// Export.
    pub id: String,
    /// Format of the document.
    pub format: Format,
    /// Size in bytes.
    pub size: u64,
    /// Name of its content, which changes with it.
    pub etag: String,
    parts: Vec<PartBlob>,
    /// Permission of its reader.
    access: ChannelAccess<Member, ReadMessages>,
}

/// Exports in the background. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ExportJobService {
    store: Store,
    blobs: Blobs,
    clock: SharedClock,
    exports: ExportService,
}

impl ExportJobService {
    pub(super) const fn new(
        store: Store,
        blobs: Blobs,
        clock: SharedClock,
        exports: ExportService,
    ) -> Self {
        Self { store, blobs, clock, exports }
    }

    /// Begins an export of the messages sent until now. Any worker writes it.
    ///
    /// # Errors
    /// [`ServiceError::PseudonymousKey`] for a key that shows pseudonyms, [`ServiceError::Invalid`]
    /// for a time beyond the range of a calendar.
    #[boxed]
    pub async fn begin(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        request: ExportRequest,
    ) -> Result<ExportJob, ServiceError> {
        access.caller.sees_people()?;
        let now = self.clock.now();
        let (zone, from, before) = self.exports.range(access, request, now).await?;
        let channel = access.without_reading();
        let total = self.store.messages().count(channel, from, Some(before)).await?;
        let id = format!("{EXPORT_ID}{}", random::text(16));
        let new = NewExportJob {
            id: &id,
            channel,
            by: access.user(),
            format: request.format.extension(),
            from,
            before,
            not_before: access.not_before(),
            time_zone: zone.name(),
            language: request.language.tag(),
            total,
        };
        Ok(self.store.exports().begin_export(&new, now).await?)
    }

    /// Returns the caller's exports of a channel, newest first.
    ///
    /// # Errors
    /// [`ServiceError::PseudonymousKey`] for a key that shows pseudonyms.
    #[boxed]
    pub async fn list(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
    ) -> Result<Vec<ExportJob>, ServiceError> {
        access.caller.sees_people()?;
        let exports = self.store.exports();
        let mut exports = exports.exports_of(access.without_reading(), access.user()).await?;
        exports.retain(|export| may_read(access, export));
        Ok(exports)
    }

    /// Returns an export of the caller.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown one, also of somebody else, and for one with times
    /// that the caller may not read; [`ServiceError::PseudonymousKey`] for a key that shows
    /// pseudonyms.
    #[boxed]
    pub async fn export(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        id: &str,
    ) -> Result<ExportJob, ServiceError> {
        access.caller.sees_people()?;
        let export = self.store.exports().export(access.without_reading(), id).await?;
        export.filter(|export| may_read(access, export)).ok_or(ServiceError::NotFound)
    }

    /// Deletes an export of the caller, whatever its state.
    ///
    /// # Errors
    /// Those of [`Self::export`].
    #[boxed]
    pub async fn delete(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        id: &str,
    ) -> Result<(), ServiceError> {
        let export = self.export(access, id).await?;
        Ok(self.store.exports().delete_export(&export).await?)
    }

    /// Returns the document of a completed export of the caller.
    ///
    /// # Errors
    /// Those of [`Self::export`]; [`ServiceError::Conflict`] while it is not completed.
    #[boxed]
    pub async fn document(
        &self,
        access: &ChannelAccess<Member, ReadMessages>,
        id: &str,
    ) -> Result<ExportDocument, ServiceError> {
        let export = self.export(access, id).await?;
        let format = Format::parse(&export.format).ok_or(ServiceError::Internal)?;
        let completed = match export.status {
            JobStatus::Done => self.store.exports().export_files(&export.id).await?,
            JobStatus::Pending | JobStatus::Running | JobStatus::Failed => None,
        };
        let parts = completed.ok_or(ServiceError::Conflict("The export is not completed"))?;
        access.read(ReadAction::Export);
        let size = parts.iter().map(|part| part.bytes).sum();
        let (etag, access) = (etag(&parts), access.clone());
        Ok(ExportDocument { id: export.id, format, size, etag, parts, access })
    }

    /// Reads a document, or a range of it. The stream fails if one of its messages is changed or
    /// removed before it was read, once its reader may not read the channel any more, or when a
    /// store fails.
    pub fn read(
        &self,
        document: ExportDocument,
        range: Option<Range<u64>>,
    ) -> BoxStream<'static, Result<Bytes, DocumentError>> {
        let range = range.unwrap_or(0..document.size);
        let (service, id) = (self.clone(), Arc::<str>::from(document.id));
        let access = Arc::new(document.access);
        let pieces = stream::iter(pieces(document.parts, &range));
        let opened = pieces.then(move |(part, range)| {
            let (service, id) = (service.clone(), Arc::clone(&id));
            async move { service.open(&id, &part, range).await }
        });
        let permitted = opened.try_flatten().and_then(move |bytes| {
            let access = Arc::clone(&access);
            async move { Ok(access.still_granted().await.map(|()| bytes)?) }
        });
        permitted.boxed()
    }

    async fn open(
        &self,
        id: &str,
        part: &PartBlob,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, DocumentError>>, DocumentError> {
        let read = match self.blobs.get(&part.blob, Some(range)).await {
            Err(BlobError::NotFound(_)) => {
                warn!(export = id, part = part.part, "the file of an export is missing");
                self.store.exports().lose_export_file(id, part, self.clock.now()).await?;
                return Err(DocumentError::Changed);
            }
            read => read?,
        };
        let (service, id, part) = (self.clone(), Arc::<str>::from(id), part.clone());
        // Who reads slowly holds the file open, however long ago it was deleted.
        let checked = read.stream.map_err(DocumentError::from).and_then(move |bytes| {
            let (service, id, part) = (service.clone(), Arc::clone(&id), part.clone());
            async move { service.check(&id, &part).await.map(|()| bytes) }
        });
        Ok(checked.boxed())
    }

    /// Checks that nothing in a part was changed or removed since it was written. Its file is deleted
    /// within a minute of that, and must not be read until then.
    async fn check(&self, id: &str, part: &PartBlob) -> Result<(), DocumentError> {
        let current = self.store.exports().is_export_file(id, part).await?;
        if current { Ok(()) } else { Err(DocumentError::Changed) }
    }
}

/// Returns whether the caller may read an export: it is theirs, and of no time that their credential
/// does not cover.
fn may_read(access: &ChannelAccess<Member, ReadMessages>, export: &ExportJob) -> bool {
    let within = |limit: Timestamp| export.not_before.is_some_and(|begin| begin >= limit);
    export.created_by == *access.user() && access.not_before().is_none_or(within)
}

fn etag(parts: &[PartBlob]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.blob.as_str());
    }
    hex::encode(digest.finalize())
}

/// Returns the parts that a range of their document touches, each with the range within it.
fn pieces(parts: Vec<PartBlob>, wanted: &Range<u64>) -> Vec<(PartBlob, Range<u64>)> {
    let mut begin = 0;
    let mut pieces = Vec::new();
    for part in parts {
        let end = begin + part.bytes;
        let (from, to) = (wanted.start.max(begin), wanted.end.min(end));
        if from < to {
            pieces.push((part, from - begin..to - begin));
        }
        begin = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use chatkeep_core::blob::BlobId;

    use super::*;

    fn part(part: i64, bytes: u64) -> PartBlob {
        PartBlob { part, blob: BlobId::from_digest(&[u8::try_from(part).unwrap(); 32]), bytes }
    }

    #[test]
    fn a_range_is_read_from_the_parts_that_it_touches() {
        let parts = || vec![part(0, 10), part(1, 0), part(2, 5), part(3, 7)];
        let read = |range: Range<u64>| {
            let pieces = pieces(parts(), &range).into_iter();
            pieces.map(|(part, range)| (part.part, range)).collect::<Vec<_>>()
        };
        assert_eq!(read(0..22), [(0, 0..10), (2, 0..5), (3, 0..7)]);
        assert_eq!(read(9..11), [(0, 9..10), (2, 0..1)]);
        assert_eq!(read(10..15), [(2, 0..5)]);
        assert_eq!(read(21..22), [(3, 6..7)]);
        assert!(read(0..0).is_empty());
        assert_ne!(etag(&parts()), etag(&parts()[..3]), "another document has another name");
    }
}
