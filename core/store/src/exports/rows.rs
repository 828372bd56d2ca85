//! SQL statements of exports, and their rows.

use chatkeep_core::time::Timestamp;

use super::super::db::Sql;
use super::super::{JobStatus, StoreError, parsed};
use super::ExportJob;
use super::part_rows::is_outdated;
use crate::claims::interrupt;

#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct ExportRow {
    id: String,
    channel_id: String,
    created_by: String,
    created_at: i64,
    format: String,
    sent_from: Option<i64>,
    sent_before: i64,
    not_before: Option<i64>,
    time_zone: String,
    language: String,
    total: i64,
    done: i64,
    status: String,
    error: Option<String>,
    finished_at: Option<i64>,
    expires_at: Option<i64>,
    bytes: i64,
    interruptions: i64,
    is_outdated: i64,
}

/// Row of an export to delete.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct DroppedRow {
    pub(super) id: String,
    pub(super) channel_id: String,
}

/// Builds a statement that returns whole exports.
macro_rules! exports {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " id, channel_id, created_by, created_at, format, sent_from, sent_before, not_before,
              time_zone, language, total, done, status, error, finished_at, expires_at,
              interruptions,
              (SELECT CAST(COALESCE(SUM(p.bytes), 0) AS BIGINT) FROM export_parts p
               WHERE p.export_id = exports.id) AS bytes,
              CAST(CASE WHEN status = 'done' AND EXISTS (
                       SELECT 1 FROM export_parts p WHERE p.export_id = exports.id AND ",
            is_outdated!(),
            ") THEN 1 ELSE 0 END AS BIGINT) AS is_outdated ",
            $after
        )
    };
}

pub(super) const ADD: &str = exports!(
    "INSERT INTO exports (id, channel_id, created_by, created_at, format, sent_from, sent_before,
                          not_before, time_zone, language, total)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING",
    ""
);
/// The export of a person that is to be completed for the first time and has what was asked for. One
/// of all messages until its request has them whenever that was.
pub(super) const REQUESTED: &str = exports!(
    "SELECT",
    "FROM exports
     WHERE channel_id = $1 AND created_by = $2 AND finished_at IS NULL AND expires_at IS NULL
       AND format = $3 AND time_zone = $4 AND language = $5
       AND sent_from IS NOT DISTINCT FROM $6 AND not_before IS NOT DISTINCT FROM $7
       AND sent_before = CASE WHEN $8 = $9 THEN created_at ELSE $8 END
     ORDER BY created_at LIMIT 1"
);
/// Exports of a person beyond the newest ones.
pub(super) const SURPLUS: &str = "
    SELECT id, channel_id FROM exports WHERE channel_id = $1 AND created_by = $2 AND id <> $4
    ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $3";
pub(super) const IS_WAITING: &str = "
    SELECT COUNT(*) FROM (SELECT id FROM exports
                          WHERE finished_at IS NULL AND claimed_until <= $1 LIMIT 1) waiting";
