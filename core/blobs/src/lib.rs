//! The blobs port: media files by their content, in a folder or in an object store (S3).
//!
//! A blob's name is the SHA-256 of its bytes, so the same file sent a thousand times is stored
//! once, and a stored blob never changes. Blobs lie at `ab/cd/<sha256>`; unfinished uploads lie
//! under `tmp/` until their name is known ([`Blobs::put`]).
//!
//! Deletion is decided by the store, in its `media` module, which also explains why no
//! message can end up with a deleted file; this port only carries it out.
//!
//! [`Archive`] is the place of snapshots: objects by name, in the same two kinds of places.

mod access_key;
mod archive;
mod identity;
mod mount;
mod multipart;
mod open;
mod put;
mod read;

use std::future::ready;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::S3Config;
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::time::Timestamp;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::path::Path;
use object_store::{Error as Backend, ObjectStore, ObjectStoreExt as _};

use access_key::AccessKey;
pub use archive::{Archive, ArchiveError, ArchivedObject, ObjectDigest};
use mount::IdentifiedFolder;
pub use put::Stored;
pub use read::BlobRead;

/// Any foreign error, with its causes.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Error of a blob operation.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The folder or object store failed or cannot be reached.
    #[error("the media store failed")]
    Backend(#[source] Backend),
    /// The folder failed.
    #[error("the media folder failed")]
    Io(#[from] std::io::Error),
    /// There is no blob with that name.
    #[error("blob {0} does not exist")]
    NotFound(BlobId),
    /// The range is empty or not inside the blob.
    #[error("the range is outside the blob")]
    Range,
    /// The source stream of an upload failed.
    #[error("the source of a media file failed")]
    Source(#[source] BoxError),
    /// The upload is larger than allowed.
    #[error("the media file is larger than {max} bytes")]
    TooLarge {
        /// Limit, in bytes.
        max: u64,
    },
    /// The blob could not be claimed, so it was not stored.
    #[error("the media file could not be claimed in the database")]
    Claim(#[source] BoxError),
    /// It is not known that the media store has the files of the database.
    #[error("the media store is not known to be that of the database")]
    Unidentified,
    /// Only one half of the access key is configured.
    #[error("s3.access_key_id and s3.secret_access_key must be set together")]
    HalfAKey,
}

impl BlobError {
    /// Returns whether trying again later may help. A refused access key counts as transient: an
    /// operator will fix it, and no file should be given up meanwhile.
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Backend(_) | Self::Io(_) | Self::Source(_) | Self::Claim(_) | Self::Unidentified
        )
    }

    /// Returns what the media store cannot do at all just now, when the error says so.
    pub fn outage(&self) -> Option<Work> {
        let away = match self {
            Self::Backend(error) => matches!(
                error,
                Backend::Generic { .. }
                    | Backend::JoinError { .. }
                    | Backend::PermissionDenied { .. }
                    | Backend::Unauthenticated { .. }
            ),
            // A file that is shorter than it should be.
            Self::Io(error) => error.kind() != ErrorKind::UnexpectedEof,
            Self::Unidentified => true,
            _ => false,
        };
        away.then(|| if takes_no_changes(self) { Work::Writing } else { Work::Reading })
    }
}

/// Returns whether the file system is full, or may only be read.
fn takes_no_changes(error: &(dyn std::error::Error + 'static)) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let kind = error.kind();
            return matches!(
                kind,
                PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
            );
        }
        link = error.source();
    }
    false
}

/// Notes a failure that may be an outage.
fn note_failure(availability: &Availability, error: &BlobError) {
    if let Some(work) = error.outage() {
        availability.fails(work, &with_causes(error));
    }
}

/// Handle of the blob store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    place: BlobBackend,
    availability: Availability,
    /// Access key of an object store, unless the machine has a role.
    key: Option<Arc<AccessKey>>,
    /// `true` while it is not known that the files belong here.
    barred: Arc<AtomicBool>,
    /// Folder that is known to be the media store.
    identified: IdentifiedFolder,
}

/// Location of the blobs; the differences between the two beside the adapter.
#[derive(Clone, Debug)]
enum BlobBackend {
    /// A folder, by its absolute path.
    Folder(Arc<PathBuf>),
    /// A bucket, and the prefix of every key in it.
    Bucket(Path),
}

/// Prefix of uploads until they are complete.
const TEMPORARIES: &str = "tmp";

