//! Dates and times as the LINE app writes them, in every language it may have been set to.

use chrono::{Datelike as _, NaiveDate, NaiveTime, Weekday};

/// Years from here on are of the Buddhist era, which Thai phones may count in.
const BUDDHIST: i32 = 2_400;
/// What a Buddhist year is ahead.
const AHEAD: i32 = 543;

/// A longest line that can be a date.
const LONGEST: usize = 80;

/// The names of the days of the week, lower case, without marks around them.
const WEEKDAYS: [(Weekday, &[&str]); 7] = [
    (Weekday::Mon, &["mon", "monday", "一", "月", "จ", "จันทร์"]),
    (Weekday::Tue, &["tue", "tues", "tuesday", "二", "火", "อ", "อังคาร"]),
    (Weekday::Wed, &["wed", "wednesday", "三", "水", "พ", "พุธ"]),
    (Weekday::Thu, &["thu", "thur", "thurs", "thursday", "四", "木", "พฤ", "พฤหัส", "พฤหัสบดี"]),
    (Weekday::Fri, &["fri", "friday", "五", "金", "ศ", "ศุกร์"]),
    (Weekday::Sat, &["sat", "saturday", "六", "土", "ส", "เสาร์"]),
    (Weekday::Sun, &["sun", "sunday", "日", "天", "อา", "อาทิตย์"]),
];

/// The date that a line is, when it is nothing but a date: `2024/01/05(金)`, `2024/01/05（五）`,
/// `2024.01.05 Friday`, `Fri, 01/05/2024`, `2024年1月5日 星期五`, `ศ. 05/01/2567` and the like.
/// A weekday that is not that date's means that the line is something else.
pub(super) fn date(line: &str) -> Option<NaiveDate> {
    let line = line.trim();
    if line.len() > LONGEST {
        return None;
    }
    let (numbers, words) = split(line)?;
    let weekday = match words.as_str() {
        "" => None,
        word => Some(weekday(word)?),
    };
    let of = |year: i32, month: i32, day: i32| {
        let year = if year >= BUDDHIST { year - AHEAD } else { year };
        let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
        let date = NaiveDate::from_ymd_opt(year, month, day).filter(|_| year >= 2_000)?;
        weekday.is_none_or(|weekday| weekday == date.weekday()).then_some(date)
    };
    match numbers {
        [year, month, day] if year > 31 => of(year, month, day),
        // Month first as in the United States, unless only the other way fits.
        [first, second, year] => of(year, first, second).or_else(|| of(year, second, first)),
    }
}

/// The three numbers of a line and the letters that are left of it, lower case. `None` when it
/// has other numbers, or anything else that no date has.
fn split(line: &str) -> Option<([i32; 3], String)> {
    let (mut numbers, mut words) = (Vec::new(), String::new());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(digit) = c.to_digit(10) {
            let mut number = i32::try_from(digit).ok()?;
            while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                number = number.checked_mul(10)?.checked_add(i32::try_from(digit).ok()?)?;
                chars.next();
            }
            numbers.push(number);
            // 2024年1月5日: these stand for the slashes.
            if matches!(chars.peek(), Some('年' | '月' | '日')) {
                chars.next();
            }
        } else if c.is_alphabetic() || is_thai_mark(c) {
            words.extend(c.to_lowercase());
        } else if !c.is_whitespace()
            && !matches!(c, '/' | '.' | '-' | ',' | '(' | ')' | '（' | '）')
        {
            return None;
        }
    }
    Some((numbers.try_into().ok()?, words))
}

/// Vowels and tones that stand above or below a Thai letter.
const fn is_thai_mark(c: char) -> bool {
    matches!(c, '\u{0e31}' | '\u{0e34}'..='\u{0e3a}' | '\u{0e47}'..='\u{0e4e}')
}

fn weekday(word: &str) -> Option<Weekday> {
    let mut word = word;
    for before in ["星期", "禮拜", "礼拜", "週", "周", "วัน"] {
        word = word.strip_prefix(before).unwrap_or(word);
    }
    for after in ["曜日", "曜", "ที่"] {
        word = word.strip_suffix(after).unwrap_or(word);
    }
    WEEKDAYS.iter().find(|(_, names)| names.contains(&word)).map(|(weekday, _)| *weekday)
}

/// Words before a time that say which half of the day it is of; `true` for the second.
const BEFORE: [(&str, bool); 12] = [
    ("上午", false),
    ("下午", true),
    ("午前", false),
    ("午後", true),
    ("凌晨", false),
    ("清晨", false),
    ("早上", false),
    ("中午", true),
    ("晚上", true),
    ("ก่อนเที่ยง", false),
    ("หลังเที่ยง", true),
    ("am", false),
];

/// The same after a time; longer ones first.
const AFTER: [(&str, Option<bool>); 8] = [
    ("a.m.", Some(false)),
    ("p.m.", Some(true)),
    ("am", Some(false)),
    ("pm", Some(true)),
    ("ก่อนเที่ยง", Some(false)),
    ("หลังเที่ยง", Some(true)),
    ("น.", None),
    ("時", None),
];

