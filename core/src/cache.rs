//! Caches whose entries expire: bounded, shared by clones, and one computation of a missing value
//! for all who ask for it.
//!
//! `quick_cache` evicts; age is added here.

use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quick_cache::sync::{Cache as Entries, EntryAction, EntryResult};
use tokio::time::Instant;

/// Least time between two sweeps of expired entries, each of which looks at every entry.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);
/// Number of entries from which a cache is divided for threads that use it at once. A cache by
/// weight is not: each part would hold only a part of the largest value.
const UNDIVIDED: usize = 32;

/// Cache whose entries expire. Clones share its entries.
pub struct Cache<K, V> {
    entries: Arc<Entries<K, Entry<V>, Weight<V>>>,
    age: Age<V>,
    is_renewed: bool,
    swept_at: Arc<Mutex<Instant>>,
}

/// Value with its end.
#[derive(Clone)]
struct Entry<V> {
    value: V,
    age: Duration,
    expires_at: Instant,
}

/// Maximum age of values.
enum Age<V> {
    Of(fn(&V) -> Duration),
    All(Duration),
}

/// Weight of values; without a function each is 1.
struct Weight<V>(Option<fn(&V) -> u64>);

impl<V> Entry<V> {
    fn is_fresh(&self, now: Instant) -> bool {
        now < self.expires_at
    }
}

impl<V> Clone for Age<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Age<V> {}

impl<V> Clone for Weight<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Weight<V> {}

impl<K, V> quick_cache::Weighter<K, Entry<V>> for Weight<V> {
    fn weight(&self, _: &K, entry: &Entry<V>) -> u64 {
        self.0.map_or(1, |weight| weight(&entry.value).max(1))
    }
}

impl<K, V> Clone for Cache<K, V> {
    fn clone(&self) -> Self {
        Self {
            entries: Arc::clone(&self.entries),
            age: self.age,
            is_renewed: self.is_renewed,
            swept_at: Arc::clone(&self.swept_at),
        }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    /// Creates a cache of about `entries` entries of at most that age.
    pub fn new(entries: usize, age: Duration) -> Self {
        Self::build(Entries::with_weighter(entries, entries as u64, Weight(None)), Age::All(age))
    }

    /// Creates a cache of about `entries` entries, each of at most the age that `age` returns for its
    /// value. A value without age is given to those who waited for it, and not cached.
    pub fn with_ages(entries: usize, age: fn(&V) -> Duration) -> Self {
        Self::build(Entries::with_weighter(entries, entries as u64, Weight(None)), Age::Of(age))
    }

    /// Creates a cache of values that weigh at most `weight` together, each of at most the age that
    /// `age` returns for it. One that is heavier than 97 % of that is not cached.
    pub fn with_weights(weight: u64, weight_of: fn(&V) -> u64, age: fn(&V) -> Duration) -> Self {
        let entries = Entries::with_weighter(UNDIVIDED, weight, Weight(Some(weight_of)));
        Self::build(entries, Age::Of(age))
    }

    /// Has entries expire when they were not read for their age.
    #[must_use]
    pub fn renewed_by_reads(self) -> Self {
        Self { is_renewed: true, ..self }
    }

    fn build(entries: Entries<K, Entry<V>, Weight<V>>, age: Age<V>) -> Self {
        let swept_at = Arc::new(Mutex::new(Instant::now()));
        Self { entries: Arc::new(entries), age, is_renewed: false, swept_at }
    }

    /// Returns the value of a key that has not expired.
    pub fn get(&self, key: &K) -> Option<V> {
        let entry = self.entries.get(key)?;
        let (now, age) = (Instant::now(), entry.age);
        if self.is_renewed && entry.is_fresh(now) && entry.expires_at < now + age / 8 * 7 {
            self.renew(key, now);
        }
        entry.is_fresh(now).then_some(entry.value)
    }

    /// Returns whether a key has a value that has not expired.
    pub fn contains(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.is_fresh(Instant::now()))
    }

    /// Sets the value of a key.
    pub fn insert(&self, key: K, value: V) {
        self.entries.insert(key, self.new_entry(value));
    }

