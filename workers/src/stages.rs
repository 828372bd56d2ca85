//! Names of the stages, and their consumers of the bus.

use std::fmt;
use std::time::Duration;

use chatkeep_bus::{ConsumerSpec, Stream};

/// Maximum number of messages of a stage that all processes together have leased, or have put off to
/// a later time: the largest batch for each of a dozen processes.
const MAX_IN_FLIGHT: u32 = 65_536;

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageName {
    /// Stores messages and counts them.
    Backup,
    /// Records presence and names.
    Members,
    /// Sends replies.
    Assistant,
    /// Downloads files.
    Media,
    /// Downloads files that the platform does not have itself. It runs where [`Self::Media`] does,
    /// and has a queue of its own, so that a slow external server holds up nobody else.
    ExternalMedia,
}

impl StageName {
    /// Every stage.
    pub const ALL: [Self; 5] =
        [Self::Backup, Self::Members, Self::Assistant, Self::Media, Self::ExternalMedia];

    /// Durable consumers of stages that earlier versions had. Their work is done in another way
    /// now, so they are removed.
    pub const RETIRED: [&str; 1] = ["indexer"];

    /// Returns its name on the command line, on the bus, in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Members => "members",
            Self::Assistant => "assistant",
            Self::Media => "media",
            Self::ExternalMedia => "external_media",
        }
    }

    /// Returns its name as a part of the process.
    pub const fn part(self) -> &'static str {
        match self {
            Self::Backup => "stage:backup",
            Self::Members => "stage:members",
            Self::Assistant => "stage:assistant",
            Self::Media => "stage:media",
            Self::ExternalMedia => "stage:external_media",
        }
    }

    /// Returns true if a durable consumer of that name is a stage's, be it selectable or not.
    pub fn has_consumer(name: &str) -> bool {
        Self::ALL.into_iter().any(|stage| stage.name() == name)
    }

    /// Parses a selectable stage from its name.
    pub fn parse(name: &str) -> Option<Self> {
        let mut chosen = Self::ALL.into_iter().filter(|stage| *stage != Self::ExternalMedia);
        chosen.find(|stage| stage.name() == name)
    }

    /// Returns its durable consumer. Every process makes sure that the consumers of all stages
    /// exist, so that a stage which starts later misses nothing.
    pub const fn consumer(self, lease: Duration) -> ConsumerSpec {
        let (stream, queue) = match self {
            Self::Backup | Self::Members | Self::Assistant => (Stream::Events, None),
            Self::Media => (Stream::Jobs, Some(crate::jobs::MEDIA)),
            Self::ExternalMedia => (Stream::Jobs, Some(crate::jobs::EXTERNAL_MEDIA)),
        };
        ConsumerSpec { name: self.name(), stream, queue, lease, max_in_flight: MAX_IN_FLIGHT }
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_consumer_and_most_can_be_selected() {
        assert!(StageName::ALL.into_iter().all(|stage| StageName::has_consumer(stage.name())));
        assert!(!StageName::has_consumer("indexer"));
        assert_eq!(StageName::parse("media"), Some(StageName::Media));
        assert_eq!(StageName::parse("external_media"), None, "it runs with media");
    }
}
