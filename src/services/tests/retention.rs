//! Removal of what is older than its time, as the periodic job does it.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::config::RetentionConfig;
use chatkeep_core::message::Content;
use chatkeep_core::time::{Clock as _, DAY, Timestamp};
use chatkeep_store::{ActivityFilter, PresenceEvidenceKind};
use chatkeep_workers::periodic::{JobFailure, PeriodicJob as _};
use tokio_util::sync::CancellationToken;

use super::super::retention::Retention;
use super::scene::sent;
use super::{GROUP, Group, OWNER, say};

/// Runs a round of the job with that time for what nobody subscribes to.
async fn round(group: &Group, unsubscribed: Option<Duration>) {
    try_round(group, unsubscribed).await.unwrap();
}

async fn try_round(group: &Group, unsubscribed: Option<Duration>) -> Result<(), JobFailure> {
    let config = RetentionConfig { unsubscribed, other_events: None };
    let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
    Retention { store, clock, config }.run(&CancellationToken::new()).await
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

/// Stores a message of the owner in another group, to which they subscribe.
async fn say_elsewhere(group: &Group, id: &str) {
    group.happened(id, PresenceEvidenceKind::Present(OWNER.into())).await;
    let (now, at) = (group.hands.now(), Timestamp::from_millis(1_000));
    group.store.accounts().subscribe(&id.into(), &OWNER.into(), now).await.unwrap();
    let said = sent(id, "elsewhere", Some(OWNER), at, &Content::text("words"));
    group.store.messages().ingest(&[said], now).await.unwrap();
}

#[tokio::test]
async fn a_channel_that_fails_holds_up_no_other() {
    let group = Group::new().await;
    say(&group, &["words".to_owned()]).await;
    say_elsewhere(&group, "C2").await;
    let now = group.hands.now();
    for channel in [GROUP, "C2"] {
        let channels = group.store.channels();
        channels.set_retention(&channel.into(), Some(1), &OWNER.into(), now).await.unwrap();
    }
    group
        .sql(
            "CREATE TRIGGER refuse BEFORE DELETE ON messages WHEN OLD.channel_id = 'C1'
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .await;
    group.hands.advance(2 * DAY);
    try_round(&group, None).await.unwrap_err();
    let left = group.store.messages().all_messages(None, 10).await.unwrap();
    let channels: Vec<_> = left.iter().map(|(channel, ..)| channel.as_str()).collect();
    assert_eq!(channels, [GROUP]);
}
