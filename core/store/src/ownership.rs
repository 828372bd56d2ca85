//! Ownership of channels by bots, which decides whose events about a channel count.
//!
//! Bots of one deployment do not trust each other: with one bot's secret nobody may change or read
//! what another bot stores. A group or room belongs to the bot that joined it last. Another bot
//! takes it over only by a join after its owner left, by event time; joins while the owner was in
//! are remembered, for the owner's leave may come late. The same joins and leaves end in the same
//! owner whatever their order of arrival.
//!
//! A 1:1 chat is between a person and one bot, and is never taken over. The plain id is the chat
//! with the bot that first received something of the person; the chat with any other bot is a
//! channel of its own ([`ChannelId::chat_with`]).

mod assign;
mod tenure;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chatkeep_core::event::{ChannelKind, ChannelRef, Event, EventKind};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::coverage::{CoverageChange, note};
use super::db::{Sql, Tx, locking};
use super::ingest::BulkKey;
use super::{ChannelStore, StoreError};
use crate::query::{query, query_as};
pub use assign::BotChannels;
use tenure::{Tenure, succession};

/// Standing of an event towards its channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts: its bot owns the channel, or owned it when the event was received.
    Own,
    /// It counts, for this channel: the bot's own chat with a person whose plain id is the chat
    /// with another bot.
    OwnChat(ChannelId),
    /// It does not count: the channel belongs to another bot.
    Foreign {
        /// Owning bot; empty when the channel is imported and belongs to none.
        owner: String,
        /// `true` if the bot joined after the owner did, so that the channel becomes its own once
        /// the owner turns out to have left.
        pending: bool,
    },
}

const OWNERS: &str = "
    SELECT channel_id, bot FROM channels
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1))";

const LOCK: Sql = locking!(
    "SELECT channel_id FROM channels
     WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1)) ORDER BY channel_id"
);

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

const MOVE: &str = "
    INSERT INTO channel_bots (channel_id, bot, joined_at, left_at)
    SELECT value ->> 'c', value ->> 'bot', CAST(value ->> 'joined' AS BIGINT),
           CAST(value ->> 'left' AS BIGINT)
    FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, bot) DO UPDATE SET
        joined_at = CASE WHEN excluded.joined_at > channel_bots.joined_at
                         THEN excluded.joined_at ELSE channel_bots.joined_at END,
        left_at = CASE WHEN excluded.left_at > channel_bots.left_at
                       THEN excluded.left_at ELSE channel_bots.left_at END";

const TENURES: &str = "
    SELECT channel_id, bot, joined_at, left_at, owned_until FROM channel_bots
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1)) ORDER BY channel_id, bot";

/// Ends a bot's ownership: events received until now still count.
const DEPOSE: &str = "
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

/// Channel seen for the first time, or a claim on one that belongs to no bot.
#[derive(Serialize)]
struct Opening<'a> {
    c: &'a str,
    platform: &'static str,
    bot: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    at: i64,
}

#[derive(Serialize)]
struct Move<'a> {
    c: &'a str,
    bot: &'a str,
    joined: i64,
    left: i64,
}

/// Owners of channels by channel id; empty text for none.
type Owners = HashMap<String, String>;

/// Known tenures of bots, by channel id.
type Tenures = HashMap<String, Vec<Tenure>>;

impl ChannelStore<'_> {
    /// Returns the standing of each event, in order; joins and leaves of bots are recorded, and
    /// unknown channels become their bot's. An imported channel, which belongs to no bot, becomes
    /// the bot's where `only_bot` says that no other is configured. Order and repetition do not
    /// matter.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is recorded then.
    pub async fn admit(
        self,
        events: &[&Event],
        only_bot: bool,
        now: Timestamp,
    ) -> Result<Vec<Standing>, StoreError> {
        let claims: Vec<Claim<'_>> =
            events.iter().filter_map(|event| Claim::of(event, only_bot)).collect();
        let keys = channel_keys_of(&claims)?;
        let rows: Vec<(String, String)> =
            self.store.db.fetch_all(query_as(OWNERS).bind(&keys)).await?;
        let mut owners: Owners = rows.into_iter().collect();
        if claims.iter().any(|claim| claim.changes(&owners)) {
            let mut tx = self.store.db.begin().await?;
            owners = settle(&mut tx, &claims, &keys, now).await?;
            tx.commit().await?;
        }
        let foreign = claims.iter().filter(|claim| !claim.owns(&owners)).map(Claim::id);
        let foreign = foreign.collect::<BTreeSet<_>>();
        let tenures = if foreign.is_empty() {
            Tenures::new()
        } else {
            let keys = json_keys(foreign)?;
            let rows = self.store.db.fetch_all(query_as(TENURES).bind(&keys)).await?;
            by_channel(rows)
        };
        Ok(events.iter().map(|event| standing(event, only_bot, &owners, &tenures)).collect())
    }
}

/// Event as a claim of its bot on its channel.
struct Claim<'a> {
    event: &'a Event,
    channel: &'a ChannelRef,
    /// Channel that it counts for while the plain id is another bot's chat.
    chat: Option<ChannelId>,
    /// `true` if it takes a channel that belongs to no bot.
    adopts: bool,
}

