use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{BusLimits, DeadLetter, Outgoing};
use chatkeep_core::time::SystemClock;
use metrics_exporter_prometheus::PrometheusBuilder;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::intake::{call_size, grouped, lease_size};
use super::*;
use crate::outcome::Unfinished;

/// Timeout, long enough for a loaded machine.
const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn suspects_are_leased_in_ever_smaller_groups() {
    let sizes = [1, 2, 3, 4, 5, u32::MAX].map(|attempt| lease_size(1_000, attempt));
    assert_eq!(sizes, [1_000, 125, 15, 1, 1, 1]);
}

#[test]
fn suspects_are_soon_handled_alone() {
    let sizes = |most| [1, 2, 3, 4].map(|attempt| call_size(1_000, attempt, most));
    assert_eq!(sizes(8), [1_000, 125, 1, 1]);
    assert_eq!(sizes(2), [1_000, 1, 1, 1], "the second attempt is the last one");
    assert_eq!([1, 2, 3].map(|attempt| call_size(1, attempt, 8)), [1, 1, 1]);
}

#[test]
fn nobody_is_handled_together_with_a_suspect() {
    let attempts = [1, 2, 3, 2, 1, 4, 2, 1, 1];
    let messages = attempts.iter().map(|attempt| (*attempt, *attempt)).collect();
    let groups = grouped(messages, 16, 8);
    assert_eq!(groups, [vec![3], vec![2, 2], vec![4], vec![1, 1, 1, 1], vec![2]]);
}

/// A stage that fails as a whole when one of its messages is `poison`.
#[derive(Default)]
struct Picky {
    away: AtomicBool,
    /// Permits of its calls; without limit if absent.
    permits: Option<Semaphore>,
    calls: AtomicUsize,
    fails: Option<fn(&str) -> Outcome>,
    /// Number of messages from which on the database breaks a call off; without limit if 0.
    too_many: AtomicUsize,
    stored: Mutex<BTreeMap<String, u32>>,
}

impl Stage for Arc<Picky> {
    type Item = String;

    fn name(&self) -> StageName {
        StageName::Backup
    }

    fn batch_size(&self) -> usize {
        64
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn decode(&self, payload: &[u8]) -> Result<String, String> {
        let text = String::from_utf8(payload.to_vec()).map_err(|error| error.to_string())?;
        assert!(!text.starts_with("undecodable"), "a stage that panics over `{text}`");
        Ok(text)
    }

    async fn on_dead_letter(&self, item: &String, _reason: &str) {
        assert!(!item.ends_with('2'), "a stage that panics over a dead letter");
    }

    async fn handle(&self, items: &[String]) -> Vec<Outcome> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if let Some(permits) = &self.permits {
            let _permit = permits.acquire().await;
        }
        if self.away.load(Ordering::SeqCst) {
            return vec![Err(Unfinished::Unavailable("it is away".into())); items.len()];
        }
        let too_many = self.too_many.load(Ordering::SeqCst);
        if too_many > 0 && items.len() >= too_many {
            return vec![Err(Unfinished::Cancelled("it took too long".into())); items.len()];
        }
        let poison = items.iter().find(|item| item.starts_with("poison"));
        if let (Some(poison), Some(fails)) = (poison, self.fails) {
            return vec![fails(poison); items.len()];
        }
        let mut stored = self.stored.lock().unwrap();
        for item in items {
            *stored.entry(item.clone()).or_default() += 1;
        }
        vec![Ok(()); items.len()]
    }
}

