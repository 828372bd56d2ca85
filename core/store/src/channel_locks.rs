//! Locks of channels, the only way to them: alone, for whoever changes what is stored or may be, and
//! shared, for new messages that are stored side by side.
//!
//! Rows alone would not do on PostgreSQL. A transaction that shares a row does not queue behind one
//! that waits to have it alone, which so waits for as long as there are others; and by waiting it
//! stops those who share nothing, for whom one that shares may wait: a deadlock although everybody
//! locks by key. So both kinds first take advisory locks, which are granted in their order. Their
//! number is small, because a server has room for some thousands at a time: channels share them by
//! their hash. Processes of earlier versions lock the rows alone, which keeps them right.
//!
//! SQLite has one writer at a time, and needs none of it.

use std::collections::BTreeSet;

use chatkeep_core::id::ChannelId;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::StoreError;
use super::channels::channel_keys;
use super::db::{Sql, Tx, TxConnection, locking};
use crate::query::query_as;

/// Number of advisory locks that the channels share.
const STRIPES: u8 = 128;

/// Builds the select of existing channels, with a lock.
macro_rules! channels {
    ($lock:literal) => {
        locking!(
            "SELECT channel_id FROM channels
             WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1)) ORDER BY channel_id",
            $lock
        )
    };
}

const ALONE: Sql = channels!(" FOR UPDATE");
const SHARED: Sql = channels!(" FOR KEY SHARE");
const COUNTERS: Sql = channels!(" FOR NO KEY UPDATE");

/// Builds the select that takes the advisory locks of stripes, in their order. Their class is any
/// number that nobody else is likely to use.
macro_rules! stripes {
    ($function:literal) => {
        concat!(
            "SELECT stripe
             FROM (SELECT CAST(value ->> 's' AS INTEGER) AS stripe FROM json_each($1)) list
             CROSS JOIN LATERAL ",
            $function,
            "(20260037, stripe)"
        )
    };
}

const TAKE_ALONE: &str = stripes!("pg_advisory_xact_lock");
const TAKE_SHARED: &str = stripes!("pg_advisory_xact_lock_shared");

#[derive(Serialize)]
struct Stripe {
    s: u8,
}

/// Locks those of these channels that exist until the end of the transaction, and returns them: nobody
/// else stores, changes or removes their messages, or subscribes, meanwhile. To be called before
/// a row of `channels` is written: whoever waits here with one would be in the way of those who share.
pub(super) async fn lock<'a>(
    tx: &mut Tx,
    channels: impl IntoIterator<Item = &'a ChannelId>,
) -> Result<Vec<ChannelId>, StoreError> {
    locked(tx, channels, (TAKE_ALONE, ALONE)).await
}

/// Locks a channel as [`lock`] does; `false` if there is none.
pub(super) async fn lock_one(tx: &mut Tx, channel: &ChannelId) -> Result<bool, StoreError> {
    Ok(!lock(tx, [channel]).await?.is_empty())
}

/// Keeps out whoever [`lock`]s these channels until the end of the transaction, but none who shares
/// them, too. Returns those that exist.
pub(super) async fn share<'a>(
    tx: &mut Tx,
    channels: impl IntoIterator<Item = &'a ChannelId>,
) -> Result<Vec<ChannelId>, StoreError> {
    locked(tx, channels, (TAKE_SHARED, SHARED)).await
}

/// Locks the counters of channels that are [`share`]d, or the names of channels. Returns those that
/// exist.
pub(super) async fn lock_counters<'a>(
    tx: &mut Tx,
    channels: impl IntoIterator<Item = &'a ChannelId>,
) -> Result<Vec<ChannelId>, StoreError> {
    rows(tx, &channels.into_iter().collect(), COUNTERS).await
}

async fn locked<'a>(
    tx: &mut Tx,
    channels: impl IntoIterator<Item = &'a ChannelId>,
    (take, of_rows): (&'static str, Sql),
) -> Result<Vec<ChannelId>, StoreError> {
    let channels: BTreeSet<_> = channels.into_iter().collect();
    if matches!(tx.held, TxConnection::Postgres(_)) && !channels.is_empty() {
        let stripes: BTreeSet<_> = channels.iter().map(|channel| stripe(channel)).collect();
        let stripes: Vec<_> = stripes.into_iter().map(|s| Stripe { s }).collect();
        let stripes = serde_json::to_string(&stripes)?;
        let _: Vec<(i32,)> = tx.fetch_all(query_as(take).bind(stripes)).await?;
    }
    rows(tx, &channels, of_rows).await
}

async fn rows(
    tx: &mut Tx,
    channels: &BTreeSet<&ChannelId>,
    of_rows: Sql,
) -> Result<Vec<ChannelId>, StoreError> {
    let keys = channel_keys(channels.iter().copied())?;
    let found: Vec<(String,)> = tx.fetch_all(query_as(of_rows).bind(keys)).await?;
    Ok(found.into_iter().map(|(id,)| ChannelId::new(id)).collect())
}

/// Returns the stripe of a channel, the same in every process and version.
fn stripe(channel: &ChannelId) -> u8 {
    Sha256::digest(channel.as_str())[0] % STRIPES
}

#[cfg(test)]
#[path = "channel_locks_edge_tests.rs"]
mod edge_tests;
