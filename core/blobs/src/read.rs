//! Reading a blob, whole or a range of it, as a stream.

use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::blob::BlobId;
use chatkeep_core::outage::Work;
use futures_util::stream::{BoxStream, try_unfold};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{Error as Backend, GetOptions, GetRange, GetResultPayload, ObjectStore as _};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::{BlobError, Blobs, note_failure};

/// Size of one read from a file, in bytes.
const PIECE: usize = 128 * 1024;

/// A blob that is being read.
pub struct BlobRead {
    /// Size of the whole blob in bytes.
    pub size: u64,
    /// Requested bytes, in order.
    pub stream: BoxStream<'static, Result<Bytes, BlobError>>,
}

impl std::fmt::Debug for BlobRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobRead").field("size", &self.size).finish_non_exhaustive()
    }
}

impl Blobs {
    /// Reads a blob, or a byte range of it. In a folder, a blob that is deleted meanwhile stays
    /// readable to the end.
    ///
    /// # Errors
    /// [`BlobError::NotFound`], [`BlobError::Range`] if the range is empty or not inside the blob,
    /// or if the media store fails; the stream fails if it does so later.
    #[boxed]
    pub async fn get(&self, id: &BlobId, range: Option<Range<u64>>) -> Result<BlobRead, BlobError> {
        let found = async {
            self.admitted()?;
            self.open_blob(id, range).await
        };
        let found = self.noted(Work::Reading, found.await)?;
        let availability = self.availability.clone();
        let stream = found.stream.inspect_err(move |error| note_failure(&availability, error));
        Ok(BlobRead { size: found.size, stream: stream.boxed() })
    }

    async fn open_blob(
        &self,
        id: &BlobId,
        range: Option<Range<u64>>,
    ) -> Result<BlobRead, BlobError> {
        if range.as_ref().is_some_and(Range::is_empty) {
            return Err(BlobError::Range);
        }
        let asked = range.clone().map(GetRange::Bounded);
        let options = GetOptions { range: asked, ..GetOptions::default() };
        let found = match self.store.get_opts(&self.key(id), options).await {
            Ok(found) => found,
            Err(Backend::NotFound { .. }) => return Err(BlobError::NotFound(id.clone())),
            // A range beyond the end: each adapter has its own error for it.
            Err(error) => return Err(self.range_error(id, range, error).await),
        };
        if range.is_some_and(|range| range != found.range) {
            return Err(BlobError::Range);
        }
        let (size, range) = (found.meta.size, found.range.clone());
        let stream = match found.payload {
            GetResultPayload::File(file, _) => file_stream(file, range).boxed(),
            GetResultPayload::Stream(stream) => stream.map_err(BlobError::Backend).boxed(),
        };
        Ok(BlobRead { size, stream })
    }

    async fn range_error(
        &self,
        id: &BlobId,
        range: Option<Range<u64>>,
        error: Backend,
    ) -> BlobError {
        match (range, self.size(id).await) {
            (Some(range), Ok(Some(size))) if range.end > size => BlobError::Range,
            _ => BlobError::Backend(error),
        }
    }
}

/// Reads a file in large pieces; the adapter's own stream reads 8 KiB at a time, each in a task.
fn file_stream(
    file: File,
    range: Range<u64>,
) -> impl futures_util::Stream<Item = Result<Bytes, BlobError>> + Send {
    let left = range.end - range.start;
    let state = (tokio::fs::File::from_std(file), Some(range.start), left);
    try_unfold(state, async move |(mut file, seek, left)| {
        if let Some(start) = seek {
            file.set_max_buf_size(PIECE);
            file.seek(SeekFrom::Start(start)).await?;
        }
        let wanted = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        if wanted == 0 {
            return Ok(None);
        }
        let mut piece = vec![0; wanted];
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Err(BlobError::Io(std::io::ErrorKind::UnexpectedEof.into()));
        }
        piece.truncate(read);
        Ok(Some((Bytes::from(piece), (file, None, left - read as u64))))
    })
}
