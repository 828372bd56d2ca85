//! The stages there are, and how each one reads the bus.

use std::fmt;
use std::time::Duration;

use chatkeep_core::bus::{ConsumerSpec, Stream};

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageName {
    /// Stores messages and counts them.
    Backup,
    /// Knows who is where.
    Members,
    /// Answers.
    Assistant,
    /// Fetches files.
    Media,
}

impl StageName {
    /// Every stage there is.
    pub const ALL: [Self; 4] = [Self::Backup, Self::Members, Self::Assistant, Self::Media];

    /// Durable consumers of stages that earlier versions had. What waits for them is done in another
    /// way now, so they are removed.
    pub const RETIRED: [&str; 1] = ["indexer"];

    /// Its name on the command line, on the bus, in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Members => "members",
            Self::Assistant => "assistant",
            Self::Media => "media",
        }
    }

    /// The stage of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Its durable consumer. Every process makes sure that the consumers of all stages exist,
    /// so that a stage which starts later misses nothing.
    pub const fn consumer(self, lease: Duration) -> ConsumerSpec {
        let (stream, queue) = match self {
            Self::Backup | Self::Members | Self::Assistant => (Stream::Events, None),
            Self::Media => (Stream::Jobs, Some(crate::jobs::MEDIA)),
        };
        ConsumerSpec { name: self.name(), stream, queue, lease, max_in_flight: 8_192 }
    }
}

impl fmt::Display for StageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
