//! The runner: back-off by the clock, dead letters, processes that die, and what a stage may do
//! wrong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chatkeep_bus::Outgoing;
use chatkeep_workers::{Outcome, Stage, StageName, Unfinished};

use super::bench::{ATTEMPTS, Bench, LEASE, skip, until};
use super::faults::{Death, deaths};

/// A stage that handles each text as a function says, and counts how often it got it.
#[derive(Clone)]
struct Script {
    seen: Arc<Mutex<BTreeMap<String, u32>>>,
    outcome: fn(&str, u32) -> Outcome,
    given_up: Arc<Mutex<Vec<String>>>,
    /// Messages of each call.
    calls: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Script {
    fn new(outcome: fn(&str, u32) -> Outcome) -> Self {
        Self { seen: Arc::default(), outcome, given_up: Arc::default(), calls: Arc::default() }
    }

    /// Returns how often the stage got a message.
    fn times(&self, text: &str) -> u32 {
        self.seen.lock().unwrap().get(text).copied().unwrap_or_default()
    }

    fn given_up(&self) -> Vec<String> {
        self.given_up.lock().unwrap().clone()
    }
}

impl Stage for Script {
    type Item = String;

    fn name(&self) -> StageName {
        StageName::Backup
    }

    fn batch_size(&self) -> usize {
        8
    }

    fn concurrency(&self) -> usize {
        2
    }

    fn decode(&self, payload: &[u8]) -> Result<String, String> {
        String::from_utf8(payload.to_vec()).map_err(|_| "it is no text".to_owned())
    }

    async fn handle(&self, items: &[String]) -> Vec<Outcome> {
        self.calls.lock().unwrap().push(items.to_vec());
        let mut seen = self.seen.lock().unwrap();
        let mut outcomes = Vec::new();
        for item in items {
            let times = seen.entry(item.clone()).or_default();
            *times += 1;
            outcomes.push((self.outcome)(item, *times));
        }
        outcomes
    }

