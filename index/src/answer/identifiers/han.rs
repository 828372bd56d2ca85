//! Numbers in Han numerals, and `甲`, `乙`, `丙` and `丁`: identifiers where they are counted with a
//! counter or an ordinal (`四年級`, `第三`, `甲班`), and not in words such as `一起` and `萬一`.
//!
//! Lists are of Simplified characters, which stand for both.

use super::names::without_zeros;
use crate::fold::han::simplified;

/// Counters and units that follow a number.
const COUNTERS: &str = "年月日号班级楼层点时分秒期届次组周课章回番阶栋室队节题页册集丁";
/// Texts that a number follows.
const ORDINALS: [&str; 6] = ["第", "周", "週", "星期", "禮拜", "礼拜"];
/// Counters with which a single one is a word: `一次` is once, `一點` a little.
const VAGUE: &str = "点次时回分番";
/// Characters before a single one, or after its counter, with which it is a number for all that:
/// `第一次`, `下午一點`, `一點半`.
const EXACT_BEFORE: &str = "第午晨日号前后";
const EXACT_AFTER: &str = "半整钟线";
/// Characters that form a word with a single one after them: `萬一`, `下一班`.
const DETERMINERS: &str = "万不统唯同某每哪那这下上另任其各单专";
/// Characters that form a word with a single one before them: `一起`, `一定`.
const AFTER_ONE: &str = "起次下定直样般些共边切";

/// Returns whether a character is `甲`, `乙`, `丙` or `丁`.
pub(super) fn is_stem(c: char) -> bool {
    matches!(c, '甲' | '乙' | '丙' | '丁')
}

/// Returns whether a character is a numeral.
pub(super) fn is_numeral(c: char) -> bool {
    is_ten(c) || digit(c).is_some()
}

/// Returns the identifier that `甲` and the like are before the rest of a text.
pub(super) fn stems(text: &str, after: &str) -> Option<String> {
    is_among(COUNTERS, after.chars().next()).then(|| text.to_owned())
}

/// Returns the number that numerals between two parts of a text stand for, in digits; `None` if they
/// count nothing.
pub(super) fn number(before: &str, numerals: &str, after: &str) -> Option<String> {
    let is_led = ORDINALS.iter().any(|&ordinal| before.ends_with(ordinal))
        && !(numerals == "一" && is_among(AFTER_ONE, after.chars().next()));
    (is_led || is_counted(before, numerals, after)).then(|| arabic(numerals))
}

/// Returns whether numerals are counted by what follows them.
fn is_counted(before: &str, numerals: &str, after: &str) -> bool {
    let mut following = after.chars();
    let (counter, next) = (following.next(), following.next());
    let last = before.chars().next_back();
    let is_exact = is_among(EXACT_BEFORE, last) || is_among(EXACT_AFTER, next);
    let is_word = match numerals {
        "一" => is_among(DETERMINERS, last) || (!is_exact && is_among(VAGUE, counter)),
        // `十分` is very.
        "十" => !is_exact && counter == Some('分'),
        _ => false,
    };
    is_among(COUNTERS, counter) && !is_word
}

fn is_among(list: &str, c: Option<char>) -> bool {
    c.is_some_and(|c| list.contains(simplified(c)))
}

/// Returns numerals in digits: `三十一` and `三一` are 31.
fn arabic(numerals: &str) -> String {
    let mut digits = String::with_capacity(numerals.len());
    let mut rest = numerals.chars().peekable();
    while let Some(c) = rest.next() {
        match digit(c) {
            Some(digit) => digits.push(digit),
            None if digits.is_empty() => digits.push('1'),
            None => {}
        }
        if is_ten(c) && rest.peek().is_none_or(|&next| is_ten(next)) {
            digits.push('0');
        }
    }
    without_zeros(&digits).to_owned()
}

/// Returns whether a numeral is one of tens, after which a zero is not written.
fn is_ten(c: char) -> bool {
    matches!(c, '十' | '廿' | '卅')
}

/// Returns the digit of a numeral; `None` of `十`, which may follow one.
fn digit(c: char) -> Option<char> {
    Some(match c {
        '〇' | '零' => '0',
        '一' => '1',
        '二' | '兩' | '两' | '廿' => '2',
        '三' | '卅' => '3',
        '四' => '4',
        '五' => '5',
        '六' => '6',
        '七' => '7',
        '八' => '8',
        '九' => '9',
        _ => return None,
    })
}
