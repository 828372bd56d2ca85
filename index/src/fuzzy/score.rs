//! Scores of rules for a message: evidence of four kinds, each on the scale of the acceptance
//! threshold, and the best of it.

use crate::keyword::KeywordHit;
use crate::script::{Class, is_kana};

use super::phrases::to_f32;
use super::{Message, common};

/// Weight of the best phrase relative to all phrases of the rule together.
const BEST_PHRASE: f32 = 0.4;
/// Power that maps a share to the scale of edit similarity: a share of a third, and 0.6 of the
/// characters in place, were equally often right (`thresholds::FUZZY` says on what data).
const SHARE_POWER: f32 = 0.45;
/// Additional weight of a share if characters are counted, not words: one changed character spoils
/// all the runs that it is in.
const UNSPACED: f32 = 0.2;
/// Penalty for each factor of e in the number of phrases: a rule of many phrases has something in
/// common with more messages by chance.
const MANY_PHRASES: f32 = 0.022;
/// Minimum score of a phrase inside a longer message.
const INSIDE: f32 = 0.66;
/// Additional score of a phrase that is nearly all of the message.
const INSIDE_RANGE: f32 = 0.3;
/// Penalty of a phrase with a typo inside a longer message.
const INSIDE_TYPO: f32 = 0.02;
/// Maximum score of a message that does not equal a phrase.
const NOT_EQUAL: f32 = 0.99;
/// Minimum share of a phrase in the message before a search for it inside the message.
const LEAST_COVER: f32 = 0.4;

/// Evidence for a rule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    pub(super) rule: u32,
    /// Number of phrases of the rule.
    pub(super) phrases: f32,
    /// Share of the message's characters in scripts without spaces.
    pub(super) unspaced: f32,
    /// Cosine of the message and the rule's best phrase.
    pub(super) cosine: f32,
    /// Cosine of the message and all phrases of the rule together.
    pub(super) centroid: f32,
    /// Share of the best phrase that the message has.
    pub(super) cover: f32,
    /// `true` if the message is one of the rule's phrases.
    pub(super) equal: bool,
    /// `true` if the rule's phrase is the longest that occurs in the message word for word.
    pub(super) contained: bool,
    /// `true` if the best phrase occurs in the message with a typo.
    pub(super) nearly_contained: bool,
    /// Edit similarity of the message and the best phrase.
    pub(super) edit: f32,
}

impl Evidence {
    /// Returns the weighted similarity.
    pub(super) fn likeness(&self) -> f32 {
        BEST_PHRASE * self.cosine + (1.0 - BEST_PHRASE) * self.centroid
    }

    /// Compares a message with a phrase, both without spaces and punctuation, character by character.
    pub(super) fn compare(&mut self, message: &Message, phrase: &str) {
        let (m, p) = (message.text.chars().count(), phrase.chars().count());
        self.edit = edit_similarity(&message.text, m, phrase, p);
        let (allowed, is_long) = (p / 5, to_f32(p) >= message.least_inside);
        if self.cover >= LEAST_COVER && m > p && allowed > 0 && is_long && is_unspaced(phrase) {
            self.nearly_contained = distance_inside(&message.text, phrase) <= allowed.min(3);
        }
    }

    /// Returns the score from 0 to 1, which only equal texts reach.
    pub(super) fn score(&self) -> f32 {
        if self.equal || self.edit >= 1.0 {
            return 1.0;
        }
        let missing = 1.0 - self.likeness().clamp(0.0, 1.0);
        let shared = (1.0 - missing.powf(1.0 + UNSPACED * self.unspaced)).powf(SHARE_POWER);
        let shared = shared * (1.0 - MANY_PHRASES * self.phrases.max(1.0).ln());
        let inside = INSIDE + INSIDE_RANGE * self.cosine;
        let contained = if self.contained { inside } else { 0.0 };
        let nearly = if self.nearly_contained { inside - INSIDE_TYPO } else { 0.0 };
        shared.max(self.edit).max(contained).max(nearly).min(NOT_EQUAL)
    }
}

/// Returns the share of characters in place, by optimal string alignment; 0 if too few characters
/// are left for it to be no accident.
fn edit_similarity(message: &str, m: usize, phrase: &str, p: usize) -> f32 {
    let longer = m.max(p);
    if m.abs_diff(p) * 5 > longer * 2 {
        return 0.0;
    }
    let (a, b) = without_common_ends(message, phrase);
    let distance =
        if a.is_empty() || b.is_empty() { m.abs_diff(p) } else { strsim::osa_distance(a, b) };
    let allowed = match longer.min(p + 1) {
        _ if distance == 0 => 0,
        0..=2 => return 0.0,
        3..=4 => short_edits(a, b, phrase, p),
        5..=7 => 1,
        8..=11 => 2,
        _ => longer,
    };
    if distance > allowed { 0.0 } else { 1.0 - ratio(distance, longer) }
}

