//! Opening a folder or a bucket, and the file operations that a folder needs beside its adapter.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use chatkeep_core::config::{BlobsKind, S3Config};
use chatkeep_core::http::install_tls;
use chatkeep_core::outage::Availability;
use chatkeep_core::time::Timestamp;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use reqwest::Url;

use super::access_key::AccessKey;
use super::mount::IdentifiedFolder;
use super::{BlobBackend, BlobError, Blobs};

/// Connect timeout of an object store.
const CONNECT: Duration = Duration::from_secs(5);
/// Read timeout of an object store: silence of this length. There is no limit for a whole call, as
/// a large file takes as long as its reader does.
const SILENCE: Duration = Duration::from_secs(30);
/// Time for which a failed call is repeated; after that the caller has to wait.
const RETRIES: Duration = Duration::from_secs(5);

impl Blobs {
    /// Opens the blob store. Creates a folder if it does not exist; an object store is not called
    /// yet, so that the rest runs while it is down ([`Blobs::ready`] calls it).
    ///
    /// # Errors
    /// Fails when the folder cannot be created, or the settings do not fit together.
    pub fn open(kind: &BlobsKind, s3: &S3Config) -> Result<Self, BlobError> {
        match kind {
            BlobsKind::Folder(folder) => {
                let (root, store) = folder_store(folder)?;
                let store = Arc::new(store);
                let availability = watched(root.display().to_string());
                let place = BlobBackend::Folder(Arc::new(root));
                Ok(Self {
                    store,
                    place,
                    availability,
                    key: None,
                    barred: Arc::default(),
                    identified: IdentifiedFolder::default(),
                })
            }
            BlobsKind::S3 { bucket, prefix } => {
                let key = AccessKey::of(s3)?.map(Arc::new);
                let store = Arc::new(bucket_store(bucket, s3, key.clone())?);
                let at = s3.endpoint.as_deref().unwrap_or("Amazon S3");
                let availability = watched(format!("{kind} at {at}"));
                Ok(Self {
                    store,
                    place: BlobBackend::Bucket(Path::from(prefix.as_str())),
                    availability,
                    key,
                    barred: Arc::default(),
                    identified: IdentifiedFolder::default(),
                })
            }
        }
    }
}

impl Blobs {
    /// Opens the blob store as [`Blobs::open`] does, without creating a folder.
    ///
    /// # Errors
    /// Fails when the folder does not exist, or the settings do not fit together.
    pub fn open_existing(kind: &BlobsKind, s3: &S3Config) -> Result<Self, BlobError> {
        if let BlobsKind::Folder(folder) = kind {
            fs::metadata(folder)?;
        }
        Self::open(kind, s3)
    }
}

fn watched(address: String) -> Availability {
    Availability::new("media store", address, "CHATKEEP_BLOBS")
}

/// Opens a folder, and creates it if it does not exist. Returns its canonical path as well.
pub(super) fn folder_store(folder: &FilePath) -> Result<(PathBuf, LocalFileSystem), BlobError> {
    fs::create_dir_all(folder)?;
    let root = fs::canonicalize(folder)?;
    let store = LocalFileSystem::new_with_prefix(&root).map_err(BlobError::Backend)?;
    // Whoever stored an object forgets where it came from, so it must outlive a power cut: contents
    // and folders are flushed before `put` returns.
    Ok((root, store.with_fsync(true)))
}

pub(super) fn bucket_store(
    bucket: &str,
    s3: &S3Config,
    key: Option<Arc<AccessKey>>,
) -> Result<AmazonS3, BlobError> {
    install_tls();
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(100), ..Default::default() };
    let client = ClientOptions::new()
        .with_connect_timeout(CONNECT)
        .with_read_timeout(SILENCE)
        .with_timeout_disabled();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(&s3.region)
        .with_virtual_hosted_style_request(!s3.path_style)
        // Single deletes: not every store supports bulk deletes.
        .with_disable_bulk_delete(true)
        .with_client_options(client)
        .with_retry(RetryConfig { backoff, max_retries: 3, retry_timeout: RETRIES });
    if let Some(endpoint) = &s3.endpoint {
        builder = builder
            .with_endpoint(if s3.path_style { endpoint.clone() } else { hosted(endpoint, bucket) })
            .with_allow_http(endpoint.starts_with("http://"));
    }
    if let Some(key) = key {
        builder = builder.with_credentials(key);
    }
    builder.build().map_err(BlobError::Backend)
}

/// Puts the bucket before the host name of an endpoint.
fn hosted(endpoint: &str, bucket: &str) -> String {
    let host = |url: &Url| url.host_str().map(|host| format!("{bucket}.{host}"));
    let with_bucket = Url::parse(endpoint).ok().and_then(|mut url| {
        let host = host(&url)?;
        url.set_host(Some(&host)).ok()?;
        Some(url.as_str().trim_end_matches('/').to_owned())
    });
    with_bucket.unwrap_or_else(|| endpoint.to_owned())
}

/// Removes a file durably, even across a power cut. The adapter does not flush deletions.
pub(super) async fn remove_file(path: PathBuf) -> Result<(), BlobError> {
    blocking(move || {
        match fs::remove_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            done => done?,
        }
        let Some(folder) = path.parent() else { return Ok(()) };
        File::open(folder)?.sync_all()
    })
    .await
}

/// Removes the files of a folder that were last written before `before`. The adapter hides
/// unfinished files, so the folder itself is read.
pub(super) async fn remove_old_files(
    folder: PathBuf,
    before: Timestamp,
) -> Result<usize, BlobError> {
    let before = UNIX_EPOCH + before.since(Timestamp::from_millis(0));
    blocking(move || {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            // Gone meanwhile: its upload finished.
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_file() && meta.modified()? < before && fs::remove_file(entry.path()).is_ok()
            {
                removed += 1;
            }
        }
        Ok(removed)
    })
    .await
}

pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BlobError> {
    let done = tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?;
    Ok(done?)
}

#[cfg(test)]
#[path = "open_edge_tests.rs"]
mod edge_tests;
