//! The demo's API key, the same at every start in the same folder.
//!
//! The store contains only the hash of a key, so the key itself is in a file beside it, readable
//! only by the demo's own user.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use chatkeep_core::id::UserId;
use chatkeep_core::role::Scope;
use chatkeep_services::keys::OperatorKey;
use chatkeep_services::operator::Operator;
use chatkeep_services::{ServiceError, Services};

/// The key's file in the demo's folder.
const FILE: &str = "api-key";
/// The name of the demo's key, so that another one replaces it.
const NAME: &str = "demo";

/// Returns the key of the previous start if it is still valid; otherwise a new one of `owner`,
/// which replaces it.
///
/// # Errors
/// Returns an error when the store fails or the file cannot be read or written.
pub(super) async fn lasting(
    services: &Services,
    owner: &UserId,
    folder: &Path,
) -> anyhow::Result<String> {
    let file = folder.join(FILE);
    let known = read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    if let Some(known) = known
        && works(services, owner, &known).await?
    {
        return Ok(known);
    }
    let (keys, operator) = (&services.keys, Operator::at_command_line());
    for old in keys.all_of(&operator, owner).await?.iter().filter(|key| key.name == NAME) {
        keys.revoke(&operator, &old.id).await?;
    }
    let key = OperatorKey {
        user: owner.clone(),
        name: NAME.to_owned(),
        scopes: Scope::ALL.to_vec(),
        channels: None,
        not_before: None,
        expires_at: None,
        pseudonyms: None,
    };
    let issued = keys.issue(&operator, key).await;
    let secret = issued.context("cannot create the API key of the demo's person")?.secret;
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

/// Returns true for a valid key of `owner` with all permissions.
async fn works(services: &Services, owner: &UserId, secret: &str) -> anyhow::Result<bool> {
    let caller = match services.credentials.caller(secret).await {
        Ok(caller) => caller,
        Err(ServiceError::InvalidKey) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let all = Scope::ALL.iter().all(|scope| caller.bounds.has(*scope));
    Ok(caller.user == *owner && all)
}
