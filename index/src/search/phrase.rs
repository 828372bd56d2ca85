//! Phrases: terms one after another, of which the last may be the beginning of a word. `don't` is
//! the units `don`, `'` and words from `t` on.
//!
//! A message is looked up in the lists of the exact terms, the rarest first, and of the words that
//! begin with the prefix; positions are read only where it is in all of them, and a list is opened
//! when a message is first looked up in it. In scripts with
//! clusters the pairs of code points that phrases are made of are frequent, and the messages that
//! contain all of a phrase's pairs of clusters are few: those are looked up first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{
    DocId, DocSet, InvertedIndexReader, Score, SeekDangerResult, SegmentReader, TERMINATED, Term,
};

use super::beginnings;
use super::posting_cursor::PostingCursor;
use super::posting_list::Sources;
use super::schema::Fields;
use super::union::Union;

/// Score of a word that begins with a prefix alone; the word itself scores its BM25 on top.
pub(super) const PREFIX_SCORE: Score = 0.5;

/// A query for exact terms at their positions and, at its own, a word that begins with a prefix.
/// The score is that of the exact terms, or of the prefix if it stands alone.
#[derive(Clone, Debug)]
pub(super) struct PhraseQuery {
    pub(super) fields: Fields,
    pub(super) exact: Vec<(usize, Term)>,
    pub(super) prefix: Option<(usize, Term)>,
    /// Other terms of every message in which the phrase occurs.
    pub(super) implied: Vec<Term>,
}

impl Query for PhraseQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let mut terms: Vec<Term> = self.exact.iter().map(|(_, term)| term.clone()).collect();
        if terms.is_empty() {
            terms.extend(self.prefix.iter().map(|(_, prefix)| prefix.clone()));
        }
        let bm25 = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } => {
                Some(Bm25Weight::for_terms(statistics_provider, &terms)?)
            }
            EnableScoring::Disabled { .. } => None,
        };
        Ok(Box::new(PhraseWeight { query: self.clone(), bm25, words: Mutex::default() }))
    }
}

/// Number of implied terms that are looked up: a message that contains two rare ones mostly contains
/// the phrase.
const IMPLIED: usize = 2;

struct PhraseWeight {
    query: PhraseQuery,
    bm25: Option<Bm25Weight>,
    /// Words that begin with the prefix, by segment: a segment is opened once for each channel.
    words: Mutex<HashMap<SegmentId, Arc<Sources>>>,
}

