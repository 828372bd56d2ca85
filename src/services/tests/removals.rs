//! Jobs that remove messages, when the database refuses to.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::health::Health;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelJob, JobKind, JobStatus, NewChannelJob};
use chatkeep_workers::periodic::PeriodicJob as _;
use sqlx::{Connection as _, SqliteConnection};
use tokio_util::sync::CancellationToken;

use super::super::deployment_metrics::ChannelJobMetrics;
use super::super::removals::RemovalWorker;
use super::{GROUP, Group, OWNER, run_until, say};

const REFUSE: &str = "CREATE TRIGGER refuse BEFORE DELETE ON messages
                      BEGIN SELECT RAISE(ABORT, 'refused'); END";

/// Returns a group with two messages and a job that removes them.
async fn group_with_job() -> Group {
    let group = Group::new().await;
    say(&group, &["one".to_owned(), "two".to_owned()]).await;
    let new = NewChannelJob {
        id: "job_1",
        channel: &GROUP.into(),
        kind: &JobKind::Deletion,
        sent_before: Timestamp::from_millis(900_000),
        by: &OWNER.into(),
        worker: None,
    };
    group.store.jobs().begin_job(&new, group.clock.now()).await.unwrap();
    group
}

async fn job(group: &Group) -> ChannelJob {
    group.store.jobs().channel_job(&GROUP.into(), "job_1").await.unwrap().unwrap()
}

/// Runs a worker until the condition holds.
async fn work_until(group: &Group, holds: impl AsyncFnMut() -> bool) {
    let worker = RemovalWorker::new(group.store.clone(), Arc::clone(&group.clock));
    run_until(|stop| worker.run(stop), holds).await;
}

#[tokio::test]
async fn a_job_that_failed_is_tried_again_later() {
    let group = group_with_job().await;
    group.sql(REFUSE).await;
    let file = format!("sqlite://{}/chatkeep.db", group.folder.path().display());
    let mut connection = SqliteConnection::connect(&file).await.unwrap();
    work_until(&group, async || {
        let failed = "SELECT COUNT(*) FROM channel_jobs WHERE failures = 1";
        sqlx::query_scalar::<_, i64>(failed).fetch_one(&mut connection).await.unwrap() == 1
    })
    .await;
    group.sql("DROP TRIGGER refuse").await;
    let claim =
        async || group.store.jobs().claim_job("other", "", group.clock.now()).await.unwrap();
    group.hands.advance(Duration::from_millis(4_999));
    assert_eq!(claim().await, None, "not yet");
    group.hands.advance(Duration::from_millis(1));
    work_until(&group, async || job(&group).await.status.is_over()).await;
    let job = job(&group).await;
    assert_eq!((job.status, job.done, job.error), (JobStatus::Done, 2, None));
}

#[tokio::test]
async fn a_job_that_keeps_failing_says_so_and_is_done_in_the_end() {
    let group = group_with_job().await;
    group.sql(REFUSE).await;
    let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
    let health = Health::new(Arc::clone(&clock));
    let metrics = ChannelJobMetrics { store, clock, health: health.clone() };
    let stop = CancellationToken::new();
    metrics.run(&stop).await.unwrap();
    assert!(health.problems().is_empty());
    let advance = || group.hands.advance(Duration::from_secs(5));
    work_until(&group, async || {
        advance();
        job(&group).await.error.is_some()
    })
    .await;
    let told = job(&group).await;
    assert_eq!((told.status, told.done, told.finished_at), (JobStatus::Running, 0, None));
    assert!(told.error.unwrap().contains("could not be removed"));
    metrics.run(&stop).await.unwrap();
    let problems = health.problems();
    assert!(problems.len() == 1 && problems[0].part == "removals", "{problems:?}");
    group.sql("DROP TRIGGER refuse").await;
    work_until(&group, async || {
        advance();
        job(&group).await.status.is_over()
    })
    .await;
    let job = job(&group).await;
    assert_eq!((job.status, job.done, job.error), (JobStatus::Done, 2, None));
    metrics.run(&stop).await.unwrap();
    assert!(health.problems().is_empty());
}
