//! Recounts a channel's rows: its totals, and the part of them in each subscriber's baseline.

use chatkeep_core::id::{ChannelId, UserId};

use super::super::StoreError;
use super::super::db::Tx;
use crate::query::query_as;

/// Number of rows in one read.
const PAGE: i64 = 10_000;

/// Totals of a channel's rows.
#[derive(Debug, Default)]
pub(super) struct ChannelCounts {
    /// Number of message rows, tombstones included.
    pub(super) rows: i64,
    /// Number of messages that count.
    pub(super) messages: i64,
    /// Bytes of contents, earlier texts and stored files.
    pub(super) bytes: i64,
    /// Number of retracted messages that still have their content.
    pub(super) taken_back: i64,
    /// Part of each active subscriber, in order of subscription.
    pub(super) parts: Vec<ActiveSubscription>,
}

/// Active subscription.
#[derive(Debug)]
pub(super) struct ActiveSubscription {
    pub(super) user: UserId,
    since: i64,
    /// Recorded baseline in bytes.
    pub(super) recorded: i64,
    /// True baseline in bytes: content stored not after the subscription began that is still there.
    pub(super) truth: i64,
}

/// Row that counts for something.
#[derive(Debug, sqlx_macros::FromRow)]
struct Row {
    message_id: String,
    stored_at: Option<i64>,
    bytes: i64,
    counts: i64,
    taken_back: i64,
}

const PARTS: &str = "
    SELECT user_id, created_at, bytes_at_subscribe FROM subscriptions
    WHERE channel_id = $1 AND cancelled_at = 0 ORDER BY created_at, user_id";

const MESSAGES: &str = "
    SELECT message_id, backed_up_at AS stored_at,
           CAST(CASE WHEN sent_at IS NOT NULL AND unsent_at IS NULL
                     THEN COALESCE(OCTET_LENGTH(content), 0)
                          + COALESCE(OCTET_LENGTH(earlier_texts), 0)
                     ELSE 0 END AS BIGINT) AS bytes,
           CAST(CASE WHEN sent_at IS NOT NULL AND unsent_at IS NULL AND NOT skipped
                     THEN 1 ELSE 0 END AS BIGINT) AS counts,
           CAST(CASE WHEN unsent_at IS NOT NULL
                          AND (content IS NOT NULL OR earlier_texts IS NOT NULL)
                     THEN 1 ELSE 0 END AS BIGINT) AS taken_back
    FROM messages WHERE channel_id = $1 AND message_id > $2 ORDER BY message_id LIMIT $3";

const FILES: &str = "
    SELECT message_id, stored_at, bytes, CAST(0 AS BIGINT) AS counts,
           CAST(0 AS BIGINT) AS taken_back
    FROM media
    WHERE channel_id = $1 AND message_id > $2 AND status = 'stored'
    ORDER BY message_id LIMIT $3";

/// Recounts a channel.
pub(super) async fn recount(tx: &mut Tx, channel: &ChannelId) -> Result<ChannelCounts, StoreError> {
    let parts: Vec<(String, i64, i64)> =
        tx.fetch_all(query_as(PARTS).bind(channel.as_str())).await?;
    let part = |(user, since, recorded): (String, _, _)| ActiveSubscription {
        user: user.into(),
        since,
        recorded,
        truth: 0,
    };
    let mut count =
        ChannelCounts { parts: parts.into_iter().map(part).collect(), ..ChannelCounts::default() };
    // Bytes stored between two consecutive subscriptions; last: those after all of them.
    let mut shares = vec![0_i64; count.parts.len() + 1];
    count.rows = add(tx, channel, MESSAGES, &mut count, &mut shares).await?;
    add(tx, channel, FILES, &mut count, &mut shares).await?;
    let mut found = 0;
    for (part, share) in count.parts.iter_mut().zip(shares) {
        found += share;
        part.truth = found;
    }
    Ok(count)
}

/// Adds the rows of a table; returns their number.
async fn add(
    tx: &mut Tx,
    channel: &ChannelId,
    sql: &'static str,
    count: &mut ChannelCounts,
    shares: &mut [i64],
) -> Result<i64, StoreError> {
    let (mut after, mut read) = (String::new(), 0);
    loop {
        let rows: Vec<Row> =
            tx.fetch_all(query_as(sql).bind(channel.as_str()).bind(&after).bind(PAGE)).await?;
        let Some(last) = rows.last() else {
            return Ok(read);
        };
        after.clone_from(&last.message_id);
        read += i64::try_from(rows.len()).unwrap_or(i64::MAX);
        for row in rows {
            count.bytes += row.bytes;
            count.messages += row.counts;
            count.taken_back += row.taken_back;
            // Content without a recorded storing time is in nobody's baseline.
            let stored_at = row.stored_at.unwrap_or(i64::MAX);
            shares[count.parts.partition_point(|part| part.since < stored_at)] += row.bytes;
        }
    }
}
