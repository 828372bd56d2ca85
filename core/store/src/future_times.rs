//! Times that a wrong clock put into the future: what waits for them would wait for as long as the
//! clock was ahead.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;
use tracing::info;

use super::usage_days::reset_later_days;
use super::{EXPORT_RETENTION, JobStore, StoreError};
use crate::query::{query, query_as};

/// Maximum time by which clocks of a deployment differ, and more than any claim lasts.
pub const CLOCK_SKEW: Duration = Duration::from_hours(1);
/// Maximum pause between attempts of a webhook: a week (`webhooks.retry_seconds`), and a tenth of it
/// that is chosen at random.
const PAUSE: Duration = Duration::from_hours(9 * 24);

/// Maximum time for which an export is retained, and as much as clocks differ.
const EXPORTS: Duration = EXPORT_RETENTION.saturating_add(CLOCK_SKEW);
/// Maximum time for which a replaced key or secret of a webhook stays valid (30 days), and as much as
/// clocks differ.
const OVERLAP: Duration = Duration::from_hours(30 * 24).saturating_add(CLOCK_SKEW);
/// Maximum time for which a refresh token is valid (30 days), and as much as clocks differ.
const REFRESH: Duration = Duration::from_hours(30 * 24).saturating_add(CLOCK_SKEW);
/// Maximum time for which any other token is valid (an hour), and as much as clocks differ.
const ACCESS: Duration = Duration::from_hours(1).saturating_add(CLOCK_SKEW);

/// Number of rows that one transaction changes, as the statements have it.
const BATCH: u64 = 5_000;

/// Column with times beyond which nothing is right.
#[derive(Clone, Copy, Debug)]
struct FutureTime {
    /// Table and column.
    column: &'static str,
    /// Statement that tells whether any row has a time beyond `$1`.
    find: &'static str,
    /// Statement that sets times beyond `$2` to `$1`.
    reset: &'static str,
    /// Time from the present on beyond which nothing is right.
    longest: Duration,
}

/// Builds the statement that tells whether any row has a time beyond `$1`.
macro_rules! find {
    ($table:literal, $column:expr) => {
        concat!(
            "SELECT COUNT(*) FROM (SELECT 1 AS one FROM ",
            $table,
            " WHERE ",
            $column,
            " > $1 LIMIT 1) f"
        )
    };
}

/// Builds a column's statements, from its table and the table's primary key; `$only` restricts the
/// rows.
macro_rules! future {
    ($table:literal, $key:literal, $column:literal, $longest:expr) => {
        future!($table, $key, $column, $longest, "")
    };
    ($table:literal, $key:literal, $column:literal, $longest:expr, $only:literal) => {
        FutureTime {
            column: concat!($table, ".", $column),
            find: find!($table, concat!($only, $column)),
            reset: concat!(
                "UPDATE ",
                $table,
                " SET ",
                $column,
                " = $1 WHERE ",
                $column,
                " > $2 AND (",
                $key,
                ") IN (SELECT ",
                $key,
                " FROM ",
                $table,
                " WHERE ",
                $only,
                $column,
                " > $2 LIMIT 5000)"
            ),
            longest: $longest,
        }
    };
}

