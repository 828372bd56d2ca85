//! The catalogue as a whole: its letters, numbers and names; tags, dates and isolation at the edges.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;

use super::{DateForm, Language, Value, grouped};

/// Files of each language, in the order of [`Language::ALL`].
const FILES: [[&str; 6]; 4] = [
    [
        include_str!("../locales/zh-Hant/consent.ftl"),
        include_str!("../locales/zh-Hant/console.ftl"),
        include_str!("../locales/zh-Hant/demo.ftl"),
        include_str!("../locales/zh-Hant/export.ftl"),
        include_str!("../locales/zh-Hant/notices.ftl"),
        include_str!("../locales/zh-Hant/operator.ftl"),
    ],
    [
        include_str!("../locales/en/consent.ftl"),
        include_str!("../locales/en/console.ftl"),
        include_str!("../locales/en/demo.ftl"),
        include_str!("../locales/en/export.ftl"),
        include_str!("../locales/en/notices.ftl"),
        include_str!("../locales/en/operator.ftl"),
    ],
    [
        include_str!("../locales/ja/consent.ftl"),
        include_str!("../locales/ja/console.ftl"),
        include_str!("../locales/ja/demo.ftl"),
        include_str!("../locales/ja/export.ftl"),
        include_str!("../locales/ja/notices.ftl"),
        include_str!("../locales/ja/operator.ftl"),
    ],
    [
        include_str!("../locales/th/consent.ftl"),
        include_str!("../locales/th/console.ftl"),
        include_str!("../locales/th/demo.ftl"),
        include_str!("../locales/th/export.ftl"),
        include_str!("../locales/th/notices.ftl"),
        include_str!("../locales/th/operator.ftl"),
    ],
];

/// Characters that simplified Chinese has in place of traditional ones.
const SIMPLIFIED: [&str; 2] = [
    "们这来时为说国会对发经动产进过还从现实应开关问间业东车长门马鸟鱼龙见贝页风飞饭钱银铁错钟队阴阳",
    "陆难电话语词读写让认识设计请谁课谢讯访证评论记许订单亲爱无气热点资费买卖货质选远运达边连适邮邻",
];

fn is_thai(c: char) -> bool {
    ('\u{e00}'..='\u{e7f}').contains(&c)
}

fn is_kana(c: char) -> bool {
    ('\u{3041}'..='\u{30ff}').contains(&c) && !matches!(c, '・' | 'ー')
}

fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}

/// Returns the keys and texts of a file that are on one line.
fn texts(file: &str) -> impl Iterator<Item = (&str, &str)> {
    file.lines().filter(|line| !line.starts_with([' ', '#', '}'])).filter_map(|line| {
        let (key, text) = line.split_once(" = ")?;
        (!text.ends_with("->")).then_some((key, text))
    })
}

#[test]
fn no_text_has_letters_of_another_language() {
    for (language, files) in Language::ALL.into_iter().zip(FILES) {
        let is_foreign = |c: char| match language {
            Language::English => is_thai(c) || is_kana(c) || is_han(c),
            Language::TraditionalChinese => {
                is_thai(c) || is_kana(c) || SIMPLIFIED.iter().any(|part| part.contains(c))
            }
            Language::Japanese => is_thai(c),
            Language::Thai => is_kana(c) || is_han(c),
        };
        for line in files.iter().flat_map(|file| file.lines()).filter(|line| !line.starts_with('#'))
        {
            let foreign: String = line.chars().filter(|&c| is_foreign(c)).collect();
            assert_eq!(foreign, "", "{language:?}: {line}");
            let hidden = line.chars().find(|c| matches!(c, '\u{200b}' | '\u{feff}' | '\u{fffd}'));
            assert_eq!(hidden, None, "{language:?}: {line}");
        }
    }
}

/// Returns the number of words of a text, without its variables and marks.
fn words(text: &str) -> usize {
    text.split(' ').filter(|word| word.chars().all(char::is_alphabetic)).count()
}

#[test]
fn sentences_are_translated() {
    let english: BTreeMap<_, _> = FILES[1].into_iter().flat_map(texts).collect();
    assert!(english.len() > 500);
    for (language, files) in Language::ALL.into_iter().zip(FILES) {
        let texts = files.into_iter().flat_map(texts).filter(|(_, text)| words(text) > 2);
        let same: BTreeSet<_> =
            texts.filter(|(key, text)| english.get(key) == Some(text)).collect();
        let is_own = language == Language::English;
        assert_eq!(same.is_empty(), !is_own, "{language:?} has {same:?}");
    }
}

#[test]
fn a_tag_is_known_by_its_first_part() {
    for (tag, language) in [
        ("zh", Some(Language::TraditionalChinese)),
        ("ZH-hant-HK", Some(Language::TraditionalChinese)),
        ("zh_TW.UTF-8", Some(Language::TraditionalChinese)),
        ("en-US-u-ca-buddhist", Some(Language::English)),
        ("JA_jp", Some(Language::Japanese)),
        ("th-", Some(Language::Thai)),
        ("", None),
        ("-", None),
        ("-en", None),
        (" en", None),
        ("eng", None),
        ("e", None),
        ("ｅｎ", None),
        ("i-default", None),
        ("*", None),
    ] {
        assert_eq!(Language::from_tag(tag), language, "{tag:?}");
    }
    let different: BTreeSet<_> = Language::ALL.map(Language::tag).into();
    assert_eq!(different.len(), Language::ALL.len());
    for language in Language::ALL {
        assert_eq!(Language::from_tag(language.tag()), Some(language));
        for asked in language.ui_locales().split(' ') {
            assert_eq!(Language::from_tag(asked), Some(language), "{asked}");
        }
    }
}

