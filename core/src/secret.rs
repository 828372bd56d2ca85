//! Secrets that are replaced while they are in use.

use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret as _, SecretString};

/// A secret that may be replaced while it is in use. Clones share it.
#[derive(Clone)]
pub struct SharedSecret(Arc<RwLock<Versioned>>);

struct Versioned {
    secret: SecretString,
    version: u64,
}

impl SharedSecret {
    /// Returns the present secret.
    pub fn get(&self) -> SecretString {
        self.0.read().unwrap_or_else(PoisonError::into_inner).secret.clone()
    }

    /// Returns a number that differs after each replacement.
    pub fn version(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).version
    }

    /// Replaces the secret; returns whether the new one differs.
    pub fn replace(&self, secret: &SecretString) -> bool {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let differs = held.secret.expose_secret() != secret.expose_secret();
        if differs {
            *held = Versioned { secret: secret.clone(), version: held.version + 1 };
        }
        differs
    }
}

impl From<SecretString> for SharedSecret {
    fn from(secret: SecretString) -> Self {
        Self(Arc::new(RwLock::new(Versioned { secret, version: 0 })))
    }
}

impl From<String> for SharedSecret {
    fn from(secret: String) -> Self {
        SecretString::from(secret).into()
    }
}

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_have_the_new_secret_and_only_another_one_is_new() {
        let secret = SharedSecret::from("hunter2".to_owned());
        let user = secret.clone();
        assert!(!secret.replace(&"hunter2".into()));
        assert_eq!(user.version(), 0);
        assert!(secret.replace(&"other".into()));
        assert_eq!((user.get().expose_secret(), user.version()), ("other", 1));
        assert!(!format!("{user:?}").contains("other"));
    }
}
