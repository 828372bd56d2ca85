//! Values from callers: lengths of texts in every script, keywords, ids, time zones and days.

use std::collections::BTreeSet;

use chatkeep_index::fold_phrase;
use chatkeep_view::when::{When, local_time};
use chrono::{Days, NaiveDate};
use chrono_tz::{TZ_VARIANTS, Tz};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::conversation::{refusal, sentence};
use crate::input::{channel_ids, keywords, not_for, text};
use crate::messages::{day_in, point_in_time};
use crate::{Defect, FieldPath, ServiceError, parse_time_zone};

const WORDS: FieldPath = FieldPath::body("/keywords");
const TEXT: FieldPath = FieldPath::body("/text");

/// Units of text as people see them, with the number of characters of each in NFC.
const UNITS: [(&str, usize); 12] = [
    ("x", 1),
    ("界", 1),
    ("ｘ", 1),
    ("ﾊﾟ", 2),
    ("e\u{301}", 1),
    // A syllable that is typed letter by letter.
    ("\u{1112}\u{1161}\u{11ab}", 1),
    ("ก็", 2),
    ("ไม่", 3),
    ("\u{202e}א", 2),
    ("👨\u{200d}👩\u{200d}👧", 5),
    ("🇹🇼", 2),
    ("\r\n", 2),
];

/// Spellings of four words, each row of one word.
const SPELLINGS: [&[&str]; 4] = [
    &["wifi", "WiFi", " ＷＩＦＩ ", "wifi?", "wi\u{200b}fi!"],
    &["営業時間", "営業時間。", "\u{3000}営業時間"],
    &["café", "cafe\u{301}", "CAFÉ…"],
    &["\u{e41}ม่", "\u{e41}ม่!", "\u{e40}\u{e40}ม่"],
];

fn given(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("word {number}")).collect()
}

#[test]
fn a_text_is_as_long_as_its_characters_composed() {
    // Divisible by the size of every unit.
    const MAX: usize = 60;
    for (unit, size) in UNITS {
        let full = format!("a{}", unit.repeat(MAX / size));
        let whole = unit.repeat(MAX / size);
        // One that cannot be seen must not be empty.
        let seen = usize::from(!whole.trim().is_empty());
        assert_eq!(text(TEXT, whole.clone(), seen, MAX), Ok(whole), "{unit:?}");
        let (field, defect) = refusal(text(TEXT, full, 1, MAX));
        assert_eq!((&*field, defect), ("/text", Defect::TooLong { max: MAX }), "{unit:?}");
    }
}

#[test]
fn a_text_that_must_be_there_can_be_seen_and_stays_as_it_is() {
    for unseen in ["", " ", "\u{3000}", "\t\r\n", "\u{200b}\u{feff}", "\u{2060}\u{ad}"] {
        let (_, defect) = refusal(text(TEXT, unseen.to_owned(), 1, 10));
        assert_eq!(defect, Defect::Empty, "{unseen:?}");
        assert_eq!(text(TEXT, unseen.to_owned(), 0, 10).as_deref(), Ok(unseen));
    }
    for seen in ["  a  ", "\u{200b}.", "👍", "\u{202e}א", "a\r\nb\n"] {
        assert_eq!(text(TEXT, seen.to_owned(), 1, 10).as_deref(), Ok(seen));
    }
    for nul in ["\0", "a\0b", "\0".repeat(100).as_str()] {
        assert_eq!(sentence(text(TEXT, nul.to_owned(), 0, 10)), "text contains U+0000");
    }
}

