//! Channels that are indexed anew, and how far that is: whoever asked for it and whoever does it
//! are different processes.

use sqlx::{query, query_as};

use super::db::{exec, read};
use super::{Store, StoreError};
use crate::id::ChannelId;
use crate::time::Timestamp;

/// What nobody watched to its end is forgotten after this long, in milliseconds: a day.
const KEPT_MS: i64 = 86_400_000;

/// How far the indexing of a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reindexing {
    /// Messages that the channel had when it was asked for, tombstones included.
    pub total: u64,
    /// How many were read.
    pub done: u64,
    /// Whether they all can be found.
    pub ended: bool,
}

const FORGET_OLD: &str = "DELETE FROM reindexings WHERE asked_at < $1";
const ASK: &str = "
    INSERT INTO reindexings (id, channel_id, asked_at, total)
    SELECT $1, $2, $3, COUNT(*) FROM messages WHERE channel_id = $2";
const STATE: &str = "SELECT total, done, ended FROM reindexings WHERE id = $1";
const OPEN: &str = "SELECT id FROM reindexings WHERE channel_id = $1 AND ended = 0";
const PROGRESS: &str = "UPDATE reindexings SET done = $2, ended = $3 WHERE id = $1";
const FORGET: &str = "DELETE FROM reindexings WHERE id = $1";

impl Store {
    /// Notes that somebody wants `channel` indexed anew and watches that as `id`.
    ///
    /// # Errors
    /// When the database fails, or `id` is taken.
    pub async fn ask_reindexing(
        &self,
        id: &str,
        channel: &ChannelId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(tx_ref, query(FORGET_OLD).bind(now.millis() - KEPT_MS))?;
        exec!(tx_ref, query(ASK).bind(id).bind(channel.as_str()).bind(now.millis()))?;
        tx.commit().await
    }

    /// How far it is; `None` if nobody asked, or it was forgotten.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn reindexing(&self, id: &str) -> Result<Option<Reindexing>, StoreError> {
        let row: Option<(i64, i64, i64)> =
            read!(self, c => query_as(STATE).bind(id).fetch_optional(c))?;
        Ok(row.map(|(total, done, ended)| Reindexing {
            total: u64::try_from(total).unwrap_or_default(),
            done: u64::try_from(done).unwrap_or_default(),
            ended: ended != 0,
        }))
    }

    /// The ids under which somebody waits for that channel.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn open_reindexings(&self, channel: &ChannelId) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> =
            read!(self, c => query_as(OPEN).bind(channel.as_str()).fetch_all(c))?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// Tells whoever waits under these ids that `done` messages were read, and whether that is all.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn reindexed(
        &self,
        ids: &[String],
        done: u64,
        ended: bool,
    ) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let done = i64::try_from(done).unwrap_or(i64::MAX);
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        for id in ids {
            exec!(tx_ref, query(PROGRESS).bind(id).bind(done).bind(i64::from(ended)))?;
        }
        tx.commit().await
    }

    /// Nobody watches it any more.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn forget_reindexing(&self, id: &str) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(tx_ref, query(FORGET).bind(id))?;
        tx.commit().await
    }
}