/// Returns the number of edits that a phrase of three or four characters tolerates; `a` and `b` are
/// the differing parts. A letter more or less says little in an alphabet, and nothing in a word of
/// three; a character of Han, kana or Hangul is as good as two letters.
fn short_edits(a: &str, b: &str, phrase: &str, p: usize) -> usize {
    let replaced = a.chars().count() == 1 && b.chars().count() == 1;
    let dense = phrase.chars().all(is_dense);
    match p {
        4.. => usize::from(dense || !replaced),
        3 => usize::from(dense && !replaced),
        _ => 0,
    }
}

/// Returns whether a character stands for a syllable or a word.
fn is_dense(c: char) -> bool {
    Class::of(c) == Class::Hangul || (Class::of(c) == Class::Unspaced && !is_alphabet(c))
}

/// Returns whether a character is Thai, Lao, Tibetan, Myanmar or Khmer.
fn is_alphabet(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

fn is_unspaced(text: &str) -> bool {
    text.chars().all(|c| Class::of(c).is_substring_script())
}

/// Returns two texts without their common prefix and suffix, which no edit distance depends on.
fn without_common_ends<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    let front: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let (a, b) = (&a[front..], &b[front..]);
    let same = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b);
    let back: usize = same.map(|(c, _)| c.len_utf8()).sum();
    (&a[..a.len() - back], &b[..b.len() - back])
}

/// Returns the least edits between `phrase` and any part of `message`: the first row of the table
/// is zeros, and the result may stand anywhere in the last.
fn distance_inside(message: &str, phrase: &str) -> usize {
    let phrase: Vec<char> = phrase.chars().collect();
    // Columns of the table: the last but one, the last, and the one being filled.
    let mut older = vec![0_usize; phrase.len() + 1];
    let mut column: Vec<usize> = (0..=phrase.len()).collect();
    let mut next = older.clone();
    let mut preceding = None;
    let mut least = phrase.len();
    for c in message.chars() {
        for (at, &wanted) in phrase.iter().enumerate() {
            let kept_or_replaced = column[at] + usize::from(c != wanted);
            let mut edits = kept_or_replaced.min(column[at + 1] + 1).min(next[at] + 1);
            if at > 0 && preceding == Some(wanted) && phrase[at - 1] == c {
                edits = edits.min(older[at - 1] + 1);
            }
            next[at + 1] = edits;
        }
        least = least.min(next[phrase.len()]);
        std::mem::swap(&mut older, &mut column);
        std::mem::swap(&mut column, &mut next);
        preceding = Some(c);
    }
    least
}

/// Returns whether the phrase of a hit is specific enough to count inside a longer message.
pub(super) fn may_stand_inside(folded: &str, hit: KeywordHit) -> bool {
    let phrase: Vec<char> = folded.chars().skip(hit.start).take(hit.len).collect();
    is_specific(&phrase)
}

/// Returns whether a phrase is specific enough to count inside a longer message: not the shortest
/// ones, and not those of nothing but function words.
pub(super) fn is_specific(phrase: &[char]) -> bool {
    let least = if phrase.iter().copied().all(is_han_or_hangul) { 2 } else { 3 };
    phrase.len() >= least && !common::is_common_phrase(phrase)
}

fn is_han_or_hangul(c: char) -> bool {
    is_dense(c) && !is_kana(c)
}

#[expect(clippy::cast_precision_loss, reason = "lengths of chat messages")]
fn ratio(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(message: &str, phrase: &str) -> f32 {
        edit_similarity(message, message.chars().count(), phrase, phrase.chars().count())
    }

    #[test]
    fn one_edit_is_borne_by_five_letters_and_four_syllables() {
        for (message, phrase) in
            [("prcie", "price"), ("hors", "hours"), ("營業時閒", "營業時間"), ("wfii", "wifi")]
        {
            assert!(edit(message, phrase) >= 0.75, "{message}");
        }
        assert!(edit("停場車", "停車場") > 0.6);
        for (message, phrase) in [
            ("his", "hi"),
            ("資格", "價格"),
            ("wife", "wifi"),
            ("停車費", "停車場"),
            ("ราค", "รา"),
            ("menus", "hours"),
        ] {
            assert!(edit(message, phrase) < 0.5, "{message}");
        }
        assert!((edit("hi", "hi") - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn a_phrase_is_found_inside_with_its_typos() {
        assert_eq!(distance_inside("請問你們的營業時閒是幾點", "營業時間"), 1);
        assert_eq!(distance_inside("請問營時業間是", "營業時間"), 1);
        assert_eq!(distance_inside("請問營業時間是", "營業時間"), 0);
        assert_eq!(distance_inside("天氣", "營業時間"), 4);
    }
}