/// Columns whose times are set to the present.
///
/// Nothing that is still to be said may be refused as said before a deletion or an erasure, and
/// nothing that is still to be sent may be deleted. What an opt-out is about begins now at the latest.
/// Changes of mind and of a channel's coverage keep their order.
const TO_THE_PRESENT: &[FutureTime] = &[
    future!("heartbeat", "id", "alive_at", CLOCK_SKEW),
    future!("outages", "from_at", "to_at", CLOCK_SKEW, "from_at <= $1 AND "),
    future!("channel_jobs", "id", "claimed_until", CLOCK_SKEW, "finished_at IS NULL AND "),
    future!("channel_jobs", "id", "sent_before", CLOCK_SKEW, "finished_at IS NULL AND "),
    future!("channel_jobs", "id", "progress_at", CLOCK_SKEW),
    future!("exports", "id", "claimed_until", CLOCK_SKEW, "finished_at IS NULL AND "),
    future!("exports", "id", "created_at", CLOCK_SKEW),
    future!("exports", "id", "progress_at", CLOCK_SKEW),
    future!("exports", "id", "expires_at", EXPORTS),
    future!("imports", "import_id", "started_at", CLOCK_SKEW),
    future!("imports", "import_id", "active_at", CLOCK_SKEW),
    future!("imports", "import_id", "undone_at", CLOCK_SKEW),
    future!("webhooks", "webhook_id", "not_until", PAUSE),
    future!("webhooks", "webhook_id", "failing_since", CLOCK_SKEW),
    future!(
        "webhook_deliveries",
        "delivery_no",
        "due_at",
        PAUSE,
        "webhook_id IN (SELECT webhook_id FROM webhooks) AND "
    ),
    future!("replies", "event_id", "created_at", CLOCK_SKEW),
    future!("qa_rules", "channel_id, rule_id", "last_hit_at", CLOCK_SKEW),
    future!("channels", "channel_id", "deleted_before", CLOCK_SKEW),
    future!("channels", "channel_id", "retained_from", CLOCK_SKEW),
    future!("channels", "channel_id", "summary_at", CLOCK_SKEW),
    future!("channels", "channel_id", "enabled_at", CLOCK_SKEW),
    future!("channel_bots", "channel_id, bot", "joined_at", CLOCK_SKEW),
    future!("channel_bots", "channel_id, bot", "owned_until", CLOCK_SKEW),
    future!("gaps", "channel_id, reason, from_at", "to_at", CLOCK_SKEW),
    future!("users", "user_id", "profile_at", CLOCK_SKEW),
    future!("members", "channel_id, user_id", "first_seen_at", CLOCK_SKEW),
    future!("members", "channel_id, user_id", "last_seen_at", CLOCK_SKEW),
    future!("membership_checks", "channel_id, user_id", "checked_at", CLOCK_SKEW),
    future!("membership_checks", "channel_id, user_id", "claimed_until", CLOCK_SKEW),
    future!("erased_people", "channel_id, user_id", "erased_at", CLOCK_SKEW),
    future!("media", "channel_id, message_id", "created_at", CLOCK_SKEW, "status = 'pending' AND "),
    future!("blob_orphans", "sha256", "since", CLOCK_SKEW),
    future!("sessions", "hash", "seen_at", CLOCK_SKEW),
    future!("logins", "state_hash", "created_at", CLOCK_SKEW),
    future!("idempotency", "owner, route, key_hash", "created_at", CLOCK_SKEW),
    future!("api_keys", "key_id", "last_used_at", CLOCK_SKEW),
    future!("oauth_clients", "client_id", "created_at", CLOCK_SKEW, "granted = 0 AND "),
    future!("oauth_secrets", "hash", "used_at", CLOCK_SKEW),
    FutureTime {
        column: "opt_outs.at",
        find: find!("opt_outs", "at"),
        reset: "
            UPDATE opt_outs SET at = $1 - r.later
            FROM (SELECT user_id, channel_id, at AS was,
                         ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY at DESC, opted_out DESC)
                             - 1 AS later
                  FROM opt_outs WHERE at > $2) r
            WHERE opt_outs.user_id = r.user_id AND opt_outs.channel_id = r.channel_id
              AND opt_outs.at = r.was",
        longest: CLOCK_SKEW,
    },
    FutureTime {
        column: "coverage_changes.at",
        find: find!("coverage_changes", "at"),
        reset: "
            UPDATE coverage_changes SET at = $1 - r.later
            FROM (SELECT channel_id, kind, at AS was,
                         ROW_NUMBER() OVER (PARTITION BY channel_id ORDER BY at DESC, kind DESC)
                             - 1 AS later
                  FROM coverage_changes WHERE at > $2) r
            WHERE coverage_changes.channel_id = r.channel_id AND coverage_changes.kind = r.kind
              AND coverage_changes.at = r.was",
        longest: CLOCK_SKEW,
    },
];

/// Columns with ends of credentials, which are set to the last right one: nobody is signed out.
const TO_THE_LAST_END: &[FutureTime] = &[
    future!("webhooks", "webhook_id", "old_until", OVERLAP),
    // A key without a successor ends when its owner says.
    future!("api_keys", "key_id", "expires_at", OVERLAP, "replaced_by IS NOT NULL AND "),
    future!("oauth_secrets", "hash", "expires_at", REFRESH, "kind = 'refresh' AND "),
    future!("oauth_secrets", "hash", "expires_at", ACCESS, "kind <> 'refresh' AND "),
];

