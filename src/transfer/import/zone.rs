//! Time zone of a text without one.

use chatkeep_core::time::Timestamp;
use chrono::{FixedOffset, LocalResult, NaiveDateTime, Offset as _, TimeDelta, TimeZone};
use chrono_tz::Tz;

/// Time zone by name or by offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// `Asia/Taipei`.
    Named(Tz),
    /// `+08:00`.
    Fixed(FixedOffset),
}

impl Zone {
    /// Parses an IANA name, or an offset such as `+08:00`, `-0330` or `+9`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(zone) = text.parse() {
            return Some(Self::Named(zone));
        }
        let (sign, digits) = match text.split_at_checked(1)? {
            ("+", digits) => (1, digits),
            ("-", digits) => (-1, digits),
            _ => return None,
        };
        let (hours, minutes) = match digits.split_once(':') {
            Some(parts) => parts,
            None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
            None => (digits, "0"),
        };
        let number =
            |text: &str| text.parse::<i32>().ok().filter(|_| !text.starts_with(['+', '-']));
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        if hours > 14 || minutes > 59 {
            return None;
        }
        FixedOffset::east_opt(sign * (hours * 3_600 + minutes * 60)).map(Self::Fixed)
    }

    /// Converts a local time in this zone. Of two such times it is the earlier; of none (the hour
    /// skipped by summer time, the day skipped by a zone that went to the other side of the date
    /// line) the time as much later.
    pub fn at(self, clock: NaiveDateTime) -> Timestamp {
        match self {
            Self::Named(zone) => in_zone(&zone, clock),
            Self::Fixed(zone) => in_zone(&zone, clock),
        }
    }
}

fn in_zone<Z: TimeZone>(zone: &Z, clock: NaiveDateTime) -> Timestamp {
    let time = match zone.from_local_datetime(&clock) {
        LocalResult::Single(time) | LocalResult::Ambiguous(time, _) => time.timestamp_millis(),
        LocalResult::None => {
            let before = |hours| clock - TimeDelta::hours(hours);
            let offset = (3..=27)
                .step_by(3)
                .find_map(|hours| zone.offset_from_local_datetime(&before(hours)).earliest())
                .unwrap_or_else(|| zone.offset_from_utc_datetime(&clock))
                .fix();
            (clock - TimeDelta::seconds(offset.local_minus_utc().into()))
                .and_utc()
                .timestamp_millis()
        }
    };
    Timestamp::from_millis(time)
}

impl std::fmt::Display for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(zone) => f.write_str(zone.name()),
            Self::Fixed(zone) => zone.fmt(f),
        }
    }
}

#[cfg(test)]
#[path = "zone_tests.rs"]
mod zone_tests;

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;

    use super::*;

    fn utc(zone: &str, hour: u32) -> String {
        let clock = NaiveDate::from_ymd_opt(2024, 3, 31).unwrap().and_hms_opt(hour, 30, 0).unwrap();
        Zone::parse(zone).unwrap().at(clock).to_string()
    }

    #[test]
    fn names_and_offsets() {
        assert_eq!(utc("Asia/Taipei", 9), "2024-03-31T01:30:00.000Z");
        for offset in ["+08:00", "+0800", "+8", "+08"] {
            assert_eq!(utc(offset, 9), "2024-03-31T01:30:00.000Z", "{offset}");
        }
        assert_eq!(utc("-03:30", 9), "2024-03-31T13:00:00.000Z");
        for wrong in ["", "Taipei/Asia", "8", "+", "+15:00", "+08:60", "+-8", "+８"] {
            assert_eq!(Zone::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_hour_that_never_was_is_the_next_one() {
        // 02:00 became 03:00 in Berlin.
        assert_eq!(utc("Europe/Berlin", 2), "2024-03-31T01:30:00.000Z");
        assert_eq!(utc("Europe/Berlin", 3), "2024-03-31T01:30:00.000Z");
        assert_eq!(utc("Europe/Berlin", 1), "2024-03-31T00:30:00.000Z");
    }
}
