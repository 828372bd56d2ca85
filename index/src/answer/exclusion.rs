//! Texts that rules must not answer.
//!
//! A rule does not answer a message that is at least as near to one of its texts as to the rule. A
//! text takes answers from the rules that have it alone: the scores of all rules stay as they are. A
//! keyword that the message has in it is nearer than any text, unless it stands inside of one.

use std::collections::{BTreeMap, HashMap};

use super::RuleText;
use crate::address::without_addresses;
use crate::fold::fold_phrase;
use crate::keyword::{KeywordError, KeywordHit, KeywordMatcher};

/// Texts of each rule, by ordinals among the different texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextsOfRules {
    /// Start of the texts of each rule, and end of the last ones; nothing if no rule has any.
    starts: Vec<u32>,
    texts: Vec<u32>,
}

impl TextsOfRules {
    /// Returns the range of a rule's texts in the list of all.
    pub(crate) fn range(&self, rule: u32) -> std::ops::Range<usize> {
        let at = rule as usize;
        let bound = |at: usize| self.starts.get(at).map_or(self.texts.len(), |&end| end as usize);
        bound(at)..bound(at + 1)
    }

    /// Returns the texts that a rule must not answer.
    pub(crate) fn of(&self, rule: u32) -> &[u32] {
        &self.texts[self.range(rule)]
    }

    /// Returns each text with its rule, in the order of [`Self::range`].
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let rules = 0..u32::try_from(self.starts.len()).unwrap_or(u32::MAX).saturating_sub(1);
        rules.flat_map(|rule| self.of(rule).iter().map(move |&text| (rule, text)))
    }

    /// Returns the memory in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(self.starts.as_slice()) + size_of_val(self.texts.as_slice())
    }
}

/// Returns the different texts that rules must not answer, folded by `fold`, and those of each rule.
/// Texts that fold to nothing are left out. Web links and mail addresses are no words of them, as
/// they are none of a message.
pub(crate) fn excluded_texts(
    rules: &[RuleText<'_>],
    fold: impl Fn(&str) -> String,
) -> (Vec<String>, TextsOfRules) {
    if rules.iter().all(|rule| rule.not_for.is_empty()) {
        return (Vec::new(), TextsOfRules::default());
    }
    let mut ordinals: BTreeMap<String, u32> = BTreeMap::new();
    let mut of_rules = TextsOfRules { starts: vec![0], texts: Vec::new() };
    for rule in rules {
        for folded in rule.not_for.iter().map(|text| fold(&without_addresses(text))) {
            let next = count(ordinals.len());
            if !folded.is_empty() {
                of_rules.texts.push(*ordinals.entry(folded).or_insert(next));
            }
        }
        of_rules.starts.push(count(of_rules.texts.len()));
    }
    let mut texts: Vec<(u32, String)> =
        ordinals.into_iter().map(|(text, ordinal)| (ordinal, text)).collect();
    texts.sort_unstable();
    (texts.into_iter().map(|(_, text)| text).collect(), of_rules)
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Returns a matcher of texts by their ordinals.
pub(crate) fn matcher_of(texts: &[String]) -> Result<KeywordMatcher, KeywordError> {
    KeywordMatcher::build((0..).zip(texts.iter().map(String::as_str)))
}

/// The texts that rules must not answer, word for word.
#[derive(Debug)]
pub(super) struct Exclusions {
    texts: KeywordMatcher,
    of_rules: TextsOfRules,
}

impl Exclusions {
    /// Compiles the texts of `rules`.
    pub(super) fn build(rules: &[RuleText<'_>]) -> Result<Self, KeywordError> {
        let (texts, of_rules) = excluded_texts(rules, fold_phrase);
        Ok(Self { texts: matcher_of(&texts)?, of_rules })
    }

    /// Returns whether there is no text at all.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the texts that a message equals or, with `contains`, has in it.
    pub(super) fn in_message(&self, message: &str, contains: bool) -> ExcludedHits<'_> {
        let whole = self.texts.exact(message).map(|hit| hit.rule);
        let mut inside: HashMap<u32, TextPlaces> = HashMap::new();
        if contains {
            self.texts.contains_where(message, |KeywordHit { rule: text, start, len }| {
                let places =
                    inside.entry(text).or_insert_with(|| TextPlaces { len, starts: vec![] });
                places.starts.push(start);
                false
            });
        }
        ExcludedHits { of_rules: &self.of_rules, whole, inside }
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        self.texts.size() + self.of_rules.size()
    }
}

/// Places of a text in a message, in characters.
#[derive(Debug)]
struct TextPlaces {
    len: usize,
    /// Ascending.
    starts: Vec<usize>,
}

/// Texts of a message that rules must not answer.
#[derive(Debug)]
pub(super) struct ExcludedHits<'a> {
    of_rules: &'a TextsOfRules,
    /// Text that is the whole message.
    whole: Option<u32>,
    inside: HashMap<u32, TextPlaces>,
}

impl ExcludedHits<'_> {
    /// Returns whether the rule of a keyword must not answer it there: it stands in a text that is
    /// not for the rule.
    pub(super) fn cover(&self, keyword: KeywordHit) -> bool {
        let covers = |TextPlaces { len, starts }: &TextPlaces| {
            let before = starts.partition_point(|&start| start <= keyword.start);
            let last = before.checked_sub(1).map(|last| starts[last]);
            last.is_some_and(|start| start + len >= keyword.start + keyword.len)
        };
        let mut texts = self.of_rules.of(keyword.rule).iter();
        texts.any(|text| self.whole == Some(*text) || self.inside.get(text).is_some_and(covers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_text_of_several_rules_is_one() {
        let (one, two) = (owned(&["Thanks!", "ok", " "]), owned(&["no", "ＴＨＡＮＫＳ"]));
        let rules = [&one, &Vec::new(), &two];
        let rules = rules.map(|not_for| RuleText { not_for, ..RuleText::default() });
        let (texts, of_rules) = excluded_texts(&rules, fold_phrase);
        assert_eq!(texts, ["thanks", "ok", "no"]);
        assert_eq!([0, 1, 2].map(|rule| of_rules.of(rule)), [&[0, 1][..], &[], &[2, 0]]);
        assert_eq!(of_rules.pairs().collect::<Vec<_>>(), [(0, 0), (0, 1), (2, 2), (2, 0)]);
        let (none, nothing) = excluded_texts(&rules[1..2], fold_phrase);
        assert!(none.is_empty() && nothing.of(0).is_empty() && nothing.pairs().next().is_none());
    }

    #[test]
    fn many_overlapping_texts_are_soon_looked_through() {
        let not_for: Vec<String> = (2..52).map(|length| "時".repeat(length)).collect();
        let rule = RuleText { not_for: &not_for, ..RuleText::default() };
        let exclusions = Exclusions::build(&[rule]).unwrap();
        let hits = exclusions.in_message(&"時".repeat(5_000), true);
        let hit = |start, len| KeywordHit { rule: 0, start, len };
        assert!((0..5_000).all(|start| hits.cover(hit(start, 1))));
        assert!(hits.cover(hit(4_950, 50)) && !hits.cover(hit(0, 52)));
        assert!(!hits.cover(KeywordHit { rule: 1, start: 0, len: 1 }));
    }
}
