//! Dates as written by the LINE app, in each of its languages.
//!
//! All dates of a file have one format. It is taken from the first line that looks like a date, so
//! that a date that somebody typed in another format is not taken for the next day, and an invalid
//! line of that format is not taken for a text.

use chrono::{Datelike as _, NaiveDate, Weekday};

/// First year that is read in the Buddhist era, which Thai phones may use.
const BUDDHIST: i32 = 2_400;
/// Offset of the Buddhist era in years.
const AHEAD: i32 = 543;
/// Range of years of a chat, in either era.
const YEARS: [std::ops::RangeInclusive<i32>; 2] = [1_990..=2_110, 2_533..=2_653];

/// Maximum length of a date line in bytes.
const LONGEST: usize = 80;
/// Maximum length of a name of a weekday in characters.
const WORD: usize = 16;

/// Names of the weekdays, lower case, without marks around them.
const WEEKDAYS: [(Weekday, &[&str]); 7] = [
    (Weekday::Mon, &["mon", "monday", "一", "月", "จ", "จันทร์", "월"]),
    (Weekday::Tue, &["tue", "tues", "tuesday", "二", "火", "อ", "อังคาร", "화"]),
    (Weekday::Wed, &["wed", "wednesday", "三", "水", "พ", "พุธ", "수"]),
    (Weekday::Thu, &["thu", "thur", "thurs", "thursday", "四", "木", "พฤ", "พฤหัส", "พฤหัสบดี", "목"]),
    (Weekday::Fri, &["fri", "friday", "五", "金", "ศ", "ศุกร์", "금"]),
    (Weekday::Sat, &["sat", "saturday", "六", "土", "ส", "เสาร์", "토"]),
    (Weekday::Sun, &["sun", "sunday", "日", "天", "อา", "อาทิตย์", "일"]),
];

/// Words beside a date other than weekdays, lower case, without dots; `true` for the Buddhist era.
const ERAS: [(&str, bool); 6] =
    [("be", true), ("พศ", true), ("ad", false), ("ce", false), ("คศ", false), ("ที่", false)];

/// Order of day and month where the year is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// 1/31/2024.
    MonthFirst,
    /// 31/1/2024.
    DayFirst,
}

/// Line that looks like a date and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateLine {
    numbers: [i32; 3],
    day: Day,
    buddhist: bool,
    /// Format: numbers and words replaced by one letter each.
    pub(super) form: String,
}

/// Weekday of a date line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Day {
    None,
    Known(Weekday),
    /// Word in another language, or none for a weekday.
    Unknown,
}

impl DateOrder {
    /// Both orders.
    const ALL: [Self; 2] = [Self::MonthFirst, Self::DayFirst];

    /// Returns the order of that name: `mdy` or `dmy`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "mdy" => Some(Self::MonthFirst),
            "dmy" => Some(Self::DayFirst),
            _ => None,
        }
    }
}

impl DateLine {
    /// Parses a line that looks like a date: `2024/01/05(金)`, `2024.01.05 Friday`,
    /// `Fri, 01/05/2024`, `2024年1月5日 星期五`, `2024년 1월 5일 금요일`, `ศ. 05/01/2567` and the
    /// like, and also invalid dates of that form.
    pub(super) fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.len() > LONGEST {
            return None;
        }
        let (numbers, mut words) = split(line)?;
        let year = |n: i32| YEARS.iter().any(|years| years.contains(&n));
        let small = |n: i32| (0..=99).contains(&n);
        let fits = match numbers {
            [first, second, third] if year(first) => small(second) && small(third),
            [first, second, third] => small(first) && small(second) && year(third),
        };
        let mut buddhist = false;
        words.retain(|word| {
            let era = ERAS.iter().find(|(name, _)| name == word);
            buddhist |= era.is_some_and(|(_, buddhist)| *buddhist);
            era.is_none()
        });
        let day = match words.as_slice() {
            [] => Day::None,
            [word] if word.chars().count() <= WORD => {
                weekday(word).map_or(Day::Unknown, Day::Known)
            }
            _ => return None,
        };
        fits.then(|| Self { numbers, day, buddhist, form: form(line) })
    }

    /// Returns the date, with day and month in that order; `None` when it is invalid, or its
    /// weekday wrong or in no known language.
    pub(super) fn date(&self, order: DateOrder) -> Option<NaiveDate> {
        let (year, month, day) = match (self.numbers, order) {
            ([year, month, day], _) if year > 99 => (year, month, day),
            ([month, day, year], DateOrder::MonthFirst)
            | ([day, month, year], DateOrder::DayFirst) => (year, month, day),
        };
        let year = if year >= BUDDHIST || self.buddhist { year - AHEAD } else { year };
        let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
        let date = NaiveDate::from_ymd_opt(year, month, day).filter(|_| year >= 1_990)?;
        match self.day {
            Day::None => Some(date),
            Day::Known(weekday) => (weekday == date.weekday()).then_some(date),
            Day::Unknown => None,
        }
    }

    /// Returns true if it has a weekday in a known language.
    pub(super) const fn names_day(&self) -> bool {
        matches!(self.day, Day::Known(_))
    }

    /// Returns true if its year is in the Buddhist era, used in Thai only, which has the day first.
    fn is_buddhist(&self) -> bool {
        self.buddhist || self.numbers.iter().any(|n| *n >= BUDDHIST)
    }
}

