//! Repeated requests are recognised.

use chatkeep_store::{IdempotencyClaim, IdempotencyKey, IdempotencyState, StoreError};
use futures_util::future::join_all;

use super::{Fixture, at, on_both};

on_both!(
    the_first_runs_and_the_others_are_told,
    of_many_at_once_one_runs,
    what_changed_nothing_frees_its_key,
    a_lost_request_frees_its_key,
    old_answers_are_forgotten_and_deleted,
    what_changed_something_is_never_run_again,
    a_request_that_was_taken_over_changes_nothing,
    a_failure_frees_its_key_unless_something_changed,
    requests_of_the_dead_are_ended_at_once,
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

async fn claim(fixture: &Fixture, key: &IdempotencyKey, now: i64) -> IdempotencyState {
    fixture.store.idempotency().claim_idempotency(key, at(now)).await.unwrap()
}

/// Claims a free key.
async fn first(fixture: &Fixture, key: &IdempotencyKey, now: i64) -> IdempotencyClaim {
    match claim(fixture, key, now).await {
        IdempotencyState::First(claim) => claim,
        other => panic!("{key:?} is not free: {other:?}"),
    }
}

fn answered(status: u16, answer: &str) -> IdempotencyState {
    IdempotencyState::Answered { status, answer: answer.to_owned() }
}

async fn requests_of_the_dead_are_ended_at_once(fixture: Fixture) {
    let keys =
        ["unchanged", "changed", "answered"].map(|hash| key("key:1", "/api/keys", hash, "r"));
    let [unchanged, changed, done] = &keys;
    let late = first(&fixture, unchanged, 1_000).await;
    change(&fixture, &first(&fixture, changed, 1_000).await).await.unwrap();
    let running = first(&fixture, done, 1_000).await;
    change(&fixture, &running).await.unwrap();
    fixture.store.idempotency().finish_idempotency(&running, 201, "sealed").await.unwrap();
    fixture.store.idempotency().end_dead_requests().await.unwrap();
    assert_eq!(claim(&fixture, changed, 1_001).await, IdempotencyState::Interrupted);
    assert_eq!(claim(&fixture, done, 1_001).await, answered(201, "sealed"));
    first(&fixture, unchanged, 1_001).await;
    let lost = change(&fixture, &late).await.unwrap_err();
    assert!(matches!(lost, StoreError::ClaimLost), "{lost:?}");
}

async fn the_first_runs_and_the_others_are_told(fixture: Fixture) {
    let running = first(&fixture, &one(), 1_000).await;
    assert_eq!(claim(&fixture, &one(), 1_001).await, IdempotencyState::Running);
    let other = key("key:1", "/api/keys", "h", "another request");
    assert_eq!(claim(&fixture, &other, 1_001).await, IdempotencyState::Other);
    change(&fixture, &running).await.unwrap();
    fixture.store.idempotency().finish_idempotency(&running, 201, "sealed").await.unwrap();
    assert_eq!(claim(&fixture, &one(), 1_002).await, answered(201, "sealed"));
    assert_eq!(claim(&fixture, &other, 1_002).await, IdempotencyState::Other);
    // Another user's key, another route, another key: independent.
    for free in [
        key("key:2", "/api/keys", "h", "r"),
        key("key:1", "/api/keys/k/rotate", "h", "r"),
        key("key:1", "/api/keys", "g", "r"),
    ] {
        first(&fixture, &free, 1_003).await;
    }
}

async fn of_many_at_once_one_runs(fixture: Fixture) {
    let one = one();
    let told = join_all((0..10).map(|_| claim(&fixture, &one, 1_000))).await;
    let ran = told.iter().filter(|told| matches!(told, IdempotencyState::First(_))).count();
    assert_eq!(ran, 1, "{told:?}");
    assert_eq!(
        told.iter().filter(|told| **told == IdempotencyState::Running).count(),
        9,
        "{told:?}"
    );
}

async fn what_changed_nothing_frees_its_key(fixture: Fixture) {
    let refused = first(&fixture, &one(), 1_000).await;
    fixture.store.idempotency().finish_idempotency(&refused, 400, "a").await.unwrap();
    let other = key("key:1", "/api/keys", "h", "another request");
    let unchanged = first(&fixture, &other, 1_001).await;
    fixture.store.idempotency().finish_idempotency(&unchanged, 200, "a").await.unwrap();
    // Also one that was refused after it had changed something.
    let done = first(&fixture, &other, 1_002).await;
    change(&fixture, &done).await.unwrap();
    fixture.store.idempotency().finish_idempotency(&done, 409, "a").await.unwrap();
    assert_eq!(claim(&fixture, &other, 1_003).await, answered(409, "a"));
}

async fn a_lost_request_frees_its_key(fixture: Fixture) {
    let lost = first(&fixture, &one(), 1_000).await;
    assert_eq!(claim(&fixture, &one(), 121_000).await, IdempotencyState::Running);
    first(&fixture, &one(), 121_001).await;
    assert_eq!(claim(&fixture, &one(), 121_002).await, IdempotencyState::Running);
    // The outcome of the first one does not affect the second.
    fixture.store.idempotency().finish_idempotency(&lost, 200, "late").await.unwrap();
    assert_eq!(claim(&fixture, &one(), 121_003).await, IdempotencyState::Running);
}

async fn old_answers_are_forgotten_and_deleted(fixture: Fixture) {
    let second = key("key:1", "/api/keys", "g", "r");
    for (key, now) in [(one(), 1_000), (second.clone(), 2_000)] {
        let done = first(&fixture, &key, now).await;
        change(&fixture, &done).await.unwrap();
        fixture.store.idempotency().finish_idempotency(&done, 200, "a").await.unwrap();
    }
    assert_eq!(claim(&fixture, &one(), DAY + 1_000).await, answered(200, "a"));
    assert_eq!(fixture.store.idempotency().purge_idempotency(at(DAY + 1_000)).await.unwrap(), 0);
    assert_eq!(fixture.store.idempotency().purge_idempotency(at(DAY + 1_001)).await.unwrap(), 1);
    assert_eq!(claim(&fixture, &second, DAY + 2_000).await, answered(200, "a"));
    // Also without a purge.
    first(&fixture, &second, DAY + 2_001).await;
}

async fn users(fixture: &Fixture) -> String {
    fixture.value("SELECT COUNT(*) FROM users").await
}

/// Changes something in the name of a request.
async fn change(fixture: &Fixture, claim: &IdempotencyClaim) -> Result<(), StoreError> {
    let user = "Umade".into();
    claim.clone().run(fixture.store.accounts().add_user(&user, None, at(1))).await.map(drop)
}

async fn what_changed_something_is_never_run_again(fixture: Fixture) {
    let running = first(&fixture, &one(), 1_000).await;
    change(&fixture, &running).await.unwrap();
    assert_eq!(users(&fixture).await, "1");
    assert_eq!(claim(&fixture, &one(), 121_000).await, IdempotencyState::Running);
    // Its process died, or it takes very long: either way another one must not run it.
    assert_eq!(claim(&fixture, &one(), 121_001).await, IdempotencyState::Interrupted);
    assert_eq!(claim(&fixture, &one(), DAY).await, IdempotencyState::Interrupted);
    fixture.store.idempotency().finish_idempotency(&running, 201, "late").await.unwrap();
    assert_eq!(claim(&fixture, &one(), DAY).await, answered(201, "late"));
}

async fn a_request_that_was_taken_over_changes_nothing(fixture: Fixture) {
    let slow = first(&fixture, &one(), 1_000).await;
    let second = first(&fixture, &one(), 121_001).await;
    let late = change(&fixture, &slow).await;
    assert!(matches!(late, Err(StoreError::ClaimLost)), "{late:?}");
    assert_eq!(users(&fixture).await, "0");
    change(&fixture, &second).await.unwrap();
    assert_eq!(users(&fixture).await, "1");
    // Without a claim nothing of this is checked.
    fixture.store.accounts().add_user(&"Uother".into(), None, at(1)).await.unwrap();
}

async fn a_failure_frees_its_key_unless_something_changed(fixture: Fixture) {
    let failed = first(&fixture, &one(), 1_000).await;
    assert!(fixture.store.idempotency().abandon_idempotency(&failed).await.unwrap());
    let half_way = first(&fixture, &one(), 1_001).await;
    change(&fixture, &half_way).await.unwrap();
    assert!(!fixture.store.idempotency().abandon_idempotency(&half_way).await.unwrap());
    assert_eq!(claim(&fixture, &one(), 1_002).await, IdempotencyState::Interrupted);
    fixture.store.idempotency().finish_idempotency(&half_way, 200, "note").await.unwrap();
    assert_eq!(claim(&fixture, &one(), 1_003).await, answered(200, "note"));
}
