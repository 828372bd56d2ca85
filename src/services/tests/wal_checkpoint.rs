//! Checkpoints of the write-ahead log beside a read that does not end.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::health::Health;
use chatkeep_workers::periodic::PeriodicJob as _;
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::super::wal_checkpoint::WalCheckpoint;
use super::Group;

#[tokio::test]
async fn a_log_that_cannot_be_emptied_for_ten_minutes_is_a_problem() {
    let (group, folder) = (Group::new().await, TempDir::new().unwrap());
    let clock = Arc::clone(&group.clock);
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), Arc::clone(&clock));
    let (bus, health) = (Bus::Embedded(bus.await.unwrap()), Health::new(clock));
    let job = WalCheckpoint::new(group.store.clone(), bus, health.clone());
    // One attempt in each run.
    let stop = CancellationToken::new();
    stop.cancel();
    let parts = async || {
        job.run(&stop).await.unwrap();
        health.problems().into_iter().map(|problem| problem.part).collect::<Vec<_>>()
    };
    let file = format!("sqlite://{}/chatkeep.db", group.folder.path().display());
    let mut reader = SqliteConnection::connect(&file).await.unwrap();
    for sql in ["BEGIN", "SELECT COUNT(*) FROM channels"] {
        reader.execute(sql).await.unwrap();
    }
    group.sql("UPDATE channels SET name = 'Cooks'").await;
    assert!(parts().await.is_empty());
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(10)).await;
    tokio::time::resume();
    assert_eq!(parts().await, ["database_wal"]);
    reader.execute("ROLLBACK").await.unwrap();
    assert!(parts().await.is_empty());
}
