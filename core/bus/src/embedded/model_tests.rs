//! Random use of the embedded bus, with restarts and crashes, against a table of what each consumer
//! has yet to finish.

use std::collections::BTreeMap;

use chatkeep_core::time::{Clock as _, ManualClock, Timestamp};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{Bus, Consumer, Delivery, Stream};

const NAMES: [&str; 2] = ["backup", "search"];
/// The write-ahead log, to which each transaction is appended.
const LOG: &str = "bus.db-wal";

#[derive(Clone, Debug)]
enum Step {
    Publish(Vec<u8>),
    Fetch(usize, usize),
    Ack(usize),
    Retry(usize, u64),
    Bury(usize),
    /// Returns a dead letter to its consumer, or drops it.
    Letter(usize, bool),
    Pass(u64),
    Flush,
    Reopen,
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let nth = || any::<u8>().prop_map(usize::from);
    let step = prop_oneof![
        4 => prop::collection::vec(0_u8..16, 1..5).prop_map(Step::Publish),
        6 => (0_usize..2, 1_usize..5).prop_map(|(which, max)| Step::Fetch(which, max)),
        4 => nth().prop_map(Step::Ack),
        2 => (nth(), 0_u64..90).prop_map(|(nth, after)| Step::Retry(nth, after)),
        2 => nth().prop_map(Step::Bury),
        2 => (nth(), any::<bool>()).prop_map(|(nth, again)| Step::Letter(nth, again)),
        2 => (0_u64..60).prop_map(Step::Pass),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
        2 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..24)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Ready,
    Until(Timestamp),
    Held,
    /// Acknowledged, in memory at least.
    Acked,
    /// Acknowledged, which a crash may have undone.
    Perhaps,
    Done,
}

/// A message as a consumer has it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    /// Bounds of its attempts so far: a crash may undo those that were not written.
    saved: u32,
    attempts: u32,
}

const NEW: Entry = Entry { place: Place::Ready, saved: 0, attempts: 0 };

struct Bench {
    folder: TempDir,
    clock: Arc<ManualClock>,
    bus: Bus,
    consumers: Vec<Consumer>,
    held: Vec<(usize, u8, Delivery)>,
    table: [BTreeMap<u8, Entry>; 2],
    /// Consumer, message and attempts of each dead letter, oldest first.
    dead: Vec<(usize, u8, u32)>,
}

fn spec(name: &'static str) -> ConsumerSpec {
    let lease = Duration::from_hours(1);
    ConsumerSpec { name, stream: Stream::Events, queue: None, lease, max_in_flight: 1_000 }
}

