//! Subscriptions: who may have one, what counts from when, and lists of them.

use std::time::Duration;

use chatkeep_core::role::Role;
use chatkeep_store::Subscription;

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{appoint, arrive, bounded, establish, keep, leave, only, parts, refused_at, said};
use crate::access::{Member, ReadMessages, WriteBackup};
use crate::account::AccountService;
use crate::subscriptions::SubscriptionService;
use crate::{Caller, ServiceError, encode_cursor};

fn subscriptions(group: &Group) -> SubscriptionService {
    let (store, clock) = parts(group);
    SubscriptionService::new(store, clock)
}

async fn subscribe(group: &Group, user: &str) -> Result<bool, ServiceError> {
    let access = group.access.channel::<Member, WriteBackup>(caller(user), GROUP.into()).await?;
    subscriptions(group).subscribe(&access).await
}

async fn cancel(group: &Group, user: &str) -> Result<(), ServiceError> {
    let access = group.access.reaches::<WriteBackup>(caller(user), GROUP.into()).await?;
    subscriptions(group).unsubscribe(&access).await
}

async fn list(group: &Group, caller: &Caller) -> Vec<Subscription> {
    subscriptions(group).page(caller, 100, None).await.unwrap().0
}

#[tokio::test]
async fn members_subscribe_once_and_guests_not_at_all() {
    let group = Group::new().await;
    arrive(&group, GROUP, &["Uguest", "Uleft"]).await;
    appoint(&group, "Uguest", Role::Guest).await;
    leave(&group, GROUP, "Uleft").await;
    for user in ["Uguest", "Uleft", "Ustranger"] {
        let denied = subscribe(&group, user).await;
        assert_eq!(denied, Err(ServiceError::PermissionDenied), "{user}");
    }
    assert_eq!(subscribe(&group, OTHER).await, Ok(true));
    let first = list(&group, &caller(OTHER)).await;
    group.hands.advance(Duration::from_hours(1));
    keep(&group, &[said(GROUP, "m1", OWNER, group.clock.now(), "hello")]).await;
    assert_eq!(subscribe(&group, OTHER).await, Ok(false));
    let again = list(&group, &caller(OTHER)).await;
    let shown = |all: &[Subscription]| {
        all.iter().map(|one| (one.created_at, one.bytes_at_subscribe)).collect::<Vec<_>>()
    };
    assert_eq!(shown(&again), shown(&first), "nothing else changes");
    let access = group.access.channel::<Member, ReadMessages>(caller(OTHER), GROUP.into());
    let access = access.await.unwrap();
    assert_eq!(subscriptions(&group).has(&access).await, Ok(true));
    cancel(&group, OTHER).await.unwrap();
    assert_eq!(subscriptions(&group).has(&access).await, Ok(false), "the owner's is not theirs");
}

#[tokio::test]
async fn who_left_cancels_what_still_counts_for_them() {
    let group = Group::new().await;
    let (store, clock) = parts(&group);
    let accounts = AccountService::new(store, clock);
    let used = async || accounts.usage(&caller(OTHER)).await.unwrap().total.used;
    assert_eq!(subscribe(&group, OTHER).await, Ok(true));
    group.hands.advance(Duration::from_secs(1));
    keep(&group, &[said(GROUP, "m1", OWNER, group.clock.now(), "hello")]).await;
    let bytes = used().await;
    assert!(bytes > 0);
    leave(&group, GROUP, OTHER).await;
    assert_eq!(used().await, bytes);
    assert_eq!(cancel(&group, OTHER).await, Ok(()));
    assert_eq!(used().await, 0);
    let denied = Err(ServiceError::PermissionDenied);
    assert_eq!(cancel(&group, OTHER).await, denied, "nothing is there any more");
    assert_eq!(cancel(&group, "Ustranger").await, denied);
    // A member may do so again and again.
    for _ in 0..2 {
        assert_eq!(cancel(&group, OWNER).await, Ok(()));
    }
    let elsewhere = bounded(OWNER, only(&["C2"]));
    let reached = group.access.reaches::<WriteBackup>(elsewhere, GROUP.into()).await.err();
    assert_eq!(reached, Some(ServiceError::PermissionDenied));
}

#[tokio::test]
async fn whoever_subscribes_again_pays_for_what_comes_from_then_on() {
    let group = Group::new().await;
    assert_eq!(subscribe(&group, OTHER).await, Ok(true));
    let now = group.clock.now();
    keep(&group, &[said(GROUP, "m1", OWNER, now, "before")]).await;
    assert_eq!(cancel(&group, OTHER).await, Ok(()));
    keep(&group, &[said(GROUP, "m2", OWNER, now, "meanwhile")]).await;
    group.hands.advance(Duration::from_secs(1));
    assert_eq!(subscribe(&group, OTHER).await, Ok(true));
    let channel = group.store.channels().channel(&GROUP.into()).await.unwrap().unwrap();
    let own = list(&group, &caller(OTHER)).await;
    let [own] = &own[..] else { panic!("one subscription: {own:?}") };
    assert_eq!(own.bytes_at_subscribe, channel.bytes);
    assert_eq!(own.created_at, group.clock.now());
    let (store, clock) = parts(&group);
    let usage = AccountService::new(store, clock).usage(&caller(OTHER)).await.unwrap();
    assert_eq!(usage.total.used, 0);
}

#[tokio::test]
async fn pages_of_subscriptions_are_within_the_channels_of_a_key() {
    let group = Group::new().await;
    for channel in ["C2", "C3", "C4"] {
        establish(&group, channel, &[OWNER, OTHER]).await;
    }
    let service = subscriptions(&group);
    let pages = async |caller: Caller, limit: u32| {
        let (mut pages, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let (rows, next) = service.page(&caller, limit, cursor.as_deref()).await.unwrap();
            pages.push(rows.iter().map(|row| row.channel.to_string()).collect::<Vec<_>>());
            cursor = next;
            if cursor.is_none() {
                return pages;
            }
        }
    };
    assert_eq!(pages(caller(OWNER), 2).await, [[GROUP, "C2"], ["C3", "C4"]]);
    let narrow = bounded(OWNER, only(&["C2", "C4", "C9"]));
    assert_eq!(pages(narrow.clone(), 1).await, [["C2"], ["C4"]]);
    assert_eq!(pages(narrow, 100).await, [["C2", "C4"]]);
    assert_eq!(pages(caller(OTHER), 100).await, [[""; 0]], "those of the owner");
    let foreign = encode_cursor("channels", &"C2");
    let refused = service.page(&caller(OWNER), 2, foreign.as_deref()).await;
    assert_eq!(refused_at(refused), "cursor");
}