/// Ends the claims of processes that have ended. An export that ends them `$3` times in a row has
/// failed.
pub(super) const INTERRUPT: Sql = interrupt!(
    "exports",
    "'export'",
    ", status = CASE WHEN interruptions + 1 >= $3 THEN 'failed' ELSE status END,
       error = CASE WHEN interruptions + 1 >= $3 THEN $4 ELSE error END,
       finished_at = CASE WHEN interruptions + 1 >= $3 THEN $2 ELSE finished_at END,
       expires_at = CASE WHEN interruptions + 1 >= $3 THEN COALESCE(expires_at, $5)
                         ELSE expires_at END"
);
pub(super) const CLAIM: Sql = Sql {
    sqlite: exports!(
        "UPDATE exports SET claimed_by = $1, claimed_until = $2, status = 'running'
         WHERE id = (SELECT id FROM exports WHERE finished_at IS NULL AND claimed_until <= $3
                     ORDER BY claimed_until, created_at LIMIT 1)
         RETURNING",
        ""
    ),
    postgres: exports!(
        "UPDATE exports SET claimed_by = $1, claimed_until = $2, status = 'running'
         WHERE id = (SELECT id FROM exports WHERE finished_at IS NULL AND claimed_until <= $3
                     ORDER BY claimed_until, created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING",
        ""
    ),
};
/// A claim that was renewed while this one waited for its locks lasts as long as it did.
pub(super) const RENEW: &str = "
    UPDATE exports SET claimed_until = CASE WHEN claimed_until < $3 THEN $3 ELSE claimed_until END
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
pub(super) const PROGRESS: &str = exports!(
    "UPDATE exports
     SET done = (SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT) FROM export_parts
                 WHERE export_id = $1 AND sha256 IS NOT NULL),
         claimed_until = CASE WHEN claimed_until < $3 THEN $3 ELSE claimed_until END,
         failures = 0, interruptions = 0, progress_at = $4
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL
     RETURNING",
    ""
);
pub(super) const FINISH: &str = exports!(
    "UPDATE exports
     SET status = 'done', total = done, finished_at = $3, claimed_by = NULL, claimed_until = 0,
         failures = 0, interruptions = 0, expires_at = COALESCE(expires_at, $4)
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL
     RETURNING",
    ""
);
pub(super) const RELEASE: &str = "
    UPDATE exports SET claimed_by = NULL, claimed_until = $3
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
pub(super) const FAIL: &str = "
    UPDATE exports
    SET claimed_by = NULL, claimed_until = $3, failures = failures + 1,
        status = CASE WHEN failures + 1 >= $4 THEN 'failed' ELSE status END,
        error = CASE WHEN failures + 1 >= $4 THEN $5 ELSE error END,
        finished_at = CASE WHEN failures + 1 >= $4 THEN $6 ELSE finished_at END,
        expires_at = CASE WHEN failures + 1 >= $4 THEN COALESCE(expires_at, $7) ELSE expires_at END
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
pub(super) const ONE: &str = exports!("SELECT", "FROM exports WHERE channel_id = $1 AND id = $2");
pub(super) const OF_PERSON: &str = exports!(
    "SELECT",
    "FROM exports WHERE channel_id = $1 AND created_by = $2 ORDER BY created_at DESC, id DESC"
);
/// Exports whose time is over, and those that could not be completed for as long.
pub(super) const EXPIRED: &str = "
    SELECT id, channel_id FROM exports
    WHERE expires_at <= $1 OR (expires_at IS NULL AND created_at <= $2)
    ORDER BY id LIMIT $3";

/// A completed export waits for a while: more changes may come.
pub(super) const REOPEN: &str = "
    UPDATE exports
    SET done = (SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT) FROM export_parts
                WHERE export_id = exports.id AND sha256 IS NOT NULL),
        claimed_until = CASE WHEN status = 'done' THEN $2 ELSE claimed_until END,
        progress_at = CASE WHEN status = 'done' THEN $2 ELSE progress_at END,
        finished_at = CASE WHEN status = 'done' THEN NULL ELSE finished_at END,
        status = CASE WHEN status = 'done' THEN 'pending' ELSE status END
    WHERE id IN (SELECT value ->> 'e' FROM json_each($1))";

impl TryFrom<ExportRow> for ExportJob {
    type Error = StoreError;

    fn try_from(row: ExportRow) -> Result<Self, StoreError> {
        let status = parsed(JobStatus::parse(&row.status), "exports", "status", &row.id)?;
        // A worker is about to find out.
        let is_outdated = row.is_outdated != 0;
        Ok(Self {
            status: if is_outdated { JobStatus::Pending } else { status },
            id: row.id,
            channel: row.channel_id.into(),
            created_by: row.created_by.into(),
            created_at: Timestamp::from_millis(row.created_at),
            format: row.format,
            from: row.sent_from.map(Timestamp::from_millis),
            before: Timestamp::from_millis(row.sent_before),
            not_before: row.not_before.map(Timestamp::from_millis),
            time_zone: row.time_zone,
            language: row.language,
            total: row.total,
            done: row.done,
            error: row.error,
            finished_at: row.finished_at.filter(|_| !is_outdated).map(Timestamp::from_millis),
            expires_at: row.expires_at.map(Timestamp::from_millis),
            bytes: row.bytes,
            interruptions: row.interruptions,
        })
    }
}
