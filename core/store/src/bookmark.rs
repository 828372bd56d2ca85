//! Bookmarks of readers of the event log, and the next part of the log after one.
//!
//! A database may lose what it logged last: after a failover to a standby that was behind, or when
//! an earlier copy takes its place. New events then get positions that a reader has passed already,
//! and may even get the same ones. A reader that remembers when its last event was logged finds out.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::coverage::ADD_OUTAGE;
use super::db::Sql;
use super::{OutboxPosition, OutboxStore, StoreError};
use crate::query::{query, query_as};

/// Time before a lost event from which its reader gets everything again: clocks of processes
/// differ.
const OVERLAP: Duration = Duration::from_mins(10);
/// Maximum number of rows that are examined for that time; a reader gets more than this again.
const REENTRY: i64 = 200_000;

/// Position of a reader of the event log: the last event that it read, and when that was logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Parts", into = "Parts")]
pub struct Bookmark {
    /// Position of the event.
    pub at: OutboxPosition,
    /// Time at which it was logged; `None` if that is not known, and the event not looked for.
    pub logged_at: Option<Timestamp>,
}

/// A bookmark without a time is the position that it was in earlier versions, to the letter: cursors
/// of theirs are in use.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Parts {
    Timed(i64, i64, i64),
    Untimed(i64, i64),
}

/// Next part of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogWindow {
    /// Last row of it; `None` at the end of the log.
    pub(super) end: Option<Bookmark>,
    /// `true` if the database has lost the event of the bookmark.
    pub(super) is_lost: bool,
}

/// Last of at most `$3` readable rows after a position, and the time of the row at the position.
///
/// PostgreSQL commits transactions in another order than it numbers them, so a reader goes by
/// transaction, and only as far as none of this database is still running. SQLite needs no
/// transaction, so its statement leaves out `$1`.
pub(super) const WINDOW_END: Sql = Sql {
    sqlite: "SELECT CAST(0 AS BIGINT), e.seq, e.logged_at, known.logged_at
             FROM (SELECT MAX(seq) AS seq FROM (
                 SELECT seq FROM outbox_events WHERE seq > $2 ORDER BY seq LIMIT $3) w
             ) w
             LEFT JOIN outbox_events e ON e.seq = w.seq
             LEFT JOIN outbox_events known ON known.seq = $2",
    postgres: "SELECT e.tx, e.seq, e.logged_at, known.logged_at
               FROM (VALUES (1)) one (n)
               LEFT JOIN (
                   SELECT tx, seq FROM (
                       SELECT tx, seq FROM outbox_events
                       WHERE (tx, seq) > ($1, $2)
                         AND tx < (SELECT chatkeep_log_bound(pg_current_snapshot()))
                       ORDER BY tx, seq LIMIT $3) w
                   ORDER BY tx DESC, seq DESC LIMIT 1) w ON TRUE
               LEFT JOIN outbox_events e ON e.tx = w.tx AND e.seq = w.seq
               LEFT JOIN outbox_events known ON known.tx = $1 AND known.seq = $2",
};

/// Last of the newest rows that was logged before a time.
const BEFORE: Sql = Sql {
    sqlite: "SELECT CAST(0 AS BIGINT), seq
             FROM (SELECT seq, logged_at FROM outbox_events ORDER BY seq DESC LIMIT $2) r
             WHERE logged_at < $1 ORDER BY seq DESC LIMIT 1",
    postgres: "SELECT tx, seq
               FROM (SELECT tx, seq, logged_at FROM outbox_events
                     ORDER BY tx DESC, seq DESC LIMIT $2) r
               WHERE logged_at < $1 ORDER BY tx DESC, seq DESC LIMIT 1",
};

/// Times of the last of the newest rows until a time, and of the first one after it.
const AROUND: Sql = Sql {
    sqlite: "SELECT MAX(CASE WHEN logged_at <= $1 THEN logged_at END),
                    MIN(CASE WHEN logged_at > $1 THEN logged_at END)
             FROM (SELECT logged_at FROM outbox_events ORDER BY seq DESC LIMIT $2) r",
    postgres: "SELECT MAX(CASE WHEN logged_at <= $1 THEN logged_at END),
                      MIN(CASE WHEN logged_at > $1 THEN logged_at END)
               FROM (SELECT logged_at FROM outbox_events ORDER BY tx DESC, seq DESC LIMIT $2) r",
};

/// Row of [`WINDOW_END`].
pub(super) type WindowRow = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

