//! Folding for search: [`fold`](fn@crate::fold) without Latin diacritics (`cafe` matches `Café`) and
//! with one hyphen for all that are typed for it, with a mapping back to the characters of the
//! original text.

use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::han::simplified;
use super::quick::{self, Step};
use super::{NFKC, fold_chars, thai};
use crate::script::combining_class;

const NFD: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfd();

/// A text folded for search, with the origin of each of its characters.
#[derive(Clone, Debug, Default)]
pub struct SearchText {
    folded: String,
    origins: Vec<Range<usize>>,
}

impl SearchText {
    /// Folds `text`.
    pub fn new(text: &str) -> Self {
        Self::mapped(text, |c| c)
    }

    /// Folds `text`, with Traditional characters as Simplified ones.
    pub fn simplified(text: &str) -> Self {
        Self::mapped(text, simplified)
    }

    fn mapped(text: &str, map: impl Fn(char) -> char) -> Self {
        // Most texts fold to as much or less.
        let mut folded = String::with_capacity(text.len());
        let mut origins = Vec::with_capacity(text.len());
        each_folded(text, |c, origin| {
            folded.push(map(c));
            origins.push(origin);
        });
        Self { folded, origins }
    }

    /// Returns the folded text: single spaces, none at its beginning.
    pub fn as_str(&self) -> &str {
        &self.folded
    }

    /// Returns the range of characters (not bytes) of the original text for a range of characters
    /// of the folded text. Characters that fold as one are never separated.
    pub fn original(&self, folded: Range<usize>) -> Range<usize> {
        let Some(origins) = self.origins.get(folded) else {
            return 0..0;
        };
        match (origins.first(), origins.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
}

/// Returns `text` folded for search.
pub fn fold_for_search(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    each_folded(text, |c, _| folded.push(c));
    folded
}

/// Calls `emit` with every character of the folded text and the characters of `text` it came from.
///
/// The text is taken in clusters, a character with all that folds together with it, so that the
/// normaliser sees whole clusters and the origin of what it returns is known.
pub(crate) fn each_folded(text: &str, mut emit: impl FnMut(char, Range<usize>)) {
    let mut chars = text.chars().peekable();
    let mut cluster = String::new();
    let mut start = 0;
    let mut last = ' ';
    while let Some(c) = chars.next() {
        let first_step = quick::step(c);
        if first_step != Step::Slow && !chars.peek().is_some_and(|&next| may_join(c, next)) {
            let origin = start..start + 1;
            start += 1;
            emit_step(c, first_step, &mut last, |c| emit(c, origin.clone()));
            continue;
        }
        cluster.clear();
        cluster.push(c);
        let mut end = start + 1;
        while let Some(next) = chars.next_if(|&next| joins(&cluster, next)) {
            cluster.push(next);
            end += 1;
        }
        let origin = start..end;
        start = end;
        emit_cluster(&cluster, &mut last, |c| emit(c, origin.clone()));
    }
}

/// Returns whether `next` may fold together with `last`, the character before it; cheap test first.
#[inline]
fn may_join(last: char, next: char) -> bool {
    matches!(quick::step(next), Step::Slow | Step::Drop | Step::Mark(_))
        || thai::is_nikhahit(next)
        || thai::is_respelled(last, next)
}

/// Returns whether `next` folds together with `cluster` to something else than they do apart.
fn joins(cluster: &str, next: char) -> bool {
    match quick::step(next) {
        Step::Drop | Step::Mark(_) => true,
        // Before what looks back at the cluster: a run of them may be as long as the text.
        Step::Slow if quick::is_ignorable(next) => true,
        // Tone marks that move before it stand in the order of all marks there.
        _ if thai::is_nikhahit(next) => true,
        Step::Slow if combining_class(next) != 0 => true,
        _ if last_visible(cluster).is_some_and(|last| thai::is_respelled(last, next)) => true,
        Step::Slow => {
            // Half-width voicing marks: combining marks once they are folded.
            matches!(next, '\u{ff9e}' | '\u{ff9f}') || composes(cluster, next)
        }
        _ => false,
    }
}

fn last_visible(cluster: &str) -> Option<char> {
    cluster.chars().rfind(|&c| !quick::is_ignorable(c))
}

/// Returns whether the two compose; invisible characters are removed before the text is composed.
fn composes(cluster: &str, next: char) -> bool {
    let visible = || cluster.chars().filter(|&c| !quick::is_ignorable(c));
    let together = NFKC.normalize_iter(visible().chain([next]));
    let apart = NFKC.normalize_iter(visible()).chain(NFKC.normalize_iter([next].into_iter()));
    !together.eq(apart)
}

/// Emits a character that folds by table.
fn emit_step(c: char, step: Step, last: &mut char, mut emit: impl FnMut(char)) {
    match step {
        Step::Keep | Step::Mark(_) => emit_char(c, last, &mut emit),
        Step::To(c) => emit_char(c, last, &mut emit),
        Step::Text(text) => text.chars().for_each(|c| emit_char(c, last, &mut emit)),
        Step::Space => emit_char(' ', last, &mut emit),
        Step::Drop | Step::Slow => {}
    }
}

/// Emits a cluster, by table if that is enough.
fn emit_cluster(cluster: &str, last: &mut char, mut emit: impl FnMut(char)) {
    let mut mark = Some(0);
    let by_table = cluster.chars().map(|c| (c, quick::step(c))).all(|(c, step)| {
        mark = mark.and_then(|mark| quick::next_mark(mark, c, step));
        mark.is_some() && step != Step::Slow
    });
    if by_table {
        for c in cluster.chars() {
            emit_step(c, quick::step(c), last, &mut emit);
        }
    } else {
        fold_chars(cluster.chars()).for_each(|c| emit_plain(c, last, &mut emit));
    }
}

/// Emits a folded character without its Latin diacritics.
fn emit_plain(c: char, last: &mut char, emit: &mut impl FnMut(char)) {
    match c {
        'æ' => "ae".chars().for_each(|c| emit_char(c, last, emit)),
        'œ' => "oe".chars().for_each(|c| emit_char(c, last, emit)),
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => {
            let base = NFD.normalize_iter([c].into_iter()).next().unwrap_or(c);
            emit_char(unstroked(base), last, emit);
        }
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            if last.is_ascii_alphabetic() => {}
        c if c.is_whitespace() => emit_char(' ', last, emit),
        c => emit_char(c, last, emit),
    }
}

/// Emits `c`, dashes in their one form, but never two spaces in a row and none at the beginning.
#[inline]
fn emit_char(c: char, last: &mut char, emit: &mut impl FnMut(char)) {
    let c = one_dash(c);
    if c != ' ' || *last != ' ' {
        emit(c);
    }
    *last = c;
}

/// Returns the hyphen for the hyphens and short dashes that are typed for one, as in `10:00–21:30`,
/// and the tilde for the wave dash, which some keyboards type in its place.
#[inline]
pub(crate) const fn one_dash(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2013}' | '\u{2212}' => '-',
        '\u{301c}' => '~',
        c => c,
    }
}

