//! Settings of retention.

use std::time::Duration;

use serde::Deserialize;

use super::deserialize::days_if_any;

/// Default retention times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionConfig {
    /// Retention after the last subscription to a channel ended; `None` for ever.
    #[serde(rename = "unsubscribed_days", deserialize_with = "days_if_any::<36_500, _>")]
    pub unsubscribed: Option<Duration>,
    /// Retention of events of unknown type; `None` for ever.
    #[serde(rename = "other_events_days", deserialize_with = "days_if_any::<36_500, _>")]
    pub other_events: Option<Duration>,
}
