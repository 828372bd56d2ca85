//! Tests of problems as operators see them: one of each part, in order, and shared by clones.

use super::*;
use crate::time::ManualClock;

#[test]
fn each_part_has_one_problem_and_clones_share_them() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
    let health = Health::new(clock.clone());
    let other = health.clone();
    health.raise("stage:search", "slow");
    clock.set(Timestamp::from_millis(1_000));
    other.raise("bus", "away");
    other.raise("stage:search", "slower");
    let json = serde_json::to_value(health.problems()).unwrap();
    let expected = serde_json::json!([
        { "part": "bus", "reason": "away", "since": "1970-01-01T00:00:01.000Z" },
        { "part": "stage:search", "reason": "slower", "since": "1970-01-01T00:00:00.000Z" },
    ]);
    assert_eq!(json, expected);
    health.clear("bus");
    health.clear("never raised");
    assert_eq!(other.problems().len(), 1);
}

#[test]
fn a_problem_that_comes_back_is_a_new_one() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(5)));
    let health = Health::new(clock.clone());
    health.raise("bus", "away");
    health.clear("bus");
    clock.set(Timestamp::from_millis(9));
    health.raise("bus", Failure { text: "away".to_owned(), is_explained: true });
    assert_eq!(health.problems()[0].since, Timestamp::from_millis(9));
    assert!(!health.lock()["bus"].is_logged, "the log explains it elsewhere this time");
}
