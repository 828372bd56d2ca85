//! Table of the channels of an answer: `c1`, `c2` … with their ids, names and time zones, each once.

use std::collections::{BTreeMap, HashMap};

use chatkeep_core::id::ChannelId;
use chatkeep_view::sanitize;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::shown_id::shown_id;

/// Maximum length of a name in characters.
const NAME: usize = 60;

/// A channel in a table.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelEntry {
    pub(super) channel_id: String,
    /// Null where it is not known.
    pub(super) name: Option<String>,
    pub(super) time_zone: String,
}

/// Channels of an answer, as they are named in its rows.
#[derive(Debug, Default)]
pub(super) struct ChannelTable {
    known: HashMap<ChannelId, ChannelEntry>,
    keys: HashMap<ChannelId, String>,
    /// True where the answer has the channels by their ids already.
    by_id: bool,
}

impl ChannelTable {
    /// Creates an empty table, with what is known of the channels that may come in.
    pub(super) fn new(known: impl IntoIterator<Item = (ChannelId, ChannelEntry)>) -> Self {
        Self { known: known.into_iter().collect(), ..Self::default() }
    }

    /// Creates a table that names channels by their ids.
    pub(super) fn by_id() -> Self {
        Self { by_id: true, ..Self::default() }
    }

    /// Returns the short name of a channel, which is then in the table.
    pub(super) fn key(&mut self, channel: &ChannelId) -> String {
        if self.by_id {
            return channel.to_string();
        }
        let next = self.keys.len() + 1;
        self.keys.entry(channel.clone()).or_insert_with(|| format!("c{next}")).clone()
    }

    /// Removes a channel that no row names.
    pub(super) fn forget(&mut self, key: &str) {
        self.keys.retain(|_, one| one != key);
    }

    /// Returns the row of a short name that is in the table.
    pub(super) fn entry(&self, key: &str) -> Option<ChannelEntry> {
        let (channel, _) = self.keys.iter().find(|(_, one)| *one == key)?;
        Some(self.entry_of(channel))
    }

    /// Returns the rows of the table.
    pub(super) fn rows(&self) -> BTreeMap<String, ChannelEntry> {
        let row = |(channel, key): (&ChannelId, &String)| (key.clone(), self.entry_of(channel));
        self.keys.iter().map(row).collect()
    }

    fn entry_of(&self, channel: &ChannelId) -> ChannelEntry {
        match self.known.get(channel) {
            Some(entry) => entry.clone(),
            None => ChannelEntry { channel_id: channel.to_string(), ..ChannelEntry::default() },
        }
    }
}

/// Formats a table as a line of the head of a text; nothing for an empty one.
pub(super) fn line(rows: &BTreeMap<String, ChannelEntry>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let each = rows.iter().map(|(key, row)| {
        let ChannelEntry { channel_id, name, time_zone } = row;
        let (name, id) = (quoted_name(name.as_deref()), shown_id(channel_id));
        format!("{key} = {name} ({id}, {time_zone})")
    });
    format!("\nChannels: {}", each.collect::<Vec<_>>().join(", "))
}

/// Returns a name of a channel or person, cut and sanitised.
pub(super) fn short_name(name: Option<&str>) -> Option<String> {
    name.map(|name| sanitize::one_line(name, NAME))
}

/// Quotes a name; empty quotation marks where it is not known.
pub(super) fn quoted_name(name: Option<&str>) -> String {
    sanitize::quoted(name.unwrap_or_default())
}
