//! Permits of users: counted right in any order, and shared by all who have a copy.

use std::collections::HashMap;

use chatkeep_core::id::UserId;

use crate::user_permits::{UserPermit, UserPermits};

const MOST: usize = 5;
const MOST_OF_ONE: usize = 2;

/// Numbers without a pattern, the same each time.
struct Numbers(u64);

impl Numbers {
    /// Returns the next number below a limit.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

#[test]
fn permits_are_counted_right_in_whatever_order_they_are_taken_and_dropped() {
    let permits = UserPermits::new(MOST, MOST_OF_ONE);
    let users = ["", "U1", "U2", "ｕ1", "林"].map(UserId::from);
    let (mut numbers, mut held) = (Numbers(7), Vec::<(usize, UserPermit)>::new());
    let (mut taken, mut refused) = (0, 0);
    for step in 0..5_000 {
        if !held.is_empty() && numbers.below(5) < 2 {
            drop(held.swap_remove(numbers.below(held.len())));
            continue;
        }
        let user = numbers.below(users.len());
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for (of, _) in &held {
            *counts.entry(*of).or_default() += 1;
        }
        let own = counts.get(&user).copied().unwrap_or_default();
        let is_free = held.len() < MOST && own < MOST_OF_ONE;
        if let Some(permit) = permits.take(&users[user]) {
            assert!(is_free, "step {step}");
            held.push((user, permit));
            taken += 1;
        } else {
            assert!(!is_free, "step {step}");
            refused += 1;
        }
    }
    assert!(taken > 500 && refused > 500, "{taken} {refused}");
}

#[test]
fn copies_have_the_same_permits() {
    let (permits, user) = (UserPermits::new(2, 2), UserId::from("U1"));
    let copy = permits.clone();
    let (first, second) = (permits.take(&user), copy.take(&user));
    assert!(first.is_some() && second.is_some());
    assert!(permits.take(&user).is_none() && copy.take(&user).is_none());
    // What was taken is given back, also once the copy is gone that it was taken of.
    drop(copy);
    drop(second);
    assert!(permits.take(&user).is_some());
    assert!(UserPermits::new(0, 2).take(&user).is_none());
    assert!(UserPermits::new(2, 0).take(&user).is_none());
}
