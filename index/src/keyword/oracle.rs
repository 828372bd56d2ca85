//! Keywords against texts whose letters are known: where a keyword may begin and end is known by
//! how a text was put together, and not from its characters.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::fold::fold;

/// Kind of a letter, by the rules for keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetterKind {
    /// Of a script with spaces: a keyword begins and ends with a whole word.
    Spaced,
    /// Of Korean: a keyword begins where a word does, and may end anywhere.
    Korean,
    /// Of a script without spaces: a keyword may begin and end beside any of them.
    Unspaced,
    /// A sign or a space.
    Sign,
}

use LetterKind::{Korean, Sign, Spaced, Unspaced};

/// Letters as they are folded, each with its marks, and ways in which they are written.
const LETTERS: &[(LetterKind, &str, &[&str])] = &[
    (Spaced, "a", &["a", "A", "ａ", "Ａ"]),
    (Spaced, "é", &["é", "É", "e\u{301}"]),
    (Spaced, "1", &["1", "１"]),
    (Spaced, "я", &["я", "Я"]),
    (Korean, "가", &["가", "\u{1100}\u{1161}"]),
    (Korean, "낙", &["낙", "\u{1102}\u{1161}\u{11a8}"]),
    (Unspaced, "時", &["時"]),
    (Unspaced, "間", &["間", "間\u{200b}"]),
    (Unspaced, "が", &["が", "か\u{3099}"]),
    (Unspaced, "か", &["か"]),
    (Unspaced, "ガ", &["ガ", "ｶﾞ"]),
    (Unspaced, "ก", &["ก"]),
    (Unspaced, "ก\u{e48}", &["ก\u{e48}"]),
    (Unspaced, "เก", &["เก"]),
    (Unspaced, "แก\u{e48}", &["แก\u{e48}", "เเก\u{e48}"]),
    (Unspaced, "น\u{e49}\u{e4d}\u{e32}", &["น\u{e49}\u{e33}", "น\u{e4d}\u{e49}\u{e32}"]),
    (Unspaced, "ກ", &["ກ"]),
    (Unspaced, "ກ\u{ec9}\u{ecd}", &["ກ\u{ec9}\u{ecd}", "ກ\u{ecd}\u{ec9}"]),
    (Unspaced, "ក", &["ក"]),
    (Unspaced, "ក\u{17d2}ក\u{17b6}", &["ក\u{17d2}ក\u{17b6}"]),
    (Unspaced, "က", &["က"]),
    (Unspaced, "က\u{1039}က\u{102c}", &["က\u{1039}က\u{102c}"]),
    (Sign, "?", &["?", "？"]),
    (Sign, "-", &["-", "－"]),
    (Sign, "🎉", &["🎉", "🎉\u{fe0f}"]),
    (Sign, " ", &[" ", "\u{3000}", "\n ", " \u{200b} "]),
];

/// Numbers of letters, and for each the way in which it is written.
pub(crate) type Written = Vec<(usize, usize)>;

/// Letters of texts that are put together: very few, so that keywords do occur, or all.
const SETS: &[&[usize]] = &[
    &[0, 1, 25],
    &[0, 2, 3, 22, 25],
    &[0, 4, 5, 6, 25],
    &[6, 7, 24],
    &[8, 9, 10, 0],
    &[11, 12, 13, 14],
    &[12, 15, 2, 25],
    &[16, 17, 11, 23],
    &[18, 19],
    &[20, 21, 4],
    &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25],
];

fn written(letters: &'static [usize], most: usize) -> impl Strategy<Value = Written> {
    vec((select(letters), 0_usize..4), 0..most)
}

/// Generates a text, and keywords of its letters, some without their first or last character.
pub(crate) fn keywords() -> impl Strategy<Value = (Written, Vec<String>)> {
    select(SETS).prop_flat_map(|letters| {
        let keyword = (written(letters, 5), 0_usize..8).prop_map(|(letters, torn)| {
            let text = folded(&letters);
            let count = text.chars().count().saturating_sub(usize::from(torn == 2));
            text.chars().skip(usize::from(torn == 1)).take(count).collect::<String>()
        });
        (written(letters, 14), vec(keyword, 0..12))
    })
}

