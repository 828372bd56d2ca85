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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(id: Option<&str>, secret: Option<&str>) -> S3Config {
        S3Config {
            endpoint: None,
            region: String::new(),
            access_key_id: id.map(Into::into),
            secret_access_key: secret.map(Into::into),
            path_style: true,
        }
    }

    #[tokio::test]
    async fn calls_have_the_key_that_was_given_last_and_half_a_key_replaces_none() {
        let key = AccessKey::of(&settings(Some("a"), Some("old"))).unwrap().unwrap();
        key.replace(&settings(Some("b"), Some("hunter2"))).unwrap();
        for useless in [settings(Some("c"), None), settings(None, Some("c"))] {
            assert!(matches!(key.replace(&useless), Err(BlobError::HalfAKey)));
        }
        key.replace(&settings(None, None)).unwrap();
        let used = key.get_credential().await.unwrap();
        assert_eq!((used.key_id.as_str(), used.secret_key.as_str()), ("b", "hunter2"));
        assert!(!format!("{key:?}").contains("hunter2"));
        assert!(AccessKey::of(&settings(None, None)).unwrap().is_none());
    }
}
