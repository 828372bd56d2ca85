//! Keyword rules: word-for-word matching of messages to rules.
//!
//! The keywords of a channel are one finite-state map from folded keyword to rule. `exact` is a
//! lookup; `contains` walks the map from every position in the message where a keyword may begin,
//! after a small filter on the first two characters has rejected most of those positions, and with
//! a shortcut past the two if many keywords begin with them.

#[cfg(test)]
mod letters;
#[cfg(test)]
pub(crate) mod oracle;
mod shortcuts;

use std::collections::BTreeMap;
use std::fmt;

use fst::raw::{Fst, Output};

use crate::fold::{fold_cow, fold_phrase, strip_marks};
use crate::script::{Class, may_part};
use shortcuts::Shortcuts;

/// A keyword map could not be built.
#[derive(Debug, thiserror::Error)]
#[error("cannot build the keyword map")]
pub struct KeywordError(#[from] fst::Error);

/// A match of a rule in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeywordHit {
    /// Ordinal of the rule, as it was given.
    pub rule: u32,
    /// Start of the keyword in the folded message, in characters.
    pub start: usize,
    /// Length of the folded keyword in characters.
    pub len: usize,
}

/// A compiled matcher of the keywords of a set of rules. Built once, shared, replaced as a whole.
#[derive(Clone)]
pub struct KeywordMatcher {
    keywords: Fst<Vec<u8>>,
    filter: StartFilter,
    shortcuts: Shortcuts,
}

impl KeywordMatcher {
    /// Compiles `rules`: pairs of a rule's ordinal (lower is older) and one of its keywords. If two
    /// rules have a keyword, the older rule matches. Keywords that fold to nothing are left out.
    pub fn build<'a>(
        rules: impl IntoIterator<Item = (u32, &'a str)>,
    ) -> Result<Self, KeywordError> {
        let mut folded: Vec<(String, u32)> =
            rules.into_iter().map(|(rule, keyword)| (fold_phrase(keyword), rule)).collect();
        folded.retain(|(keyword, _)| !keyword.is_empty());
        folded.sort_unstable();
        folded.dedup_by(|later, first| later.0 == first.0);
        let mut filter = StartFilter::with_room_for(folded.len());
        for (keyword, _) in &folded {
            filter.insert(keyword);
        }
        let pairs = folded.iter().map(|(keyword, rule)| (keyword, u64::from(*rule)));
        let keywords = Fst::from_iter_map(pairs)?;
        let shortcuts = Shortcuts::new(&keywords, &folded);
        Ok(Self { keywords, filter, shortcuts })
    }

    /// Returns the number of different keywords.
    pub fn len(&self) -> usize {
        self.keywords.len()
    }

    /// Returns whether there is no keyword at all.
    pub fn is_empty(&self) -> bool {
        self.keywords.is_empty()
    }

    /// Returns the memory of the matcher in bytes.
    pub fn size(&self) -> usize {
        self.keywords.size() + self.filter.bits.len() * size_of::<u64>() + self.shortcuts.size()
    }

    /// Returns the rule with a keyword that equals the whole message; sentence marks at its end do
    /// not matter.
    pub fn exact(&self, message: &str) -> Option<KeywordHit> {
        let folded = fold_cow(message);
        let phrase = strip_marks(&folded);
        let rule = rule_of(self.keywords.get(phrase)?)?;
        Some(KeywordHit { rule, start: 0, len: phrase.chars().count() })
    }

    /// Returns the rule with a keyword that occurs in the message: as whole words where the script
    /// has spaces, from the start of a word on in Korean, anywhere in scripts without spaces but
    /// inside of a letter with its marks. The longest keyword wins, then the older rule, then the
    /// first position.
    pub fn contains(&self, message: &str) -> Option<KeywordHit> {
        self.contains_where(message, |_| true)
    }

    /// Returns the rule with a keyword that occurs in the message, as [`Self::contains`] does, among
    /// those hits that `accept` accepts.
    pub fn contains_where(
        &self,
        message: &str,
        mut accept: impl FnMut(KeywordHit) -> bool,
    ) -> Option<KeywordHit> {
        if self.is_empty() {
            return None;
        }
        let folded = fold_cow(message);
        let mut best: Option<KeywordHit> = None;
        let (mut before, mut class_before) = (' ', Class::Space);
        let mut chars = folded.char_indices().peekable();
        let mut start = 0;
        while let Some((at, c)) = chars.next() {
            let class = Class::of(c);
            let second = chars.peek().map(|&(_, second)| second);
            if may_begin(class_before, class)
                && self.filter.may_begin(c, second)
                && (class != Class::Unspaced || may_part(before, c))
                && let Some(hit) = self.longest_at(&folded[at..], (c, second), |rule, len| {
                    let hit = KeywordHit { rule, start, len };
                    accept(hit).then_some(hit)
                })
                && best.is_none_or(|best| (best.len, hit.rule) < (hit.len, best.rule))
            {
                best = Some(hit);
            }
            (before, class_before) = (c, class);
            start += 1;
        }
        best
    }

