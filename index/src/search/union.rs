//! The union of many posting lists, read lazily: a heap of lists by their next document.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use tantivy::postings::Postings as _;
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, Term};

use super::posting_list::{Counter, List, MANY, SHORT, Sources};

/// Number of documents from which on they are counted, without reading them: that costs as much as
/// reading a hundred.
const LEAP: u32 = 256;

/// The documents of any of some posting lists.
pub(super) struct Union {
    sources: Arc<Sources>,
    lists: Vec<List>,
    /// Lists that are ahead of the document.
    ahead: BinaryHeap<Reverse<(DocId, usize)>>,
    /// Lists that are at the document.
    here: Vec<usize>,
    doc: DocId,
    len: u32,
    /// Counter of documents of the only list.
    counter: Option<Counter>,
}

impl Union {
    /// Opens lists at their first document from `start` on; `option` says whether positions will
    /// be asked for.
    pub(super) fn open(
        sources: Arc<Sources>,
        option: IndexRecordOption,
        start: DocId,
    ) -> tantivy::Result<Self> {
        let all = &sources.lists;
        let len = all.iter().fold(0, |sum: u32, source| sum.saturating_add(source.1.doc_freq));
        let mut lists = Vec::new();
        let are_many = all.len() >= MANY;
        for (index, info) in all.iter().filter(|source| !are_many || source.1.doc_freq > SHORT) {
            lists.push(List::Postings(Box::new(index.read_postings_from_terminfo(info, option)?)));
        }
        if are_many {
            lists.push(List::Short(sources.short()?, 0));
        }
        let (ahead, here) = (BinaryHeap::new(), Vec::new());
        let mut union = Self { sources, lists, ahead, here, doc: 0, len, counter: None };
        for at in 0..union.lists.len() {
            union.put(at, start);
        }
        union.settle();
        Ok(union)
    }

    /// Moves a list to its first document from `start` on.
    fn put(&mut self, at: usize, start: DocId) {
        let list = &mut self.lists[at];
        let doc = if list.doc() < start { list.seek(start) } else { list.doc() };
        if doc != TERMINATED {
            self.ahead.push(Reverse((doc, at)));
        }
    }

    /// Moves to the first document that any list is ahead at.
    fn settle(&mut self) -> DocId {
        self.doc = self.ahead.peek().map_or(TERMINATED, |Reverse((doc, _))| *doc);
        while let Some(&Reverse((doc, at))) = self.ahead.peek()
            && doc == self.doc
        {
            self.ahead.pop();
            self.here.push(at);
        }
        self.doc
    }

    /// Passes the run of documents that begins at this one, of at most `most` documents after it.
    /// Returns its end, and the first document from there on that may be in the union.
    pub(super) fn pass_run(&mut self, most: u32) -> (DocId, DocId) {
        let docs = self.doc + 1..(self.doc + 1).saturating_add(most).min(TERMINATED);
        if most >= LEAP && self.has_all(&docs) {
            self.seek(docs.end - 1);
            return (docs.end, docs.end);
        }
        for doc in docs.clone() {
            let next = self.advance();
            if next != doc {
                return (doc, next);
            }
        }
        (docs.end, docs.end)
    }

    /// Returns whether the only list has all of these documents; false if there are more lists.
    fn has_all(&mut self, docs: &Range<DocId>) -> bool {
        let ([List::Postings(_)], [(index, info)]) = (&self.lists[..], &self.sources.lists[..])
        else {
            return false;
        };
        if self.counter.is_none() {
            let postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic);
            self.counter = postings.ok().map(Counter::new);
        }
        self.counter.as_mut().is_some_and(|counter| counter.has_all(docs))
    }

    /// Writes the positions of the words at the document to `positions`, in no order.
    pub(super) fn positions(&mut self, positions: &mut Vec<u32>) -> tantivy::Result<()> {
        positions.clear();
        for &at in &self.here {
            match &mut self.lists[at] {
                List::Postings(postings) => postings.append_positions_with_offset(0, positions),
                List::Short(docs, at) => {
                    for (_, source) in docs[*at..].iter().take_while(|(doc, _)| *doc == self.doc) {
                        let (index, info) = &self.sources.lists[*source as usize];
                        let option = IndexRecordOption::WithFreqsAndPositions;
                        let mut postings = index.read_postings_from_terminfo(info, option)?;
                        postings.seek(self.doc);
                        postings.append_positions_with_offset(0, positions);
                    }
                }
            }
        }
        Ok(())
    }
}

impl DocSet for Union {
    fn advance(&mut self) -> DocId {
        if let [List::Postings(only)] = &mut self.lists[..] {
            self.doc = only.advance();
            return self.doc;
        }
        while let Some(at) = self.here.pop() {
            let doc = self.lists[at].advance();
            if doc != TERMINATED {
                self.ahead.push(Reverse((doc, at)));
            }
        }
        self.settle()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc >= target {
            return self.doc;
        }
        if let [List::Postings(only)] = &mut self.lists[..] {
            self.doc = only.seek(target);
            return self.doc;
        }
        while let Some(at) = self.here.pop() {
            self.put(at, target);
        }
        while let Some(&Reverse((doc, at))) = self.ahead.peek()
            && doc < target
        {
            self.ahead.pop();
            self.put(at, target);
        }
        self.settle()
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.len
    }

    fn cost(&self) -> u64 {
        // Every list has to follow.
        u64::from(self.len) + 8 * self.lists.len() as u64
    }
}

impl Scorer for Union {
    fn score(&mut self) -> Score {
        0.0
    }
}

/// A condition: one of some terms, that scores nothing.
#[derive(Clone, Debug)]
pub(super) struct AnyQuery(pub(super) Vec<Term>);

impl Query for AnyQuery {
    fn weight(&self, _scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for AnyQuery {
    fn scorer(&self, reader: &SegmentReader, _boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut sources = Vec::with_capacity(self.0.len());
        for term in &self.0 {
            let index = reader.inverted_index(term.field())?;
            sources.extend(index.get_term_info(term)?.map(|info| (index, info)));
        }
        if sources.is_empty() {
            return Ok(Box::new(EmptyScorer));
        }
        Ok(Box::new(Union::open(Sources::new(sources), IndexRecordOption::Basic, 0)?))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        let mut scorer = self.scorer(reader, 1.0)?;
        let matches = scorer.doc() <= doc && scorer.seek(doc) == doc;
        Ok(Explanation::new("any of some terms", if matches { 1.0 } else { 0.0 }))
    }
}
