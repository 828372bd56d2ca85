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
use object_store::{ObjectStore, ObjectStoreExt as _, WriteMultipart};
use sha2::{Digest as _, Sha256};

use super::{BlobBackend, BlobError, Blobs, BoxError, TEMPORARIES};

/// Maximum length of [`Stored::head`] in bytes, for detecting the file type.
const HEAD: usize = 4096;
/// Size of one part of an upload to an object store, in bytes: at least 5 MiB by S3's rules, with
/// at most 10,000 parts. An upload that fits into one part goes there in one call.
const BUCKET_PART: usize = 8 * 1024 * 1024;
/// Size of one write to a file, in bytes.
const FILE_PART: usize = 1024 * 1024;
/// Concurrent parts of an upload. With the one being filled they are all the memory it takes.
const IN_FLIGHT: usize = 2;

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
        if let Err(error) = self.admitted() {
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
        let (mut hash, mut bytes, mut head) = (Sha256::new(), 0_u64, Vec::new());
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| BlobError::Source(error.into()))?;
            bytes += chunk.len() as u64;
            if bytes > max_bytes {
                return Err(BlobError::TooLarge { max: max_bytes });
            }
            hash.update(&chunk);
            head.extend_from_slice(&chunk[..chunk.len().min(HEAD - head.len())]);
            upload.write(&chunk).await?;
        }
        upload.complete().await?;
        let id = BlobId::from_digest(&hash.finalize().into());
        let claim = claim(id.clone()).await.map_err(BlobError::Claim)?;
        self.publish(upload, &id, bytes).await?;
        Ok((Stored { id, bytes, head: head.into() }, claim))
    }

    fn upload(&self) -> Upload {
        let (part, state) = match &self.place {
            BlobBackend::Folder(_) => (FILE_PART, State::New),
            BlobBackend::Bucket(_) => (BUCKET_PART, State::Buffer(Vec::new())),
        };
        let temporary = self.prefix().join(TEMPORARIES).join(random_name());
        Upload { store: Arc::clone(&self.store), temporary, part, state }
    }

    /// Makes an upload visible under its name.
    async fn publish(&self, upload: &mut Upload, id: &BlobId, bytes: u64) -> Result<(), BlobError> {
        // In a folder the same content replaces itself: what another upload has just written may
        // not be flushed yet, what this one writes is.
        let bucket = matches!(self.place, BlobBackend::Bucket(_));
        if bucket && self.size(id).await? == Some(bytes) {
            upload.discard().await;
            return Ok(());
        }
        let key = self.key(id);
        if let State::Buffer(whole) = &mut upload.state {
            let whole = mem::take(whole);
            self.store.put(&key, whole.into()).await.map_err(BlobError::Backend)?;
        } else {
            self.store.rename(&upload.temporary, &key).await.map_err(BlobError::Backend)?;
        }
        upload.state = State::Done;
        Ok(())
    }
}

/// An upload. Dropped before it is finished, as when the process stops, it removes its file.
struct Upload {
    store: Arc<dyn ObjectStore>,
    temporary: Path,
    part: usize,
    state: State,
}

enum State {
    /// Nothing is written yet; the first byte goes to the temporary name.
    New,
    /// Everything so far, while it is less than a part.
    Buffer(Vec<u8>),
    Writing(WriteMultipart),
    /// Complete under its temporary name.
    Written,
    Done,
}

impl Upload {
    async fn write(&mut self, chunk: &[u8]) -> Result<(), BlobError> {
        if let State::Buffer(buffer) = &mut self.state {
            if buffer.len() + chunk.len() < self.part {
                buffer.extend_from_slice(chunk);
                return Ok(());
            }
            let buffer = mem::take(buffer);
            self.send(&buffer).await?;
        }
        self.send(chunk).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let part = self.part;
        let writer = self.writer().await?;
        for piece in bytes.chunks(part) {
            writer.wait_for_capacity(IN_FLIGHT).await.map_err(BlobError::Backend)?;
            writer.write(piece);
        }
        Ok(())
    }

    async fn writer(&mut self) -> Result<&mut WriteMultipart, BlobError> {
        if !matches!(self.state, State::Writing(_)) {
            let begun = self.store.put_multipart(&self.temporary).await;
            let begun = begun.map_err(BlobError::Backend)?;
            self.state = State::Writing(WriteMultipart::new_with_chunk_size(begun, self.part));
        }
        match &mut self.state {
            State::Writing(writer) => Ok(writer),
            _ => unreachable!("it was set above"),
        }
    }

    async fn complete(&mut self) -> Result<(), BlobError> {
        if matches!(self.state, State::New) {
            self.writer().await?;
        }
        self.state = match mem::replace(&mut self.state, State::Done) {
            State::Writing(writer) => {
                writer.finish().await.map_err(BlobError::Backend)?;
                State::Written
            }
            state => state,
        };
        Ok(())
    }

    /// Removes the temporary file. Leaves failures to the orphan sweep.
    async fn discard(&mut self) {
        match mem::replace(&mut self.state, State::Done) {
            State::Writing(writer) => drop(writer.abort().await),
            State::Written => drop(self.store.delete(&self.temporary).await),
            State::New | State::Buffer(_) | State::Done => {}
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let (Ok(runtime), State::Writing(_) | State::Written) =
            (tokio::runtime::Handle::try_current(), &self.state)
        else {
            return;
        };
        let mut left = Self {
            store: Arc::clone(&self.store),
            temporary: self.temporary.clone(),
            part: self.part,
            state: mem::replace(&mut self.state, State::Done),
        };
        panics::spawn_on(&runtime, "upload_removal", async move { left.discard().await });
    }
}
