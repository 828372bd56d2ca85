//! Digests of more channels than are counted or examined.

use std::sync::Arc;

use chatkeep_core::id::ChannelId;

use super::super::access::ReadMessages;
use super::super::digest::{ChannelDigest, DigestService};
use super::{Group, OWNER, caller};

/// An hour with a message in each of 60 channels.
const WRITTEN: &str = "
    INSERT INTO activity_counters (channel_id, counter, at, item, messages)
    WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 59)
    SELECT 'Cwritten' || x, 'hour', 0, '', 1 FROM n";

/// Returns the digest of the last day of so many channels with a message, behind others without.
async fn digest(group: &Group, silent: usize, written: usize) -> ChannelDigest {
    let digests = DigestService::new(group.store.clone(), Arc::clone(&group.clock));
    let access = group.access.scoped::<ReadMessages>(caller(OWNER)).unwrap();
    let silent = (0..silent).map(|n| ChannelId::from(format!("Csilent{n}")));
    let written = (0..written).map(|n| ChannelId::from(format!("Cwritten{n}")));
    let channels: Vec<_> = silent.chain(written).collect();
    digests.of(&access, &channels, digests.days_ago(1)).await.unwrap()
}

#[tokio::test]
async fn what_is_not_examined_or_counted_is_told() {
    let group = Group::new().await;
    group.sql(WRITTEN).await;
    for ((silent, written), expected) in [
        ((0, 50), (50, 0, 0, 0)),
        ((30, 50), (50, 30, 0, 0)),
        ((0, 53), (53, 3, 3, 0)),
        ((990, 10), (10, 950, 0, 0)),
        // The first thousand are counted.
        ((990, 13), (10, 950, 0, 3)),
    ] {
        let digest = digest(&group, silent, written).await;
        let ChannelDigest { channels, unexamined, unexamined_messages, uncounted, .. } = digest;
        let found = (channels.len(), unexamined, unexamined_messages, uncounted);
        assert_eq!(found, expected, "{silent} {written}");
    }
}
