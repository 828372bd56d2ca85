//! Repeated requests are recognised.

use chatkeep_core::store::{IdempotencyKey, Repeated};
use futures_util::future::join_all;

use super::{Fixture, at, on_both};

on_both!(
    the_first_runs_and_the_others_are_told,
    of_many_at_once_one_runs,
    a_released_key_is_free_and_an_answered_one_is_not,
    a_lost_request_frees_its_key,
    old_answers_are_forgotten_and_deleted,
);

const DAY: i64 = 86_400_000;

fn key(owner: &str, route: &str, hash: &str, request: &str) -> IdempotencyKey {
    IdempotencyKey {
        owner: owner.to_owned(),
        route: route.to_owned(),
        key_hash: hash.to_owned(),
        request: request.to_owned(),
    }
}

fn one() -> IdempotencyKey {
    key("key:1", "/api/keys", "h", "r")
}

async fn claim(fixture: &Fixture, key: &IdempotencyKey, now: i64) -> Repeated {
    fixture.store.claim_idempotency(key, at(now)).await.unwrap()
}

fn answered(status: u16, answer: &str) -> Repeated {
    Repeated::Answered { status, answer: answer.to_owned() }
}

async fn the_first_runs_and_the_others_are_told(fixture: Fixture) {
    assert_eq!(claim(&fixture, &one(), 1_000).await, Repeated::First);
    assert_eq!(claim(&fixture, &one(), 1_001).await, Repeated::Running);
    let other = key("key:1", "/api/keys", "h", "another request");
    assert_eq!(claim(&fixture, &other, 1_001).await, Repeated::Other);
    fixture.store.finish_idempotency(&one(), 201, "sealed").await.unwrap();
    assert_eq!(claim(&fixture, &one(), 1_002).await, answered(201, "sealed"));
    assert_eq!(claim(&fixture, &other, 1_002).await, Repeated::Other);
    // Somebody else's key, another route, another key: nothing to do with it.
    for free in [
        key("key:2", "/api/keys", "h", "r"),
        key("key:1", "/api/keys/k/rotate", "h", "r"),
        key("key:1", "/api/keys", "g", "r"),
    ] {
        assert_eq!(claim(&fixture, &free, 1_003).await, Repeated::First);
    }
}

async fn of_many_at_once_one_runs(fixture: Fixture) {
    let one = one();
    let told = join_all((0..10).map(|_| claim(&fixture, &one, 1_000))).await;
    assert_eq!(told.iter().filter(|told| **told == Repeated::First).count(), 1, "{told:?}");
    assert_eq!(told.iter().filter(|told| **told == Repeated::Running).count(), 9, "{told:?}");
}

async fn a_released_key_is_free_and_an_answered_one_is_not(fixture: Fixture) {
    claim(&fixture, &one(), 1_000).await;
    fixture.store.release_idempotency(&one()).await.unwrap();
    let other = key("key:1", "/api/keys", "h", "another request");
    assert_eq!(claim(&fixture, &other, 1_001).await, Repeated::First);
    fixture.store.finish_idempotency(&other, 200, "a").await.unwrap();
    fixture.store.release_idempotency(&other).await.unwrap();
    assert_eq!(claim(&fixture, &other, 1_002).await, answered(200, "a"));
}

async fn a_lost_request_frees_its_key(fixture: Fixture) {
    assert_eq!(claim(&fixture, &one(), 1_000).await, Repeated::First);
    assert_eq!(claim(&fixture, &one(), 121_000).await, Repeated::Running);
    assert_eq!(claim(&fixture, &one(), 121_001).await, Repeated::First);
    assert_eq!(claim(&fixture, &one(), 121_002).await, Repeated::Running);
}

async fn old_answers_are_forgotten_and_deleted(fixture: Fixture) {
    let second = key("key:1", "/api/keys", "g", "r");
    for (key, now) in [(one(), 1_000), (second.clone(), 2_000)] {
        assert_eq!(claim(&fixture, &key, now).await, Repeated::First);
        fixture.store.finish_idempotency(&key, 200, "a").await.unwrap();
    }
    assert_eq!(claim(&fixture, &one(), DAY + 1_000).await, answered(200, "a"));
    assert_eq!(fixture.store.purge_idempotency(at(DAY + 1_000)).await.unwrap(), 0);
    assert_eq!(fixture.store.purge_idempotency(at(DAY + 1_001)).await.unwrap(), 1);
    assert_eq!(claim(&fixture, &second, DAY + 2_000).await, answered(200, "a"));
    // Also without a purge.
    assert_eq!(claim(&fixture, &second, DAY + 2_001).await, Repeated::First);
}
