//! Removal of what is older than its time, as the periodic job does it.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::config::RetentionConfig;
use chatkeep_core::time::{Clock as _, DAY};
use chatkeep_store::ActivityFilter;
use chatkeep_workers::periodic::PeriodicJob as _;
use tokio_util::sync::CancellationToken;

use super::super::retention::Retention;
use super::{GROUP, Group, OWNER, say};

/// Runs a round of the job with that time for what nobody subscribes to.
async fn round(group: &Group, unsubscribed: Option<Duration>) {
    let config = RetentionConfig { unsubscribed, other_events: None };
    let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
    Retention { store, clock, config }.run(&CancellationToken::new()).await.unwrap();
}

async fn stored(group: &Group) -> usize {
    group.store.messages().all_messages(None, 1_000).await.unwrap().len()
}

/// Returns a group that its owner does not subscribe to any more.
async fn unsubscribed(messages: usize) -> Group {
    let group = Group::new().await;
    say(&group, &vec!["words".to_owned(); messages]).await;
    let now = group.hands.now();
    group.store.accounts().unsubscribe(&GROUP.into(), &OWNER.into(), now).await.unwrap();
    group
}

#[tokio::test]
async fn what_nobody_subscribes_to_goes_after_its_time() {
    // More than one batch.
    let group = unsubscribed(501).await;
    let changes = async || {
        let log = group.store.activity_log();
        log.changes(&GROUP.into(), &ActivityFilter::default(), None, 10).await.unwrap().len()
    };
    group.hands.advance(30 * DAY);
    round(&group, None).await;
    round(&group, Some(30 * DAY)).await;
    assert_eq!((stored(&group).await, changes().await), (501, 2));
    group.hands.advance(Duration::from_millis(1));
    round(&group, Some(30 * DAY)).await;
    assert_eq!((stored(&group).await, changes().await), (0, 0));
}

#[tokio::test]
async fn whoever_subscribes_again_in_time_keeps_it() {
    let group = unsubscribed(3).await;
    group.hands.advance(29 * DAY);
    let now = group.hands.now();
    group.store.accounts().subscribe(&GROUP.into(), &OWNER.into(), now).await.unwrap();
    group.hands.advance(30 * DAY);
    round(&group, Some(30 * DAY)).await;
    assert_eq!(stored(&group).await, 3);
}
