//! Reads of messages: counted in memory, so that no reader waits for the writer, and written together
//! every few seconds. A crash loses what was not written yet.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::{ActivityFilter, Actor, ReadAction, Reader};
use crate::query::{query, query_as};
use crate::{ActivityLogStore, StoreError, parsed};

/// Maximum number of unwritten counters; beyond it, new readers of a channel are counted as one.
const WAITING: usize = 100_000;
/// Rows written in one transaction: others wait for it.
const CHUNK: usize = 1_000;

/// Requests of one reader on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityRead {
    /// Beginning of the day, in UTC.
    pub day: Timestamp,
    /// Person on whose behalf messages were read.
    pub by: Actor,
    /// By what they read.
    pub reader: Reader,
    /// Name of the key or program when it first read on that day.
    pub reader_name: Option<String>,
    /// Way in which they read.
    pub action: ReadAction,
    /// Number of requests.
    pub requests: i64,
}

/// Position of a row in the list of reads.
pub type ReadPosition = (i64, String, String, String, String);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    channel: ChannelId,
    day: i64,
    user: UserId,
    reader: Reader,
    action: ReadAction,
}

/// Reads that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct ReadLog(Mutex<BTreeMap<Key, i64>>);

#[derive(Serialize)]
struct NewRead<'a> {
    c: &'a str,
    day: i64,
    u: &'a str,
    reader: &'a str,
    id: &'a str,
    action: &'a str,
    n: i64,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct ReadRow {
    day_at: i64,
    user_id: String,
    display_name: Option<String>,
    reader: String,
    reader_id: String,
    reader_name: Option<String>,
    action: String,
    requests: i64,
}

/// In key order, as every process locks.
const WRITE: &str = "
    INSERT INTO channel_reads (channel_id, day_at, user_id, reader, reader_id, action,
                               reader_name, requests)
    SELECT value ->> 'c', CAST(value ->> 'day' AS BIGINT), value ->> 'u', value ->> 'reader',
           value ->> 'id', value ->> 'action',
           CASE value ->> 'reader'
               WHEN 'key' THEN (SELECT k.name FROM api_keys k WHERE k.key_id = value ->> 'id')
               WHEN 'program' THEN (SELECT g.client_name FROM oauth_grants g
                                    WHERE g.grant_id = value ->> 'id')
           END,
           CAST(value ->> 'n' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, day_at, user_id, reader, reader_id, action) DO UPDATE SET
        requests = channel_reads.requests + excluded.requests";
const PAGE: &str = "
    SELECT r.day_at, r.user_id, u.display_name, r.reader, r.reader_id, r.reader_name, r.action,
           r.requests
    FROM channel_reads r LEFT JOIN users u ON u.user_id = r.user_id
    WHERE r.channel_id = $1 AND r.day_at <= $2
      AND (r.day_at < $2 OR (r.user_id, r.reader, r.reader_id, r.action) > ($3, $4, $5, $6))
      AND r.day_at >= $8 AND r.day_at < $9
      AND ($10 = '' OR r.action = $10) AND ($11 = '' OR r.user_id = $11)
    ORDER BY r.day_at DESC, r.user_id, r.reader, r.reader_id, r.action LIMIT $7";

impl ReadLog {
    fn counters(&self) -> MutexGuard<'_, BTreeMap<Key, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, mut key: Key, requests: i64) {
        let mut counters = self.counters();
        if counters.len() >= WAITING && !counters.contains_key(&key) {
            (key.user, key.reader) = (UserId::new(""), Reader::Others);
        }
        *counters.entry(key).or_default() += requests;
    }
}

