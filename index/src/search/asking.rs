//! Words by which a question asks, and that hardly tell what it is about.
//!
//! In a chat they are not frequent enough to weigh little by themselves: of a few thousand short
//! messages, fewer may hold `什麼時候` than hold what is asked about.

use std::ops::Range;

use super::units::{Kind, Unit};
use crate::fold::alike::alike;
use crate::fuzzy::common;
use crate::fuzzy::features::word_hash;

/// Phrases of scripts without spaces that are made of a common string and a rest.
const PHRASES: [&str; 16] = [
    "什麼時候",
    "甚麼時候",
    "什麼時間",
    "哪時候",
    "多久",
    "幾點",
    "幾號",
    "幾月",
    "幾天",
    "幾次",
    "哪一天",
    "何時",
    "是不是",
    "有人",
    "誰",
    "知道",
];

/// The characters of a folded text that belong to such words.
pub(super) struct Asking<'a> {
    folded: &'a str,
    /// One for each byte.
    marks: Vec<bool>,
}

impl<'a> Asking<'a> {
    /// Finds them in a folded text.
    pub(super) fn new(folded: &'a str) -> Self {
        let chars: Vec<char> = folded.chars().map(alike).collect();
        let mut found = Vec::new();
        common::mark(&chars, &mut found);
        for phrase in PHRASES {
            let phrase: Vec<char> = phrase.chars().map(alike).collect();
            for at in 0..chars.len() {
                if chars[at..].starts_with(&phrase) {
                    found[at..at + phrase.len()].fill(true);
                }
            }
        }
        let marks = folded.chars().zip(found);
        let marks = marks.flat_map(|(c, found)| std::iter::repeat_n(found, c.len_utf8()));
        Self { folded, marks: marks.collect() }
    }

    /// Returns whether all of a range of bytes belongs to them.
    pub(super) fn hold(&self, range: Range<usize>) -> bool {
        self.marks[range].iter().all(|&marked| marked)
    }

    /// Returns whether the longest term of a unit is one of them, or a part of one.
    pub(super) fn hold_unit(&self, unit: &Unit) -> bool {
        if unit.kind == Kind::Word {
            let word: Vec<char> = self.folded[unit.start..unit.end].chars().collect();
            return common::is_common_word(word_hash(&word));
        }
        self.hold(unit.start..unit.start + unit.longest(self.folded).len())
    }
}
