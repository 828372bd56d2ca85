//! Claims: events as claims of their bots on their channels.

use std::collections::HashMap;

use chatkeep_core::event::{ChannelKind, ChannelRef, Event, EventKind};
use chatkeep_core::id::ChannelId;
use serde::Serialize;

use super::tenure;

/// Channel seen for the first time, or a claim on one that belongs to no bot.
#[derive(Serialize)]
pub(super) struct Opening<'a> {
    c: &'a str,
    platform: &'static str,
    bot: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    at: i64,
}

/// Owners of channels by channel id; empty text for none.
pub(super) type Owners = HashMap<String, String>;

/// Event as a claim of its bot on its channel.
pub(super) struct BotClaim<'a> {
    pub(super) event: &'a Event,
    pub(super) channel: &'a ChannelRef,
    /// Channel that it counts for while the plain id is another bot's chat.
    pub(super) chat: Option<ChannelId>,
    /// `true` if it takes a channel that belongs to no bot.
    pub(super) adopts: bool,
}

impl<'a> BotClaim<'a> {
    /// `None` for events without a channel, and for ids that no platform has.
    pub(super) fn of(event: &'a Event, adopts: bool) -> Option<Self> {
        let channel = event.channel.as_ref().filter(|channel| channel.id.is_plain())?;
        let chat = channel.kind == ChannelKind::User;
        let chat = chat.then(|| channel.id.chat_with(&event.bot));
        Some(Self { event, channel, chat, adopts })
    }

    pub(super) fn id(&self) -> &'a str {
        self.channel.id.as_str()
    }

    pub(super) fn bot(&self) -> &'a str {
        &self.event.bot
    }

    /// Returns `true` for a join or leave of the bot that matters for ownership.
    pub(super) fn moves(&self) -> bool {
        self.chat.is_none() && matches!(self.event.kind, EventKind::BotJoined | EventKind::BotLeft)
    }

    /// Returns the time of the event, but not after its receipt beyond the clock skew, so that
    /// nobody joins in advance.
    pub(super) fn at(&self) -> i64 {
        let latest = self.event.received_at.plus(tenure::SKEW).millis();
        self.event.at.millis().clamp(1, latest.max(1))
    }

    /// Returns `true` if it may change the ownership.
    pub(super) fn changes(&self, owners: &Owners) -> bool {
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
    pub(super) fn owns(&self, owners: &Owners) -> bool {
        let owned = |id: &str| owners.get(id).is_some_and(|owner| owner == self.bot());
        owned(self.id()) || self.chat.as_ref().is_some_and(|chat| owned(chat.as_str()))
    }

    pub(super) fn opening<'b>(&'b self, id: &'b str) -> Opening<'b> {
        let (platform, at) = (self.event.platform.name(), self.event.at.millis());
        Opening { c: id, platform, bot: self.bot(), kind: self.channel.kind.name(), at }
    }
}
