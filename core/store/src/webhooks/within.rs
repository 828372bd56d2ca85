//! Statements on a webhook's deliveries within bounds.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::time::Timestamp;

use super::super::channels::channel_keys;
use super::super::{OutboxEventKind, StoreError};
use super::rows::event_keys;

/// Parameters `$2` to `$5` of [`within`].
pub(super) struct Within {
    pub(super) bound: i64,
    pub(super) channels: String,
    pub(super) events: String,
    pub(super) from: i64,
}

/// Builds a statement on deliveries of the webhook `$1` within bounds.
macro_rules! within {
    ($head:literal, $($rest:literal),+) => {
        within!([$head], $($rest),+)
    };
    ([$($head:literal),+], $($rest:literal),+) => {
        concat!(
            $($head),+,
            " webhook_id = $1 AND (type = '", $crate::webhooks::test_event!(), "' OR (
                 ($2 = 0 OR channel_id IN (SELECT value ->> 'c' FROM json_each($3)))
                 AND type IN (SELECT value ->> 't' FROM json_each($4)) AND at >= $5))",
            $($rest),+
        )
    };
}

pub(super) use within;

impl Within {
    pub(super) fn of(bounds: &Bounds) -> Result<Self, StoreError> {
        let only = bounds.channels.as_deref();
        let seen = |kind: &OutboxEventKind| kind.scope().is_none_or(|scope| bounds.has(scope));
        let events: Vec<_> = OutboxEventKind::ALL.into_iter().filter(seen).collect();
        Ok(Self {
            bound: i64::from(only.is_some()),
            channels: channel_keys(only.unwrap_or_default())?,
            events: event_keys(&events)?,
            from: bounds.not_before.map_or(i64::MIN, Timestamp::millis),
        })
    }
}
