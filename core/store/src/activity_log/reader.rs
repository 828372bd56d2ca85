//! Readers of messages, and the actions by which they read.

use chatkeep_core::id::KeyId;
use chatkeep_core::named;

/// Way in which messages were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadAction {
    /// Listed messages, or saw the newest one in a list of channels.
    List,
    /// Searched them.
    Search,
    /// Opened one.
    Open,
    /// Listed or opened files.
    Media,
    /// Exported messages.
    Export,
    /// Read events of messages from the feed.
    Events,
    /// Tested rules against stored messages, or listed unanswered questions.
    History,
}

named! {
    pub ReadAction {
        List = "list",
        Search = "search",
        Open = "open",
        Media = "media",
        Export = "export",
        Events = "events",
        History = "history",
    }
}

/// Credential that messages are read with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// A person in a browser.
    Person,
    /// An API key.
    Key(KeyId),
    /// A program that a person consented to, such as a model; by its consent.
    Program(String),
    /// More readers in a few seconds than could be counted apart.
    Others,
}

impl Reader {
    /// Returns the name of its kind in the database.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Key(_) => "key",
            Self::Program(_) => "program",
            Self::Others => "others",
        }
    }

    /// Returns its id among the readers of its kind.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Person | Self::Others => "",
            Self::Key(id) => id.as_str(),
            Self::Program(id) => id,
        }
    }

    /// Returns the reader of that kind and id.
    pub(super) fn parse(kind: &str, id: String) -> Option<Self> {
        Some(match kind {
            "person" => Self::Person,
            "key" => Self::Key(id.into()),
            "program" => Self::Program(id),
            "others" => Self::Others,
            _ => return None,
        })
    }
}
