//! Laws of a consumer's position, and of the file that follows it whichever writes fail.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const MOST: u32 = 4;
const LEASE: Duration = Duration::from_secs(30);

/// A step; numbers of messages are few, so that steps meet.
#[derive(Clone, Debug)]
enum Step {
    Publish,
    Fetch(usize),
    Finish(i64),
    Retry(i64, u64),
    Extend(i64),
    Pass(u64),
    /// Takes the position to write it.
    Take,
    /// Ends the writing, which succeeded or not; much may have changed meanwhile.
    End(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Publish),
        4 => (1_usize..4).prop_map(Step::Fetch),
        3 => (1_i64..9).prop_map(Step::Finish),
        2 => (1_i64..9, 0_u64..60).prop_map(|(seq, after)| Step::Retry(seq, after)),
        1 => (1_i64..9).prop_map(Step::Extend),
        2 => (0_u64..40).prop_map(Step::Pass),
        2 => Just(Step::Take),
        2 => any::<bool>().prop_map(Step::End),
    ];
    prop::collection::vec(step, 1..60)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Leased(Instant),
    Postponed(Timestamp),
    Done,
}

/// State in the file: the cursor, attempts of held messages, those of postponed ones and times.
#[derive(Debug, Default, PartialEq)]
struct Saved {
    cursor: i64,
    held: BTreeMap<i64, u32>,
    postponed: BTreeMap<i64, (u32, Timestamp)>,
}

/// A position, and beside it what is true of each message that was read.
struct Bench {
    position: Position,
    now: Instant,
    clock: Timestamp,
    high: i64,
    read: BTreeMap<i64, (u32, Place)>,
    file: Saved,
    writing: Option<SavedPosition>,
}

impl Bench {
    fn new() -> Self {
        let spec = ConsumerSpec {
            name: "backup",
            stream: Stream::Events,
            queue: None,
            lease: LEASE,
            max_in_flight: MOST,
        };
        let mut position = Position::new(&spec);
        position.configure(&spec, false);
        let (now, clock) = (Instant::now(), Timestamp::from_millis(1_800_000_000_000));
        let (read, file) = (BTreeMap::new(), Saved::default());
        Self { position, now, clock, high: 0, read, file, writing: None }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Publish => self.high += 1,
            Step::Fetch(max) => self.fetch(max),
            Step::Finish(seq) => {
                let open = self.read.get(&seq).is_some_and(|(_, place)| *place != Place::Done);
                assert_eq!(self.position.finish(seq), open.then_some(false), "{seq}");
                if let Some((_, place)) = self.read.get_mut(&seq) {
                    *place = Place::Done;
                }
            }
            Step::Retry(seq, after) => self.retry(seq, after),
            Step::Extend(seq) => {
                let Some((attempts, place)) = self.read.get_mut(&seq) else { return };
                self.position.extend(seq, *attempts + 1, self.now);
                self.position.extend(seq, *attempts, self.now);
                if let Place::Leased(until) = place {
                    *until = self.now + LEASE;
                }
            }
            Step::Pass(seconds) => {
                let passed = Duration::from_secs(seconds);
                self.now += passed;
                self.clock = self.clock.plus(passed);
            }
            Step::Take if self.writing.is_none() => self.writing = Some(self.position.save()),
            Step::Take => {}
            Step::End(succeeds) => self.end(succeeds),
        }
    }

    fn is_due(&self, place: Place) -> bool {
        match place {
            Place::Leased(until) => until <= self.now,
            Place::Postponed(at) => at <= self.clock,
            Place::Done => false,
        }
    }

    fn fetch(&mut self, max: usize) {
        let plan = self.position.plan(max, self.now, self.clock, self.high);
        let until = Place::Leased(self.now + LEASE);
        for seq in &plan.again {
            let (attempts, place) = self.read[seq];
            assert!(self.is_due(place), "{seq} came back too early: {place:?}");
            let attempt = self.position.lease_again(*seq, false, self.now);
            assert_eq!(attempt, Some(attempts + 1));
            self.read.insert(*seq, (attempts + 1, until));
        }
        let scan = plan.scan.unwrap_or(Scan { cursor: self.high, limit: 0 });
        let new: Vec<_> = (scan.cursor + 1..=self.high).take(scan.limit).collect();
        for seq in &new {
            assert_eq!(self.read.insert(*seq, (1, until)), None, "{seq} was read twice");
            self.position.lease_new(*seq, false, self.now);
        }
        let come = plan.again.len() + new.len();
        let held = self.held().len();
        assert!(come <= max && held <= MOST as usize, "{come} of {max}, {held} are held");
        if come < max && held < MOST as usize {
            let left = self.read.values().find(|(_, place)| self.is_due(*place));
            assert_eq!((left, self.position.cursor()), (None, self.high), "it held back");
        }
    }

    fn retry(&mut self, seq: i64, after: u64) {
        let not_before = self.clock.plus(Duration::from_secs(after));
        let Some((attempts, place)) = self.read.get_mut(&seq) else {
            assert!(!self.position.postpone(seq, 1, not_before), "{seq} was never delivered");
            return;
        };
        assert!(!self.position.postpone(seq, *attempts + 1, not_before), "another's lease");
        let held = matches!(place, Place::Leased(_));
        assert_eq!(self.position.postpone(seq, *attempts, not_before), held, "{seq}");
        if held {
            *place = Place::Postponed(not_before);
        }
    }

    fn end(&mut self, succeeds: bool) {
        let Some(saved) = self.writing.take() else { return };
        if !succeeds {
            return self.position.unsave(saved);
        }
        self.file.cursor = saved.cursor;
        self.file.held = saved.held.into_iter().collect();
        for (seq, change) in saved.postponed {
            self.file.postponed.remove(&seq);
            if let Some(Postponed { attempts, not_before, .. }) = change {
                self.file.postponed.insert(seq, (attempts, not_before));
            }
        }
    }

    fn held(&self) -> BTreeMap<i64, u32> {
        let is_held = |place: &Place| matches!(place, Place::Leased(_));
        let held = self.read.iter().filter(|(_, (_, place))| is_held(place));
        held.map(|(seq, (attempts, _))| (*seq, *attempts)).collect()
    }

    /// Compares the position, and the file if it should be up to date, with what is true.
    fn check(&self) {
        for seq in 1..=self.high {
            let done = self.read.get(&seq).is_some_and(|(_, place)| *place == Place::Done);
            assert_eq!(self.position.is_through(seq), done, "{seq}");
        }
        let postponed = self.read.iter().filter_map(|(seq, (attempts, place))| match place {
            Place::Postponed(at) => Some((*seq, (*attempts, *at))),
            Place::Leased(_) | Place::Done => None,
        });
        let (held, postponed) = (self.held(), postponed.collect::<BTreeMap<_, _>>());
        assert_eq!(self.position.outstanding(), held.len() + postponed.len());
        let first = held.keys().chain(postponed.keys()).min().copied();
        assert_eq!(self.position.first_outstanding(), first);
        if self.writing.is_none() && !self.position.is_changed() {
            let cursor = self.position.cursor();
            assert_eq!(self.file, Saved { cursor, held, postponed });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn each_message_is_held_by_one_until_it_is_done_and_the_file_follows(steps in steps()) {
        let mut bench = Bench::new();
        for step in &steps {
            bench.step(step);
            bench.check();
        }
        for step in [Step::End(false), Step::Take, Step::End(true)] {
            bench.step(&step);
        }
        bench.check();
        prop_assert!(!bench.position.is_changed());
    }
}
