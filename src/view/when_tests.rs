//! Tests of times in zones: the first moment at which clocks show a time, and what they show.

use proptest::prelude::*;

use super::*;

/// First year of these tests: before, some zones had offsets with seconds.
const YEAR: i32 = 1_975;
const MINUTES: i64 = 55 * 366 * 24 * 60;

fn local(minutes: i64) -> NaiveDateTime {
    let first = NaiveDate::from_ymd_opt(YEAR, 1, 1).unwrap().and_time(NaiveTime::MIN);
    first + TimeDelta::minutes(minutes)
}

/// Returns the minute of this time, so many minutes later.
fn later(at: Timestamp, minutes: i64) -> Timestamp {
    Timestamp::from_millis(at.millis() + minutes * 60_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_moment_is_the_first_that_clocks_show(
        zone in 0..chrono_tz::TZ_VARIANTS.len(),
        minutes in 0..MINUTES,
    ) {
        let (zone, local) = (chrono_tz::TZ_VARIANTS[zone], local(minutes));
        let at = first(zone, local).unwrap();
        let shown = |at| local_time(zone, at).naive_local();
        // Where clocks skipped it, it is the next one that they showed.
        prop_assert!(shown(at) >= local, "{zone} {local}");
        for before in 1..=120 {
            let earlier = shown(later(at, -before));
            let is_before = if shown(at) == local { earlier != local } else { earlier < local };
            prop_assert!(is_before, "{zone} {local}: {before} minutes earlier");
        }
        let text = local.format("%Y-%m-%dT%H:%M").to_string();
        prop_assert_eq!(When::parse(&text).unwrap().within(zone), Some(at));
    }

    #[test]
    fn what_clocks_show_is_read_back(
        zone in 0..chrono_tz::TZ_VARIANTS.len(),
        millis in -62_100_000_000_000_i64..253_300_000_000_000,
    ) {
        let (zone, at) = (chrono_tz::TZ_VARIANTS[zone], Timestamp::from_millis(millis));
        let shown = local_time(zone, at);
        prop_assert_eq!(shown.timestamp_millis(), millis);
        // With its offset it is the same moment; of two without, the first.
        let read = When::parse(&at.to_string()).unwrap();
        prop_assert!(!read.is_local());
        prop_assert_eq!(read.within(zone), Some(at));
        let again = first(zone, shown.naive_local()).unwrap();
        prop_assert!(again <= at && local_time(zone, again).naive_local() == shown.naive_local());
    }

    #[test]
    fn a_day_begins_after_the_one_before(
        zone in 0..chrono_tz::TZ_VARIANTS.len(),
        days in 0..20_000_i64,
    ) {
        let zone = chrono_tz::TZ_VARIANTS[zone];
        let day = local(days * 24 * 60).date();
        let begin = When::of_day(day).within(zone).unwrap();
        let end = When::of_day(day + TimeDelta::days(1)).within(zone).unwrap();
        // A day that the zone left out is none.
        prop_assert!(begin <= end);
        prop_assert!(end.since(begin) <= std::time::Duration::from_hours(49));
        if begin < end {
            let dates = [begin, later(begin, 1)].map(|at| local_time(zone, at).date_naive());
            prop_assert!(dates.iter().all(|date| *date >= day), "{zone} {day}: {dates:?}");
        }
    }

    #[test]
    fn a_day_of_the_calendar_is_written_in_one_way(
        text in "\\PC{0,12}|[0-9]{3,5}-[0-9]{1,3}-[0-9]{1,3}",
    ) {
        let day = day_of_calendar(&text);
        prop_assert!(day.is_none_or(|day| day.format("%Y-%m-%d").to_string() == text));
    }
}

#[test]
fn days_of_the_calendar_are_those_that_there_are() {
    for (text, is_day) in [
        ("2024-02-29", true),
        ("2023-02-29", false),
        ("2100-02-29", false),
        ("2000-02-29", true),
        ("0000-02-29", true),
        ("9999-12-31", true),
        ("2024-00-10", false),
        ("2024-10-00", false),
        ("2024-04-31", false),
        ("２０２４-01-01", false),
        ("2024‐01‐01", false),
        ("2024-01-01\n", false),
    ] {
        assert_eq!(day_of_calendar(text).is_some(), is_day, "{text:?}");
    }
}

fn read(json: &str) -> Result<When, serde_json::Error> {
    serde_json::from_str(json)
}

#[test]
fn a_time_is_read_from_json_as_from_a_text() {
    assert_eq!(read(r#""2024-02-29""#).ok(), When::parse("2024-02-29"));
    assert_eq!(read(r#""\u0032024-02-29T00:00Z""#).ok(), When::parse("2024-02-29T00:00:00Z"));
    for wrong in
        ["20240229", "null", r#""""#, r#""today""#, r#""2024-02-30""#, r#""2024-02-29T24:00""#]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    let told = read(r#""today""#).unwrap_err().to_string();
    assert!(told.contains("2026-01-31T09:30:00Z"), "{told}");
}
