//! API keys: only a key's SHA-256 is stored, never the key.

mod limits;
mod rotate;

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use sha2::{Digest as _, Sha256};

pub use self::limits::KEYS_OF_USER;
use self::limits::{KeyAllowance, room_of};
pub use self::rotate::Rotated;
use super::db::{Sql, Tx, locking};
use super::users::lock_user;
use super::webhooks::end_webhooks_of;
use super::{KeyStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Stored key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Public id.
    pub id: KeyId,
    /// Owner.
    pub user: UserId,
    /// Name given by the owner.
    pub name: String,
    /// Last four characters, for recognition.
    pub mask: String,
    /// Scopes.
    pub scopes: Vec<Scope>,
    /// Visible channels; `None` for all.
    pub channels: Option<Vec<ChannelId>>,
    /// Earliest time of sending that may be read with it.
    pub not_before: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Secret of the stand-ins that it shows for people; `None` if it shows people as they are.
    pub pseudonyms: Option<PseudonymKey>,
    /// Time of expiry.
    pub expires_at: Option<Timestamp>,
    /// Time of its last use, to the minute.
    pub last_used_at: Option<Timestamp>,
}

impl Key {
    /// Returns the bounds of a caller with this key.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            scopes: self.scopes.clone(),
            channels: self.channels.clone(),
            not_before: self.not_before,
            expires_at: self.expires_at,
            pseudonyms: self.pseudonyms.clone(),
        }
    }
}

/// Key to create. No `Debug`: it holds its secret.
#[derive(Clone)]
pub struct NewKey<'a> {
    /// Public id.
    pub id: &'a KeyId,
    /// Secret of the key; only its hash is stored.
    pub secret: &'a str,
    /// Owner.
    pub user: &'a UserId,
    /// Name given by the owner.
    pub name: &'a str,
    /// Scopes.
    pub scopes: &'a [Scope],
    /// Visible channels; `None` for all.
    pub channels: Option<&'a [ChannelId]>,
    /// Earliest time of sending that may be read with it.
    pub not_before: Option<Timestamp>,
    /// Secret of the stand-ins that it shows for people; `None` to show people as they are.
    pub pseudonyms: Option<&'a PseudonymKey>,
    /// Time of expiry.
    pub expires_at: Option<Timestamp>,
}

/// No `Debug`: it holds a secret.
#[derive(sqlx_macros::FromRow)]
struct KeyRow {
    key_id: String,
    mask: String,
    user_id: String,
    name: String,
    scopes: String,
    channel_ids: Option<String>,
    not_before: Option<i64>,
    created_at: i64,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    replaced_by: Option<String>,
    pseudonym_secret: Option<String>,
}

/// Builds a statement that reads keys.
macro_rules! keys {
    ($rest:literal) => {
        concat!(
            "SELECT key_id, mask, user_id, name, scopes, channel_ids, not_before, created_at,
                    expires_at, last_used_at, replaced_by, pseudonym_secret FROM api_keys ",
            $rest
        )
    };
}

const BY_HASH: &str = keys!("WHERE hash = $1");
const OF_USER: &str = keys!(
    "WHERE user_id = $1 AND (created_at, key_id) > ($2, $3) ORDER BY created_at, key_id LIMIT $4"
);
const ADD: &str = "
    INSERT INTO api_keys (key_id, hash, mask, user_id, name, scopes, channel_ids, not_before,
                          created_at, expires_at, pseudonym_secret)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const ONE_OF_USER: Sql = locking!(keys!("WHERE key_id = $1 AND user_id = $2"));
const DROP: &str = "DELETE FROM api_keys WHERE key_id = $1";