    /// Sets the value of a key that has none; returns whether it had none.
    pub fn insert_new(&self, key: &K, value: V) -> bool {
        self.remove_expired(key);
        let retained = self.entries.entry(key, None, |_, _| EntryAction::Retain(()));
        if let EntryResult::Vacant(guard) = retained {
            // It fails when somebody else has set the value: then that one counts.
            return guard.insert(self.new_entry(value)).is_ok();
        }
        false
    }

    /// Removes a key.
    pub fn remove(&self, key: &K) {
        self.entries.remove(key);
    }

    /// Removes a key, and returns its value unless it has expired. Of several who take it, one gets
    /// it.
    pub fn take(&self, key: &K) -> Option<V> {
        let (_, entry) = self.entries.remove(key)?;
        entry.is_fresh(Instant::now()).then_some(entry.value)
    }

    /// Returns the keys with values that have not expired.
    pub fn keys(&self) -> Vec<K> {
        let now = Instant::now();
        self.entries.iter().filter(|(_, entry)| entry.is_fresh(now)).map(|(key, _)| key).collect()
    }

    /// Returns the value of a key; one that is missing is made by `make`.
    pub fn get_with(&self, key: &K, make: impl FnOnce() -> V) -> V {
        if let Some(value) = self.get(key) {
            return value;
        }
        self.remove_expired(key);
        let make = || Ok::<_, std::convert::Infallible>(self.new_entry(make()));
        let Ok(entry) = self.entries.get_or_insert_with(key, make);
        entry.value
    }

    /// Returns the value of a key. A missing one is computed by `compute`, once for all who ask
    /// meanwhile: they wait for it and get the same. When that future is dropped before its end, one
    /// of them computes it.
    pub async fn get_or_compute(&self, key: &K, compute: impl Future<Output = V>) -> V {
        if let Some(value) = self.get(key) {
            return value;
        }
        self.remove_expired(key);
        let guard = match self.entries.get_value_or_guard_async(key).await {
            Ok(entry) => return entry.value,
            Err(guard) => guard,
        };
        let value = compute.await;
        // It fails when the key was removed or set meanwhile: then this value is not cached.
        let _ = guard.insert(self.new_entry(value.clone()));
        self.remove_expired(key);
        value
    }

    /// Returns the entry of a value. Whatever adds one comes by here, so old ones are swept here.
    fn new_entry(&self, value: V) -> Entry<V> {
        self.sweep();
        let age = match self.age {
            Age::Of(age) => age(&value),
            Age::All(age) => age,
        };
        Entry { value, age, expires_at: Instant::now() + age }
    }

    fn renew(&self, key: &K, now: Instant) {
        let renewed = self.entries.entry(key, Some(Duration::ZERO), |_, entry| {
            entry.expires_at = now + entry.age;
            EntryAction::Retain(())
        });
        // Where it has vanished meanwhile, the place that is reserved for it is given back.
        drop(renewed);
    }

    fn remove_expired(&self, key: &K) {
        let now = Instant::now();
        self.entries.remove_if(key, |entry| !entry.is_fresh(now));
    }

    /// Removes what has expired, now and then: nothing else does while nobody asks for it.
    fn sweep(&self) {
        let now = Instant::now();
        let mut swept_at = self.swept_at.lock().unwrap_or_else(PoisonError::into_inner);
        if now < *swept_at + SWEEP_INTERVAL {
            return;
        }
        *swept_at = now;
        drop(swept_at);
        self.entries.retain(|_, entry| entry.is_fresh(now));
    }
}

