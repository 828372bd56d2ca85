//! Limits on the number of a user's keys, and deletion of long-ended ones.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;

use super::super::db::Tx;
use super::super::{KeyStore, StoreError};
use crate::query::{query, query_as};

/// Maximum number of working keys of a user. A replaced key with an existing successor does not
/// count while its overlap lasts, and of each line of replacements only one such works.
pub const KEYS_OF_USER: usize = 50;
/// Maximum number of a user's ended keys retained for them to see: else keys that end after a
/// second could be created without end.
const ENDED_OF_USER: i64 = 100;
/// Retention of ended keys.
const RETENTION: Duration = Duration::from_hours(24 * 30);

const COUNT: &str = "
    SELECT COUNT(*) FROM api_keys k
    WHERE k.user_id = $1 AND (k.expires_at IS NULL OR k.expires_at > $2)
      AND NOT EXISTS (SELECT 1 FROM api_keys s WHERE s.key_id = k.replaced_by)";
const TRIM: &str = "
    DELETE FROM api_keys WHERE key_id IN (
        SELECT key_id FROM api_keys WHERE user_id = $1 AND expires_at <= $2
        ORDER BY expires_at DESC, key_id LIMIT 100000 OFFSET $3)";
const PURGE: &str = "
    DELETE FROM api_keys WHERE key_id IN (
        SELECT key_id FROM api_keys WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

/// Room for one more key of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAllowance {
    /// There is room.
    Free,
    /// The maximum is reached.
    Full,
}

/// Returns the room of a user with a locked row for one more key. The oldest surplus ended keys are
/// deleted.
pub(super) async fn room_of(
    tx: &mut Tx,
    user: &UserId,
    now: Timestamp,
) -> Result<KeyAllowance, StoreError> {
    trim_ended(tx, user, now).await?;
    let (user, now) = (user.as_str(), now.millis());
    let (count,): (i64,) = tx.fetch_one(query_as(COUNT).bind(user).bind(now)).await?;
    let full = usize::try_from(count).unwrap_or(usize::MAX) >= KEYS_OF_USER;
    Ok(if full { KeyAllowance::Full } else { KeyAllowance::Free })
}

/// Deletes the oldest surplus ended keys of a user with a locked row.
pub(super) async fn trim_ended(
    tx: &mut Tx,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let trim = query(TRIM).bind(user.as_str()).bind(now.millis()).bind(ENDED_OF_USER);
    tx.execute(trim).await?;
    Ok(())
}

impl KeyStore<'_> {
    /// Deletes keys that ended 30 days ago, at most `limit`; their webhooks were disabled when they
    /// ended ([`WebhookStore::end_webhooks`](crate::WebhookStore::end_webhooks)). Returns their
    /// number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_keys(&self, limit: u32, now: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let before = now.minus(RETENTION).millis();
        let gone = tx.execute(query(PURGE).bind(before).bind(i64::from(limit))).await?;
        tx.commit().await?;
        Ok(gone)
    }
}
