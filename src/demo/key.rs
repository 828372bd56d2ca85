//! The demo's API key, the same at every start in the same folder.
//!
//! The store contains only the hash of a key, so the key itself is in a file beside it, readable
//! only by the demo's own user.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use chatkeep_core::id::{KeyId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{NewKey, Store};

/// The key's file in the demo's folder.
const FILE: &str = "api-key";
/// The name of the demo's key, so that another one replaces it.
const NAME: &str = "demo";
/// More keys than a user can have.
const MANY: u32 = 1_000;

/// Returns the key of the previous start if it is still valid; otherwise a new one of `owner`,
/// which replaces it.
///
/// # Errors
/// Returns an error when the store fails or the file cannot be read or written.
pub(super) async fn lasting(
    store: &Store,
    owner: &UserId,
    folder: &Path,
    now: Timestamp,
) -> anyhow::Result<String> {
    let file = folder.join(FILE);
    let known = read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    if let Some(known) = known
        && works(store, owner, &known, now).await?
    {
        return Ok(known);
    }
    for old in store.keys().list(owner, None, MANY).await?.iter().filter(|key| key.name == NAME) {
        store.keys().drop_key(&old.id, now).await?;
    }
    let secret = crate::random::api_key();
    let new = NewKey {
        id: &KeyId::new(crate::random::key_id()),
        secret: &secret,
        user: owner,
        name: NAME,
        scopes: &Scope::ALL,
        channels: None,
        not_before: None,
        expires_at: None,
    };
    if !store.keys().add_key(&new, now).await? {
        anyhow::bail!("the demo's person has as many keys as there can be; delete one of them");
    }
    // Written after the store has the key: an existing file always names a created key.
    fs::write(&file, &secret).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(secret)
}

fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true for a key of `owner` with all permissions and no expiry.
async fn works(
    store: &Store,
    owner: &UserId,
    secret: &str,
    now: Timestamp,
) -> anyhow::Result<bool> {
    let key = store.keys().key(secret).await?;
    Ok(key.is_some_and(|key| {
        key.user == *owner
            && key.expires_at.is_none_or(|end| end > now)
            && Scope::ALL.iter().all(|scope| key.scopes.contains(scope))
    }))
}
