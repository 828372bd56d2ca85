//! SQL statements of exports, and their rows.

use chatkeep_core::blob::BlobId;
use chatkeep_core::id::MessageId;
use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, locking};
use super::super::{JobStatus, StoreError, parsed};
use super::{ExportJob, ExportKeyset, PartBlob};

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
}

/// Row of a part that is to be written.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct UnwrittenRow {
    pub(super) part: i64,
    after_at: Option<i64>,
    after_id: Option<String>,
    last_at: i64,
    last_id: String,
    pub(super) is_last: i64,
    /// Number of messages in the parts before it.
    pub(super) messages_before: i64,
}

/// Row of the last part so far.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct LastRow {
    pub(super) part: i64,
    last_at: i64,
    last_id: String,
    pub(super) is_last: i64,
}

/// Row of a part with its file.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct PartRow {
    part: i64,
    is_last: i64,
    sha256: Option<String>,
    bytes: i64,
}

/// Row of a part and its file.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct PartFileRow {
    pub(super) export_id: String,
    pub(super) part: i64,
    pub(super) sha256: Option<String>,
}

/// Row of a part that may contain a message, with its times.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct SpanRow {
    pub(super) export_id: String,
    pub(super) part: i64,
    pub(super) sha256: Option<String>,
    pub(super) channel_id: String,
    pub(super) after_at: Option<i64>,
    pub(super) last_at: i64,
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
              (SELECT CAST(COALESCE(SUM(p.bytes), 0) AS BIGINT) FROM export_parts p
               WHERE p.export_id = exports.id) AS bytes ",
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
/// Exports of a person beyond the newest ones.
pub(super) const SURPLUS: &str = "
    SELECT id, channel_id FROM exports WHERE channel_id = $1 AND created_by = $2 AND id <> $4
    ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $3";
