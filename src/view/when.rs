//! Times in requests: one format and one parser for REST, MCP and the command line.

use std::borrow::Cow;

use chatkeep_core::time::Timestamp;
use chatkeep_index::Moment;
use chrono::{
    DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, Offset as _, TimeDelta,
    TimeZone as _, Timelike as _,
};
use chrono_tz::Tz;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{
    AnyOfBuilder, KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Longest time that clocks were put forward, in minutes: a day, where a date line was moved.
const SKIPPED: i64 = 24 * 60;

/// Time as a caller wrote it. Without an offset from UTC it is read in the zone of the requested
/// channel, else of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When(Moment);

impl When {
    /// Parses a time or a day; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        Moment::parse(text).map(Self)
    }

    /// Returns the beginning of a day.
    pub const fn of_day(day: NaiveDate) -> Self {
        Self(Moment::Local(day.and_time(NaiveTime::MIN)))
    }

    /// Returns the end of the error sentence for an invalid time or day.
    pub fn refusal() -> String {
        format!("must be {}", Moment::FORMS)
    }

    /// Returns true if the point in time depends on a zone.
    pub const fn is_local(self) -> bool {
        matches!(self.0, Moment::Local(_))
    }

    /// Returns the point in time in that zone; `None` beyond the years 0 to 9999.
    pub fn within(self, zone: Tz) -> Option<Timestamp> {
        match self.0 {
            Moment::At(millis) => Some(Timestamp::from_millis(millis)),
            Moment::Local(local) => first(zone, local),
        }
    }
}

/// Parses a day of the calendar, such as `2026-01-31`, and nothing else.
pub fn day_of_calendar(text: &str) -> Option<NaiveDate> {
    let is_day = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_day.then(|| text.parse().ok()).flatten()
}

/// Returns the first point in time at which clocks of that zone show `local`; where they skip it,
/// the next one that they show. `None` beyond the years 0 to 9999; the midnight at which they end is
/// within, as the end of a day.
pub fn first(zone: Tz, local: NaiveDateTime) -> Option<Timestamp> {
    let before = local.checked_sub_signed(TimeDelta::milliseconds(1))?;
    if local.year() < 0 || before.year() > 9999 {
        return None;
    }
    let shown = |local: &NaiveDateTime| zone.from_local_datetime(local).earliest();
    let found = shown(&local).or_else(|| {
        let minute = local.with_second(0)?.with_nanosecond(0)?;
        (1..=SKIPPED).find_map(|more| shown(&minute.checked_add_signed(TimeDelta::minutes(more))?))
    })?;
    let found = Timestamp::from_millis(found.timestamp_millis());
    // The zone's first and last hours are other years in UTC.
    Some(found.clamp(Timestamp::EARLIEST, Timestamp::LATEST))
}

/// Returns the time that clocks of that zone show at a point in time; beyond the years 0 to 9999,
/// which a foreign clock or an old version may have stored, the nearest one within.
pub fn local_time(zone: Tz, at: Timestamp) -> DateTime<Tz> {
    let utc = |millis: i64| DateTime::from_timestamp_millis(millis).unwrap_or_default();
    let (earliest, latest) = (Timestamp::EARLIEST.millis(), Timestamp::LATEST.millis());
    let near = utc(at.millis().clamp(earliest, latest)).naive_utc();
    let east = zone.offset_from_utc_datetime(&near).fix().local_minus_utc();
    let east = i64::from(east) * 1_000;
    utc(at.millis().clamp(earliest - east, latest - east)).with_timezone(&zone)
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(Self::refusal()))
    }
}

impl PartialSchema for When {
    fn schema() -> RefOr<Schema> {
        let text = |format| {
            ObjectBuilder::new()
                .schema_type(SchemaType::Type(Type::String))
                .format(Some(SchemaFormat::KnownFormat(format)))
        };
        AnyOfBuilder::new()
            .item(text(KnownFormat::DateTime))
            .item(text(KnownFormat::Date))
            .description(Some(
                "Point in time (`2026-01-31T09:30:00Z`), local time (`2026-01-31T09:30`; seconds may \
                 be absent) or day (`2026-01-31`). Without an offset from UTC it is read in the time \
                 zone of the request's channel, otherwise in the service's.",
            ))
            .into()
    }
}

