//! Tests of times as text, of days and of durations: laws over all times that a text can have.

use proptest::prelude::*;

use super::*;

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn parsed(text: &str) -> Option<i64> {
    Timestamp::parse(text).map(Timestamp::millis)
}

/// All times that a text can have, and more of those around our own.
fn times() -> impl Strategy<Value = Timestamp> {
    let all = Timestamp::EARLIEST.millis()..=Timestamp::LATEST.millis();
    prop_oneof![all, -100_000_i64..100_000, 1_700_000_000_000_i64..1_900_000_000_000].prop_map(at)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_time_that_is_printed_and_parsed_is_the_same(time in times()) {
        let text = time.to_string();
        prop_assert_eq!(Timestamp::parse(&text), Some(time));
        prop_assert_eq!(text.len(), "2026-01-02T03:04:05.678Z".len());
        let json = serde_json::to_string(&time).unwrap();
        prop_assert_eq!(&json, &format!("\"{text}\""));
        prop_assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), time);
    }

    #[test]
    fn texts_sort_as_their_times_do(one in times(), other in times()) {
        prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(&other));
    }

    #[test]
    fn a_day_begins_at_most_a_day_before_and_has_one_begin(time in times()) {
        let day = time.utc_day();
        prop_assert!(day <= time && time.millis() - day.millis() < DAY_MILLIS);
        prop_assert_eq!(day.utc_day(), day);
        prop_assert_eq!(day.plus(DAY).utc_day(), day.plus(DAY));
        prop_assert!(day.to_string().ends_with("T00:00:00.000Z"));
    }

    #[test]
    fn adding_and_taking_away_are_inverse_where_nothing_saturates(
        time in times(),
        millis in any::<u32>(),
    ) {
        let by = Duration::from_millis(u64::from(millis));
        prop_assert_eq!(time.plus(by).minus(by), time);
        prop_assert_eq!(time.plus(by).since(time), by);
        prop_assert_eq!(time.since(time.plus(by)), Duration::ZERO);
    }

    #[test]
    fn an_offset_moves_the_text_and_not_the_time(time in times(), minutes in -839_i32..=839) {
        let zone = chrono::FixedOffset::east_opt(minutes * 60).unwrap();
        let local = DateTime::from_timestamp_millis(time.millis()).unwrap().with_timezone(&zone);
        let text = local.to_rfc3339_opts(SecondsFormat::Millis, false);
        // A local time outside of the years that RFC 3339 has is no text of it.
        prop_assume!(text.len() == "2026-01-02T03:04:05.678+08:00".len());
        prop_assert_eq!(Timestamp::parse(&text), Some(time));
    }
}

proptest! {
    // Each name is compared with all zones.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_hint_names_a_zone_that_exists(asked in "[A-Za-z_/ ]{0,12}") {
        let hint = zone_hint(&asked);
        let named = hint.strip_prefix(" (did you mean ").and_then(|rest| rest.strip_suffix("?)"));
        prop_assert!(hint.is_empty() || named.is_some_and(|name| name.parse::<Tz>().is_ok()));
    }
}

#[test]
fn nothing_but_a_whole_time_with_its_offset_is_read() {
    for text in [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:00Z",
        "2026-01-02T03:04:61Z",
        "2026-01-02T03:04:05+24:00",
        "2026-1-2T3:4:5Z",
        "12026-01-02T03:04:05Z",
        "-0001-01-02T03:04:05Z",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z ",
        "２０２６-01-02T03:04:05Z",
        "2026-01-02T03:04:05.Z",
        "1767323045678",
    ] {
        assert_eq!(Timestamp::parse(text), None, "{text:?}");
    }
    // A number is no time in JSON either: seconds and milliseconds would be confused.
    for json in ["1767323045678", "1767323045", "null", r#""""#, r#"["2026-01-02T03:04:05Z"]"#] {
        assert!(serde_json::from_str::<Timestamp>(json).is_err(), "{json}");
    }
}

#[test]
fn offsets_of_all_the_world_are_read() {
    let utc = parsed("2026-01-02T03:04:05Z").unwrap();
    for text in [
        "2026-01-02T11:04:05+08:00",
        "2026-01-01T22:04:05-05:00",
        "2026-01-02T08:49:05+05:45",
        "2026-01-02T17:04:05+14:00",
        "2026-01-01T15:04:05-12:00",
        "2026-01-02T03:04:05-00:00",
    ] {
        assert_eq!(parsed(text), Some(utc), "{text}");
    }
}