/// A runner of such a stage on a bus of its own.
struct Bench {
    stage: Arc<Picky>,
    bus: Bus,
    health: Health,
    stop: CancellationToken,
    runner: Runner<Arc<Picky>>,
    running: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Bench {
    /// Starts the stage with everything in `messages` already on the bus.
    async fn start(stage: Picky, messages: &[&str]) -> Self {
        let mut bench = Self::new(stage, messages).await;
        let run = bench.runner.clone().run();
        #[expect(clippy::disallowed_methods, reason = "joined at the end")]
        let running = tokio::spawn(run);
        bench.running = Some(running);
        bench
    }

    /// Creates the stage, which is not started yet.
    async fn new(stage: Picky, messages: &[&str]) -> Self {
        let (folder, stage) = (tempfile::tempdir().unwrap(), Arc::new(stage));
        let clock = Arc::new(SystemClock);
        let limits = BusLimits::default();
        let bus = EmbeddedBus::open(folder.path(), limits, clock.clone()).await.unwrap();
        let bus = Bus::Embedded(bus);
        let lease = Duration::from_secs(30);
        bus.ensure(&StageName::Backup.consumer(lease)).await.unwrap();
        let outgoing = messages.iter().map(|text| Outgoing {
            subject: "event.line.0".to_owned(),
            id: (*text).to_owned(),
            payload: (*text).to_owned().into(),
            trace: None,
        });
        bus.publish(outgoing.collect()).await.unwrap();
        let (health, stop) = (Health::new(clock), CancellationToken::new());
        let settings =
            RunnerSettings { lease, max_attempts: 1, long_wait: Duration::from_millis(300) };
        let tap = Tap::default();
        let runner = Runner::new(
            Arc::clone(&stage),
            bus.clone(),
            settings,
            tap,
            health.clone(),
            stop.clone(),
        );
        Self { stage, bus, health, stop, runner, running: None, _folder: folder }
    }

    async fn until(&self, what: &str, condition: impl AsyncFn() -> bool) {
        let poll = async {
            while !condition().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(DEADLINE, poll).await.is_ok(), "waited in vain for {what}");
    }

    async fn drained(&self) {
        let spec = StageName::Backup.consumer(Duration::from_secs(30));
        self.until("the end", async || self.bus.backlog(&spec).await.unwrap() == 0).await;
    }

    async fn end(self) -> Vec<DeadLetter> {
        self.stop.cancel();
        if let Some(running) = self.running {
            running.await.unwrap();
        }
        let dead = self.bus.dead_letters(100).await.unwrap();
        self.bus.close().await;
        dead
    }
}

#[tokio::test]
async fn a_message_that_is_refused_takes_no_neighbour_with_it() {
    let outcomes: [fn(&str) -> Outcome; 3] = [
        |poison| Err(Unfinished::Drop(format!("refused: {poison}"))),
        |poison| Err(Unfinished::Retry(format!("failed: {poison}").into())),
        |_| panic!("a stage that panics"),
    ];
    for fails in outcomes {
        let mut messages: Vec<_> = (0..40).map(|n| format!("message {n}")).collect();
        messages[7] = "poison 1".to_owned();
        messages[31] = "poison 2".to_owned();
        let messages: Vec<_> = messages.iter().map(String::as_str).collect();
        let bench = Bench::start(Picky { fails: Some(fails), ..Picky::default() }, &messages).await;
        bench.drained().await;
        let stored = bench.stage.stored.lock().unwrap().clone();
        assert_eq!(stored.len(), 38);
        assert!(stored.values().all(|times| *times == 1), "{stored:?}");
        let dead = bench.end().await;
        let ids: Vec<_> = dead.iter().map(|letter| letter.message_id.as_str()).collect();
        assert!(ids == ["poison 1", "poison 2"] || ids == ["poison 2", "poison 1"], "{ids:?}");
        assert!(dead.iter().all(|letter| letter.attempts == 1));
    }
}

#[tokio::test]
async fn a_batch_that_takes_too_long_is_divided() {
    let messages: Vec<_> = (0..40).map(|n| format!("message {n}")).collect();
    let messages: Vec<_> = messages.iter().map(String::as_str).collect();
    let stage = Picky { too_many: AtomicUsize::new(4), ..Picky::default() };
    let bench = Bench::start(stage, &messages).await;
    bench.drained().await;
    assert_eq!(bench.stage.stored.lock().unwrap().len(), 40);
    assert!(bench.end().await.is_empty());
}

#[tokio::test]
async fn a_message_that_takes_too_long_alone_waits() {
    let bench =
        Bench::start(Picky { too_many: AtomicUsize::new(1), ..Picky::default() }, &["a"]).await;
    bench.until("a problem", async || !bench.health.problems().is_empty()).await;
    assert_eq!(bench.health.problems()[0].reason, "waiting: it took too long");
    bench.stage.too_many.store(0, Ordering::SeqCst);
    bench.drained().await;
    assert!(bench.end().await.is_empty(), "waiting uses up no attempts");
}

#[tokio::test]
async fn a_long_wait_is_a_problem_until_it_is_over() {
    let stage = Picky { away: AtomicBool::new(true), ..Picky::default() };
    let bench = Bench::start(stage, &["a", "b"]).await;
    bench.until("a problem", async || !bench.health.problems().is_empty()).await;
    let problem = &bench.health.problems()[0];
    assert_eq!(problem.part, "stage:backup");
    assert_eq!(problem.reason, "waiting: it is away");
    bench.stage.away.store(false, Ordering::SeqCst);
    bench.drained().await;
    bench.until("no problem", async || bench.health.problems().is_empty()).await;
    assert!(bench.end().await.is_empty(), "waiting uses up no attempts");
}

#[tokio::test]
async fn a_bus_that_is_back_is_no_problem_while_calls_are_under_way() {
    let stage = Picky { permits: Some(Semaphore::new(0)), ..Picky::default() };
    let bench = Bench::new(stage, &["a"]).await;
    let mut consumer =
        bench.bus.consume(&StageName::Backup.consumer(Duration::from_secs(30))).await.unwrap();
    // The runner waits for the calls on redelivered messages.
    for delivery in consumer.fetch(1, DEADLINE).await.unwrap() {
        delivery.retry(Duration::ZERO).await.unwrap();
    }
    let waits = DependencyWaits::new(bench.health.clone(), "backup", Duration::ZERO);
    let runner = Arc::new(Runner { waits: Arc::new(waits), ..bench.runner.clone() });
    let mut intake = Intake::new(consumer, 1);
    let mut away = runner.waits.watch();
    away.goes_on(&"the bus is away".to_owned().into());
    assert_eq!(bench.health.problems().len(), 1);
    let look = async {
        bench.until("a call", async || bench.stage.calls.load(Ordering::SeqCst) == 1).await;
        assert!(bench.health.problems().is_empty(), "{:?}", bench.health.problems());
        bench.stop.cancel();
        bench.stage.permits.as_ref().unwrap().close();
    };
    tokio::join!(runner.pull(&mut intake, &mut away), look);
    intake.end().await;
    assert!(bench.end().await.is_empty());
}

#[tokio::test]
async fn a_message_whose_decoding_panics_takes_no_neighbour_with_it() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let messages = ["a", "undecodable", "b", "c"];
    let bench = Bench::start(Picky::default(), &messages).await;
    bench.drained().await;
    let stored: Vec<_> = bench.stage.stored.lock().unwrap().keys().cloned().collect();
    assert_eq!(stored, ["a", "b", "c"]);
    let dead = bench.end().await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].message_id, "undecodable");
    assert_eq!(dead[0].reason, "panicked while it was decoded");
    let metrics = recorder.handle().render();
    let panics = "chatkeep_panics_total{part=\"stage:backup\"} 1\n";
    assert!(metrics.contains(panics), "{metrics}");
}

