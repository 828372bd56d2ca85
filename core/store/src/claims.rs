//! Claims of jobs that outlive their process. Whoever works on a job holds a claim, renews it, and
//! releases it when it stops, also half-way. A claim that ended without being released is that of a
//! process that was killed, has panicked or hangs: an interruption, which is counted before the job is
//! claimed again, and until it makes progress. The more of them in a row, the later the job is tried
//! again, because what kills a process harms everything else that the process does.

use chatkeep_core::metric;
use tracing::warn;

/// Builds the delay in milliseconds before a job is tried again, by the attempts before that failed in
/// a row: none after the first one, and half an hour at most.
macro_rules! delay_after {
    ($failed:literal) => {
        concat!(
            "CASE ",
            $failed,
            " WHEN 0 THEN 0 WHEN 1 THEN 60000 WHEN 2 THEN 300000 WHEN 3 THEN 900000
              ELSE 1800000 END"
        )
    };
}
pub(super) use delay_after;

/// Builds the statement that ends the claims of a table which nobody has released until `$2`, other
/// than those of the worker `$1`, which is alive: it returns the rows of [`InterruptedRow`]. What it
/// sets besides begins with a comma.
macro_rules! interrupt {
    ($table:literal, $kind:literal, $set:literal) => {
        $crate::db::Sql {
            sqlite: interrupt!(@text $table, $kind, $set, ""),
            postgres: interrupt!(@text $table, $kind, $set, " FOR UPDATE SKIP LOCKED"),
        }
    };
    (@text $table:literal, $kind:literal, $set:literal, $lock:literal) => {
        concat!(
            "UPDATE ", $table, " SET interruptions = interruptions + 1, claimed_by = NULL,
                 claimed_until = $2 + ", $crate::claims::delay_after!("interruptions"), $set,
            " WHERE id IN (SELECT id FROM ", $table,
            " WHERE finished_at IS NULL AND claimed_until <= $2 AND claimed_by <> $1
              ORDER BY id", $lock,
            ") RETURNING id, channel_id, ", $kind, " AS kind, interruptions, status"
        )
    };
}
pub(super) use interrupt;

/// Row of a job whose claim ended without being released.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct InterruptedRow {
    id: String,
    channel_id: String,
    kind: String,
    interruptions: i64,
    status: String,
}

/// Logs and counts interruptions, once they are committed.
pub(super) fn report(interrupted: &[InterruptedRow]) {
    for row in interrupted {
        let InterruptedRow { id, channel_id, kind, interruptions, status } = row;
        metric::CHANNEL_JOB_INTERRUPTIONS.add([kind.clone().into()], 1);
        let (job, channel) = (id, channel_id);
        if status == "failed" {
            warn!(
                job,
                channel, kind, interruptions, "giving up a job that repeatedly ended its process"
            );
        } else {
            warn!(job, channel, kind, interruptions, "the process of a job has ended or hangs");
        }
    }
}