#[test]
fn days_that_come_seldom_exist() {
    for (text, millis) in [
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
        ("1969-12-31T23:59:59.999Z", -1),
        ("1970-01-01T00:00:00Z", 0),
        ("2038-01-19T03:14:08Z", 2_147_483_648_000),
    ] {
        assert_eq!(parsed(text), Some(millis), "{text}");
    }
    // A leap second has no millisecond of its own: it is the next second.
    let leap = parsed("2016-12-31T23:59:60Z");
    assert_eq!(leap, parsed("2017-01-01T00:00:00Z"));
}

#[test]
fn less_than_a_millisecond_is_cut_off_towards_the_past() {
    for (text, millis) in [
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1970-01-01T00:00:00.000999999Z", 0),
        ("1970-01-01T00:00:00.9999999999999Z", 999),
        ("1969-12-31T23:59:59.9999Z", -1),
        ("1969-12-31T23:59:59.9Z", -100),
    ] {
        assert_eq!(parsed(text), Some(millis), "{text}");
    }
}

#[test]
fn the_ends_of_time_saturate() {
    let (first, last) = (at(i64::MIN), at(i64::MAX));
    assert_eq!((last.plus(DAY), first.minus(DAY)), (last, first));
    assert_eq!((at(0).plus(Duration::MAX), at(-1).minus(Duration::MAX)), (last, first));
    assert_eq!(last.since(first), Duration::from_millis(i64::MAX.unsigned_abs()));
    assert_eq!(first.since(last), Duration::ZERO);
    assert_eq!(first.utc_day(), first, "there is no day before it");
    assert_eq!(at(-1).utc_day(), at(-DAY_MILLIS));
}

#[test]
fn a_clock_that_is_moved_stays_where_it_is_put() {
    let clock = ManualClock::new(at(5));
    clock.advance(Duration::from_micros(2_999));
    assert_eq!((clock.now(), clock.machine()), (at(7), at(7)));
    clock.set(at(-1));
    clock.observe(at(99), at(0));
    assert_eq!(clock.now(), at(-1), "nobody corrects it");
    assert!(clock.is_confirmed());
}

#[test]
fn an_http_date_is_one_whole_and_true_date() {
    let time = Some(at(1_767_323_045_000));
    for text in ["Fri, 02 Jan 2026 03:04:05 GMT", " Fri, 02 Jan 2026 03:04:05 GMT\r\n"] {
        assert_eq!(Timestamp::parse_http(text), time, "{text:?}");
    }
    for text in [
        "",
        "Thu, 02 Jan 2026 03:04:05 GMT",
        "Sun, 29 Feb 2026 03:04:05 GMT",
        "Fri, 02 Jan 2026 25:04:05 GMT",
        "2026-01-02T03:04:05Z",
        "0",
    ] {
        assert_eq!(Timestamp::parse_http(text), None, "{text:?}");
    }
}

#[test]
fn every_zone_is_found_by_its_name_in_small_letters() {
    for zone in TZ_VARIANTS.into_iter().step_by(7) {
        let asked = zone.name().to_lowercase();
        let hint = zone_hint(&format!(" {} ", asked.replace('_', " ")));
        let named = hint.trim_start_matches(" (did you mean ").trim_end_matches("?)");
        let named = named.to_lowercase();
        let place = named.rsplit('/').next();
        assert!(named == asked || place == Some(asked.as_str()), "{asked}:{hint}");
    }
}

#[test]
fn a_name_longer_than_any_is_compared_with_none() {
    let longest = TZ_VARIANTS.into_iter().map(|zone| zone.name().chars().count()).max();
    assert!(longest.is_some_and(|longest| COMPARED.contains(&(longest + longest / 10))));
    // Compared with each name it would take minutes.
    for asked in ["asia/taipei".repeat(100_000), "/".repeat(1_000_000), "台".repeat(300_000)] {
        assert_eq!(zone_hint(&asked), "", "{} bytes", asked.len());
    }
}

#[test]
fn names_in_other_letters_are_no_misspelt_zones() {
    for asked in
        ["台北", "東京都千代田区", "ａｓｉａ／ｔａｉｐｅｉ", "👍👍👍👍👍👍👍", "\0\0\0\0\0\0"]
    {
        assert_eq!(zone_hint(asked), "", "{asked:?}");
    }
}
