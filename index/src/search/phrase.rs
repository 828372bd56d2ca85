//! Phrases with an open prefix at the end: `don't` is the units `don`, `'` and words from `t` on.
//!
//! A message is looked up in the lists of the exact terms and of the words that begin with the
//! prefix; positions are read only where it is in all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED, Term};

use super::beginnings;
use super::posting_list::Sources;
use super::schema::Fields;
use super::union::Union;

/// Score of a word that begins with a prefix alone; the word itself scores its BM25 on top.
pub(super) const PREFIX_SCORE: Score = 0.5;

/// A query for exact terms at their positions and, at its own, a word that begins with a prefix.
/// The score is that of the exact terms, or of the prefix if it stands alone.
#[derive(Clone, Debug)]
pub(super) struct OpenPhraseQuery {
    pub(super) fields: Fields,
    pub(super) exact: Vec<(usize, Term)>,
    pub(super) prefix: (usize, Term),
}

impl Query for OpenPhraseQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let mut terms: Vec<Term> = self.exact.iter().map(|(_, term)| term.clone()).collect();
        if terms.is_empty() {
            terms.push(self.prefix.1.clone());
        }
        let bm25 = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } => {
                Some(Bm25Weight::for_terms(statistics_provider, &terms)?)
            }
            EnableScoring::Disabled { .. } => None,
        };
        Ok(Box::new(OpenPhraseWeight { query: self.clone(), bm25, words: Mutex::default() }))
    }
}

struct OpenPhraseWeight {
    query: OpenPhraseQuery,
    bm25: Option<Bm25Weight>,
    /// Words that begin with the prefix, by segment: a segment is opened once for each channel.
    words: Mutex<HashMap<SegmentId, Arc<Sources>>>,
}

impl OpenPhraseWeight {
    /// Returns a scorer without a position; `None` if the segment cannot contain a match.
    fn open(
        &self,
        reader: &SegmentReader,
        start: DocId,
        boost: Score,
    ) -> tantivy::Result<Option<OpenPhraseScorer>> {
        let OpenPhraseQuery { fields, exact: terms, prefix: (position, prefix) } = &self.query;
        let text = reader.inverted_index(fields.text)?;
        let option = if terms.is_empty() {
            IndexRecordOption::Basic
        } else {
            IndexRecordOption::WithFreqsAndPositions
        };
        let mut exact = Vec::with_capacity(terms.len());
        for (at, term) in terms {
            let Some(postings) = text.read_postings(term, option)? else {
                return Ok(None);
            };
            exact.push((u32::try_from(position - at).unwrap_or(u32::MAX), postings));
        }
        exact.sort_by_key(|(_, postings)| postings.doc_freq());
        let words = self.words(reader)?;
        if words.is_empty() {
            return Ok(None);
        }
        let words = Union::open(words, option, start)?;
        let word = match &self.bm25 {
            Some(_) if terms.is_empty() => {
                text.read_postings(prefix, IndexRecordOption::WithFreqs)?
            }
            _ => None,
        };
        Ok(Some(OpenPhraseScorer {
            exact,
            words,
            word,
            bm25: self.bm25.as_ref().map(|bm25| bm25.boost_by(boost)),
            boost,
            norms: reader.get_fieldnorms_reader(fields.text)?,
            doc: start,
            places: Vec::new(),
            others: Vec::new(),
            count: 0,
        }))
    }
}

impl OpenPhraseWeight {
    /// Returns the words of a segment that begin with the prefix.
    fn words(&self, reader: &SegmentReader) -> tantivy::Result<Arc<Sources>> {
        let mut known = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = known.get(&reader.segment_id()) {
            return Ok(Arc::clone(words));
        }
        let OpenPhraseQuery { fields, prefix: (_, prefix), .. } = &self.query;
        let text = prefix.value().as_str().unwrap_or_default().to_owned();
        let words = Sources::new(beginnings::lists(reader, *fields, &text)?);
        known.insert(reader.segment_id(), Arc::clone(&words));
        Ok(words)
    }
}

impl Weight for OpenPhraseWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(mut scorer) = self.open(reader, 0, boost)? else {
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
        Ok(match self.open(reader, target, boost)? {
            None => (SeekDangerResult::SeekLowerBound(TERMINATED), Box::new(EmptyScorer)),
            Some(mut scorer) => (scorer.seek_danger(target), Box::new(scorer)),
        })
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        let matches = scorer.doc() <= doc && scorer.seek(doc) == doc;
        Ok(Explanation::new("open phrase", if matches { scorer.score() } else { 0.0 }))
    }
}

