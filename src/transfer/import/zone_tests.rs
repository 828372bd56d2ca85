//! Tests of zones against the times that their clocks show.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::TZ_VARIANTS;
use proptest::prelude::*;

use super::*;

fn clock(day: (i32, u32, u32), hour: u32, minute: u32) -> NaiveDateTime {
    let (year, month, day) = day;
    NaiveDate::from_ymd_opt(year, month, day).unwrap().and_hms_opt(hour, minute, 0).unwrap()
}

/// Returns what the clocks of a zone show at a time.
fn shown(zone: Tz, at: Timestamp) -> NaiveDateTime {
    let utc: DateTime<Utc> = DateTime::from_timestamp_millis(at.millis()).unwrap();
    utc.with_timezone(&zone).naive_local()
}

#[test]
fn a_zone_is_read_as_it_is_written() {
    // An import records its zone so, and the next one compares it.
    for zone in TZ_VARIANTS {
        let zone = Zone::Named(zone);
        assert_eq!(Zone::parse(&zone.to_string()), Some(zone));
    }
    for minutes in (-14 * 60 - 59)..=(14 * 60 + 59) {
        let zone = Zone::Fixed(FixedOffset::east_opt(minutes * 60).unwrap());
        assert_eq!(Zone::parse(&zone.to_string()), Some(zone), "{zone}");
    }
}

#[test]
fn an_offset_is_digits_within_a_day() {
    let seconds = |text: &str| match Zone::parse(text) {
        Some(Zone::Fixed(zone)) => Some(zone.local_minus_utc()),
        _ => None,
    };
    for (text, expected) in [
        ("+00:00", Some(0)),
        ("-00:30", Some(-1_800)),
        ("+14:59", Some(53_940)),
        ("-1245", Some(-45_900)),
        ("+530", Some(19_800)),
        ("+9", Some(32_400)),
        ("+15", None),
        ("+08:60", None),
        ("+0860", None),
        ("+08:00:00", None),
        ("08:00", None),
        (" +08:00", None),
        ("+08: 00", None),
        ("+:30", None),
        ("+2147483647", None),
        ("-2147483647", None),
        ("+2147483647:00", None),
        ("+00:2147483647", None),
        ("−08:00", None),
        ("UTC+8", None),
        ("Z", None),
    ] {
        assert_eq!(seconds(text), expected, "{text}");
    }
    assert_eq!(Zone::parse("asia/taipei"), None, "a name has one spelling");
}

#[test]
fn of_an_hour_that_comes_twice_it_is_the_first_one() {
    for (zone, day, hour, expected) in [
        ("Europe/Berlin", (2024, 10, 27), 2, "2024-10-27T00:30:00.000Z"),
        ("America/New_York", (2024, 11, 3), 1, "2024-11-03T05:30:00.000Z"),
        ("Australia/Sydney", (2024, 4, 7), 2, "2024-04-06T15:30:00.000Z"),
    ] {
        let named = Zone::parse(zone).unwrap();
        assert_eq!(named.at(clock(day, hour, 30)).to_string(), expected, "{zone}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_time_is_the_first_at_which_the_clocks_show_it(
        zone in 0..TZ_VARIANTS.len(),
        minutes in 0..55 * 366 * 24 * 60_i64,
    ) {
        let zone = TZ_VARIANTS[zone];
        let local = clock((1_975, 1, 1), 0, 0) + TimeDelta::minutes(minutes);
        let at = Zone::Named(zone).at(local);
        let exists = !matches!(zone.from_local_datetime(&local), LocalResult::None);
        prop_assert!(shown(zone, at) == local || !exists, "{zone} {local}");
        for before in (1..=180).filter(|_| exists) {
            let earlier = Timestamp::from_millis(at.millis() - before * 60_000);
            prop_assert!(shown(zone, earlier) != local, "{zone} {local}: {before} minutes earlier");
        }
    }

    #[test]
    fn a_fixed_offset_is_the_same_all_year(
        minutes in 0..55 * 366 * 24 * 60_i64,
        offset in -14 * 60..14 * 60_i32,
    ) {
        let local = clock((1_975, 1, 1), 0, 0) + TimeDelta::minutes(minutes);
        let zone = Zone::Fixed(FixedOffset::east_opt(offset * 60).unwrap());
        let utc = local.and_utc().timestamp_millis();
        prop_assert_eq!(zone.at(local).millis(), utc - i64::from(offset) * 60_000);
    }
}

#[test]
fn an_hour_that_never_was_is_an_hour_later() {
    for (zone, day, hour, expected) in [
        ("America/New_York", (2024, 3, 10), 2, "2024-03-10T07:30:00.000Z"),
        ("America/Santiago", (2024, 9, 8), 0, "2024-09-08T04:30:00.000Z"),
        ("Europe/Lisbon", (2024, 3, 31), 1, "2024-03-31T01:30:00.000Z"),
        ("Asia/Beirut", (2025, 3, 30), 0, "2025-03-29T22:30:00.000Z"),
        ("Asia/Tehran", (2021, 3, 22), 0, "2021-03-21T21:00:00.000Z"),
        // So far east that it is still the day before in UTC.
        ("Australia/Sydney", (2024, 10, 6), 2, "2024-10-05T16:30:00.000Z"),
        ("Pacific/Auckland", (2024, 9, 29), 2, "2024-09-28T14:30:00.000Z"),
    ] {
        let named = Zone::parse(zone).unwrap();
        assert_eq!(named.at(clock(day, hour, 30)).to_string(), expected, "{zone}");
    }
}

#[test]
fn a_day_that_never_was_is_the_next_one() {
    let samoa = Zone::parse("Pacific/Apia").unwrap();
    for (hour, expected) in [(0, "2011-12-30T10:30:00.000Z"), (23, "2011-12-31T09:30:00.000Z")] {
        assert_eq!(samoa.at(clock((2011, 12, 30), hour, 30)).to_string(), expected);
        assert_eq!(samoa.at(clock((2011, 12, 31), hour, 30)).to_string(), expected);
    }
}