    async fn on_dead_letter(&self, item: &String, reason: &str) {
        self.given_up.lock().unwrap().push(format!("{item}: {reason}"));
    }
}

async fn publish(bench: &Bench, texts: &[&str]) {
    let outgoing = texts.iter().map(|text| Outgoing {
        subject: "event.line.0".to_owned(),
        id: (*text).to_owned(),
        payload: (*text).to_owned().into(),
        trace: None,
    });
    bench.bus.publish(outgoing.collect()).await.unwrap();
}

fn retry(_: &str, _: u32) -> Outcome {
    Err(Unfinished::Retry("not now".into()))
}

#[tokio::test]
async fn a_failing_message_comes_back_after_ever_longer_pauses_and_is_put_aside_at_last() {
    let (bench, stage) = (Bench::new().await, Script::new(retry));
    publish(&bench, &["a"]).await;
    for (attempt, pause) in (1..ATTEMPTS).zip([1, 2, 4]) {
        assert_eq!(bench.drain(stage.clone()).await, 1, "attempt {attempt}");
        assert_eq!(stage.times("a"), attempt);
        bench.clock.advance(Duration::from_millis(pause * 1_000 - 1));
        assert_eq!(bench.drain(stage.clone()).await, 0, "less than {pause} s");
        bench.clock.advance(Duration::from_millis(1));
    }
    assert!(bench.dead_letters().await.is_empty());
    bench.drain(stage.clone()).await;
    assert_eq!(stage.given_up(), ["a: not now"]);
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert_eq!((letter.reason.as_str(), letter.attempts), ("not now", ATTEMPTS));
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
}

#[tokio::test]
async fn a_message_that_succeeds_at_its_last_attempt_is_no_dead_letter() {
    let outcome = |_: &str, times| {
        if times < ATTEMPTS { Err(Unfinished::Retry("not now".into())) } else { Ok(()) }
    };
    let (bench, stage) = (Bench::new().await, Script::new(outcome));
    publish(&bench, &["a"]).await;
    for _ in 0..ATTEMPTS {
        bench.drain(stage.clone()).await;
        bench.clock.advance(Duration::from_mins(5));
    }
    assert_eq!((stage.times("a"), bench.backlog(StageName::Backup).await), (ATTEMPTS, 0));
    assert!(bench.dead_letters().await.is_empty() && stage.given_up().is_empty());
}

#[tokio::test]
async fn what_comes_again_is_handled_alone() {
    let once = |text: &str, times| {
        if text.starts_with("late") && times == 1 { retry(text, times) } else { Ok(()) }
    };
    let (bench, stage) = (Bench::new().await, Script::new(once));
    publish(&bench, &["late 1", "late 2"]).await;
    bench.drain(stage.clone()).await;
    bench.clock.advance(Duration::from_secs(1));
    publish(&bench, &["a", "b", "c"]).await;
    stage.calls.lock().unwrap().clear();
    assert_eq!(bench.drain(stage.clone()).await, 5);
    let calls = stage.calls.lock().unwrap().clone();
    let again = calls.iter().filter(|call| call.iter().any(|text| text.starts_with("late")));
    let again: Vec<_> = again.map(Vec::len).collect();
    assert_eq!(again, [1, 1], "{calls:?}");
}

#[tokio::test]
async fn pauses_outlive_the_process() {
    let (mut bench, stage) = (Bench::new().await, Script::new(retry));
    publish(&bench, &["a"]).await;
    bench.drain(stage.clone()).await;
    bench.restart().await;
    bench.clock.advance(Duration::from_millis(999));
    assert_eq!(bench.drain(stage.clone()).await, 0);
    bench.clock.advance(Duration::from_millis(1));
    assert_eq!(bench.drain(stage.clone()).await, 1);
    bench.clock.advance(Duration::from_millis(1_999));
    assert_eq!(bench.drain(stage.clone()).await, 0, "the second pause is longer");
}

#[tokio::test]
async fn a_retried_dead_letter_is_for_the_stage_that_gave_it_up_alone() {
    let refuse = |_: &str, _| Err(Unfinished::Drop("never".to_owned()));
    let (bench, stage) = (Bench::new().await, Script::new(refuse));
    publish(&bench, &["a"]).await;
    bench.drain(stage.clone()).await;
    let others = bench.backlog(StageName::Members).await;
    assert_eq!(others, 1);
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert!(bench.bus.retry_dead_letter(&letter.id).await.unwrap());
    assert!(!bench.bus.retry_dead_letter(&letter.id).await.unwrap(), "it is on its way");
    assert_eq!(bench.backlog(StageName::Backup).await, 1);
    assert_eq!(bench.backlog(StageName::Members).await, others);
    let patient = Script::new(|_, _| Ok(()));
    assert_eq!(bench.drain(patient.clone()).await, 1);
    assert_eq!(patient.times("a"), 1);
    assert!(bench.dead_letters().await.is_empty());
}

#[tokio::test]
async fn wherever_a_process_dies_every_message_is_handled() {
    let texts: Vec<_> = (0..20).map(|n| format!("m{n}")).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    for death in deaths() {
        let (mut bench, stage) = (Bench::new().await, Script::new(|_, _| Ok(())));
        publish(&bench, &texts).await;
        bench.die(stage.clone(), death).await;
        let handled = stage.seen.lock().unwrap().clone();
        bench.drain(stage.clone()).await;
        let all = stage.seen.lock().unwrap().clone();
        assert_eq!(all.len(), 20, "{death:?}");
        let again: Vec<_> = all.iter().filter(|(_, times)| **times > 1).collect();
        // What was acknowledged before does not come again; what died before its end does.
        assert!(again.len() <= handled.len(), "{death:?}: {again:?}");
        assert_eq!(death.0 == Death::BeforeAck, !again.is_empty(), "{death:?}: {again:?}");
        assert_eq!(bench.backlog(StageName::Backup).await, 0);
    }
}

#[tokio::test]
async fn a_message_that_kills_every_process_is_put_aside_after_three_times_the_attempts() {
    let (mut bench, stage) = (Bench::new().await, Script::new(|_, _| Ok(())));
    publish(&bench, &["killer"]).await;
    for _ in 0..ATTEMPTS * 3 {
        bench.die(stage.clone(), (Death::BeforeWork, 0)).await;
    }
    assert!(bench.dead_letters().await.is_empty());
    publish(&bench, &["other"]).await;
    bench.drain(stage.clone()).await;
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert_eq!(letter.message_id, "killer");
    assert_eq!(letter.reason, format!("no outcome after {} deliveries", ATTEMPTS * 3));
    assert_eq!(stage.given_up(), ["killer: no_outcome"]);
    assert_eq!((stage.times("killer"), stage.times("other")), (0, 1));
}

#[tokio::test]
async fn each_message_has_its_own_outcome() {
    let outcome = |text: &str, times: u32| match text {
        "later" if times == 1 => Err(Unfinished::Retry("not now".into())),
        "never" => Err(Unfinished::Drop("refused".to_owned())),
        _ => Ok(()),
    };
    let (bench, stage) = (Bench::new().await, Script::new(outcome));
    // The first message is taken alone; the others are one call.
    publish(&bench, &["first", "a", "later", "b", "never", "c"]).await;
    bench.drain(stage.clone()).await;
    let letters: Vec<_> = bench.dead_letters().await.into_iter().map(|l| l.message_id).collect();
    assert_eq!(letters, ["never"]);
    for text in ["a", "b", "c"] {
        assert_eq!(stage.times(text), 1, "{text} was done at once");
    }
    assert_eq!(stage.times("later"), 2, "alone, before it is said to have failed");
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
}

/// A stage that returns the wrong number of outcomes, panics, or takes too long over `odd`.
#[derive(Clone)]
struct Odd(Fault);

#[derive(Clone, Copy, Debug)]
enum Fault {
    Count,
    Panic,
    Stall,
}

impl Stage for Odd {
    type Item = String;

