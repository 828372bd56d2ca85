//! The lexical score: the share of n-grams that a message and a rule have in common, weighted by
//! rarity.
//!
//! An inverted index in memory, one array for all postings. The score of a message and a phrase is
//! the cosine of their n-grams, each weighted by its rarity among the phrases of the channel; that
//! of a rule is the best of its phrases and, at half weight, its answer.

use super::ngrams::ngrams;

/// Weight of an n-gram shared with a rule's answer, relative to one shared with a phrase.
const ANSWER_SHARE: f32 = 0.5;
/// Maximum length of an answer that is indexed, in characters; later text is rarely about its
/// topic.
const ANSWER_LENGTH: usize = 200;
/// Number of texts above which n-grams of every sixteenth text or more are skipped: they are least
/// informative and cost most.
const SMALL: usize = 2_000;
/// See [`SMALL`].
const FREQUENT: usize = 16;

/// N-grams of the texts of all rules.
pub(super) struct LexicalIndex {
    /// Hashes of n-grams, ascending.
    grams: Vec<u32>,
    /// Start of the postings of each n-gram, and end of the last ones.
    starts: Vec<u32>,
    /// Ordinals of texts.
    postings: Vec<u32>,
    /// Factor of the shared weight for each text: 1 by the length of its vector.
    factors: Vec<f32>,
    /// Start of the texts of each rule, and end of the last ones.
    rules: Vec<u32>,
    /// Number of texts, the first ones, that n-grams are rare among.
    counted: usize,
}

/// Collects texts, rule by rule.
pub(super) struct LexicalBuilder {
    /// An n-gram in the upper half, the text that has it in the lower one.
    pairs: Vec<u64>,
    shares: Vec<f32>,
    rules: Vec<u32>,
    counted: Option<usize>,
}

impl LexicalBuilder {
    pub(super) fn new() -> Self {
        Self { pairs: Vec::new(), shares: Vec::new(), rules: vec![0], counted: None }
    }

    /// Adds a phrase of the current rule, folded.
    pub(super) fn phrase(&mut self, folded: &str) {
        self.text(folded, 1.0);
    }

    /// Adds the answer of the current rule, folded.
    pub(super) fn answer(&mut self, folded: &str) {
        let end = folded.char_indices().nth(ANSWER_LENGTH).map_or(folded.len(), |(at, _)| at);
        self.text(&folded[..end], ANSWER_SHARE);
    }

    fn text(&mut self, folded: &str, share: f32) {
        let text = self.shares.len() as u64;
        self.pairs.extend(ngrams(folded).into_iter().map(|gram| u64::from(gram) << 32 | text));
        self.shares.push(share);
    }

    /// Ends the current rule.
    pub(super) fn end_rule(&mut self) {
        self.rules.push(ordinal(self.shares.len()));
    }

    /// Ends the texts that n-grams are rare among; further ones are compared with messages alone.
    pub(super) fn end_counted(&mut self) {
        self.counted = Some(self.shares.len());
    }

    pub(super) fn build(mut self) -> LexicalIndex {
        self.pairs.sort_unstable();
        let mut index = LexicalIndex {
            grams: Vec::new(),
            starts: Vec::new(),
            postings: Vec::with_capacity(self.pairs.len()),
            counted: self.counted.unwrap_or(self.shares.len()),
            factors: vec![0.0; self.shares.len()],
            rules: self.rules,
        };
        for group in self.pairs.chunk_by(|left, right| left >> 32 == right >> 32) {
            index.add_gram(group);
        }
        index.starts.push(ordinal(index.postings.len()));
        for (factor, share) in index.factors.iter_mut().zip(self.shares) {
            *factor = if *factor > 0.0 { share / factor.sqrt() } else { 0.0 };
        }
        index
    }
}

