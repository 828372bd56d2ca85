//! Sizes of webhooks and of their events, compared with what the bus takes.

use chatkeep_bus::{Bus, Outgoing};
use tracing::warn;

/// Maximum size of an envelope beside the platform's own event, in bytes.
const ENVELOPE: usize = 1_024;

/// Excess that nobody is warned of, in bytes: with the defaults of both sides the last few thousand
/// bytes of a body do not fit, and no event of LINE's is nearly as large.
const TOLERANCE: usize = 16 * 1_024;

/// Warns when a body of up to `max_body` bytes may hold an event that the bus can never take.
pub(super) fn warn_of_large_bodies(bus: &Bus, max_body: usize) {
    if let Some(safe) = largest_safe_body(bus.max_message_bytes(), max_body) {
        warn!(
            max_body_bytes = max_body,
            "webhooks may hold an event that is larger than what NATS takes, and it would be lost: \
             raise max_payload of the NATS servers by {} bytes, or lower ingress.max_body_bytes to \
             {safe}",
            max_body - safe
        );
    }
}

/// Returns the size of the largest body whose events all fit into messages of `limit` bytes; `None` if
/// those of `max_body` bytes do.
fn largest_safe_body(limit: Option<usize>, max_body: usize) -> Option<usize> {
    let safe = limit?.saturating_sub(ENVELOPE);
    (safe + TOLERANCE < max_body).then_some(safe)
}

/// Removes and returns the messages that the bus can never take, in their order.
pub(super) fn take_too_large(bus: &Bus, messages: &mut Vec<Outgoing>) -> Vec<Outgoing> {
    let Some(limit) = bus.max_message_bytes() else { return Vec::new() };
    messages.extract_if(.., |message| message.payload.len() > limit).collect()
}

#[cfg(test)]
mod tests {
    use chatkeep_core::event::{Envelope, PlatformKind};
    use chatkeep_core::id::MAX_ID;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn bodies_are_safe_while_an_event_of_their_size_fits() {
        let mebibyte = 1 << 20;
        assert_eq!(largest_safe_body(None, 16 * mebibyte), None);
        assert_eq!(largest_safe_body(Some(mebibyte + ENVELOPE), mebibyte), None);
        assert_eq!(largest_safe_body(Some(mebibyte - 8_192), mebibyte), None, "the defaults");
        assert_eq!(largest_safe_body(Some(mebibyte), 2 * mebibyte), Some(mebibyte - ENVELOPE));
        assert_eq!(largest_safe_body(Some(7), mebibyte), Some(0));
    }

    #[test]
    fn the_longest_envelope_is_within_what_is_reckoned() {
        let envelope = Envelope {
            v: Envelope::VERSION,
            // LINE's longest, with the digest of a second event under it; escaped, each is two bytes.
            id: "\"".repeat(128 + 33).into(),
            platform: PlatformKind::Line,
            bot: "b".repeat(32),
            channel: Some("\"".repeat(MAX_ID).into()),
            received_at: i64::MIN,
            raw: RawValue::from_string("7".to_owned()).unwrap(),
        };
        let message = Outgoing::event(&envelope).unwrap();
        assert!(message.payload.len() <= ENVELOPE, "{}", message.payload.len());
    }
}
