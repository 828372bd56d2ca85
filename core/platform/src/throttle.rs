//! Rate limit of one bot's calls to one endpoint from this process: never above the platform's
//! limit, and no calls at all while the platform asked for a pause.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::time::{SharedClock, Timestamp};

/// Maximum pause that is accepted.
const LONGEST: Duration = Duration::from_mins(5);
/// Units of a call, so that the refill of a millisecond is a whole number of units.
const CALL: i64 = 1_000;

/// A token bucket, and a pause.
#[derive(Debug)]
pub(super) struct Throttle {
    per_second: i64,
    burst: i64,
    clock: SharedClock,
    state: Mutex<ThrottleState>,
}

#[derive(Debug)]
struct ThrottleState {
    units: i64,
    at: Timestamp,
    paused_until: Timestamp,
}

/// Reason for which a call has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Throttled {
    /// The rate limit; wait this long.
    Turn(Duration),
    /// The platform's pause, which lasts this much longer.
    Pause(Duration),
}

impl Throttle {
    /// Allows at most `per_second` calls in any second, of which `burst` may come at once.
    pub(super) fn new(per_second: u32, burst: u32, clock: SharedClock) -> Self {
        let (per_second, burst) = (i64::from(per_second), i64::from(burst));
        let state =
            ThrottleState { units: burst * CALL, at: clock.now(), paused_until: clock.now() };
        // Burst and refill of a second are the limit together.
        let per_second = (per_second - burst).max(1);
        Self { per_second, burst, clock, state: Mutex::new(state) }
    }

    /// Takes permission for one call.
    ///
    /// # Errors
    /// Returns the reason to wait.
    pub(super) fn take(&self) -> Result<(), Throttled> {
        let now = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = state.paused_until.since(now);
        // A longer one is of a clock that was ahead.
        if !pause.is_zero() && pause <= LONGEST {
            return Err(Throttled::Pause(pause));
        }
        // A call is a thousand units and a second a thousand milliseconds: the refill of a
        // millisecond is as many units as there are calls in a second.
        let passed = i64::try_from(now.since(state.at).as_millis()).unwrap_or(i64::MAX);
        let back = passed.saturating_mul(self.per_second);
        state.units = state.units.saturating_add(back).min(self.burst * CALL);
        state.at = now;
        if state.units < CALL {
            let short = (CALL - state.units).unsigned_abs();
            let wait = short.div_ceil(self.per_second.unsigned_abs());
            return Err(Throttled::Turn(Duration::from_millis(wait)));
        }
        state.units -= CALL;
        Ok(())
    }

    /// Pauses calls, as the platform requested.
    pub(super) fn pause(&self, retry_after: Duration) {
        let until = self.clock.now().plus(retry_after.min(LONGEST));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = state.paused_until.since(self.clock.now()) <= LONGEST;
        state.paused_until = if is_right { state.paused_until.max(until) } else { until };
    }
}

#[cfg(test)]
#[path = "throttle_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use chatkeep_core::time::ManualClock;

    fn pace(per_second: u32, burst: u32) -> (Throttle, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
        (Throttle::new(per_second, burst, clock.clone()), clock)
    }

    #[test]
    fn no_second_sees_more_than_the_limit() {
        let (pace, clock) = pace(2_000, 100);
        let mut sent = Vec::new();
        for now in 0..3_000_u32 {
            while pace.take().is_ok() {
                sent.push(now);
            }
            clock.advance(Duration::from_millis(1));
        }
        let busiest = (0..2_000)
            .map(|from| sent.iter().filter(|at| (from..from + 1_000).contains(*at)).count());
        let busiest = busiest.max().unwrap();
        assert!((1_990..=2_000).contains(&busiest), "{busiest}");
    }

    #[test]
    fn it_says_how_long_a_turn_takes() {
        let (pace, clock) = pace(3, 1);
        pace.take().unwrap();
        assert_eq!(pace.take(), Err(Throttled::Turn(Duration::from_millis(500))));
        clock.advance(Duration::from_millis(500));
        assert_eq!(pace.take(), Ok(()));
    }

    #[test]
    fn a_pause_ends_and_is_never_shortened() {
        let (pace, clock) = pace(10, 5);
        pace.pause(Duration::from_secs(3));
        pace.pause(Duration::from_secs(1));
        assert_eq!(pace.take(), Err(Throttled::Pause(Duration::from_secs(3))));
        clock.advance(Duration::from_secs(3));
        assert_eq!(pace.take(), Ok(()));
        pace.pause(Duration::MAX);
        assert_eq!(pace.take(), Err(Throttled::Pause(LONGEST)));
        clock.set(Timestamp::from_millis(0));
        assert_eq!(pace.take(), Ok(()), "the clock was ahead");
        pace.pause(Duration::from_secs(1));
        assert_eq!(pace.take(), Err(Throttled::Pause(Duration::from_secs(1))));
    }
}
