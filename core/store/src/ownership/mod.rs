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
mod claim;
mod settle;
mod tenure;

use std::collections::{BTreeSet, HashMap};

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::Event;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::ingest::BulkKey;
use super::{ChannelStore, StoreError};
use crate::query::query_as;
pub use assign::BotChannels;
use claim::{BotClaim, Owners};
use settle::settle;
use tenure::Tenure;

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

const TENURES: &str = "
    SELECT channel_id, bot, joined_at, left_at, owned_until FROM channel_bots
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1)) ORDER BY channel_id, bot";

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
    #[boxed]
    pub async fn admit(
        &self,
        events: &[&Event],
        only_bot: bool,
        now: Timestamp,
    ) -> Result<Vec<Standing>, StoreError> {
        let claims: Vec<BotClaim<'_>> =
            events.iter().filter_map(|event| BotClaim::of(event, only_bot)).collect();
        let keys = channel_keys_of(&claims)?;
        let rows: Vec<(String, String)> =
            self.store.db.fetch_all(query_as(OWNERS).bind(&keys)).await?;
        let mut owners: Owners = rows.into_iter().collect();
        if claims.iter().any(|claim| claim.changes(&owners)) {
            let mut tx = self.store.db.begin().await?;
            owners = settle(&mut tx, &claims, &keys, now).await?;
            tx.commit().await?;
        }
        let foreign = claims.iter().filter(|claim| !claim.owns(&owners)).map(BotClaim::id);
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

fn standing(event: &Event, only_bot: bool, owners: &Owners, tenures: &Tenures) -> Standing {
    let Some(channel) = &event.channel else {
        return Standing::Own;
    };
    let Some(claim) = BotClaim::of(event, only_bot) else {
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

fn by_channel(rows: Vec<(String, String, i64, i64, i64)>) -> Tenures {
    let mut tenures = Tenures::new();
    for (channel, bot, joined_at, left_at, owned_until) in rows {
        tenures.entry(channel).or_default().push(Tenure { bot, joined_at, left_at, owned_until });
    }
    tenures
}

/// Encodes the channels of claims, and the chats beside them, as the JSON list that statements
/// read.
fn channel_keys_of(claims: &[BotClaim<'_>]) -> Result<String, StoreError> {
    let plain = claims.iter().map(BotClaim::id);
    let chats = claims.iter().filter_map(|claim| Some(claim.chat.as_ref()?.as_str()));
    json_keys(plain.chain(chats).collect())
}

fn json_keys(ids: BTreeSet<&str>) -> Result<String, StoreError> {
    let keys: Vec<_> = ids.into_iter().map(|c| BulkKey { c, m: None }).collect();
    Ok(serde_json::to_string(&keys)?)
}
