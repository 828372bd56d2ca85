//! Phrases with an open prefix at the end: `don't` is the units `don`, `'` and words from `t` on.
//!
//! tantivy's own phrase-prefix query opens the positions of every word that the prefix stands for
//! at once: gigabytes for a prefix of one letter. Here the exact part of the phrase first
//! determines the messages and positions that can match; the words are then read one after another.

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{
    BooleanQuery, EmptyScorer, EnableScoring, Explanation, Occur, PhraseQuery, Query, Scorer,
    TermQuery, Weight,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

/// Score of a word that begins with a prefix alone; the word itself scores its BM25 on top.
pub(super) const PREFIX_SCORE: Score = 0.5;

/// A query for exact terms at their positions and, at its own, a word that begins with a prefix.
#[derive(Debug)]
pub(super) struct OpenPhraseQuery {
    exact: Vec<(usize, Term)>,
    prefix_position: usize,
    prefix: Term,
    within: Option<Box<dyn Query>>,
}

impl OpenPhraseQuery {
    /// Creates a query for `exact` (at its positions, in order) and then `prefix` in the messages
    /// `within` (all if `None`; then there must be something in `exact`). The score is that of
    /// `within` and of `exact`, or of the prefix if it stands alone.
    pub(super) fn new(
        exact: Vec<(usize, Term)>,
        (prefix_position, prefix): (usize, Term),
        within: Option<Box<dyn Query>>,
    ) -> Self {
        Self { exact, prefix_position, prefix, within }
    }
}

impl Clone for OpenPhraseQuery {
    fn clone(&self) -> Self {
        let within = self.within.as_ref().map(|within| within.box_clone());
        Self::new(self.exact.clone(), (self.prefix_position, self.prefix.clone()), within)
    }
}

impl Query for OpenPhraseQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let term = |term: &Term| TermQuery::new(term.clone(), IndexRecordOption::WithFreqs);
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = vec![match &self.exact[..] {
            [] => (Occur::Should, Box::new(term(&self.prefix))),
            [(_, only)] => (Occur::Must, Box::new(term(only))),
            terms => (Occur::Must, Box::new(PhraseQuery::new_with_offset(terms.to_vec()))),
        }];
        clauses.extend(self.within.iter().map(|within| (Occur::Must, within.box_clone())));
        let candidates = BooleanQuery::new(clauses).weight(scoring)?;
        Ok(Box::new(OpenPhraseWeight { candidates, query: self.clone() }))
    }
}

struct OpenPhraseWeight {
    /// Matches and scores everything but the prefix.
    candidates: Box<dyn Weight>,
    query: OpenPhraseQuery,
}

impl Weight for OpenPhraseWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let candidates = self.candidates(reader, boost)?;
        if candidates.is_empty() {
            return Ok(Box::new(EmptyScorer));
        }
        let found = self.with_prefix(reader, candidates)?;
        Ok(Box::new(FoundScorer { found, at: 0 }))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        let matches = scorer.doc() <= doc && scorer.seek(doc) == doc;
        Ok(Explanation::new("open phrase", if matches { scorer.score() } else { 0.0 }))
    }
}

/// A message that contains the exact part.
struct Candidate {
    doc: DocId,
    score: Score,
    /// Positions of the next word; `None` for any.
    places: Option<Vec<u32>>,
    is_match: bool,
}