fn event(id: u8) -> Outgoing {
    let payload = format!(r#"{{"n":{id},"text":"早安"}}"#).into();
    let subject = format!("event.line.{}", id % 3);
    Outgoing { subject, id: format!("e{id}"), payload, trace: None }
}

fn number(delivery: &Delivery) -> u8 {
    let id = delivery.id.strip_prefix('e').and_then(|id| id.parse().ok()).unwrap();
    let sent = event(id);
    assert_eq!((&delivery.subject, &delivery.payload), (&sent.subject, &sent.payload));
    id
}

async fn open(folder: &Path, clock: &Arc<ManualClock>) -> (Bus, Vec<Consumer>) {
    let limits = BusLimits { dedupe_window: Duration::from_hours(24), ..BusLimits::default() };
    let bus = EmbeddedBus::open(folder, limits, clock.clone()).await.unwrap();
    let (bus, mut consumers) = (Bus::Embedded(bus), Vec::new());
    for name in NAMES {
        consumers.push(bus.consume(&spec(name)).await.unwrap());
    }
    (bus, consumers)
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
        let (bus, consumers) = open(folder.path(), &clock).await;
        let (held, dead) = (Vec::new(), Vec::new());
        Self {
            folder,
            clock,
            bus,
            consumers,
            held,
            table: [BTreeMap::new(), BTreeMap::new()],
            dead,
        }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Publish(ids) => self.publish(ids).await,
            Step::Fetch(which, max) => self.fetch(*which, *max).await,
            Step::Ack(nth) => self.ack(*nth).await,
            Step::Retry(nth, after) => {
                let Some((which, id, delivery)) = self.take(*nth) else { return };
                let after = Duration::from_secs(*after);
                self.set(which, id, Place::Until(self.clock.now().plus(after)));
                delivery.retry(after).await.unwrap();
                self.written();
            }
            Step::Bury(nth) => {
                let Some((which, id, delivery)) = self.take(*nth) else { return };
                self.set(which, id, Place::Done);
                self.dead.push((which, id, delivery.attempt));
                delivery.dead_letter("not readable").await.unwrap();
                self.written();
            }
            Step::Letter(nth, again) => self.letter(*nth, *again).await,
            Step::Pass(seconds) => self.clock.advance(Duration::from_secs(*seconds)),
            Step::Flush => self.flush().await,
            Step::Reopen => self.restart(None).await,
            Step::Crash => self.restart(Some(self.image())).await,
        }
    }

    async fn publish(&mut self, ids: &[u8]) {
        self.bus.publish(ids.iter().copied().map(event).collect()).await.unwrap();
        for table in &mut self.table {
            for id in ids {
                table.entry(*id).or_insert(NEW);
            }
        }
    }

    async fn fetch(&mut self, which: usize, max: usize) {
        let come = self.consumers[which].fetch(max, Duration::ZERO).await.unwrap();
        assert!(come.len() <= max);
        let (now, is_all) = (self.clock.now(), come.len() < max);
        let is_due = |place| match place {
            Place::Ready => true,
            Place::Until(at) => at <= now,
            _ => false,
        };
        for delivery in come {
            let (id, attempt) = (number(&delivery), delivery.attempt);
            let entry = self.table[which].get_mut(&id).unwrap();
            let may_come = is_due(entry.place) || entry.place == Place::Perhaps;
            assert!(may_come, "e{id} came to {which} again: {entry:?}");
            assert!((entry.saved + 1..=entry.attempts + 1).contains(&attempt), "{entry:?}");
            *entry = Entry { place: Place::Held, saved: attempt - 1, attempts: attempt };
            self.held.push((which, id, delivery));
        }
        if is_all {
            for (id, entry) in &mut self.table[which] {
                assert!(!is_due(entry.place), "e{id} is kept back from {which}: {entry:?}");
                if entry.place == Place::Perhaps {
                    entry.place = Place::Done;
                }
            }
        }
    }

    fn take(&mut self, nth: usize) -> Option<(usize, u8, Delivery)> {
        let place = nth.checked_rem(self.held.len())?;
        Some(self.held.swap_remove(place))
    }

    fn set(&mut self, which: usize, id: u8, place: Place) {
        self.table[which].get_mut(&id).unwrap().place = place;
    }

    async fn ack(&mut self, nth: usize) {
        let Some((which, id, delivery)) = self.take(nth) else { return };
        self.set(which, id, Place::Acked);
        delivery.ack().await.unwrap();
    }

    async fn letter(&mut self, nth: usize, again: bool) {
        let letters = self.letters().await;
        let Some(nth) = nth.checked_rem(letters.len()) else { return };
        let (which, id, _) = self.dead.remove(nth);
        if again {
            assert!(self.bus.retry_dead_letter(&letters[nth].id).await.unwrap());
            self.table[which].insert(id, NEW);
        } else {
            assert!(self.bus.drop_dead_letter(&letters[nth].id).await.unwrap());
        }
        assert!(!self.bus.drop_dead_letter(&letters[nth].id).await.unwrap(), "it is gone");
    }

    /// Returns the dead letters, which are those that there should be.
    async fn letters(&self) -> Vec<DeadLetter> {
        let letters = self.bus.dead_letters(100).await.unwrap();
        let found = letters.iter().map(|one| {
            (one.consumer.clone(), one.message_id.clone(), one.attempts, one.payload.clone())
        });
        let expected = self.dead.iter().map(|(which, id, attempts)| {
            let sent = event(*id);
            (NAMES[*which].to_owned(), sent.id, *attempts, sent.payload)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        letters
    }

    async fn flush(&mut self) {
        self.bus.ready().await.unwrap();
        self.written();
    }

    /// Notes that all changes in memory are in the file.
    fn written(&mut self) {
        for entry in self.table.iter_mut().flat_map(BTreeMap::values_mut) {
            match entry.place {
                Place::Held | Place::Until(_) => entry.saved = entry.attempts,
                Place::Acked => entry.place = Place::Done,
                Place::Ready | Place::Perhaps | Place::Done => {}
            }
        }
    }

    /// Returns a copy of the file as it is now, as a power cut would leave it.
    fn image(&self) -> TempDir {
        let image = tempfile::tempdir().unwrap();
        for file in ["bus.db", LOG] {
            let from = self.folder.path().join(file);
            std::fs::copy(from, image.path().join(file)).unwrap();
        }
        image
    }

    /// Opens the bus anew: as it was closed, or on what a crash has left.
    async fn restart(&mut self, image: Option<TempDir>) {
        self.held.clear();
        self.consumers.clear();
        self.bus.close().await;
        match image {
            Some(image) => self.folder = image,
            None => self.written(),
        }
        for entry in self.table.iter_mut().flat_map(BTreeMap::values_mut) {
            match entry.place {
                Place::Held => entry.place = Place::Ready,
                Place::Acked => entry.place = Place::Perhaps,
                _ => {}
            }
        }
        (self.bus, self.consumers) = open(self.folder.path(), &self.clock).await;
        self.letters().await;
    }

    /// Handles everything that is left; then nothing is, not even in the file.
    async fn finish(mut self) {
        self.clock.advance(Duration::from_mins(5));
        for which in 0..NAMES.len() {
            loop {
                self.fetch(which, 5).await;
                if self.held.is_empty() {
                    break;
                }
                while !self.held.is_empty() {
                    self.ack(0).await;
                }
            }
        }
        self.flush().await;
        self.letters().await;
        for (table, name) in self.table.iter().zip(NAMES) {
            assert!(table.values().all(|entry| entry.place == Place::Done), "{name}: {table:?}");
            assert_eq!(self.bus.backlog(&spec(name)).await.unwrap(), 0, "{name}");
        }
        let Bus::Embedded(bus) = &self.bus else { panic!("the bus is another one") };
        assert_eq!(bus.inner.shared.state().waiting(Stream::Events), 0);
        self.bus.close().await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut bench = Bench::new().await;
            for step in &steps {
                bench.step(step).await;
            }
            bench.finish().await;
        });
    }
}

#[tokio::test]
async fn a_torn_last_record_is_lost_as_a_whole_and_comes_when_it_is_sent_again() {
    for (cut, is_filled) in [(1, false), (24, true), (512, false), (4_096, true)] {
        let mut bench = Bench::new().await;
        bench.publish(&[1, 2]).await;
        bench.publish(&[3, 4, 5]).await;
        let image = bench.image();
        let log = File::options().write(true).open(image.path().join(LOG)).unwrap();
        let length = log.metadata().unwrap().len();
        log.set_len(length - cut).unwrap();
        if is_filled {
            log.set_len(length).unwrap();
        }
        bench.restart(Some(image)).await;
        let mut come = bench.consumers[0].fetch(9, Duration::ZERO).await.unwrap();
        let before: Vec<_> = come.iter().map(number).collect();
        assert!(before == [1, 2] || before == [1, 2, 3, 4, 5], "{before:?} without {cut} bytes");
        // The platform sends again what was not confirmed to it.
        bench.publish(&[3, 4, 5, 6]).await;
        come.extend(bench.consumers[0].fetch(9, Duration::ZERO).await.unwrap());
        assert_eq!(come.iter().map(number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        bench.bus.close().await;
    }
}