pub(super) struct OpenPhraseScorer {
    /// Distance to the prefix and occurrences of each exact term, the rarest first.
    exact: Vec<(u32, SegmentPostings)>,
    /// Words that begin with the prefix.
    words: Union,
    /// The prefix as a word, if it stands alone and scores.
    word: Option<SegmentPostings>,
    bm25: Option<Bm25Weight>,
    boost: Score,
    norms: FieldNormReader,
    doc: DocId,
    /// Positions of the next word after the exact terms.
    places: Vec<u32>,
    others: Vec<u32>,
    /// Number of occurrences of the exact terms.
    count: u32,
}

impl OpenPhraseScorer {
    /// Returns the words that begin with the prefix, if there is nothing else to match.
    pub(super) fn words_alone(&mut self) -> Option<&mut Union> {
        self.exact.is_empty().then_some(&mut self.words)
    }

    /// Returns whether `doc` matches, or the first document that may.
    fn check(&mut self, doc: DocId) -> SeekDangerResult {
        let words_lead = self
            .exact
            .first()
            .is_none_or(|(_, rarest)| u64::from(rarest.doc_freq()) > self.words.cost());
        if words_lead && self.words.seek(doc) != doc {
            return SeekDangerResult::SeekLowerBound(self.words.doc());
        }
        for (_, postings) in &mut self.exact {
            let at = if postings.doc() < doc { postings.seek(doc) } else { postings.doc() };
            if at != doc {
                return SeekDangerResult::SeekLowerBound(at);
            }
        }
        if self.words.seek(doc) != doc {
            return SeekDangerResult::SeekLowerBound(self.words.doc());
        }
        if self.exact.is_empty() || self.is_in_place() {
            self.doc = doc;
            return SeekDangerResult::Found;
        }
        SeekDangerResult::SeekLowerBound(doc + 1)
    }

    /// Returns whether one of the words follows the exact terms: those positions where all of
    /// them, each moved by its distance, agree.
    fn is_in_place(&mut self) -> bool {
        let Some(((distance, rarest), rest)) = self.exact.split_first_mut() else {
            return true;
        };
        rarest.positions_with_offset(*distance, &mut self.places);
        for (distance, postings) in rest {
            postings.positions_with_offset(*distance, &mut self.others);
            self.places.retain(|place| self.others.binary_search(place).is_ok());
            if self.places.is_empty() {
                return false;
            }
        }
        self.count = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        // A list that cannot be read contains no position.
        let read = self.words.positions(&mut self.others);
        read.is_ok() && self.others.iter().any(|at| self.places.binary_search(at).is_ok())
    }

    /// Moves to the first match at `doc` or later.
    fn seek_from(&mut self, mut doc: DocId) -> DocId {
        while doc < TERMINATED {
            match self.check(doc) {
                SeekDangerResult::Found => return doc,
                SeekDangerResult::SeekLowerBound(next) => doc = next,
            }
        }
        self.doc = TERMINATED;
        TERMINATED
    }
}

impl DocSet for OpenPhraseScorer {
    fn advance(&mut self) -> DocId {
        if self.doc == TERMINATED { TERMINATED } else { self.seek_from(self.doc + 1) }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target { self.doc } else { self.seek_from(target) }
    }

    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        if target >= TERMINATED {
            return SeekDangerResult::SeekLowerBound(TERMINATED);
        }
        self.check(target)
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        let exact = self.exact.first().map(|(_, rarest)| rarest.doc_freq());
        exact.map_or(self.words.size_hint(), |exact| exact.min(self.words.size_hint()) / 10)
    }

    fn cost(&self) -> u64 {
        let exact = self.exact.first().map(|(_, rarest)| u64::from(rarest.doc_freq()));
        // Positions are read of many of them.
        exact.map_or(self.words.cost(), |exact| 2 * exact.min(self.words.cost()))
    }
}

impl Scorer for OpenPhraseScorer {
    fn score(&mut self) -> Score {
        let norm = self.norms.fieldnorm_id(self.doc);
        if !self.exact.is_empty() {
            return self.bm25.as_ref().map_or(1.0, |bm25| bm25.score(norm, self.count));
        }
        let mut score = PREFIX_SCORE * self.boost;
        if let (Some(word), Some(bm25)) = (&mut self.word, &self.bm25) {
            if word.doc() < self.doc {
                word.seek(self.doc);
            }
            if word.doc() == self.doc {
                score += bm25.score(norm, word.term_freq());
            }
        }
        score
    }
}
