//! Storing a blob: hashed while it is written under a temporary name, and made visible under its
//! own name only when it is complete, durable and claimed.

use std::future::Future;
use std::mem;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_core::blob::BlobId;
use chatkeep_core::outage::Work;
use chatkeep_core::panics;
use chatkeep_core::random::random_name;
use futures_util::{Stream, StreamExt as _};
use object_store::path::Path;
use object_store::{Error as Backend, ObjectStore, ObjectStoreExt as _};

use super::multipart::{BUCKET_PART, MultipartWriter, WrittenContent};
use super::{BlobBackend, BlobError, Blobs, BoxError, TEMPORARIES};

/// Maximum length of [`Stored::head`] in bytes, for detecting the file type.
const HEAD: usize = 4096;
/// Size of one write to a file, in bytes.
const FILE_PART: usize = 1024 * 1024;

/// A blob that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Name of the blob.
    pub id: BlobId,
    /// Size in bytes.
    pub bytes: u64,
    /// First bytes of the blob, at most 4096.
    pub head: Bytes,
}

impl Blobs {
    /// Stores the content of `stream`, at most `max_bytes`, with bounded memory. As soon as its
    /// name is known, and before it is visible under it, `claim` is called with it: it has to
    /// register the claim in the store (`MediaStore::claim_blob`), so that nobody
    /// deletes the blob before a message refers to it; its result is returned as well. When this
    /// returns, the blob survives a power cut.
    ///
    /// # Errors
    /// Fails when the stream fails or is too long, when the claim or the media store fails. Nothing
    /// is left behind then but, at most, a claimed blob, which the orphan sweep of the store
    /// removes.
    pub async fn put<S, E, C, F, T>(
        &self,
        stream: S,
        max_bytes: u64,
        claim: C,
    ) -> Result<(Stored, T), BlobError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<BoxError>,
        C: FnOnce(BlobId) -> F,
        F: Future<Output = Result<T, BoxError>>,
    {
        if let Err(error) = self.admitted().and(self.check_folder().await) {
            return self.noted(Work::Writing, Err(error));
        }
        let mut upload = self.upload();
        let taken = self.take(&mut upload, stream, max_bytes, claim).await;
        match self.noted(Work::Writing, taken) {
            Ok(stored) => Ok(stored),
            Err(error) => {
                upload.discard().await;
                Err(error)
            }
        }
    }

    async fn take<S, E, C, F, T>(
        &self,
        upload: &mut Upload,
        stream: S,
        max_bytes: u64,
        claim: C,
    ) -> Result<(Stored, T), BlobError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<BoxError>,
        C: FnOnce(BlobId) -> F,
        F: Future<Output = Result<T, BoxError>>,
    {
        let mut stream = pin!(stream);
        let mut head = Vec::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| BlobError::Source(error.into()))?;
            if upload.writer.bytes() + chunk.len() as u64 > max_bytes {
                return Err(BlobError::TooLarge { max: max_bytes });
            }
            head.extend_from_slice(&chunk[..chunk.len().min(HEAD - head.len())]);
            upload.writer.write(&chunk).await.map_err(BlobError::Backend)?;
        }
        let written = upload.finish().await.map_err(BlobError::Backend)?;
        let (id, bytes) = (BlobId::from_digest(&written.sha256), written.bytes);
        let claim = claim(id.clone()).await.map_err(BlobError::Claim)?;
        self.publish(upload, &id, written).await?;
        // A disk that was unmounted meanwhile does not have it.
        self.check_folder().await?;
        Ok((Stored { id, bytes, head: head.into() }, claim))
    }

    fn upload(&self) -> Upload {
        let temporary = self.prefix().join(TEMPORARIES).join(random_name());
        let writer = |part| MultipartWriter::new(&self.store, temporary.clone(), part);
        let writer = match &self.place {
            BlobBackend::Folder(_) => writer(FILE_PART),
            BlobBackend::Bucket(_) => writer(BUCKET_PART).holding_back(),
        };
        Upload { store: Arc::clone(&self.store), temporary, writer, is_written: false }
    }

    /// Makes an upload visible under its name.
    async fn publish(
        &self,
        upload: &mut Upload,
        id: &BlobId,
        written: WrittenContent,
    ) -> Result<(), BlobError> {
        // In a folder the same content replaces itself: what another upload has just written may
        // not be flushed yet, what this one writes is.
        let bucket = matches!(self.place, BlobBackend::Bucket(_));
        if bucket && self.size(id).await? == Some(written.bytes) {
            upload.discard().await;
            return Ok(());
        }
        let key = self.key(id);
        if let Some(whole) = written.held {
            self.store.put(&key, whole.into()).await.map_err(BlobError::Backend)?;
        } else {
            self.store.rename(&upload.temporary, &key).await.map_err(BlobError::Backend)?;
        }
        upload.is_written = false;
        Ok(())
    }
}

/// An upload. Dropped before it is published, as when the process stops, it removes its file.
struct Upload {
    store: Arc<dyn ObjectStore>,
    temporary: Path,
    writer: MultipartWriter,
    /// `true` while it is complete under its temporary name.
    is_written: bool,
}

impl Upload {
    async fn finish(&mut self) -> Result<WrittenContent, Backend> {
        let written = self.writer.finish().await?;
        self.is_written = written.held.is_none();
        Ok(written)
    }

    /// Removes the temporary file.
    async fn discard(&mut self) {
        if let Some(removal) = self.removal() {
            removal.await;
        }
    }

    /// Returns the removal of the temporary file, if there is one. It leaves failures to the orphan
    /// sweep.
    fn removal(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let (begun, is_written) = (self.writer.take_begun(), mem::take(&mut self.is_written));
        if begun.is_none() && !is_written {
            return None;
        }
        let (store, temporary) = (Arc::clone(&self.store), self.temporary.clone());
        Some(async move {
            if let Some(begun) = begun {
                drop(begun.abort().await);
            }
            if is_written {
                drop(store.delete(&temporary).await);
            }
        })
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && let Some(removal) = self.removal()
        {
            panics::spawn_on(&runtime, "upload_removal", removal);
        }
    }
}