/// Returns the letters of a text: one space of several, and none at the ends.
fn letters(text: &Written) -> Vec<(LetterKind, &'static str)> {
    let mut letters: Vec<(LetterKind, &'static str)> = Vec::new();
    for &(number, _) in text {
        let (kind, letter, _) = LETTERS[number];
        let is_again = letter == " " && letters.last().is_none_or(|(_, last)| *last == " ");
        if !is_again {
            letters.push((kind, letter));
        }
    }
    letters.pop_if(|(_, last)| *last == " ");
    letters
}

/// Returns a text as it is folded.
pub(crate) fn folded(text: &Written) -> String {
    letters(text).into_iter().map(|(_, letter)| letter).collect()
}

/// Returns a text as somebody wrote it.
pub(crate) fn as_written(text: &Written) -> String {
    let ways = text.iter().map(|&(number, way)| {
        let (_, _, ways) = LETTERS[number];
        ways[way % ways.len()]
    });
    ways.collect()
}

/// Returns a keyword without spaces and marks at its ends; as it is if it has nothing else.
pub(crate) fn bare(keyword: &str) -> &str {
    let keyword = keyword.trim_matches(' ');
    match keyword.trim_end_matches([' ', '?']) {
        "" => keyword,
        bare => bare,
    }
}

/// Returns where a folded keyword occurs, in characters.
pub(crate) fn places(text: &Written, keyword: &str) -> Vec<usize> {
    let (letters, mut found, mut start) = (letters(text), Vec::new(), 0);
    for (at, (kind, first)) in letters.iter().enumerate() {
        let (mut end, mut rest) = (at, keyword);
        while let Some((_, letter)) = letters.get(end)
            && !rest.is_empty()
            && let Some(shorter) = rest.strip_prefix(letter)
        {
            (end, rest) = (end + 1, shorter);
        }
        let before = at.checked_sub(1).map(|at| letters[at].0);
        let after = letters.get(end).map(|(kind, _)| *kind);
        let begins = match kind {
            Spaced => before != Some(Spaced),
            Korean => !matches!(before, Some(Spaced | Korean)),
            Unspaced | Sign => true,
        };
        let is_end = end > at && (letters[end - 1].0 != Spaced || after != Some(Spaced));
        if rest.is_empty() && begins && is_end {
            found.push(start);
        }
        start += first.chars().count();
    }
    found
}

/// Returns every hit of keywords in a text: each keyword for its oldest rule.
pub(crate) fn hits(text: &Written, keywords: &[String]) -> Vec<KeywordHit> {
    let bare: Vec<&str> = keywords.iter().map(|keyword| bare(keyword)).collect();
    let mut hits = Vec::new();
    for (rule, keyword) in (0_u32..).zip(&bare) {
        let older = bare.iter().take(rule as usize).any(|other| other == keyword);
        if !keyword.is_empty() && !older {
            let len = keyword.chars().count();
            let places = places(text, keyword).into_iter();
            hits.extend(places.map(|start| KeywordHit { rule, start, len }));
        }
    }
    hits
}

/// Returns the hit that counts: the longest, then that of the older rule, then the first.
pub(crate) fn best(hits: impl Iterator<Item = KeywordHit>) -> Option<KeywordHit> {
    hits.min_by_key(|hit| (std::cmp::Reverse(hit.len), hit.rule, hit.start))
}

fn matcher_of_texts(keywords: &[String]) -> KeywordMatcher {
    KeywordMatcher::build((0..).zip(keywords.iter().map(String::as_str))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_text_folds_to_its_letters_however_it_is_written((text, _) in keywords()) {
        prop_assert_eq!(fold(&as_written(&text)), folded(&text));
    }

    #[test]
    fn a_keyword_is_found_where_whole_letters_are_it((text, keywords) in keywords()) {
        let expected = hits(&text, &keywords);
        let matcher = matcher_of_texts(&keywords);
        let message = as_written(&text);
        let found = matcher.contains(&message);
        prop_assert_eq!(found, best(expected.iter().copied()), "{:?} {:?}", message, keywords);
    }

    #[test]
    fn every_hit_is_offered_and_the_best_accepted_one_is_taken(
        (text, keywords) in keywords(), accepted in any::<u64>(),
    ) {
        let mut expected = hits(&text, &keywords);
        let (matcher, message) = (matcher_of_texts(&keywords), as_written(&text));
        let mut offered = Vec::new();
        let none = matcher.contains_where(&message, |hit| {
            offered.push(hit);
            false
        });
        let order = |hit: &KeywordHit| (hit.start, hit.len, hit.rule);
        offered.sort_by_key(order);
        expected.sort_by_key(order);
        prop_assert_eq!(&offered, &expected, "{:?} {:?}", message, keywords);
        prop_assert!(none.is_none());
        let is_accepted = |hit: &KeywordHit| accepted >> ((hit.start * 7 + hit.len) % 64) & 1 == 1;
        let found = matcher.contains_where(&message, |hit| is_accepted(&hit));
        prop_assert_eq!(found, best(expected.into_iter().filter(is_accepted)), "{:?}", message);
    }

    #[test]
    fn a_message_is_a_keyword_whatever_its_marks_and_spelling(
        (text, mut keywords) in keywords(), marks in "[?？!。 ]{0,3}",
    ) {
        // Sometimes it is one.
        if keywords.len() % 2 == 1 {
            keywords.push(as_written(&text));
        }
        let matcher = matcher_of_texts(&keywords);
        let whole = folded(&text);
        let whole = bare(&whole);
        let older = keywords.iter().position(|keyword| fold_phrase(keyword) == whole);
        let expected = older.filter(|_| !whole.is_empty());
        let expected = expected.map(|rule| u32::try_from(rule).unwrap());
        let hit = matcher.exact(&as_written(&text));
        prop_assert_eq!(hit.map(|hit| hit.rule), expected);
        let is_word = whole.chars().any(|c| !matches!(c, '?' | ' '));
        if is_word {
            let marked = format!("{}{marks}", as_written(&text));
            prop_assert_eq!(matcher.exact(&marked), hit, "{:?}", marked);
        }
        if let Some(hit) = hit {
            prop_assert_eq!((hit.start, hit.len), (0, whole.chars().count()));
        }
    }

    #[test]
    fn shared_keywords_are_those_that_fold_to_one((_, keywords) in keywords()) {
        let pairs = || (0_u32..).zip(keywords.iter().map(String::as_str));
        let shared = duplicates(pairs());
        let rules = |keyword: &str| -> Vec<u32> {
            let same = pairs().filter(|(_, other)| bare(other) == keyword);
            same.map(|(rule, _)| rule).collect()
        };
        prop_assert!(shared.is_sorted_by(|a, b| a.keyword < b.keyword));
        for SharedKeyword { keyword, rules: found } in &shared {
            prop_assert!(!keyword.is_empty() && found.len() > 1);
            prop_assert_eq!(found, &rules(keyword));
        }
        let different: std::collections::BTreeSet<&str> =
            keywords.iter().map(|keyword| bare(keyword)).filter(|one| !one.is_empty()).collect();
        let expected = different.iter().filter(|keyword| rules(keyword).len() > 1).count();
        prop_assert_eq!(shared.len(), expected);
        prop_assert_eq!(matcher_of_texts(&keywords).len(), different.len());
    }
}

#[test]
fn many_keywords_of_one_beginning_are_all_found() {
    // A shortcut past two characters must not lose what is shorter, or hidden by a longer one.
    let endings = ["", "a", "ab", "費", "費用", "場", "場在", "ก", "가"];
    for beginning in ["停車", "ab", "เก", "가나", "🎉🎉"] {
        let keywords: Vec<String> =
            endings.iter().map(|ending| format!("{beginning}{ending}")).collect();
        let matcher = matcher_of_texts(&keywords);
        for keyword in &keywords {
            let message = format!("- {keyword} -");
            let hit = matcher.contains(&message).unwrap();
            assert_eq!(keywords[hit.rule as usize], *keyword, "{message}");
            assert_eq!((hit.start, hit.len), (2, keyword.chars().count()));
        }
        assert_eq!(matcher.contains("停 車 a b เ 가 🎉"), None, "{beginning}");
    }
}