impl ToSchema for When {}

#[cfg(test)]
#[path = "when_tests.rs"]
mod when_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_where_the_zone_says() {
        let day = |name: &str, date: &str| {
            When::parse(date).unwrap().within(name.parse().unwrap()).unwrap().to_string()
        };
        assert_eq!(day("UTC", "2026-01-02"), "2026-01-02T00:00:00.000Z");
        assert_eq!(day("Asia/Taipei", "2026-01-02"), "2026-01-01T16:00:00.000Z");
        assert_eq!(day("Asia/Taipei", "2026-01-02T08:00"), "2026-01-02T00:00:00.000Z");
        assert_eq!(day("Asia/Taipei", "2026-01-02T08:00Z"), "2026-01-02T08:00:00.000Z");
        // Clocks in Beirut went from 00:00 to 01:00 that day.
        assert_eq!(day("Asia/Beirut", "2025-03-30"), "2025-03-29T22:00:00.000Z");
        // In New York from 02:00 to 03:00, and on Samoa from one day to the next but one.
        for skipped in ["2026-03-08T02:00", "2026-03-08T02:30", "2026-03-08T02:59:30"] {
            assert_eq!(day("America/New_York", skipped), "2026-03-08T07:00:00.000Z", "{skipped}");
        }
        assert_eq!(day("Pacific/Apia", "2011-12-30"), "2011-12-30T10:00:00.000Z");
    }

    #[test]
    fn days_are_written_out() {
        assert!(day_of_calendar("2026-01-31").is_some());
        let others = ["2026-1-31", " 2026-01-31", "+2026-01-3", "2026/01/31", "2026-02-30", "x"];
        for other in others.into_iter().chain(["2026-01-31T00:00", "2026-01-é"]) {
            assert_eq!(day_of_calendar(other), None, "{other}");
        }
    }

    #[test]
    fn years_have_four_digits_in_every_zone() {
        let within = |zone: Tz, text: &str| When::parse(text).and_then(|when| when.within(zone));
        for zone in chrono_tz::TZ_VARIANTS {
            for beyond in ["+262142-12-31", "+10000-01-01T00:00:00.001", "-0001-12-31T23:59:59"] {
                assert_eq!(within(zone, beyond), None, "{zone} {beyond}");
            }
            // The last is the end of the last day.
            for kept in ["0000-01-01", "9999-12-31", "9999-12-31T23:59:59.999", "+10000-01-01"] {
                let at = within(zone, kept).unwrap();
                assert!((Timestamp::EARLIEST..=Timestamp::LATEST).contains(&at), "{zone} {kept}");
            }
        }
        let end = within("Asia/Taipei".parse().unwrap(), "+10000-01-01").unwrap();
        assert_eq!(end.to_string(), "9999-12-31T16:00:00.000Z");
        assert_eq!(within(Tz::UTC, "+10000-01-01"), Some(Timestamp::LATEST));
    }

    #[test]
    fn every_zone_shows_every_time() {
        let known = [
            // Year 262142 and -262143: chrono's last and first.
            8_210_266_876_799_999,
            -8_334_601_228_800_000,
            8_210_266_963_139_000,
            i64::MAX,
            i64::MIN,
        ];
        for zone in chrono_tz::TZ_VARIANTS {
            for millis in known {
                let shown = local_time(zone, Timestamp::from_millis(millis));
                let nearest = if millis < 0 { "0000-01-01 00:00" } else { "9999-12-31 23:59" };
                assert_eq!(shown.format("%Y-%m-%d %H:%M").to_string(), nearest, "{zone} {millis}");
            }
        }
        let taipei: Tz = "Asia/Taipei".parse().unwrap();
        let shown = |text: &str| local_time(taipei, Timestamp::parse(text).unwrap()).to_rfc3339();
        assert_eq!(shown("2026-01-01T16:00:00Z"), "2026-01-02T00:00:00+08:00");
        assert_eq!(shown("9999-12-31T15:59:59Z"), "9999-12-31T23:59:59+08:00");
        assert_eq!(shown("9999-12-31T23:59:59Z"), "9999-12-31T23:59:59.999+08:00");
    }
}
