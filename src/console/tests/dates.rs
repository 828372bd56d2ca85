//! Dates and times at the edges of days: daylight saving, leap days, turns of the year, date lines.

use chatkeep_core::time::Timestamp;
use chatkeep_i18n::Language;
use chrono::NaiveDate;
use proptest::prelude::*;

use super::at;
use crate::dates::{Dates, NoDay, day_of};

fn dates(language: Language, zone: &str, now: &str) -> Dates {
    Dates { language, zone: zone.parse().unwrap(), now: at(now) }
}

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

#[test]
fn clocks_that_are_put_forward_or_back_show_what_people_see() {
    let york = dates(Language::English, "America/New_York", "2026-06-01T00:00:00Z");
    for (time, shown) in [
        ("2026-03-08T06:59:59Z", "01:59"),
        ("2026-03-08T07:00:00Z", "03:00"),
        ("2026-11-01T05:30:00Z", "01:30"),
        ("2026-11-01T06:30:00Z", "01:30"),
        ("2026-11-01T07:30:00Z", "02:30"),
    ] {
        assert_eq!(york.time(at(time)), shown, "{time}");
    }
    // The days of both changes have another length, and are one day each.
    for (first, last, date) in [
        ("2026-03-08T05:00:00Z", "2026-03-09T03:59:59Z", day(2026, 3, 8)),
        ("2026-11-01T04:00:00Z", "2026-11-02T04:59:59Z", day(2026, 11, 1)),
    ] {
        assert_eq!((york.day(at(first)), york.day(at(last))), (date, date));
        let before = at(first).millis() - 1;
        assert_eq!(Some(york.day(Timestamp::from_millis(before))), date.pred_opt());
    }
}

#[test]
fn a_moment_is_on_three_days_at_once() {
    let moment = "2026-03-01T10:30:00Z";
    for (zone, shown) in [
        ("Pacific/Kiritimati", "2\u{a0}Mar 00:30"),
        ("Asia/Kathmandu", "1\u{a0}Mar 16:15"),
        ("Pacific/Pago_Pago", "28\u{a0}Feb 23:30"),
    ] {
        assert_eq!(dates(Language::English, zone, moment).moment(at(moment)), shown, "{zone}");
    }
}

#[test]
fn today_and_yesterday_are_days_of_the_zone_and_tomorrow_has_its_date() {
    let taipei = |now| dates(Language::English, "Asia/Taipei", now);
    let now = taipei("2026-02-28T16:00:00Z");
    for (time, heading, brief) in [
        ("2026-02-28T16:00:00Z", "Today", "00:00"),
        ("2026-02-28T15:59:59.999Z", "Yesterday", "Yesterday"),
        ("2026-02-27T16:00:00Z", "Yesterday", "Yesterday"),
        ("2026-02-27T15:59:59.999Z", "Fri, 27 Feb 2026", "27\u{a0}Feb"),
        ("2026-03-01T16:00:00Z", "Mon, 2 Mar 2026", "2\u{a0}Mar"),
        ("2025-03-01T00:00:00Z", "Sat, 1 Mar 2025", "1\u{a0}Mar 2025"),
    ] {
        let time = at(time);
        assert_eq!((&*now.heading(now.day(time)), &*now.brief(time)), (heading, brief), "{time}");
    }
    // On New Year's Day, yesterday was in another year.
    let new_year = taipei("2026-01-01T03:00:00Z");
    let eve = day(2025, 12, 31);
    assert_eq!(new_year.heading(eve), "Yesterday");
    assert_eq!(new_year.date(eve), "31\u{a0}Dec 2025");
    assert_eq!(new_year.date(day(2026, 12, 31)), "31\u{a0}Dec");
}

#[test]
fn the_year_is_left_out_by_the_year_of_the_zone() {
    // In Taipei it is 2026 already, in UTC it is not.
    let now = "2025-12-31T17:00:00Z";
    let (taipei, utc) =
        (dates(Language::English, "Asia/Taipei", now), dates(Language::English, "UTC", now));
    assert_eq!(
        (taipei.moment(at(now)), utc.moment(at(now))),
        ("1\u{a0}Jan 01:00".to_owned(), "31\u{a0}Dec 17:00".to_owned(),)
    );
    assert_eq!(taipei.date(day(2025, 12, 31)), "31\u{a0}Dec 2025");
    assert_eq!(utc.date(day(2026, 1, 1)), "1\u{a0}Jan 2026");
}

#[test]
fn leap_days_are_written_as_each_language_does() {
    let leap = day(2028, 2, 29);
    let of = |now: &'static str| {
        Language::ALL.map(|language| dates(language, "Asia/Bangkok", now).date(leap))
    };
    let other_year = ["2028年2月29日", "29\u{a0}Feb 2028", "2028年2月29日", "29\u{a0}ก.พ. 2571"];
    assert_eq!(of("2026-03-01T00:00:00Z"), other_year);
    let this_year = ["2月29日", "29\u{a0}Feb", "2月29日", "29\u{a0}ก.พ."];
    assert_eq!(of("2028-03-01T00:00:00Z"), this_year);
    let months = Language::ALL.map(|language| dates(language, "UTC", super::NOW).month(leap));
    assert_eq!(months, ["2028年2月", "Feb 2028", "2028年2月", "ก.พ. 2571"]);
}

#[test]
fn a_time_names_its_zone_where_nothing_else_does() {
    for language in Language::ALL {
        let dates = dates(language, "Europe/Berlin", "2026-07-01T10:00:00Z");
        let zoned = dates.zoned(dates.now);
        assert!(zoned.starts_with(&dates.moment(dates.now)), "{zoned}");
        assert!(zoned.contains("12:00") && zoned.contains("Europe/Berlin"), "{zoned}");
    }
}

#[test]
fn a_date_field_takes_what_date_fields_of_browsers_send() {
    for (field, expected) in [
        ("2028-02-29", Some(day(2028, 2, 29))),
        ("\u{3000}2026-01-31\u{a0}\n", Some(day(2026, 1, 31))),
        ("0000-01-01", Some(day(0, 1, 1))),
        ("9999-12-31", Some(day(9999, 12, 31))),
        ("\t\u{3000}", None),
    ] {
        assert_eq!(day_of(field), Ok(expected), "{field:?}");
    }
    for wrong in [
        "2026-02-29",
        "2100-02-29",
        "2026-00-10",
        "2026-04-31",
        "2026-1-31",
        "20260131",
        "2026-01-31T00:00",
        "31.01.2026",
        "２０２６-０１-３１",
        "พ.ศ. 2569",
        "2026−01−31",
    ] {
        assert_eq!(day_of(wrong), Err(NoDay), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_date_field_was_filled_with_is_the_same_day(offset in 0_i32..3_652_059) {
        let shown = NaiveDate::from_num_days_from_ce_opt(offset - 364).unwrap();
        prop_assert_eq!(day_of(&shown.to_string()), Ok(Some(shown)));
    }
}
