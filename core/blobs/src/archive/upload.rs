//! Upload of one object of an archive, with bounded memory.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, WriteMultipart};
use sha2::{Digest as _, Sha256};

use super::{ArchiveError, ObjectDigest};
use crate::BoxError;

/// Size of one part of an upload in bytes. An object that fits into one part is put in one call.
const PART: usize = 8 * 1024 * 1024;
/// Concurrent parts of an upload. With the one being filled they are all the memory it takes.
const IN_FLIGHT: usize = 2;

/// Upload of one object. Parts are sent once there is more than one.
pub(super) struct ArchiveUpload<'a> {
    store: &'a Arc<dyn ObjectStore>,
    key: Path,
    writer: Option<WriteMultipart>,
}

impl<'a> ArchiveUpload<'a> {
    pub(super) const fn new(store: &'a Arc<dyn ObjectStore>, key: Path) -> Self {
        Self { store, key, writer: None }
    }

    /// Stores the content of a stream.
    pub(super) async fn take<S, E>(&mut self, content: S) -> Result<ObjectDigest, ArchiveError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<BoxError>,
    {
        let mut content = pin!(content);
        let (mut hash, mut bytes, mut first) = (Sha256::new(), 0, Vec::new());
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(|error| ArchiveError::Source(error.into()))?;
            bytes += piece.len() as u64;
            hash.update(&piece);
            if self.writer.is_none() && first.len() + piece.len() <= PART {
                first.extend_from_slice(&piece);
                continue;
            }
            self.send(&std::mem::take(&mut first)).await?;
            self.send(&piece).await?;
        }
        if let Some(writer) = self.writer.take() {
            writer.finish().await.map_err(ArchiveError::Backend)?;
        } else {
            let done = self.store.put(&self.key, first.into()).await;
            done.map_err(ArchiveError::Backend)?;
        }
        Ok(ObjectDigest { sha256: hex::encode(hash.finalize()), bytes })
    }

    async fn send(&mut self, piece: &[u8]) -> Result<(), ArchiveError> {
        if self.writer.is_none() {
            let begun = self.store.put_multipart(&self.key).await;
            let begun = begun.map_err(ArchiveError::Backend)?;
            self.writer = Some(WriteMultipart::new_with_chunk_size(begun, PART));
        }
        if let Some(writer) = &mut self.writer {
            for piece in piece.chunks(PART) {
                writer.wait_for_capacity(IN_FLIGHT).await.map_err(ArchiveError::Backend)?;
                writer.write(piece);
            }
        }
        Ok(())
    }

    /// Gives the parts up. Leaves failures to the sweep, and to the rules of the bucket.
    pub(super) async fn abort(&mut self) {
        if let Some(writer) = self.writer.take() {
            drop(writer.abort().await);
        }
    }
}
