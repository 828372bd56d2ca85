//! Sources and states of replies.

use chatkeep_core::named;

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

named! {
    pub ReplySource {
        Rules = "rules",
        Link = "link",
        Qa = "qa",
        NoMatch = "noMatch",
        Welcome = "welcome",
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

named! {
    pub ReplyStatus {
        Sending = "sending",
        Sent = "sent",
        Failed = "failed",
        Suppressed = "suppressed",
    }
}