#[test]
fn a_weight_is_no_preference_unless_it_is_more_than_nothing() {
    let preferred = |ranges: &[(&str, f32)]| Language::preferred(ranges.iter().copied());
    assert_eq!(preferred(&[("ja", -1.0), ("th", f32::MIN_POSITIVE)]), Language::Thai);
    assert_eq!(preferred(&[("ja", f32::INFINITY), ("th", 1.0)]), Language::Japanese);
    assert_eq!(preferred(&[("ja", 0.0), ("th", -0.0)]), Language::English);
    assert_eq!(
        preferred(&[("fr", 1.0), ("zh-CN", 0.1), ("ja", 0.1)]),
        Language::TraditionalChinese
    );
    assert_eq!(preferred(&[("th", 0.2), ("th-TH", 0.9), ("ja", 0.5)]), Language::Thai);
}

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

#[test]
fn a_date_is_written_in_each_form_of_each_language() {
    let leap_day = day(2024, 2, 29);
    let in_all = |form| Language::ALL.map(|language| language.date(form, leap_day));
    assert_eq!(
        in_all(DateForm::Year),
        ["2024年2月29日", "29\u{a0}Feb 2024", "2024年2月29日", "29\u{a0}ก.พ. 2567"]
    );
    assert_eq!(in_all(DateForm::Month), ["2024年2月", "Feb 2024", "2024年2月", "ก.พ. 2567"]);
    assert_eq!(
        in_all(DateForm::Long),
        ["2024年2月29日（四）", "Thu, 29 Feb 2024", "2024年2月29日（木）", "พฤ. 29 ก.พ. 2567"]
    );
    // The first and the last year that a date field of a browser has.
    assert_eq!(Language::English.date(DateForm::Year, day(1, 1, 1)), "1\u{a0}Jan 1");
    assert_eq!(Language::Thai.date(DateForm::Year, day(9999, 12, 31)), "31\u{a0}ธ.ค. 10542");
}

#[test]
fn each_day_of_a_year_has_a_date_of_its_own() {
    for language in Language::ALL {
        for form in [DateForm::Long, DateForm::Year, DateForm::Short] {
            let days = day(2024, 1, 1).iter_days().take(366);
            let dates: BTreeSet<_> = days.map(|day| language.date(form, day)).collect();
            assert_eq!(dates.len(), 366, "{form:?} in {language:?}");
        }
        let months = (1..=12).map(|month| language.date(DateForm::Month, day(2024, month, 1)));
        assert_eq!(months.collect::<BTreeSet<_>>().len(), 12);
        for key in ["weekday", "weekday-long"] {
            let weekdays = (1..=7).map(|number| language.text(&format!("{key}-{number}")));
            assert_eq!(weekdays.collect::<BTreeSet<_>>().len(), 7, "{language:?}");
        }
    }
}

#[test]
fn a_grouped_number_is_the_number() {
    for number in [i64::MIN, i64::MIN + 1, -1_000, -999, -1, 0, 1, 99, 100, 1_000_000, i64::MAX] {
        let text = grouped(number);
        assert_eq!(text.replace(',', "").parse::<i64>(), Ok(number), "{text}");
        let groups: Vec<_> = text.trim_start_matches('-').split(',').collect();
        assert!(groups[1..].iter().all(|group| group.len() == 3), "{text}");
        assert!((1..=3).contains(&groups[0].len()), "{text}");
    }
    assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
}

#[test]
fn a_number_is_grouped_and_chooses_its_form_in_every_language() {
    let in_all = |count: i64| {
        let count = [("count", count.into())];
        Language::ALL.map(|language| language.format("chat-members", &count))
    };
    for members in in_all(1_234_567) {
        assert!(members.contains("1,234,567"), "{members}");
    }
    let one = in_all(1);
    let two = in_all(2);
    for (n, language) in Language::ALL.into_iter().enumerate() {
        let has_forms = one[n].replace('1', "2") != two[n];
        assert_eq!(has_forms, language == Language::English, "{}", one[n]);
    }
}

#[test]
fn only_the_values_of_a_text_are_isolated_and_only_where_it_matters() {
    let title = |name: &str| {
        let name = [("name", Value::from(name))];
        Language::ALL.map(|language| language.format("consent-title", &name))
    };
    for name in ["", "Ann", "王小明", "สมชาย", "👨‍👩‍👧", "1,234", "a\u{200f}b", "(x)"]
    {
        let has_mark = matches!(name.chars().nth(1), Some('\u{200f}'));
        for text in title(name) {
            assert!(text.contains(name), "{text}");
            assert_eq!(text.contains('\u{2068}'), has_mark, "{text}");
            assert_eq!(text.contains('\u{2069}'), has_mark, "{text}");
        }
    }
    for name in ["אב", "ab ج", "\u{202b}x", "١٢٣ ع", "\u{2068}א\u{2069}"] {
        for text in title(name) {
            assert!(text.contains(&format!("\u{2068}{name}\u{2069}")), "{text}");
        }
    }
    // What looks like a part of a text means nothing in a value.
    for name in ["{ $name }", "{\"x\"}", "\\u0041", "-term", "a\nb = c", "\u{0}"] {
        for text in title(name) {
            assert!(text.contains(name), "{text}");
        }
    }
}