impl LexicalIndex {
    /// Adds the postings of one n-gram, and its weight to the squared lengths in `factors`.
    fn add_gram(&mut self, group: &[u64]) {
        let Some(first) = group.first() else { return };
        let weight = self.weight(self.frequency(group, |&pair| lower(pair)));
        self.grams.push(upper(*first));
        self.starts.push(ordinal(self.postings.len()));
        for &pair in group {
            let text = lower(pair);
            self.factors[text as usize] += weight;
            self.postings.push(text);
        }
    }

    /// Returns the number of counted texts among those of an n-gram, which are in their order.
    fn frequency<P>(&self, postings: &[P], text: impl Fn(&P) -> u32) -> usize {
        if self.counted == self.factors.len() {
            return postings.len();
        }
        postings.partition_point(|posting| (text(posting) as usize) < self.counted)
    }

    /// Returns the squared rarity of an n-gram that `frequency` counted texts have.
    fn weight(&self, frequency: usize) -> f32 {
        let rarity = (count(self.counted + 1) / count(frequency + 1)).ln() + 1.0;
        rarity * rarity
    }

    /// Returns the score of each rule, 0..=1.
    pub(super) fn scores(&self, folded: &str) -> Vec<f32> {
        let mut shared = vec![0.0_f32; self.factors.len()];
        let mut length = 0.0;
        for gram in ngrams(folded) {
            let postings = self.postings(gram);
            let frequency = self.frequency(postings, |&text| text);
            let weight = self.weight(frequency);
            length += weight;
            if self.counted <= SMALL || frequency < self.counted / FREQUENT {
                for &text in postings {
                    shared[text as usize] += weight;
                }
            }
        }
        let scale = if length > 0.0 { 1.0 / length.sqrt() } else { 0.0 };
        self.rules
            .windows(2)
            .map(|range| {
                let texts = range[0] as usize..range[1] as usize;
                let scores = shared[texts.clone()].iter().zip(&self.factors[texts]);
                scale * scores.map(|(shared, factor)| shared * factor).fold(0.0, f32::max)
            })
            .collect()
    }

    fn postings(&self, gram: u32) -> &[u32] {
        self.grams.binary_search(&gram).map_or(&[], |at| {
            &self.postings[self.starts[at] as usize..self.starts[at + 1] as usize]
        })
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        let numbers = self.grams.len()
            + self.starts.len()
            + self.postings.len()
            + self.factors.len()
            + self.rules.len();
        numbers * size_of::<u32>()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of texts")]
fn count(number: usize) -> f32 {
    number as f32
}

#[expect(clippy::cast_possible_truncation, reason = "no list of rules has 2^32 texts or n-grams")]
fn ordinal(number: usize) -> u32 {
    number as u32
}

fn upper(pair: u64) -> u32 {
    (pair >> 32) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half of 64 bits")]
fn lower(pair: u64) -> u32 {
    pair as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(rules: &[(&[&str], &str)]) -> LexicalIndex {
        let mut builder = LexicalBuilder::new();
        for (phrases, answer) in rules {
            phrases.iter().for_each(|phrase| builder.phrase(phrase));
            builder.answer(answer);
            builder.end_rule();
        }
        builder.build()
    }

    #[test]
    fn equal_texts_score_1_and_rare_ngrams_count_more() {
        let index = index(&[
            (&["where is the office", "office"], ""),
            (&["where is the toilet"], ""),
            (&["where is the garage"], ""),
        ]);
        let scores = index.scores("where is the garage");
        assert!((scores[2] - 1.0).abs() < 1e-5, "{scores:?}");
        assert!(scores[0] < 0.7 && scores[1] < 0.7, "{scores:?}");
        let rare = index.scores("the toilet please");
        assert!(rare[1] > 2.0 * rare[0], "{rare:?}");
        assert_eq!(index.scores("完全不同"), [0.0; 3]);
    }

    #[test]
    fn the_answer_counts_half() {
        let index = index(&[(&["營業時間"], ""), (&["地址"], "營業時間")]);
        let scores = index.scores("營業時間");
        assert!((scores[1] - 0.5).abs() < 1e-5, "{scores:?}");
    }
}
