//! Writing of one object, piece by piece, with bounded memory.

use std::mem;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{Error as Backend, ObjectStore, ObjectStoreExt as _, WriteMultipart};
use sha2::{Digest as _, Sha256};

/// Size of one part of an upload to an object store, in bytes: at least 5 MiB by S3's rules, with
/// at most 10,000 parts.
pub(super) const BUCKET_PART: usize = 8 * 1024 * 1024;
/// Concurrent parts of an upload. With the one being filled they are all the memory it takes.
const IN_FLIGHT: usize = 2;

/// Writer of one object. It is to be finished or aborted.
pub(super) struct MultipartWriter {
    store: Arc<dyn ObjectStore>,
    key: Path,
    part: usize,
    /// Everything so far, while it is held back.
    held: Option<Vec<u8>>,
    begun: Option<WriteMultipart>,
    hash: Sha256,
    bytes: u64,
}

/// Content that a writer was given.
pub(super) struct WrittenContent {
    pub(super) sha256: [u8; 32],
    /// Size in bytes.
    pub(super) bytes: u64,
    /// All of it, if it was held back: then nothing is written.
    pub(super) held: Option<Vec<u8>>,
}

impl MultipartWriter {
    /// Creates a writer that writes in parts of that size.
    pub(super) fn new(store: &Arc<dyn ObjectStore>, key: Path, part: usize) -> Self {
        let (store, hash) = (Arc::clone(store), Sha256::new());
        Self { store, key, part, held: None, begun: None, hash, bytes: 0 }
    }

    /// Holds content back as long as it fits into one part, for the caller to put it in one call.
    pub(super) fn holding_back(self) -> Self {
        Self { held: Some(Vec::new()), ..self }
    }

    /// Number of bytes so far.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the next piece.
    pub(super) async fn write(&mut self, piece: &[u8]) -> Result<(), Backend> {
        self.hash.update(piece);
        self.bytes += piece.len() as u64;
        if let Some(mut held) = self.held.take() {
            if held.len() + piece.len() <= self.part {
                held.extend_from_slice(piece);
                self.held = Some(held);
                return Ok(());
            }
            self.send(&held).await?;
        }
        self.send(piece).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Backend> {
        let writer = match &mut self.begun {
            Some(writer) => writer,
            none => {
                let begun = self.store.put_multipart(&self.key).await?;
                none.insert(WriteMultipart::new_with_chunk_size(begun, self.part))
            }
        };
        for piece in bytes.chunks(self.part) {
            writer.wait_for_capacity(IN_FLIGHT).await?;
            writer.write(piece);
        }
        Ok(())
    }

    /// Completes the object, unless all of it was held back.
    pub(super) async fn finish(&mut self) -> Result<WrittenContent, Backend> {
        let held = self.held.take();
        if held.is_none() {
            // Begins an empty object.
            self.send(&[]).await?;
        }
        if let Some(writer) = self.begun.take() {
            writer.finish().await?;
        }
        let sha256 = mem::take(&mut self.hash).finalize().into();
        Ok(WrittenContent { sha256, bytes: self.bytes, held })
    }

    /// Takes what was begun of the object, to abort it.
    pub(super) const fn take_begun(&mut self) -> Option<WriteMultipart> {
        self.begun.take()
    }
}
