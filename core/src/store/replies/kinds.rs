//! What replies come from, and how far they get.

/// What a reply came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplySource {
    /// A group-rules trigger.
    Rules,
    /// A question-and-answer rule.
    Qa,
    /// Nothing matched.
    NoMatch,
    /// Somebody joined.
    Welcome,
}

impl ReplySource {
    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Qa => "qa",
            Self::NoMatch => "noMatch",
            Self::Welcome => "welcome",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        [Self::Rules, Self::Qa, Self::NoMatch, Self::Welcome]
            .into_iter()
            .find(|source| source.name() == name)
    }
}

/// How far a reply got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyStatus {
    /// It is being given; after a crash, nobody knows whether it was.
    Sending,
    /// The platform took it.
    Sent,
    /// It was not given, for a recorded reason.
    Failed,
    /// The rule's cooldown held it back.
    Suppressed,
}

impl ReplyStatus {
    /// Its name in the store.
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
