//! Timestamps as chatkeep stores and shows them, and the clock that provides them.
//!
//! Nothing else of the program reads the system clock (`clippy.toml` forbids it), so tests can
//! control time.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A day of UTC.
pub const DAY: Duration = Duration::from_hours(24);
/// [`DAY`] in milliseconds, as times are stored.
pub const DAY_MILLIS: i64 = 86_400_000;

/// A point in time: milliseconds since the Unix epoch, UTC.
///
/// Serialised as ISO 8601 with milliseconds (`2026-01-02T03:04:05.678Z`), a time beyond the years
/// 0 to 9999 as the nearest one within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// First time that RFC 3339 has a text for: the start of the year 0.
    pub const EARLIEST: Self = Self(-62_167_219_200_000);
    /// Last time that RFC 3339 has a text for: the end of the year 9999.
    pub const LATEST: Self = Self(253_402_300_799_999);

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

    /// Returns this time less `by`, saturating at the smallest time.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// Returns the time since `earlier`; zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// Returns the start of its day in UTC.
    #[must_use]
    pub fn utc_day(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(DAY_MILLIS)))
    }

    /// Parses an RFC 3339 time with any offset; `None` if it is invalid, or in UTC beyond the years
    /// 0 to 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(text).ok().map(|t| Self(t.timestamp_millis()));
        time.filter(|time| (Self::EARLIEST..=Self::LATEST).contains(time))
    }
}

impl Timestamp {
    /// Parses an HTTP date (`Wed, 21 Oct 2015 07:28:00 GMT`); `None` if it is invalid.
    pub fn parse_http(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc2822(text.trim()).ok().map(|t| Self(t.timestamp_millis()))
    }
}

/// Abbreviations and places that people write, with their time zones. Abbreviations of several zones,
/// such as CST, are none.
const USUAL_ZONES: [(&str, Tz); 7] = [
    ("jst", Tz::Asia__Tokyo),
    ("kst", Tz::Asia__Seoul),
    ("hkt", Tz::Asia__Hong_Kong),
    ("sgt", Tz::Asia__Singapore),
    ("ict", Tz::Asia__Bangkok),
    ("beijing", Tz::Asia__Shanghai),
    ("asia/beijing", Tz::Asia__Shanghai),
];

/// Returns ` (did you mean …?)` with the time zone that was probably meant by an unknown name, or
/// an empty text.
pub fn zone_hint(name: &str) -> String {
    let asked = name.trim().to_lowercase().replace(' ', "_");
    let near = usual_zone(&asked).or_else(|| named_zone(&asked)).or_else(|| misspelt_zone(&asked));
    near.map(|zone| format!(" (did you mean {}?)", zone.name())).unwrap_or_default()
}

fn usual_zone(asked: &str) -> Option<Tz> {
    USUAL_ZONES.into_iter().find(|(name, _)| *name == asked).map(|(_, zone)| zone)
}

/// Returns the zone with that name in another case, or of that place without its region. Those of
/// `Etc` are no places, and have the signs of their offsets the other way round than people write them.
fn named_zone(asked: &str) -> Option<Tz> {
    let fits = |zone: &Tz| {
        let known = zone.name().to_lowercase();
        let place = known.split_once('/').filter(|(region, _)| *region != "etc");
        known == asked || place.is_some_and(|_| known.rsplit('/').next() == Some(asked))
    };
    TZ_VARIANTS.into_iter().find(fits)
}

/// Lengths in letters of names that are compared: abbreviations are all near each other, and no
/// zone has a name of more than 32. A comparison takes as many steps as the product of both lengths.
const COMPARED: RangeInclusive<usize> = 6..=40;

/// Returns the zone whose name is nearest. An offset is none.
fn misspelt_zone(asked: &str) -> Option<Tz> {
    let letters = asked.chars().count();
    if !COMPARED.contains(&letters) || asked.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let distance = |zone: &Tz| strsim::damerau_levenshtein(&zone.name().to_lowercase(), asked);
    let near = TZ_VARIANTS.into_iter().map(|zone| (distance(&zone), zone));
    let near = near.filter(|(far, _)| *far <= 1 + letters / 10);
    near.min_by_key(|(far, _)| *far).map(|(_, zone)| zone)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A broken clock may get beyond them, ours or a platform's: RFC 3339 has no text for that.
        let shown = (*self).clamp(Self::EARLIEST, Self::LATEST);
        let time = DateTime::<Utc>::from_timestamp_millis(shown.0).unwrap_or_default();
        f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
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

/// A source of the current time. The real clock is [`SystemClock`], which a service has corrected
/// by a [`CorrectedClock`](crate::clock::CorrectedClock); tests use [`ManualClock`].
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns the time of the machine, which nobody corrected.
    fn machine(&self) -> Timestamp {
        self.now()
    }

    /// Takes note of the time, in whole seconds, that the platform answered to a request; `asked` is
    /// the time of the machine before it.
    fn observe(&self, _time: Timestamp, _asked: Timestamp) {}

    /// Returns whether the time is known to be right. Nothing is deleted by age while it is not.
    fn is_confirmed(&self) -> bool {
        true
    }
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

    /// Sets the clock.
    pub fn set(&self, time: Timestamp) {
        self.0.store(time.millis(), Ordering::SeqCst);
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
#[path = "time_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_suggested_only_where_it_was_probably_meant() {
        for (given, meant) in [
            ("asia/taipei", "Asia/Taipei"),
            ("Taipei", "Asia/Taipei"),
            ("new york", "America/New_York"),
            ("Asia/Tapei", "Asia/Taipei"),
            ("Europe/Londn", "Europe/London"),
            ("utc", "UTC"),
            ("JST", "Asia/Tokyo"),
            ("Asia/Beijing", "Asia/Shanghai"),
        ] {
            assert_eq!(zone_hint(given), format!(" (did you mean {meant}?)"), "{given}");
        }
        for given in ["GMT+8", "GMT-5", "UTC+8", "UTC+08:00", "+08:00", "CST", "BST", "", "Mars"] {
            assert_eq!(zone_hint(given), "", "{given}");
        }
    }

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
    fn a_time_that_no_text_can_have_is_shown_as_the_nearest_one() {
        let (first, last) = ("0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::parse(first), Some(Timestamp::EARLIEST));
        assert_eq!(Timestamp::parse(last), Some(Timestamp::LATEST));
        for (millis, shown) in [
            (i64::MIN, first),
            (Timestamp::EARLIEST.millis() - 1, first),
            (Timestamp::LATEST.millis() + 1, last),
            // The last second that chrono knows, a day later, and the last time of all.
            (8_210_266_876_799_000, last),
            (8_210_266_963_139_000, last),
            (i64::MAX, last),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), shown, "{millis}");
        }
        assert_eq!(Timestamp::parse("9999-12-31T23:59:59-23:59"), None);
        assert_eq!(Timestamp::parse("0000-01-01T00:00:00+00:01"), None);
    }

    #[test]
    fn never_counts_backwards() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(late.since(early), Duration::from_millis(4));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
