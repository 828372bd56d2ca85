//! Names of people in texts.
//!
//! A whole name is found anywhere where it stands as words; a name of one character only where it
//! stands alone, and one of signs only where no other sign touches it. Of names of several words
//! each word is found, too, if it begins with a capital letter or has no case; of a Chinese or
//! Korean name the given name. Titles and common words are no names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, BuildError};
use chatkeep_index::script::{Class, is_ideograph};

use super::plain::{Plain, is_spaced, is_unspaced, plain};

/// Stands for a name that several people have.
const SEVERAL: &str = "[name]";
/// Minimum letters of a word that counts as a name of its own.
const WORD: usize = 3;
/// The same in scripts without case, in most of which fewer letters make a name.
const CASELESS: usize = 2;

/// Words that are no names by themselves.
const TITLES: [&str; 65] = [
    "admin",
    "and",
    "assistant",
    "bot",
    "boss",
    "chat",
    "company",
    "dad",
    "doctor",
    "family",
    "from",
    "group",
    "home",
    "line",
    "manager",
    "miss",
    "mom",
    "mrs",
    "office",
    "official",
    "sales",
    "shop",
    "sir",
    "store",
    "team",
    "teacher",
    "the",
    "user",
    "you",
    "先生",
    "小姐",
    "老師",
    "老师",
    "媽媽",
    "妈妈",
    "爸爸",
    "阿姨",
    "叔叔",
    "老闆",
    "經理",
    "同學",
    "太太",
    "女士",
    "さん",
    "ちゃん",
    "くん",
    "先輩",
    "คุณ",
    "가족",
    "누나",
    "대리",
    "사장",
    "선생",
    "아빠",
    "언니",
    "엄마",
    "오빠",
    "친구",
    "회사",
    "선생님",
    "بن",
    "آل",
    "जी",
    "בן",
    "בת",
];

/// [`TITLES`] in their plain form.
static COMMON: LazyLock<HashSet<String>> =
    LazyLock::new(|| TITLES.iter().map(|word| plain(word)).collect());

/// Names and what stands for each.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    finder: Option<AhoCorasick>,
    /// Stand-in for each pattern of the finder.
    stand_ins: Vec<String>,
}

/// Stand-in for a pattern.
#[derive(Debug)]
struct NameMeaning {
    stand_in: String,
    /// True for a whole name, which is stronger than a part of another.
    whole: bool,
}

impl KnownNames {
    /// Creates it from names and what stands for each.
    ///
    /// # Errors
    /// Returns an error for more names than memory has room for.
    pub(super) fn new<'a>(
        people: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, BuildError> {
        let mut meanings = HashMap::new();
        for (name, stand_in) in people {
            let whole = plain(name.trim());
            add(&mut meanings, whole.clone(), stand_in, true);
            for part in parts(name) {
                if part != whole {
                    add(&mut meanings, part, stand_in, false);
                }
            }
        }
        let (patterns, meanings): (Vec<_>, Vec<_>) = meanings.into_iter().unzip();
        let stand_ins = meanings.into_iter().map(|meaning: NameMeaning| meaning.stand_in).collect();
        let finder = (!patterns.is_empty()).then(|| AhoCorasick::new(&patterns)).transpose()?;
        Ok(Self { finder, stand_ins })
    }

    /// Returns the names in a text, in characters, and what stands for them, longer ones first.
    pub(super) fn find(&self, text: &Plain) -> Vec<(Range<usize>, String)> {
        let Some(finder) = &self.finder else { return Vec::new() };
        let plain = text.text();
        let mut index_of = vec![0; plain.len() + 1];
        for (index, (at, _)) in plain.char_indices().enumerate() {
            index_of[at] = index;
        }
        index_of[plain.len()] = text.chars.len();
        let mut found: Vec<_> = finder
            .find_overlapping_iter(&plain)
            .map(|hit| (index_of[hit.start()]..index_of[hit.end()], hit.pattern().as_usize()))
            .filter(|(range, _)| stands_alone(text, range))
            .collect();
        found.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
        let stand_in = |(range, pattern): (_, usize)| (range, self.stand_ins[pattern].clone());
        found.into_iter().map(stand_in).collect()
    }
}

