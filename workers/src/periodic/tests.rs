use std::sync::Mutex;

use chatkeep_core::clock::CorrectedClock;
use chatkeep_core::config::Database;
use chatkeep_core::health::Health;
use chatkeep_core::time::SystemClock;
use metrics_exporter_prometheus::PrometheusBuilder;
use tempfile::TempDir;
use tokio::time::sleep;

use super::*;

/// A job that panics in its first runs, fails in the next one, and succeeds then.
#[derive(Default)]
struct Clumsy {
    panics: usize,
    runs: Arc<Mutex<Vec<Instant>>>,
}

impl PeriodicJob for Clumsy {
    const NAME: &'static str = "clumsy";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot be clumsy";
    const FIRST_RUN: FirstRun = FirstRun::Now;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let runs = {
            let mut runs = self.runs.lock().unwrap();
            runs.push(Instant::now());
            runs.len()
        };
        assert!(runs > self.panics, "it broke");
        if runs == self.panics + 1 {
            return Err(std::io::Error::other("not now").into());
        }
        Ok(())
    }
}

/// A job that removes something by its age.
struct ByAge(Arc<Mutex<usize>>);

impl PeriodicJob for ByAge {
    const NAME: &'static str = "by_age";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot remove by age";
    const FIRST_RUN: FirstRun = FirstRun::Now;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        *self.0.lock().unwrap() += 1;
        Ok(())
    }
}

async fn jobs(folder: &TempDir) -> (PeriodicJobs, Supervisor, Health) {
    jobs_by(folder, Arc::new(SystemClock)).await
}

async fn jobs_by(folder: &TempDir, clock: SharedClock) -> (PeriodicJobs, Supervisor, Health) {
    let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
    let health = Health::new(Arc::clone(&clock));
    let supervisor = Supervisor::new(health.clone(), CancellationToken::new());
    let jobs = PeriodicJobs::new(supervisor.clone(), store, clock, "one".to_owned());
    (jobs, supervisor, health)
}

#[tokio::test]
async fn a_job_that_panics_runs_again_and_everything_is_counted() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let folder = TempDir::new().unwrap();
    let (jobs, supervisor, health) = jobs(&folder).await;
    tokio::time::pause();
    let (job, begin) = (Clumsy { panics: 3, ..Clumsy::default() }, Instant::now());
    let runs = Arc::clone(&job.runs);
    jobs.add(job);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(health.problems()[0].part, "task:job:clumsy");
    sleep(Duration::from_mins(3)).await;
    assert!(health.problems().is_empty());
    sleep(Duration::from_mins(9)).await;
    let times: Vec<_> = runs.lock().unwrap().iter().map(|run| (*run - begin).as_secs()).collect();
    assert_eq!(times[..4], [0, 1, 3, 7], "the fourth one fails without a panic");
    assert!((547..=667).contains(&times[4]) && times.len() == 5, "{times:?}");
    supervisor.stop().cancel();
    supervisor.tasks().close();
    supervisor.tasks().wait().await;
    let metrics = recorder.handle().render();
    for line in [
        "chatkeep_job_runs_total{name=\"clumsy\"} 5",
        "chatkeep_job_failures_total{name=\"clumsy\"} 4",
        "chatkeep_panics_total{part=\"job:clumsy\"} 3",
        "chatkeep_job_duration_seconds_count{name=\"clumsy\"} 5",
        "chatkeep_job_last_success_timestamp_seconds{name=\"clumsy\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn what_goes_by_age_waits_for_the_right_time() {
    let folder = TempDir::new().unwrap();
    let clock: SharedClock = Arc::new(CorrectedClock::new(Arc::new(SystemClock)));
    let (jobs, supervisor, _) = jobs_by(&folder, Arc::clone(&clock)).await;
    tokio::time::pause();
    let runs = Arc::new(Mutex::new(0));
    jobs.add(ByAge(Arc::clone(&runs)));
    sleep(Duration::from_mins(5)).await;
    assert_eq!(*runs.lock().unwrap(), 0);
    let now = clock.machine();
    clock.observe(now, now);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*runs.lock().unwrap(), 1);
    supervisor.stop().cancel();
    supervisor.tasks().close();
    supervisor.tasks().wait().await;
}

#[test]
fn periods_vary_by_a_tenth() {
    let seconds = [0.0, 0.5, 1.0].map(|random| jittered(Duration::from_secs(100), random));
    assert_eq!(seconds, [90, 100, 110].map(Duration::from_secs));
    for _ in 0..1_000 {
        assert!((0.0..=1.0).contains(&random()));
        assert!(first_delay(Clumsy::FIRST_RUN, Clumsy::PERIOD).is_zero());
        let later = |minutes| first_delay(FirstRun::Later, Duration::from_mins(minutes));
        assert!((270..=330).contains(&later(5).as_secs()));
        assert!((540..=660).contains(&later(60).as_secs()), "a process may not live for an hour");
    }
}
