//! Times that a wrong clock put into the future: what waits for them would wait for as long as the
//! clock was ahead.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::{EXPORT_RETENTION, JobStore, StoreError};
use crate::query::query;

/// Maximum time by which clocks of a deployment differ, and more than any claim lasts.
const CLOCKS: Duration = Duration::from_hours(1);
/// Maximum pause between attempts of a webhook: a week (`webhooks.retry_seconds`), and a tenth of it
/// that is chosen at random.
const PAUSE: Duration = Duration::from_hours(9 * 24);

/// Maximum time for which an export is retained, and as much as clocks differ.
const EXPORTS: Duration = EXPORT_RETENTION.saturating_add(CLOCKS);

/// Statements with the times beyond which nothing is right; each takes the present and that time.
///
/// Nothing that is still to be said may be refused as said before a deletion or an erasure. What an
/// opt-out is about begins now at the latest, and changes of mind keep their order.
const RESET: [(&str, Duration); 14] = [
    ("UPDATE heartbeat SET alive_at = $1 WHERE alive_at > $2", CLOCKS),
    (
        "UPDATE channel_jobs SET claimed_until = $1
         WHERE finished_at IS NULL AND claimed_until > $2",
        CLOCKS,
    ),
    ("UPDATE channel_jobs SET progress_at = $1 WHERE progress_at > $2", CLOCKS),
    (
        "UPDATE exports SET claimed_until = $1 WHERE finished_at IS NULL AND claimed_until > $2",
        CLOCKS,
    ),
    ("UPDATE exports SET created_at = $1 WHERE created_at > $2", CLOCKS),
    ("UPDATE exports SET progress_at = $1 WHERE progress_at > $2", CLOCKS),
    ("UPDATE exports SET expires_at = $1 WHERE expires_at > $2", EXPORTS),
    ("UPDATE webhooks SET not_until = $1 WHERE not_until > $2", PAUSE),
    (
        "UPDATE webhook_deliveries SET due_at = $1
         WHERE webhook_id IN (SELECT webhook_id FROM webhooks) AND due_at > $2",
        PAUSE,
    ),
    ("UPDATE qa_rules SET last_hit_at = $1 WHERE last_hit_at > $2", CLOCKS),
    ("UPDATE channels SET deleted_before = $1 WHERE deleted_before > $2", CLOCKS),
    ("UPDATE channels SET retained_from = $1 WHERE retained_from > $2", CLOCKS),
    ("UPDATE erased_people SET erased_at = $1 WHERE erased_at > $2", CLOCKS),
    (
        "UPDATE opt_outs SET at = $1 - r.later
         FROM (SELECT user_id, channel_id, at AS was,
                      ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY at DESC, opted_out DESC)
                          - 1 AS later
               FROM opt_outs WHERE at > $2) r
         WHERE opt_outs.user_id = r.user_id AND opt_outs.channel_id = r.channel_id
           AND opt_outs.at = r.was",
        CLOCKS,
    ),
];

impl JobStore<'_> {
    /// Brings times that lie too far in the future back to the present, and returns how many. For a
    /// time that is known to be right.
    ///
    /// # Errors
    /// Returns an error when the database fails; what is reset by then stays so.
    #[boxed]
    pub async fn reset_future_times(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut reset = 0;
        for (sql, longest) in RESET {
            let beyond = now.plus(longest).millis();
            let mut tx = self.store.db.begin_bulk().await?;
            reset += tx.execute(query(sql).bind(now.millis()).bind(beyond)).await?;
            tx.commit().await?;
        }
        Ok(reset)
    }
}
