//! Credentials of callers: whose an API key or an access token is.

use async_recursion::async_recursion as boxed;
use chatkeep_core::random::{is_access_token, is_api_key};
use chatkeep_core::time::SharedClock;
use chatkeep_store::Store;

use super::ServiceError;
use super::access::Caller;

/// Credentials. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CredentialService {
    store: Store,
    clock: SharedClock,
}

impl CredentialService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns the caller with this API key or access token. A key counts as used with this.
    ///
    /// # Errors
    /// [`ServiceError::InvalidKey`] for a secret that is unknown or has expired.
    #[boxed]
    pub async fn caller(&self, secret: &str) -> Result<Caller, ServiceError> {
        let now = self.clock.now();
        if is_access_token(secret) {
            let grant = self.store.oauth().access_token(secret, now).await?;
            return grant.map(Caller::from).ok_or(ServiceError::InvalidKey);
        }
        if !is_api_key(secret) {
            return Err(ServiceError::InvalidKey);
        }
        let key = self.store.keys().key(secret).await?.ok_or(ServiceError::InvalidKey)?;
        if key.expires_at.is_some_and(|at| at <= now) {
            return Err(ServiceError::InvalidKey);
        }
        self.store.keys().note_key_use(&key, now);
        Ok(Caller::of_key(&self.store, key).await?)
    }
}
