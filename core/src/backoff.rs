//! Pauses between attempts, each twice the one before.

use std::time::Duration;

/// Shortest and longest pause between attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// First pause.
    pub first: Duration,
    /// Longest pause.
    pub longest: Duration,
}

impl Backoff {
    /// Returns the pause that follows another one; the first if there was none.
    #[must_use]
    pub fn after(self, pause: Option<Duration>) -> Duration {
        pause.map_or(self.first, |pause| pause.saturating_mul(2)).min(self.longest)
    }

    /// Returns the pause that follows so many others, 2³² times the first at most.
    #[must_use]
    pub fn after_many(self, pauses: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(pauses)).min(self.longest)
    }
}

#[cfg(test)]
#[path = "backoff_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pause_is_twice_the_one_before_up_to_the_longest() {
        let backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(5) };
        let mut pause = None;
        for (nth, seconds) in (0..).zip([1, 2, 4, 5, 5]) {
            let next = backoff.after(pause);
            assert_eq!(next, Duration::from_secs(seconds));
            assert_eq!(backoff.after_many(nth), next);
            pause = Some(next);
        }
        assert_eq!(backoff.after_many(u32::MAX), backoff.longest);
    }
}
