//! Sources and states of replies.

/// Source of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplySource {
    /// Group-rules trigger.
    Rules,
    /// Trigger of the link to the channel's page.
    Link,
    /// Question-and-answer rule.
    Qa,
    /// No match.
    NoMatch,
    /// Join of a person.
    Welcome,
}

impl ReplySource {
    /// Returns the name of the source on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Link => "link",
            Self::Qa => "qa",
            Self::NoMatch => "noMatch",
            Self::Welcome => "welcome",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Rules, Self::Link, Self::Qa, Self::NoMatch, Self::Welcome]
            .into_iter()
            .find(|source| source.name() == name)
    }
}

/// State of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStatus {
    /// Being sent; after a crash, nobody knows whether it was.
    Sending,
    /// Accepted by the platform.
    Sent,
    /// Not sent, for a recorded reason.
    Failed,
    /// Held back by the rule's cooldown.
    Suppressed,
}

impl ReplyStatus {
    /// Returns the name of the state in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Suppressed => "suppressed",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Sending, Self::Sent, Self::Failed, Self::Suppressed]
            .into_iter()
            .find(|status| status.name() == name)
    }
}
