//! Changes of messages that exports may contain. Whoever changes or removes a message notes that alone,
//! in its transaction, however many exports there are: from then on the parts that may contain the
//! message are out of date, and nobody reads them. A worker finds them, gives up their files, which are
//! deleted as those of unsent messages are, and has them written again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::db::Tx;
use super::super::media::{mark, names};
use super::super::{ExportStore, StoreError};
use super::part_rows::{
    ADD_CHANGES, CHANGED_CHANNEL, CHANGES, ChangeRow, FORGET_CHANGES, HAS_CHANGES, OUTDATE,
    OUTDATED, OUTDATED_OF, PartFileRow,
};
use super::rows::REOPEN;
use crate::query::{query, query_as};

/// Time after a change for which a completed export waits for others, before it is written again.
const SETTLING: Duration = Duration::from_secs(10);
/// Maximum number of rows for the changes of a channel in one transaction: the times of more are joined
/// to ranges.
const RANGES: usize = 50;
/// Maximum number of changes that are applied at once.
const CHANGES_AT_ONCE: i64 = 500;
/// Maximum number of parts that are taken out of date at once.
const PARTS_AT_ONCE: i64 = 200;

/// First and last time of sending of changed messages of a channel: element of the JSON list of
/// [`ADD_CHANGES`].
#[derive(Debug, PartialEq, Eq, Serialize)]
struct ChangedTimes<'a> {
    c: &'a str,
    f: i64,
    t: i64,
}

/// Element of the JSON lists of exports and parts.
#[derive(Serialize)]
pub(super) struct PartKey<'a> {
    pub(super) e: &'a str,
    pub(super) p: i64,
}

/// Element of the JSON list of changes.
#[derive(Serialize)]
struct ChangeKey {
    n: i64,
}

/// Takes the parts of exports out of date that may contain one of these messages, given by their
/// channels and times of sending. The caller has locked the channels, so no part is begun meanwhile
/// that reads what the messages were before.
pub(crate) async fn outdate_exports<'a>(
    tx: &mut Tx,
    changed: impl Iterator<Item = (&'a ChannelId, Timestamp)>,
) -> Result<(), StoreError> {
    let mut times: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for (channel, at) in changed {
        times.entry(channel.as_str()).or_default().insert(at.millis());
    }
    let ranges: Vec<_> = times.iter().flat_map(|(c, times)| ranges(c, times)).collect();
    note(tx, &ranges).await
}

/// Takes all parts of the exports of a channel out of date. The caller has locked the channel.
pub(crate) async fn outdate_all_exports(
    tx: &mut Tx,
    channel: &ChannelId,
) -> Result<(), StoreError> {
    note(tx, &[ChangedTimes { c: channel.as_str(), f: i64::MIN, t: i64::MAX }]).await
}

/// Returns ranges of times, as many as there may be, that have these times.
fn ranges<'a>(channel: &'a str, times: &BTreeSet<i64>) -> Vec<ChangedTimes<'a>> {
    let times: Vec<_> = times.iter().copied().collect();
    let chunks = times.chunks(times.len().div_ceil(RANGES).max(1));
    let range =
        |chunk: &[i64]| Some(ChangedTimes { c: channel, f: *chunk.first()?, t: *chunk.last()? });
    chunks.filter_map(range).collect()
}

async fn note(tx: &mut Tx, changed: &[ChangedTimes<'_>]) -> Result<(), StoreError> {
    if changed.is_empty() {
        return Ok(());
    }
    let changed = serde_json::to_string(changed)?;
    tx.execute(query(ADD_CHANGES).bind(&changed)).await?;
    Ok(())
}

impl ExportStore<'_> {
    /// Gives up files of parts that are out of date, and has these parts written again: a batch of
    /// them, of one channel. Returns `true` if there was one; others may be left then.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn apply_export_changes(&self, now: Timestamp) -> Result<bool, StoreError> {
        let (waiting,): (i64,) = self.store.db.fetch_one(query_as(HAS_CHANGES)).await?;
        if waiting == 0 {
            return Ok(false);
        }
        let mut tx = self.store.db.begin_bulk().await?;
        let channel: Option<(String,)> = tx.fetch_optional(query_as(CHANGED_CHANNEL)).await?;
        let Some((channel,)) = channel else {
            return Ok(false);
        };
        let changes = query_as(CHANGES).bind(&channel).bind(CHANGES_AT_ONCE);
        let changes: Vec<ChangeRow> = tx.fetch_all(changes).await?;
        let first = changes.iter().map(|change| change.first_at).min();
        let last = changes.iter().map(|change| change.last_at).max();
        let outdated = query_as(OUTDATED)
            .bind(&channel)
            .bind(first.unwrap_or(i64::MIN))
            .bind(last.unwrap_or(i64::MAX))
            .bind(PARTS_AT_ONCE);
        let outdated: Vec<PartFileRow> = tx.fetch_all(outdated).await?;
        outdate(&mut tx, &outdated, now.plus(SETTLING)).await?;
        if i64::try_from(outdated.len()).is_ok_and(|count| count < PARTS_AT_ONCE) {
            let keys: Vec<_> =
                changes.iter().map(|change| ChangeKey { n: change.change_no }).collect();
            let keys = serde_json::to_string(&keys)?;
            tx.execute(query(FORGET_CHANGES).bind(&keys)).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

/// Takes the parts of an export out of date that are so by changes which no worker has applied yet.
pub(super) async fn outdate_own(
    tx: &mut Tx,
    export: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let outdated: Vec<PartFileRow> = tx.fetch_all(query_as(OUTDATED_OF).bind(export)).await?;
    outdate(tx, &outdated, now.plus(SETTLING)).await
}

/// Takes parts out of date and gives up their files. Completed exports are written again from `next`
/// on.
pub(super) async fn outdate(
    tx: &mut Tx,
    parts: &[PartFileRow],
    next: Timestamp,
) -> Result<(), StoreError> {
    if parts.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = parts.iter().map(|row| PartKey { e: &row.export_id, p: row.part }).collect();
    let keys = serde_json::to_string(&keys)?;
    tx.execute(query(OUTDATE).bind(&keys)).await?;
    release_files(tx, parts).await?;
    tx.execute(query(REOPEN).bind(&keys).bind(next.millis())).await?;
    Ok(())
}

/// Marks the files of parts that no longer refer to them.
pub(super) async fn release_files(tx: &mut Tx, parts: &[PartFileRow]) -> Result<(), StoreError> {
    let blobs: BTreeSet<_> = parts.iter().filter_map(|row| row.sha256.as_deref()).collect();
    if blobs.is_empty() {
        return Ok(());
    }
    mark(tx, &names(blobs)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_are_noted_one_by_one_and_many_as_ranges() {
        let few = ranges("C1", &BTreeSet::from([3, 900]));
        assert_eq!(few, [3, 900].map(|at| ChangedTimes { c: "C1", f: at, t: at }));
        let many: BTreeSet<i64> = (0..2_001).collect();
        let many = ranges("C1", &many);
        assert!(many.len() <= RANGES, "{}", many.len());
        let covered: i64 = many.iter().map(|range| range.t - range.f + 1).sum();
        assert_eq!((covered, many[0].f), (2_001, 0));
        assert!(ranges("C1", &BTreeSet::new()).is_empty());
    }
}
