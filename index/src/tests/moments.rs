//! Times as they are written: what is printed in any form is read back, and nothing else is.

use chrono::{DateTime, Datelike as _, Days, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime};
use proptest::prelude::*;
use proptest::sample::select;

use crate::Moment;

/// First and last point in time, in milliseconds since 1970: those of the years 0 to 9999 in UTC.
const FIRST: i64 = -62_167_219_200_000;
const LAST: i64 = 253_402_300_799_999;

/// Returns the wall clock of an offset, in minutes east.
fn local(millis: i64, east: i32) -> NaiveDateTime {
    let offset = FixedOffset::east_opt(east * 60).unwrap();
    DateTime::from_timestamp_millis(millis).unwrap().with_timezone(&offset).naive_local()
}

/// Returns an offset as people write it, in one of its forms.
fn offset(east: i32, form: usize) -> String {
    let sign = if east < 0 { '-' } else { '+' };
    let (hours, minutes) = (east.abs() / 60, east.abs() % 60);
    match form {
        0 if east == 0 => "Z".to_owned(),
        1 if east == 0 => "z".to_owned(),
        2 if minutes == 0 => format!("{sign}{hours:02}"),
        3 => format!("{sign}{hours:02}{minutes:02}"),
        // A plus in a query string.
        4 if east >= 0 => format!(" {hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}"),
    }
}

proptest! {
    #[test]
    fn a_point_in_time_is_read_as_it_was_written(
        millis in FIRST..=LAST, east in -1_439..=1_439, day in select(vec!["%Y-%m-%d", "%Y/%m/%d"]),
        between in select(vec!["T", "t", " "]), form in 0_usize..6, around in "[ \n]{0,2}",
    ) {
        let clock = local(millis, east);
        // Years of four digits have their zeros.
        let years = clock.year();
        let text = format!(
            "{around}{}{between}{}{}{around}",
            clock.format(day),
            clock.format("%H:%M:%S%.3f"),
            offset(east, form),
        );
        let expected = (0..=9999).contains(&years).then_some(Moment::At(millis));
        prop_assert_eq!(Moment::parse(&text), expected, "{:?}", text);
    }

    #[test]
    fn seconds_may_be_left_out_where_there_are_none(
        minutes in FIRST / 60_000..=LAST / 60_000, east in -900..=900, form in 0_usize..6,
    ) {
        let millis = minutes * 60_000;
        let clock = local(millis, east);
        let text = format!("{}{}", clock.format("%Y-%m-%dT%H:%M"), offset(east, form));
        let expected = (0..=9999).contains(&clock.year()).then_some(Moment::At(millis));
        prop_assert_eq!(Moment::parse(&text), expected, "{:?}", text);
        if (0..=9999).contains(&clock.year()) {
            let plain = clock.format("%Y/%m/%d %H:%M").to_string();
            prop_assert_eq!(Moment::parse(&plain), Some(Moment::Local(clock)), "{:?}", plain);
        }
    }

    #[test]
    fn a_day_is_its_midnight_and_there_is_none_beyond_its_month(days in 0_u64..3_652_000) {
        let first = NaiveDate::from_ymd_opt(0, 1, 1).unwrap();
        let day = first.checked_add_days(Days::new(days)).unwrap();
        for form in ["%Y-%m-%d", "%Y/%m/%d"] {
            let text = day.format(form).to_string();
            let midnight = day.and_time(NaiveTime::MIN);
            prop_assert_eq!(Moment::parse(&text), Some(Moment::Local(midnight)), "{}", text);
        }
        // The day after the last of its month, by its number.
        let next = day.succ_opt().unwrap();
        if next.month() != day.month() {
            let beyond = format!("{}-{:02}", day.format("%Y-%m"), day.day() + 1);
            prop_assert_eq!(Moment::parse(&beyond), None, "{}", beyond);
        }
    }

    #[test]
    fn any_text_is_a_moment_of_its_digits_or_none(
        text in "[0-9]{0,5}[-/ ][0-9]{1,2}[-/][0-9]{1,2}[T ]?[0-9:.]{0,9}[Zz+ -]?[0-9:]{0,5}",
    ) {
        if let Some(Moment::At(millis)) = Moment::parse(&text) {
            prop_assert!((FIRST..=LAST).contains(&millis), "{:?}", text);
        }
        let padded = format!("\u{3000}{text}\n");
        prop_assert_eq!(Moment::parse(&padded), Moment::parse(text.trim()), "{:?}", text);
        prop_assert_eq!(Moment::parse(&format!("{text}x")), None, "{:?}", text);
    }
}

#[test]
fn leap_days_and_hours_that_a_zone_leaves_out_are_times() {
    for (text, is_one) in [
        ("2024-02-29", true),
        ("2000-02-29T00:00Z", true),
        ("1900-02-29", false),
        ("2023-02-29T12:00+08:00", false),
        ("2026-03-29T02:30", true),
        ("2026-12-31T23:59:59.999999999Z", true),
        ("2026-01-31T24:00", false),
        ("2026-01-31T23:60", false),
        ("2026-01-31T12:00+23:59", true),
        ("2026-01-31T12:00+12:60", false),
        ("2026-01-31T12:00Z+08:00", false),
        ("2026-01-31TZ", false),
        ("２０２６-01-31", false),
        ("2026‐01‐31", false),
        ("2026-01/31", false),
        ("+12026-01-31", true),
        ("+12026-01-31T00:00Z", false),
        ("2026-01-31\0", false),
    ] {
        assert_eq!(Moment::parse(text).is_some(), is_one, "{text:?}");
    }
}

#[test]
fn hours_minutes_and_seconds_have_two_digits() {
    for text in [
        "2026-01-31T9:30",
        "2026-01-31T9:30Z",
        "2026-01-31 09:3",
        "2026/01/31T09:30:5",
        "2026-01-31T09:30:5+08:00",
        "2026-01-31T9:3:5Z",
        "2026-01-31T009:30",
        "2026-01-31T0930",
        "2026-01-31T09:30:",
    ] {
        assert_eq!(Moment::parse(text), None, "{text:?}");
    }
}

#[test]
fn only_seconds_have_a_fraction() {
    for text in [
        "2026-01-31T09:30.5",
        "2026-01-31T09:30.5Z",
        "2026-01-31T09.5:30",
        "2026-01-31T09:30:05.",
        "2026-01-31T09:30:05.+08",
        "2026-01-31T09:30:05.1.2",
        "2026-01-31T09:30:05,5",
    ] {
        assert_eq!(Moment::parse(text), None, "{text:?}");
    }
}

#[test]
fn an_offset_has_its_colon_between_hours_and_minutes() {
    for text in [
        "2026-01-31T17:30+0:800",
        "2026-01-31T17:30+080:0",
        "2026-01-31T17:30+08:",
        "2026-01-31T17:30+:08",
        "2026-01-31T17:30-0::800",
        "2026-01-31T17:30+080",
        "2026-01-31T17:30+08:00:00",
        "2026-01-31T17:30Z08:00",
        "2026-01-31T17:30z0800",
    ] {
        assert_eq!(Moment::parse(text), None, "{text:?}");
    }
}

#[test]
fn no_white_space_stands_within_a_time() {
    for text in [
        "2026-01-31T\u{3000}09:30",
        "2026-01-31T\t09:30Z",
        "2026-01-31T09:\n30",
        "2026-01-31  09:30",
        "2026-01-31T09:30 Z",
        "2026-01-31T09:30+ 08:00",
    ] {
        assert_eq!(Moment::parse(text), None, "{text:?}");
    }
}