#[test]
fn lists_of_phrases_are_as_long_as_the_phrases_differ() {
    let wanted = |given| keywords(WORDS, given, 1, 3);
    assert_eq!(wanted(numbered(3)).unwrap().len(), 3);
    assert_eq!(
        refusal(wanted(numbered(4))),
        ("/keywords".to_owned(), Defect::TooManyKeywords { max: 3 })
    );
    // Of each keyword that may be twenty are looked at, however alike they are.
    assert_eq!(wanted(vec!["same".to_owned(); 60]).unwrap(), ["same"]);
    let (_, defect) = refusal(wanted(vec!["same".to_owned(); 61]));
    assert_eq!(defect, Defect::TooManyKeywords { max: 3 });
    assert_eq!(keywords(WORDS, Vec::new(), 0, 3), Ok(Vec::new()));
    assert_eq!(refusal(wanted(Vec::new())).1, Defect::TooFewKeywords { min: 1 });
    let longest = "長".repeat(100);
    assert_eq!(wanted(vec![longest.clone()]), Ok(vec![longest.clone()]));
    let (field, defect) = refusal(wanted(vec!["a".to_owned(), format!("{longest}い")]));
    assert_eq!((&*field, defect), ("/keywords/1", Defect::TooLong { max: 100 }));
}

#[test]
fn a_text_that_a_rule_is_not_for_is_none_of_its_keywords_in_any_spelling() {
    let at = FieldPath::body("/notFor");
    for row in SPELLINGS {
        let row = || row.iter().copied();
        for (keyword, other) in row().flat_map(|one| row().map(move |other| (one, other))) {
            let texts = given(&["another text", other]);
            let (field, defect) = refusal(not_for(at.clone(), texts, &given(&[keyword])));
            assert_eq!((&*field, defect), ("/notFor/1", Defect::IsKeyword), "{keyword} {other}");
        }
    }
    let free = given(&["free wifi", "FREE wifi!", "wifi free"]);
    assert_eq!(not_for(at.clone(), free, &given(&["wifi"])).unwrap(), ["free wifi", "wifi free"]);
    assert_eq!(not_for(at.clone(), numbered(50), &[]).unwrap().len(), 50);
    assert_eq!(refusal(not_for(at.clone(), numbered(51), &[])).1, Defect::TooManyTexts { max: 50 });
    let longest = "字".repeat(500);
    assert!(not_for(at.clone(), vec![longest.clone()], &[]).is_ok());
    let (_, defect) = refusal(not_for(at, vec![longest + "a"], &[]));
    assert_eq!(defect, Defect::TooLong { max: 500 });
}

#[test]
fn ids_of_channels_are_those_of_platforms() {
    let field = FieldPath::body("/channelIds");
    let ids = |words: &[&str]| channel_ids(&field, given(words), 4);
    let repeated = ids(&["C2", "C1", "C2", "U1~shop"]).unwrap();
    assert_eq!(repeated, ["C2".into(), "C1".into(), "U1~shop".into()], "in the order given");
    let longest = format!("C{}", "a".repeat(99));
    assert!(ids(&[longest.as_str()]).is_ok());
    for (wrong, why) in [
        (format!("{longest}a"), "is longer than 100 characters"),
        ("C 1".to_owned(), "contains white space"),
        ("C1\u{3000}".to_owned(), "contains white space"),
        (String::new(), "is not a valid ID: it is empty"),
        ("C\u{7}".to_owned(), "is not a valid ID: it contains a control character"),
        ("C\0".to_owned(), "is not a valid ID"),
        ("Ｃ1".to_owned(), "is not a channel ID"),
        ("c1".to_owned(), "is not a channel ID"),
        ("C界".to_owned(), "is not a channel ID"),
        ("me".to_owned(), "is not a channel ID"),
    ] {
        let refused = ids(&["C1", wrong.as_str()]);
        assert_eq!(refusal(refused.clone()).0, "/channelIds/1", "{wrong:?}");
        let told = sentence(refused);
        assert!(told.starts_with(&format!("channelIds[1] {why}")), "{told}");
    }
    // They are counted before the repeated ones collapse.
    let many = sentence(ids(&["C1"; 5]));
    assert_eq!(many, "channelIds contains more than 4 channels");
}

