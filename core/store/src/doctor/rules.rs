//! Checks the hit counters of rules against the replies claimed for them.

use chatkeep_core::id::ChannelId;

use super::super::StoreError;
use super::super::db::{Sql, Tx, locking};
use super::{Check, Difference};
use crate::query::{query, query_as};

const LOCK: Sql = locking!("SELECT rule_id FROM qa_rules WHERE channel_id = $1 ORDER BY rule_id");

/// A claim and its counted hit are one transaction; so are the deletion of old claims and the
/// counting of their hits as purged.
const HITS: &str = "
    SELECT q.rule_id, q.hit_count, q.suppressed_count,
           CAST(q.purged_hits + COALESCE(r.hits, 0) AS BIGINT) AS hits,
           CAST(q.purged_suppressed + COALESCE(r.suppressed, 0) AS BIGINT) AS suppressed
    FROM qa_rules q
    LEFT JOIN (SELECT rule_id, COUNT(*) AS hits,
                      SUM(CASE WHEN status = 'suppressed' THEN 1 ELSE 0 END) AS suppressed
               FROM replies WHERE channel_id = $1 AND rule_id IS NOT NULL
               GROUP BY rule_id) r ON r.rule_id = q.rule_id
    WHERE q.channel_id = $1
      AND (q.hit_count <> q.purged_hits + COALESCE(r.hits, 0)
           OR q.suppressed_count <> q.purged_suppressed + COALESCE(r.suppressed, 0))
    ORDER BY q.rule_id";

const SET: &str = "
    UPDATE qa_rules SET hit_count = $3, suppressed_count = $4
    WHERE channel_id = $1 AND rule_id = $2";

#[derive(Debug, sqlx_macros::FromRow)]
struct HitRow {
    rule_id: String,
    hit_count: i64,
    suppressed_count: i64,
    hits: i64,
    suppressed: i64,
}

/// Locks out claims of the channel's rules until the transaction ends.
pub(super) async fn lock(tx: &mut Tx, channel: &ChannelId) -> Result<(), StoreError> {
    let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK).bind(channel.as_str())).await?;
    Ok(())
}

pub(super) async fn audit(tx: &mut Tx, channel: &ChannelId) -> Result<Vec<Difference>, StoreError> {
    let words = |hits, suppressed| format!("{hits}, {suppressed} of them suppressed");
    let difference = |row: HitRow| {
        let place = format!("{channel} {}", row.rule_id);
        let recorded = words(row.hit_count, row.suppressed_count);
        Difference::new(Check::RuleHits, place, recorded, words(row.hits, row.suppressed))
    };
    Ok(wrong(tx, channel).await?.into_iter().map(difference).collect())
}

/// Repairs the hit counters; the rules have to be locked.
pub(super) async fn mend(tx: &mut Tx, channel: &ChannelId) -> Result<(), StoreError> {
    let c = channel.as_str();
    for row in wrong(tx, channel).await? {
        tx.execute(query(SET).bind(c).bind(&row.rule_id).bind(row.hits).bind(row.suppressed))
            .await?;
    }
    Ok(())
}

async fn wrong(tx: &mut Tx, channel: &ChannelId) -> Result<Vec<HitRow>, StoreError> {
    Ok(tx.fetch_all(query_as(HITS).bind(channel.as_str())).await?)
}
