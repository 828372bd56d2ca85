//! Stored responses to repeatable requests (`Idempotency-Key`).
//!
//! A request runs under a claim of its key. The first transaction that it commits marks the claim,
//! and so does every later one: a request that lost its claim to another fails there, before it
//! changes anything, and one that died after a change is never run a second time.

use std::future::Future;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::{DAY, Timestamp};

use super::db::{Sql, Tx, locking};
use super::{IdempotencyStore, StoreError};
use crate::query::{Query, query, query_as};

/// Retention of an idempotency key.
const RETENTION: Duration = DAY;
/// Running time after which a request counts as dead with its process.
const MAX_RUNNING_TIME: Duration = Duration::from_mins(2);
/// Batch size for the deletion of old responses.
const SWEEP: i64 = 1_000;

/// Values of the column `progress`.
const CHANGED: i64 = 1;
const ENDED: i64 = 2;

/// Idempotency key of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Owner of the key: the API key or the person.
    pub owner: String,
    /// Called route.
    pub route: String,
    /// Hash of the key.
    pub key_hash: String,
    /// Hash of the whole request.
    pub request: String,
}

/// Right to run a request with a key, until another request takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyClaim {
    key: IdempotencyKey,
    /// Distinguishes it from a later claim of the same key.
    created_at: i64,
}

/// State of a request with a repeated key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdempotencyState {
    /// First request with the key, which is now claimed.
    First(IdempotencyClaim),
    /// The first request still runs.
    Running,
    /// The first request changed something and ended without a response.
    Interrupted,
    /// The key belongs to another request.
    Other,
    /// The first request has a response.
    Answered {
        /// HTTP status of the response.
        status: u16,
        /// Response as given to
        /// [`IdempotencyStore::finish_idempotency`](crate::IdempotencyStore::finish_idempotency).
        answer: String,
    },
}

#[derive(Debug, sqlx_macros::FromRow)]
struct ExistingRow {
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
const EXISTING: Sql = locking!(
    "SELECT request, status, answer, progress, created_at FROM idempotency
     WHERE owner = $1 AND route = $2 AND key_hash = $3"
);
const MARK: &str = "
    UPDATE idempotency SET progress = 1
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL";
const FINISH: &str = "
    UPDATE idempotency SET status = $5, answer = $6
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4";
const RELEASE_UNCHANGED: &str = "
    DELETE FROM idempotency
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL
      AND progress = 0";
const END: &str = "
    UPDATE idempotency SET progress = 2
    WHERE owner = $1 AND route = $2 AND key_hash = $3 AND created_at = $4 AND status IS NULL";
const RELEASE_ALL: &str = "DELETE FROM idempotency WHERE status IS NULL AND progress = 0";
const END_ALL: &str = "UPDATE idempotency SET progress = 2 WHERE status IS NULL AND progress = 1";
const PURGE: &str = "
    DELETE FROM idempotency WHERE (owner, route, key_hash) IN (
        SELECT owner, route, key_hash FROM idempotency WHERE created_at < $1 LIMIT $2)";

tokio::task_local! {
    /// Claim under which the current task changes the store.
    static RUNNING: IdempotencyClaim;
}

/// Binds the key of a claim to `$1` to `$4` of a statement.
fn of_claim<'q>(sql: &'static str, claim: &'q IdempotencyClaim) -> Query<'q> {
    let IdempotencyClaim { key, created_at } = claim;
    query(sql).bind(&key.owner).bind(&key.route).bind(&key.key_hash).bind(created_at)
}

impl IdempotencyClaim {
    /// Runs `work` under this claim: every transaction that it commits in this task marks the
    /// claim, and fails with [`StoreError::ClaimLost`] if another request has taken it over.
    pub async fn run<F: Future>(self, work: F) -> F::Output {
        RUNNING.scope(self, work).await
    }
}

/// Marks the claim of this task, if any, as one that changed something.
pub(super) async fn mark_claim(tx: &mut Tx) -> Result<(), StoreError> {
    let Ok(claim) = RUNNING.try_with(Clone::clone) else {
        return Ok(());
    };
    let marked = tx.execute(of_claim(MARK, &claim)).await?;
    if marked == 0 { Err(StoreError::ClaimLost) } else { Ok(()) }
}

impl IdempotencyStore<'_> {
    /// Claims a request's key, or returns the state of the first request with it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_idempotency(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<IdempotencyState, StoreError> {
        let (owner, route, hash) = (&key.owner, &key.route, &key.key_hash);
        let (old, lost) = (now.minus(RETENTION).millis(), now.minus(MAX_RUNNING_TIME).millis());
        let now = now.millis();
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(FORGET).bind(owner).bind(route).bind(hash).bind(old).bind(lost)).await?;
        let taken = tx
            .execute(query(CLAIM).bind(owner).bind(route).bind(hash).bind(&key.request).bind(now))
            .await?;
        let known: Option<ExistingRow> = if taken > 0 {
            None
        } else {
            tx.fetch_optional(query_as(EXISTING).bind(owner).bind(route).bind(hash)).await?
        };
        tx.commit().await?;
        Ok(match known {
            Some(row) => row.into_repeated(&key.request, lost),
            // Gone between the two statements: its holder has just released it.
            None if taken == 0 => IdempotencyState::Running,
            None => IdempotencyState::First(IdempotencyClaim { key: key.clone(), created_at: now }),
        })
    }

    /// Stores the response to a request; releases the key of one that changed nothing, which is run
    /// again: its response may show what is erased by then.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn finish_idempotency(
        &self,
        claim: &IdempotencyClaim,
        status: u16,
        answer: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        if tx.execute(of_claim(RELEASE_UNCHANGED, claim)).await? == 0 {
            tx.execute(of_claim(FINISH, claim).bind(i64::from(status)).bind(answer)).await?;
        }
        tx.commit().await
    }

    /// Releases the key of a request that ended without a repeatable response, if it changed
    /// nothing; otherwise the key stays taken. Returns `true` if it is free.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn abandon_idempotency(&self, claim: &IdempotencyClaim) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let freed = tx.execute(of_claim(RELEASE_UNCHANGED, claim)).await?;
        if freed == 0 {
            tx.execute(of_claim(END, claim)).await?;
        }
        tx.commit().await?;
        Ok(freed > 0)
    }

    /// Ends all requests without a response as those of dead processes: releases the keys of those that
    /// changed nothing. For a process that is the only one; a request that runs all the same changes
    /// nothing more, or gets its response in the end.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_dead_requests(&self) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RELEASE_ALL)).await?;
        tx.execute(query(END_ALL)).await?;
        tx.commit().await
    }

    /// Deletes a batch of the expired responses. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_idempotency(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone = tx.execute(query(PURGE).bind(now.minus(RETENTION).millis()).bind(SWEEP)).await?;
        tx.commit().await?;
        Ok(gone)
    }
}

impl ExistingRow {
    /// Converts to the state for a request with that hash; a run begun before `lost` is dead.
    fn into_repeated(self, request: &str, lost: i64) -> IdempotencyState {
        if self.request != request {
            return IdempotencyState::Other;
        }
        if let (Some(status), Some(answer)) = (self.status, self.answer) {
            return IdempotencyState::Answered {
                status: u16::try_from(status).unwrap_or_default(),
                answer,
            };
        }
        let dead = self.progress == CHANGED && self.created_at < lost;
        if dead || self.progress == ENDED {
            IdempotencyState::Interrupted
        } else {
            IdempotencyState::Running
        }
    }
}
