//! Reserves of free disk space: kinds of work that pause before a file system is full, so that what
//! was accepted can still be stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Divisor of a reserve for the free space beyond it that ends a pause: work that frees a little by
/// pausing does not flap.
const HYSTERESIS: u64 = 4;

/// Free disk space in bytes that a kind of work leaves to others. Clones share its state.
///
/// Nothing is known before the first [`DiskReserve::record`]: the work goes on.
#[derive(Clone, Debug)]
pub struct DiskReserve(Arc<State>);

#[derive(Debug)]
struct State {
    minimum: u64,
    free: AtomicU64,
    low: AtomicBool,
}

impl DiskReserve {
    /// Creates a reserve of `minimum` bytes; 0 for none.
    pub fn new(minimum: u64) -> Self {
        let (free, low) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        Self(Arc::new(State { minimum, free, low }))
    }

    /// Returns the bytes that are left to others.
    pub fn minimum(&self) -> u64 {
        self.0.minimum
    }

    /// Records the free bytes of the file system; returns whether the work has to pause. It pauses
    /// below the reserve, and resumes with a quarter more than that.
    pub fn record(&self, free: u64) -> bool {
        let State { minimum, low, .. } = &*self.0;
        let resume = minimum.saturating_add(minimum / HYSTERESIS);
        let limit = if low.load(Ordering::Relaxed) { resume } else { *minimum };
        let is_low = free < limit;
        self.0.free.store(free, Ordering::Relaxed);
        low.store(is_low, Ordering::Relaxed);
        is_low
    }

    /// Returns whether the work has to pause.
    pub fn is_low(&self) -> bool {
        self.0.low.load(Ordering::Relaxed)
    }

    /// Returns whether `bytes` more leave the reserve untouched.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        let State { minimum, free, .. } = &*self.0;
        *minimum == 0 || free.load(Ordering::Relaxed).saturating_sub(bytes) >= *minimum
    }
}

#[cfg(test)]
#[path = "disk_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_with_a_quarter_more_than_it_began_with() {
        let reserve = DiskReserve::new(100);
        let work = reserve.clone();
        assert!(!work.is_low() && work.has_room_for(1 << 40), "nothing is known yet");
        for (free, low) in
            [(100, false), (99, true), (110, true), (124, true), (125, false), (100, false)]
        {
            assert_eq!((reserve.record(free), work.is_low()), (low, low), "{free}");
        }
    }

    #[test]
    fn what_would_use_the_reserve_has_no_room() {
        let reserve = DiskReserve::new(100);
        reserve.record(150);
        assert!(reserve.has_room_for(50) && !reserve.has_room_for(51));
        assert!(!reserve.has_room_for(u64::MAX));
    }

    #[test]
    fn without_a_reserve_the_disk_may_be_filled() {
        let none = DiskReserve::new(0);
        assert!(!none.record(0) && none.has_room_for(1 << 40));
    }
}