/// Evidence that the dates of a file give about the order of day and month.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Number of dates that are valid in each order.
    fit: [u64; 2],
    /// Number of times that dates go back in each order.
    back: [u64; 2],
    last: [Option<NaiveDate>; 2],
    /// Set when a date depends on the order.
    differ: bool,
    buddhist: bool,
}

impl Orders {
    /// Adds a date of the file.
    pub(super) fn add(&mut self, line: &DateLine) {
        let dates = DateOrder::ALL.map(|order| line.date(order));
        self.differ |= dates[0] != dates[1];
        self.buddhist |= line.is_buddhist();
        for (at, date) in dates.into_iter().enumerate() {
            let Some(date) = date else { continue };
            self.fit[at] += 1;
            self.back[at] += u64::from(self.last[at] > Some(date));
            self.last[at] = Some(date);
        }
    }

    /// Returns the number of valid dates.
    pub(super) fn days(&self) -> u64 {
        self.fit[0].max(self.fit[1])
    }

    /// Returns the order in which more dates are valid, or time goes forward; `None` when the file
    /// does not show it.
    pub(super) fn order(&self) -> Option<DateOrder> {
        let [month, day] = [0, 1].map(|at| (self.fit[at], std::cmp::Reverse(self.back[at])));
        match month.cmp(&day) {
            std::cmp::Ordering::Greater => Some(DateOrder::MonthFirst),
            std::cmp::Ordering::Less => Some(DateOrder::DayFirst),
            std::cmp::Ordering::Equal if self.buddhist => Some(DateOrder::DayFirst),
            std::cmp::Ordering::Equal => (!self.differ).then_some(DateOrder::MonthFirst),
        }
    }
}

/// Splits a line into its three numbers and its words, lower case and without dots. `None` for any
/// other number of numbers, or a character that no date has.
fn split(line: &str) -> Option<([i32; 3], Vec<String>)> {
    let (mut numbers, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(digit) = c.to_digit(10) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            let mut number = i32::try_from(digit).ok()?;
            while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                number = number.checked_mul(10)?.checked_add(i32::try_from(digit).ok()?)?;
                chars.next();
            }
            numbers.push(number);
            // 2024年1月5日: these stand for the slashes.
            if matches!(chars.peek(), Some('年' | '月' | '日' | '년' | '월' | '일')) {
                chars.next();
            }
        } else if is_letter(c) {
            word.extend(c.to_lowercase());
        } else if c == '-' && !word.is_empty() && chars.peek().is_some_and(|c| is_letter(*c)) {
            // One word of two parts.
        } else if matches!(c, '/' | '-' | ',' | '(' | ')' | '（' | '）') || c.is_whitespace() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        } else if c != '.' {
            return None;
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    Some((numbers.try_into().ok()?, words))
}

fn is_letter(c: char) -> bool {
    // Vowels and tones above or below a Thai letter.
    let thai = matches!(c, '\u{0e31}' | '\u{0e34}'..='\u{0e3a}' | '\u{0e47}'..='\u{0e4e}');
    c.is_alphabetic() || thai
}

/// Returns a line with numbers as `0`, words as `a` and any white space as one space.
fn form(line: &str) -> String {
    let mut form = String::new();
    for c in line.chars() {
        let kind = match c {
            _ if c.is_numeric() && c.is_ascii() => '0',
            _ if is_letter(c) => 'a',
            _ if c.is_whitespace() => ' ',
            _ => c,
        };
        if !(form.ends_with(kind) && matches!(kind, '0' | 'a' | ' ')) {
            form.push(kind);
        }
    }
    form
}

