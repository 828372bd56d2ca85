//! Counting of a message's attempts: the bus counts deliveries, and those at which the message was
//! held were no attempts.

use std::time::Duration;

use chatkeep_bus::Delivery;
use chatkeep_core::backoff::Backoff;
use chatkeep_core::cache::Cache;

/// Delays before a message is redelivered.
const REDELIVERY: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(5) };
/// Maximum number of messages whose holds are remembered.
const HELD: usize = 10_000;

/// Number of deliveries at which each message was held. Clones share it.
///
/// It is known in the process that held the message. Nothing depends on that while the message is
/// held; a failure of a message that another process held counts these deliveries.
#[derive(Clone, Debug)]
pub(super) struct HeldDeliveries {
    held: Cache<String, u32>,
    /// Maximum number of deliveries of a message that is held as long as its stage holds one.
    most: u32,
}

impl HeldDeliveries {
    /// Creates it for a stage that holds messages for so long.
    pub(super) fn new(longest: Duration) -> Self {
        // Messages of an attempt that fails after the hold are still known.
        let keep = (longest + REDELIVERY.longest) * 2;
        let held = Cache::new(HELD, keep);
        Self { held, most: deliveries_within(longest) }
    }

    /// Notes that a message was held at this delivery.
    pub(super) fn note(&self, delivery: &Delivery) {
        let held = self.held.get(&delivery.id).unwrap_or_default();
        self.held.insert(delivery.id.clone(), held + 1);
    }

    /// Returns the number of attempts that a message has had with this delivery.
    pub(super) fn attempts(&self, delivery: &Delivery) -> u32 {
        let held = self.held.get(&delivery.id).unwrap_or_default();
        delivery.attempt.saturating_sub(held)
    }

    /// Returns the number of deliveries of a message that may have been holds, here or elsewhere.
    pub(super) const fn most(&self) -> u32 {
        self.most
    }
}

/// Returns 1 s, 2 s, 4 s … at most 5 min.
pub(super) fn delay(delivery: u32) -> Duration {
    REDELIVERY.after_many(delivery.saturating_sub(1))
}

/// Returns the number of deliveries that are at most made within a time of the first, and the one
/// that ends it.
fn deliveries_within(time: Duration) -> u32 {
    if time.is_zero() {
        return 0;
    }
    let (mut deliveries, mut passed) = (1, Duration::ZERO);
    while passed < time {
        passed += delay(deliveries);
        deliveries += 1;
    }
    deliveries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_five_minutes() {
        let seconds: Vec<_> = [1, 2, 3, 9, 10, 40].map(|n| delay(n).as_secs()).to_vec();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }

    #[test]
    fn a_minute_has_room_for_seven_deliveries() {
        assert_eq!(deliveries_within(Duration::ZERO), 0);
        assert_eq!(deliveries_within(Duration::from_secs(3)), 3);
        assert_eq!(deliveries_within(Duration::from_mins(1)), 7);
    }
}
