//! Buckets by caller, in bounded memory.
//!
//! There are two generations: each used bucket moves to the young one; when that is full, or old
//! enough for all unused buckets to be full again, the old one is dropped and the young one becomes
//! old. So idle callers are evicted without a scan, and a flood of callers evicts those that have
//! been idle longest.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chatkeep_core::time::Timestamp;
use sha2::{Digest as _, Sha256};

use super::bucket::{Bucket, Rate, RateDecision};

/// Maximum number of callers: about 10 MB.
pub(super) const CALLERS: usize = 100_000;

/// Shards with a lock each, so that requests rarely wait for one another.
const SHARDS: usize = 16;

/// Capacity of one generation of one shard.
const ROOM: usize = CALLERS / SHARDS / 2;

/// First half of a caller's SHA-256: of one size for all, and nobody can choose an address that
/// shares somebody else's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallerHash(pub(super) [u8; 16]);

impl CallerHash {
    pub(super) fn new(name: &[u8]) -> Self {
        let digest = Sha256::digest(name);
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Self(half)
    }
}

/// Table of all buckets.
#[derive(Debug)]
pub(super) struct Table {
    rate: Rate,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    young: HashMap<CallerHash, Bucket>,
    old: HashMap<CallerHash, Bucket>,
    /// Time at which the young generation began.
    turned: Timestamp,
    /// Grants that were not broadcast yet.
    news: HashMap<CallerHash, u32>,
}

impl Table {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, shards: Default::default() }
    }

    pub(super) fn take(&self, caller: CallerHash, now: Timestamp) -> RateDecision {
        self.shard(caller).bucket(caller, self.rate, now).take(self.rate, now)
    }

    pub(super) fn charge(&self, caller: CallerHash, now: Timestamp, tokens: u32) {
        self.shard(caller).bucket(caller, self.rate, now).charge(self.rate, now, tokens);
    }

    /// Returns a token that was taken just now, and removes its pending grant.
    pub(super) fn give_back(&self, caller: CallerHash, now: Timestamp) {
        let mut shard = self.shard(caller);
        shard.bucket(caller, self.rate, now).give_back();
        if let Some(count) = shard.news.get_mut(&caller) {
            *count = count.saturating_sub(1);
        }
    }

    /// Records a grant for the broadcast; returns the number of pending ones of that caller.
    pub(super) fn note(&self, caller: CallerHash) -> u32 {
        let mut shard = self.shard(caller);
        if shard.news.len() >= ROOM && !shard.news.contains_key(&caller) {
            // Nobody collects them: the others do without.
            return 0;
        }
        let count = shard.news.entry(caller).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// Takes all pending grants.
    pub(super) fn take_grants(&self) -> Vec<(CallerHash, u32)> {
        let take = |shard: &Mutex<Shard>| std::mem::take(&mut lock(shard).news);
        self.shards.iter().flat_map(take).collect()
    }

    fn shard(&self, caller: CallerHash) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(caller.0[0]) % SHARDS])
    }
}

impl Shard {
    fn bucket(&mut self, caller: CallerHash, rate: Rate, now: Timestamp) -> &mut Bucket {
        self.turned = self.turned.min(now);
        let age = now.millis().saturating_sub(self.turned.millis());
        if age >= rate.fills_in() || self.young.len() >= ROOM {
            self.old = std::mem::take(&mut self.young);
            self.turned = now;
        }
        let old = &mut self.old;
        self.young
            .entry(caller)
            .or_insert_with(|| old.remove(&caller).unwrap_or_else(|| Bucket::full(now)))
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // Every step leaves the numbers usable.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use chatkeep_core::config::RateLimitConfig;

    use super::*;

    fn table(per_minute: u32, burst: u32) -> Table {
        Table::new(Rate::new(RateLimitConfig { per_minute, burst }).unwrap())
    }

    fn known(table: &Table) -> usize {
        let count = |shard: &Mutex<Shard>| {
            let shard = lock(shard);
            shard.young.len() + shard.old.len()
        };
        table.shards.iter().map(count).sum()
    }

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_flood_of_callers_is_bounded_and_does_not_free_who_keeps_calling() {
        let table = table(1, 2);
        // SHA-256 itself is slow in a build for tests.
        let flood = |n: usize| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
            CallerHash(bytes)
        };
        let hasty = CallerHash::new(b"hasty");
        for _ in 0..2 {
            assert!(table.take(hasty, at(0)).allowed);
        }
        for n in 0..2 * CALLERS {
            assert!(table.take(flood(n), at(0)).allowed);
            if n % 1_000 == 0 {
                assert!(!table.take(hasty, at(0)).allowed, "after {n} others");
                assert!(known(&table) <= CALLERS);
            }
        }
    }

    #[test]
    fn who_is_silent_until_full_is_forgotten() {
        // Full again after a minute; the deepest debt takes another one.
        let table = table(60, 60);
        let (silent, busy) = (CallerHash::new(b"silent"), CallerHash::new(b"busy"));
        table.take(silent, at(1_000_000));
        for second in 0..=180 {
            table.take(busy, at(1_000_000 + second * 1_000));
            // A shard is checked only when somebody calls there.
            for n in 0..200 {
                table.take(
                    CallerHash::new(n.to_string().as_bytes()),
                    at(1_000_000 + second * 1_000),
                );
            }
        }
        let shard = table.shard(silent);
        assert!(shard.young.contains_key(&silent) || shard.old.contains_key(&silent), "not yet");
        drop(shard);
        for second in 181..=400 {
            for n in 0..200 {
                table.take(
                    CallerHash::new(n.to_string().as_bytes()),
                    at(1_000_000 + second * 1_000),
                );
            }
        }
        let shard = table.shard(silent);
        assert!(!shard.young.contains_key(&silent) && !shard.old.contains_key(&silent));
    }

    #[test]
    fn news_are_told_once_and_bounded() {
        let table = table(60, 60);
        let caller = CallerHash::new(b"one");
        assert_eq!((table.note(caller), table.note(caller)), (1, 2));
        assert_eq!(table.take_grants(), [(caller, 2)]);
        assert_eq!(table.take_grants(), []);
        for n in 0..CALLERS {
            table.note(CallerHash::new(n.to_string().as_bytes()));
        }
        assert!(table.take_grants().len() <= CALLERS / 2);
    }
}