/// Returns the base of the Latin letters whose stroke is no diacritic in Unicode.
fn unstroked(c: char) -> char {
    match c {
        'đ' | 'ð' => 'd',
        'ħ' => 'h',
        'ı' => 'i',
        'ł' => 'l',
        'ø' => 'o',
        'ŧ' => 't',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::mixed_text;
    use super::*;
    use crate::fold::fold;

    #[test]
    fn latin_diacritics_go_and_others_stay() {
        for (text, folded) in [
            ("Café CRÈME", "cafe creme"),
            ("Cafe\u{301}", "cafe"),
            ("Đường Łódź Ærø", "duong lodz aero"),
            ("İstanbul ırmak", "istanbul irmak"),
            ("がぎ й Ώ", "がぎ й ώ"),
            ("น้ำ", "น้\u{e4d}า"),
            ("a\u{300}\u{323}b", "ab"),
            ("ｶ\u{200b}ﾞ", "ガ"),
            ("1–2 3−5 6‑7 8‐9 a―b—c", "1-2 3-5 6-7 8-9 a―b—c"),
            ("10:00〜21:30", "10:00~21:30"),
        ] {
            assert_eq!(fold_for_search(text), folded, "{text}");
        }
    }

    #[test]
    fn every_folded_character_knows_its_origin() {
        let text = SearchText::new("A  ﾊﾟé㍿e\u{301}…น้ำ❤\u{fe0f}!");
        assert_eq!(text.as_str(), "a パe株式会社e...น้\u{e4d}า❤!");
        let origin = |range| text.original(range);
        assert_eq!(origin(0..1), 0..1);
        assert_eq!(origin(2..3), 3..5, "two half-width characters, one katakana");
        assert_eq!(origin(3..4), 5..6);
        assert_eq!(origin(5..6), 6..7, "a part of a ligature is all of it");
        assert_eq!(origin(8..9), 7..9);
        assert_eq!(origin(9..12), 9..10);
        assert_eq!(origin(12..14), 10..12);
        assert_eq!(origin(16..17), 13..15);
        assert_eq!(origin(17..18), 15..16);
        assert_eq!(origin(17..99), 0..0);
    }

    #[test]
    fn a_long_run_of_invisible_characters_folds_to_nothing() {
        // Looking back at all of them for each of them would take minutes.
        for invisible in ['\u{ad}', '\u{2066}', '\u{115f}', '\u{e0041}', '\u{200b}'] {
            let text = format!("a{}b", String::from(invisible).repeat(1_000_000));
            assert_eq!(fold_for_search(&text), "ab", "{invisible:?}");
        }
    }

    #[test]
    fn letters_of_a_laughing_line_stay_apart() {
        let text = SearchText::new("응ㅋㅋㅋ");
        assert_eq!(text.original(1..3), 1..3);
    }

    proptest! {
        #[test]
        fn it_differs_from_folding_by_latin_diacritics_and_dashes_alone(text in mixed_text()) {
            let folded = fold(&text);
            let for_search = fold_for_search(&text);
            prop_assert_eq!(&fold_for_search(&folded), for_search.trim_end());
            let latin = |c: char| matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
            if !folded.chars().any(|c| latin(c) || combining_class(c) != 0) {
                let folded: String = folded.chars().map(one_dash).collect();
                prop_assert_eq!(for_search.trim_end(), folded);
            }
        }

        #[test]
        fn folding_for_search_twice_changes_nothing(text in mixed_text()) {
            let once = fold_for_search(&text);
            prop_assert_eq!(fold_for_search(&once), once);
        }
    }
}