impl KeyStore<'_> {
    /// Stores a key and returns it as stored. `None` when the user has [`KEYS_OF_USER`] working keys
    /// already; a key and the one that it replaced count as one while both work.
    ///
    /// # Errors
    /// Returns an error when the database fails or the user is unknown.
    #[boxed]
    pub async fn add_key(
        &self,
        key: &NewKey<'_>,
        now: Timestamp,
    ) -> Result<Option<Key>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        lock_user(&mut tx, key.user.as_str()).await?;
        if room_of(&mut tx, key.user, now).await? == KeyAllowance::Full {
            return Ok(None);
        }
        let added = add_in(&mut tx, key, now).await?;
        tx.commit().await?;
        Ok(Some(added))
    }

    /// Returns the stored key of `secret`, expired or not; `None` for an unknown one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn key(&self, secret: &str) -> Result<Option<Key>, StoreError> {
        let row: Option<KeyRow> =
            self.store.db.fetch_optional(query_as(BY_HASH).bind(hash(secret))).await?;
        let mut key = row.map(Key::try_from).transpose()?;
        if let Some(key) = &mut key {
            key.last_used_at = key.last_used_at.max(self.store.uses.unwritten_key(&key.id));
        }
        Ok(key)
    }

    /// Returns a user's keys, oldest first, after `after` (time of creation, id), at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(
        &self,
        user: &UserId,
        after: Option<&(Timestamp, KeyId)>,
        limit: u32,
    ) -> Result<Vec<Key>, StoreError> {
        let (at, id) = after.map_or((i64::MIN, ""), |(at, id)| (at.millis(), id.as_str()));
        let rows: Vec<KeyRow> = self
            .store
            .db
            .fetch_all(
                query_as(OF_USER).bind(user.as_str()).bind(at).bind(id).bind(i64::from(limit)),
            )
            .await?;
        rows.into_iter().map(|row| self.known_key(row)).collect()
    }

    /// Returns a user's key, expired or not; `None` when they have none of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn key_of(&self, user: &UserId, id: &KeyId) -> Result<Option<Key>, StoreError> {
        // Reading locks nothing: the statement of SQLite serves both.
        let row: Option<KeyRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE_OF_USER.sqlite).bind(id.as_str()).bind(user.as_str()))
            .await?;
        row.map(|row| self.known_key(row)).transpose()
    }

    /// Deletes a key, and disables its webhooks. `false` when there is none of that id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn drop_key(&self, id: &KeyId, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let dropped = tx.execute(query(DROP).bind(id.as_str())).await?;
        end_webhooks_of(&mut tx, id, now).await?;
        tx.commit().await?;
        Ok(dropped > 0)
    }

    /// Deletes a key of that user, and disables its webhooks. `false` when there is none of that
    /// id.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn drop_key_of(
        &self,
        user: &UserId,
        id: &KeyId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // An id never changes its owner.
        if self.key_of(user, id).await?.is_none() {
            return Ok(false);
        }
        self.drop_key(id, now).await
    }

    /// Converts a row, with a last use of the key that was not in it yet.
    fn known_key(&self, row: KeyRow) -> Result<Key, StoreError> {
        let mut key = Key::try_from(row)?;
        key.last_used_at = key.last_used_at.max(self.store.uses.key(&key.id));
        Ok(key)
    }
}

async fn add_in(tx: &mut Tx, key: &NewKey<'_>, now: Timestamp) -> Result<Key, StoreError> {
    let scopes = serde_json::to_string(key.scopes)?;
    let channels = key.channels.map(serde_json::to_string).transpose()?;
    tx.execute(
        query(ADD)
            .bind(key.id.as_str())
            .bind(hash(key.secret))
            .bind(mask(key.secret))
            .bind(key.user.as_str())
            .bind(key.name)
            .bind(&scopes)
            .bind(&channels)
            .bind(key.not_before.map(Timestamp::millis))
            .bind(now.millis())
            .bind(key.expires_at.map(Timestamp::millis))
            .bind(key.pseudonyms.map(PseudonymKey::to_hex)),
    )
    .await?;
    Ok(Key {
        id: key.id.clone(),
        user: key.user.clone(),
        name: key.name.to_owned(),
        mask: mask(key.secret),
        scopes: key.scopes.to_vec(),
        channels: key.channels.map(<[_]>::to_vec),
        not_before: key.not_before,
        created_at: now,
        pseudonyms: key.pseudonyms.cloned(),
        expires_at: key.expires_at,
        last_used_at: None,
    })
}

/// Hashes keys and other random secrets. They have 206 bits of randomness, so a plain hash is
/// enough.
pub(crate) fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// Returns the last four characters of a secret, by which its owner recognizes it.
pub(crate) fn mask(secret: &str) -> String {
    let keep = secret.chars().count().saturating_sub(4);
    secret.chars().skip(keep).collect()
}

impl TryFrom<KeyRow> for Key {
    type Error = StoreError;

    fn try_from(row: KeyRow) -> Result<Self, StoreError> {
        let scopes = serde_json::from_str(&row.scopes).ok();
        let channels = row.channel_ids.as_deref().map(serde_json::from_str).transpose();
        let pseudonyms = row.pseudonym_secret.as_deref().map(|text| {
            let key = PseudonymKey::parse(text);
            parsed(key, "api_keys", "pseudonym_secret", &row.key_id)
        });
        Ok(Self {
            pseudonyms: pseudonyms.transpose()?,
            scopes: parsed(scopes, "api_keys", "scopes", &row.key_id)?,
            channels: parsed(channels.ok(), "api_keys", "channel_ids", &row.key_id)?,
            id: row.key_id.into(),
            user: row.user_id.into(),
            name: row.name,
            mask: row.mask,
            not_before: row.not_before.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: row.expires_at.map(Timestamp::from_millis),
            last_used_at: row.last_used_at.map(Timestamp::from_millis),
        })
    }
}

#[cfg(test)]
mod edge_tests;
