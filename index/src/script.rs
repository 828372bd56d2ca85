//! Classes of characters by the word boundaries of their scripts: with spaces, or without.
//!
//! Unicode's own word boundaries need dictionaries for the scripts without spaces, and dictionary
//! words lose substrings that people search for. Matching here needs only the coarse classes below.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// Class of a folded character for the matchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// White space.
    Space,
    /// Punctuation, symbols, emoji: never part of a word.
    Symbol,
    /// A letter, digit or mark of a script that puts spaces between words.
    Word,
    /// Hangul: spaces between words, but particles grow onto their ends.
    Hangul,
    /// A script that writes without spaces: Han, kana, bopomofo, Thai, Lao, Khmer, Myanmar, …
    Unspaced,
}

impl Class {
    /// Returns the class of a character of folded text.
    #[inline]
    pub fn of(c: char) -> Self {
        if c.is_ascii() {
            return if c.is_ascii_alphanumeric() {
                Self::Word
            } else if c.is_whitespace() {
                Self::Space
            } else {
                Self::Symbol
            };
        }
        if is_unspaced(c) {
            return Self::Unspaced;
        }
        match c {
            '\u{1100}'..='\u{11ff}'
            | '\u{3131}'..='\u{318e}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}' => Self::Hangul,
            c if c.is_alphanumeric() => Self::Word,
            c if c.is_whitespace() => Self::Space,
            c if combining_class(c) != 0 => Self::Word,
            _ => Self::Symbol,
        }
    }

    /// Returns whether text of this class is searched by substring (`Hangul`, `Unspaced`).
    #[inline]
    pub fn is_substring_script(self) -> bool {
        matches!(self, Self::Hangul | Self::Unspaced)
    }
}

/// Returns whether it is a Han character.
pub fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether it is hiragana or katakana.
pub(crate) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}')
}

/// Returns whether a symbol is meaningful by itself, unlike punctuation.
pub(crate) fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}'
        | '\u{231a}' | '\u{231b}' | '\u{23e9}'..='\u{23f3}' | '\u{2b50}' | '\u{2b55}'
    )
}

/// Part of a character in a cluster: what is written around one consonant in the scripts of
/// Southeast Asia.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterRole {
    /// A vowel that is written before its consonant.
    Lead,
    /// Anything that a cluster can begin with.
    Base,
    /// It belongs to the character before it.
    Mark,
    /// A mark that the next character belongs to as well: it is stacked below.
    Stack,
}

/// Returns the part of a folded character; `None` if it is of a script without clusters.
pub(crate) fn cluster_role(c: char) -> Option<ClusterRole> {
    Some(match c {
        '\u{e40}'..='\u{e44}' | '\u{ec0}'..='\u{ec4}' => ClusterRole::Lead,
        '\u{e30}'..='\u{e3a}' | '\u{e45}' | '\u{e47}'..='\u{e4e}' // Thai
        | '\u{eb0}'..='\u{ebd}' | '\u{ec7}'..='\u{ecf}' // Lao
        | '\u{102b}'..='\u{1038}' | '\u{103a}'..='\u{103e}' | '\u{1056}'..='\u{1059}' // Myanmar
        | '\u{105e}'..='\u{1060}' | '\u{1062}'..='\u{1064}' | '\u{1067}'..='\u{106d}'
        | '\u{1071}'..='\u{1074}' | '\u{1082}'..='\u{108d}' | '\u{108f}'
        | '\u{109a}'..='\u{109d}'
        | '\u{17b4}'..='\u{17d1}' | '\u{17d3}' | '\u{17dd}' => ClusterRole::Mark, // Khmer
        '\u{1039}' | '\u{17d2}' => ClusterRole::Stack,
        '\u{e01}'..='\u{e2f}' | '\u{e46}' | '\u{e50}'..='\u{e59}' | '\u{e80}'..='\u{eff}'
        | '\u{1000}'..='\u{1049}' | '\u{1050}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17d7}' | '\u{17dc}' | '\u{17e0}'..='\u{17f9}' => {
            ClusterRole::Base
        }
        _ => return None,
    })
}

