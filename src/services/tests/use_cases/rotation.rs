//! Rotation of keys: how long the key before works, and who may replace which.

use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::KeyId;
use chatkeep_core::time::{DAY, Timestamp};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{bounded, key_of, only, parts, refused_at};
use crate::access::{ManageKeys, Scoped};
use crate::credentials::CredentialService;
use crate::{Caller, ServiceError};

fn manager(group: &Group, caller: Caller) -> Scoped<ManageKeys> {
    group.access.scoped(caller).unwrap()
}

/// Returns true if the key with that secret works now.
async fn works(group: &Group, secret: &str) -> bool {
    let (store, clock) = parts(group);
    CredentialService::new(store, clock).caller(secret).await.is_ok()
}

/// Returns the time until which a key of the owner works after a rotation with that overlap.
async fn replaced(
    group: &Group,
    id: &str,
    overlap: Option<u32>,
) -> Result<Option<Timestamp>, ServiceError> {
    let access = manager(group, caller(OWNER));
    let rotated = group.keys.rotate(&access, &id.into(), overlap).await;
    rotated.map(|rotated| rotated.previous_until)
}

#[tokio::test]
async fn the_key_before_works_for_the_overlap_and_not_longer_than_it_would_have() {
    let group = Group::new().await;
    let now = group.clock.now();
    let short = Bounds { expires_at: Some(now.plus(Duration::from_secs(10))), ..Bounds::full() };
    for (id, bounds, overlap, until) in [
        ("key_day", Bounds::full(), None, DAY),
        ("key_now", Bounds::full(), Some(0), Duration::ZERO),
        ("key_most", Bounds::full(), Some(2_592_000), 30 * DAY),
        ("key_less", short.clone(), Some(9), Duration::from_secs(9)),
        ("key_end", short, None, Duration::from_secs(10)),
    ] {
        key_of(&group, OWNER, id, &bounds).await;
        let told = replaced(&group, id, overlap).await;
        assert_eq!(told, Ok(Some(now.plus(until))), "{id}");
        let secret = format!("ck_{id}");
        assert_eq!(works(&group, &secret).await, !until.is_zero(), "{id}");
    }
    for (seconds, working) in [
        (8, vec!["key_day", "key_most", "key_less", "key_end"]),
        (9, vec!["key_day", "key_most", "key_end"]),
        (10, vec!["key_day", "key_most"]),
        (86_400, vec!["key_most"]),
        (2_592_000, vec![]),
    ] {
        group.hands.set(now.plus(Duration::from_secs(seconds)));
        let mut found = Vec::new();
        for id in ["key_day", "key_now", "key_most", "key_less", "key_end"] {
            if works(&group, &format!("ck_{id}")).await {
                found.push(id);
            }
        }
        assert_eq!(found, working, "after {seconds} seconds");
    }
}

#[tokio::test]
async fn an_overlap_has_thirty_days_at_most_and_a_refused_one_changes_nothing() {
    let group = Group::new().await;
    key_of(&group, OWNER, "key_1", &Bounds::full()).await;
    for seconds in [2_592_001, u32::MAX] {
        let refused = replaced(&group, "key_1", Some(seconds)).await;
        assert_eq!(refused_at(refused), "/overlapSeconds");
    }
    let access = manager(&group, caller(OWNER));
    assert_eq!(group.keys.page(&access, 9, None).await.unwrap().0.len(), 1);
    assert_eq!(group.keys.one(&access, &"key_1".into()).await.unwrap().expires_at, None);
}

#[tokio::test]
async fn the_next_key_is_as_the_one_before_but_for_its_id_and_secret() {
    let group = Group::new().await;
    let end = group.clock.now().plus(30 * DAY);
    let bounds = Bounds { expires_at: Some(end), ..only(&[GROUP]) };
    key_of(&group, OWNER, "key_1", &bounds).await;
    group.hands.advance(Duration::from_secs(5));
    let access = manager(&group, caller(OWNER));
    let next = group.keys.rotate(&access, &"key_1".into(), Some(60)).await.unwrap();
    assert_eq!((next.key.bounds(), next.key.name.as_str()), (bounds, "program"));
    assert_eq!((next.key.created_at, next.key.last_used_at), (group.clock.now(), None));
    assert_ne!(next.key.id, KeyId::from("key_1"));
    assert!(next.secret.ends_with(&next.key.mask) && next.secret != "ck_key_1");
    // Of each line two work at a time: whoever rotates again ends the one before.
    let third = group.keys.rotate(&access, &next.key.id, Some(60)).await.unwrap();
    let mut working = Vec::new();
    for secret in ["ck_key_1", &next.secret, &third.secret] {
        working.push(works(&group, secret).await);
    }
    assert_eq!(working, [false, true, true]);
    let over = group.keys.rotate(&access, &"key_1".into(), Some(60)).await;
    assert_eq!(over.err(), Some(ServiceError::NotFound), "its time is over");
}

#[tokio::test]
async fn a_bounded_caller_does_not_learn_which_other_keys_there_are() {
    let group = Group::new().await;
    key_of(&group, OWNER, "key_all", &Bounds::full()).await;
    key_of(&group, OTHER, "key_other", &only(&[GROUP])).await;
    let narrow = key_of(&group, OWNER, "key_here", &only(&[GROUP])).await;
    let rotate = async |caller: Caller, id: &str| {
        group.keys.rotate(&manager(&group, caller), &id.into(), None).await.err()
    };
    for id in ["key_all", "key_other", "key_none"] {
        let refused = rotate(narrow.clone(), id).await;
        assert_eq!(refused, Some(ServiceError::InsufficientPermissions), "{id}");
    }
    for id in ["key_other", "key_none"] {
        assert_eq!(rotate(caller(OWNER), id).await, Some(ServiceError::NotFound), "{id}");
    }
    assert_eq!(rotate(narrow, "key_here").await, None, "it replaces itself");
    let elsewhere = bounded(OWNER, only(&["C2"]));
    let refused = rotate(elsewhere, "key_here").await;
    assert_eq!(refused, Some(ServiceError::InsufficientPermissions));
    assert!(works(&group, "ck_key_all").await && works(&group, "ck_key_other").await);
}
