use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{BusLimits, DeadLetter, Outgoing};
use chatkeep_core::time::SystemClock;
use metrics_exporter_prometheus::PrometheusBuilder;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::intake::lease_size;
use super::*;

/// Timeout, long enough for a loaded machine.
const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn suspects_are_leased_in_ever_smaller_groups() {
    let sizes = [1, 2, 3, 4, 5, u32::MAX].map(|attempt| lease_size(1_000, attempt));
    assert_eq!(sizes, [1_000, 125, 15, 1, 1, 1]);
}

/// A stage that fails as a whole when one of its messages is `poison`.
#[derive(Default)]
struct Picky {
    away: AtomicBool,
    fails: Option<fn(&str) -> Outcome>,
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
        if self.away.load(Ordering::SeqCst) {
            return vec![Outcome::Unavailable("it is away".into()); items.len()];
        }
        let poison = items.iter().find(|item| item.starts_with("poison"));
        if let (Some(poison), Some(fails)) = (poison, self.fails) {
            return vec![fails(poison); items.len()];
        }
        let mut stored = self.stored.lock().unwrap();
        for item in items {
            *stored.entry(item.clone()).or_default() += 1;
        }
        vec![Outcome::Done; items.len()]
    }
}

/// A runner of such a stage on a bus of its own.
struct Bench {
    stage: Arc<Picky>,
    bus: Bus,
    health: Health,
    stop: CancellationToken,
    running: JoinHandle<()>,
    _folder: TempDir,
}

impl Bench {
    /// Starts the stage with everything in `messages` already on the bus.
    async fn start(stage: Picky, messages: &[&str]) -> Self {
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
        #[expect(clippy::disallowed_methods, reason = "joined at the end")]
        let running = tokio::spawn(runner.run());
        Self { stage, bus, health, stop, running, _folder: folder }
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
        self.running.await.unwrap();
        let dead = self.bus.dead_letters(100).await.unwrap();
        self.bus.close().await;
        dead
    }
}

#[tokio::test]
async fn a_message_that_is_refused_takes_no_neighbour_with_it() {
    let outcomes: [fn(&str) -> Outcome; 3] = [
        |poison| Outcome::Drop(format!("refused: {poison}")),
        |poison| Outcome::Retry(format!("failed: {poison}").into()),
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
