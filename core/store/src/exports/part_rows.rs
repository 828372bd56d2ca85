//! SQL statements of parts of exports, and their rows.

use chatkeep_core::blob::BlobId;
use chatkeep_core::id::MessageId;
use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, locking};
use super::super::{StoreError, parsed};
use super::{ExportKeyset, PartBlob};

/// Builds the condition that a message which the part `p` may contain was changed or removed after the
/// part was begun.
macro_rules! is_outdated {
    () => {
        "EXISTS (SELECT 1 FROM export_changes c
                 WHERE c.channel_id = p.channel_id AND c.change_no > p.begun_no
                   AND c.first_at <= p.last_at AND (p.after_at IS NULL OR c.last_at >= p.after_at))"
    };
}
pub(super) use is_outdated;

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

/// Row of a change of messages.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct ChangeRow {
    pub(super) change_no: i64,
    pub(super) first_at: i64,
    pub(super) last_at: i64,
}

pub(super) const UNWRITTEN: &str = "
    SELECT part, after_at, after_id, last_at, last_id, is_last,
           (SELECT CAST(COALESCE(SUM(b.messages), 0) AS BIGINT) FROM export_parts b
            WHERE b.export_id = p.export_id AND b.part < p.part) AS messages_before
    FROM export_parts p WHERE export_id = $1 AND sha256 IS NULL ORDER BY part LIMIT 1";
pub(super) const LAST: &str = "
    SELECT part, last_at, last_id, is_last FROM export_parts
    WHERE export_id = $1 ORDER BY part DESC LIMIT 1";
/// Adds a part that reads its messages as they are after all changes so far, as [`ATTEMPT`] does.
pub(super) const ADD_PART: &str = "
    INSERT INTO export_parts (export_id, part, channel_id, after_at, after_id, last_at, attempt,
                              begun_no)
    VALUES ($1, $2, $3, $4, $5, $6, $7,
            (SELECT COALESCE(MAX(change_no), 0) FROM export_changes WHERE channel_id = $3))";
/// Number of messages that a part had when it was written before.
pub(super) const MESSAGES_OF: &str =
    "SELECT messages FROM export_parts WHERE export_id = $1 AND part = $2";
pub(super) const ATTEMPT: &str = "
    UPDATE export_parts
    SET attempt = $3,
        begun_no = (SELECT COALESCE(MAX(c.change_no), 0) FROM export_changes c
                    WHERE c.channel_id = export_parts.channel_id)
    WHERE export_id = $1 AND part = $2";
pub(super) const ATTEMPTED: Sql = locking!(
    concat!(
        "SELECT part FROM export_parts p
         WHERE export_id = $1 AND part = $2 AND attempt = $3 AND NOT ",
        is_outdated!()
    ),
    " FOR UPDATE OF p"
);
pub(super) const WRITTEN: &str = "
    UPDATE export_parts
    SET attempt = NULL, sha256 = $3, bytes = $4, messages = $5, last_at = $6, last_id = $7,
        is_last = $8
    WHERE export_id = $1 AND part = $2";
pub(super) const PARTS: &str = concat!(
    "SELECT part, is_last, CASE WHEN ",
    is_outdated!(),
    " THEN NULL ELSE sha256 END AS sha256, bytes
     FROM export_parts p WHERE export_id = $1 ORDER BY part"
);
pub(super) const IS_CURRENT: &str = concat!(
    "SELECT COUNT(*) FROM export_parts p
     WHERE export_id = $1 AND part = $2 AND sha256 = $3 AND NOT ",
    is_outdated!()
);

pub(super) const HAS: &str = "SELECT COUNT(*) FROM exports WHERE id = $1";
pub(super) const PARTS_OF: Sql = locking!(
    "SELECT export_id, part, sha256 FROM export_parts
     WHERE export_id IN (SELECT value ->> 'e' FROM json_each($1)) ORDER BY export_id, part"
);
pub(super) const DROP_PARTS: &str = "
    DELETE FROM export_parts WHERE export_id IN (SELECT value ->> 'e' FROM json_each($1))";
pub(super) const DROP: &str = "
    DELETE FROM exports WHERE id IN (SELECT value ->> 'e' FROM json_each($1))";

/// Notes changes of channels of which there are exports. That of a message which is in none of them is
/// noted, too: whoever changes a message does not look at every part.
pub(super) const ADD_CHANGES: &str = "
    INSERT INTO export_changes (channel_id, first_at, last_at)
    SELECT s.c, s.f, s.t
    FROM (SELECT value ->> 'c' AS c, CAST(value ->> 'f' AS BIGINT) AS f,
                 CAST(value ->> 't' AS BIGINT) AS t FROM json_each($1)) s
    WHERE EXISTS (SELECT 1 FROM export_parts p WHERE p.channel_id = s.c AND p.last_at >= s.f)";
pub(super) const HAS_CHANGES: &str =
    "SELECT COUNT(*) FROM (SELECT change_no FROM export_changes LIMIT 1) c";
/// The channel with the oldest change, which one worker at a time applies.
pub(super) const CHANGED_CHANNEL: Sql =
    locking!("SELECT channel_id FROM export_changes ORDER BY change_no LIMIT 1");
pub(super) const CHANGES: &str = "
    SELECT change_no, first_at, last_at FROM export_changes
    WHERE channel_id = $1 ORDER BY change_no LIMIT $2";
/// Parts of a channel that are out of date by changes of messages sent in that time, and attempts at
/// writing such. They are locked: a file that is stored meanwhile is not overlooked.
pub(super) const OUTDATED: Sql = locking!(
    concat!(
        "SELECT p.export_id, p.part, p.sha256 FROM export_parts p
         WHERE p.channel_id = $1 AND p.last_at >= $2 AND (p.after_at IS NULL OR p.after_at <= $3)
           AND (p.sha256 IS NOT NULL OR p.attempt IS NOT NULL) AND ",
        is_outdated!(),
        " ORDER BY p.export_id, p.part LIMIT $4"
    ),
    " FOR UPDATE OF p"
);
/// Those of one export.
pub(super) const OUTDATED_OF: Sql = locking!(
    concat!(
        "SELECT p.export_id, p.part, p.sha256 FROM export_parts p
         WHERE p.export_id = $1 AND (p.sha256 IS NOT NULL OR p.attempt IS NOT NULL) AND ",
        is_outdated!(),
        " ORDER BY p.part"
    ),
    " FOR UPDATE OF p"
);
pub(super) const FORGET_CHANGES: &str = "
    DELETE FROM export_changes
    WHERE change_no IN (SELECT CAST(value ->> 'n' AS BIGINT) FROM json_each($1))";
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