    /// Returns the longest keyword that `rest` begins with and that `hit` accepts, by its rule and
    /// its length in characters; `first` and `second` are its first characters.
    fn longest_at(
        &self,
        rest: &str,
        (first, second): (char, Option<char>),
        mut hit: impl FnMut(u32, usize) -> Option<KeywordHit>,
    ) -> Option<KeywordHit> {
        let (mut node, mut output) = (self.keywords.root(), Output::zero());
        let (mut at, mut len) = (0, 0);
        if let Some(second) = second
            && let Some(place) = self.shortcuts.place(first, second)
        {
            (node, output) = (place.node(&self.keywords), place.output());
            (at, len) = (first.len_utf8() + second.len_utf8(), 2);
        }
        let mut longest = None;
        loop {
            if node.is_final() && may_end(rest, at) {
                let rule = rule_of(output.cat(node.final_output()));
                longest = rule.and_then(|rule| hit(rule, len)).or(longest);
            }
            let Some(&byte) = rest.as_bytes().get(at) else { return longest };
            let Some(index) = node.find_input(byte) else { return longest };
            let transition = node.transition(index);
            output = output.cat(transition.out);
            node = self.keywords.node(transition.addr);
            at += 1;
            // A continuation byte belongs to the character counted already.
            len += usize::from(byte & 0xc0 != 0x80);
        }
    }
}

impl fmt::Debug for KeywordMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordMatcher").field("keywords", &self.len()).finish_non_exhaustive()
    }
}

/// A keyword that more than one rule has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedKeyword {
    /// The keyword, folded.
    pub keyword: String,
    /// Rules that have it, oldest first; only the first ever matches.
    pub rules: Vec<u32>,
}

/// Returns the keywords that more than one of `rules` has, after folding.
pub fn duplicates<'a>(rules: impl IntoIterator<Item = (u32, &'a str)>) -> Vec<SharedKeyword> {
    let mut owners: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (rule, keyword) in rules {
        owners.entry(fold_phrase(keyword)).or_default().push(rule);
    }
    let shared = owners.into_iter().filter_map(|(keyword, mut rules)| {
        rules.sort_unstable();
        rules.dedup();
        (rules.len() > 1 && !keyword.is_empty()).then_some(SharedKeyword { keyword, rules })
    });
    shared.collect()
}

fn rule_of(output: Output) -> Option<u32> {
    u32::try_from(output.value()).ok()
}

/// Returns whether a keyword whose first character is of class `first` may begin after a character
/// of class `before`, as far as the classes tell.
#[inline]
fn may_begin(before: Class, first: Class) -> bool {
    match first {
        Class::Space => false,
        Class::Word => before != Class::Word,
        Class::Hangul => !matches!(before, Class::Word | Class::Hangul),
        Class::Symbol | Class::Unspaced => true,
    }
}

/// Returns whether a keyword may end at byte `end` of `text`, where a character ends too.
#[inline]
fn may_end(text: &str, end: usize) -> bool {
    let (head, tail) = text.split_at(end);
    let (Some(last), Some(next)) = (head.chars().next_back(), tail.chars().next()) else {
        return true;
    };
    match Class::of(last) {
        Class::Word => Class::of(next) != Class::Word,
        Class::Unspaced => may_part(last, next),
        Class::Space | Class::Symbol | Class::Hangul => true,
    }
}

/// A one-hash Bloom filter of keyword beginnings: their first two characters, or their only one.
#[derive(Clone, Debug)]
struct StartFilter {
    bits: Vec<u64>,
    /// Shift of a hash that gives the number of a bit.
    shift: u32,
}

impl StartFilter {
    /// Creates a filter of eight bits a keyword: at most one start in eight passes by chance.
    fn with_room_for(keywords: usize) -> Self {
        let bits = (keywords * 8).next_power_of_two().max(64);
        Self { bits: vec![0; bits / 64], shift: 64 - bits.ilog2() }
    }

    fn insert(&mut self, keyword: &str) {
        let mut chars = keyword.chars();
        if let Some(first) = chars.next() {
            let (word, mask) = self.place(first, chars.next());
            self.bits[word] |= mask;
        }
    }

    /// Returns whether a keyword may begin with these characters, or be the first of them alone.
    #[inline]
    fn may_begin(&self, first: char, second: Option<char>) -> bool {
        self.holds(first, None) || (second.is_some() && self.holds(first, second))
    }

    #[inline]
    fn holds(&self, first: char, second: Option<char>) -> bool {
        let (word, mask) = self.place(first, second);
        self.bits[word] & mask != 0
    }

    /// Returns word and bit by Fibonacci hashing: the high bits of a product with 2^64 / φ are well
    /// mixed.
    #[inline]
    fn place(&self, first: char, second: Option<char>) -> (usize, u64) {
        let pair = u64::from(first) << 32 | second.map_or(0, u64::from);
        let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bit = (hash ^ hash << 21).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        let word = (bit / 64) as usize;
        (word, 1 << (bit % 64))
    }
}

#[cfg(test)]
mod tests;
