//! Settings of retention.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;

/// Default retention times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionConfig {
    /// Retention after the last subscription to a channel ended; `None` for ever.
    pub unsubscribed: Option<Duration>,
    /// Retention of events of unknown type; `None` for ever.
    pub other_events: Option<Duration>,
}

impl RetentionConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        let days = |key| read.days(key, 0, 36_500).map(|time| Some(time).filter(|t| !t.is_zero()));
        Ok(Self {
            unsubscribed: days("retention.unsubscribed_days")?,
            other_events: days("retention.other_events_days")?,
        })
    }
}
