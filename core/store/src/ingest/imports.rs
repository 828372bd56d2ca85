//! Records of imports, and their undo: everything that an import added carries its number, so that
//! exactly that can be removed again.
//!
//! A message retracted or erased since belongs to no import any more: its tombstone stays, so that
//! the content cannot come back by importing the file once more.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::named;
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::db::{Sql, Tx, locking};
use super::super::media::{MediaReason, erase_media};
use super::super::{ImportStore, StoreError};
use super::import_events::log_undone;
use super::import_sql::{ADD_EXPIRED, LostFile};
use super::removal::{RemovalMode, Removed, remove, rows_of};
use super::sql::BulkKey;
use super::{lock_ledger, save_ledger};
use crate::query::{query, query_as};

/// Number of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImportId(i64);

/// Import to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewImport<'a> {
    /// Target channel.
    pub channel: &'a ChannelId,
    /// Format of the file: `line` or `jsonl`.
    pub form: &'a str,
    /// Name of the file, without the folder.
    pub file_name: &'a str,
    /// Time zone of its times; `None` where the file has it itself.
    pub time_zone: Option<&'a str>,
}

/// Time without any progress after which an import, or its undoing, counts as interrupted. A part of
/// one, such as a large file, takes much less. Files that are stored already are no progress.
const GOES_ON: Duration = Duration::from_mins(30);

/// State of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// It adds messages.
    Running,
    /// It was interrupted: importing the file once more brings the rest.
    Interrupted,
    /// It ended.
    Done,
    /// Its messages and files are being removed.
    Undoing,
    /// Its undoing was interrupted: undoing it once more removes the rest.
    UndoInterrupted,
    /// Its messages and files are removed.
    Undone,
}

named! {
    pub ImportState {
        Running = "running",
        Interrupted = "interrupted",
        Done = "done",
        Undoing = "undoing",
        UndoInterrupted = "undo_interrupted",
        Undone = "undone",
    }
}

/// Record of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportRecord {
    /// Number of the import.
    pub id: ImportId,
    /// Target channel.
    pub channel_id: ChannelId,
    /// Format of the file: `line` or `jsonl`.
    pub form: String,
    /// Name of the file, without the folder.
    pub file_name: String,
    /// Time zone of its times; `None` where the file had it itself.
    pub time_zone: Option<String>,
    /// Start time.
    pub started_at: Timestamp,
    /// End time; `None` while it runs, and when it was interrupted.
    pub ended_at: Option<Timestamp>,
    /// Number of added messages.
    pub messages: i64,
    /// Number of added media files.
    pub files: i64,
    /// Start time of its undo.
    pub undone_at: Option<Timestamp>,
    /// End time of its undo; `None` while it runs, and when it was interrupted.
    pub undo_ended_at: Option<Timestamp>,
    /// Time of its last progress, or that of its undo; `None` before the first.
    pub active_at: Option<Timestamp>,
}

#[derive(sqlx_macros::FromRow)]
struct ImportRow {
    import_id: i64,
    channel_id: String,
    form: String,
    file_name: String,
    time_zone: Option<String>,
    started_at: i64,
    ended_at: Option<i64>,
    messages: i64,
    files: i64,
    undone_at: Option<i64>,
    undo_ended_at: Option<i64>,
    active_at: Option<i64>,
}

const BEGIN: &str = "
    INSERT INTO imports (channel_id, form, file_name, time_zone, started_at)
    VALUES ($1, $2, $3, $4, $5) RETURNING import_id";
const END: &str = "UPDATE imports SET ended_at = $2 WHERE import_id = $1";
/// An import that added nothing needs no undo.
const FORGET: &str = "
    DELETE FROM imports WHERE import_id = $1 AND messages = 0 AND files = 0";
const LIST: &str = "
    SELECT import_id, channel_id, form, file_name, time_zone, started_at, ended_at, messages, files,
           undone_at, undo_ended_at, active_at
    FROM imports
    WHERE (CAST($1 AS TEXT) IS NULL OR channel_id = $1)
      AND (CAST($2 AS BIGINT) IS NULL OR import_id = $2)
    ORDER BY import_id DESC";
const UNDO: &str = "
    UPDATE imports SET undone_at = COALESCE(undone_at, $2), active_at = $2 WHERE import_id = $1";
const UNDO_END: &str = "
    UPDATE imports SET undo_ended_at = COALESCE(undo_ended_at, $2) WHERE import_id = $1";
const UNDONE: &str = "SELECT 1 FROM imports WHERE import_id = $1 AND undone_at IS NOT NULL";

const FILES: &str = "
    SELECT message_id, type, created_at, sent_at FROM media
    WHERE import_id = $1 AND channel_id = $2 ORDER BY message_id LIMIT $3";