#[cfg(test)]
#[path = "cache_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use tokio::time::advance;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn values_expire_and_are_replaced() {
        let cache = Cache::new(10, MINUTE);
        cache.insert("a", 1);
        advance(MINUTE / 2).await;
        assert_eq!(cache.get(&"a"), Some(1));
        assert!(!cache.insert_new(&"a", 2));
        advance(MINUTE / 2).await;
        assert_eq!((cache.get(&"a"), cache.contains(&"a")), (None, false));
        assert_eq!(cache.keys(), Vec::<&str>::new());
        assert_eq!(cache.get_with(&"a", || 3), 3);
        assert_eq!(cache.get_with(&"a", || 4), 3);
        advance(MINUTE).await;
        assert!(cache.insert_new(&"a", 5));
        assert_eq!(cache.get(&"a"), Some(5));
        cache.remove(&"a");
        assert_eq!(cache.get(&"a"), None);
        cache.insert("a", 6);
        assert_eq!([cache.take(&"a"), cache.take(&"a")], [Some(6), None]);
        cache.insert("a", 7);
        advance(MINUTE).await;
        assert_eq!(cache.take(&"a"), None, "it has expired");
    }

    #[tokio::test(start_paused = true)]
    async fn reads_renew_where_they_shall() {
        let cache = Cache::new(10, MINUTE).renewed_by_reads();
        cache.insert("read", 1);
        cache.insert("idle", 2);
        for _ in 0..8 {
            advance(MINUTE / 4).await;
            assert_eq!(cache.get(&"read"), Some(1));
        }
        assert_eq!(cache.get(&"idle"), None);
        advance(MINUTE).await;
        assert_eq!(cache.get(&"read"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_is_added_sweeps_what_has_expired() {
        let cache = Cache::new(1_000, MINUTE);
        for way in 0..4 {
            for key in 0..500 {
                cache.insert(key, ());
            }
            advance(MINUTE * 2).await;
            match way {
                0 => cache.insert(500, ()),
                1 => assert!(cache.insert_new(&500, ())),
                2 => cache.get_with(&500, || ()),
                _ => cache.get_or_compute(&500, async {}).await,
            }
            assert_eq!((cache.entries.len(), cache.keys()), (1, vec![500]), "{way}");
        }
    }

    #[tokio::test]
    async fn a_value_whose_key_is_removed_while_it_is_computed_is_not_cached() {
        let cache = Cache::new(10, MINUTE);
        let compute = async {
            cache.remove(&"a");
            1
        };
        assert_eq!(cache.get_or_compute(&"a", compute).await, 1);
        assert_eq!(cache.get(&"a"), None);
    }

    #[test]
    fn its_size_is_bounded() {
        let cache = Cache::new(100, MINUTE);
        for key in 0..10_000 {
            cache.insert(key, key);
        }
        assert!(cache.entries.len() <= 100, "{}", cache.entries.len());
        let texts = Cache::with_weights(100, |text: &String| text.len() as u64, |_| MINUTE);
        texts.insert(0, "a".repeat(90));
        assert!(texts.contains(&0), "one large value");
        for key in 1..100 {
            texts.insert(key, "a".repeat(20));
        }
        assert!(texts.entries.len() <= 5, "{}", texts.entries.len());
        texts.insert(100, "a".repeat(101));
        assert!(!texts.contains(&100));
    }

    #[tokio::test]
    async fn one_computes_and_all_get_the_same() {
        let cache: Cache<&str, Result<u32, u32>> = Cache::with_ages(10, |value| match value {
            Ok(_) => MINUTE,
            Err(_) => Duration::ZERO,
        });
        let calls = AtomicU32::new(0);
        let ask = |fails: bool| {
            let (cache, calls) = (&cache, &calls);
            async move {
                let compute = async {
                    let call = calls.fetch_add(1, Relaxed);
                    tokio::task::yield_now().await;
                    if fails { Err(call) } else { Ok(call) }
                };
                cache.get_or_compute(&"a", compute).await
            }
        };
        // All who wait for it get a failure, too; the next one tries again.
        assert_eq!(tokio::join!(ask(true), ask(true), ask(true)), (Err(0), Err(0), Err(0)));
        assert_eq!(cache.entries.len(), 0);
        assert_eq!(tokio::join!(ask(false), ask(false), ask(false)), (Ok(1), Ok(1), Ok(1)));
        assert_eq!(ask(true).await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_computes_when_the_first_gives_up() {
        let cache = Cache::new(10, MINUTE);
        let never = cache.get_or_compute(&"a", std::future::pending());
        let second = cache.get_or_compute(&"a", async { 2 });
        let (first, second) = tokio::join!(tokio::time::timeout(MINUTE, never), second);
        assert!(first.is_err());
        assert_eq!(second, 2);
        assert_eq!(cache.get(&"a"), Some(2));
    }
}
