//! Messages as documents of `search` and `fetch`, the two tools that research connectors look for:
//! an id, a title, a text and a link.

use std::collections::HashMap;

use chatkeep_core::id::ChannelId;
use chatkeep_services::{Caller, ServiceError, Services};
use chatkeep_store::{ChannelName, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::{Links, message_uri, sanitize};

use super::channel_table::short_name;
use super::time::AnswerZone;

/// Names of a caller's channels, for titles.
pub(super) struct ChannelNames(HashMap<ChannelId, Masked<ChannelName>>);

impl ChannelNames {
    pub(super) async fn of(services: &Services, caller: &Caller) -> Result<Self, ServiceError> {
        let names = services.channels.names(caller).await?;
        Ok(Self(names.into_iter().map(|channel| (channel.id.clone(), channel)).collect()))
    }

    /// Returns a channel, if it is one of the caller's.
    pub(super) fn get(&self, channel: &ChannelId) -> Option<&Masked<ChannelName>> {
        self.0.get(channel)
    }

    /// Returns the channel's name, or its id where it has none.
    pub(super) fn name(&self, channel: &ChannelId) -> String {
        let name = self.get(channel).and_then(|known| short_name(known.name.as_deref()));
        let name = name.filter(|name| !name.is_empty());
        name.unwrap_or_else(|| channel.to_string())
    }
}

/// Returns the title of a message: its sender, its channel and its time. Names are quoted: nobody's can
/// pass for another part of it.
pub(super) fn title(message: &Masked<StoredMessage>, channel: &str, zone: AnswerZone) -> String {
    let time = zone.show(message.sent_at);
    let channel = sanitize::quoted(channel);
    match sender_name(message) {
        Some(sender) => format!("{} in {channel}, {time}", sanitize::quoted(&sender)),
        None => format!("{channel}, {time}"),
    }
}

/// Returns the name of a message's sender, or the id where the name is not known.
pub(super) fn sender_name(message: &Masked<StoredMessage>) -> Option<String> {
    let sender = message.sender.as_ref()?;
    let name = short_name(sender.display_name.as_deref()).filter(|name| !name.is_empty());
    name.or_else(|| Some(sender.id.to_string()))
}

/// Returns the link to cite a message by; its URI where the service has no public address.
pub(super) fn url(links: &Links, message: &Masked<StoredMessage>) -> String {
    let link = links.message(&message.channel, &message.id);
    link.unwrap_or_else(|| message_uri(&message.channel, &message.id))
}
