//! Related messages: those that contain a large part of a question, not all of it.
//!
//! A message must contain some of a question's terms, and their total weight decides: rare terms
//! weigh more (their BM25 weight), so that particles alone match nothing. Terms are read heaviest
//! first, and a message is skipped as soon as those left cannot reach the least weight.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED, Term};

use super::statistics::Statistics;

/// Minimum share of a question's whole weight that a message must contain.
///
/// Measured on Chinese and Japanese questions for paragraphs: at a fifth, three in a hundred of the
/// right ones are no longer listed (MRR@10 falls by 0.015 on the Chinese ones).
const LEAST_SHARE: Score = 0.1;

/// A term of a question.
#[derive(Clone, Debug)]
pub(super) struct RelatedTerm {
    pub(super) term: Term,
    /// `true` if it counts for the least weight, and not only for the rank.
    pub(super) tells: bool,
}

/// A term and its weight.
#[derive(Clone)]
struct Weighted {
    term: Term,
    /// Weight that counts for the least weight.
    weight: Score,
    bm25: Bm25Weight,
}

/// A query for messages with enough of some terms.
#[derive(Clone)]
pub(super) struct RelatedQuery {
    /// Terms, the heaviest first.
    terms: Vec<Weighted>,
    least: Score,
}

impl std::fmt::Debug for RelatedQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let terms: Vec<_> = self.terms.iter().map(|weighted| &weighted.term).collect();
        f.debug_struct("RelatedQuery").field("terms", &terms).finish_non_exhaustive()
    }
}

impl RelatedQuery {
    pub(super) fn new(terms: &[RelatedTerm], statistics: &Statistics) -> Self {
        let docs = statistics.docs().max(1);
        let mut absent: u16 = 0;
        let weighted = |RelatedTerm { term, tells }: &RelatedTerm| {
            let frequency = statistics.frequency(term);
            if frequency == 0 {
                absent += u16::from(*tells);
                return None;
            }
            Some(Weighted {
                term: term.clone(),
                weight: if *tells { weight(frequency, docs) } else { 0.0 },
                #[expect(clippy::cast_precision_loss, reason = "a rounded length")]
                bm25: Bm25Weight::for_one_term(frequency, docs, statistics.length() as Score),
            })
        };
        let mut terms: Vec<_> = terms.iter().filter_map(weighted).collect();
        // Stable, so that scores are added in one order whatever the segment.
        terms.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let weights = terms.iter().map(|term| term.weight).filter(|&weight| weight > 0.0);
        let (present, held) = weights.fold((0_u16, 0.0), |(n, sum), weight| (n + 1, sum + weight));
        // A word that nobody used says nothing of how rare words can be: it gets the average weight
        // of the others.
        let whole = held * (1.0 + Score::from(absent) / Score::from(present.max(1)));
        Self { terms, least: (whole * LEAST_SHARE).max(Score::MIN_POSITIVE) }
    }
}

/// Returns the weight of a term with that document frequency (BM25's inverse document frequency).
#[expect(clippy::cast_precision_loss, reason = "a weight needs no exact numbers")]
fn weight(frequency: u64, docs: u64) -> Score {
    let others = docs.saturating_sub(frequency) as Score;
    (1.0 + (others + 0.5) / (frequency as Score + 0.5)).ln()
}

impl Query for RelatedQuery {
    fn weight(&self, _scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for RelatedQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(mut scorer) = self.unplaced(reader, boost)? else {
            return Ok(Box::new(EmptyScorer));
        };
        scorer.seek_from(0);
        Ok(Box::new(scorer))
    }

    fn scorer_danger(
        &self,
        reader: &SegmentReader,
        target: DocId,
        boost: Score,
    ) -> tantivy::Result<(SeekDangerResult, Box<dyn Scorer>)> {
        Ok(match self.unplaced(reader, boost)? {
            None => (SeekDangerResult::SeekLowerBound(TERMINATED), Box::new(EmptyScorer)),
            // Searching for the first message at all would be wasted work.
            Some(mut scorer) => (scorer.seek_danger(target), Box::new(scorer)),
        })
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        let matches = scorer.doc() <= doc && scorer.seek(doc) == doc;
        Ok(Explanation::new("related", if matches { scorer.score() } else { 0.0 }))
    }
}

