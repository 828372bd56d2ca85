//! Tests of the parts of a line by themselves: every day and every time of day in every form, and
//! words in every language.

use chrono::{Datelike as _, NaiveDate, NaiveTime, TimeDelta, Timelike as _};
use proptest::prelude::*;

use super::calendar::{DateLine, Orders};
use super::sample_tests::{COMPUTERS, PHONES};
use super::words::{self, Meaning};
use super::{DateOrder, clock, title};
use crate::sample_tests::regex;

/// Days on which calendars go wrong.
const DAYS: [(i32, u32, u32); 9] = [
    (2012, 2, 29),
    (2016, 2, 28),
    (2016, 3, 1),
    (2019, 12, 31),
    (2020, 1, 1),
    (2024, 2, 29),
    (2024, 11, 11),
    (2025, 5, 31),
    (2026, 9, 30),
];

fn read(line: &str, order: DateOrder) -> Option<NaiveDate> {
    DateLine::read(line)?.date(order)
}

#[test]
fn every_day_is_read_in_every_form() {
    for form in PHONES.iter().chain(&COMPUTERS) {
        for (year, month, day) in DAYS {
            let first = NaiveDate::from_ymd_opt(year, month, day).unwrap();
            for day in first.iter_days().take(8) {
                let line = (form.date)(day);
                assert_eq!(read(&line, form.order), Some(day), "{}: {line}", form.name);
                let spaced = format!(" {line}\u{3000}");
                assert_eq!(read(&spaced, form.order), Some(day), "{}: {spaced}", form.name);
            }
        }
    }
}

#[test]
fn a_day_with_the_name_of_another_is_no_day() {
    for form in PHONES.iter().chain(&COMPUTERS) {
        let monday = NaiveDate::from_ymd_opt(2024, 1, 1).unwrap();
        for days in 0..7 {
            let (day, next) = (monday + TimeDelta::days(days), monday + TimeDelta::days(days + 1));
            // The name of the next day, in its place.
            let (line, other) = ((form.date)(day), (form.date)(next));
            let mut numbers = line.chars().filter(char::is_ascii_digit);
            let digit = |c: char| if c.is_ascii_digit() { numbers.next().unwrap() } else { c };
            let wrong: String = other.chars().map(digit).collect();
            assert!(DateLine::read(&wrong).is_some(), "{}: {wrong}", form.name);
            assert_eq!(read(&wrong, form.order), None, "{}: {wrong}", form.name);
        }
    }
}

