//! Upper bound for reading the log on PostgreSQL: beyond transactions of other databases of the
//! server, and never beyond those of this one.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::{Bookmark, FeedReader};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::sync::watch;

use super::{Fixture, at, said};
use crate::harness::postgres::Postgres;
use crate::harness::wait::{DEADLINE, until};

/// Opens a connection with a transaction that has an id, and stays open.
pub(super) async fn writing(url: &str, statement: &str) -> PgConnection {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute("BEGIN").await.unwrap();
    connection.execute(AssertSqlSafe(statement.to_owned())).await.unwrap();
    connection.execute("SELECT pg_current_xact_id()").await.unwrap();
    connection
}

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

/// Returns the messages in the log, read from its beginning.
async fn told(fixture: &Fixture) -> Vec<String> {
    let (user, channels) = (UserId::from("U1"), [ChannelId::from("C1")]);
    let reader = FeedReader { user: &user, channels: &channels, not_before: None };
    let feed =
        fixture.store.outbox().outbox_events(reader, Bookmark::default(), 100).await.unwrap();
    feed.outbox_events.into_iter().filter_map(|outbox_event| outbox_event.subject).collect()
}

async fn tells(fixture: &Fixture, expected: &[&str]) {
    until("the log tells it", DEADLINE, async || told(fixture).await == expected).await;
}

/// Waits for that many reads, or for the end of the reader.
async fn held_over(reads: &mut watch::Receiver<usize>, count: usize) {
    let end = *reads.borrow() + count;
    let _ended = reads.wait_for(|&reads| reads >= end).await;
}

/// Returns the statement that logs a message of C1.
pub(super) fn row(subject: &str) -> String {
    format!(
        "INSERT INTO outbox_events (type, at, logged_at, channel_id, subject_id)
         VALUES ('message.received', 1, 1, 'C1', '{subject}')"
    )
}

#[tokio::test]
async fn what_runs_in_another_database_holds_nothing_back() {
    let (fixture, other) = (Fixture::postgres().await, Postgres::database().await);
    prepared(&fixture).await;
    let mut held = Vec::new();
    for n in 0..3 {
        let statement =
            format!("CREATE TABLE held_{n} (n INT); SAVEPOINT s; CREATE TABLE s_{n} ()");
        held.push(writing(&other.url(), &statement).await);
        fixture.keep(&[said("C1", &format!("m{n}"), 10 + n, "x")], 20 + n).await;
    }
    // Webhook deliveries are created up to the same bound.
    tells(&fixture, &["m0", "m1", "m2"]).await;
    let feed = "SELECT COUNT(*) FROM outbox_events h, webhook_outbox_position f
                WHERE h.subject_id = 'm2' AND (h.tx, h.seq) <= (f.tx, f.seq)";
    until("webhooks have it", DEADLINE, async || {
        fixture.store.webhooks().fan_out_webhooks(at(30)).await.unwrap();
        fixture.value(feed).await == "1"
    })
    .await;
    for mut connection in held {
        connection.execute("ROLLBACK").await.unwrap();
    }
}

#[tokio::test]
async fn what_runs_in_this_database_holds_back_what_is_newer() {
    let (fixture, other) = (Fixture::postgres().await, Postgres::database().await);
    prepared(&fixture).await;
    let _held = writing(&other.url(), "CREATE TABLE held (n INT)").await;
    let url = fixture.database.as_ref().unwrap().url();
    fixture.keep(&[said("C1", "before", 10, "x")], 20).await;
    let statement = format!("SAVEPOINT s; {}; RELEASE s", row("slow"));
    let mut slow = writing(&url, &statement).await;
    fixture.keep(&[said("C1", "after", 11, "x")], 21).await;
    tells(&fixture, &["before"]).await;
    let bound = "SELECT chatkeep_log_bound(pg_current_snapshot()) <=
                 (SELECT tx FROM outbox_events WHERE subject_id = 'after')";
    assert_eq!(fixture.value(bound).await, "t");
    slow.execute("COMMIT").await.unwrap();
    tells(&fixture, &["before", "slow", "after"]).await;
}

/// A role without any privilege but for its own database sees enough.
#[tokio::test]
async fn a_plain_role_reads_past_other_databases() {
    let (fixture, other) = (Fixture::postgres().await, Postgres::database().await);
    prepared(&fixture).await;
    let _held = writing(&other.url(), "CREATE TABLE held (n INT)").await;
    fixture.keep(&[said("C1", "m", 10, "x")], 20).await;
    let database = fixture.database.as_ref().unwrap();
    let name = database.url().rsplit('/').next().unwrap().to_owned();
    let role = format!("plain_{name}");
    database.query(&format!("CREATE ROLE {role} LOGIN")).await;
    database.query(&format!("GRANT SELECT ON outbox_events TO {role}")).await;
    let mut plain = PgConnection::connect(&database.url_as(&role)).await.unwrap();
    let beyond = "SELECT chatkeep_log_bound(pg_current_snapshot()) >
                  (SELECT tx FROM outbox_events WHERE subject_id = 'm')";
    // Transactions of other tests on this server that are just beginning count as its own.
    until("it reads past what is held", DEADLINE, async || {
        sqlx::query_scalar(beyond).fetch_one(&mut plain).await.unwrap()
    })
    .await;
    plain.close().await.unwrap();
    database.query(&format!("REVOKE ALL ON outbox_events FROM {role}; DROP ROLE {role}")).await;
}