impl RelatedQuery {
    /// Returns a scorer without a position; `None` if the segment cannot contain a match.
    fn unplaced(
        &self,
        reader: &SegmentReader,
        boost: Score,
    ) -> tantivy::Result<Option<RelatedScorer>> {
        let mut parts = Vec::with_capacity(self.terms.len());
        let Some(field) = self.terms.first().map(|first| first.term.field()) else {
            return Ok(None);
        };
        let index = reader.inverted_index(field)?;
        for Weighted { term, weight, bm25 } in &self.terms {
            if let Some(postings) = index.read_postings(term, IndexRecordOption::WithFreqs)? {
                let (weight, bm25) = (*weight, bm25.boost_by(boost));
                parts.push(Part { postings, weight, bm25, after: 0.0 });
            }
        }
        let mut after = 0.0;
        for part in parts.iter_mut().rev() {
            part.after = after;
            after += part.weight;
        }
        if parts.is_empty() || after < self.least {
            return Ok(None);
        }
        // A message without any of these contains too little.
        let drivers = 1 + parts.iter().take_while(|part| part.after >= self.least).count();
        let norms = reader.get_fieldnorms_reader(field)?;
        let at = DocId::default();
        Ok(Some(RelatedScorer { parts, drivers, least: self.least, norms, at, score: 0.0 }))
    }
}

/// A term in one segment.
struct Part {
    postings: SegmentPostings,
    weight: Score,
    bm25: Bm25Weight,
    /// Total weight of all parts after this one.
    after: Score,
}

struct RelatedScorer {
    /// Parts, the heaviest first.
    parts: Vec<Part>,
    /// Number of parts that together cover every message that can match.
    drivers: usize,
    least: Score,
    norms: FieldNormReader,
    at: DocId,
    score: Score,
}

impl RelatedScorer {
    /// Returns the score of `doc` if it contains enough.
    fn rate(&mut self, doc: DocId) -> Option<Score> {
        let (mut weight, mut score) = (0.0, 0.0);
        let norm = self.norms.fieldnorm_id(doc);
        for part in &mut self.parts {
            if weight + part.weight + part.after < self.least {
                return None;
            }
            if part.postings.doc() < doc {
                part.postings.seek(doc);
            }
            if part.postings.doc() == doc {
                weight += part.weight;
                score += part.bm25.score(norm, part.postings.term_freq());
            }
        }
        (weight >= self.least).then_some(score)
    }

    /// Returns the first message at `doc` or later that one of the drivers covers.
    fn next_driver(&mut self, doc: DocId) -> DocId {
        let drivers = self.parts.iter_mut().take(self.drivers);
        let next = drivers.map(|part| match part.postings.doc() {
            at if at < doc => part.postings.seek(doc),
            at => at,
        });
        next.min().unwrap_or(TERMINATED)
    }

    /// Advances to the first match at `doc` or later.
    fn seek_from(&mut self, mut doc: DocId) -> DocId {
        loop {
            self.at = self.next_driver(doc);
            if self.at == TERMINATED {
                return TERMINATED;
            }
            if let Some(score) = self.rate(self.at) {
                self.score = score;
                return self.at;
            }
            doc = self.at + 1;
        }
    }
}

impl DocSet for RelatedScorer {
    fn advance(&mut self) -> DocId {
        if self.at == TERMINATED { TERMINATED } else { self.seek_from(self.at + 1) }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if target >= TERMINATED {
            self.at = TERMINATED;
            return TERMINATED;
        }
        if self.at >= target { self.at } else { self.seek_from(target) }
    }

    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        // One of the drivers is in every match, so this is also how far the others may skip.
        let next = self.next_driver(target);
        if next > target || target >= TERMINATED {
            return SeekDangerResult::SeekLowerBound(next);
        }
        match self.rate(target) {
            Some(score) => {
                (self.at, self.score) = (target, score);
                SeekDangerResult::Found
            }
            None => SeekDangerResult::SeekLowerBound(target + 1),
        }
    }

    fn doc(&self) -> DocId {
        self.at
    }

    fn size_hint(&self) -> u32 {
        let drivers = self.parts.iter().take(self.drivers);
        drivers.fold(0, |sum, part| sum.saturating_add(part.postings.size_hint()))
    }

    fn cost(&self) -> u64 {
        // Each message costs a lookup of every term: other filters of a search go first.
        u64::from(self.size_hint()).saturating_mul(self.parts.len() as u64)
    }
}

impl Scorer for RelatedScorer {
    fn score(&mut self) -> Score {
        self.score
    }
}
