//! Clock of a process: that of the machine, corrected by the platform's.
//!
//! Much of what is stored is compared with times that the platform names: when a message was sent,
//! when somebody left. And much is deleted by age. A machine whose clock is wrong must neither
//! compare nor delete by it, so everything goes by one clock, which is corrected here.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::warn;

use crate::time::{Clock, SharedClock, Timestamp};

/// Unit of the times that a platform names, in milliseconds.
const SECOND: i64 = 1_000;
/// Deviation that is left alone, in milliseconds.
const TOLERANCE: i64 = 1_000;
/// Maximum duration of a request whose answer says what the time is.
const LONGEST: Duration = Duration::from_secs(10);
/// Maximum range of a time, in milliseconds, that corrects the clock: a slower answer only confirms it.
const EXACT: i64 = 3_000;
/// Maximum difference of a step from the offset, in milliseconds, with which the clock was set right.
const SET_RIGHT: u64 = 5_000;
/// Difference between the clock and a steady one that is a step of the clock, beside a thousandth
/// of the time.
const STEP: Duration = Duration::from_secs(2);

/// The clock of the machine, corrected by what the platform says the time is.
#[derive(Debug)]
pub struct CorrectedClock {
    machine: SharedClock,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Milliseconds to add to the machine's time.
    offset: i64,
    /// Time of the machine, and of a steady clock, when the platform last confirmed the offset.
    confirmed: Option<(Timestamp, Instant)>,
    /// An answer has contradicted the offset since.
    is_doubted: bool,
    /// Offset that this answer asked for: one alone may be a mistake of something in between.
    candidate: Option<i64>,
}

impl State {
    /// Returns the milliseconds by which the machine's clock was set since the offset was confirmed;
    /// 0 for what is within the tolerance, `None` if it never was.
    fn step(&self, machine: Timestamp) -> Option<i64> {
        let (time, steady) = self.confirmed?;
        let passed = steady.elapsed();
        let step = machine.millis().saturating_sub(time.plus(passed).millis());
        let slack = STEP.as_millis() + passed.as_millis() / 1_000;
        Some(if u128::from(step.unsigned_abs()) <= slack { 0 } else { step })
    }

    /// Returns the offset at that time of the machine: none once somebody has set its clock right,
    /// which is a step of the offset.
    fn offset_at(&self, machine: Timestamp) -> i64 {
        let is_set_right = self
            .step(machine)
            .is_some_and(|step| step != 0 && step.abs_diff(self.offset) <= SET_RIGHT);
        if is_set_right { 0 } else { self.offset }
    }

