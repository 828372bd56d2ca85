//! Presence evidence from events about people and channels, merged so that late, repeated and
//! disordered events change nothing that is newer.

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelRef, PlatformKind};
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::db::Tx;
use super::member_moves::{PresenceMove, new_moves};
use super::members::UserKey;
use super::opt_outs::OptOuts;
use super::outbox_log::log;
use super::presence::note_bots;
use super::{MemberStore, StoreError};
use crate::query::query;

/// Piece of presence evidence from an event.
#[derive(Clone, Debug)]
pub struct PresenceEvidence {
    /// Channel.
    pub channel: ChannelRef,
    /// Platform.
    pub platform: PlatformKind,
    /// Bot that received the event, which an unknown channel then belongs to; empty for none, as
    /// where a channel is imported. Evidence counts whichever bot it is from:
    /// [`ChannelStore::admit`](crate::ChannelStore::admit) decides what to record.
    pub bot: String,
    /// Time of the event, by the platform's clock.
    pub at: Timestamp,
    /// Kind of the evidence.
    pub kind: PresenceEvidenceKind,
}

/// Kind of presence evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresenceEvidenceKind {
    /// The channel exists.
    Channel,
    /// The bot joined.
    BotJoined,
    /// The bot left.
    BotLeft,
    /// This person is present (they did something).
    Present(UserId),
    /// This person joined.
    Joined(UserId),
    /// This person left.
    Left(UserId),
}

/// The time at which a channel became known is set once, however old later events are.
const SAVE_CHANNELS: &str = "
    INSERT INTO channels (channel_id, platform, bot, type, created_at, enabled_at, disabled_at)
    SELECT value ->> 'c', value ->> 'platform', value ->> 'bot', value ->> 'type',
           CAST(value ->> 'first' AS BIGINT), CAST(value ->> 'on' AS BIGINT),
           CAST(value ->> 'off' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id) DO UPDATE SET
        enabled_at = CASE WHEN excluded.enabled_at > channels.enabled_at
                          THEN excluded.enabled_at ELSE channels.enabled_at END,
        disabled_at = CASE WHEN excluded.disabled_at > channels.disabled_at
                           THEN excluded.disabled_at ELSE channels.disabled_at END
    WHERE excluded.enabled_at > channels.enabled_at
       OR excluded.disabled_at > channels.disabled_at";

const SAVE_USERS: &str = "
    INSERT INTO users (user_id, created_at)
    SELECT value ->> 'u', CAST($2 AS BIGINT) FROM json_each($1) WHERE TRUE
    ON CONFLICT (user_id) DO NOTHING";

const SAVE_MEMBERS: &str = "
    INSERT INTO members (channel_id, user_id, first_seen_at, last_seen_at, joined_at, left_at)
    SELECT value ->> 'c', value ->> 'u', CAST(value ->> 'first' AS BIGINT),
           CAST(value ->> 'seen' AS BIGINT), CAST(value ->> 'on' AS BIGINT),
           CAST(value ->> 'off' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, user_id) DO UPDATE SET
        first_seen_at = CASE WHEN excluded.first_seen_at < members.first_seen_at
                             THEN excluded.first_seen_at ELSE members.first_seen_at END,
        last_seen_at = CASE WHEN excluded.last_seen_at > members.last_seen_at
                            THEN excluded.last_seen_at ELSE members.last_seen_at END,
        joined_at = CASE WHEN excluded.joined_at > members.joined_at
                         THEN excluded.joined_at ELSE members.joined_at END,
        left_at = CASE WHEN excluded.left_at > members.left_at
                       THEN excluded.left_at ELSE members.left_at END
    WHERE excluded.first_seen_at < members.first_seen_at
       OR excluded.last_seen_at > members.last_seen_at
       OR excluded.joined_at > members.joined_at OR excluded.left_at > members.left_at";

#[derive(Serialize)]
struct ChannelEvidence<'a> {
    c: &'a str,
    platform: &'static str,
    bot: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    first: i64,
    on: i64,
    off: i64,
}

#[derive(Serialize)]
struct MemberEvidence<'a> {
    c: &'a str,
    u: &'a str,
    first: i64,
    seen: i64,
    on: i64,
    off: i64,
}

