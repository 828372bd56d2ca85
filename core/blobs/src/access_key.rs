//! Access key of an object store, which may be replaced while the process runs.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use chatkeep_core::config::S3Config;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use secrecy::ExposeSecret as _;

use super::BlobError;

/// Access key that signs each call.
pub(super) struct AccessKey(RwLock<Arc<AwsCredential>>);

impl AccessKey {
    /// Returns the configured key; `None` for the credentials of the machine's role.
    ///
    /// # Errors
    /// [`BlobError::HalfAKey`].
    pub(super) fn of(s3: &S3Config) -> Result<Option<Self>, BlobError> {
        Ok(credential(s3)?.map(|key| Self(RwLock::new(Arc::new(key)))))
    }

    /// Replaces the key by the configured one, if there is one.
    ///
    /// # Errors
    /// [`BlobError::HalfAKey`].
    pub(super) fn replace(&self, s3: &S3Config) -> Result<(), BlobError> {
        if let Some(key) = credential(s3)? {
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
        }
        Ok(())
    }
}

fn credential(s3: &S3Config) -> Result<Option<AwsCredential>, BlobError> {
    match (&s3.access_key_id, &s3.secret_access_key) {
        (Some(id), Some(secret)) => Ok(Some(AwsCredential {
            key_id: id.expose_secret().to_owned(),
            secret_key: secret.expose_secret().to_owned(),
            token: None,
        })),
        (None, None) => Ok(None),
        _ => Err(BlobError::HalfAKey),
    }
}

impl CredentialProvider for AccessKey {
    type Credential = AwsCredential;

    // What `#[async_trait]` of the library writes for `async fn get_credential(&self)`.
    fn get_credential<'a, 'b>(
        &'a self,
    ) -> Pin<Box<dyn Future<Output = object_store::Result<Arc<AwsCredential>>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let key = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        Box::pin(std::future::ready(Ok(key)))
    }
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessKey(…)")
    }
}
