//! Readers of messages, and the actions by which they read.

use chatkeep_core::id::KeyId;

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

impl ReadAction {
    /// Every action.
    pub const ALL: [Self; 7] = [
        Self::List,
        Self::Search,
        Self::Open,
        Self::Media,
        Self::Export,
        Self::Events,
        Self::History,
    ];

    /// Returns its name in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Search => "search",
            Self::Open => "open",
            Self::Media => "media",
            Self::Export => "export",
            Self::Events => "events",
            Self::History => "history",
        }
    }

    /// Returns the action of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
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
