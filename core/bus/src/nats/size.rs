//! Size of messages: the server's limit (`max_payload`) counts their headers, too.

use super::NatsBus;
use crate::{Bus, BusError, Outgoing};

/// Maximum size of the headers of a message, in bytes: its id and its trace at first, and once it is
/// a dead letter what stands there about that, for which there must be room, too.
const HEADERS: usize = 8 * 1024;

impl Bus {
    /// Returns the maximum size of the payload of a message to publish, in bytes: that of the server
    /// that this process is connected to. `None` for the embedded bus, which takes whatever fits
    /// into memory.
    pub fn max_message_bytes(&self) -> Option<usize> {
        match self {
            Self::Embedded(_) => None,
            Self::Nats(bus) => Some(bus.max_message_bytes()),
        }
    }
}

impl NatsBus {
    fn max_message_bytes(&self) -> usize {
        self.inner.client.max_payload().saturating_sub(HEADERS)
    }

    /// Checks that the server can take a message, before any of its call is sent.
    pub(super) fn check_size(&self, message: &Outgoing) -> Result<(), BusError> {
        let (bytes, limit) = (message.payload.len(), self.max_message_bytes());
        if bytes <= limit {
            return Ok(());
        }
        let id = &message.id;
        Err(BusError::MessageTooLarge(format!("{id} has {bytes} bytes, the server takes {limit}")))
    }
}
