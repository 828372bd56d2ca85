//! Activity log of channels, for their owners: who changed what, and who read messages. No content
//! of messages, and 180 days of it.

mod changes;
mod reader;
mod reads;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

pub use changes::{ActivityChange, ChangeKind};
pub(crate) use changes::{NewChange, log_change, log_settings};
pub use reader::{ReadAction, Reader};
pub(crate) use reads::ReadLog;
pub use reads::{ActivityRead, ReadPosition};

use super::db::Tx;
use super::{ActivityLogStore, StoreError};
use crate::query::{query, query_as};

/// Maximum number of rows deleted in one transaction.
const BATCH: i64 = 1_000;

const PURGE_CHANGES: &str = "
    DELETE FROM channel_changes WHERE change_id IN
        (SELECT change_id FROM channel_changes WHERE at < $1 ORDER BY at LIMIT $2)";
const PURGE_READS: &str = "
    DELETE FROM channel_reads
    WHERE (channel_id, day_at, user_id, reader, reader_id, action) IN
        (SELECT channel_id, day_at, user_id, reader, reader_id, action FROM channel_reads
         WHERE day_at < $1 ORDER BY day_at LIMIT $2)";
const FULL_OF_CHANGES: &str = "
    SELECT channel_id FROM channel_changes GROUP BY channel_id HAVING COUNT(*) > $1";
const FULL_OF_READS: &str = "
    SELECT channel_id FROM channel_reads GROUP BY channel_id HAVING COUNT(*) > $1";
const CUT_CHANGES: &str = "
    DELETE FROM channel_changes WHERE change_id IN
        (SELECT change_id FROM channel_changes WHERE channel_id = $1
         ORDER BY at DESC, change_id DESC LIMIT $3 OFFSET $2)";
const CUT_READS: &str = "
    DELETE FROM channel_reads
    WHERE (channel_id, day_at, user_id, reader, reader_id, action) IN
        (SELECT channel_id, day_at, user_id, reader, reader_id, action FROM channel_reads
         WHERE channel_id = $1
         ORDER BY day_at DESC, user_id, reader, reader_id, action LIMIT $3 OFFSET $2)";
const FORGET: [&str; 2] = [
    "DELETE FROM channel_changes WHERE change_id IN
         (SELECT change_id FROM channel_changes WHERE channel_id = $1 AND at < $2
          ORDER BY at, change_id LIMIT $3)",
    "DELETE FROM channel_reads
     WHERE (channel_id, day_at, user_id, reader, reader_id, action) IN
         (SELECT channel_id, day_at, user_id, reader, reader_id, action FROM channel_reads
          WHERE channel_id = $1 AND day_at < $2 ORDER BY day_at LIMIT $3)",
];

impl ActivityLogStore<'_> {
    /// Deletes a batch of what is older than that time, and returns the number of rows; 0 at the
    /// end.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let mut gone = 0;
        for sql in [PURGE_CHANGES, PURGE_READS] {
            gone += tx.execute(query(sql).bind(before.millis()).bind(BATCH)).await?;
        }
        tx.commit().await?;
        Ok(gone)
    }

    /// Returns the channels that have more than `rows` of a kind.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn full(&self, rows: i64) -> Result<Vec<FullLog>, StoreError> {
        let mut found = Vec::new();
        for (full, cut) in [(FULL_OF_CHANGES, CUT_CHANGES), (FULL_OF_READS, CUT_READS)] {
            let full: Vec<(String,)> = self.store.db.fetch_all(query_as(full).bind(rows)).await?;
            let full = full.into_iter();
            found.extend(full.map(|(channel,)| FullLog { channel: channel.into(), rows, cut }));
        }
        Ok(found)
    }

    /// Deletes a batch of the oldest rows of a channel that has too many. Returns false at the end.
    /// The newest stay, whoever else does the same.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn cut(&self, log: &FullLog) -> Result<bool, StoreError> {
        let cut = query(log.cut).bind(log.channel.as_str()).bind(log.rows).bind(BATCH);
        let mut tx = self.store.db.begin_bulk().await?;
        let gone = tx.execute(cut).await?;
        tx.commit().await?;
        Ok(gone > 0)
    }
}

/// Rows of one kind of a channel that has too many of them.
#[derive(Debug)]
pub struct FullLog {
    channel: ChannelId,
    /// Number of rows that it may have.
    rows: i64,
    cut: &'static str,
}

impl FullLog {
    /// Returns the channel.
    pub const fn channel(&self) -> &ChannelId {
        &self.channel
    }
}

/// Deletes a batch of the log of a channel from before that time, and returns the number of rows; 0
/// at the end.
pub(crate) async fn forget_activity(
    tx: &mut Tx,
    channel: &ChannelId,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let mut gone = 0;
    for sql in FORGET {
        let sql = query(sql).bind(channel.as_str()).bind(before.millis()).bind(BATCH);
        gone += tx.execute(sql).await?;
    }
    Ok(gone)
}

/// Part of an activity log: of one kind of change or read, of one person, of a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityFilter<K> {
    /// Kind; `None` for all.
    pub kind: Option<K>,
    /// Person; `None` for everybody.
    pub user: Option<UserId>,
    /// Times between which it happened, the second one excluded; `None` for any time. Of reads, the
    /// beginning of the day counts.
    pub times: Option<(Timestamp, Timestamp)>,
}

impl<K> Default for ActivityFilter<K> {
    fn default() -> Self {
        Self { kind: None, user: None, times: None }
    }
}

impl<K> ActivityFilter<K> {
    fn times(&self) -> (i64, i64) {
        self.times.map_or((i64::MIN, i64::MAX), |(from, to)| (from.millis(), to.millis()))
    }

    /// Returns the person; an empty text for everybody.
    fn person(&self) -> &str {
        self.user.as_ref().map_or("", UserId::as_str)
    }
}

/// Author of an entry with their present name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Person.
    pub user: UserId,
    /// Their name, once known.
    pub display_name: Option<String>,
}
