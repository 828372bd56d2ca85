//! Permits for a bounded number of things that go on at the same time, in all and of each user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_core::id::UserId;

/// Permits of all users.
#[derive(Clone, Debug)]
pub(super) struct UserPermits {
    taken: Arc<Mutex<HashMap<UserId, usize>>>,
    most: usize,
    most_of_one: usize,
}

/// A taken permit, free again once it is dropped.
#[derive(Debug)]
pub(super) struct UserPermit {
    taken: Arc<Mutex<HashMap<UserId, usize>>>,
    user: UserId,
}

impl UserPermits {
    /// Creates `most` permits, of which one user can take `most_of_one`.
    pub(super) fn new(most: usize, most_of_one: usize) -> Self {
        Self { taken: Arc::default(), most, most_of_one }
    }

    /// Takes a permit; `None` when the user, or all together, have as many as they may.
    pub(super) fn take(&self, user: &UserId) -> Option<UserPermit> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.get(user).copied().unwrap_or_default();
        if own >= self.most_of_one || taken.values().sum::<usize>() >= self.most {
            return None;
        }
        taken.insert(user.clone(), own + 1);
        Some(UserPermit { taken: Arc::clone(&self.taken), user: user.clone() })
    }
}

impl Drop for UserPermit {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.user) {
            Some(own) if *own > 1 => *own -= 1,
            _ => {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_permits_of_others() {
        let permits = UserPermits::new(3, 2);
        let (ann, bob, cid) = (UserId::from("Ann"), UserId::from("Bob"), UserId::from("Cid"));
        let (first, second) = (permits.take(&ann), permits.take(&ann));
        assert!(first.is_some() && second.is_some() && permits.take(&ann).is_none());
        let third = permits.take(&bob);
        assert!(third.is_some() && permits.take(&cid).is_none(), "all are taken");
        drop(first);
        assert!(permits.take(&cid).is_some());
        assert!(permits.take(&ann).is_some(), "what was taken and dropped is free");
        drop((second, third));
        assert!(permits.taken.lock().unwrap().is_empty());
    }
}
