//! Timestamps as chatkeep stores and shows them, and the clock that provides them.
//!
//! Nothing else in the workspace reads the system clock (`clippy.toml` forbids it), so tests can
//! control time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time: milliseconds since the Unix epoch, UTC.
///
/// Serialised as ISO 8601 with milliseconds (`2026-01-02T03:04:05.678Z`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates the time `millis` milliseconds after the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns this time plus `by`, saturating at the largest time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// Returns the time since `earlier`; zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// Parses an RFC 3339 time with any offset; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|t| Self(t.timestamp_millis()))
    }
}

impl Timestamp {
    /// Parses an HTTP date (`Wed, 21 Oct 2015 07:28:00 GMT`); `None` if it is invalid.
    pub fn parse_http(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc2822(text.trim()).ok().map(|t| Self(t.timestamp_millis()))
    }
}

/// Returns ` (did you mean …?)` with the time zone that was probably meant by an unknown name, or
/// an empty text.
pub fn zone_hint(name: &str) -> String {
    let asked = name.trim().to_lowercase().replace(' ', "_");
    let fits = |zone: &&Tz| {
        let known = zone.name().to_lowercase();
        known == asked || known.rsplit('/').next() == Some(asked.as_str())
    };
    let distance = |zone: &Tz| strsim::damerau_levenshtein(&zone.name().to_lowercase(), &asked);
    let near = TZ_VARIANTS.iter().find(fits).or_else(|| {
        let zones = TZ_VARIANTS.iter().map(|zone| (distance(zone), zone));
        zones
            .filter(|(far, _)| *far <= 1 + asked.len() / 4)
            .min_by_key(|(far, _)| *far)
            .map(|(_, zone)| zone)
    });
    near.map(|zone| format!(" (did you mean {}?)", zone.name())).unwrap_or_default()
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::<Utc>::from_timestamp_millis(self.0) {
            Some(time) => f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true)),
            // Beyond the range of calendar dates: only a broken clock gets here.
            None => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom("must be an ISO 8601 time such as 2026-01-31T08:00:00Z")
        })
    }
}

/// A source of the current time. The real clock is [`SystemClock`]; tests use [`ManualClock`].
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system clock")]
    fn now(&self) -> Timestamp {
        Timestamp(Utc::now().timestamp_millis())
    }
}

/// A clock that moves only when it is told to.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock that stands at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.millis()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_milliseconds_in_utc() {
        let time = Timestamp::from_millis(1_767_323_045_678);
        assert_eq!(time.to_string(), "2026-01-02T03:04:05.678Z");
        assert_eq!(Timestamp::parse("2026-01-02T05:04:05.678+02:00"), Some(time));
        assert_eq!(Timestamp::parse("yesterday"), None);
        let http = Timestamp::parse_http("Fri, 02 Jan 2026 03:04:05 GMT");
        assert_eq!(http, Some(Timestamp::from_millis(1_767_323_045_000)));
        assert_eq!(Timestamp::parse_http("120"), None);
    }

    #[test]
    fn never_counts_backwards() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(late.since(early), Duration::from_millis(4));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
