//! Recording of claims: new channels, joins and leaves of bots, and the resulting owners.

use std::collections::BTreeMap;

use chatkeep_core::event::EventKind;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::claim::{BotClaim, Owners};
use super::tenure::{Tenure, succession};
use super::{OWNERS, TENURES, by_channel, json_keys};
use crate::coverage::{CoverageChange, note};
use crate::db::Tx;
use crate::query::{query, query_as};
use crate::{StoreError, channel_locks};

const OPEN: &str = "
    INSERT INTO channels (channel_id, platform, bot, type, created_at)
    SELECT value ->> 'c', value ->> 'platform', value ->> 'bot', value ->> 'type',
           CAST(value ->> 'at' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id) DO NOTHING";

const ADOPT: &str = "
    UPDATE channels SET bot = a.bot
    FROM (SELECT value ->> 'c' AS id, value ->> 'bot' AS bot FROM json_each($1)) a
    WHERE channels.channel_id = a.id AND channels.bot = ''";

pub(super) const MOVE: &str = "
    INSERT INTO channel_bots (channel_id, bot, joined_at, left_at)
    SELECT value ->> 'c', value ->> 'bot', CAST(value ->> 'joined' AS BIGINT),
           CAST(value ->> 'left' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, bot) DO UPDATE SET
        joined_at = CASE WHEN excluded.joined_at > channel_bots.joined_at
                         THEN excluded.joined_at ELSE channel_bots.joined_at END,
        left_at = CASE WHEN excluded.left_at > channel_bots.left_at
                       THEN excluded.left_at ELSE channel_bots.left_at END";

/// Ends a bot's ownership: events received until now still count.
pub(super) const DEPOSE: &str = "
    INSERT INTO channel_bots (channel_id, bot, owned_until) VALUES ($1, $2, $3)
    ON CONFLICT (channel_id, bot) DO UPDATE SET owned_until =
        CASE WHEN excluded.owned_until > channel_bots.owned_until
             THEN excluded.owned_until ELSE channel_bots.owned_until END";

/// Events from before its bot owned the channel were not merged into it.
const SUCCEED: &str = "
    UPDATE channels SET bot = $2,
        enabled_at = CASE WHEN $3 > enabled_at THEN $3 ELSE enabled_at END,
        disabled_at = CASE WHEN $4 > disabled_at THEN $4 ELSE disabled_at END
    WHERE channel_id = $1";

/// Last join and leave of a bot.
#[derive(Serialize)]
pub(super) struct Move<'a> {
    pub(super) c: &'a str,
    pub(super) bot: &'a str,
    pub(super) joined: i64,
    pub(super) left: i64,
}

/// Records the claims, and returns the owners after them.
pub(super) async fn settle(
    tx: &mut Tx,
    claims: &[BotClaim<'_>],
    keys: &str,
    now: Timestamp,
) -> Result<Owners, StoreError> {
    let first = |claims: &[BotClaim<'_>]| -> Result<String, StoreError> {
        // One row per channel, in key order; the first claim wins.
        let mut rows = BTreeMap::new();
        for claim in claims {
            rows.entry(claim.id().to_owned()).or_insert_with(|| claim.opening(claim.id()));
        }
        Ok(serde_json::to_string(&rows.values().collect::<Vec<_>>())?)
    };
    let chats = claims.iter().filter_map(|claim| claim.chat.clone());
    let channels = claims.iter().map(|claim| ChannelId::from(claim.id())).chain(chats);
    let channels: Vec<_> = channels.collect();
    // Before a row is written, and again for the rows that somebody else adds meanwhile.
    channel_locks::lock(tx, &channels).await?;
    tx.execute(query(OPEN).bind(first(claims)?)).await?;
    channel_locks::lock(tx, &channels).await?;
    if claims.iter().any(|claim| claim.adopts) {
        tx.execute(query(ADOPT).bind(first(claims)?)).await?;
    }
    record_moves(tx, claims, now).await?;
    let rows: Vec<(String, String)> = tx.fetch_all(query_as(OWNERS).bind(keys)).await?;
    let owners: Owners = rows.into_iter().collect();
    let chats: BTreeMap<_, _> = claims
        .iter()
        .filter(|claim| !claim.owns(&owners))
        .filter_map(|claim| Some((claim.chat.as_ref()?.as_str(), claim)))
        .collect();
    if chats.is_empty() {
        return Ok(owners);
    }
    let chats: Vec<_> = chats.into_iter().map(|(id, claim)| claim.opening(id)).collect();
    tx.execute(query(OPEN).bind(serde_json::to_string(&chats)?)).await?;
    let rows: Vec<(String, String)> = tx.fetch_all(query_as(OWNERS).bind(keys)).await?;
    Ok(rows.into_iter().collect())
}

/// Records joins and leaves of bots, and the resulting owners of their channels.
async fn record_moves(
    tx: &mut Tx,
    claims: &[BotClaim<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut moves = BTreeMap::new();
    for claim in claims.iter().filter(|claim| claim.moves()) {
        let (c, bot) = (claim.id(), claim.bot());
        let row = moves.entry((c, bot)).or_insert(Move { c, bot, joined: 0, left: 0 });
        let time = if matches!(claim.event.kind, EventKind::BotJoined) {
            &mut row.joined
        } else {
            &mut row.left
        };
        *time = claim.at().max(*time);
    }
    if moves.is_empty() {
        return Ok(());
    }
    let channels = json_keys(moves.keys().map(|(channel, _)| *channel).collect())?;
    let rows = serde_json::to_string(&moves.values().collect::<Vec<_>>())?;
    tx.execute(query(MOVE).bind(&rows)).await?;
    let owners: Vec<(String, String)> = tx.fetch_all(query_as(OWNERS).bind(&channels)).await?;
    let rows = tx.fetch_all(query_as(TENURES).bind(&channels)).await?;
    let tenures = by_channel(rows);
    // Everything in this batch was received while its bot still owned the channel.
    let received = claims.iter().map(|claim| claim.event.received_at).max();
    let until = received.map_or(now, |received| received.max(now));
    for (channel, owner) in owners {
        let known = tenures.get(&channel).map(Vec::as_slice).unwrap_or_default();
        succeed(tx, &channel.as_str().into(), &succession(&owner, known), until).await?;
    }
    Ok(())
}

/// Passes a channel from the first of `owners` to the last.
async fn succeed(
    tx: &mut Tx,
    channel: &ChannelId,
    owners: &[Tenure],
    until: Timestamp,
) -> Result<(), StoreError> {
    let c = channel.as_str();
    let Some((owner, deposed)) = owners.split_last().filter(|(_, before)| !before.is_empty())
    else {
        return Ok(());
    };
    for before in deposed {
        tx.execute(query(DEPOSE).bind(c).bind(&before.bot).bind(until.millis())).await?;
    }
    let (joined, left) = (owner.joined_at, owner.left_at);
    tx.execute(query(SUCCEED).bind(c).bind(&owner.bot).bind(joined).bind(left)).await?;
    note(tx, channel, Timestamp::from_millis(joined), CoverageChange::BotJoined).await?;
    if !owner.is_present() {
        note(tx, channel, Timestamp::from_millis(left), CoverageChange::BotLeft).await?;
    }
    tracing::info!(channel = c, bot = owner.bot, "a channel has a new owning bot");
    Ok(())
}