impl OpenPhraseWeight {
    fn candidates(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Vec<Candidate>> {
        let mut scorer = self.candidates.scorer(reader, boost)?;
        if scorer.doc() == TERMINATED {
            return Ok(Vec::new());
        }
        let mut terms = self.exact_postings(reader)?;
        let is_alone = terms.is_empty();
        let own_score = if is_alone { PREFIX_SCORE * boost } else { 0.0 };
        let mut candidates = Vec::new();
        while scorer.doc() != TERMINATED {
            let (doc, score) = (scorer.doc(), scorer.score() + own_score);
            let places = (!is_alone).then(|| places_after(doc, &mut terms));
            candidates.push(Candidate { doc, score, places, is_match: false });
            scorer.advance();
        }
        Ok(candidates)
    }

    /// Returns distance to the prefix and occurrences of each exact term in the segment.
    fn exact_postings(
        &self,
        reader: &SegmentReader,
    ) -> tantivy::Result<Vec<(u32, SegmentPostings)>> {
        let mut terms = Vec::with_capacity(self.query.exact.len());
        for (position, term) in &self.query.exact {
            let index = reader.inverted_index(term.field())?;
            let postings = index.read_postings(term, IndexRecordOption::WithFreqsAndPositions)?;
            let distance = u32::try_from(self.query.prefix_position - position).unwrap_or(u32::MAX);
            terms.extend(postings.map(|postings| (distance, postings)));
        }
        Ok(terms)
    }

    fn with_prefix(
        &self,
        reader: &SegmentReader,
        mut candidates: Vec<Candidate>,
    ) -> tantivy::Result<Vec<(DocId, Score)>> {
        let prefix = self.query.prefix.serialized_value_bytes();
        let index = reader.inverted_index(self.query.prefix.field())?;
        let mut words = index.terms().range().ge(prefix).into_stream()?;
        let positions = if self.query.exact.is_empty() {
            IndexRecordOption::Basic
        } else {
            IndexRecordOption::WithFreqsAndPositions
        };
        while words.advance() && words.key().starts_with(prefix) {
            let postings = index.read_postings_from_terminfo(words.value(), positions)?;
            mark_matches(postings, &mut candidates);
        }
        let matches = candidates.into_iter().filter(|candidate| candidate.is_match);
        Ok(matches.map(|candidate| (candidate.doc, candidate.score)).collect())
    }
}

/// Returns the positions after an exact phrase in `doc`: those where all of its terms, each moved
/// by its distance, agree.
fn places_after(doc: DocId, terms: &mut [(u32, SegmentPostings)]) -> Vec<u32> {
    let mut places: Option<Vec<u32>> = None;
    let mut others = Vec::new();
    for (distance, postings) in terms {
        if postings.doc() < doc {
            postings.seek(doc);
        }
        if postings.doc() != doc {
            return Vec::new();
        }
        postings.positions_with_offset(*distance, &mut others);
        match &mut places {
            None => places = Some(others.clone()),
            Some(places) => places.retain(|place| others.binary_search(place).is_ok()),
        }
    }
    places.unwrap_or_default()
}

/// Marks the candidates that have this word at one of their positions.
fn mark_matches(mut word: SegmentPostings, candidates: &mut [Candidate]) {
    let mut positions = Vec::new();
    let mut rest = candidates;
    loop {
        let doc = word.doc();
        let skipped = rest.partition_point(|candidate| candidate.doc < doc);
        rest = &mut rest[skipped..];
        let Some(candidate) = rest.first_mut() else {
            return;
        };
        if candidate.doc > doc {
            word.seek(candidate.doc);
            continue;
        }
        match &candidate.places {
            _ if candidate.is_match => {}
            None => candidate.is_match = true,
            Some(places) => {
                word.positions(&mut positions);
                candidate.is_match = places.iter().any(|at| positions.binary_search(at).is_ok());
            }
        }
        word.advance();
    }
}

/// Scorer of the matching messages.
struct FoundScorer {
    found: Vec<(DocId, Score)>,
    at: usize,
}

impl DocSet for FoundScorer {
    fn advance(&mut self) -> DocId {
        self.at += 1;
        self.doc()
    }

    fn doc(&self) -> DocId {
        self.found.get(self.at).map_or(TERMINATED, |&(doc, _)| doc)
    }

    fn size_hint(&self) -> u32 {
        u32::try_from(self.found.len()).unwrap_or(u32::MAX)
    }
}

impl Scorer for FoundScorer {
    fn score(&mut self) -> Score {
        self.found.get(self.at).map_or(0.0, |&(_, score)| score)
    }
}