/// Returns whether a text may be cut between two characters: not before a mark, and not between a
/// vowel and the consonant that it is written before.
#[inline]
pub(crate) fn may_part(before: char, after: char) -> bool {
    if !matches!(after, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}') {
        return !is_other_mark(after);
    }
    let Some(role) = cluster_role(before) else { return true };
    let joins_next = matches!(role, ClusterRole::Lead | ClusterRole::Stack);
    let joins_before = matches!(cluster_role(after), Some(ClusterRole::Mark | ClusterRole::Stack));
    !joins_next && !joins_before
}

/// Returns whether a character of the other scripts without spaces belongs to the one before it: a
/// mark of a voiced kana, a vowel, a tone, or a letter that is stacked below.
#[inline]
fn is_other_mark(c: char) -> bool {
    matches!(c,
        '\u{3099}' | '\u{309a}' // kana
        | '\u{f18}' | '\u{f19}' | '\u{f35}' | '\u{f37}' | '\u{f39}' // Tibetan
        | '\u{f3e}' | '\u{f3f}' | '\u{f71}'..='\u{f84}' | '\u{f86}' | '\u{f87}'
        | '\u{f8d}'..='\u{fbc}'
        | '\u{a9e5}' | '\u{aa7b}'..='\u{aa7d}' // Myanmar, its extensions
        | '\u{1a55}'..='\u{1a7f}' // Tai Tham
        | '\u{aab0}' | '\u{aab2}'..='\u{aab4}' | '\u{aab7}' | '\u{aab8}' // Tai Viet
        | '\u{aabe}' | '\u{aabf}' | '\u{aac1}'
    )
}

/// Returns the canonical combining class of `c`; 0 for everything that stands by itself.
#[inline]
pub(crate) fn combining_class(c: char) -> u8 {
    const CLASSES: CanonicalCombiningClassMapBorrowed<'static> =
        CanonicalCombiningClassMapBorrowed::new();
    CLASSES.get_u8(c)
}

/// Returns whether `c` belongs to a script without spaces, its punctuation left out.
#[inline]
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}' // Han, by far the most frequent here: asked first
        | '\u{3041}'..='\u{3096}' | '\u{3099}' | '\u{309a}' | '\u{309d}'..='\u{309f}' // hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' // katakana
        | '\u{0e01}'..='\u{0e3e}' | '\u{0e40}'..='\u{0e4e}' | '\u{0e50}'..='\u{0e59}' // Thai
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}'
        | '\u{3038}'..='\u{303c}' // CJK repetition marks and numerals
        | '\u{3105}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' // bopomofo
        | '\u{31f0}'..='\u{31ff}' // katakana extensions
        | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' // Han
        | '\u{2e80}'..='\u{2fdf}' // radicals
        | '\u{1aff0}'..='\u{1b16f}' // kana extensions
        | '\u{0e80}'..='\u{0eff}' // Lao
        | '\u{0f00}' | '\u{0f18}'..='\u{0f39}' | '\u{0f3e}'..='\u{0f84}' // Tibetan
        | '\u{0f86}'..='\u{0fbc}'
        | '\u{1000}'..='\u{1049}' | '\u{1050}'..='\u{109f}' // Myanmar
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17dc}'..='\u{17ff}' // Khmer
        | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1a9f}' | '\u{aa80}'..='\u{aadd}' // Tai
        | '\u{a000}'..='\u{a48f}' // Yi
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_never_cut() {
        for (before, after) in
            [('เ', 'ข'), ('ม', '\u{e39}'), ('ส', '\u{e35}'), ('น', 'า'), ('か', '\u{3099}')]
        {
            assert!(!may_part(before, after), "{before} {after}");
        }
        for (before, after) in
            [('ร', 'ม'), ('า', 'ก'), ('营', '业'), ('a', 'ก'), ('ก', '1'), ('เ', ' ')]
        {
            assert!(may_part(before, after), "{before} {after}");
        }
    }

    #[test]
    fn classes_follow_the_way_a_script_is_written() {
        let of = |text: &str| text.chars().map(Class::of).collect::<Vec<_>>();
        assert_eq!(of("aé7я"), [Class::Word; 4]);
        assert_eq!(of("हिन्"), [Class::Word; 4], "vowel signs and viramas belong to their word");
        assert_eq!(of("漢あアーกำㄅ々"), [Class::Unspaced; 8]);
        assert_eq!(of("한ᄒ"), [Class::Hangul; 2]);
        assert_eq!(of("။។。฿+😀_'"), [Class::Symbol; 8]);
        assert_eq!(of(" \n\u{3000}"), [Class::Space; 3]);
    }
}
