//! Answers to requests that may be repeated (`Idempotency-Key`).
//!
//! A request runs under a claim of its key. The first transaction that it commits marks the claim,
//! and so does every later one: a request whose claim was given to another fails there, before it
//! changes anything, and one that died after it changed something is never run a second time.

use std::future::Future;

use sqlx::{query, query_as};

use super::db::{Sql, Tx, exec, locking, run};
use super::{Store, StoreError};
use crate::time::Timestamp;

/// A repeated request is recognised for this long, in milliseconds: a day.
const KEPT_MS: i64 = 86_400_000;
/// A request that has been running for longer than this died with its process, in milliseconds.
const LOST_MS: i64 = 120_000;
/// Old answers deleted at a time.
const SWEEP: i64 = 1_000;

/// Values of the column `progress`.
const CHANGED: i64 = 1;
const ENDED: i64 = 2;

/// A request that its caller gave a key.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The right to run a request with a key, until another request takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyClaim {
    key: IdempotencyKey,
    /// Tells it from a later claim of the same key.
    created_at: i64,
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// Nothing: it is the first, and now taken.
    First(IdempotencyClaim),
    /// The first one still runs.
    Running,
    /// The first one changed something and ended without an answer.
    Interrupted,
    /// The key stands for another request.
    Other,
    /// The first one was answered.
    Answered {
        /// With this HTTP status.
        status: u16,
        /// And this answer, as it was given to [`Store::finish_idempotency`].
        answer: String,
    },
}

#[derive(Debug, sqlx::FromRow)]
struct KnownRow {
    request: String,
    status: Option<i64>,
    answer: Option<String>,
    progress: i64,
    created_at: i64,
}

const FORGET: &str = "
    DELETE FROM idempotency WHERE owner = $1 AND route = $2 AND key_hash = $3
      AND (created_at < $4 OR (status IS NULL AND progress = 0 AND created_at < $5))";
const CLAIM: &str = "
    INSERT INTO idempotency (owner, route, key_hash, request, created_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (owner, route, key_hash) DO NOTHING";
const KNOWN: Sql = locking!(
    "SELECT request, status, answer, progress, created_at FROM idempotency
     WHERE owner = $1 AND route = $2 AND key_hash = $3"
);
const MARK: &str = "
    UPDATE idempotency SET progress = 1
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL";
const FINISH: &str = "
    UPDATE idempotency SET status = $5, answer = $6
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4";
const RELEASE: &str = "
    DELETE FROM idempotency
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL";
const RELEASE_UNCHANGED: &str = "
    DELETE FROM idempotency
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL
      AND progress = 0";
const END: &str = "
    UPDATE idempotency SET progress = 2
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL";
const PURGE: &str = "
    DELETE FROM idempotency WHERE (owner, route, key_hash) IN (
        SELECT owner, route, key_hash FROM idempotency WHERE created_at < $1 LIMIT $2)";

tokio::task_local! {
    /// The claim under which the present task changes the store.
    static RUNNING: IdempotencyClaim;
}

/// Binds what names a claim to `$1` to `$4` of a statement, and runs it.
macro_rules! exec_claim {
    ($tx:expr, $claim:expr, $sql:expr $(, $more:expr)*) => {{
        let IdempotencyClaim { key, created_at } = $claim;
        exec!(
            $tx,
            query($sql).bind(&key.owner).bind(&key.route).bind(&key.key_hash).bind(created_at)
                $(.bind($more))*
        )
    }};
}

impl IdempotencyClaim {
    /// Runs `work` under this claim: every transaction that it commits in this task marks the
    /// claim, and fails with [`StoreError::ClaimLost`] if another request has taken it over.
    pub async fn run<F: Future>(self, work: F) -> F::Output {
        RUNNING.scope(self, work).await
    }
}

/// Marks the claim that this task works under, if any, as one that changed something.
pub(super) async fn mark_claim(tx: &mut Tx) -> Result<(), StoreError> {
    let Ok(claim) = RUNNING.try_with(Clone::clone) else {
        return Ok(());
    };
    let marked = exec_claim!(tx, &claim, MARK)?;
    if marked == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

impl Store {
    /// Takes a request's key, or tells what became of the first request with it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn claim_idempotency(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Repeated, StoreError> {
        let (owner, route, hash) = (&key.owner, &key.route, &key.key_hash);
        let (now, lost) = (now.millis(), now.millis() - LOST_MS);
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let old = now - KEPT_MS;
        exec!(tx_ref, query(FORGET).bind(owner).bind(route).bind(hash).bind(old).bind(lost))?;
        let taken = exec!(
            tx_ref,
            query(CLAIM).bind(owner).bind(route).bind(hash).bind(&key.request).bind(now)
        )?;
        let known: Option<KnownRow> = if taken > 0 {
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
            Some(row) => row.into_repeated(&key.request, lost),
            // Gone between the two statements: whoever had it has just freed it.
            None if taken == 0 => Repeated::Running,
            None => Repeated::First(IdempotencyClaim { key: key.clone(), created_at: now }),
        })
    }

    /// Keeps the answer to a request.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn finish_idempotency(
        &self,
        claim: &IdempotencyClaim,
        status: u16,
        answer: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec_claim!(tx_ref, claim, FINISH, i64::from(status), answer)?;
        tx.commit().await
    }

    /// Frees the key of a request that was refused.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn release_idempotency(&self, claim: &IdempotencyClaim) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec_claim!(tx_ref, claim, RELEASE)?;
        tx.commit().await
    }

    /// Frees the key of a request that ended without an answer to repeat, if it changed nothing;
    /// otherwise the key stays taken. Says whether it is free.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn abandon_idempotency(&self, claim: &IdempotencyClaim) -> Result<bool, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let freed = exec_claim!(tx_ref, claim, RELEASE_UNCHANGED)?;
        if freed == 0 {
            exec_claim!(tx_ref, claim, END)?;
        }
        tx.commit().await?;
        Ok(freed > 0)
    }

    /// Deletes some of the answers that are too old to be repeated. Says how many.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn purge_idempotency(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let gone = exec!(tx_ref, query(PURGE).bind(now.millis() - KEPT_MS).bind(SWEEP))?;
        tx.commit().await?;
        Ok(gone)
    }
}

impl KnownRow {
    /// What became of it, for a request with that hash; what began before `lost` runs no more.
    fn into_repeated(self, request: &str, lost: i64) -> Repeated {
        if self.request != request {
            return Repeated::Other;
        }
        if let (Some(status), Some(answer)) = (self.status, self.answer) {
            return Repeated::Answered {
                status: u16::try_from(status).unwrap_or_default(),
                answer,
            };
        }
        let dead = self.progress == CHANGED && self.created_at < lost;
        if dead || self.progress == ENDED { Repeated::Interrupted } else { Repeated::Running }
    }
}