#[test]
fn a_zone_has_one_name_and_is_suggested_by_others() {
    let field = FieldPath::body("/timeZone");
    for zone in TZ_VARIANTS {
        assert_eq!(parse_time_zone(field.clone(), zone.name()), Ok(zone));
    }
    for (given, hint) in [
        ("asia/taipei", " (did you mean Asia/Taipei?)"),
        ("Asia/Taipei ", " (did you mean Asia/Taipei?)"),
        ("+08:00", ""),
        ("台北", ""),
        ("", ""),
    ] {
        let refused = parse_time_zone(field.clone(), given);
        assert_eq!(refusal(refused.clone()).0, "/timeZone");
        let why = "timeZone must be an IANA time zone, such as Asia/Taipei";
        assert_eq!(sentence(refused), format!("{why}{hint}"), "{given}");
    }
}

#[test]
fn days_are_as_long_as_clocks_say() {
    let hours = |zone: &str, day: &str| {
        let zone: Tz = zone.parse().unwrap();
        let (from, to) = day_in(zone, day.parse().unwrap()).unwrap();
        (to.millis() - from.millis()) / 3_600_000
    };
    for (zone, day, expected) in [
        ("UTC", "2028-02-29", 24),
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        // Midnight itself is skipped, and shown twice.
        ("Asia/Beirut", "2025-03-30", 23),
        ("America/Havana", "2025-11-02", 25),
        // A day that there never was.
        ("Pacific/Apia", "2011-12-30", 0),
        ("Asia/Taipei", "2026-03-08", 24),
    ] {
        assert_eq!(hours(zone, day), expected, "{zone} {day}");
    }
    assert_eq!(day_in(Tz::UTC, NaiveDate::MAX), None);
}

#[test]
fn a_time_beyond_the_calendar_names_its_field() {
    let west: Tz = "America/New_York".parse().unwrap();
    let far = When::of_day(NaiveDate::from_ymd_opt(12_000, 1, 1).unwrap());
    for field in [FieldPath::FROM, FieldPath::TO] {
        let name = field.text();
        let refused = point_in_time(field.clone(), Some(far), west);
        assert_eq!(sentence(refused), format!("{name} is out of range"));
        assert_eq!(point_in_time(field, None, west), Ok::<_, ServiceError>(None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The first of those that match the same messages stays, as it was typed, and nothing is lost.
    #[test]
    fn keywords_that_match_the_same_are_one(
        chosen in vec(select(SPELLINGS.concat()), 1..30),
    ) {
        let kept = keywords(WORDS, given(&chosen), 1, 50).unwrap();
        let matched = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| fold_phrase(word)).collect()
        };
        let all: BTreeSet<_> = matched(&chosen).into_iter().collect();
        let kept_words: Vec<_> = kept.iter().map(String::as_str).collect();
        let folded = matched(&kept_words);
        prop_assert_eq!(folded.len(), all.len(), "{:?}", kept);
        prop_assert_eq!(folded.iter().cloned().collect::<BTreeSet<_>>(), all);
        for (word, folded) in kept_words.iter().zip(&folded) {
            let first = chosen.iter().find(|word| fold_phrase(word) == *folded);
            prop_assert_eq!(first.map(|first| first.trim()), Some(*word));
        }
        prop_assert_eq!(keywords(WORDS, kept.clone(), 1, 50), Ok(kept), "once is enough");
    }

    #[test]
    fn days_follow_each_other_in_every_zone(
        zone in select(TZ_VARIANTS.to_vec()),
        days in 0_u64..55_000,
    ) {
        // From 1900 to 2050.
        let first = NaiveDate::from_ymd_opt(1900, 1, 1).unwrap();
        let day = first.checked_add_days(Days::new(days)).unwrap();
        let (from, to) = day_in(zone, day).unwrap();
        let next = day_in(zone, day.succ_opt().unwrap()).unwrap();
        prop_assert_eq!(to, next.0, "{} {}", zone, day);
        prop_assert!(from <= to);
        if from < to {
            prop_assert_eq!(local_time(zone, from).date_naive(), day, "{}", zone);
        }
        prop_assert_eq!(When::of_day(day).within(zone), Some(from));
    }
}