fn add(meanings: &mut HashMap<String, NameMeaning>, pattern: String, stand_in: &str, whole: bool) {
    if pattern.is_empty() || pattern.chars().all(|c| !c.is_alphanumeric() && c.is_ascii()) {
        return;
    }
    let new = || NameMeaning { stand_in: stand_in.to_owned(), whole };
    let known = meanings.entry(pattern).or_insert_with(new);
    if known.stand_in == stand_in || known.whole && !whole {
        return;
    }
    let is_stronger = whole && !known.whole;
    *known = if is_stronger { new() } else { NameMeaning { stand_in: SEVERAL.to_owned(), whole } };
}

/// Returns the parts of a name that are names by themselves.
fn parts(name: &str) -> Vec<String> {
    let words = name.split(|c| matches!(Class::of(c), Class::Space | Class::Symbol) && is_shown(c));
    let mut parts = Vec::new();
    // A number beside a name is no part of it.
    for word in words.flat_map(|word| std::iter::once(word).chain(word.split(char::is_numeric))) {
        let plain = plain(word);
        let letters = plain.chars().count();
        let is_name = match (plain.chars().next(), word.chars().find(|c| is_shown(*c))) {
            (Some(plain), _) if is_unspaced(plain) => letters >= CASELESS,
            (_, Some(first)) if first.is_alphabetic() && !has_case(first) => letters >= CASELESS,
            (_, Some(first)) => letters >= WORD && !first.is_lowercase() && !first.is_numeric(),
            _ => false,
        };
        if COMMON.contains(&plain) {
            continue;
        }
        if is_name {
            parts.push(plain.clone());
        }
        let has_given = plain.chars().all(is_ideograph) || plain.chars().all(is_hangul);
        if (3..=4).contains(&letters) && has_given {
            let given: String = plain.chars().skip(letters - 2).collect();
            if !COMMON.contains(&given) {
                parts.push(given);
            }
        }
    }
    parts
}

/// Returns false for an invisible character.
fn is_shown(c: char) -> bool {
    c.is_alphanumeric() || c.is_whitespace() || !plain(c.encode_utf8(&mut [0; 4])).is_empty()
}

/// Returns true for a letter that is a capital or not. Georgian has capitals for headings only.
fn has_case(c: char) -> bool {
    (c.is_lowercase() || c.is_uppercase()) && !matches!(c, '\u{10d0}'..='\u{10ff}')
}

fn is_hangul(c: char) -> bool {
    Class::of(c) == Class::Hangul
}

/// Returns true for a vowel or tone that belongs to the letter before it.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{300}'..='\u{36f}')
}

/// Returns true for a mark between words or around them, and false for any other sign.
const fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(
            c,
            '\u{a1}' | '\u{ab}' | '\u{b7}' | '\u{bb}' | '\u{bf}' | '\u{589}' | '\u{5be}'
                | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{6d4}' | '\u{964}'..='\u{965}'
                | '\u{104a}'..='\u{104b}' | '\u{17d4}'..='\u{17d5}' | '\u{2016}'..='\u{2027}'
                | '\u{2039}'..='\u{203a}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}'
                | '\u{3014}'..='\u{301f}' | '\u{30fb}'
        )
}

/// Returns true if a found name is no part of a longer word, or of a row of signs.
fn stands_alone(text: &Plain, range: &Range<usize>) -> bool {
    let chars = &text.chars[range.clone()];
    let (Some(first), Some(last)) = (chars.first(), chars.last()) else { return false };
    let (before, after) = (text.before(range.start), text.at(range.end));
    let is_short = chars.len() == 1 || chars.len() == 2 && chars.iter().all(|c| is_thai(*c));
    if !chars.iter().any(|c| c.is_alphanumeric()) {
        // `♡♡♡` names nobody, and no full stop behind a bracket does.
        let joins = |own: char, next: char| {
            if next.is_alphanumeric() || is_mark(next) {
                return is_short;
            }
            !next.is_whitespace() && (is_punctuation(own) || !is_punctuation(next))
        };
        return !before.is_some_and(|next| joins(*first, next))
            && !after.is_some_and(|next| joins(*last, next));
    }
    // `Ann2000` is Ann's, and `B2` nobody's.
    let parts =
        |own: char, next: char| chars.len() >= WORD && own.is_numeric() != next.is_numeric();
    let joins = |own: char, next: Option<char>| match next {
        Some(next) if is_short => next.is_alphanumeric() || is_mark(next),
        Some(next) => is_spaced(own) && is_spaced(next) && !parts(own, next) || is_mark(next),
        None => false,
    };
    !joins(*first, before.filter(|c| !is_mark(*c))) && !joins(*last, after)
}

const fn is_thai(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{e7f}')
}