#[tokio::test]
async fn what_waits_for_a_permit_keeps_its_lease() {
    let lease = Duration::from_secs(3);
    let stage = Picky { permits: Some(Semaphore::new(0)), ..Picky::default() };
    let bench = Bench::new(stage, &["a", "b", "c"]).await;
    let spec = StageName::Backup.consumer(lease);
    bench.bus.ensure(&spec).await.unwrap();
    let mut consumer = bench.bus.consume(&spec).await.unwrap();
    let mut deliveries = consumer.fetch(3, DEADLINE).await.unwrap();
    assert_eq!(deliveries.len(), 3);
    // As after two deaths of the process: each is a call of its own, and one is under way at a time.
    for delivery in &mut deliveries {
        delivery.attempt = 3;
    }
    let settings = RunnerSettings { lease, max_attempts: 8, ..bench.runner.settings };
    let runner = Arc::new(Runner { settings, ..bench.runner.clone() });
    let (permits, tasks) = (Arc::new(Semaphore::new(1)), TaskTracker::new());
    let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
    let look = async {
        let again = consumer.fetch(3, lease + lease / 2).await.unwrap();
        assert!(again.is_empty(), "{} are delivered again", again.len());
        bench.stage.permits.as_ref().unwrap().close();
    };
    tokio::join!(runner.hand_out(deliveries, permit, &permits, &tasks), look);
    tasks.close();
    tasks.wait().await;
    assert_eq!(bench.stage.stored.lock().unwrap().len(), 3);
    assert!(bench.end().await.is_empty());
}
