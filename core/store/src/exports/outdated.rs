//! Parts of exports that are out of date: one of their messages was changed or removed. Their files
//! are deleted as those of unsent messages are, and they are written anew.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::media::{mark, names};
use super::rows::{AFFECTED, LAST_PARTS, OUTDATE, OutdatedRow, REOPEN};
use crate::query::{query, query_as};

/// Times of sending of changed messages of a channel: element of the JSON list of [`AFFECTED`].
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
/// that reads what the messages were before.
pub(crate) async fn outdate_exports<'a>(
    tx: &mut Tx,
    changed: impl Iterator<Item = (&'a ChannelId, Timestamp)>,
) -> Result<(), StoreError> {
    let mut times: BTreeMap<&str, ChangedTimes<'_>> = BTreeMap::new();
    for (channel, at) in changed {
        let (c, at) = (channel.as_str(), at.millis());
        let channel = times.entry(c).or_insert(ChangedTimes { c, f: at, t: at });
        (channel.f, channel.t) = (channel.f.min(at), channel.t.max(at));
    }
    if times.is_empty() {
        return Ok(());
    }
    let times = serde_json::to_string(&times.into_values().collect::<Vec<_>>())?;
    let mut parts: Vec<OutdatedRow> = tx.fetch_all(query_as(AFFECTED).bind(&times)).await?;
    if parts.is_empty() {
        return Ok(());
    }
    let exports: BTreeSet<_> = parts.iter().map(|part| part.export_id.clone()).collect();
    let exports: Vec<_> = exports.iter().map(|e| PartKey { e, p: 0 }).collect();
    let exports = serde_json::to_string(&exports)?;
    let last: Vec<OutdatedRow> = tx.fetch_all(query_as(LAST_PARTS).bind(&exports)).await?;
    parts.extend(last);
    outdate(tx, &parts).await?;
    tx.execute(query(REOPEN).bind(&exports)).await?;
    Ok(())
}

/// Takes parts out of date and gives up their files.
async fn outdate(tx: &mut Tx, parts: &[OutdatedRow]) -> Result<(), StoreError> {
    let keys: Vec<_> = parts.iter().map(|row| PartKey { e: &row.export_id, p: row.part }).collect();
    let keys = serde_json::to_string(&keys)?;
    tx.execute(query(OUTDATE).bind(&keys)).await?;
    release_files(tx, parts).await
}

/// Marks the files of parts that no longer refer to them.
pub(super) async fn release_files(tx: &mut Tx, parts: &[OutdatedRow]) -> Result<(), StoreError> {
    let blobs: BTreeSet<_> = parts.iter().filter_map(|row| row.sha256.as_deref()).collect();
    if blobs.is_empty() {
        return Ok(());
    }
    mark(tx, &names(blobs)?).await
}
