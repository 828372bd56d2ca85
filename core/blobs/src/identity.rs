//! Identity and owner of a media store, stored inside of it: processes that name the same one share
//! it, and no database but its owner knows which of its files are needed.

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::outage::Work;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{Error as Backend, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use super::{BlobError, Blobs};

/// Key of the object that holds the identity.
const OBJECT: &str = "media-store.id";
/// Key of the object that holds the id of the database that the files belong to.
const OWNER: &str = "media-store.owner";

impl Blobs {
    /// Returns the identity of the media store; `proposal` if it has none until now. Processes that
    /// share a media store propose the same.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn identity(&self, proposal: String) -> Result<String, BlobError> {
        let folder = self.folder_now().await;
        let identity = self.noted(Work::Reading, self.read_or_write(OBJECT, proposal).await)?;
        self.identified(folder);
        Ok(identity)
    }

    async fn read_or_write(&self, object: &str, text: String) -> Result<String, BlobError> {
        let key = self.prefix().join(object);
        match self.read_text(&key).await? {
            Some(text) => Ok(text),
            None => self.write_once(&key, text).await,
        }
    }

    /// Creates an object, unless another process has done so. Returns its content.
    async fn write_once(&self, key: &Path, text: String) -> Result<String, BlobError> {
        let new = PutPayload::from(text.into_bytes());
        let once = PutOptions::from(PutMode::Create);
        match self.store.put_opts(key, new.clone(), once).await {
            // Another process created it first.
            Ok(_) | Err(Backend::AlreadyExists { .. } | Backend::Precondition { .. }) => {}
            // A store that knows no conditions says so in its own way. Another process of the same
            // database that writes at this moment writes the same.
            Err(Backend::Generic { .. } | Backend::NotImplemented { .. })
                if self.read_text(key).await?.is_none() =>
            {
                self.store.put(key, new).await.map_err(BlobError::Backend)?;
            }
            Err(error) => return Err(BlobError::Backend(error)),
        }
        let read = self.read_text(key).await?;
        read.ok_or_else(|| {
            BlobError::Backend(Backend::NotFound {
                path: key.to_string(),
                source: "it was written and is not there".into(),
            })
        })
    }

    /// Returns the identity of the media store, if a process has created one.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn known_identity(&self) -> Result<Option<String>, BlobError> {
        let folder = self.folder_now().await;
        let read = self.read_text(&self.prefix().join(OBJECT)).await;
        let known = self.noted(Work::Reading, read)?;
        if known.is_some() {
            self.identified(folder);
        }
        Ok(known)
    }

    /// Returns the id of the database that the files belong to, if it is recorded.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn owner(&self) -> Result<Option<String>, BlobError> {
        self.noted(Work::Reading, self.read_text(&self.prefix().join(OWNER)).await)
    }

    /// Records the database that the files belong to, unless one is recorded. Returns the owner.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn claim(&self, owner: String) -> Result<String, BlobError> {
        self.noted(Work::Reading, self.read_or_write(OWNER, owner).await)
    }

    /// Records the database that the files belong to from now on, whatever is recorded.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn set_owner(&self, owner: String) -> Result<(), BlobError> {
        let key = self.prefix().join(OWNER);
        let put = self.store.put(&key, PutPayload::from(owner.into_bytes())).await;
        self.noted(Work::Reading, put.map(drop).map_err(BlobError::Backend))
    }

    /// Returns whether there is any blob, also while this store is [barred](Self::bar): for
    /// identifying it.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn has_any(&self) -> Result<bool, BlobError> {
        let found = async {
            let mut all = self.store.list(Some(&self.prefix()));
            while let Some(meta) = all.try_next().await.map_err(BlobError::Backend)? {
                if meta.location.filename().and_then(BlobId::parse).is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        self.noted(Work::Reading, found.await)
    }

    async fn read_text(&self, key: &Path) -> Result<Option<String>, BlobError> {
        let found = match self.store.get(key).await {
            Ok(found) => found.bytes().await.map_err(BlobError::Backend)?,
            Err(Backend::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(BlobError::Backend(error)),
        };
        Ok(Some(String::from_utf8_lossy(&found).trim().to_owned()))
    }
}