#[test]
fn leap_days_are_those_of_either_era() {
    for (line, expected) in [
        ("2024/02/29", true),
        ("2023/02/29", false),
        ("2000/02/29", true),
        ("2100/02/29", false),
        ("2567/02/29", true),
        ("2566/02/29", false),
        ("29/02/2567", true),
        ("29/02/2566", false),
        ("29/02/2024 BE", false),
        ("1989/12/31", false),
        ("2111/01/01", false),
    ] {
        assert_eq!(read(line, DateOrder::DayFirst).is_some(), expected, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn dates_in_their_order_never_show_the_other_one(
        first in 0..7_000_i64,
        pauses in prop::collection::vec(1..40_i64, 0..20),
    ) {
        let mut day = NaiveDate::from_ymd_opt(2011, 6, 23).unwrap() + TimeDelta::days(first);
        let (mut month_first, mut day_first) = (Orders::default(), Orders::default());
        let mut are_alike = true;
        for pause in std::iter::once(0).chain(pauses) {
            day += TimeDelta::days(pause);
            are_alike &= day.day() == day.month();
            let date = |form: &str| DateLine::read(&day.format(form).to_string()).unwrap();
            month_first.add(&date("%m/%d/%Y"));
            day_first.add(&date("%d/%m/%Y"));
        }
        prop_assert!(month_first.order() != Some(DateOrder::DayFirst));
        // Of 5/5/2024 both orders make the same.
        prop_assert!(day_first.order() != Some(DateOrder::MonthFirst) || are_alike);
    }

    #[test]
    fn a_line_of_anything_is_no_harm(line in regex("\\PC{0,30}|[0-9/.年月日 ]{0,20}")) {
        if let Some(date) = DateLine::read(&line) {
            for order in [DateOrder::MonthFirst, DateOrder::DayFirst] {
                let is_plausible = |date: NaiveDate| (1_990..=2_110).contains(&date.year());
                prop_assert!(date.date(order).is_none_or(is_plausible), "{line}");
            }
        }
        if let Some((time, rest)) = clock::time(&line) {
            prop_assert!(line.ends_with(rest) && time.second() == 0);
        }
    }
}

#[test]
fn every_minute_is_read_in_every_form() {
    type Form = fn(u32, u32) -> String;
    let from_12: [(&str, [&str; 2], bool); 8] = [
        ("<half><hour>:<minute>", ["上午", "下午"], true),
        ("<half> <hour>:<minute>", ["오전", "오후"], true),
        ("<half><hour>:<minute>", ["午前", "午後"], false),
        ("<half> <hour>:<minute>", ["AM", "PM"], true),
        ("<hour>:<minute> <half>", ["AM", "PM"], true),
        ("<hour>:<minute>\u{202f}<half>", ["am", "pm"], true),
        ("<hour>:<minute>\u{a0}<half>", ["a.m.", "p.m."], true),
        ("<hour>:<minute> <half>", ["ก่อนเที่ยง", "หลังเที่ยง"], true),
    ];
    let plain: [Form; 3] = [
        |hour, minute| format!("{hour:02}:{minute:02}"),
        |hour, minute| format!("{hour}:{minute:02}"),
        |hour, minute| format!("{hour}：{minute:02} น."),
    ];
    let minutes = |hour| [0, 1, 9, 10, 31, 59].map(|minute| (hour, minute));
    for (hour, minute) in (0..24).flat_map(minutes) {
        let expected = NaiveTime::from_hms_opt(hour, minute, 0);
        let mut lines: Vec<_> = plain.iter().map(|form| form(hour, minute)).collect();
        for (form, halves, has_12) in from_12 {
            let shown = if has_12 && hour % 12 == 0 { 12 } else { hour % 12 };
            let half = halves[usize::from(hour >= 12)];
            let line = form.replace("<half>", half).replace("<hour>", &shown.to_string());
            lines.push(line.replace("<minute>", &format!("{minute:02}")));
        }
        for line in lines {
            for rest in ["\tAnn\thi", " Ann hi", ""] {
                let read = clock::time(&format!("{line}{rest}"))
                    .map(|(time, rest)| (Some(time), rest.to_owned()));
                assert_eq!(read, Some((expected, rest.to_owned())), "{line}{rest}");
            }
        }
    }
    for line in [
        "24:00\tA",
        "23:60\tA",
        "-1:00\tA",
        "1:000\tA",
        "001:00\tA",
        "午後\tA",
        "9時\tA",
        "９:31\tA",
    ] {
        assert!(clock::time(line).is_none_or(|(_, rest)| !rest.starts_with('\t')), "{line}");
    }
}

#[test]
fn letters_that_change_their_size_in_lower_case_harm_no_name() {
    // Some have more bytes in lower case, some fewer.
    for name in [
        "\u{130}pek",
        "\u{23a}\u{23e} Smith",
        "STRA\u{1e9e}E",
        "\u{2126}mega",
        "\u{212a}",
        "\u{149}",
        "Ann \u{fb01}",
        "👩‍👩‍👧",
        "\u{1c5}",
        "\u{390}",
    ] {
        for did in ["joined the group.", "LEFT THE CHAT.", "unsent a message."] {
            let line = format!("{name} {did}");
            assert_eq!(words::who_did(&line).map(str::trim), Some(name), "{line}");
        }
        for did in ["已加入群組", "がグループを退会しました。", "님이 나갔습니다.", "ออกจากกลุ่ม"]
        {
            let line = format!("{name}{did}");
            assert_eq!(words::who_did(&line), Some(name), "{line}");
        }
        let invited = format!("{name} invited {name} to the group.");
        assert_eq!(words::who_did(&invited).map(str::trim), Some(name));
    }
}

#[test]
fn a_placeholder_is_one_only_as_the_app_writes_it() {
    let kind = |text: &str, bare| match words::meaning(text, bare) {
        Meaning::Said(content) => content.kind().name(),
        Meaning::TakenBack => "unsent",
    };
    for (text, with_brackets, bare) in [
        ("[Photo]", "image", "image"),
        (" [PHOTO] ", "image", "image"),
        ("[ Photo ]", "image", "image"),
        ("[Photo", "text", "text"),
        ("Photo]", "text", "text"),
        ("[Photo][Photo]", "text", "text"),
        ("[Photo]\nof the station", "text", "text"),
        ("[File] a.pdf\nand more", "text", "text"),
        ("[Sticker] hi", "text", "text"),
        ("[]", "text", "text"),
        ("Photos", "text", "image"),
        ("Photos of the trip", "text", "text"),
        ("貼圖", "text", "sticker"),
        ("貼圖！", "text", "text"),
        ("", "text", "text"),
        ("unsent a message.", "unsent", "unsent"),
        ("I unsent a message.", "text", "text"),
    ] {
        assert_eq!((kind(text, false), kind(text, true)), (with_brackets, bare), "{text:?}");
    }
    for (text, name) in [("[檔案] 報告 [2].pdf", "報告 [2].pdf"), ("[File]x", "x")] {
        let Meaning::Said(chatkeep_core::message::Content::File(info)) =
            words::meaning(text, false)
        else {
            panic!("{text} is no file");
        };
        assert_eq!(info.file_name.as_deref(), Some(name));
    }
}

#[test]
fn a_title_tells_the_name_however_odd_it_is() {
    for name in
        ["Lunch", "トーク履歴 2", "A [LINE] B", "與", "Chat history with", "午餐的聊天記錄 2"]
    {
        for (before, after) in [
            ("Chat history with ", ""),
            ("與", "的聊天記錄"),
            ("", "とのトーク履歴"),
            ("ประวัติการแชทกับ ", ""),
            ("", "님과의 대화"),
        ] {
            let title = format!("[LINE] {before}{name}{after}");
            assert!(title::is_heading(&title), "{title}");
            assert_eq!(title::chat_name(&title), Some(name), "{title}");
        }
    }
    assert_eq!(title::chat_name("[LINE]"), None);
    assert_eq!(title::chat_name("Chat history tells"), Some("Chat history tells"));
}