impl Blobs {
    /// Returns the size of a blob in bytes; `None` if there is no blob with that name.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn size(&self, id: &BlobId) -> Result<Option<u64>, BlobError> {
        let size = async {
            self.admitted()?;
            self.stored_size(id).await
        };
        self.noted(Work::Reading, size.await)
    }

    /// Returns whether a blob is there, also while this store is [barred](Self::bar): for
    /// identifying it.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn holds(&self, id: &BlobId) -> Result<bool, BlobError> {
        Ok(self.noted(Work::Reading, self.stored_size(id).await)?.is_some())
    }

    async fn stored_size(&self, id: &BlobId) -> Result<Option<u64>, BlobError> {
        match self.store.head(&self.key(id)).await {
            Ok(meta) => Ok(Some(meta.size)),
            Err(Backend::NotFound { .. }) => Ok(None),
            Err(error) => Err(BlobError::Backend(error)),
        }
    }

    /// Stores, reads and deletes nothing until [`Self::unbar`], as if the media store could not be
    /// reached: it may be another one than that of the database. Holds for all clones.
    pub fn bar(&self) {
        self.barred.store(true, Ordering::Relaxed);
    }

    /// Ends [`Self::bar`].
    pub fn unbar(&self) {
        self.barred.store(false, Ordering::Relaxed);
    }

    fn admitted(&self) -> Result<(), BlobError> {
        if self.barred.load(Ordering::Relaxed) { Err(BlobError::Unidentified) } else { Ok(()) }
    }

    /// Makes further calls of an object store with the access key of these settings. Does nothing
    /// for a folder, and where the machine's role is used.
    ///
    /// # Errors
    /// [`BlobError::HalfAKey`]; the present key stays.
    pub fn replace_access_key(&self, s3: &S3Config) -> Result<(), BlobError> {
        self.key.as_ref().map_or(Ok(()), |key| key.replace(s3))
    }

    /// The availability of folder or bucket.
    pub const fn availability(&self) -> &Availability {
        &self.availability
    }

    /// Notes what became of `work`, and hands it on.
    fn noted<T>(&self, work: Work, done: Result<T, BlobError>) -> Result<T, BlobError> {
        match &done {
            // What identifies a barred one does not make it usable.
            Ok(_) if self.admitted().is_err() => {}
            Ok(_) => self.availability.works(work),
            Err(error) => note_failure(&self.availability, error),
        }
        done
    }

    /// Deletes a blob permanently; does nothing if it is already gone.
    ///
    /// # Errors
    /// Fails when the media store fails; the blob may or may not exist then.
    #[boxed]
    pub async fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        self.admitted()?;
        let key = self.key(id);
        if let BlobBackend::Folder(root) = &self.place {
            let removed = open::remove_file(root.join(key.as_ref())).await;
            return self.noted(Work::Reading, removed);
        }
        let deleted = match self.store.delete(&key).await {
            Ok(()) | Err(Backend::NotFound { .. }) => Ok(()),
            Err(error) => Err(BlobError::Backend(error)),
        };
        self.noted(Work::Reading, deleted)
    }

    /// Lists the names of all blobs, in no order.
    pub fn list(&self) -> BoxStream<'static, Result<BlobId, BlobError>> {
        if let Err(error) = self.admitted() {
            return stream::once(ready(Err(error))).boxed();
        }
        let prefix = self.prefix();
        let availability = self.availability.clone();
        let all = self.store.list(Some(&prefix)).map_err(BlobError::Backend);
        let all = all.inspect_err(move |error| note_failure(&availability, error));
        let name = |path: &Path| path.filename().and_then(BlobId::parse);
        all.try_filter_map(move |meta| ready(Ok(name(&meta.location)))).boxed()
    }

    /// Removes temporary files of uploads that began before `before` and whose process died;
    /// returns how many. Unfinished multipart uploads of an object store are for its own lifecycle
    /// rules.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn sweep(&self, before: Timestamp) -> Result<usize, BlobError> {
        self.admitted()?;
        self.noted(Work::Reading, self.remove_temporaries(before).await)
    }

    async fn remove_temporaries(&self, before: Timestamp) -> Result<usize, BlobError> {
        if let BlobBackend::Folder(root) = &self.place {
            return open::remove_old_files(root.join(TEMPORARIES), before).await;
        }
        let folder = self.prefix().join(TEMPORARIES);
        let old = self.store.list(Some(&folder)).try_filter_map(|meta| {
            let old = meta.last_modified.timestamp_millis() < before.millis();
            ready(Ok(old.then_some(meta.location)))
        });
        let old: Vec<Path> = old.try_collect().await.map_err(BlobError::Backend)?;
        for key in &old {
            self.store.delete(key).await.map_err(BlobError::Backend)?;
        }
        Ok(old.len())
    }

    /// Checks that the folder or bucket is reachable.
    ///
    /// # Errors
    /// The reason why it is not.
    #[boxed]
    pub async fn ready(&self) -> Result<(), BlobError> {
        let asked = async {
            self.admitted()?;
            self.ask().await
        };
        self.noted(Work::Reading, asked.await)
    }

    async fn ask(&self) -> Result<(), BlobError> {
        match &self.place {
            BlobBackend::Folder(root) => {
                drop(tokio::fs::read_dir(root.as_ref()).await?);
            }
            BlobBackend::Bucket(prefix) => {
                let folder = prefix.clone().join(TEMPORARIES);
                let listed = self.store.list_with_delimiter(Some(&folder)).await;
                listed.map_err(BlobError::Backend)?;
            }
        }
        Ok(())
    }

    fn prefix(&self) -> Path {
        match &self.place {
            BlobBackend::Folder(_) => Path::default(),
            BlobBackend::Bucket(prefix) => prefix.clone(),
        }
    }

    fn key(&self, id: &BlobId) -> Path {
        let name = id.as_str();
        self.prefix().join(&name[..2]).join(&name[2..4]).join(name)
    }
}

#[cfg(test)]
mod bucket_tests;
