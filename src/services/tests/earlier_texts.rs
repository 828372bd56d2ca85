//! Erasure of the earlier texts of channels that keep them no more.

use std::sync::Arc;

use chatkeep_workers::periodic::PeriodicJob as _;
use tokio_util::sync::CancellationToken;

use super::super::earlier_texts::EarlierTextErasure;
use super::{GROUP, Group};

/// Marks a channel whose earlier texts are to be erased.
const MARK: &str = "UPDATE channels SET erase_earlier_texts = TRUE, earlier_texts_ended_at = 1";

fn job(group: &Group) -> EarlierTextErasure {
    let (store, clock) = (group.store.clone(), Arc::clone(&group.clock));
    EarlierTextErasure { store, clock }
}

/// Returns the channels whose earlier texts are still to be erased.
async fn marked(group: &Group) -> Vec<String> {
    let marked = group.store.channels().with_texts_to_erase().await.unwrap();
    marked.into_iter().map(|(channel, _)| channel.to_string()).collect()
}

#[tokio::test]
async fn a_channel_that_fails_holds_up_no_other() {
    let group = Group::new().await;
    group
        .sql(
            "INSERT INTO channels (channel_id, platform, bot, type, created_at)
             VALUES ('C0', 'line', '', 'group', 1)",
        )
        .await;
    group.sql(MARK).await;
    group
        .sql(
            "CREATE TRIGGER refuse BEFORE UPDATE ON channels WHEN OLD.channel_id = 'C0'
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .await;
    assert_eq!(marked(&group).await, ["C0", GROUP]);
    job(&group).run(&CancellationToken::new()).await.unwrap_err();
    assert_eq!(marked(&group).await, ["C0"]);
}

#[tokio::test]
async fn a_job_that_is_to_stop_leaves_channels_marked_also_where_it_finds_nothing() {
    let group = Group::new().await;
    group.sql(MARK).await;
    let stop = CancellationToken::new();
    stop.cancel();
    job(&group).run(&stop).await.unwrap();
    assert_eq!(marked(&group).await, [GROUP]);
    job(&group).run(&CancellationToken::new()).await.unwrap();
    assert!(marked(&group).await.is_empty());
}
