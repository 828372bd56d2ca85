//! Times of day as written by the LINE app.

use chrono::NaiveTime;

/// Words before a time for the half of the day; `true` for the second.
const BEFORE: [(&str, bool); 17] = [
    ("上午", false),
    ("下午", true),
    ("午前", false),
    ("午後", true),
    ("오전", false),
    ("오후", true),
    ("凌晨", false),
    ("清晨", false),
    ("早上", false),
    ("中午", true),
    ("晚上", true),
    ("ก่อนเที่ยง", false),
    ("หลังเที่ยง", true),
    ("AM", false),
    ("PM", true),
    ("am", false),
    ("pm", true),
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

/// Spaces between a time and the half of the day.
const SPACES: [char; 3] = [' ', '\u{a0}', '\u{202f}'];

/// Splits a line into the time at its beginning and the rest: `09:31`, `上午09:31`, `午前9:31`,
/// `오전 9:31`, `9:31 PM`, `21:31 น.`.
pub(super) fn time(line: &str) -> Option<(NaiveTime, &str)> {
    parts(line, true)
}

/// Splits a line of a text whose times have 24 hours and a space behind them: `PM` is a name there.
pub(super) fn time_of_24_hours(line: &str) -> Option<(NaiveTime, &str)> {
    parts(line, false)
}

fn parts(line: &str, has_halves: bool) -> Option<(NaiveTime, &str)> {
    let (before, rest) = half_before(line);
    let (hour, rest) = number(rest)?;
    let (minute, rest) = number(rest.strip_prefix([':', '：'])?)?;
    let (after, rest) = half_after(rest, has_halves && hour <= 12);
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
        line.strip_prefix(word).map(|rest| (Some(*second), rest.trim_start_matches(SPACES)))
    });
    found.unwrap_or((None, line))
}

/// Splits off the half of the day. A word between two spaces is one only if `has_halves`, otherwise
/// it may be a name.
fn half_after(rest: &str, has_halves: bool) -> (Option<bool>, &str) {
    let word = rest.trim_start_matches(SPACES);
    let is_apart = rest.starts_with(' ');
    let found = AFTER.iter().find_map(|(name, half)| {
        let head = word.get(..name.len())?;
        let tail = &word[name.len()..];
        let is_name = is_apart && half.is_some() && !has_halves;
        // `9:31 amber` is not a time in the morning.
        let ends = tail.is_empty() || tail.starts_with('\t') || tail.starts_with(' ') && !is_name;
        (ends && head.eq_ignore_ascii_case(name)).then_some((*half, tail))
    });
    found.unwrap_or((None, rest))
}

/// Parses one or two digits at the beginning.
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
            ("오전 9:31\tA\tB", at(9, 31)),
            ("오후 12:05\tA\tB", at(12, 5)),
            ("AM 9:31\tA\tB", at(9, 31)),
            ("PM 9:31\tA\tB", at(21, 31)),
            ("am 9:31\tA\tB", at(9, 31)),
            ("pm 9:31\tA\tB", at(21, 31)),
            ("14:05 PM\tA\tB", at(14, 5)),
        ] {
            assert_eq!(time(line), Some((expected, "\tA\tB")), "{line}");
        }
        for line in ["", "9", "9:5x1", "24:00\tA", "9:60\tA", "123:00\tA", "noon\tA"] {
            assert!(time(line).is_none_or(|(_, rest)| !rest.starts_with('\t')), "{line}");
        }
        assert_eq!(time("9:31 amber"), Some((at(9, 31), " amber")));
        // After noon no half of the day is between spaces.
        assert_eq!(time("9:31 PM hi"), Some((at(21, 31), " hi")));
        assert_eq!(time("14:05 PM hi"), Some((at(14, 5), " PM hi")));
        assert_eq!(time_of_24_hours("9:31 PM hi"), Some((at(9, 31), " PM hi")));
        assert_eq!(time_of_24_hours("9:31\u{202f}PM hi"), Some((at(21, 31), " hi")));
        assert_eq!(time_of_24_hours("21:31 น. hi"), Some((at(21, 31), " hi")));
    }
}