pub(super) const IS_WAITING: &str = "
    SELECT COUNT(*) FROM (SELECT id FROM exports
                          WHERE finished_at IS NULL AND claimed_until <= $1 LIMIT 1) waiting";
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
pub(super) const RENEW: &str = "
    UPDATE exports SET claimed_until = $3
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
pub(super) const PROGRESS: &str = exports!(
    "UPDATE exports
     SET done = (SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT) FROM export_parts
                 WHERE export_id = $1 AND sha256 IS NOT NULL),
         claimed_until = $3, failures = 0
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL
     RETURNING",
    ""
);
pub(super) const FINISH: &str = exports!(
    "UPDATE exports
     SET status = 'done', total = done, finished_at = $3, claimed_by = NULL, claimed_until = 0,
         failures = 0, expires_at = COALESCE(expires_at, $4)
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

pub(super) const UNWRITTEN: &str = "
    SELECT part, after_at, after_id, last_at, last_id, is_last,
           (SELECT CAST(COALESCE(SUM(b.messages), 0) AS BIGINT) FROM export_parts b
            WHERE b.export_id = p.export_id AND b.part < p.part) AS messages_before
    FROM export_parts p WHERE export_id = $1 AND sha256 IS NULL ORDER BY part LIMIT 1";
pub(super) const LAST: &str = "
    SELECT part, last_at, last_id, is_last FROM export_parts
    WHERE export_id = $1 ORDER BY part DESC LIMIT 1";
pub(super) const ADD_PART: &str = "
    INSERT INTO export_parts (export_id, part, channel_id, after_at, after_id, last_at, attempt)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
/// Number of messages that a part had when it was written before.
pub(super) const MESSAGES_OF: &str =
    "SELECT messages FROM export_parts WHERE export_id = $1 AND part = $2";
pub(super) const ATTEMPT: &str =
    "UPDATE export_parts SET attempt = $3 WHERE export_id = $1 AND part = $2";
pub(super) const ATTEMPTED: Sql =
    locking!("SELECT part FROM export_parts WHERE export_id = $1 AND part = $2 AND attempt = $3");
pub(super) const WRITTEN: &str = "
    UPDATE export_parts
    SET attempt = NULL, sha256 = $3, bytes = $4, messages = $5, last_at = $6, last_id = $7,
        is_last = $8
    WHERE export_id = $1 AND part = $2";
pub(super) const PARTS: &str = "
    SELECT part, is_last, sha256, bytes FROM export_parts WHERE export_id = $1 ORDER BY part";
pub(super) const IS_CURRENT: &str =
    "SELECT COUNT(*) FROM export_parts WHERE export_id = $1 AND part = $2 AND sha256 = $3";

pub(super) const HAS: &str = "SELECT COUNT(*) FROM exports WHERE id = $1";
pub(super) const PARTS_OF: Sql = locking!(
    "SELECT export_id, part, sha256 FROM export_parts
     WHERE export_id IN (SELECT value ->> 'e' FROM json_each($1)) ORDER BY export_id, part"
);
pub(super) const DROP_PARTS: &str = "
    DELETE FROM export_parts WHERE export_id IN (SELECT value ->> 'e' FROM json_each($1))";
pub(super) const DROP: &str = "
    DELETE FROM exports WHERE id IN (SELECT value ->> 'e' FROM json_each($1))";

/// Parts that may contain messages sent in these times. They are locked: a file that is stored
/// meanwhile is not overlooked.
pub(super) const AFFECTED: Sql = locking!(
    "SELECT p.export_id, p.part, p.sha256, p.channel_id, p.after_at, p.last_at
    FROM (SELECT value ->> 'c' AS c, CAST(value ->> 'f' AS BIGINT) AS f,
                 CAST(value ->> 't' AS BIGINT) AS t FROM json_each($1)) s
    CROSS JOIN export_parts p
    WHERE p.channel_id = s.c AND p.last_at >= s.f AND (p.after_at IS NULL OR p.after_at <= s.t)
    ORDER BY p.export_id, p.part",
    " FOR UPDATE OF p"
);
/// The last part of an export, which counts the messages of all.
pub(super) const LAST_PART: Sql = locking!(
    "SELECT export_id, part, sha256 FROM export_parts WHERE export_id = $1 AND is_last = 1"
);
/// One part that has that file.
pub(super) const PART_WITH: Sql = locking!(
    "SELECT export_id, part, sha256 FROM export_parts
     WHERE export_id = $1 AND part = $2 AND sha256 = $3"
);
/// The number of messages stays, to be compared with that of the part when it is written again.
pub(super) const OUTDATE: &str = "
    UPDATE export_parts SET attempt = NULL, sha256 = NULL, bytes = 0
    WHERE (export_id, part) IN (
        SELECT value ->> 'e', CAST(value ->> 'p' AS BIGINT) FROM json_each($1))";
/// A completed export waits for a while: more changes may come.
pub(super) const REOPEN: &str = "
    UPDATE exports
    SET done = (SELECT CAST(COALESCE(SUM(messages), 0) AS BIGINT) FROM export_parts
                WHERE export_id = exports.id AND sha256 IS NOT NULL),
        claimed_until = CASE WHEN status = 'done' THEN $2 ELSE claimed_until END,
        finished_at = CASE WHEN status = 'done' THEN NULL ELSE finished_at END,
        status = CASE WHEN status = 'done' THEN 'pending' ELSE status END
    WHERE id IN (SELECT value ->> 'e' FROM json_each($1))";

impl TryFrom<ExportRow> for ExportJob {
    type Error = StoreError;

    fn try_from(row: ExportRow) -> Result<Self, StoreError> {
        Ok(Self {
            status: parsed(JobStatus::parse(&row.status), "exports", "status", &row.id)?,
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
            finished_at: row.finished_at.map(Timestamp::from_millis),
            expires_at: row.expires_at.map(Timestamp::from_millis),
            bytes: row.bytes,
        })
    }
}

impl UnwrittenRow {
    pub(super) fn after(&self) -> Option<ExportKeyset> {
        let id = self.after_id.clone().map(MessageId::new)?;
        Some((Timestamp::from_millis(self.after_at?), id))
    }

    /// Returns the keyset of its last message, once that is known.
    pub(super) fn until(&self) -> Option<ExportKeyset> {
        let known = !self.last_id.is_empty();
        known.then(|| (Timestamp::from_millis(self.last_at), self.last_id.clone().into()))
    }
}

impl LastRow {
    pub(super) fn keyset(&self) -> ExportKeyset {
        (Timestamp::from_millis(self.last_at), self.last_id.clone().into())
    }
}

/// Returns the files of an export's parts; `None` unless all of them are written.
pub(super) fn files(rows: Vec<PartRow>) -> Result<Option<Vec<PartBlob>>, StoreError> {
    if rows.last().is_none_or(|row| row.is_last == 0) {
        return Ok(None);
    }
    let file = |row: PartRow| {
        let Some(name) = row.sha256 else { return Ok(None) };
        let blob = parsed(BlobId::parse(&name), "export_parts", "sha256", &name)?;
        let bytes = u64::try_from(row.bytes).unwrap_or_default();
        Ok(Some(PartBlob { part: row.part, blob, bytes }))
    };
    rows.into_iter().map(file).collect()
}
