//! Numbers that lead to people: of phones, cards and accounts.

use std::ops::Range;

use super::plain::Plain;

/// Words that stand for what was there.
pub(super) const PHONE: &str = "[phone]";
pub(super) const CARD: &str = "[card]";
pub(super) const ACCOUNT: &str = "[account]";
pub(super) const NUMBER: &str = "[number]";

/// Minimum number of digits of a number that is hidden.
const DIGITS: usize = 7;
/// Maximum number of marks between two digits of a number.
const MARKS: usize = 2;
/// Mark of three characters that counts as one.
const SPACED_HYPHEN: [char; 3] = [' ', '-', ' '];
/// Marks between the digits of a number.
const BETWEEN: &str = " -.()/_·+";
/// Marks between groups of at least three digits of a number that is no amount.
const BETWEEN_GROUPS: &str = ",、~*|";
/// Minimum digits of such a group.
const GROUP: usize = 3;

/// Part of a text, in characters, and what stands for it.
pub(super) type Hidden = (Range<usize>, String);

/// Returns the international account numbers of a text.
pub(super) fn accounts(text: &Plain) -> Vec<Hidden> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.chars.len() {
        let begins = !text.before(at).is_some_and(is_word);
        match begins.then(|| account(text, at)).flatten() {
            Some(end) => {
                found.push((at..end, ACCOUNT.to_owned()));
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Returns the end of the account number that begins there: its length differs by country, so the
/// longest part with right check digits counts.
fn account(text: &Plain, at: usize) -> Option<usize> {
    let head: Vec<char> = text.chars[at..].iter().take(4).copied().collect();
    let [a, b, c, d] = head[..] else { return None };
    if ![a, b].iter().all(char::is_ascii_alphabetic) || ![c, d].iter().all(char::is_ascii_digit) {
        return None;
    }
    let (mut digits, mut longest) = (Vec::new(), None);
    for (index, c) in text.chars.iter().enumerate().skip(at).take(48) {
        if is_word(*c) {
            digits.push(*c);
            let ends = !text.at(index + 1).is_some_and(is_word);
            if (15..=34).contains(&digits.len()) && ends && checks(&digits) {
                longest = Some(index + 1);
            }
        } else if *c != ' ' && *c != '-' {
            break;
        }
    }
    longest
}

/// Returns true if the check digits of an international account number are right (ISO 7064).
fn checks(letters: &[char]) -> bool {
    let moved = letters[4..].iter().chain(&letters[..4]);
    let rest = moved.filter_map(|c| c.to_digit(36)).fold(0, |rest, value| {
        if value < 10 { (rest * 10 + value) % 97 } else { (rest * 100 + value) % 97 }
    });
    rest == 1
}

/// Returns the long numbers of a text, dates left out.
pub(super) fn numbers(text: &Plain) -> Vec<Hidden> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.chars.len() {
        if let Some(end) = date(text, at) {
            at = end;
            continue;
        }
        let Some((end, digits)) = number(text, at) else {
            at += 1;
            continue;
        };
        if digits.len() >= DIGITS {
            found.push((at..end, kind(text.chars[at], &digits).to_owned()));
        }
        at = end;
    }
    found
}

/// Returns the end and the digits of the number that begins there.
fn number(text: &Plain, at: usize) -> Option<(usize, String)> {
    let first = text.at(at)?;
    let sign = matches!(first, '+' | '(')
        && text.at(at + 1).is_some_and(|c| c.is_ascii_digit() || c == '+');
    if !sign && !first.is_ascii_digit() {
        return None;
    }
    // No amount begins with a zero or a country's code.
    let is_amount = !sign && first != '0';
    let (mut digits, mut end, mut marks) = (String::new(), at, 0);
    let mut index = at + usize::from(sign);
    while let Some(c) = text.at(index) {
        if date(text, index).is_some() && index > at {
            break;
        }
        if c.is_ascii_digit() {
            digits.push(c);
            (end, marks) = (index + 1, 0);
        } else if marks == 0 && text.chars[index..].starts_with(&SPACED_HYPHEN) {
            index += SPACED_HYPHEN.len() - 1;
            marks = MARKS;
        } else if marks < MARKS && (BETWEEN.contains(c) || !is_amount && parts_groups(text, index))
        {
            marks += 1;
        } else {
            break;
        }
        index += 1;
    }
    (end > at).then_some((end, digits))
}

/// Returns true if a mark is between two groups of digits.
fn parts_groups(text: &Plain, at: usize) -> bool {
    let is_mark = text.at(at).is_some_and(|c| BETWEEN_GROUPS.contains(c));
    let next = text.chars.get(at + 1..).map_or(0, |rest| run(rest.iter(), |c| c.is_ascii_digit()));
    is_mark && next >= GROUP
}

/// Returns the word for a number.
fn kind(first: char, digits: &str) -> &'static str {
    match digits.len() {
        13..=19 if luhn(digits) => CARD,
        8..=15 if first == '+' || first == '(' || digits.starts_with('0') => PHONE,
        _ => NUMBER,
    }
}

/// Returns true if the check digit of a card number is right.
fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => digit,
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Returns the end of the date that begins there: year, month and day, or the other way round, with
/// marks between them.
fn date(text: &Plain, at: usize) -> Option<usize> {
    if text.before(at).is_some_and(|c| c.is_ascii_digit()) {
        return None;
    }
    let (one, two, three) = {
        let one = digits(text, at)?;
        let two = digits(text, after_mark(text, one.1)?)?;
        let three = digits(text, after_mark(text, two.1)?)?;
        (one, two, three)
    };
    let next = text.at(three.1);
    let goes_on = next.is_some_and(|c| "-/.".contains(c))
        && text.at(three.1 + 1).is_some_and(|c| c.is_ascii_digit());
    let is_year = |value: u32| (1900..2100).contains(&value);
    let (is_month, is_day) =
        (|value: u32| (1..=12).contains(&value), |value: u32| (1..=31).contains(&value));
    let is_date = match (one.0, two.0, three.0) {
        (year, month, day) if is_year(year) => is_month(month) && is_day(day),
        (one, two, year) => {
            is_year(year) && (is_month(one) && is_day(two) || is_day(one) && is_month(two))
        }
    };
    (is_date && !goes_on).then_some(three.1)
}

fn after_mark(text: &Plain, at: usize) -> Option<usize> {
    text.at(at).filter(|c| "-/.".contains(*c)).map(|_| at + 1)
}

/// Returns the value and the end of at most four digits that stand alone.
fn digits(text: &Plain, at: usize) -> Option<(u32, usize)> {
    let length = run(text.chars.get(at..)?.iter(), |c| c.is_ascii_digit());
    let value: String = text.chars.get(at..at + length.min(5))?.iter().collect();
    (length <= 4).then(|| value.parse().ok().map(|value| (value, at + length))).flatten()
}

/// Returns the number of characters before the first that is none of these.
pub(super) fn run<'a>(chars: impl Iterator<Item = &'a char>, is: impl Fn(char) -> bool) -> usize {
    chars.take_while(|c| is(**c)).count()
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
}
