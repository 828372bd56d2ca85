//! Clusters: what is written around one consonant in the scripts of Southeast Asia.
//!
//! A cluster of Thai or Lao is an optional leading vowel (`เ`, `แ`, …), one character, and the
//! marks and vowels that follow it; of Khmer and Myanmar a character with its marks and the
//! consonants stacked below it. Related messages of a question are found by overlapping pairs of
//! clusters: a pair of code points is often no more than a consonant and its vowel, which says
//! little (MRR@10 0.92 and 0.91 of two sets of Thai questions; of pairs of clusters 0.96 and 0.97).
//!
//! The pairs are terms of a field of their own, without positions: what occurs is searched by code
//! points, wherever in a cluster it begins. A term is the text of two clusters, or a space and the
//! first cluster of a run; names and clauses begin there, so that it helps to rank.

use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::IndexOptions;
use super::tokenizer::UnitTokenizer;
use crate::script::{ClusterRole, cluster_role};

/// Maximum length of a cluster, in characters: nobody needs terms of endless tone marks.
const MAX_CLUSTER: usize = 8;

/// Returns whether a text, folded or not, has any clusters.
pub(super) fn has_clusters(text: &str) -> bool {
    // All of these characters begin with one of two bytes, which other texts mostly lack.
    text.bytes().any(|byte| matches!(byte, 0xe0 | 0xe1))
        && text.chars().any(|c| cluster_role(c).is_some())
}

/// A cluster of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    /// Byte range in the folded text.
    range: Range<usize>,
    /// Start of the cluster before it; its own start if it is the first of its run.
    before: usize,
    /// `true` if the run ends with it.
    is_last: bool,
}

impl Cluster {
    /// Returns whether it is the first of its run.
    fn is_first(&self) -> bool {
        self.before == self.range.start
    }

    /// Returns whether there is no other in its run.
    fn is_alone(&self) -> bool {
        self.is_first() && self.is_last
    }

    /// Returns the byte range of the pair that ends with it.
    pub(super) fn pair(&self) -> Option<Range<usize>> {
        (!self.is_first()).then_some(self.before..self.range.end)
    }

    /// Writes the term that ends with it.
    pub(super) fn write_term(&self, folded: &str, term: &mut String) {
        term.clear();
        if self.is_first() {
            term.push(' ');
        }
        term.push_str(&folded[self.before..self.range.end]);
    }
}

/// The clusters of a question that are looked up in pairs. Those that are alone in their run are
/// not: their code points have to do.
pub(super) struct Paired(Vec<Cluster>);

impl Paired {
    /// Finds the clusters of a folded text.
    pub(super) fn new(folded: &str) -> Self {
        Self(clusters(folded).filter(|cluster| !cluster.is_alone()).collect())
    }

    /// Returns whether the character at a byte of the text is in one of them.
    pub(super) fn hold(&self, at: usize) -> bool {
        let next = self.0.partition_point(|cluster| cluster.range.end <= at);
        self.0.get(next).is_some_and(|cluster| cluster.range.start <= at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Cluster> {
        self.0.iter()
    }
}

/// Returns the clusters of a folded text.
pub(super) fn clusters(folded: &str) -> Clusters<'_> {
    Clusters { chars: folded.char_indices().peekable(), len: folded.len(), before: None }
}

/// Returns the byte ranges of the pairs of clusters that any text contains in which this folded one
/// occurs, whatever is beside it.
///
/// Characters before the text may take its first ones into a cluster, and those after it its last
/// ones. A letter or a leading vowel after a letter or a mark begins a cluster in any case,
/// and all clusters from there on are the same but for the last of the run.
pub(super) fn inner_pairs(folded: &str) -> impl Iterator<Item = Range<usize>> {
    let mut is_certain = false;
    clusters(folded).filter_map(move |cluster| {
        let before_is_certain = is_certain && !cluster.is_first();
        is_certain = before_is_certain || begins_anyway(folded, cluster.range.start);
        cluster.pair().filter(|_| before_is_certain && !cluster.is_last)
    })
}

/// Returns whether a cluster begins at a byte of a text, whatever is before the character before.
fn begins_anyway(folded: &str, at: usize) -> bool {
    let before = folded[..at].chars().next_back().and_then(cluster_role);
    let here = folded[at..].chars().next().and_then(cluster_role);
    matches!(before, Some(ClusterRole::Base | ClusterRole::Mark))
        && matches!(here, Some(ClusterRole::Base | ClusterRole::Lead))
}

/// Iterator over the clusters of a text.
pub(super) struct Clusters<'a> {
    chars: Peekable<CharIndices<'a>>,
    len: usize,
    /// The cluster before the next character.
    before: Option<Range<usize>>,
}

impl Clusters<'_> {
    fn next_role(&mut self) -> Option<ClusterRole> {
        self.chars.peek().and_then(|&(_, c)| cluster_role(c))
    }

    /// Takes the rest of a cluster that has begun with a character of that role.
    fn take_rest(&mut self, first: ClusterRole) {
        let mut takes_base = matches!(first, ClusterRole::Lead | ClusterRole::Stack);
        for _ in 1..MAX_CLUSTER {
            let Some(role) = self.next_role() else { return };
            let belongs = match role {
                ClusterRole::Mark | ClusterRole::Stack => true,
                ClusterRole::Base | ClusterRole::Lead => takes_base,
            };
            if !belongs {
                return;
            }
            takes_base = role == ClusterRole::Stack;
            self.chars.next();
        }
    }
}

