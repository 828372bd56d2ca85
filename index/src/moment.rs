//! Parsing of times and days as people write them, for the search language, the REST interface, MCP
//! and the command line.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime};

/// Years of a point in time: those that RFC 3339 has a text for.
const YEARS: RangeInclusive<i32> = 0..=9999;
/// Points in time of these years in UTC, in milliseconds since 1970.
const POINTS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// A time as it was written. Without an offset from UTC it is a local time, and becomes a point in
/// time once its time zone is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// A point in time, in milliseconds since 1970.
    At(i64),
    /// A local time; of a day alone, its midnight.
    Local(NaiveDateTime),
}

impl Moment {
    /// Accepted forms, for error messages.
    pub const FORMS: &str = "a day such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z";

    /// Parses a day (`2026-01-31`, `2026/01/31`), a local time (`2026-01-31T09:30`, seconds and
    /// their fraction may follow), or a point in time (the same with `Z` or an offset such as
    /// `+08:00`). A space may stand for the `T`, and for the `+` that a query string decodes to a
    /// space.
    ///
    /// A point in time is within the years 0 to 9999, as written and in UTC. For a local time its
    /// zone decides that: whoever converts it checks it.
    ///
    /// Numbers have all of their digits, and white space is around the text only.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Self::at(time.timestamp_millis());
        }
        let day = |text| {
            if !has_whole_numbers(text) {
                return None;
            }
            let dashed = NaiveDate::parse_from_str(text, "%Y-%m-%d");
            dashed.or_else(|_| NaiveDate::parse_from_str(text, "%Y/%m/%d")).ok()
        };
        let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
            return day(text).map(|day| Self::Local(day.and_time(NaiveTime::MIN)));
        };
        let (clock, offset) = match time.find(['Z', 'z', '+', '-', ' ']) {
            Some(at) => time.split_at(at),
            None => (time, ""),
        };
        let local = day(date)?.and_time(time_of_day(clock)?);
        if offset.is_empty() {
            return Some(Self::Local(local));
        }
        let east = minutes_east(offset)?;
        if !YEARS.contains(&local.year()) {
            return None;
        }
        Self::at(local.and_utc().timestamp_millis() - east * 60_000)
    }

    /// Returns a point in time; `None` for one that could not be written in UTC.
    fn at(millis: i64) -> Option<Self> {
        POINTS.contains(&millis).then_some(Self::At(millis))
    }
}

/// Returns true for a day whose month and day have two digits, and its year four; beyond the year 9999
/// a plus and more.
fn has_whole_numbers(day: &str) -> bool {
    let mut parts = day.rsplitn(3, ['-', '/']);
    parts.next().is_some_and(is_pair)
        && parts.next().is_some_and(is_pair)
        && parts.next().is_some_and(|year| match year.strip_prefix('+') {
            Some(year) => year.len() > 4 && is_number(year),
            None => year.len() == 4 && is_number(year),
        })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for a number of two digits.
fn is_pair(text: &str) -> bool {
    text.len() == 2 && is_number(text)
}

/// Parses hours and minutes; seconds may follow, and then their fraction. The form is checked first:
/// chrono also takes numbers of one digit, and white space before them.
fn time_of_day(text: &str) -> Option<NaiveTime> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let form = match (whole.split(':').count(), fraction) {
        (2, None) => "%H:%M",
        (3, None) => "%H:%M:%S",
        (3, Some(fraction)) if is_number(fraction) => "%H:%M:%S%.f",
        _ => return None,
    };
    if !whole.split(':').all(is_pair) {
        return None;
    }
    NaiveTime::parse_from_str(text, form).ok()
}

/// Parses `Z` or an offset such as `+08:00`, `+0800` or `+08` to minutes east of UTC.
fn minutes_east(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+" | " ", digits) => (1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 2 => (digits, "00"),
        None => digits.split_at_checked(2)?,
    };
    if !is_pair(hours) || !is_pair(minutes) {
        return None;
    }
    let hours: i64 = hours.parse().ok().filter(|hours| *hours < 24)?;
    let minutes: i64 = minutes.parse().ok().filter(|minutes| *minutes < 60)?;
    Some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-31T09:30:00Z.
    const TIME: i64 = 1_769_851_800_000;

    /// Returns a local time as if it were one of UTC.
    fn local(text: &str) -> Option<i64> {
        match Moment::parse(text) {
            Some(Moment::Local(local)) => Some(local.and_utc().timestamp_millis()),
            _ => None,
        }
    }

    #[test]
    fn points_in_time_have_an_offset() {
        for text in [
            "2026-01-31T09:30:00Z",
            "2026-01-31T09:30Z",
            "2026-01-31t09:30z",
            "2026-01-31 09:30:00.000Z",
            "2026-01-31T17:30:00+08:00",
            "2026-01-31T17:30 08:00",
            "2026/01/31T17:30+0800",
            "2026-01-31T17:30+08",
            "2026-01-31T04:00-05:30",
        ] {
            assert_eq!(Moment::parse(text), Some(Moment::At(TIME)), "{text}");
        }
    }

    #[test]
    fn others_are_times_of_a_place() {
        for text in ["2026-01-31T09:30", "2026-01-31 09:30:00", "2026/01/31T09:30:00.000"] {
            assert_eq!(local(text), Some(TIME), "{text}");
        }
        assert_eq!(local(" 2026-01-31 "), Some(TIME - 34_200_000));
    }

    #[test]
    fn points_in_time_have_years_of_four_digits() {
        for (text, millis) in [
            ("0000-01-01T00:00:00Z", *POINTS.start()),
            ("0000-01-01T00:00Z", *POINTS.start()),
            ("9999-12-31T23:59:59.999Z", *POINTS.end()),
            ("9999/12/31 23:59:59.999+00", *POINTS.end()),
        ] {
            assert_eq!(Moment::parse(text), Some(Moment::At(millis)), "{text}");
        }
        for text in [
            "+262142-12-31T23:59:59Z",
            "+262142-12-31T23:59:59-23:59",
            "-262143-01-01T00:00:00Z",
            "+10000-01-01T00:00:00Z",
            "-0001-12-31T23:59:59Z",
            // The same point in time could be written, but was not.
            "+10000-01-01T07:59:59+08:00",
            "-0001-12-31T23:59:59-08:00",
            // These have no text in UTC.
            "9999-12-31T23:59:59-23:59",
            "9999-12-31T23:59-00:01",
            "0000-01-01T00:00:00+00:01",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "yesterday",
            "2026-02-30",
            "2026-1-31",
            "2026-01-1",
            "+2026-01-31",
            "26-01-31",
            "2026-01- 1",
            "2026-1-31T09:30Z",
            "2026-01-31T",
            "2026-01-31T25:00",
            "2026-01-31T09:30+",
            "2026-01-31T09:30+8",
            "2026-01-31T09:30+24:00",
            "2026-01-31T09:30+08:0é",
            "31.01.2026",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
