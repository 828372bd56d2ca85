//! Messages that are changed or removed on one connection while another one begins, stores or gives up
//! parts of exports: nothing that is gone stays in a part which may be read.

use std::sync::atomic::{AtomicUsize, Ordering};

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::{
    BlobClaim, ExportJob, ExportPart, JobKind, JobStatus, NewChannelJob, PartBlob, PartOutcome,
    WrittenPart,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};

use super::exports::{
    NOW, SETTLED, applied, begun, blob, claimed, completed, edited, files, group, orphans, part,
    present, stored,
};
use super::{Fixture, at, clock_at, on_both, unsent};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

on_both!(
    a_part_is_begun_while_a_message_is_removed,
    a_message_is_removed_while_a_part_is_begun,
    a_message_is_removed_while_a_part_is_stored,
    a_part_is_stored_while_a_message_is_removed,
    a_part_is_stored_while_changes_are_applied,
    changes_are_applied_in_batches_and_forgotten,
);

/// Statement that keeps an unsend from ending after the change was noted.
const REMOVAL: &str = "LOCK TABLE outbox_events IN SHARE MODE";
/// Statement that keeps a part from being begun or stored in the end.
const EXPORT: &str = "SELECT id FROM exports FOR UPDATE";

/// Way in which a message is removed.
#[derive(Clone, Copy, Debug)]
enum Removal {
    Unsent,
    Deleted,
}

const REMOVALS: [Removal; 2] = [Removal::Unsent, Removal::Deleted];

impl Removal {
    /// Removes the message `m1`.
    async fn run(self, fixture: &Fixture) {
        if matches!(self, Self::Unsent) {
            fixture.keep(&[unsent("C1", "m1", 100)], NOW).await;
            return;
        }
        let (channel, by, kind) = (ChannelId::from("C1"), UserId::from("U1"), JobKind::Deletion);
        let (channel, kind, by, worker) = (&channel, &kind, &by, Some("R"));
        let new = NewChannelJob { id: "job_1", channel, kind, sent_before: at(15), by, worker };
        let (job, _) = fixture.store.jobs().begin_job(&new, at(NOW)).await.unwrap();
        fixture.store.jobs().work_on_job(&job, "R", 100, &clock_at(NOW)).await.unwrap().unwrap();
    }
}

/// Transaction of another connection, for which others wait.
enum Hold {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Hold {
    /// Keeps others from going on behind the rows or tables that a statement locks; in SQLite from
    /// writing at all.
    async fn new(fixture: &Fixture, lock: &str) -> Self {
        let Some(database) = &fixture.database else {
            let file = format!("sqlite://{}/chatkeep.db", fixture.folder.path().display());
            let mut connection = SqliteConnection::connect(&file).await.unwrap();
            connection.execute("BEGIN IMMEDIATE").await.unwrap();
            return Self::Sqlite(connection);
        };
        let mut connection = PgConnection::connect(&database.url()).await.unwrap();
        connection.execute("BEGIN").await.unwrap();
        connection.execute(AssertSqlSafe(lock.to_owned())).await.unwrap();
        Self::Postgres(connection)
    }