impl Iterator for Clusters<'_> {
    type Item = Cluster;

    fn next(&mut self) -> Option<Cluster> {
        let (start, first) =
            self.chars.by_ref().find_map(|(at, c)| Some((at, cluster_role(c)?)))?;
        self.take_rest(first);
        let end = self.chars.peek().map_or(self.len, |&(at, _)| at);
        let before = self.before.replace(start..end).filter(|before| before.end == start);
        let before = before.map_or(start, |before| before.start);
        let is_last = self.next_role().is_none();
        Some(Cluster { range: start..end, before, is_last })
    }
}

/// The tokenizer of the field. Reuses its buffers.
#[derive(Clone, Default)]
pub(super) struct ClusterTokenizer {
    units: UnitTokenizer,
    token: Token,
}

impl ClusterTokenizer {
    /// Creates a tokenizer for an index with those options.
    pub(super) fn new(options: IndexOptions) -> Self {
        Self { units: UnitTokenizer::new(options), ..Self::default() }
    }
}

impl Tokenizer for ClusterTokenizer {
    type TokenStream<'a> = ClusterTerms<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> ClusterTerms<'a> {
        self.units.read(text);
        self.token.reset();
        let folded = self.units.folded();
        ClusterTerms { folded, clusters: clusters(folded), token: &mut self.token }
    }
}

/// Terms of one text.
pub(super) struct ClusterTerms<'a> {
    folded: &'a str,
    clusters: Clusters<'a>,
    token: &'a mut Token,
}

impl TokenStream for ClusterTerms<'_> {
    fn advance(&mut self) -> bool {
        let Some(cluster) = self.clusters.next() else {
            return false;
        };
        cluster.write_term(self.folded, &mut self.token.text);
        (self.token.offset_from, self.token.offset_to) = (cluster.before, cluster.range.end);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::search::fold_for_search;

    fn parts(text: &str) -> Vec<String> {
        let folded = fold_for_search(text);
        clusters(&folded).map(|cluster| folded[cluster.range].to_owned()).collect()
    }

    #[test]
    fn vowels_and_marks_belong_to_their_consonant() {
        assert_eq!(parts("แม่น้ำเจ้าพระยา"), ["แม่", "น้\u{e4d}า", "เจ้า", "พ", "ระ", "ยา"]);
        assert_eq!(parts("ประเทศไทย"), ["ป", "ระ", "เท", "ศ", "ไท", "ย"]);
        assert_eq!(parts("ສະບາຍດີ"), ["ສະ", "ບາ", "ຍ", "ດີ"]);
        assert_eq!(parts("ភ្នំពេញ"), ["ភ្នំ", "ពេ", "ញ"], "a stacked consonant");
        assert_eq!(parts("မြန်မာ"), ["မြ", "န်", "မာ"]);
        assert_eq!(parts("Wi-Fi 密碼 주차장"), [""; 0]);
        let endless = parts(&format!("ก{}", "้".repeat(20)));
        assert_eq!(endless.concat().chars().count(), 21);
        assert!(endless.iter().all(|cluster| cluster.chars().count() <= MAX_CLUSTER));
    }

    #[test]
    fn inner_pairs_do_not_depend_on_what_is_beside_a_text() {
        let pairs = |text: &str| {
            let folded = fold_for_search(text);
            inner_pairs(&folded).map(|pair| folded[pair].to_owned()).collect::<Vec<_>>()
        };
        // ป | ระ | เท | ศ | ไท | ย: the first and the last may be parts of others.
        assert_eq!(pairs("ประเทศไทย"), ["ระเท", "เทศ", "ศไท"]);
        assert_eq!(pairs("เทศไทย และ"), ["ศไท"], "a blank ends a run as the text does");
        assert_eq!(pairs("ไทย"), [""; 0]);
        assert_eq!(pairs("Wi-Fi 密碼"), [""; 0]);
        // Of any substring in any text.
        let letters: Vec<char> = "กข่าะเแ1 a\u{1000}\u{1039}\u{103e}密".chars().collect();
        let mut state = 5_usize;
        for _ in 0..3_000 {
            let mut below = |bound: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
                (state >> 33) % bound
            };
            let text: Vec<char> = (0..20).map(|_| letters[below(letters.len())]).collect();
            let (from, len) = (below(10), 1 + below(10));
            let part: String = text[from..from + len].iter().collect();
            let text: String = text.iter().collect();
            let terms: Vec<&str> =
                clusters(&text).filter_map(|cluster| Some(&text[cluster.pair()?])).collect();
            for pair in inner_pairs(&part) {
                assert!(terms.contains(&&part[pair.clone()]), "{text} {part} {pair:?}");
            }
        }
    }

    #[test]
    fn terms_are_pairs_and_beginnings_of_runs() {
        let mut tokenizer = ClusterTokenizer::new(IndexOptions::default());
        let mut stream = tokenizer.token_stream("ไปที่ ร้านcafe กาแฟ?");
        let mut terms = Vec::new();
        stream.process(&mut |token| terms.push(token.text.clone()));
        assert_eq!(terms, [" ไป", "ไปที่", " ร้า", "ร้าน", " กา", "กาแฟ"]);
    }

    #[test]
    fn a_text_is_known_to_have_clusters_before_it_is_folded() {
        for text in ["ok ครับ", "น้ำ", "ດີ", "ភ្នំ", "မာ"] {
            assert!(has_clusters(text) && !parts(text).is_empty(), "{text}");
        }
        for text in ["", "ok", "密碼", "주차장", "हिन्दी", "฿ 20", "Việt"] {
            assert!(!has_clusters(text) && parts(text).is_empty(), "{text}");
        }
    }
}