    fn name(&self) -> StageName {
        StageName::Backup
    }

    fn batch_size(&self) -> usize {
        8
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn timeout(&self) -> Duration {
        LEASE * 2
    }

    fn decode(&self, payload: &[u8]) -> Result<String, String> {
        Ok(String::from_utf8_lossy(payload).into_owned())
    }

    async fn handle(&self, items: &[String]) -> Vec<Outcome> {
        if items.iter().any(|item| item == "odd") {
            match self.0 {
                Fault::Count => return Vec::new(),
                Fault::Panic => panic!("a stage that panics"),
                Fault::Stall => std::future::pending().await,
            }
        }
        vec![Ok(()); items.len()]
    }
}

#[tokio::test]
async fn a_stage_that_panics_or_loses_count_retries_the_message_at_fault_alone() {
    for (fault, reason) in
        [(Fault::Panic, "the stage panicked"), (Fault::Count, "the stage lost count of its events")]
    {
        let bench = Bench::new().await;
        publish(&bench, &["first", "a", "odd", "b"]).await;
        bench.drain(Odd(fault)).await;
        assert_eq!(bench.backlog(StageName::Backup).await, 1, "{fault:?}: the others are done");
        for _ in 1..ATTEMPTS {
            bench.clock.advance(Duration::from_mins(5));
            assert_eq!(bench.drain(Odd(fault)).await, 1);
        }
        let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
        assert_eq!((letter.message_id.as_str(), letter.reason.as_str()), ("odd", reason));
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_keeps_its_lease_and_is_retried_as_a_whole() {
    let bench = Bench::new().await;
    publish(&bench, &["odd", "a"]).await;
    let runner = bench.runner(Odd(Fault::Stall));
    let running = tokio::spawn(async move { runner.drain().await });
    let mut other = bench.bus.consume(&StageName::Backup.consumer(LEASE)).await.unwrap();
    until("the call is given up", async || {
        // A little at a time: the runner extends the lease as it goes.
        skip(LEASE / 60).await;
        running.is_finished()
    })
    .await;
    assert_eq!(running.await.unwrap().unwrap(), 2, "the stalled one, and the other");
    assert!(other.fetch(10, Duration::ZERO).await.unwrap().is_empty(), "it rests for a second");
    bench.clock.advance(Duration::from_secs(1));
    let again = other.fetch(10, Duration::ZERO).await.unwrap();
    assert_eq!(again.iter().map(|d| (d.id.as_str(), d.attempt)).collect::<Vec<_>>(), [("odd", 2)]);
}

/// A stage that waits for something it needs over some messages, and fails over others that are in
/// the same call.
#[derive(Clone, Default)]
struct Waiting {
    /// Number of waits that are over.
    over: Arc<AtomicUsize>,
    /// Calls that end in a wait, by the first message of each.
    waits: Arc<Mutex<Vec<String>>>,
}

impl Stage for Waiting {
    type Item = String;

    fn name(&self) -> StageName {
        StageName::Backup
    }

    fn batch_size(&self) -> usize {
        8
    }

    fn concurrency(&self) -> usize {
        1
    }

    fn decode(&self, payload: &[u8]) -> Result<String, String> {
        Ok(String::from_utf8_lossy(payload).into_owned())
    }

    async fn handle(&self, items: &[String]) -> Vec<Outcome> {
        let over = self.over.load(Ordering::SeqCst);
        let outcome = |item: &String| match item.as_str() {
            "waits" if over < 1 => Err(Unfinished::Unavailable("it is away".into())),
            text if text.starts_with("fails") && items.len() > 1 => {
                Err(Unfinished::Retry("no".into()))
            }
            text if text.starts_with("fails") && over < 2 => {
                Err(Unfinished::Unavailable("it is away again".into()))
            }
            _ => Ok(()),
        };
        let outcomes: Vec<_> = items.iter().map(outcome).collect();
        let waits = |outcome: &Outcome| matches!(outcome, Err(Unfinished::Unavailable(_)));
        if let Some(nth) = outcomes.iter().position(waits) {
            self.waits.lock().unwrap().push(items[nth].clone());
        }
        outcomes
    }
}

#[tokio::test]
async fn a_stage_that_waits_keeps_the_leases_of_its_whole_call() {
    let (bench, stage) = (Bench::new().await, Waiting::default());
    publish(&bench, &["first", "done", "waits", "fails 1", "fails 2"]).await;
    let runner = bench.runner(stage.clone());
    let running = tokio::spawn(async move { runner.drain().await });
    let mut other = bench.bus.consume(&StageName::Backup.consumer(LEASE)).await.unwrap();
    // First one message waits beside others that failed with it, then one of these beside the rest
    // of its call.
    for (over, which) in ["waits", "fails"].into_iter().enumerate() {
        stage.over.store(over, Ordering::SeqCst);
        until("it waits", async || {
            skip(Duration::from_millis(200)).await;
            stage.waits.lock().unwrap().last().is_some_and(|waits| waits.starts_with(which))
        })
        .await;
        let since = tokio::time::Instant::now();
        until("it has waited for longer than a lease", async || {
            let lost = other.fetch(10, Duration::ZERO).await.unwrap();
            assert!(lost.is_empty(), "somebody else gets {:?}", lost[0].id);
            skip(Duration::from_secs(1)).await;
            since.elapsed() > LEASE * 2
        })
        .await;
    }
    stage.over.store(2, Ordering::SeqCst);
    until("everything is done", async || {
        skip(Duration::from_millis(200)).await;
        running.is_finished()
    })
    .await;
    assert_eq!(running.await.unwrap().unwrap(), 5, "each was delivered once");
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    assert!(bench.dead_letters().await.is_empty());
}