    fn correct(&mut self, offset: i64) {
        self.offset = offset;
        if offset == 0 {
            return warn!("the clock of this machine is right again");
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds for the log")]
        let seconds = offset as f64 / 1_000.0;
        warn!(
            seconds,
            "the clock of this machine is wrong: its times are corrected by the platform's"
        );
    }
}

impl CorrectedClock {
    /// Creates a clock that goes by `machine` until the platform says otherwise.
    pub fn new(machine: SharedClock) -> Self {
        Self { machine, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for CorrectedClock {
    fn now(&self) -> Timestamp {
        let machine = self.machine.now();
        let offset = self.state().offset_at(machine);
        Timestamp::from_millis(machine.millis().saturating_add(offset))
    }

    fn machine(&self) -> Timestamp {
        self.machine.now()
    }

    fn observe(&self, time: Timestamp, asked: Timestamp) {
        let answered = self.machine.now();
        if answered.since(asked) > LONGEST || answered < asked {
            return;
        }
        let low = time.millis().saturating_sub(answered.millis());
        let high = time.millis().saturating_add(SECOND).saturating_sub(asked.millis());
        let near = low.saturating_sub(TOLERANCE)..=high.saturating_add(TOLERANCE);
        let is_exact = high.saturating_sub(low) <= EXACT;
        let mut state = self.state();
        let known = [state.offset_at(answered), 0].into_iter().find(|known| near.contains(known));
        let is_repeated = is_exact && state.candidate.is_some_and(|other| near.contains(&other));
        let Some(offset) = known.or_else(|| is_repeated.then(|| low.midpoint(high))) else {
            state.candidate = is_exact.then(|| low.midpoint(high));
            state.is_doubted = true;
            return;
        };
        if offset != state.offset {
            state.correct(offset);
        }
        state.confirmed = Some((answered, Instant::now()));
        (state.is_doubted, state.candidate) = (false, None);
    }

    fn is_confirmed(&self) -> bool {
        let state = self.state();
        !state.is_doubted && state.step(self.machine.now()) == Some(0)
    }
}

#[cfg(test)]
#[path = "clock_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::time::ManualClock;

    pub(super) const START: i64 = 1_800_000_000_000;

    pub(super) fn clock() -> (CorrectedClock, Arc<ManualClock>) {
        let machine = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        (CorrectedClock::new(machine.clone()), machine)
    }

    /// Lets the platform say its time, in whole seconds, when it is that far from the machine's.
    pub(super) fn says(clock: &CorrectedClock, ahead: i64) {
        let machine = clock.machine();
        let second = (machine.millis() + ahead).div_euclid(SECOND) * SECOND;
        clock.observe(Timestamp::from_millis(second), machine);
    }

    pub(super) fn offset(clock: &CorrectedClock) -> i64 {
        clock.now().millis() - clock.machine().millis()
    }

    #[test]
    fn a_right_clock_is_confirmed_and_left_alone() {
        let (clock, _) = clock();
        assert!(!clock.is_confirmed());
        for ahead in [0, 900, -900] {
            says(&clock, ahead);
            assert!(clock.is_confirmed());
            assert_eq!(offset(&clock), 0);
        }
    }

    #[test]
    fn a_wrong_clock_is_corrected_once_two_answers_agree() {
        let (clock, _) = clock();
        let day = 86_400_000;
        says(&clock, 0);
        says(&clock, -10 * day);
        assert_eq!((offset(&clock), clock.is_confirmed()), (0, false));
        says(&clock, -10 * day);
        assert!(clock.is_confirmed() && (offset(&clock) + 10 * day).abs() <= 1_000);
        let corrected = offset(&clock);
        says(&clock, -10 * day + 700);
        assert_eq!(offset(&clock), corrected, "small differences change nothing");
        for _ in 0..2 {
            says(&clock, 300);
        }
        assert_eq!((offset(&clock), clock.is_confirmed()), (0, true), "somebody set it");
    }

    #[test]
    fn answers_that_contradict_each_other_or_came_late_change_nothing() {
        let (clock, machine) = clock();
        says(&clock, 60_000);
        says(&clock, -60_000);
        assert_eq!(offset(&clock), 0);
        let asked = clock.machine();
        machine.advance(LONGEST + Duration::from_secs(1));
        for _ in 0..2 {
            clock.observe(Timestamp::from_millis(0), asked);
        }
        assert_eq!((offset(&clock), clock.is_confirmed()), (0, false));
    }

    #[test]
    fn a_clock_that_is_set_right_is_right_at_once() {
        let (clock, machine) = clock();
        let days = 120 * 86_400_000;
        for _ in 0..2 {
            says(&clock, days);
        }
        let time = clock.now().millis();
        machine.set(Timestamp::from_millis(START + days));
        assert!((clock.now().millis() - time).abs() < 2_000 && !clock.is_confirmed());
        says(&clock, 0);
        assert_eq!((offset(&clock), clock.is_confirmed()), (0, true));
        machine.set(Timestamp::from_millis(START));
        assert_eq!(offset(&clock), 0, "another step is one");
    }

    #[test]
    fn a_slow_answer_corrects_nothing() {
        let (clock, machine) = clock();
        for _ in 0..2 {
            let asked = clock.machine();
            machine.advance(Duration::from_secs(8));
            clock.observe(Timestamp::from_millis(START + 3_600_000), asked);
        }
        assert_eq!(offset(&clock), 0);
    }

    #[test]
    fn a_step_of_the_machine_is_noticed() {
        let (clock, machine) = clock();
        says(&clock, 0);
        machine.advance(Duration::from_secs(1));
        assert!(clock.is_confirmed());
        machine.advance(Duration::from_hours(1));
        assert!(!clock.is_confirmed(), "no time has passed by a steady clock");
    }
}
