//! Parts of exports that are out of date: one of their messages was changed or removed. Their files
//! are deleted as those of unsent messages are, and they are written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::media::{mark, names};
use super::rows::{AFFECTED, OUTDATE, PartFileRow, REOPEN, SpanRow};
use crate::query::{query, query_as};

/// Time after a change for which a completed export waits for others, before it is written again.
const SETTLING: Duration = Duration::from_secs(10);

/// First and last time of sending of changed messages of a channel: element of the JSON list of
/// [`AFFECTED`].
#[derive(Serialize)]
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

/// Takes the parts of exports out of date that may contain one of these messages, given by their
/// channels and times of sending. The caller has locked the channels, so no part is begun meanwhile
/// that reads what the messages were before. To be called before marks of blobs are locked.
pub(crate) async fn outdate_exports<'a>(
    tx: &mut Tx,
    changed: impl Iterator<Item = (&'a ChannelId, Timestamp)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut times: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for (channel, at) in changed {
        times.entry(channel.as_str()).or_default().insert(at.millis());
    }
    let spans = times
        .iter()
        .filter_map(|(c, times)| Some(ChangedTimes { c, f: *times.first()?, t: *times.last()? }));
    let spans: Vec<_> = spans.collect();
    if spans.is_empty() {
        return Ok(());
    }
    let mut parts = affected(tx, &spans).await?;
    parts.retain(|part| {
        let first = part.after_at.unwrap_or(i64::MIN);
        let within = |times: &BTreeSet<i64>| times.range(first..=part.last_at).next().is_some();
        times.get(part.channel_id.as_str()).is_some_and(within)
    });
    let parts: Vec<_> = parts.into_iter().map(PartFileRow::from).collect();
    outdate(tx, &parts, now.plus(SETTLING)).await
}

/// Takes all parts of the exports of a channel out of date. The caller has locked the channel.
pub(crate) async fn outdate_all_exports(
    tx: &mut Tx,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let all = ChangedTimes { c: channel.as_str(), f: i64::MIN, t: i64::MAX };
    let parts = affected(tx, &[all]).await?;
    let parts: Vec<_> = parts.into_iter().map(PartFileRow::from).collect();
    outdate(tx, &parts, now.plus(SETTLING)).await
}

/// Returns the parts that may contain messages of these times, and locks them.
async fn affected(tx: &mut Tx, times: &[ChangedTimes<'_>]) -> Result<Vec<SpanRow>, StoreError> {
    let times = serde_json::to_string(times)?;
    Ok(tx.fetch_all(query_as(AFFECTED).bind(&times)).await?)
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

impl From<SpanRow> for PartFileRow {
    fn from(row: SpanRow) -> Self {
        Self { export_id: row.export_id, part: row.part, sha256: row.sha256 }
    }
}
