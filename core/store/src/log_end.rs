//! Present end of the event log, from which on whatever is created or enabled now follows it.
//! Clocks do not tell: those of processes differ, and they step.

use super::db::{Sql, Tx};
use super::{OutboxPosition, StoreError};
use crate::query::query_as;

/// Builds the statement that reads a value of either database, and the last sequence number that
/// was assigned.
macro_rules! log_end {
    ($sqlite:literal, $postgres:literal) => {
        Sql {
            sqlite: concat!(
                "SELECT ",
                $sqlite,
                ", COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'outbox_events'), 0)"
            ),
            postgres: concat!(
                "SELECT ",
                $postgres,
                ", COALESCE(pg_sequence_last_value(
                       pg_get_serial_sequence('outbox_events', 'seq')::regclass), 0)"
            ),
        }
    };
}

/// Everything logged so far, and what is logged by transactions that began before this one. The
/// sequence number counts once a dump is read by another server, where transactions have other
/// numbers.
const OWN_POSITION: Sql = log_end!("CAST(0 AS BIGINT)", "pg_current_xact_id()::text::bigint");
/// The snapshot is taken before the sequence number is read, so no event that it shows has a
/// greater one.
const END: Sql = log_end!("CAST(NULL AS TEXT)", "pg_current_snapshot()::text");

/// End of the event log at some moment. Events beyond it are those that were committed later: those
/// with greater sequence numbers and, on PostgreSQL, those of transactions that had not committed
/// in the snapshot.
#[derive(Debug)]
pub(super) struct LogEnd {
    /// Last sequence number that was assigned.
    pub(super) seq: i64,
    /// Snapshot of transactions (`pg_snapshot`); `None` on SQLite.
    pub(super) snapshot: Option<String>,
}

impl LogEnd {
    /// Returns the present end of the log: events that are committed from now on are beyond it,
    /// also those of transactions that are under way.
    pub(super) async fn read(tx: &mut Tx) -> Result<Self, StoreError> {
        let (snapshot, seq): (Option<String>, i64) = tx.fetch_one(query_as(END)).await?;
        Ok(Self { seq, snapshot })
    }
}

/// Returns the position in the event log behind which everything is later than this transaction.
/// On PostgreSQL no other transaction has the same.
pub(super) async fn own_position(tx: &mut Tx) -> Result<OutboxPosition, StoreError> {
    let (number, seq): (i64, i64) = tx.fetch_one(query_as(OWN_POSITION)).await?;
    Ok(OutboxPosition(number, seq))
}
