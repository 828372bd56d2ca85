//! Digests: what a time of some channels consists of, up to now. What is counted has counters or is
//! counted up to a limit, so that a digest of a long history costs no more than one of a short one.

mod changes;
mod counts;
mod sql;
mod texts;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::StoreError;
use super::activity::QUARTER;
use super::channels::channel_keys;

pub use changes::{MemberMove, MessageEvent};
pub use counts::{PeopleCounts, TypeCount};
pub use texts::{NotedText, NotedTexts};

/// Channel and id of a message.
pub type DigestKey = (ChannelId, MessageId);

/// Time of channels that a digest is about: from a full quarter of an hour to now.
#[derive(Clone, Copy, Debug)]
pub struct DigestScope<'a> {
    channels: &'a [ChannelId],
    /// Begin.
    from: Timestamp,
}

/// Channel and message type in a JSON list.
#[derive(Serialize)]
struct TypeKey<'a> {
    c: &'a str,
    t: &'static str,
}

impl<'a> DigestScope<'a> {
    /// Creates the scope of these channels from the start of the quarter of an hour of that time,
    /// or from the first full quarter that is not before `earliest`.
    pub fn new(channels: &'a [ChannelId], from: Timestamp, earliest: Option<Timestamp>) -> Self {
        let earliest = earliest.map_or(i64::MIN, |at| ceiling(at.millis(), QUARTER));
        let from = from.millis().div_euclid(QUARTER) * QUARTER;
        Self { channels, from: Timestamp::from_millis(from.max(earliest)) }
    }

    /// Returns the scope of these channels from the same time on.
    pub const fn of<'b>(&self, channels: &'b [ChannelId]) -> DigestScope<'b> {
        DigestScope { channels, from: self.from }
    }

    /// Returns the number of channels.
    pub const fn channel_count(&self) -> usize {
        self.channels.len()
    }

    /// Returns the start.
    pub const fn from(&self) -> Timestamp {
        self.from
    }

    fn millis(&self) -> i64 {
        self.from.millis()
    }

    fn keys(&self) -> Result<String, StoreError> {
        channel_keys(self.channels)
    }

    fn type_keys(&self, kinds: &[MessageType]) -> Result<String, StoreError> {
        let of = |channel: &'a ChannelId| {
            kinds.iter().map(move |kind| TypeKey { c: channel.as_str(), t: kind.name() })
        };
        Ok(serde_json::to_string(&self.channels.iter().flat_map(of).collect::<Vec<_>>())?)
    }
}

/// Returns the first multiple of `unit` that is not before `at`.
const fn ceiling(at: i64, unit: i64) -> i64 {
    at.saturating_add(at.wrapping_neg().rem_euclid(unit))
}
