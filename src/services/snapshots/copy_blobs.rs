//! Copying of the files of messages into the archive, those that are not there yet.

use bytes::Bytes;
use chatkeep_blobs::{ArchiveError, BlobError, Blobs, BoxError, ObjectDigest};
use chatkeep_core::blob::BlobId;
use chatkeep_store::Store;
use futures_util::stream::{self, try_unfold};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncWriteExt as _, BufWriter};
use tracing::warn;

use super::SnapshotError;
use super::create::Making;
use super::files::NotedObject;
use super::layout::{PartName, blob_object};
use super::manifest::{ListedBlob, SnapshotManifest, StoredBlob};
use super::stored::BlobListReader;

/// Number of references to files read at once.
const PAGE: u32 = 1_000;
/// Concurrent copies of files.
const COPIES: usize = 4;

impl Making<'_> {
    /// Copies the files that messages refer to, those that the last snapshot has not, and stores
    /// their list.
    pub(super) async fn blobs(
        &mut self,
        store: &Store,
        blobs: &Blobs,
    ) -> Result<(), SnapshotError> {
        let mut earlier = self.earlier().await?;
        self.objects = self.service.stored_objects().await?;
        let path = self.work.file(PartName::Blobs.file());
        let mut list = BufWriter::new(tokio::fs::File::create_new(&path).await?);
        let mut after = None;
        loop {
            let page = store.media().referenced_blobs(after.as_ref(), PAGE).await?;
            let Some(end) = page.last() else { break };
            after = Some(end.clone());
            let mut known = Vec::with_capacity(page.len());
            for blob in page {
                let stored = match &mut earlier {
                    Some(earlier) => earlier.find(blob.as_str()).await?,
                    None => None,
                };
                known.push((blob, stored.and_then(|entry| entry.stored)));
            }
            let copies = known.into_iter().map(|(blob, known)| self.copy(blobs, blob, known));
            let entries: Vec<ListedBlob> =
                stream::iter(copies).buffered(COPIES).try_collect().await?;
            for entry in entries {
                self.count(&entry);
                let mut line = serde_json::to_vec(&entry)?;
                line.push(b'\n');
                list.write_all(&line).await?;
            }
        }
        list.flush().await?;
        self.add(PartName::Blobs, &path).await
    }

    /// Opens the list of the last snapshot with files that the same identities decrypt, and whose
    /// list is whole.
    async fn earlier(&self) -> Result<Option<BlobListReader>, SnapshotError> {
        let manifests = self.service.manifests().await?;
        let fits = |earlier: &&SnapshotManifest| {
            earlier.part(PartName::Blobs).is_some()
                && earlier.recipients == self.manifest.recipients
        };
        for earlier in manifests.iter().rev().filter(fits) {
            match self.service.blob_list(earlier, self.work).await {
                Err(error) if error.is_about_one() => {
                    warn!(%error, "the list of an earlier snapshot is ignored");
                }
                list => return list,
            }
        }
        Ok(None)
    }

    fn count(&mut self, entry: &ListedBlob) {
        match &entry.stored {
            Some(stored) => {
                self.manifest.files += 1;
                self.manifest.file_bytes += stored.bytes;
            }
            None => self.manifest.files_gone += 1,
        }
    }

    /// Returns true if a file is stored as it was noted: it is there with its size, and where a
    /// check has found something else, it is read again, for it may have been mended since.
    async fn is_whole(&self, stored: &StoredBlob) -> Result<bool, SnapshotError> {
        if !self.objects.has(&stored.object, stored.bytes) {
            return Ok(false);
        }
        if !self.objects.is_noted(&stored.object) {
            return Ok(true);
        }
        let noted = NotedObject::from(stored);
        match self.manifest.fetch(&self.service.archive, noted, None).await {
            Err(error) if error.is_about_one() => Ok(false),
            read => {
                read?;
                self.service.forget_damage(&stored.object).await?;
                Ok(true)
            }
        }
    }

    /// Copies a file, unless it is stored already.
    async fn copy(
        &self,
        blobs: &Blobs,
        blob: BlobId,
        known: Option<StoredBlob>,
    ) -> Result<ListedBlob, SnapshotError> {
        let name = blob.as_str().to_owned();
        if let Some(known) = known
            && self.is_whole(&known).await?
        {
            return Ok(ListedBlob { blob: name, stored: Some(known) });
        }
        let content = match blobs.get(&blob, None).await {
            // Its message was erased since the database was copied.
            Err(BlobError::NotFound(_)) => return Ok(ListedBlob { blob: name, stored: None }),
            content => content?,
        };
        let encrypt = self.service.recipients.encrypt();
        let object = blob_object(&name, encrypt);
        // Of an earlier snapshot, or of one that was never finished: objects are whole.
        let stored =
            StoredBlob { object: object.clone(), bytes: content.size, sha256: name.clone() };
        if !encrypt && self.is_whole(&stored).await? {
            return Ok(ListedBlob { blob: name, stored: Some(stored) });
        }
        self.service.check_room_to_store(stored.bytes).await?;
        let sealed = self.service.recipients.seal(checked(content.stream, name.clone()))?;
        let ObjectDigest { sha256, bytes } =
            match self.service.archive.put_stream(&object, sealed).await {
                Err(ArchiveError::Source(source)) if source.is::<OtherContent>() => {
                    warn!(blob = name, "a media file is damaged and is not in the snapshot");
                    return Ok(ListedBlob { blob: name, stored: None });
                }
                put => put?,
            };
        if self.objects.is_noted(&object) {
            self.service.forget_damage(&object).await?;
        }
        Ok(ListedBlob { blob: name, stored: Some(StoredBlob { object, bytes, sha256 }) })
    }
}

/// Content of a file that does not have the hash of its name.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the content of the file has another hash")]
struct OtherContent;

/// Passes a content on, and ends with [`OtherContent`] where its hash is not its name: nothing
/// appears in the archive then, nor does it replace what is there.
fn checked<S>(content: S, name: String) -> impl Stream<Item = Result<Bytes, BoxError>> + Send
where
    S: Stream<Item = Result<Bytes, BlobError>> + Send + Unpin + 'static,
{
    try_unfold((content, Sha256::new()), move |(mut content, mut hash)| {
        let name = name.clone();
        async move {
            if let Some(piece) = content.try_next().await? {
                hash.update(&piece);
                return Ok(Some((piece, (content, hash))));
            }
            if hex::encode(hash.finalize()) == name { Ok(None) } else { Err(OtherContent.into()) }
        }
    })
}
