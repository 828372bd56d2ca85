//! Tests of caches against a plain map with ends, and of computations that end badly.

use std::collections::HashMap;

use proptest::prelude::*;
use tokio::time::advance;

use super::*;
use crate::panics::catch;

const MINUTE: Duration = Duration::from_mins(1);

/// A step of a test; keys are few, so that steps meet.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u32),
    InsertNew(u8, u32),
    GetWith(u8, u32),
    Compute(u8, u32),
    Take(u8),
    Remove(u8),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (key, value) = (|| 0_u8..4, || 0_u32..8);
    let step = prop_oneof![
        (key(), value()).prop_map(|(key, value)| Step::Insert(key, value)),
        (key(), value()).prop_map(|(key, value)| Step::InsertNew(key, value)),
        (key(), value()).prop_map(|(key, value)| Step::GetWith(key, value)),
        (key(), value()).prop_map(|(key, value)| Step::Compute(key, value)),
        key().prop_map(Step::Take),
        key().prop_map(Step::Remove),
        (0_u64..50).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..40)
}

/// Age of a value: some have none at all.
fn age(value: u32) -> Duration {
    Duration::from_secs(u64::from(value % 4) * 20)
}

/// Expected content of a cache: values with their ends, in seconds since the start.
#[derive(Default)]
struct Model {
    now: u64,
    values: HashMap<u8, (u32, u64)>,
}

impl Model {
    fn get(&self, key: u8) -> Option<u32> {
        self.values.get(&key).filter(|(_, end)| self.now < *end).map(|(value, _)| *value)
    }

    fn insert(&mut self, key: u8, value: u32) {
        self.values.insert(key, (value, self.now + age(value).as_secs()));
    }

    /// Returns the value of a key, which is set first if it has none.
    fn get_with(&mut self, key: u8, value: u32) -> u32 {
        if let Some(known) = self.get(key) {
            return known;
        }
        self.insert(key, value);
        value
    }
}

async fn apply(step: &Step, cache: &Cache<u8, u32>, model: &mut Model) {
    match *step {
        Step::Insert(key, value) => {
            cache.insert(key, value);
            model.insert(key, value);
        }
        Step::InsertNew(key, value) => {
            let is_new = model.get(key).is_none();
            assert_eq!(cache.insert_new(&key, value), is_new, "{step:?}");
            model.get_with(key, value);
        }
        Step::GetWith(key, value) => {
            assert_eq!(cache.get_with(&key, || value), model.get_with(key, value), "{step:?}");
        }
        Step::Compute(key, value) => {
            let computed = cache.get_or_compute(&key, async move { value }).await;
            assert_eq!(computed, model.get_with(key, value), "{step:?}");
        }
        Step::Take(key) => {
            assert_eq!(cache.take(&key), model.get(key), "{step:?}");
            model.values.remove(&key);
        }
        Step::Remove(key) => {
            cache.remove(&key);
            model.values.remove(&key);
        }
        Step::Pass(seconds) => {
            advance(Duration::from_secs(seconds)).await;
            model.now += seconds;
        }
    }
}

async fn run(steps: &[Step]) {
    let (cache, mut model) = (Cache::with_ages(1_000, |value| age(*value)), Model::default());
    for step in steps {
        apply(step, &cache, &mut model).await;
        let mut keys = cache.keys();
        keys.sort_unstable();
        let expected: Vec<_> = (0..4).filter(|key| model.get(*key).is_some()).collect();
        assert_eq!(keys, expected, "{step:?}");
        for key in 0..4 {
            assert_eq!(cache.get(&key), model.get(key), "{step:?}");
            assert_eq!(cache.contains(&key), model.get(key).is_some(), "{step:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_cache_is_a_map_whose_values_end(steps in steps()) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(run(&steps));
    }
}

#[tokio::test(start_paused = true)]
async fn clones_share_entries_and_reads_that_renew_them() {
    let cache = Cache::new(10, MINUTE).renewed_by_reads();
    let clone = cache.clone();
    clone.insert("a", 1);
    for _ in 0..4 {
        advance(MINUTE / 2).await;
        assert_eq!(cache.get(&"a"), Some(1));
    }
    // Whether there is a value is no read of it.
    for _ in 0..3 {
        advance(MINUTE / 4).await;
        assert!(clone.contains(&"a"));
    }
    advance(MINUTE / 4).await;
    assert_eq!((cache.get(&"a"), clone.keys().len()), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_computation_that_panics_leaves_the_next_one_its_turn() {
    let cache = Cache::new(10, MINUTE);
    let broken = cache.get_or_compute(&"a", async {
        tokio::task::yield_now().await;
        "x".parse::<u32>().unwrap()
    });
    let waiting = cache.get_or_compute(&"a", async { 2 });
    let (broken, waiting) = tokio::join!(catch("test", broken), waiting);
    assert!(broken.is_err());
    assert_eq!((waiting, cache.get(&"a")), (2, Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_set_while_another_is_computed_stays() {
    let cache = Cache::new(10, MINUTE);
    let compute = async {
        cache.insert("a", 9);
        1
    };
    assert_eq!(cache.get_or_compute(&"a", compute).await, 1);
    assert_eq!(cache.get(&"a"), Some(9));
}