impl PhraseWeight {
    /// Returns a scorer without a position; `None` if the segment cannot contain a match.
    fn open(
        &self,
        reader: &SegmentReader,
        start: DocId,
        boost: Score,
    ) -> tantivy::Result<Option<PhraseScorer>> {
        let PhraseQuery { fields, exact: terms, prefix, .. } = &self.query;
        let Some(implied) = self.open_implied(reader)? else {
            return Ok(None);
        };
        let text = reader.inverted_index(fields.text)?;
        let option = if terms.is_empty() {
            IndexRecordOption::Basic
        } else {
            IndexRecordOption::WithFreqsAndPositions
        };
        let last = prefix.as_ref().or(terms.last()).map_or(0, |(position, _)| *position);
        let mut exact = Vec::with_capacity(terms.len());
        for (at, term) in terms {
            let Some(info) = text.get_term_info(term)? else {
                return Ok(None);
            };
            let distance = u32::try_from(last - at).unwrap_or(u32::MAX);
            exact.push(ExactTerm { distance, info, list: None });
        }
        exact.sort_by_key(|term| term.info.doc_freq);
        if let Some(rarest) = exact.first_mut() {
            rarest.open(&text)?;
        }
        let (mut words, mut word) = (None, None);
        if let Some((_, prefix)) = prefix {
            let sources = self.words(reader, prefix)?;
            if sources.is_empty() {
                return Ok(None);
            }
            words = Some(Union::open(sources, option, start)?);
            if terms.is_empty() && self.bm25.is_some() {
                word = text.read_postings(prefix, IndexRecordOption::WithFreqs)?;
            }
        }
        Ok(Some(PhraseScorer {
            text,
            implied,
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

    /// Opens the rarest of the implied terms; `None` if one of them is not in the segment.
    fn open_implied(&self, reader: &SegmentReader) -> tantivy::Result<Option<Vec<PostingCursor>>> {
        let mut rarest = Vec::with_capacity(self.query.implied.len());
        for term in &self.query.implied {
            let index = reader.inverted_index(term.field())?;
            let Some(info) = index.get_term_info(term)? else {
                return Ok(None);
            };
            rarest.push((info, index));
        }
        rarest.sort_by_key(|(info, _)| info.doc_freq);
        rarest.truncate(IMPLIED);
        let lists = rarest.iter();
        let lists =
            lists.map(|(info, index)| PostingCursor::open(index, info, IndexRecordOption::Basic));
        Ok(Some(lists.collect::<tantivy::Result<_>>()?))
    }

    /// Returns the words of a segment that begin with the prefix.
    fn words(&self, reader: &SegmentReader, prefix: &Term) -> tantivy::Result<Arc<Sources>> {
        let mut known = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(words) = known.get(&reader.segment_id()) {
            return Ok(Arc::clone(words));
        }
        let fields = self.query.fields;
        let text = prefix.value().as_str().unwrap_or_default().to_owned();
        let words = Sources::new(beginnings::lists(reader, fields, &text)?);
        known.insert(reader.segment_id(), Arc::clone(&words));
        Ok(words)
    }
}

impl Weight for PhraseWeight {
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
        Ok(Explanation::new("phrase", if matches { scorer.score() } else { 0.0 }))
    }
}

/// An exact term of a phrase in one segment.
struct ExactTerm {
    /// Distance to the last term.
    distance: u32,
    info: TermInfo,
    /// Its occurrences; of most phrases the rarest terms are never together, and the others are not
    /// read.
    list: Option<Box<SegmentPostings>>,
}

impl ExactTerm {
    fn open(&mut self, text: &InvertedIndexReader) -> tantivy::Result<&mut SegmentPostings> {
        let list = if let Some(list) = self.list.take() {
            list
        } else {
            let option = IndexRecordOption::WithFreqsAndPositions;
            Box::new(text.read_postings_from_terminfo(&self.info, option)?)
        };
        Ok(self.list.insert(list))
    }

    /// Returns the first document at `doc` or later; a list that cannot be read has none.
    fn seek(&mut self, text: &InvertedIndexReader, doc: DocId) -> DocId {
        let Ok(list) = self.open(text) else { return TERMINATED };
        if list.doc() < doc { list.seek(doc) } else { list.doc() }
    }

    /// Writes the positions of the last term of phrases with this one at its document.
    fn ends(&mut self, ends: &mut Vec<u32>) {
        ends.clear();
        if let Some(list) = &mut self.list {
            list.positions_with_offset(self.distance, ends);
        }
    }
}

pub(super) struct PhraseScorer {
    text: Arc<InvertedIndexReader>,
    /// The rarest of the implied terms, the rarest first.
    implied: Vec<PostingCursor>,
    /// Exact terms, the rarest first.
    exact: Vec<ExactTerm>,
    /// Words that begin with the prefix, if there is one.
    words: Option<Union>,
    /// The prefix as a word, if it stands alone and scores.
    word: Option<SegmentPostings>,
    bm25: Option<Bm25Weight>,
    boost: Score,
    norms: FieldNormReader,
    doc: DocId,
    /// Positions of the last term after the exact terms.
    places: Vec<u32>,
    others: Vec<u32>,
    /// Number of occurrences of the exact terms.
    count: u32,
}

impl PhraseScorer {
    /// Returns the words that begin with the prefix, if there is nothing else to match.
    pub(super) fn words_alone(&mut self) -> Option<&mut Union> {
        self.words.as_mut().filter(|_| self.exact.is_empty() && self.implied.is_empty())
    }

    /// Returns whether the words are fewer than the messages of any exact term.
    fn words_lead(&self) -> bool {
        let rarest = self.exact.first().map(|rarest| u64::from(rarest.info.doc_freq));
        let words = self.words.as_ref().map(Union::cost);
        words.is_some_and(|words| rarest.is_none_or(|rarest| rarest > words))
    }

    /// Returns whether `doc` matches, or the first document that may.
    fn check(&mut self, doc: DocId) -> SeekDangerResult {
        match self.missing(doc) {
            Some(next) => SeekDangerResult::SeekLowerBound(next),
            None if self.is_in_place() => {
                self.doc = doc;
                SeekDangerResult::Found
            }
            None => SeekDangerResult::SeekLowerBound(doc + 1),
        }
    }

    /// Returns the first document that may match, if `doc` is not in all lists.
    fn missing(&mut self, doc: DocId) -> Option<DocId> {
        for list in &mut self.implied {
            if list.seek(doc) != doc {
                return Some(list.doc());
            }
        }
        if self.words_lead()
            && let Some(words) = &mut self.words
            && words.seek(doc) != doc
        {
            return Some(words.doc());
        }
        for term in &mut self.exact {
            let at = term.seek(&self.text, doc);
            if at != doc {
                return Some(at);
            }
        }
        self.words.as_mut().map(|words| words.seek(doc)).filter(|&at| at != doc)
    }

    /// Returns whether the terms follow each other: those positions where all exact ones, each
    /// moved by its distance, agree, and one of the words is.
    fn is_in_place(&mut self) -> bool {
        let Some((rarest, rest)) = self.exact.split_first_mut() else {
            return true;
        };
        rarest.ends(&mut self.places);
        for term in rest {
            term.ends(&mut self.others);
            self.places.retain(|place| self.others.binary_search(place).is_ok());
            if self.places.is_empty() {
                return false;
            }
        }
        self.count = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let Some(words) = &mut self.words else {
            return true;
        };
        // A list that cannot be read contains no position.
        let read = words.positions(&mut self.others);
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

impl DocSet for PhraseScorer {
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
        u32::try_from(self.cost() / 10).unwrap_or(u32::MAX)
    }

    fn cost(&self) -> u64 {
        let implied = self.implied.first().map(|list| u64::from(list.len()));
        // Positions are read of many of them.
        let exact = self.exact.first().map(|rarest| 2 * u64::from(rarest.info.doc_freq));
        let beside = if self.exact.is_empty() { 1 } else { 2 };
        let words = self.words.as_ref().map(|words| beside * words.cost());
        [implied, exact, words].into_iter().flatten().min().unwrap_or(0)
    }
}

impl Scorer for PhraseScorer {
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
