//! A circuit breaker: after some failures in a row a host is not called for a while, so that a
//! platform that is down costs nobody a timeout for every call, and is not overloaded when it comes
//! back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chatkeep_core::backoff::Backoff;
use chatkeep_core::metric;
use chatkeep_core::time::{SharedClock, Timestamp};
use tracing::debug;

/// Number of failures in a row that open the circuit.
const FAILURES: u32 = 5;
/// Times for which the circuit is open.
const OPEN: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };

/// The circuit of one bot and host. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Circuit {
    bot: Arc<str>,
    host: &'static str,
    clock: SharedClock,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Number of phase changes: the result of a call of an earlier phase says nothing about this
    /// one.
    generation: u64,
    /// Number of pauses since it was last closed.
    pauses: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Calls go through.
    Closed { failures: u32 },
    /// No calls go through until then.
    Open { until: Timestamp },
    /// One trial call is under way.
    Trial,
}

/// Permission for one call. Dropped without a result (the call was cancelled), it has no effect.
#[derive(Debug)]
pub(super) struct Permit {
    circuit: Circuit,
    generation: u64,
    settled: bool,
}

impl Circuit {
    /// Creates a closed circuit.
    pub(super) fn new(bot: Arc<str>, host: &'static str, clock: SharedClock) -> Self {
        let state = State { phase: Phase::Closed { failures: 0 }, generation: 0, pauses: 0 };
        Self { bot, host, clock, state: Arc::new(Mutex::new(state)) }
    }

    /// Requests permission for a call.
    ///
    /// # Errors
    /// Returns the time to wait before the next request.
    pub(super) fn admit(&self) -> Result<Permit, Duration> {
        let mut state = self.lock();
        match state.phase {
            Phase::Closed { .. } => {}
            Phase::Open { until } => {
                let left = until.since(self.clock.now());
                // A longer one is of a clock that was ahead.
                if !left.is_zero() && left <= OPEN.longest {
                    return Err(left);
                }
                state.turn(Phase::Trial);
            }
            Phase::Trial => return Err(OPEN.first),
        }
        Ok(Permit { circuit: self.clone(), generation: state.generation, settled: false })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, generation: u64, healthy: bool) {
        let mut state = self.lock();
        if state.generation == generation {
            match (state.phase, healthy) {
                (Phase::Closed { .. }, true) => state.phase = Phase::Closed { failures: 0 },
                (Phase::Closed { failures }, false) if failures + 1 < FAILURES => {
                    state.phase = Phase::Closed { failures: failures + 1 };
                }
                (_, true) => self.close(&mut state),
                (_, false) => self.open(&mut state),
            }
        }
        let open = !matches!(state.phase, Phase::Closed { .. });
        let bot = self.bot.to_string();
        metric::PLATFORM_CIRCUIT_OPEN.flag([bot.into(), self.host.into()], open);
    }

    fn open(&self, state: &mut State) {
        let pause = OPEN.after_many(state.pauses);
        state.pauses = state.pauses.saturating_add(1);
        state.turn(Phase::Open { until: self.clock.now().plus(pause) });
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        // The outage is logged by who makes the calls.
        debug!(
            bot = &*self.bot,
            host = self.host,
            pause_ms,
            "the platform is down; circuit opened"
        );
    }

    fn close(&self, state: &mut State) {
        state.pauses = 0;
        state.turn(Phase::Closed { failures: 0 });
        debug!(
            bot = &*self.bot,
            host = self.host,
            "the platform is available again; circuit closed"
        );
    }
}

impl State {
    fn turn(&mut self, phase: Phase) {
        self.phase = phase;
        self.generation += 1;
    }
}

impl Permit {
    /// Records the result of the call: whether the host is healthy, whatever its response.
    pub(super) fn settle(mut self, healthy: bool) {
        self.settled = true;
        self.circuit.settle(self.generation, healthy);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let mut state = self.circuit.lock();
        if state.generation == self.generation && state.phase == Phase::Trial {
            // Another call may be tried at once.
            state.turn(Phase::Open { until: self.circuit.clock.now() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chatkeep_core::time::ManualClock;

    fn circuit() -> (Circuit, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        (Circuit::new("main".into(), "api", clock.clone()), clock)
    }

    fn fail(circuit: &Circuit, times: u32) {
        for _ in 0..times {
            circuit.admit().unwrap().settle(false);
        }
    }

    #[test]
    fn opens_after_failures_in_a_row_only() {
        let (circuit, _) = circuit();
        fail(&circuit, FAILURES - 1);
        circuit.admit().unwrap().settle(true);
        fail(&circuit, FAILURES - 1);
        assert!(circuit.admit().is_ok(), "an answer in between counts");
        fail(&circuit, 1);
        assert_eq!(circuit.admit().unwrap_err(), OPEN.first);
    }

    #[test]
    fn one_call_tries_and_the_pause_grows_until_it_succeeds() {
        let (circuit, clock) = circuit();
        fail(&circuit, FAILURES);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let pause = circuit.admit().unwrap_err();
            pauses.push(pause.as_secs());
            clock.advance(pause.saturating_sub(Duration::from_millis(1)));
            assert!(circuit.admit().is_err());
            clock.advance(Duration::from_millis(1));
            let trial = circuit.admit().unwrap();
            assert!(circuit.admit().is_err(), "only one");
            trial.settle(false);
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        clock.advance(OPEN.longest);
        circuit.admit().unwrap().settle(true);
        fail(&circuit, FAILURES - 1);
        assert!(circuit.admit().is_ok());
        fail(&circuit, 1);
        assert_eq!(circuit.admit().unwrap_err(), OPEN.first, "the pauses begin anew");
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_no_pause() {
        let (circuit, clock) = circuit();
        fail(&circuit, FAILURES);
        clock.set(Timestamp::from_millis(0));
        assert!(circuit.admit().is_ok());
    }

    #[test]
    fn calls_of_an_earlier_time_change_nothing() {
        let (circuit, clock) = circuit();
        let (late, later) = (circuit.admit().unwrap(), circuit.admit().unwrap());
        fail(&circuit, FAILURES);
        late.settle(true);
        assert!(circuit.admit().is_err(), "it went out before the circuit opened");
        clock.advance(OPEN.first);
        let trial = circuit.admit().unwrap();
        later.settle(false);
        trial.settle(true);
        assert!(circuit.admit().is_ok());
    }

    #[test]
    fn a_trial_that_is_given_up_leaves_its_place_to_another() {
        let (circuit, clock) = circuit();
        fail(&circuit, FAILURES);
        clock.advance(OPEN.first);
        drop(circuit.admit().unwrap());
        circuit.admit().unwrap().settle(true);
        assert!(circuit.admit().is_ok());
    }

    #[test]
    fn of_many_threads_one_tries() {
        let (circuit, clock) = circuit();
        fail(&circuit, FAILURES);
        clock.advance(OPEN.first);
        let admitted = std::thread::scope(|scope| {
            let ask = || circuit.admit().ok();
            let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asked.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(admitted.len(), 1);
    }
}