fn weekday(word: &str) -> Option<Weekday> {
    let mut word = word;
    for before in ["星期", "禮拜", "礼拜", "週", "周", "วัน"] {
        word = word.strip_prefix(before).unwrap_or(word);
    }
    for after in ["曜日", "曜", "ที่", "요일"] {
        word = word.strip_suffix(after).unwrap_or(word);
    }
    WEEKDAYS.iter().find(|(_, names)| names.contains(&word)).map(|(weekday, _)| *weekday)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dates(line: &str) -> [Option<NaiveDate>; 2] {
        let line = DateLine::read(line);
        DateOrder::ALL.map(|order| line.as_ref().and_then(|line| line.date(order)))
    }

    #[test]
    fn dates_of_every_form() {
        let day = NaiveDate::from_ymd_opt(2024, 1, 5);
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
            "2024.01.05 금요일",
            "2024-01-05",
            "2024/01/05",
            "2024年1月5日(金)",
            "2024年1月5日 星期五",
            "2024년 1월 5일 금요일",
            "2024. 1. 5. (금)",
            "2567/01/05(ศ.)",
        ] {
            assert_eq!(dates(line), [day, day], "{line}");
        }
        for line in ["Fri, 01/05/2024", "Friday, 1/5/2024"] {
            assert_eq!(dates(line), [day, None], "{line}");
        }
        for line in [
            "ศ. 05/01/2567",
            "วันศุกร์ที่ 5/1/2567",
            "Fri, 05/01/2567 BE",
            "Fri, 05/01/2567 B.E.",
            "ศ. 5/1/2567 พ.ศ.",
        ] {
            assert_eq!(dates(line), [None, day], "{line}");
        }
        let may = NaiveDate::from_ymd_opt(2024, 5, 1);
        assert_eq!(dates("01/05/2024"), [day, may]);
        assert_eq!(dates("31/01/2024"), [None, NaiveDate::from_ymd_opt(2024, 1, 31)]);
        assert!(dates("2024/01/07(日)")[0].is_some() && dates("อา. 07/01/2024")[1].is_some());
    }

    #[test]
    fn what_looks_like_a_date_is_not_always_one() {
        for line in [
            "2024/13/01",
            "2024/02/30",
            "2024/01/05(土)",
            "2024/01/05 会議",
            "ven. 05/01/2024",
            "2024.01.05 sexta-feira",
        ] {
            assert!(DateLine::read(line).is_some() && dates(line) == [None, None], "{line}");
        }
        for line in [
            "",
            "hello",
            "2024",
            "2024/01",
            "1/2/3",
            "12:30",
            "2024/01/05 10:00",
            "1.2.3.4",
            "Fri",
            "0/0/0",
            "2024/01/05 team lunch",
            "100 200 300",
        ] {
            assert_eq!(DateLine::read(line), None, "{line}");
        }
    }

    #[test]
    fn a_file_shows_the_order_of_day_and_month() {
        let order = |lines: &[&str]| {
            let mut orders = Orders::default();
            lines.iter().filter_map(|line| DateLine::read(line)).for_each(|line| orders.add(&line));
            orders.order()
        };
        let (month, day) = (Some(DateOrder::MonthFirst), Some(DateOrder::DayFirst));
        assert_eq!(order(&["01/05/2024", "01/13/2024"]), month);
        assert_eq!(order(&["05/01/2024", "13/01/2024"]), day);
        // Each of them is valid both ways, but time goes forward in one only.
        assert_eq!(order(&["05/01/2024", "06/01/2024", "01/02/2024"]), day);
        assert_eq!(order(&["Fri, 01/05/2024"]), month);
        assert_eq!(order(&["05/01/2567"]), day);
        assert_eq!(order(&["2024/01/05"]), month);
        assert_eq!(order(&["05/01/2024"]), None);
        assert_eq!(order(&["05/05/2024"]), month);
    }

    #[test]
    fn one_form_is_one_text() {
        for (a, b) in [
            ("Tue, 1/31/2023", "Thursday, 10/01/2023"),
            ("พฤ. 28/11/2568", "อา. 1/12/2568"),
            ("2024年1月5日星期五", "2024年11月15日星期日"),
            ("2024.01.05 Friday", "2024.01.06  Saturday"),
        ] {
            assert_eq!(form(a), form(b));
        }
        assert_ne!(form("2024.01.05 Friday"), form("2024.01.05"));
    }
}