/// Prepared transactions belong to no connection, and to one database.
#[tokio::test]
async fn prepared_transactions_count_in_their_own_database_only() {
    let (fixture, other) = (Fixture::postgres().await, Postgres::database().await);
    prepared(&fixture).await;
    let database = fixture.database.as_ref().unwrap();
    let name = database.url().rsplit('/').next().unwrap().to_owned();
    let prepare = async |url: &str, statement: &str, id: &str| {
        let mut connection = writing(url, statement).await;
        let end = format!("PREPARE TRANSACTION '{id}_{name}'");
        connection.execute(AssertSqlSafe(end)).await.unwrap();
    };
    prepare(&other.url(), "CREATE TABLE held (n INT)", "other").await;
    fixture.keep(&[said("C1", "first", 10, "x")], 20).await;
    tells(&fixture, &["first"]).await;
    prepare(&database.url(), &row("second"), "own").await;
    fixture.keep(&[said("C1", "third", 11, "x")], 21).await;
    tells(&fixture, &["first"]).await;
    database.query(&format!("COMMIT PREPARED 'own_{name}'")).await;
    tells(&fixture, &["first", "second", "third"]).await;
    other.query(&format!("ROLLBACK PREPARED 'other_{name}'")).await;
}

/// Writers of this database commit in another order than they begin, some in subtransactions, some
/// never, while transactions of another database come and go: a reader who follows gets every
/// committed row once and in order. Each transaction is held open over some reads of the reader, or
/// over none.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_skipped_whatever_runs_beside() {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 60;
    let (fixture, other) = (Fixture::postgres().await, Postgres::database().await);
    prepared(&fixture).await;
    let url = fixture.database.as_ref().unwrap().url();
    let (read, reads) = watch::channel(0_usize);
    let beside = |n: usize| {
        let (url, mut reads) = (other.url(), reads.clone());
        tokio::spawn(async move {
            for round in 0..ROUNDS / 2 {
                let statement = format!("CREATE TABLE IF NOT EXISTS t_{n}_{round} (n INT)");
                let held = writing(&url, &statement).await;
                held_over(&mut reads, (round + n) % 5).await;
                held.close().await.unwrap();
            }
        })
    };
    let writer = |n: usize| {
        let (url, mut reads) = (url.clone(), reads.clone());
        tokio::spawn(async move {
            let mut connection = PgConnection::connect(&url).await.unwrap();
            let mut run = async |sql: String| {
                connection.execute(AssertSqlSafe(sql)).await.unwrap();
            };
            for round in 0..ROUNDS {
                run("BEGIN".to_owned()).await;
                if round % 3 == 0 {
                    run("SAVEPOINT s".to_owned()).await;
                }
                run(row(&format!("{n}-{round}"))).await;
                held_over(&mut reads, round * 7 % (n + 1)).await;
                run(if round % 5 == 4 { "ROLLBACK" } else { "COMMIT" }.to_owned()).await;
            }
        })
    };
    let tasks: Vec<_> = (0..2).map(beside).chain((0..WRITERS).map(writer)).collect();
    let (user, channels) = (UserId::from("U1"), [ChannelId::from("C1")]);
    let reader = FeedReader { user: &user, channels: &channels, not_before: None };
    let expected = WRITERS * ROUNDS / 5 * 4;
    let (mut seen, mut after, mut parts) = (Vec::new(), Bookmark::default(), 0);
    until("everything is read", DEADLINE, async || {
        let feed = fixture.store.outbox().outbox_events(reader, after, 10).await.unwrap();
        assert!(feed.outbox_events.iter().all(|h| h.place > after.at), "nothing goes back");
        after = feed.next;
        parts += usize::from(!feed.outbox_events.is_empty());
        read.send_modify(|reads| *reads += 1);
        seen.extend(feed.outbox_events.into_iter().filter_map(|h| h.subject));
        seen.len() >= expected
    })
    .await;
    drop(read);
    for task in tasks {
        task.await.unwrap();
    }
    let distinct: BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (expected, expected));
    assert!(parts > expected / 20, "it followed while they wrote: {parts}");
}