impl MemberStore<'_> {
    /// Merges a batch of evidence into channels and members. Order and repetition do not matter.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is stored then.
    #[boxed]
    pub async fn record_presence(
        &self,
        evidence: &[PresenceEvidence],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if evidence.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.db.begin_bulk().await?;
        record_presence_in(&mut tx, evidence, now).await?;
        tx.commit().await
    }
}

/// The body of [`MemberStore::record_presence`](crate::MemberStore::record_presence), for use
/// inside a larger transaction.
pub(super) async fn record_presence_in(
    tx: &mut Tx,
    evidence: &[PresenceEvidence],
    now: Timestamp,
) -> Result<(), StoreError> {
    if evidence.is_empty() {
        return Ok(());
    }
    let (channels, members) = merged(evidence);
    let rows = serde_json::to_string(&channels.into_values().collect::<Vec<_>>())?;
    tx.execute(query(SAVE_CHANNELS).bind(&rows)).await?;
    save_members(tx, evidence, members, now).await?;
    note_bots(tx, evidence).await
}

async fn save_members(
    tx: &mut Tx,
    evidence: &[PresenceEvidence],
    members: BTreeMap<(&str, &str), MemberEvidence<'_>>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if members.is_empty() {
        return Ok(());
    }
    let users: BTreeSet<_> = members.keys().map(|(_, u)| *u).collect();
    let users: Vec<_> = users.into_iter().map(|u| UserKey { u }).collect();
    let rows = serde_json::to_string(&users)?;
    tx.execute(query(SAVE_USERS).bind(&rows).bind(now.millis())).await?;
    log_moves(tx, evidence, now).await?;
    let rows = serde_json::to_string(&members.into_values().collect::<Vec<_>>())?;
    tx.execute(query(SAVE_MEMBERS).bind(&rows)).await?;
    Ok(())
}

/// Logs the joins and leaves that have no event yet.
async fn log_moves(
    tx: &mut Tx,
    evidence: &[PresenceEvidence],
    now: Timestamp,
) -> Result<(), StoreError> {
    let moves = new_moves(tx, evidence).await?;
    let people: BTreeSet<_> = moves.iter().map(|one| UserId::from(one.u)).collect();
    let opt_outs = OptOuts::load(tx, &people).await?;
    // No event reports what people do who opted out.
    let is_reported = |one: &&PresenceMove<'_>| {
        !opt_outs.refuse(&one.c.into(), &one.u.into(), Timestamp::from_millis(one.at))
    };
    let events: Vec<_> = moves.iter().filter(is_reported).map(PresenceMove::event).collect();
    log(tx, &events, now).await
}

type Merged<'a> =
    (BTreeMap<&'a str, ChannelEvidence<'a>>, BTreeMap<(&'a str, &'a str), MemberEvidence<'a>>);

/// Merges into one row per channel and one per member, in key order: a statement may touch a row
/// only once, and every process locks in the same order.
fn merged(evidence: &[PresenceEvidence]) -> Merged<'_> {
    let (mut channels, mut members) = (BTreeMap::new(), BTreeMap::new());
    for item in evidence {
        let (id, at) = (item.channel.id.as_str(), item.at.millis());
        let channel = channels.entry(id).or_insert(ChannelEvidence {
            c: id,
            platform: item.platform.name(),
            bot: &item.bot,
            kind: item.channel.kind.name(),
            first: at,
            on: 0,
            off: 0,
        });
        channel.first = channel.first.min(at);
        match &item.kind {
            PresenceEvidenceKind::BotJoined => channel.on = channel.on.max(at),
            PresenceEvidenceKind::BotLeft => channel.off = channel.off.max(at),
            _ => {}
        }
        let (PresenceEvidenceKind::Present(user)
        | PresenceEvidenceKind::Joined(user)
        | PresenceEvidenceKind::Left(user)) = &item.kind
        else {
            continue;
        };
        let empty = MemberEvidence { c: id, u: user.as_str(), first: at, seen: 0, on: 0, off: 0 };
        let member = members.entry((id, user.as_str())).or_insert(empty);
        member.first = member.first.min(at);
        match &item.kind {
            PresenceEvidenceKind::Joined(_) => member.on = member.on.max(at),
            PresenceEvidenceKind::Left(_) => member.off = member.off.max(at),
            _ => member.seen = member.seen.max(at),
        }
    }
    (channels, members)
}

#[cfg(test)]
#[path = "presence_evidence_edge_tests.rs"]
mod edge_tests;
