//! SQL statements of jobs, and their rows.

use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, locking};
use super::super::{StoreError, parsed};
use super::{ChannelJob, JobKind, JobStatus};
use crate::claims::{delay_after, interrupt};

#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct JobRow {
    id: String,
    channel_id: String,
    kind: String,
    user_id: String,
    sent_before: i64,
    created_by: String,
    created_at: i64,
    total: i64,
    done: i64,
    freed_bytes: i64,
    status: String,
    error: Option<String>,
    finished_at: Option<i64>,
}

/// Builds a statement that returns whole jobs.
macro_rules! jobs {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " id, channel_id, kind, user_id, sent_before, created_by, created_at, total, done,
              freed_bytes, status, error, finished_at ",
            $after
        )
    };
}

pub(super) const COUNT_OF_PERSON: &str = "
    SELECT COUNT(*) FROM messages WHERE channel_id = $1 AND sent_at < $2 AND sender_id = $3";
pub(super) const COUNT_BEFORE: &str =
    "SELECT COUNT(*) FROM messages WHERE channel_id = $1 AND sent_at < $2";
/// A running erasure takes on messages written since. A deletion is the same only with the same
/// time.
pub(super) const JOIN: &str = jobs!(
    "UPDATE channel_jobs
     SET sent_before = CASE WHEN sent_before < $4 THEN $4 ELSE sent_before END,
         total = done + $5
     WHERE channel_id = $1 AND kind = $2 AND user_id = $3 AND finished_at IS NULL
       AND (kind = 'erasure' OR sent_before = $4)
     RETURNING",
    ""
);
/// Selects the unfinished erasure of a person.
pub(super) const ERASURE: &str = jobs!(
    "SELECT",
    "FROM channel_jobs WHERE channel_id = $1 AND kind = 'erasure' AND user_id = $2
       AND finished_at IS NULL"
);
pub(super) const ADD: &str = jobs!(
    "INSERT INTO channel_jobs (id, channel_id, kind, user_id, sent_before, created_by, created_at,
                               total, claimed_by, claimed_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING",
    ""
);
pub(super) const IS_WAITING: &str = "
    SELECT COUNT(*) FROM (SELECT id FROM channel_jobs
                          WHERE finished_at IS NULL AND claimed_until <= $1 LIMIT 1) waiting";
/// Ends the claims of processes that have ended. A job says so after `$3` attempts in a row without
/// progress, and is tried again all the same.
pub(super) const INTERRUPT: Sql = interrupt!(
    "channel_jobs",
    "kind",
    ", error = CASE WHEN failures + interruptions + 1 >= $3 THEN $4 ELSE error END"
);
pub(super) const CLAIM: Sql = Sql {
    sqlite: jobs!(
        "UPDATE channel_jobs SET claimed_by = $1, claimed_until = $2, status = 'running'
         WHERE id = (SELECT id FROM channel_jobs
                     WHERE finished_at IS NULL AND claimed_until <= $3
                     ORDER BY claimed_until, created_at LIMIT 1)
         RETURNING",
        ""
    ),
    postgres: jobs!(
        "UPDATE channel_jobs SET claimed_by = $1, claimed_until = $2, status = 'running'
         WHERE id = (SELECT id FROM channel_jobs
                     WHERE finished_at IS NULL AND claimed_until <= $3
                     ORDER BY claimed_until, created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING",
        ""
    ),
};
/// The goal is read under the claim: the job may have taken on more. The lock keeps the claim for as
/// long as the batch takes.
pub(super) const GOAL: Sql = locking!(
    "SELECT sent_before FROM channel_jobs
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL"
);
/// Does not wait for a batch, which has the job locked and renews the claim itself.
pub(super) const RENEW: Sql = Sql {
    sqlite: "
        UPDATE channel_jobs SET claimed_until = $3
        WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL",
    postgres: "
        UPDATE channel_jobs SET claimed_until = $3
        WHERE id = (SELECT id FROM channel_jobs
                    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL
                    FOR UPDATE SKIP LOCKED)",
};
pub(super) const PROGRESS: &str = jobs!(
    "UPDATE channel_jobs
     SET done = done + $3, freed_bytes = freed_bytes + $4, claimed_until = $5, failures = 0,
         interruptions = 0, error = NULL, progress_at = $7,
         total = CASE WHEN $6 = 1 OR total < done + $3 THEN done + $3 ELSE total END,
         status = CASE WHEN $6 = 1 THEN 'done' ELSE 'running' END,
         finished_at = CASE WHEN $6 = 1 THEN $7 ELSE finished_at END
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL
     RETURNING",
    ""
);
pub(super) const RELEASE: &str = "
    UPDATE channel_jobs SET claimed_by = NULL, claimed_until = $3
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
/// The job is tried again, later each time.
pub(super) const FAIL: &str = concat!(
    "UPDATE channel_jobs
     SET claimed_by = NULL, failures = failures + 1,
         claimed_until = $3 + ",
    delay_after!("failures"),
    ",
         error = CASE WHEN failures + interruptions + 1 >= $4 THEN $5 ELSE error END
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL"
);
pub(super) const ONE: &str = jobs!("SELECT", "FROM channel_jobs WHERE channel_id = $1 AND id = $2");
pub(super) const PURGE: &str = "
    DELETE FROM channel_jobs WHERE id IN (
        SELECT id FROM channel_jobs WHERE finished_at IS NOT NULL AND finished_at < $1 LIMIT $2)";

impl TryFrom<JobRow> for ChannelJob {
    type Error = StoreError;

    fn try_from(row: JobRow) -> Result<Self, StoreError> {
        let kind = match row.kind.as_str() {
            "erasure" => Some(JobKind::Erasure(row.user_id.into())),
            "deletion" => Some(JobKind::Deletion),
            _ => None,
        };
        Ok(Self {
            kind: parsed(kind, "channel_jobs", "kind", &row.id)?,
            status: parsed(JobStatus::parse(&row.status), "channel_jobs", "status", &row.id)?,
            id: row.id,
            channel: row.channel_id.into(),
            sent_before: Timestamp::from_millis(row.sent_before),
            created_by: row.created_by.into(),
            created_at: Timestamp::from_millis(row.created_at),
            total: row.total,
            done: row.done,
            freed_bytes: row.freed_bytes,
            error: row.error,
            finished_at: row.finished_at.map(Timestamp::from_millis),
        })
    }
}