const DROP_SENDERS: &str = "
    DELETE FROM imported_senders
    WHERE channel_id = $1 AND NOT EXISTS (
        SELECT 1 FROM messages m
        WHERE m.channel_id = $1 AND m.sender_id = imported_senders.user_id
          AND m.sent_at IS NOT NULL)";
/// Condition on people known by name only, without any reference left.
macro_rules! unreferenced {
    () => {
        "user_id LIKE 'import:%'
         AND NOT EXISTS (SELECT 1 FROM imported_senders s WHERE s.user_id = users.user_id)
         AND NOT EXISTS (SELECT 1 FROM members m WHERE m.user_id = users.user_id)
         AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.user_id = users.user_id)
         AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.user_id = users.user_id)
         AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = users.user_id)
         AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.user_id = users.user_id)
         AND NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.user_id = users.user_id)"
    };
}

/// Locks them, after imports that have locked some of them and add messages of theirs.
const LOCK_PEOPLE: Sql =
    locking!(concat!("SELECT user_id FROM users WHERE ", unreferenced!(), " ORDER BY user_id"));
/// Deletes them: in a statement of its own, which sees what those imports have added.
const DROP_PEOPLE: &str = concat!("DELETE FROM users WHERE ", unreferenced!());

impl ImportStore<'_> {
    /// Records the start of an import, and assigns its number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn begin_import(
        &self,
        new: &NewImport<'_>,
        now: Timestamp,
    ) -> Result<ImportId, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (id,): (i64,) = tx
            .fetch_one(
                query_as(BEGIN)
                    .bind(new.channel.as_str())
                    .bind(new.form)
                    .bind(new.file_name)
                    .bind(new.time_zone)
                    .bind(now.millis()),
            )
            .await?;
        tx.commit().await?;
        Ok(ImportId(id))
    }

    /// Records the end of an import. Returns `true` if it added anything; one that did not is
    /// deleted.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_import(&self, import: ImportId, now: Timestamp) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(END).bind(import.0).bind(now.millis())).await?;
        let forgotten = tx.execute(query(FORGET).bind(import.0)).await?;
        tx.commit().await?;
        Ok(forgotten == 0)
    }

    /// Returns the imports into a channel, or into all of them, newest first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(&self, channel: Option<&ChannelId>) -> Result<Vec<ImportRecord>, StoreError> {
        let rows: Vec<ImportRow> = self
            .store
            .db
            .fetch_all(query_as(LIST).bind(channel.map(ChannelId::as_str)).bind(None::<i64>))
            .await?;
        Ok(rows.into_iter().map(ImportRecord::from).collect())
    }

    /// Returns one import.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn import_record(
        &self,
        import: ImportId,
    ) -> Result<Option<ImportRecord>, StoreError> {
        let row: Option<ImportRow> =
            self.store.db.fetch_optional(query_as(LIST).bind(None::<&str>).bind(import.0)).await?;
        Ok(row.map(ImportRecord::from))
    }

    /// Removes at most `limit` messages or files that an import added, with their counters,
    /// baselines and search index entries. Additions of others, and tombstones of content retracted
    /// or erased since, stay. Repeat until [`Removed::last`]; from the first call on the import
    /// adds nothing more, should it still run.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is removed then.
    #[boxed]
    pub async fn undo_import(
        &self,
        import: &ImportRecord,
        limit: u32,
        now: Timestamp,
    ) -> Result<Removed, StoreError> {
        let (id, channel) = (import.id.0, &import.channel_id);
        let mut tx = self.store.db.begin_bulk().await?;
        let mut removed = remove(&mut tx, channel, now, (RemovalMode::Undo, limit), async |tx| {
            tx.execute(query(UNDO).bind(id).bind(now.millis())).await?;
            rows_of(tx, channel, id, limit).await
        })
        .await?;
        if removed.last {
            let (bytes, last) = drop_files(&mut tx, channel, id, limit, now).await?;
            removed.bytes += bytes;
            removed.last = last;
        }
        if removed.last {
            tx.execute(query(DROP_SENDERS).bind(channel.as_str())).await?;
            let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK_PEOPLE)).await?;
            tx.execute(query(DROP_PEOPLE)).await?;
            tx.execute(query(UNDO_END).bind(id).bind(now.millis())).await?;
            if import.undo_ended_at.is_none() {
                log_undone(&mut tx, channel, now).await?;
            }
        }
        tx.commit().await?;
        Ok(removed)
    }
}

