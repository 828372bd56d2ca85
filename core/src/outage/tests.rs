//! Outages as they are logged: told once however many notice them, and not for each of many short
//! ones.

use tracing::subscriber::DefaultGuard;

use super::*;
use crate::telemetry::tests::CapturedLog;

/// Captures what this thread logs above debug level.
pub(super) fn captured() -> (CapturedLog, DefaultGuard) {
    let log = CapturedLog::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .with_max_level(tracing::Level::INFO)
        .finish();
    (log, tracing::subscriber::set_default(subscriber))
}

fn database() -> Availability {
    Availability::new("database", "postgres://one/chat", "CHATKEEP_DATABASE")
}

pub(super) const REFUSED: &str = "connection refused";

pub(super) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn many_users_tell_one_outage_with_its_address_setting_and_length() {
    let (log, _guard) = captured();
    let database = database();
    let users = (0..20).map(|_| {
        let database = database.clone();
        async move {
            for _ in 0..20 {
                database.fails(Work::Reading, REFUSED);
                pass(1).await;
            }
            database.works(Work::Reading);
        }
    });
    assert!(!database.is_away());
    futures_util::future::join_all(users).await;
    assert!(!database.is_away(), "known at once, told later");
    pass(10).await;
    database.works(Work::Reading);
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    for part in ["WARN", "database is unavailable", "postgres://one/chat", "CHATKEEP_DATABASE"] {
        assert!(lines[0].contains(part), "{lines:#?}");
    }
    assert_eq!(lines[0].matches("connection refused").count(), 1, "{lines:#?}");
    for part in ["INFO", "database is available again", "postgres://one/chat", "away_ms=20000"] {
        assert!(lines[1].contains(part), "{lines:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn threads_that_notice_it_at_once_tell_it_once() {
    let (log, _guard) = captured();
    let database = database();
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    database.fails(Work::Reading, REFUSED);
                });
            });
        }
    });
    assert_eq!(log.lines().len(), 1);
    assert!(database.is_away());
}

#[tokio::test(start_paused = true)]
async fn what_comes_and_goes_is_one_outage_until_it_stays() {
    let (log, _guard) = captured();
    let database = database();
    for _ in 0..30 {
        database.fails(Work::Reading, REFUSED);
        pass(1).await;
        database.works(Work::Reading);
        pass(1).await;
    }
    assert_eq!(log.lines().len(), 1, "{:#?}", log.lines());
    pass(5).await;
    assert_eq!(log.lines().len(), 2, "{:#?}", log.lines());
    // Slower than it settles, it has to stay for longer and longer.
    for _ in 0..60 {
        database.fails(Work::Reading, REFUSED);
        pass(1).await;
        database.works(Work::Reading);
        pass(9).await;
    }
    let lines = log.lines();
    assert!(lines.len() <= 8, "{lines:#?}");
    pass(120).await;
    assert!(log.lines().last().unwrap().contains("available again"));
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_not_over_because_it_can_be_read() {
    let (log, _guard) = captured();
    let database = database();
    database.fails(Work::Writing, REFUSED);
    for _ in 0..30 {
        pass(1).await;
        database.works(Work::Reading);
    }
    assert!(database.is_away());
    database.works(Work::Writing);
    pass(6).await;
    assert!(log.lines()[1].contains("away_ms=30000"), "{:#?}", log.lines());
    // Nobody changes anything any more.
    pass(300).await;
    database.fails(Work::Writing, REFUSED);
    pass(61).await;
    database.works(Work::Reading);
    pass(6).await;
    assert_eq!(log.lines().len(), 4, "{:#?}", log.lines());
}

#[tokio::test(start_paused = true)]
async fn what_the_process_closes_is_no_outage() {
    let (log, _guard) = captured();
    let database = database();
    database.close();
    database.fails(Work::Reading, REFUSED);
    assert!(!database.is_away());
    assert!(log.lines().is_empty());
}
