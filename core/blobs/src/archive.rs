//! Archive: named objects in a folder or a bucket, for snapshots. An object appears under its name
//! only when it is whole, and survives a power cut from then on.

use std::fs;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path as FilePath, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::time::Timestamp;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{Error as Backend, ObjectStore, ObjectStoreExt as _};
use percent_encoding::percent_decode_str;

use super::access_key::AccessKey;
use super::multipart::{BUCKET_PART, MultipartWriter};
use super::open::{blocking, bucket_store, folder_store};
use super::{BlobError, BoxError};

/// Error of an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The folder or object store failed or cannot be reached.
    #[error("the folder or bucket of the snapshots failed")]
    Backend(#[source] Backend),
    /// The folder failed.
    #[error("the folder of the snapshots failed")]
    Io(#[from] io::Error),
    /// The folder of an existing archive is not there.
    #[error("there is no folder {0}")]
    Missing(String),
    /// The settings do not fit together, or the folder cannot be worked with.
    #[error(transparent)]
    Open(#[from] BlobError),
    /// The source of an object failed.
    #[error("what is to be stored cannot be read")]
    Source(#[source] BoxError),
}

/// Digest and size of a stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDigest {
    /// SHA-256 of the content in lower-case hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedObject {
    /// Name, without the archive's own prefix.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Archive. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Archive {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Root of an archive that is a folder.
    folder: Option<Arc<PathBuf>>,
    place: String,
    /// Access key of an archive that is a bucket; `None` for that of the machine's role.
    key: Option<Arc<AccessKey>>,
}

impl Archive {
    /// Opens an archive. Creates a folder if it does not exist; an object store is not called yet.
    ///
    /// # Errors
    /// Fails when the folder cannot be created, or the settings do not fit together.
    pub fn open(kind: &BlobsKind, s3: &S3Config) -> Result<Self, ArchiveError> {
        let place = kind.to_string();
        match kind {
            BlobsKind::Folder(folder) => {
                let (root, store) = folder_store(folder)?;
                let (store, folder) = (Arc::new(store), Some(Arc::new(root)));
                Ok(Self { store, prefix: Path::default(), folder, place, key: None })
            }
            BlobsKind::S3 { bucket, prefix } => {
                let key = AccessKey::of(s3)?.map(Arc::new);
                let store = Arc::new(bucket_store(bucket, s3, key.clone())?);
                Ok(Self { store, prefix: Path::from(prefix.as_str()), folder: None, place, key })
            }
        }
    }

    /// Opens an archive as [`Archive::open`] does, without creating a folder.
    ///
    /// # Errors
    /// [`ArchiveError::Missing`], or when the settings do not fit together.
    pub fn open_existing(kind: &BlobsKind, s3: &S3Config) -> Result<Self, ArchiveError> {
        match kind {
            BlobsKind::Folder(folder) if !folder.is_dir() => {
                Err(ArchiveError::Missing(folder.display().to_string()))
            }
            kind => Self::open(kind, s3),
        }
    }

    /// Makes further calls of an object store with the access key of these settings. Does nothing
    /// for a folder, and where the machine's role is used.
    ///
    /// # Errors
    /// [`BlobError::HalfAKey`]; the present key stays.
    pub fn replace_access_key(&self, s3: &S3Config) -> Result<(), BlobError> {
        self.key.as_ref().map_or(Ok(()), |key| key.replace(s3))
    }

    /// Root of an archive that is a folder.
    pub fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref().map(PathBuf::as_path)
    }

    /// Location of the archive, as in the settings.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Stores an object of known content, in place of an earlier one of the same name.
    ///
    /// # Errors
    /// Fails when the folder or object store fails.
    #[boxed]
    pub async fn put(&self, name: &str, content: Bytes) -> Result<(), ArchiveError> {
        let done = self.store.put(&self.key(name), content.into()).await;
        done.map(drop).map_err(ArchiveError::Backend)
    }

    /// Stores the content of a stream with bounded memory, in place of an earlier object of the
    /// same name.
    ///
    /// # Errors
    /// Fails when the stream, the folder or the object store fails; nothing appears under the name
    /// then.
    pub async fn put_stream<S, E>(
        &self,
        name: &str,
        content: S,
    ) -> Result<ObjectDigest, ArchiveError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<BoxError>,
    {
        let key = self.key(name);
        let writer = MultipartWriter::new(&self.store, key.clone(), BUCKET_PART);
        let mut writer = writer.holding_back();
        let stored = self.write(&mut writer, &key, content).await;
        if let Some(begun) = writer.take_begun() {
            // A failure is left to the sweep, and to the rules of the bucket.
            drop(begun.abort().await);
        }
        stored
    }

    async fn write<S, E>(
        &self,
        writer: &mut MultipartWriter,
        key: &Path,
        content: S,
    ) -> Result<ObjectDigest, ArchiveError>
    where
        S: Stream<Item = Result<Bytes, E>>,
        E: Into<BoxError>,
    {
        let mut content = pin!(content);
        while let Some(piece) = content.next().await {
            let piece = piece.map_err(|error| ArchiveError::Source(error.into()))?;
            writer.write(&piece).await.map_err(ArchiveError::Backend)?;
        }
        let written = writer.finish().await.map_err(ArchiveError::Backend)?;
        if let Some(whole) = written.held {
            self.store.put(key, whole.into()).await.map_err(ArchiveError::Backend)?;
        }
        Ok(ObjectDigest { sha256: hex::encode(written.sha256), bytes: written.bytes })
    }

    /// Reads an object as a stream; `None` if there is none of that name.
    ///
    /// # Errors
    /// Fails when the folder or object store fails; the stream fails if it does so later.
    #[boxed]
    pub async fn get(
        &self,
        name: &str,
    ) -> Result<Option<BoxStream<'static, Result<Bytes, ArchiveError>>>, ArchiveError> {
        match self.store.get(&self.key(name)).await {
            Ok(found) => Ok(Some(found.into_stream().map_err(ArchiveError::Backend).boxed())),
            Err(Backend::NotFound { .. }) => Ok(None),
            Err(error) => Err(ArchiveError::Backend(error)),
        }
    }

    /// Reads a small object whole; `None` if there is none of that name.
    ///
    /// # Errors
    /// Fails when the folder or object store fails.
    #[boxed]
    pub async fn read(&self, name: &str) -> Result<Option<Bytes>, ArchiveError> {
        let found = match self.store.get(&self.key(name)).await {
            Err(Backend::NotFound { .. }) => return Ok(None),
            found => found.map_err(ArchiveError::Backend)?,
        };
        found.bytes().await.map(Some).map_err(ArchiveError::Backend)
    }

    /// Returns the size of an object in bytes; `None` if there is none of that name.
    ///
    /// # Errors
    /// Fails when the folder or object store fails.
    #[boxed]
    pub async fn size(&self, name: &str) -> Result<Option<u64>, ArchiveError> {
        match self.store.head(&self.key(name)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Backend::NotFound { .. }) => Ok(None),
            Err(error) => Err(ArchiveError::Backend(error)),
        }
    }

    /// Returns the time at which an object was last written, by the clock of whoever stores it;
    /// `None` if there is none of that name.
    ///
    /// # Errors
    /// Fails when the folder or object store fails.
    #[boxed]
    pub async fn written_at(&self, name: &str) -> Result<Option<Timestamp>, ArchiveError> {
        match self.store.head(&self.key(name)).await {
            Ok(found) => Ok(Some(Timestamp::from_millis(found.last_modified.timestamp_millis()))),
            Err(Backend::NotFound { .. }) => Ok(None),
            Err(error) => Err(ArchiveError::Backend(error)),
        }
    }

    /// Lists the objects below a folder of the archive, in no order.
    pub fn list(&self, folder: &str) -> BoxStream<'static, Result<ArchivedObject, ArchiveError>> {
        let (prefix, below) = (self.prefix.clone(), self.key(folder));
        let named = move |meta: object_store::ObjectMeta| {
            let parts = meta.location.prefix_match(&prefix)?;
            // Keys have escapes in place of some characters: a name with them would be escaped
            // once more.
            let plain = parts
                .map(|part| percent_decode_str(part.as_ref()).decode_utf8_lossy().into_owned());
            let name = plain.collect::<Vec<_>>().join("/");
            Some(ArchivedObject { name, bytes: meta.size })
        };
        let all = self.store.list(Some(&below)).map_err(ArchiveError::Backend);
        all.try_filter_map(move |meta| std::future::ready(Ok(named(meta)))).boxed()
    }

    /// Deletes an object; does nothing if it is already gone.
    ///
    /// # Errors
    /// Fails when the folder or object store fails.
    #[boxed]
    pub async fn delete(&self, name: &str) -> Result<(), ArchiveError> {
        match self.store.delete(&self.key(name)).await {
            Ok(()) | Err(Backend::NotFound { .. }) => Ok(()),
            Err(error) => Err(ArchiveError::Backend(error)),
        }
    }

    /// Removes what uploads of processes that died left below some folders of an archive that is a
    /// folder, and empty folders. Unfinished uploads to a bucket are for its own lifecycle rules.
    /// Nobody else may write there meanwhile.
    ///
    /// # Errors
    /// Fails when the folder fails.
    #[boxed]
    pub async fn sweep(&self, folders: &[&str]) -> Result<(), ArchiveError> {
        let Some(root) = &self.folder else { return Ok(()) };
        for folder in folders.iter().map(|name| root.join(name)) {
            if folder.try_exists()? {
                blocking(move || sweep(&folder).map(drop)).await?;
            }
        }
        Ok(())
    }

    /// Returns the key of an object or of a folder; the empty name is the archive itself.
    fn key(&self, name: &str) -> Path {
        name.split_terminator('/').fold(self.prefix.clone(), Path::join)
    }
}

/// Removes the unfinished files below a folder, which the adapter names `<name>#<number>`, and the
/// folders that are empty then. Breaks when the folder itself has files.
fn sweep(folder: &FilePath) -> io::Result<ControlFlow<()>> {
    let mut used = ControlFlow::Continue(());
    for entry in fs::read_dir(folder)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let removed = if entry.is_dir() {
            sweep(&entry)?.is_continue() && fs::remove_dir(&entry).is_ok()
        } else if name.to_string_lossy().contains('#') {
            match fs::remove_file(&entry) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => true,
            }
        } else {
            false
        };
        if !removed {
            used = ControlFlow::Break(());
        }
    }
    Ok(used)
}
