//! Errors of the bus.

use std::sync::Arc;

use crate::fault::outage_of;

/// Error of the bus.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The backlog is at its limit; publish again later.
    #[error("the bus is full: {backlog} messages are pending")]
    Full {
        /// Number of messages in the backlog.
        backlog: u64,
    },
    /// The bus answers, and refuses to store: its disk is full, or a limit is reached.
    #[error("the bus stores nothing: {0}")]
    NotStored(String),
    /// The bus cannot be reached or did not confirm in time.
    #[error("the bus is unavailable: {0}")]
    Unavailable(String),
    /// The embedded bus' file cannot be read or written.
    #[error("the bus file failed")]
    Storage(#[source] Arc<sqlx::Error>),
    /// Another process holds the embedded bus of this data folder.
    #[error("the data folder is in use by another chatkeep process: {0}")]
    Locked(String),
    /// No process of chatkeep has served on that bus yet.
    #[error("chatkeep has no bus {0}")]
    Missing(String),
    /// The events of the bus belong to the processes of another database.
    #[error("the events of this bus belong {0}")]
    Foreign(&'static str),
    /// No server of that topic of [`pubsub`](crate::pubsub) is there right now.
    #[error("no server for topic {0}")]
    NoResponder(&'static str),
    /// No reply about that topic of [`pubsub`](crate::pubsub) came in time.
    #[error("no reply on topic {0} within the timeout")]
    RequestTimeout(&'static str),
    /// A message of [`pubsub`](crate::pubsub) about that topic has more than
    /// [`MAX_PUBSUB_BYTES`](crate::pubsub::MAX_PUBSUB_BYTES) bytes.
    #[error("a message for topic {0} is too large")]
    TooLarge(&'static str),
    /// A message has more bytes than the bus can ever take: to publish it again is in vain.
    #[error("the message is too large for the bus: {0}")]
    MessageTooLarge(String),
    /// A configuration that the bus refuses.
    #[error("the bus rejects its configuration: {0}")]
    Config(String),
}

impl BusError {
    /// Returns the class of the error, in traces.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::NotStored(_) => "not_stored",
            Self::Unavailable(_) => "unavailable",
            Self::Storage(_) => "storage",
            Self::Locked(_) => "locked",
            Self::Missing(_) => "missing",
            Self::Foreign(_) => "foreign",
            Self::NoResponder(_) => "no_responder",
            Self::RequestTimeout(_) => "timeout",
            Self::TooLarge(_) | Self::MessageTooLarge(_) => "too_large",
            Self::Config(_) => "config",
        }
    }

    /// Returns whether the bus is away, or takes no messages: whoever asks next will fail, too.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::NotStored(_) | Self::Full { .. } | Self::Foreign(_) => {
                true
            }
            Self::Storage(error) => outage_of(error).is_some(),
            _ => false,
        }
    }
}

/// One failed transaction fails all callers whose messages were in it, so the cause is shared.
impl From<sqlx::Error> for BusError {
    fn from(error: sqlx::Error) -> Self {
        Self::Storage(Arc::new(error))
    }
}

#[cfg(test)]
#[path = "error_edge_tests.rs"]
mod edge_tests;