impl LogWindow {
    /// Returns the end of the window in a row.
    pub(super) fn end_of((tx, seq, logged_at, _): WindowRow) -> Option<Bookmark> {
        let at = OutboxPosition(tx?, seq?);
        Some(Bookmark { at, logged_at: logged_at.map(Timestamp::from_millis) })
    }
}

impl OutboxStore<'_> {
    /// Returns the next part of the log after `after`, of at most `limit` rows.
    pub(super) async fn log_window(
        &self,
        after: Bookmark,
        limit: i64,
    ) -> Result<LogWindow, StoreError> {
        let Bookmark { at, logged_at } = after;
        let window = query_as(WINDOW_END).bind(at.0).bind(at.1).bind(limit);
        let row: WindowRow = self.store.db.fetch_one(window).await?;
        let known = row.3.map(Timestamp::from_millis);
        let is_lost = match (logged_at, known) {
            (None, _) => false,
            // Events are purged in order.
            (Some(_), None) => at > self.log_state().await?.purged,
            (Some(logged_at), Some(known)) => logged_at != known,
        };
        Ok(LogWindow { end: LogWindow::end_of(row), is_lost })
    }

    /// Records that the database has lost the event of a bookmark: coverage shows an outage from the
    /// last event before it that is left to the first one that came after it. Returns both times.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn record_loss(
        &self,
        lost: Bookmark,
        now: Timestamp,
    ) -> Result<(Timestamp, Timestamp), StoreError> {
        let at = lost.logged_at.unwrap_or(now).millis();
        let mut tx = self.store.db.begin().await?;
        let around: (Option<i64>, Option<i64>) =
            tx.fetch_one(query_as(AROUND).bind(at).bind(REENTRY)).await?;
        let (from, to) = (around.0.unwrap_or(at), around.1.unwrap_or(now.millis()).max(at));
        tx.execute(query(ADD_OUTAGE).bind(from).bind(to)).await?;
        tx.commit().await?;
        Ok((Timestamp::from_millis(from), Timestamp::from_millis(to)))
    }

    /// Returns the position after which a reader goes on whose last event was lost.
    pub(super) async fn reentry(&self, lost: Bookmark) -> Result<OutboxPosition, StoreError> {
        let since = lost.logged_at.unwrap_or_default().minus(OVERLAP).millis();
        let before = query_as(BEFORE).bind(since).bind(REENTRY);
        let found: Option<(i64, i64)> = self.store.db.fetch_optional(before).await?;
        Ok(found.map_or_else(OutboxPosition::default, |(tx, seq)| OutboxPosition(tx, seq)))
    }
}

impl From<OutboxPosition> for Bookmark {
    fn from(at: OutboxPosition) -> Self {
        Self { at, logged_at: None }
    }
}

impl From<Parts> for Bookmark {
    fn from(parts: Parts) -> Self {
        match parts {
            Parts::Timed(tx, seq, logged_at) => {
                let logged_at = Some(Timestamp::from_millis(logged_at));
                Self { at: OutboxPosition(tx, seq), logged_at }
            }
            Parts::Untimed(tx, seq) => OutboxPosition(tx, seq).into(),
        }
    }
}

impl From<Bookmark> for Parts {
    fn from(bookmark: Bookmark) -> Self {
        let OutboxPosition(tx, seq) = bookmark.at;
        match bookmark.logged_at {
            Some(logged_at) => Self::Timed(tx, seq, logged_at.millis()),
            None => Self::Untimed(tx, seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn a_position_of_an_earlier_version_is_a_bookmark() {
        let plain: Bookmark = serde_json::from_str("[5,7]").unwrap();
        assert_eq!(plain, OutboxPosition(5, 7).into());
        assert_eq!(serde_json::to_string(&plain).unwrap(), "[5,7]");
        let timed = Bookmark { logged_at: Some(Timestamp::from_millis(9)), ..plain };
        let text = serde_json::to_string(&timed).unwrap();
        assert_eq!(text, "[5,7,9]");
        assert_eq!(serde_json::from_str::<Bookmark>(&text).unwrap(), timed);
    }

    #[tokio::test]
    async fn only_what_is_new_is_examined() {
        let steps = plan(WINDOW_END.sqlite).await;
        let tables =
            steps.iter().filter(|step| step.contains("outbox_events") || step.contains("known"));
        assert!(tables.clone().all(|step| step.starts_with("SEARCH ")), "{steps:?}");
        assert!(tables.count() >= 2, "{steps:?}");
    }
}
