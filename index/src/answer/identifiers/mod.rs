//! Identifiers: the numbers and single letters that tell one thing from another of its kind, such
//! as `3年級` and `4年級`, `A棟` and `B棟`, `plan b`. Another one is no typo.
//!
//! Each counts as often as it occurs: `5月5日` is not `5月6日`. Two texts are about different things
//! if each has one that the other lacks. If they have the same ones, what stands beside each decides:
//! its counter, its unit, its noun. The same numbers with their counters exchanged are others
//! (`3年4班`, `4年3班`); with their own counters in another order they are the same (`10號9點`,
//! `9點10號`).

mod han;
mod names;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hasher};
use std::iter;

use crate::fold::alike::alike;
use crate::script::Class;
use names::{Named, is_digit, is_of_word, named};

/// Maximum number of phrases of a rule that are compared with each other.
const COMPARED: usize = 50;

/// The identifiers of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identifiers {
    /// In alphabetical order, each as often as it occurs.
    names: Box<[Box<str>]>,
    /// Their neighbours before and after them.
    sides: [Side; 2],
}

impl Identifiers {
    /// Finds those of a folded text.
    pub(crate) fn of(folded: &str) -> Self {
        let placed = |Named { name, range }| Placed {
            name,
            neighbours: [last_of(&folded[..range.start]), first_of(&folded[range.end..])],
        };
        let mut placed: Vec<Placed> = named(folded).map(placed).collect();
        placed.sort_unstable_by(|one, two| one.name.cmp(&two.name));
        let sides = [0, 1].map(|side| Side::of(&placed, side));
        Self { names: placed.into_iter().map(|placed| placed.name).collect(), sides }
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns whether two texts are about different things: each has an identifier that the other
    /// lacks, or both have the same ones with their neighbours exchanged.
    pub(crate) fn conflict(&self, other: &Self) -> bool {
        match (are_within(&self.names, &other.names), are_within(&other.names, &self.names)) {
            (false, false) => true,
            (true, true) => self.are_exchanged(other),
            _ => false,
        }
    }

    /// Returns whether two texts with the same identifiers have the same neighbours on a side, but
    /// beside others of them, and each identifier has its own on neither side. A side on which all
    /// neighbours are equal tells nothing.
    fn are_exchanged(&self, other: &Self) -> bool {
        let mut sides = self.sides.iter().zip(&other.sides);
        let are_own = sides.clone().any(|(one, two)| one.differ && one.pairs == two.pairs);
        !are_own
            && sides.any(|(one, two)| one.neighbours == two.neighbours && one.pairs != two.pairs)
    }

    /// Returns whether the phrases of a rule name different things: then they are examples, and
    /// others may be meant as well.
    pub(crate) fn vary(phrases: &[Self]) -> bool {
        let phrases = &phrases[..phrases.len().min(COMPARED)];
        let conflicts =
            |(at, one): (usize, &Self)| phrases[..at].iter().any(|two| one.conflict(two));
        phrases.iter().enumerate().any(conflicts)
    }

    /// Returns the memory on the heap in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.names) + self.names.iter().map(|name| name.len()).sum::<usize>()
    }
}

/// Returns whether sorted names are all among others, as often as they occur.
fn are_within(names: &[Box<str>], others: &[Box<str>]) -> bool {
    let mut others = others.iter();
    names.iter().all(|name| others.by_ref().any(|other| other == name))
}

/// An identifier with the hashes of its neighbours before and after it.
struct Placed {
    name: Box<str>,
    neighbours: [u64; 2],
}

/// Neighbours of the identifiers of a text on one side, as sums of hashes: they are compared without
/// the order in which they stand in the text.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// `true` if they are not all the same.
    differ: bool,
    neighbours: u64,
    /// Each neighbour together with its identifier.
    pairs: u64,
}

impl Side {
    fn of(placed: &[Placed], side: usize) -> Self {
        let mut this = Self::default();
        for Placed { name, neighbours } in placed {
            let neighbour = neighbours[side];
            this.differ |= neighbour != placed[0].neighbours[side];
            this.neighbours = this.neighbours.wrapping_add(neighbour);
            let mut pair = DefaultHasher::new();
            pair.write(name.as_bytes());
            pair.write_u64(neighbour);
            this.pairs = this.pairs.wrapping_add(pair.finish());
        }
        this
    }
}

/// Returns the hash of the neighbour that a text ends with; 0 if it ends with none.
fn last_of(text: &str) -> u64 {
    let text = text.strip_suffix(' ').unwrap_or(text);
    let word = text.rsplit(|c: char| !is_of_word(c)).next();
    neighbour(word.unwrap_or_default(), text.chars().next_back())
}

/// Returns the hash of the neighbour that a text begins with; 0 if it begins with none.
fn first_of(text: &str) -> u64 {
    let text = text.strip_prefix(' ').unwrap_or(text);
    let word = text.split(|c: char| !is_of_word(c)).next();
    neighbour(word.unwrap_or_default(), text.chars().next())
}

/// Returns the hash of a word, or else of a letter of a script without spaces or of Hangul. A number
/// is no neighbour of another one.
fn neighbour(word: &str, letter: Option<char>) -> u64 {
    match letter {
        _ if word.starts_with(is_digit) => 0,
        _ if !word.is_empty() => hash(word.chars()),
        Some(letter) if Class::of(letter).is_substring_script() => hash(iter::once(letter)),
        _ => 0,
    }
}

/// Returns the hash of characters, of those that are alike the same.
fn hash(chars: impl Iterator<Item = char>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for c in chars {
        hasher.write_u32(u32::from(alike(c)));
    }
    hasher.finish()
}

/// Returns a folded text with a space in place of each of its identifiers.
pub(crate) fn without_identifiers(folded: &str) -> String {
    let mut rest = String::with_capacity(folded.len());
    let mut end = 0;
    for Named { range, .. } in named(folded) {
        rest.push_str(&folded[end..range.start]);
        rest.push(' ');
        end = range.end;
    }
    rest.push_str(&folded[end..]);
    rest
}