impl<'a> Claim<'a> {
    /// `None` for events without a channel, and for ids that no platform has.
    fn of(event: &'a Event, adopts: bool) -> Option<Self> {
        let channel = event.channel.as_ref().filter(|channel| channel.id.is_plain())?;
        let chat = channel.kind == ChannelKind::User;
        let chat = chat.then(|| channel.id.chat_with(&event.bot));
        Some(Self { event, channel, chat, adopts })
    }

    fn id(&self) -> &'a str {
        self.channel.id.as_str()
    }

    fn bot(&self) -> &'a str {
        &self.event.bot
    }

    /// Returns `true` for a join or leave of the bot that matters for ownership.
    fn moves(&self) -> bool {
        self.chat.is_none() && matches!(self.event.kind, EventKind::BotJoined | EventKind::BotLeft)
    }

    /// Returns the time of the event, but not after its receipt beyond the clock skew, so that
    /// nobody joins in advance.
    fn at(&self) -> i64 {
        let latest = self.event.received_at.plus(tenure::SKEW).millis();
        self.event.at.millis().clamp(1, latest.max(1))
    }

    /// Returns `true` if it may change the ownership.
    fn changes(&self, owners: &Owners) -> bool {
        let Some(owner) = owners.get(self.id()) else {
            return true;
        };
        let adopts = owner.is_empty() && self.adopts;
        let opens = self.chat.as_ref().is_some_and(|chat| {
            owner != self.bot() && !adopts && !owners.contains_key(chat.as_str())
        });
        adopts || opens || self.moves()
    }

    /// Returns `true` if the bot owns the channel now, or a chat beside it.
    fn owns(&self, owners: &Owners) -> bool {
        let owned = |id: &str| owners.get(id).is_some_and(|owner| owner == self.bot());
        owned(self.id()) || self.chat.as_ref().is_some_and(|chat| owned(chat.as_str()))
    }

    fn opening<'b>(&'b self, id: &'b str) -> Opening<'b> {
        let (platform, at) = (self.event.platform.name(), self.event.at.millis());
        Opening { c: id, platform, bot: self.bot(), kind: self.channel.kind.name(), at }
    }
}

fn standing(event: &Event, only_bot: bool, owners: &Owners, tenures: &Tenures) -> Standing {
    let Some(channel) = &event.channel else {
        return Standing::Own;
    };
    let Some(claim) = Claim::of(event, only_bot) else {
        return Standing::Foreign { owner: String::new(), pending: false };
    };
    let owner = owners.get(claim.id()).map(String::as_str).unwrap_or_default();
    if owner == event.bot {
        return Standing::Own;
    }
    if claim.owns(owners) {
        return claim.chat.map_or(Standing::Own, Standing::OwnChat);
    }
    let known = tenures.get(channel.id.as_str()).map(Vec::as_slice).unwrap_or_default();
    let of = |bot: &str| known.iter().find(|tenure| tenure.bot == bot);
    let own = of(&event.bot);
    if own.is_some_and(|own| event.received_at.millis() <= own.owned_until) {
        return Standing::Own;
    }
    let since = of(owner).map_or(0, |tenure| tenure.joined_at);
    let pending = own.is_some_and(|own| own.is_present() && own.joined_at > since);
    Standing::Foreign { owner: owner.to_owned(), pending }
}

/// Records the claims, and returns the owners after them.
async fn settle(
    tx: &mut Tx,
    claims: &[Claim<'_>],
    keys: &str,
    now: Timestamp,
) -> Result<Owners, StoreError> {
    let first = |claims: &[Claim<'_>]| -> Result<String, StoreError> {
        // One row per channel, in key order; the first claim wins.
        let mut rows = BTreeMap::new();
        for claim in claims {
            rows.entry(claim.id().to_owned()).or_insert_with(|| claim.opening(claim.id()));
        }
        Ok(serde_json::to_string(&rows.values().collect::<Vec<_>>())?)
    };
    tx.execute(query(OPEN).bind(first(claims)?)).await?;
    let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK).bind(keys)).await?;
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
async fn record_moves(tx: &mut Tx, claims: &[Claim<'_>], now: Timestamp) -> Result<(), StoreError> {
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

fn by_channel(rows: Vec<(String, String, i64, i64, i64)>) -> Tenures {
    let mut tenures = Tenures::new();
    for (channel, bot, joined_at, left_at, owned_until) in rows {
        tenures.entry(channel).or_default().push(Tenure { bot, joined_at, left_at, owned_until });
    }
    tenures
}

/// Encodes the channels of claims, and the chats beside them, as the JSON list that statements
/// read.
fn channel_keys_of(claims: &[Claim<'_>]) -> Result<String, StoreError> {
    let plain = claims.iter().map(Claim::id);
    let chats = claims.iter().filter_map(|claim| Some(claim.chat.as_ref()?.as_str()));
    json_keys(plain.chain(chats).collect())
}

fn json_keys(ids: BTreeSet<&str>) -> Result<String, StoreError> {
    let keys: Vec<_> = ids.into_iter().map(|c| BulkKey { c, m: None }).collect();
    Ok(serde_json::to_string(&keys)?)
}