impl ActivityLogStore<'_> {
    /// Counts a request by which somebody reads messages of a channel. Never waits for the database;
    /// [`ActivityLogStore::write_reads`](crate::ActivityLogStore::write_reads) writes it.
    pub fn note_read(
        &self,
        channel: &ChannelId,
        (user, reader): (&UserId, &Reader),
        action: ReadAction,
        now: Timestamp,
    ) {
        let key = Key {
            channel: channel.clone(),
            day: now.utc_day().millis(),
            user: user.clone(),
            reader: reader.clone(),
            action,
        };
        self.store.reads.add(key, 1);
    }

    /// Writes the reads counted since the last time, part by part.
    ///
    /// # Errors
    /// Returns an error when the database fails; reads that are not written by then are with the
    /// next call.
    #[boxed]
    pub async fn write_reads(&self) -> Result<(), StoreError> {
        let counted = mem::take(&mut *self.store.reads.counters());
        let counted: Vec<_> = counted.into_iter().collect();
        for (nth, chunk) in counted.chunks(CHUNK).enumerate() {
            if let Err(error) = self.write(chunk).await {
                for (key, requests) in &counted[nth * CHUNK..] {
                    self.store.reads.add(key.clone(), *requests);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    async fn write(&self, counted: &[(Key, i64)]) -> Result<(), StoreError> {
        let rows: Vec<_> = counted.iter().map(|(key, n)| key.row(*n)).collect();
        let rows = serde_json::to_string(&rows)?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(WRITE).bind(&rows)).await?;
        tx.commit().await
    }

    /// Returns who read in a channel, as far as it passes the filter: newest day first, after that
    /// position, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn reads(
        &self,
        channel: &ChannelId,
        filter: &ActivityFilter<ReadAction>,
        after: Option<&ReadPosition>,
        limit: u32,
    ) -> Result<Vec<ActivityRead>, StoreError> {
        let first = (i64::MAX, String::new(), String::new(), String::new(), String::new());
        let (day, user, reader, id, action) = after.unwrap_or(&first);
        let (from, to) = filter.times();
        let page = query_as(PAGE)
            .bind(channel.as_str())
            .bind(*day)
            .bind(user)
            .bind(reader)
            .bind(id)
            .bind(action)
            .bind(i64::from(limit))
            .bind(from)
            .bind(to)
            .bind(filter.kind.map_or("", ReadAction::name))
            .bind(filter.person());
        let rows: Vec<ReadRow> = self.store.db.fetch_all(page).await?;
        rows.into_iter().map(ActivityRead::try_from).collect()
    }
}

impl Key {
    fn row(&self, n: i64) -> NewRead<'_> {
        NewRead {
            c: self.channel.as_str(),
            day: self.day,
            u: self.user.as_str(),
            reader: self.reader.kind(),
            id: self.reader.id(),
            action: self.action.name(),
            n,
        }
    }
}

impl ActivityRead {
    /// Returns the position at which a list continues after it.
    pub fn position(&self) -> ReadPosition {
        let text = str::to_owned;
        let (reader, id) = (text(self.reader.kind()), text(self.reader.id()));
        let user = text(self.by.user.as_str());
        (self.day.millis(), user, reader, id, text(self.action.name()))
    }
}

impl TryFrom<ReadRow> for ActivityRead {
    type Error = StoreError;

    fn try_from(row: ReadRow) -> Result<Self, StoreError> {
        let reader = Reader::parse(&row.reader, row.reader_id);
        let action = ReadAction::parse(&row.action);
        Ok(Self {
            day: Timestamp::from_millis(row.day_at),
            reader: parsed(reader, "channel_reads", "reader", &row.user_id)?,
            action: parsed(action, "channel_reads", "action", &row.user_id)?,
            by: Actor { user: row.user_id.into(), display_name: row.display_name },
            reader_name: row.reader_name,
            requests: row.requests,
        })
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::config::Database;

    use super::*;
    use crate::Store;
    use crate::db::Pools;

    #[tokio::test]
    async fn what_is_written_before_a_failure_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
        let Pools::Sqlite { write, .. } = &store.db.pools else { unreachable!("it is SQLite") };
        let written = async || -> (i64, Option<i64>) {
            let all = "SELECT COUNT(*), SUM(requests) FROM channel_reads";
            sqlx::query_as(all).fetch_one(write).await.unwrap()
        };
        let (log, now) = (store.activity_log(), Timestamp::from_millis(1));
        for number in 0..CHUNK + 2 {
            let user = UserId::from(format!("U{number:04}"));
            log.note_read(&"C1".into(), (&user, &Reader::Person), ReadAction::List, now);
        }
        let refuse =
            "CREATE TRIGGER refuse BEFORE INSERT ON channel_reads WHEN NEW.user_id = 'U1001'
                      BEGIN SELECT RAISE(ABORT, 'refused'); END";
        sqlx::query(refuse).execute(write).await.unwrap();
        log.write_reads().await.unwrap_err();
        assert_eq!(written().await, (1_000, Some(1_000)));
        sqlx::query("DROP TRIGGER refuse").execute(write).await.unwrap();
        log.write_reads().await.unwrap();
        assert_eq!(written().await, (1_002, Some(1_002)));
    }
}
