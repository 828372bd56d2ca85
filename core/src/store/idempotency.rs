//! Answers to requests that may be repeated (contract section 1, `Idempotency-Key`).

use sqlx::{query, query_as};

use super::db::{Sql, exec, locking, run};
use super::{Store, StoreError};
use crate::time::Timestamp;

/// A repeated request is recognised for this long, in milliseconds: a day.
const KEPT_MS: i64 = 86_400_000;
/// A request that has been running for longer than this died with its process, in milliseconds.
const LOST_MS: i64 = 120_000;
/// Old answers deleted at a time.
const SWEEP: i64 = 1_000;

/// A request that its caller gave a key.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    /// Whose key it is: names the API key or the person.
    pub owner: String,
    /// The route that was called.
    pub route: String,
    /// Hash of the key.
    pub key_hash: String,
    /// Hash of the whole request.
    pub request: String,
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// Nothing: it is the first, and now taken.
    First,
    /// The first one still runs.
    Running,
    /// The key stands for another request.
    Other,
    /// The first one was answered.
    Answered {
        /// With this HTTP status.
        status: u16,
        /// And this body, as it was given to [`Store::finish_idempotency`].
        answer: String,
    },
}

const FORGET: &str = "
    DELETE FROM idempotency WHERE owner = $1 AND route = $2 AND key_hash = $3
      AND (created_at < $4 OR (status IS NULL AND created_at < $5))";
const CLAIM: &str = "
    INSERT INTO idempotency (owner, route, key_hash, request, created_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (owner, route, key_hash) DO NOTHING";
const KNOWN: Sql = locking!(
    "SELECT request, status, answer FROM idempotency
     WHERE owner = $1 AND route = $2 AND key_hash = $3"
);
const FINISH: &str = "
    UPDATE idempotency SET status = $4, answer = $5
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND request = $6";
const RELEASE: &str = "
    DELETE FROM idempotency
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND status IS NULL";
const PURGE: &str = "
    DELETE FROM idempotency WHERE (owner, route, key_hash) IN (
        SELECT owner, route, key_hash FROM idempotency WHERE created_at < $1 LIMIT $2)";

impl Store {
    /// Takes a request's key, or tells what became of the first request with it.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn claim_idempotency(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Repeated, StoreError> {
        let (owner, route, hash) = (&key.owner, &key.route, &key.key_hash);
        let (old, lost) = (now.millis() - KEPT_MS, now.millis() - LOST_MS);
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(tx_ref, query(FORGET).bind(owner).bind(route).bind(hash).bind(old).bind(lost))?;
        let taken = exec!(
            tx_ref,
            query(CLAIM).bind(owner).bind(route).bind(hash).bind(&key.request).bind(now.millis())
        )?;
        let known: Option<(String, Option<i64>, Option<String>)> = if taken > 0 {
            None
        } else {
            run!(tx_ref, KNOWN, |sql, c| query_as(sql)
                .bind(owner)
                .bind(route)
                .bind(hash)
                .fetch_optional(c))?
        };
        tx.commit().await?;
        Ok(match known {
            None => Repeated::First,
            Some((request, _, _)) if request != key.request => Repeated::Other,
            Some((_, Some(status), Some(answer))) => {
                Repeated::Answered { status: u16::try_from(status).unwrap_or_default(), answer }
            }
            Some(_) => Repeated::Running,
        })
    }

    /// Keeps the answer to a request.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn finish_idempotency(
        &self,
        key: &IdempotencyKey,
        status: u16,
        answer: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(
            tx_ref,
            query(FINISH)
                .bind(&key.owner)
                .bind(&key.route)
                .bind(&key.key_hash)
                .bind(i64::from(status))
                .bind(answer)
                .bind(&key.request)
        )?;
        tx.commit().await
    }

    /// Frees the key of a request that came to nothing.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn release_idempotency(&self, key: &IdempotencyKey) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(tx_ref, query(RELEASE).bind(&key.owner).bind(&key.route).bind(&key.key_hash))?;
        tx.commit().await
    }

    /// Deletes some of the answers that are too old to be repeated. Says how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn purge_idempotency(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let gone = exec!(tx_ref, query(PURGE).bind(now.millis() - KEPT_MS).bind(SWEEP))?;
        tx.commit().await?;
        Ok(gone)
    }
}
