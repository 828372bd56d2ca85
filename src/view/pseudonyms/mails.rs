//! Mail addresses in texts, in letters of any script (RFC 5322, RFC 6531).
//!
//! Chinese and Japanese sentences touch an address without a space. What may be a part of it is
//! hidden with it, for a lost word is better than an address that is shown; what is longer than a
//! name or a label, and apart from it by its script or a sign, stays.

use std::ops::Range;

use chatkeep_index::script::{Class, is_ideograph};

use super::numbers::{Hidden, run};
use super::plain::{Plain, is_spaced};

/// Word that stands for an address.
const MAIL: &str = "[mail]";
/// Signs of a local part without quotation marks.
const ATOM: &str = ".!#$%&'*+-/=?^_`{|}~";
/// Signs that join the words of a local part; any other may as well end a sentence before it.
const JOINTS: &str = ".+-_";
/// Maximum letters of a Chinese or Japanese name, or of a label: more of them are a sentence.
const SHORT: usize = 6;

/// Returns the mail addresses of a text.
pub(super) fn mails(text: &Plain) -> Vec<Hidden> {
    let mut found = Vec::new();
    for (at, _) in text.chars.iter().enumerate().filter(|(_, c)| **c == '@') {
        let local = local_part(&text.chars[..at]);
        if let Some(length) = host(&text.chars[at + 1..]).filter(|_| !local.is_empty()) {
            found.push((local.start..at + 1 + length, MAIL.to_owned()));
        }
    }
    found
}

/// Returns the local part that ends a text; nothing if there is none.
fn local_part(text: &[char]) -> Range<usize> {
    let end = text.len();
    if let [quoted @ .., '"'] = text {
        return opening_quote(quoted).unwrap_or(end)..end;
    }
    let start = end - run(text.iter().rev(), |c| is_of_word(c) || ATOM.contains(c));
    let ends_sentence = |at: &usize| {
        let c = text[*at];
        let goes_on = !c.is_ascii() || c.is_ascii_digit() || JOINTS.contains(c);
        !goes_on && run(text[start..*at].iter().rev(), is_cjk) > SHORT
    };
    let start = (start..end).rev().find(ends_sentence).unwrap_or(start);
    // Signs before the first letter are punctuation, unless there are no letters.
    let signs = run(text[start..].iter(), |c| !is_letter(c));
    if signs < end - start { start + signs..end } else { start..end }
}

/// Returns where the quoted part begins that a text ends in, its closing mark left out.
fn opening_quote(text: &[char]) -> Option<usize> {
    let is_opening = |at: &usize| text[*at] == '"' && (*at == 0 || text[*at - 1] != '\\');
    (0..text.len()).rev().take_while(|at| text[*at] != '\n').find(is_opening)
}

/// Returns the length of the host that a text begins with: of its labels the last one that may be a
/// top-level domain ends it.
fn host(text: &[char]) -> Option<usize> {
    let mut length: Option<usize> = None;
    let mut at = 0;
    loop {
        let label = run(text[at..].iter(), |c| is_of_word(c) || c == '-');
        if label == 0 {
            return length;
        }
        if at > 0
            && let Some(top) = top_level(&text[at..at + label])
        {
            length = Some(at + top);
        }
        at += label;
        let is_dot = match &text[at..] {
            ['.', ..] => true,
            ['。', rest @ ..] => {
                let is_whole = length.is_some_and(|end| text[end - 1].is_ascii());
                !begins_sentence(rest, is_whole)
            }
            _ => false,
        };
        if !is_dot {
            return length;
        }
        at += 1;
    }
}

/// Returns the length of the top-level domain that a label begins with. None mixes ASCII with
/// another script, so letters without a space behind one are a sentence: `例え.jp吧`, `3@5.00元`.
fn top_level(label: &[char]) -> Option<usize> {
    let ascii = run(label.iter(), |c| c.is_ascii());
    let is_mixed = ascii > 0 && label.get(ascii).is_some_and(|c| !is_spaced(*c));
    let label = if is_mixed { &label[..ascii] } else { label };
    let length = label.len() - run(label.iter().rev(), |c| c == '-');
    let top = &label[..length];
    let is_long = length >= 2 || top.iter().any(|c| !c.is_ascii());
    (is_long && !top.iter().all(char::is_ascii_digit)).then_some(length)
}

/// Returns true if what follows `。` is a sentence and no label: behind a host that is whole, any
/// Chinese or Japanese word; elsewhere one that is longer than a top-level domain.
fn begins_sentence(text: &[char], is_whole: bool) -> bool {
    let is_long = || run(text.iter(), is_of_word) > SHORT;
    text.first().is_some_and(|c| is_cjk(*c)) && (is_whole || is_long())
}

/// Returns true for a letter, digit or mark of any script.
fn is_letter(c: char) -> bool {
    !matches!(Class::of(c), Class::Space | Class::Symbol)
}

/// Returns true for a letter, and for a sign within words that a domain name may have (RFC 5892).
fn is_of_word(c: char) -> bool {
    is_letter(c)
        || matches!(
            c,
            '\u{b7}' | '\u{375}' | '\u{5f3}' | '\u{5f4}' | '\u{6fd}' | '\u{6fe}' | '\u{f0b}' | '・'
        )
}

/// Returns true for a character of a Chinese or Japanese word: no space parts these from an address.
fn is_cjk(c: char) -> bool {
    is_ideograph(c) || matches!(c, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}')
}
