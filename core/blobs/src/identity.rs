//! Identity of a media store, stored inside of it: processes that name the same one share it.

use async_recursion::async_recursion as boxed;
use chatkeep_core::outage::Work;
use chatkeep_core::random::random_name;
use object_store::path::Path;
use object_store::{Error as Backend, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use super::{BlobError, Blobs};

/// Key of the object that holds the identity.
const OBJECT: &str = "media-store.id";

impl Blobs {
    /// Returns the identity of the media store; creates one if it has none.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn identity(&self) -> Result<String, BlobError> {
        self.noted(Work::Reading, self.read_or_write_identity().await)
    }

    async fn read_or_write_identity(&self) -> Result<String, BlobError> {
        let key = self.prefix().join(OBJECT);
        if let Some(identity) = self.read_identity(&key).await? {
            return Ok(identity);
        }
        let new = PutPayload::from(random_name().into_bytes());
        let once = PutOptions::from(PutMode::Create);
        match self.store.put_opts(&key, new.clone(), once).await {
            // Another process created it first.
            Ok(_) | Err(Backend::AlreadyExists { .. } | Backend::Precondition { .. }) => {}
            // A store that knows no conditions says so in its own way. Should another process write
            // its identity at this moment, too, one of both does not start: they differ.
            Err(Backend::Generic { .. } | Backend::NotImplemented { .. })
                if self.read_identity(&key).await?.is_none() =>
            {
                self.store.put(&key, new).await.map_err(BlobError::Backend)?;
            }
            Err(error) => return Err(BlobError::Backend(error)),
        }
        let read = self.read_identity(&key).await?;
        read.ok_or_else(|| {
            BlobError::Backend(Backend::NotFound {
                path: key.to_string(),
                source: "the identity was written and is not there".into(),
            })
        })
    }

    /// Returns the identity of the media store, if a process has created one.
    ///
    /// # Errors
    /// Fails when the media store fails.
    #[boxed]
    pub async fn known_identity(&self) -> Result<Option<String>, BlobError> {
        let read = self.read_identity(&self.prefix().join(OBJECT)).await;
        self.noted(Work::Reading, read)
    }

    async fn read_identity(&self, key: &Path) -> Result<Option<String>, BlobError> {
        let found = match self.store.get(key).await {
            Ok(found) => found.bytes().await.map_err(BlobError::Backend)?,
            Err(Backend::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(BlobError::Backend(error)),
        };
        Ok(Some(String::from_utf8_lossy(&found).trim().to_owned()))
    }
}