/// The time at the beginning of a line and what follows it: `09:31`, `上午09:31`, `午前9:31`,
/// `9:31 PM`, `21:31 น.`.
pub(super) fn time(line: &str) -> Option<(NaiveTime, &str)> {
    let (before, rest) = half_before(line);
    let (hour, rest) = number(rest)?;
    let (minute, rest) = number(rest.strip_prefix([':', '：'])?)?;
    let (after, rest) = half_after(rest);
    let half = before.or(after);
    let hour = match half {
        Some(_) if hour > 12 => hour,
        Some(second) => hour % 12 + if second { 12 } else { 0 },
        None => hour,
    };
    Some((NaiveTime::from_hms_opt(hour, minute, 0)?, rest))
}

fn half_before(line: &str) -> (Option<bool>, &str) {
    let found = BEFORE.iter().find_map(|(word, second)| {
        line.strip_prefix(word)
            .map(|rest| (Some(*second), rest.trim_start_matches([' ', '\u{a0}'])))
    });
    found.unwrap_or((None, line))
}

fn half_after(rest: &str) -> (Option<bool>, &str) {
    let word = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let found = AFTER.iter().find_map(|(name, half)| {
        let head = word.get(..name.len())?;
        let tail = &word[name.len()..];
        // `9:31 amber` is not a time in the morning.
        let ends = tail.is_empty() || tail.starts_with(['\t', ' ']);
        (ends && head.eq_ignore_ascii_case(name)).then_some((*half, tail))
    });
    found.unwrap_or((None, rest))
}

/// One or two digits at the beginning.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if !(1..=2).contains(&digits) {
        return None;
    }
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(year: i32, month: u32, day: u32) -> Option<NaiveDate> {
        NaiveDate::from_ymd_opt(year, month, day)
    }

    #[test]
    fn dates_of_every_form() {
        for line in [
            "2024/01/05(金)",
            "2024/01/05（五）",
            "2024/1/5（週五）",
            "2024/1/5周五",
            "2024/01/05(Fri)",
            "2024/01/05 (ศ.)",
            "2024.01.05 Friday",
            "2024.01.05 星期五",
            "2024.01.05 金曜日",
            "2024.01.05 วันศุกร์",
            "2024-01-05",
            "2024/01/05",
            "2024年1月5日(金)",
            "2024年1月5日 星期五",
            "Fri, 01/05/2024",
            "Fri, 5/1/2024",
            "ศ. 05/01/2567",
            "วันศุกร์ที่ 5/1/2567",
            "2567/01/05(ศ.)",
        ] {
            assert_eq!(date(line), day(2024, 1, 5), "{line}");
        }
        assert_eq!(date("Fri, 01/13/2023"), day(2023, 1, 13));
        assert_eq!(date("2024/01/07(日)"), day(2024, 1, 7));
        assert_eq!(date("2024/01/08(月)"), day(2024, 1, 8));
        assert_eq!(date("อา. 07/01/2024"), day(2024, 1, 7));
    }

    #[test]
    fn what_is_no_date() {
        for line in [
            "",
            "hello",
            "2024",
            "2024/01",
            "2024/13/01",
            "2024/02/30",
            "1/2/3",
            "2024/01/05 会議",
            "2024/01/05(土)",
            "12:30",
            "2024/01/05 10:00",
            "1.2.3.4",
            "Fri",
            "0/0/0",
        ] {
            assert_eq!(date(line), None, "{line}");
        }
    }

    #[test]
    fn times_of_every_form() {
        let at = |hour, minute| NaiveTime::from_hms_opt(hour, minute, 0).unwrap();
        for (line, expected) in [
            ("09:31\tA\tB", at(9, 31)),
            ("9:31\tA\tB", at(9, 31)),
            ("上午09:31\tA\tB", at(9, 31)),
            ("上午 09:31\tA\tB", at(9, 31)),
            ("下午09:31\tA\tB", at(21, 31)),
            ("下午12:05\tA\tB", at(12, 5)),
            ("上午12:05\tA\tB", at(0, 5)),
            ("午前9:31\tA\tB", at(9, 31)),
            ("午後0:31\tA\tB", at(12, 31)),
            ("午後11:59\tA\tB", at(23, 59)),
            ("9:31AM\tA\tB", at(9, 31)),
            ("9:31 pm\tA\tB", at(21, 31)),
            ("12:00\u{202f}AM\tA\tB", at(0, 0)),
            ("21:31 น.\tA\tB", at(21, 31)),
            ("凌晨1:05\tA\tB", at(1, 5)),
        ] {
            assert_eq!(time(line), Some((expected, "\tA\tB")), "{line}");
        }
        for line in ["", "9", "9:5x1", "24:00\tA", "9:60\tA", "123:00\tA", "noon\tA"] {
            assert!(time(line).is_none_or(|(_, rest)| !rest.starts_with('\t')), "{line}");
        }
        assert_eq!(time("9:31 amber"), Some((at(9, 31), " amber")));
    }
}
