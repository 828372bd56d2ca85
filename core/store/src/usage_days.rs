//! Usage of a user over time: what they used at the end of each day on which it changed.
//!
//! A row is written in the transaction that changes `users.used_bytes`, so the newest row of a user
//! has the present value, and a day without a row has the value of the day before.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;

use super::db::Tx;
use super::members::UserKey;
use super::{AccountStore, StoreError};
use crate::query::{query, query_as};

/// Saves what users use as the value of a day. A process whose clock is behind writes into the
/// newest one.
const SAVE: &str = "
    INSERT INTO usage_days (user_id, day, bytes)
    SELECT u.user_id,
           COALESCE((SELECT MAX(d.day) FROM usage_days d
                     WHERE d.user_id = u.user_id AND d.day > $2), $2),
           u.used_bytes
    FROM users u WHERE u.user_id IN (SELECT value ->> 'u' FROM json_each($1))
    ON CONFLICT (user_id, day) DO UPDATE SET bytes = excluded.bytes";

const OF_USER: &str = "
    SELECT day, bytes FROM usage_days
    WHERE user_id = $1
      AND day >= COALESCE((SELECT MAX(d.day) FROM usage_days d
                           WHERE d.user_id = $1 AND d.day <= $2), $2)
    ORDER BY day";

/// Deletes days before a time, but for the last one: its value holds until the next one.
const PURGE: &str = "
    DELETE FROM usage_days WHERE (user_id, day) IN (
        SELECT o.user_id, o.day FROM usage_days o
        WHERE o.day < $1
          AND EXISTS (SELECT 1 FROM usage_days n
                      WHERE n.user_id = o.user_id AND n.day > o.day AND n.day <= $1)
        ORDER BY o.day LIMIT $2)";

const DELETE_LATER: &str = "DELETE FROM usage_days WHERE day > $1 RETURNING user_id";

/// Usage at the end of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayUsage {
    /// Start of the day in UTC.
    pub day: Timestamp,
    /// Used bytes of the quota.
    pub bytes: i64,
}

impl AccountStore<'_> {
    /// Returns a user's usage on the days on which it changed, oldest first: from `since` on, and
    /// the last day before.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn usage_days(
        &self,
        user: &UserId,
        since: Timestamp,
    ) -> Result<Vec<DayUsage>, StoreError> {
        let days = query_as(OF_USER).bind(user.as_str()).bind(since.millis());
        let rows: Vec<(i64, i64)> = self.store.db.fetch_all(days).await?;
        let day = |(day, bytes)| DayUsage { day: Timestamp::from_millis(day), bytes };
        Ok(rows.into_iter().map(day).collect())
    }

    /// Deletes a batch of the days before `before` whose value no later day needs. Returns their
    /// number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_usage_days(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.store.sweep(PURGE, before).await
    }
}

/// Records the present usage of users, an array of objects with their id as `u`.
pub(super) async fn save_usage(tx: &mut Tx, users: &str, now: Timestamp) -> Result<(), StoreError> {
    let day = now.utc_day().millis();
    tx.execute(query(SAVE).bind(users).bind(day)).await?;
    Ok(())
}

/// Deletes the days after `beyond`, which a clock that was ahead wrote, and records the present usage
/// of their users. Returns their number.
pub(super) async fn reset_later_days(
    tx: &mut Tx,
    beyond: Timestamp,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let later: Vec<(String,)> = tx.fetch_all(query_as(DELETE_LATER).bind(beyond.millis())).await?;
    let users: BTreeSet<&str> = later.iter().map(|(user,)| user.as_str()).collect();
    let keys: Vec<_> = users.into_iter().map(|u| UserKey { u }).collect();
    save_usage(tx, &serde_json::to_string(&keys)?, now).await?;
    Ok(later.len() as u64)
}
