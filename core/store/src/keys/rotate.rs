//! Rotation of keys: a new key replaces another, and both work for a while.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{KeyId, UserId};
use chatkeep_core::time::Timestamp;

use super::super::users::lock_user;
use super::super::webhooks::carry_webhooks;
use super::super::{KeyStore, StoreError};
use super::limits::trim_ended;
use super::{Key, KeyRow, NewKey, ONE_OF_USER, add_in};
use crate::query::{query, query_as};

/// Result of a rotation.
#[derive(Clone, Debug)]
pub enum Rotated {
    /// New key.
    Done(Box<Key>),
    /// The user has no such key, or it has expired.
    NoKey,
    /// The key was replaced before and works out its overlap: its end is no longer the one that a
    /// successor would have.
    Replaced,
}

/// The old key works for the overlap only, and not longer than it did.
const REPLACE: &str = "
    UPDATE api_keys SET
        replaced_by = $3,
        expires_at = CASE WHEN expires_at IS NULL OR expires_at > $2 THEN $2 ELSE expires_at END
    WHERE key_id = $1";
/// The key that the rotated one replaced ends: at most two keys of one line work at a time.
const END_BEFORE: &str = "
    UPDATE api_keys SET expires_at = $2
    WHERE replaced_by = $1 AND user_id = $3 AND (expires_at IS NULL OR expires_at > $2)";
impl KeyStore<'_> {
    /// Replaces a user's key by one of the same properties with a new id and secret; the old one
    /// works until `old_until`, and one that the old one itself replaced ends now. Webhooks of the
    /// old key belong to the new one from now on.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn rotate_key(
        &self,
        user: &UserId,
        old: &KeyId,
        (id, secret): (&KeyId, &str),
        old_until: Timestamp,
        now: Timestamp,
    ) -> Result<Rotated, StoreError> {
        let mut tx = self.store.db.begin().await?;
        lock_user(&mut tx, user.as_str()).await?;
        let row: Option<KeyRow> =
            tx.fetch_optional(query_as(ONE_OF_USER).bind(old.as_str()).bind(user.as_str())).await?;
        let replaced = row.as_ref().is_some_and(|row| row.replaced_by.is_some());
        let Some(key) = row.map(Key::try_from).transpose()? else {
            return Ok(Rotated::NoKey);
        };
        if key.bounds().ended(now) {
            return Ok(Rotated::NoKey);
        }
        if replaced {
            return Ok(Rotated::Replaced);
        }
        trim_ended(&mut tx, user, now).await?;
        let new = NewKey {
            id,
            secret,
            user,
            name: &key.name,
            scopes: &key.scopes,
            channels: key.channels.as_deref(),
            not_before: key.not_before,
            pseudonyms: key.pseudonyms.as_ref(),
            expires_at: key.expires_at,
        };
        let added = add_in(&mut tx, &new, now).await?;
        let (was, is) = (old.as_str(), id.as_str());
        tx.execute(query(END_BEFORE).bind(was).bind(now.millis()).bind(user.as_str())).await?;
        tx.execute(query(REPLACE).bind(was).bind(old_until.millis()).bind(is)).await?;
        carry_webhooks(&mut tx, old, id).await?;
        tx.commit().await?;
        Ok(Rotated::Done(Box::new(added)))
    }
}
