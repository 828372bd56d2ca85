//! Vocabulary of the phrases, and correction of mistyped words to it.
//!
//! Two words at most one edit apart share a form with one character less (or one is such a form of
//! the other): a table of those forms proposes the few words worth comparing.

use std::collections::HashSet;

use super::features::word_hash;
use super::hash::Hashed;

/// Minimum length of a word; shorter ones are too near to too many others.
const SHORTEST: usize = 4;
/// Minimum length of a word that is recognised even if its first letter is wrong.
const SURE: usize = 7;
/// Maximum length of a word; longer ones are keys and links.
const LONGEST: usize = 24;

/// Words of scripts with spaces in the phrases.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// Hashes of all words.
    known: HashSet<u64, Hashed>,
    /// Words that may be corrected to.
    words: Vec<Box<str>>,
    /// Hashes of forms with one character less (and of the word itself) and the word's index.
    forms: Vec<(u32, u32)>,
}

impl Vocabulary {
    /// Adds a word unless it is known.
    pub(super) fn add(&mut self, word: &[char]) {
        if !self.known.insert(word_hash(word)) || !may_be_mistyped(word) {
            return;
        }
        let Ok(place) = u32::try_from(self.words.len()) else {
            return;
        };
        self.words.push(word.iter().collect());
        let forms = &mut self.forms;
        each_form(word, |form| forms.push((form, place)));
    }

    /// Sorts the table for lookups.
    pub(super) fn finish(&mut self) {
        self.forms.sort_unstable();
        self.forms.dedup();
        self.forms.shrink_to_fit();
        self.words.shrink_to_fit();
    }

    /// Returns whether `word` occurs in the phrases.
    fn knows(&self, word: &[char]) -> bool {
        self.known.contains(&word_hash(word))
    }

    /// Returns the word that was probably meant by `word`, unless the phrases contain that.
    pub(super) fn correct(&self, word: &[char]) -> Option<&str> {
        if !may_be_mistyped(word) || self.knows(word) {
            return None;
        }
        let typed: String = word.iter().collect();
        let mut best: Option<(&str, f64)> = None;
        each_form(word, |form| {
            let from = self.forms.partition_point(|&(other, _)| other < form);
            for &(_, place) in self.forms[from..].iter().take_while(|&&(other, _)| other == form) {
                let known: &str = &self.words[place as usize];
                if is_near(&typed, known) {
                    let similarity = strsim::jaro_winkler(&typed, known);
                    if best.is_none_or(|(_, best)| best < similarity) {
                        best = Some((known, similarity));
                    }
                }
            }
        });
        best.map(|(known, _)| known)
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        let words: usize = self.words.iter().map(|word| word.len() + size_of::<Box<str>>()).sum();
        words + self.forms.len() * size_of::<(u32, u32)>() + self.known.capacity() * 9
    }
}

/// Returns whether a word is long enough to be recognised with a typo; numbers never are.
fn may_be_mistyped(word: &[char]) -> bool {
    (SHORTEST..=LONGEST).contains(&word.len()) && !word.iter().any(|c| c.is_numeric())
}

/// Returns whether two words are one edit apart; words of four letters that differ in one of them
/// are different words more often than not (wife, wifi).
fn is_near(typed: &str, known: &str) -> bool {
    // Few typos hit the first letter, and many short words differ in nothing else (rice, price).
    let same_first = typed.chars().next() == known.chars().next();
    if !same_first && known.chars().take(SURE).count() < SURE {
        return false;
    }
    if strsim::osa_distance(typed, known) > 1 {
        return false;
    }
    let (typed_len, known_len) = (typed.chars().count(), known.chars().count());
    typed_len != known_len || known_len > SHORTEST || strsim::levenshtein(typed, known) == 2
}

/// Calls `emit` with the hash of the word and of every form of it with one character less.
fn each_form(word: &[char], mut emit: impl FnMut(u32)) {
    const BASE: u32 = 0x0100_0193;
    // prefix[i] is the hash of the first i characters; a form is a prefix and the rest of the word.
    let step = |hash: u32, c: &char| (hash ^ u32::from(*c)).wrapping_mul(BASE) ^ hash >> 15;
    let mut prefix = 0x811c_9dc5;
    emit(word.iter().fold(prefix, step));
    for at in 0..word.len() {
        emit(word[at + 1..].iter().fold(prefix, step));
        prefix = step(prefix, &word[at]);
    }
}
