//! Leases of periodic jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chatkeep_core::health::Health;
use chatkeep_core::time::SystemClock;
use chatkeep_workers::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob, PeriodicJobs};
use chatkeep_workers::supervisor::Supervisor;
use tokio_util::sync::CancellationToken;

use super::{Fixture, on_both};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

on_both!(
    a_lease_has_one_holder,
    a_lease_ends,
    a_lease_of_before_the_clock_was_set_back_is_none,
    of_many_claims_one_succeeds,
    only_a_lease_that_ended_unreleased_is_taken_over,
);

const LEASE: Duration = Duration::from_mins(1);

async fn a_lease_has_one_holder(fixture: Fixture) {
    let store = &fixture.store;
    let take =
        async |name, process| store.jobs().take_job_lease(name, process, LEASE).await.unwrap();
    assert!(take("purge", "one").await);
    assert!(!take("purge", "two").await);
    assert!(take("sweep", "two").await, "another job");
    assert!(take("purge", "one").await, "extended");
    store.jobs().release_job_lease("purge", "two").await.unwrap();
    assert!(!take("purge", "two").await, "only its holder releases it");
    store.jobs().release_job_lease("purge", "one").await.unwrap();
    assert!(take("purge", "two").await);
    assert!(!take("purge", "one").await);
}

async fn a_lease_ends(fixture: Fixture) {
    let store = &fixture.store;
    let take = async |process| store.jobs().take_job_lease("purge", process, LEASE).await.unwrap();
    assert!(take("one").await);
    fixture.run("UPDATE job_leases SET until = until - 50000").await;
    assert!(!take("two").await, "not yet");
    assert!(take("one").await, "from now on again");
    fixture.run("UPDATE job_leases SET until = until - 50000").await;
    assert!(!take("two").await);
    fixture.run("UPDATE job_leases SET until = until - 10001").await;
    assert!(take("two").await);
    assert!(!take("one").await);
}

async fn a_lease_of_before_the_clock_was_set_back_is_none(fixture: Fixture) {
    let jobs = fixture.store.jobs();
    assert!(jobs.take_job_lease("purge", "one", LEASE).await.unwrap());
    fixture.run("UPDATE job_leases SET until = until + 40000").await;
    assert!(!jobs.take_job_lease("purge", "two", LEASE).await.unwrap(), "clocks differ");
    assert!(!jobs.take_over_job_lease("purge", "two", LEASE).await.unwrap());
    fixture.run("UPDATE job_leases SET until = until + 86400000").await;
    assert!(jobs.take_job_lease("purge", "two", LEASE).await.unwrap());
    fixture.run("UPDATE job_leases SET until = until + 86400000").await;
    assert!(jobs.take_over_job_lease("purge", "three", LEASE).await.unwrap());
    assert!(!jobs.take_job_lease("purge", "two", LEASE).await.unwrap());
}

async fn of_many_claims_one_succeeds(fixture: Fixture) {
    let store = &fixture.store;
    let requests = (0..8).map(|n| async move {
        store.jobs().take_job_lease("purge", &format!("process {n}"), LEASE).await.unwrap()
    });
    let taken = futures_util::future::join_all(requests).await;
    assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 1);
}

async fn only_a_lease_that_ended_unreleased_is_taken_over(fixture: Fixture) {
    let store = &fixture.store;
    let take_over =
        async |process| store.jobs().take_over_job_lease("purge", process, LEASE).await.unwrap();
    assert!(!take_over("two").await, "nobody had it");
    assert!(store.jobs().take_job_lease("purge", "one", LEASE).await.unwrap());
    assert!(store.jobs().take_job_lease("sweep", "one", LEASE).await.unwrap());
    assert!(!take_over("two").await, "it is held");
    fixture.run("UPDATE job_leases SET until = until - 60001").await;
    assert!(take_over("two").await);
    assert!(!take_over("three").await, "it is held again");
    let others = "SELECT process_id FROM job_leases WHERE name = 'sweep'";
    assert_eq!(fixture.value(others).await, "one");
    store.jobs().release_job_lease("purge", "two").await.unwrap();
    assert!(!take_over("three").await, "it was released");
}

/// A job that runs until it is let go.
struct Slow {
    running: Arc<AtomicUsize>,
    /// Most runs at once so far.
    most: Arc<AtomicUsize>,
    /// Ends the run under way, and later ones at once.
    release: CancellationToken,
}

impl PeriodicJob for Slow {
    const NAME: &'static str = "slow";
    const PERIOD: Duration = Duration::from_millis(10);
    const FAILURE: &'static str = "cannot be slow";
    const SCOPE: JobScope = JobScope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Now;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.release.cancelled().await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A job that is due once a day.
struct Daily(Arc<AtomicUsize>);

impl PeriodicJob for Daily {
    const NAME: &'static str = "daily";
    const PERIOD: Duration = Duration::from_hours(24);
    const FAILURE: &'static str = "cannot run daily";
    const SCOPE: JobScope = JobScope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Now;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn a_job_whose_process_died_runs_before_it_is_due_again() {
    let fixture = Fixture::postgres().await;
    let store = fixture.store.clone();
    let left = Duration::from_secs(5);
    assert!(store.jobs().take_job_lease(Daily::NAME, "dead", left).await.unwrap());
    let supervisor = Supervisor::new(Health::new(Arc::new(SystemClock)), CancellationToken::new());
    let clock = Arc::new(SystemClock);
    let jobs = PeriodicJobs::new(supervisor.clone(), store, clock, "one".to_owned());
    let runs = Arc::new(AtomicUsize::new(0));
    jobs.add(Daily(Arc::clone(&runs)));
    until("it runs", DEADLINE, async || runs.load(Ordering::SeqCst) == 1).await;
    supervisor.stop().cancel();
    supervisor.tasks().close();
    supervisor.tasks().wait().await;
    assert_eq!(fixture.value("SELECT COUNT(*) FROM job_leases").await, "0", "released");
}

#[tokio::test]
async fn a_job_of_the_deployment_runs_in_one_process_at_a_time() {
    let fixture = Fixture::postgres().await;
    let health = Health::new(Arc::new(SystemClock));
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let processes: Vec<_> = ["one", "two"]
        .map(|process| {
            let supervisor = Supervisor::new(health.clone(), CancellationToken::new());
            let (store, clock) = (fixture.store.clone(), Arc::new(SystemClock));
            let jobs = PeriodicJobs::new(supervisor.clone(), store, clock, process.to_owned());
            let release = CancellationToken::new();
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            jobs.add(Slow { running, most, release: release.clone() });
            (process, supervisor, release)
        })
        .into();
    let holder = async || fixture.value("SELECT MAX(process_id) FROM job_leases").await;
    until("the job runs", DEADLINE, async || running.load(Ordering::SeqCst) == 1).await;
    let first = holder().await;
    let (_, supervisor, release) = processes.iter().find(|(name, ..)| *name == first).unwrap();
    supervisor.stop().cancel();
    release.cancel();
    until("the other process takes over", DEADLINE, async || {
        let holder = holder().await;
        !holder.is_empty() && holder != first
    })
    .await;
    for (_, supervisor, release) in &processes {
        supervisor.stop().cancel();
        release.cancel();
        supervisor.tasks().close();
        supervisor.tasks().wait().await;
    }
    assert_eq!(holder().await, "", "released");
    assert_eq!(most.load(Ordering::SeqCst), 1, "never two at once");
    assert!(health.problems().is_empty());
}