impl JobStore<'_> {
    /// Brings times that lie too far in the future back, most of them to the present, and returns how
    /// many. For a time that is known to be right.
    ///
    /// # Errors
    /// Returns an error when the database fails; what is reset by then stays so.
    #[boxed]
    pub async fn reset_future_times(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut reset = 0;
        for time in TO_THE_PRESENT {
            reset += self.reset_column(time, now, now.plus(time.longest)).await?;
        }
        for time in TO_THE_LAST_END {
            let last = now.plus(time.longest);
            reset += self.reset_column(time, last, last).await?;
        }
        let mut tx = self.store.db.begin_bulk().await?;
        reset += reset_later_days(&mut tx, now.plus(CLOCK_SKEW), now).await?;
        tx.commit().await?;
        Ok(reset)
    }

    /// Sets the times of a column that are beyond `last` to `to`.
    async fn reset_column(
        &self,
        time: &FutureTime,
        to: Timestamp,
        last: Timestamp,
    ) -> Result<u64, StoreError> {
        // Some tables are large and have no index on the column: nobody waits while they are read.
        let find = query_as(time.find).bind(last.millis());
        let (mut found,): (i64,) = self.store.db.fetch_one(find).await?;
        let mut reset = 0;
        while found > 0 {
            let mut tx = self.store.db.begin_bulk().await?;
            let statement = query(time.reset).bind(to.millis()).bind(last.millis());
            let batch = tx.execute(statement).await?;
            tx.commit().await?;
            reset += batch;
            found = i64::from(batch >= BATCH);
        }
        if reset > 0 {
            info!(column = time.column, times = reset, "times in the future are reset");
        }
        Ok(reset)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chatkeep_core::config::Database;

    use super::*;
    use crate::Store;

    /// Last words of the names of columns with times.
    const ENDINGS: [&str; 6] = ["at", "before", "day", "from", "since", "until"];

    /// Columns whose times stay, by reason.
    const STAY: &[(&str, &[&str])] = &[
        (
            "the platform says them",
            &[
                "activity_counters.at",
                "channel_bots.left_at",
                "channels.created_at",
                "channels.disabled_at",
                "channels.resumed_at",
                "gaps.from_at",
                "media.sent_at",
                "members.joined_at",
                "members.left_at",
                "messages.edited_at",
                "messages.sent_at",
                "messages.unsent_at",
                "opted_out_days.day_at",
            ],
        ),
        (
            "those of messages, in keysets and spans",
            &[
                "export_changes.first_at",
                "export_changes.last_at",
                "export_parts.after_at",
                "export_parts.last_at",
                "exports.sent_before",
                "exports.sent_from",
            ],
        ),
        (
            "people choose them, or keys that people made",
            &[
                "api_keys.not_before",
                "exports.not_before",
                "webhooks.ends_at",
                "webhooks.not_before",
            ],
        ),
        (
            "they are shown, and give an order at most",
            &[
                "api_keys.created_at",
                "assistants.qa_at",
                "assistants.rules_at",
                "assistants.welcome_at",
                "channel_jobs.created_at",
                "imports.ended_at",
                "imports.undo_ended_at",
                "media.lost_stored_at",
                "members.role_at",
                "messages.first_kept_at",
                "oauth_grants.created_at",
                "outages.from_at",
                "qa_rules.changed_at",
                "qa_rules.created_at",
                "replies.finished_at",
                "saved_searches.created_at",
                "saved_searches.deleted_at",
                "saved_searches.updated_at",
                "sessions.created_at",
                "users.created_at",
                "webhook_deliveries.at",
                "webhook_deliveries.tried_at",
                "webhooks.created_at",
                "webhooks.disabled_at",
                "webhooks.notified_at",
                "webhooks.updated_at",
            ],
        ),
        (
            "the row is purged that much later, and none waits behind it",
            &[
                "channel_changes.at",
                "channel_jobs.finished_at",
                "channel_reads.day_at",
                "exports.finished_at",
                "oauth_clients.used_at",
                "other_events.at",
                "usage_notices.created_at",
                "usage_notices.notified_at",
                "webhook_deliveries.created_at",
            ],
        ),
        (
            "usage is counted by their order, whatever the clock says (`Ledger::storing_time`)",
            &[
                "channels.counted_at",
                "media.stored_at",
                "messages.backed_up_at",
                "subscriptions.cancelled_at",
                "subscriptions.created_at",
            ],
        ),
        (
            "readers know their last event by its time; `purge_future_events` purges them",
            &["outbox_events.at", "outbox_events.logged_at"],
        ),
        ("a webhook's place in the event log", &["webhooks.since"]),
        ("the next change replaces it, and is told from it", &["channels.earlier_texts_ended_at"]),
        (
            "a later restoration has a later one, whatever the clock says",
            &["deployment.restored_at"],
        ),
        ("written once a minute", &["deployment.bus_handled_until"]),
        (
            "the clock of the database, whose steps backwards their readers know",
            &[
                "job_leases.until",
                "processes.seen_at",
                "processes.started_at",
                "replica_checks.ended_at",
            ],
        ),
    ];

    const COLUMNS: &str = "
        SELECT t.name || '.' || c.name FROM sqlite_schema t CROSS JOIN pragma_table_info(t.name) c
        WHERE t.type = 'table' AND c.type = 'INTEGER'";

    fn is_time(column: &str) -> bool {
        column.rsplit(['.', '_']).next().is_some_and(|word| ENDINGS.contains(&word))
    }

    #[tokio::test]
    async fn every_time_is_reset_or_stays_for_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
        let columns: Vec<(String,)> = store.db.fetch_all(query_as(COLUMNS)).await.unwrap();
        store.close().await;
        let columns = columns.iter().map(|(column,)| column.as_str());
        let mut times: Vec<_> = columns.filter(|column| is_time(column)).collect();
        let reset = TO_THE_PRESENT.iter().chain(TO_THE_LAST_END).map(|time| time.column);
        // Credentials of several kinds have ends of their own.
        let reset: BTreeSet<_> = reset.chain(["usage_days.day"]).collect();
        let stay = STAY.iter().flat_map(|(_, columns)| columns.iter().copied());
        let mut known: Vec<_> = reset.into_iter().chain(stay).collect();
        times.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, times, "a new column with times is to be added to one of the lists");
    }
}
