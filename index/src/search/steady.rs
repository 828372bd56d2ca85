//! Adapter for excluded queries that keeps their scorer in valid positions.
//!
//! tantivy excludes messages by looking each of them up with `seek_danger`, also when the scorer
//! stands past it already; its phrase scorer does not allow that. Here such a lookup is answered
//! from the current position of the scorer.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader};

/// A query that matches the same messages as the query inside, to be excluded.
#[derive(Debug)]
pub(super) struct SeekSafeQuery(pub(super) Box<dyn Query>);

impl Clone for SeekSafeQuery {
    fn clone(&self) -> Self {
        Self(self.0.box_clone())
    }
}

impl Query for SeekSafeQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(SteadyWeight(self.0.weight(scoring)?)))
    }
}

struct SteadyWeight(Box<dyn Weight>);

impl Weight for SteadyWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(SteadyScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }
}

/// A scorer with the plain form of `seek_danger`.
struct SteadyScorer(Box<dyn Scorer>);

impl DocSet for SteadyScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }
}

impl Scorer for SteadyScorer {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}