/// Removes files that an import added to messages of others. Returns their bytes, and `true` when
/// none is left.
async fn drop_files(
    tx: &mut Tx,
    channel: &ChannelId,
    import: i64,
    limit: u32,
    now: Timestamp,
) -> Result<(i64, bool), StoreError> {
    let mut ledger = lock_ledger(tx, &[channel].into()).await?;
    let files: Vec<LostFile> = tx
        .fetch_all(query_as(FILES).bind(import).bind(channel.as_str()).bind(i64::from(limit)))
        .await?;
    let last = i64::try_from(files.len()).unwrap_or(i64::MAX) < i64::from(limit);
    if files.is_empty() {
        return Ok((0, last));
    }
    let key = |file: &LostFile| MessageId::from(file.m.as_str());
    let ids: Vec<_> = files.iter().map(key).collect();
    let keys: Vec<_> =
        ids.iter().map(|id| BulkKey { c: channel.as_str(), m: Some(id.as_str()) }).collect();
    let bytes = erase_media(tx, &mut ledger, &keys).await?;
    let rows = serde_json::to_string(&files)?;
    let reason = MediaReason::ImportUndone.name();
    tx.execute(query(ADD_EXPIRED).bind(channel.as_str()).bind(&rows).bind(reason)).await?;
    save_ledger(tx, &ledger, now).await?;
    Ok((bytes, last))
}

/// Returns `true` if the import was undone. The caller holds the channel's lock.
pub(crate) async fn is_undone(tx: &mut Tx, import: ImportId) -> Result<bool, StoreError> {
    let row: Option<(i32,)> = tx.fetch_optional(query_as(UNDONE).bind(import.0)).await?;
    Ok(row.is_some())
}

impl ImportRecord {
    /// Returns its state at `now`. A process that was killed cannot tell that its import ended, so
    /// one that does not go on counts as interrupted.
    pub fn state(&self, now: Timestamp) -> ImportState {
        let active_at = self.active_at.max(self.undone_at).unwrap_or(self.started_at);
        let goes_on = now.since(active_at) < GOES_ON;
        match (self.undo_ended_at, self.undone_at, self.ended_at) {
            (Some(_), ..) => ImportState::Undone,
            (None, Some(_), _) if goes_on => ImportState::Undoing,
            (None, Some(_), _) => ImportState::UndoInterrupted,
            (None, None, Some(_)) => ImportState::Done,
            (None, None, None) if goes_on => ImportState::Running,
            (None, None, None) => ImportState::Interrupted,
        }
    }
}

impl ImportId {
    /// Creates the import id of that number.
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// Number of the import.
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for ImportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ImportId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl From<ImportRow> for ImportRecord {
    fn from(row: ImportRow) -> Self {
        Self {
            id: ImportId(row.import_id),
            channel_id: row.channel_id.into(),
            form: row.form,
            file_name: row.file_name,
            time_zone: row.time_zone,
            started_at: Timestamp::from_millis(row.started_at),
            ended_at: row.ended_at.map(Timestamp::from_millis),
            messages: row.messages,
            files: row.files,
            undone_at: row.undone_at.map(Timestamp::from_millis),
            undo_ended_at: row.undo_ended_at.map(Timestamp::from_millis),
            active_at: row.active_at.map(Timestamp::from_millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn what_does_not_go_on_is_interrupted() {
        let at = |minutes| Timestamp::default().plus(Duration::from_mins(minutes));
        let begun = ImportRecord {
            id: ImportId(1),
            channel_id: "C1".into(),
            form: "line".to_owned(),
            file_name: "chat.txt".to_owned(),
            time_zone: None,
            started_at: at(0),
            ended_at: None,
            messages: 1,
            files: 0,
            undone_at: None,
            undo_ended_at: None,
            active_at: None,
        };
        let active = ImportRecord { active_at: Some(at(20)), ..begun.clone() };
        let undoing = ImportRecord { undone_at: Some(at(60)), ..active.clone() };
        for (import, minutes, state) in [
            (&begun, 29, ImportState::Running),
            (&begun, 30, ImportState::Interrupted),
            (&active, 49, ImportState::Running),
            (&active, 50, ImportState::Interrupted),
            (&undoing, 89, ImportState::Undoing),
            (&undoing, 90, ImportState::UndoInterrupted),
        ] {
            assert_eq!(import.state(at(minutes)), state, "{minutes}");
        }
        let done = ImportRecord { ended_at: Some(at(1)), ..begun };
        assert_eq!(done.state(at(99)), ImportState::Done);
        let undone = ImportRecord { undo_ended_at: Some(at(61)), ..undoing };
        assert_eq!(undone.state(at(99)), ImportState::Undone);
    }

    #[tokio::test]
    async fn senders_are_dropped_without_reading_the_messages_of_all_others() {
        let steps = plan(DROP_SENDERS).await.join("\n");
        assert!(steps.contains("messages_by_sender (channel_id=? AND sender_id=?"), "{steps}");
    }
}