    async fn release(self) {
        match self {
            Self::Sqlite(mut connection) => drop(connection.execute("COMMIT").await.unwrap()),
            Self::Postgres(mut connection) => drop(connection.execute("COMMIT").await.unwrap()),
        }
    }
}

/// Runs two works that meet in the database: the second begins once the first waits for `lock`, which
/// is released once the second waits, too, or has ended.
async fn meet<A, B>(
    fixture: &Fixture,
    lock: &str,
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> (A, B) {
    const WAITING: &str = "SELECT COUNT(*) FROM pg_stat_activity
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let hold = Hold::new(fixture, lock).await;
    let waiting = async |number: usize| {
        until("a transaction to wait", DEADLINE, async || {
            if fixture.is_sqlite() {
                return begun.load(Ordering::Relaxed) >= number;
            }
            let waiting: usize = fixture.value(WAITING).await.parse().unwrap();
            waiting + ended.load(Ordering::Relaxed) >= number
        })
        .await;
    };
    let first = async {
        begun.fetch_add(1, Ordering::Relaxed);
        first.await
    };
    let second = async {
        waiting(1).await;
        begun.fetch_add(1, Ordering::Relaxed);
        let done = second.await;
        ended.fetch_add(1, Ordering::Relaxed);
        done
    };
    let release = async {
        waiting(2).await;
        hold.release().await;
    };
    let (first, second, ()) = tokio::join!(first, second, release);
    (first, second)
}

/// Begins an export with the message that is removed.
async fn exporting(fixture: &Fixture) -> ExportJob {
    group(fixture).await;
    begun(fixture, "exp_1", NOW).await;
    claimed(fixture, "A", NOW).await.unwrap()
}

/// Begins a part, and reads its first message; returns whether that was there.
async fn begun_and_read(fixture: &Fixture, export: &ExportJob) -> (ExportPart, bool) {
    let part = part(fixture, export, "A").await;
    (part, is_there(fixture).await)
}

async fn is_there(fixture: &Fixture) -> bool {
    let there = "SELECT COUNT(*) FROM messages WHERE message_id = 'm1' AND content IS NOT NULL";
    fixture.value(there).await == "1"
}

async fn claim(fixture: &Fixture) -> BlobClaim {
    fixture.store.media().claim_blob(blob('a'), at(NOW)).await.unwrap()
}

/// Stores the one part of the export, in one transaction.
async fn store(
    fixture: &Fixture,
    export: &ExportJob,
    part: &ExportPart,
    claim: &BlobClaim,
) -> PartOutcome {
    let last = (at(40), "m4".into());
    let written = WrittenPart { claim, bytes: 7, messages: 4, last: Some(&last), is_last: true };
    fixture.store.exports().store_export_part(export, "A", part, &written, at(NOW)).await.unwrap()
}

/// Returns whether the file of the one part may be read.
async fn is_readable(fixture: &Fixture) -> bool {
    let file = PartBlob { part: 0, blob: blob('a'), bytes: 7 };
    let is_file = fixture.store.exports().is_export_file("exp_1", &file).await.unwrap();
    assert_eq!(files(fixture, "exp_1").await.is_some(), is_file);
    is_file
}

/// Checks that a part with the removed message is not read, and that its file goes.
async fn is_gone(fixture: &Fixture) {
    assert!(!is_readable(fixture).await, "the message is gone");
    assert_eq!(orphans(fixture).await, [blob('a')]);
    assert!(!is_readable(fixture).await);
    assert_eq!(fixture.value("SELECT COUNT(*) FROM export_changes").await, "0");
    let export = present(fixture, "exp_1").await;
    let again = part(fixture, &export, "A").await;
    assert_eq!(again.number, 0, "it is written again");
    stored(fixture, &export, ("A", &again, 'a'), (4, true)).await;
    assert!(is_readable(fixture).await);
    applied(fixture).await;
    assert!(is_readable(fixture).await, "it is as of after the change");
}

async fn a_part_is_begun_while_a_message_is_removed(fixture: Fixture) {
    let export = exporting(&fixture).await;
    let begun = begun_and_read(&fixture, &export);
    let removal = Removal::Unsent.run(&fixture);
    let ((), (part, is_there)) = meet(&fixture, REMOVAL, removal, begun).await;
    assert!(!is_there, "it waits for whoever changes a message");
    let outcome = stored(&fixture, &export, ("A", &part, 'a'), (4, true)).await;
    assert!(matches!(outcome, PartOutcome::Stored(_)), "{outcome:?}");
    applied(&fixture).await;
    assert!(is_readable(&fixture).await);
}

async fn a_message_is_removed_while_a_part_is_begun(fixture: Fixture) {
    for removal in REMOVALS {
        let fixture = fixture.another().await;
        let export = exporting(&fixture).await;
        let begun = begun_and_read(&fixture, &export);
        let ((part, is_there), ()) = meet(&fixture, EXPORT, begun, removal.run(&fixture)).await;
        let outcome = stored(&fixture, &export, ("A", &part, 'a'), (4, true)).await;
        assert_eq!(outcome, PartOutcome::Outdated, "{removal:?}, read before: {is_there}");
        is_gone(&fixture).await;
    }
}

async fn a_message_is_removed_while_a_part_is_stored(fixture: Fixture) {
    for removal in REMOVALS {
        let fixture = fixture.another().await;
        let export = exporting(&fixture).await;
        let (part, is_there) = begun_and_read(&fixture, &export).await;
        assert!(is_there);
        let claim = claim(&fixture).await;
        let stored = store(&fixture, &export, &part, &claim);
        let (outcome, ()) = meet(&fixture, EXPORT, stored, removal.run(&fixture)).await;
        assert!(matches!(outcome, PartOutcome::Stored(_)), "{removal:?} {outcome:?}");
        is_gone(&fixture).await;
    }
}

async fn a_part_is_stored_while_a_message_is_removed(fixture: Fixture) {
    let export = exporting(&fixture).await;
    let (part, is_there) = begun_and_read(&fixture, &export).await;
    assert!(is_there);
    let claim = claim(&fixture).await;
    let stored = store(&fixture, &export, &part, &claim);
    let removal = Removal::Unsent.run(&fixture);
    let ((), outcome) = meet(&fixture, REMOVAL, removal, stored).await;
    // In SQLite the removal comes first.
    let is_stored = matches!(outcome, PartOutcome::Stored(_));
    assert!(is_stored || fixture.is_sqlite(), "{outcome:?}");
    is_gone(&fixture).await;
}

async fn a_part_is_stored_while_changes_are_applied(fixture: Fixture) {
    for removal in REMOVALS {
        let fixture = fixture.another().await;
        let export = exporting(&fixture).await;
        let (part, _) = begun_and_read(&fixture, &export).await;
        let claim = claim(&fixture).await;
        let stored = store(&fixture, &export, &part, &claim);
        let removed_and_applied = async {
            removal.run(&fixture).await;
            applied(&fixture).await;
        };
        let (outcome, ()) = meet(&fixture, EXPORT, stored, removed_and_applied).await;
        assert!(matches!(outcome, PartOutcome::Stored(_)), "{removal:?} {outcome:?}");
        // Whoever applied the change has seen the part that was being stored.
        let left = "SELECT COUNT(*) FROM export_parts WHERE sha256 IS NOT NULL";
        assert_eq!(fixture.value(left).await, "0", "{removal:?}");
        is_gone(&fixture).await;
    }
}

async fn changes_are_applied_in_batches_and_forgotten(fixture: Fixture) {
    group(&fixture).await;
    let changes = async || fixture.value("SELECT COUNT(*) FROM export_changes").await;
    fixture.keep(&[edited("m1", 90)], NOW).await;
    assert_eq!(changes().await, "0", "nobody has an export");
    completed(&fixture, "exp_1").await;
    // As many people have the same.
    fixture
        .run(
            "INSERT INTO exports (id, channel_id, created_by, created_at, format, sent_before,
                                  time_zone, language, total, status, finished_at, expires_at)
             SELECT 'exp_' || v.n, channel_id, 'U' || v.n, created_at, format, sent_before,
                    time_zone, language, total, status, finished_at, expires_at
             FROM exports CROSS JOIN (WITH RECURSIVE c(n) AS (
                 SELECT 10 UNION ALL SELECT n + 1 FROM c WHERE n < 310) SELECT n FROM c) v",
        )
        .await;
    fixture
        .run(
            "INSERT INTO export_parts (export_id, part, channel_id, after_at, after_id, last_at,
                                       last_id, is_last, sha256, bytes, messages)
             SELECT e.id, p.part, p.channel_id, p.after_at, p.after_id, p.last_at, p.last_id,
                    p.is_last, p.sha256, p.bytes, p.messages
             FROM export_parts p CROSS JOIN exports e WHERE e.id <> 'exp_1'",
        )
        .await;
    fixture.keep(&[unsent("C1", "m1", 100), edited("m3", 101)], NOW).await;
    assert_eq!(changes().await, "2", "one row a message, however many exports there are");
    assert_eq!(present(&fixture, "exp_1").await.status, JobStatus::Pending);
    assert_eq!(files(&fixture, "exp_200").await, None);
    let apply = async || fixture.store.exports().apply_export_changes(at(NOW)).await.unwrap();
    assert!(apply().await);
    assert_eq!(changes().await, "2", "not all of them at once");
    applied(&fixture).await;
    assert_eq!(changes().await, "0");
    let left = "SELECT COUNT(*) FROM export_parts WHERE sha256 IS NOT NULL";
    assert_eq!(fixture.value(left).await, "0");
    let waiting = "SELECT COUNT(*) FROM exports WHERE status = 'pending' AND finished_at IS NULL";
    assert_eq!(fixture.value(waiting).await, "302");
    assert!(!apply().await);
    // What is written after that is as it is now.
    let export = claimed(&fixture, "B", SETTLED).await.unwrap();
    let first = part(&fixture, &export, "B").await;
    stored(&fixture, &export, ("B", &first, 'c'), (2, false)).await;
    applied(&fixture).await;
    assert_eq!(fixture.value(left).await, "1");
}
