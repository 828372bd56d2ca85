//! Tests of the embedded bus only: it survives its process, locks its folder, stays small.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusError, BusLimits, Outgoing};
use chatkeep_core::time::SystemClock;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::fixture::{
    Fixture, ack_all, event, events, gather, nothing, one, publish, set, until_backlog,
};

/// Environment variable with the data folder of the process that a test kills.
const FOLDER: &str = "CHATKEEP_BUS_TEST_FOLDER";

/// Returns the folder if this is the process to be killed.
#[expect(clippy::disallowed_methods, reason = "a test's own child process has no settings")]
fn folder_of_victim() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs one test of this file in a process of its own.
fn victim(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn open(folder: &Path) -> Bus {
    let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
    Bus::Embedded(EmbeddedBus::open(folder, limits, clock).await.unwrap())
}

/// Publishes without end and prints the confirmed ids.
async fn publish_until_killed(folder: &Path, round: usize) {
    let bus = open(folder).await;
    bus.ensure(&events("backup")).await.unwrap();
    let mut publishers = Vec::new();
    for publisher in 0..16 {
        let bus = bus.clone();
        publishers.push(tokio::spawn(async move {
            for n in 0.. {
                let id = format!("{round}-{publisher}-{n}");
                bus.publish(vec![event(&id)]).await.unwrap();
                println!("answered {id}");
            }
        }));
    }
    for publisher in publishers {
        publisher.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loses_no_answered_message_when_killed() {
    if let Some(folder) = folder_of_victim() {
        return publish_until_killed(&folder, std::process::id() as usize).await;
    }
    let fixture = Fixture::embedded();
    let mut answered = BTreeSet::new();
    for round in 1..=3 {
        let mut child =
            victim("embedded_only::loses_no_answered_message_when_killed", fixture.folder());
        let output = BufReader::new(child.stdout.take().unwrap());
        let before = answered.len();
        for line in output.lines() {
            // Other output of the test runner may stand before it.
            if let Some((_, id)) = line.unwrap().split_once("answered ") {
                answered.insert(id.to_owned());
            }
            if answered.len() == before + 400 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(answered.len() >= before + 400 * round, "the process ended by itself");
    }

    let bus = open(fixture.folder()).await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let mut missing = answered;
    while !missing.is_empty() {
        let come = consumer.fetch(500, Duration::from_secs(2)).await.unwrap();
        assert!(!come.is_empty(), "lost: {missing:?}");
        for delivery in &come {
            missing.remove(&delivery.id);
        }
        ack_all(come).await;
    }
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_attempts_that_kill_the_process() {
    if let Some(folder) = folder_of_victim() {
        let bus = open(&folder).await;
        let mut consumer = bus.consume(&events("backup")).await.unwrap();
        println!("attempt {}", one(&mut consumer).await.attempt);
        std::process::abort();
    }
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    publish(&bus, &["poison"]).await;
    bus.close().await;

    let mut attempts = Vec::new();
    for _ in 0..4 {
        let mut child =
            victim("embedded_only::counts_attempts_that_kill_the_process", fixture.folder());
        let output = BufReader::new(child.stdout.take().unwrap());
        for line in output.lines() {
            if let Some((_, attempt)) = line.unwrap().split_once("attempt ") {
                attempts.push(attempt.parse::<u32>().unwrap());
            }
        }
        child.wait().unwrap();
    }
    // The first may die before it is counted; after an unclean end each one is.
    assert_eq!(attempts.len(), 4);
    assert_eq!(attempts[0], 1);
    assert!(attempts.windows(2).skip(1).all(|pair| pair[1] == pair[0] + 1), "{attempts:?}");
}

#[tokio::test]
async fn serves_one_process_at_a_time() {
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
    let second = EmbeddedBus::open(fixture.folder(), limits, clock).await;
    assert!(matches!(second, Err(BusError::Locked(_))), "{second:?}");
    bus.close().await;
    fixture.open().await.close().await;
}

#[tokio::test]
async fn frees_the_folder_without_being_closed() {
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    publish(&bus, &["e1"]).await;
    drop(bus);
    let deadline = tokio::time::Instant::now() + crate::fixture::TIMEOUT;
    let bus = loop {
        let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
        match EmbeddedBus::open(fixture.folder(), limits, clock).await {
            Ok(bus) => break Bus::Embedded(bus),
            Err(error) => assert!(matches!(error, BusError::Locked(_)), "{error}"),
        }
        assert!(tokio::time::Instant::now() < deadline, "stays locked");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    assert_eq!(one(&mut consumer).await.id, "e1");
    bus.close().await;
}

#[tokio::test]
async fn hears_of_an_attached_process() {
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1"]).await;
    one(&mut consumer).await.dead_letter("poison").await.unwrap();

    let beside = fixture.attach().await;
    let refused = beside.consume(&events("backup")).await;
    assert!(matches!(refused, Err(BusError::Config(_))));
    let letters = beside.dead_letters(10).await.unwrap();
    assert!(beside.retry_dead_letter(&letters[0].id).await.unwrap());
    publish(&beside, &["e2"]).await;
    beside.close().await;

    let come = gather(&mut consumer, 2).await;
    assert_eq!(crate::fixture::ids(&come), ["e1", "e2"]);
    ack_all(come).await;
    publish(&bus, &["e3"]).await;
    one(&mut consumer).await.ack().await.unwrap();
    until_backlog(&bus, &events("backup"), 0).await;
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uses_the_room_of_finished_messages_again() {
    let fixture = Fixture::embedded().dedupe_window(Duration::from_millis(100));
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let mut sizes = Vec::new();
    for round in 0..6 {
        for call in 0..20 {
            let name = |n| format!("a-rather-long-id-as-platforms-have-{round}-{call}-{n}");
            bus.publish((0..100).map(|n| event(name(n))).collect()).await.unwrap();
            ack_all(gather(&mut consumer, 100).await).await;
        }
        until_backlog(&bus, &events("backup"), 0).await;
        until_forgotten(fixture.folder()).await;
        sizes.push(std::fs::metadata(fixture.folder().join("bus.db")).unwrap().len());
    }
    bus.close().await;
    // One round's 2,000 messages with their ids and indexes need a sixth of the space of all
    // 12,000.
    let after = std::fs::metadata(fixture.folder().join("bus.db")).unwrap().len();
    assert!(after < 1_000_000, "{sizes:?} {after}");
    let log = fixture.folder().join("bus.db-wal");
    assert!(!log.exists(), "closing moves the log into the file");
}

/// Waits until maintenance has removed the ids of all messages.
async fn until_forgotten(folder: &Path) {
    let file = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.join("bus.db"));
    let mut conn = file.read_only(true).connect().await.unwrap();
    let forgotten = async {
        let count = "SELECT count(*) FROM seen";
        while sqlx::query_scalar::<_, i64>(count).fetch_one(&mut conn).await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), forgotten).await.unwrap();
    conn.close().await.unwrap();
}

/// Makes every write of a table fail, or succeed again.
async fn break_table(folder: &Path, table: &str, broken: bool) {
    let file = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.join("bus.db"));
    let mut conn = file.connect().await.unwrap();
    let text = if broken {
        format!(
            "CREATE TRIGGER broken_{table} BEFORE INSERT ON {table}
             BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    } else {
        format!("DROP TRIGGER broken_{table}")
    };
    sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goes_on_after_failed_writes() {
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2", "e3", "later", "e4"]).await;
    let mut held = gather(&mut consumer, 4).await;

    for table in ["message", "consumer"] {
        break_table(fixture.folder(), table, true).await;
    }
    let refused = bus.publish(vec![event("e5")]).await;
    assert!(matches!(refused, Err(BusError::Storage(_))), "{refused:?}");
    held.remove(0).ack().await.unwrap();
    assert!(held.remove(0).retry(Duration::ZERO).await.is_err());
    assert!(held.remove(0).dead_letter("poison").await.is_err());
    assert!(held.remove(0).retry(Duration::from_hours(1)).await.is_err());
    assert!(bus.dead_letters(10).await.unwrap().is_empty());
    for table in ["message", "consumer"] {
        break_table(fixture.folder(), table, false).await;
    }

    // The state that memory was ahead by is written after all, and the refused message is as new.
    publish(&bus, &["e5"]).await;
    let come = gather(&mut consumer, 3).await;
    assert_eq!(set(&come).into_iter().collect::<Vec<_>>(), ["e2", "e4", "e5"]);
    ack_all(come).await;
    until_backlog(&bus, &events("backup"), 1).await;
    bus.close().await;

    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    nothing(&mut consumer).await;
    until_backlog(&bus, &events("backup"), 1).await;
    assert_eq!(bus.dead_letters(10).await.unwrap()[0].message_id, "e3");
    bus.close().await;
}

#[tokio::test]
async fn takes_events_of_any_size_that_a_webhook_may_have() {
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    assert_eq!(bus.max_message_bytes(), None);
    // The largest body that `ingress.max_body_bytes` can allow.
    let largest = vec![b'x'; 17 << 20];
    let large = Outgoing { payload: largest.into(), ..event("e1") };
    bus.publish(vec![large, event("e2")]).await.unwrap();
    let come = gather(&mut consumer, 2).await;
    assert_eq!((come[0].payload.len(), come[1].id.as_str()), (17 << 20, "e2"));
    ack_all(come).await;
    bus.close().await;
}

/// Puts events back into the file that are in it no more, as earlier versions left some behind when
/// a consumer was removed.
async fn leave_behind(folder: &Path) {
    let file = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.join("bus.db"));
    let mut conn = file.connect().await.unwrap();
    let left = "INSERT INTO message (seq, stream, queue, subject, id, published_at, payload)
                SELECT seq, stream, '', 'event.line.7', id, at, x'7b7d' FROM seen
                WHERE seq NOT IN (SELECT seq FROM message)";
    sqlx::raw_sql(left).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

#[tokio::test]
async fn forgets_at_its_start_what_every_consumer_has_finished() {
    let fixture = Fixture::embedded().max_backlog(4);
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    publish(&bus, &["e1", "e2", "later", "e3"]).await;
    ack_all(gather(&mut backup, 4).await).await;
    let mut taken = gather(&mut assistant, 3).await;
    taken.remove(2).retry(Duration::from_hours(1)).await.unwrap();
    ack_all(taken).await;
    until_backlog(&bus, &events("assistant"), 2).await;
    bus.close().await;
    leave_behind(fixture.folder()).await;

    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    // There is room beside what one of them has yet to finish.
    publish(&bus, &["e4", "e5"]).await;
    let come = gather(&mut assistant, 3).await;
    assert_eq!(crate::fixture::ids(&come), ["e3", "e4", "e5"]);
    until_backlog(&bus, &events("assistant"), 4).await;
    bus.close().await;
}

#[tokio::test]
async fn has_an_identity_although_a_power_cut_left_its_file_empty() {
    let (one, other) = (Fixture::embedded(), Fixture::embedded());
    let mut identities = BTreeSet::new();
    for fixture in [&one, &other] {
        std::fs::write(fixture.folder().join("bus.id"), "").unwrap();
        let (bus, beside) = (fixture.open().await, fixture.attach().await);
        let identity = bus.state().await.unwrap().identity;
        assert_eq!(beside.state().await.unwrap().identity, identity);
        identities.insert(identity);
        beside.close().await;
        bus.close().await;
    }
    assert_eq!(identities.len(), 2, "each has its own");
}

#[tokio::test]
async fn what_is_delivered_again_is_bounded_as_what_is_new() {
    const LARGE: usize = 3 << 20;
    const WAIT: Duration = Duration::from_secs(10);
    let fixture = Fixture::embedded();
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let large = |n| Outgoing { payload: vec![b'x'; LARGE].into(), ..event(format!("e{n}")) };
    bus.publish((0..9).map(large).collect()).await.unwrap();
    let (mut new, mut again) = (Vec::new(), Vec::new());
    while new.len() < 9 {
        new.extend(consumer.fetch(9, WAIT).await.unwrap());
    }
    for delivery in new {
        delivery.retry(Duration::ZERO).await.unwrap();
    }
    while again.len() < 9 {
        let deliveries = consumer.fetch(9, WAIT).await.unwrap();
        assert!((1..=3).contains(&deliveries.len()), "{} at once", deliveries.len());
        for delivery in deliveries {
            again.push((delivery.id.clone(), delivery.attempt));
            delivery.ack().await.unwrap();
        }
    }
    again.sort();
    let expected: Vec<_> = (0..9).map(|n| (format!("e{n}"), 2)).collect();
    assert_eq!(again, expected, "each of them once more");
    bus.close().await;
}
