//! Documents of a segment that are rated together, by the parts of a question that drive.
//!
//! Posting lists are read one after the other, each as far as the window goes. Once only documents
//! of a minimum score are wanted, an upper bound of the score is added up first, and lengths of
//! messages are read only for those that may reach it: they are few, and far apart in memory.

use std::ops::Range;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::{DocId, Score, TERMINATED};

use super::related_scorer::{SLACK, ScoredTerm, highest};

/// Maximum number of documents in a window: their sums fit into the first cache of a processor. Few in
/// tests, whose segments are small.
const WINDOW: u32 = if cfg!(test) { 256 } else { 2_048 };

/// Documents from `start` to `end`, those that contain a driving part.
pub(super) struct Window {
    start: DocId,
    end: DocId,
    /// End of the documents that are asked for.
    limit: DocId,
    /// Number of driving parts.
    drivers: usize,
    sums: Sums,
    /// Upper bounds of the scores.
    bounds: Vec<Score>,
    /// Postings of the documents.
    hits: Vec<Hit>,
}

/// A document that contains a part, and how often.
#[derive(Clone, Copy)]
struct Hit {
    /// Place in the window, which has fewer than [`WINDOW`].
    place: u16,
    part: u8,
    frequency: u32,
}

impl Window {
    /// Creates a window before the first of some documents, which never reaches beyond them.
    pub(super) fn new(docs: Range<DocId>) -> Self {
        let size = docs.end.saturating_sub(docs.start).clamp(1, WINDOW) as usize;
        let (sums, bounds) = (Sums::new(size), vec![0.0; size]);
        Self { start: 0, end: 0, limit: docs.end, drivers: 0, sums, bounds, hits: Vec::new() }
    }

    /// Returns the end of the documents that were rated.
    pub(super) fn end(&self) -> DocId {
        self.end
    }

    /// Returns the number of parts that were rated.
    pub(super) fn drivers(&self) -> usize {
        self.drivers
    }

    /// Returns the first document from `doc` on that may be wanted, with the weight and the score
    /// of its driving parts.
    pub(super) fn next(&self, doc: DocId) -> Option<(DocId, (Score, Score))> {
        let place = self.sums.next(doc.saturating_sub(self.start) as usize)?;
        Some((self.start + u32::try_from(place).ok()?, *self.sums.of.get(place)?))
    }

    /// Moves to the documents from `start` on.
    fn begin(&mut self, start: DocId, drivers: usize) {
        self.start = start;
        // A document that is asked for is in it in any case.
        let size = u32::try_from(self.bounds.len()).unwrap_or(WINDOW);
        self.end = (start + size).min(self.limit.max(start + 1)).min(TERMINATED);
        self.drivers = drivers;
        self.sums.marked.fill(0);
    }

    /// Weighs the documents from `start` on; nothing is ranked.
    pub(super) fn weigh(&mut self, start: DocId, drivers: &mut [ScoredTerm]) {
        self.begin(start, drivers.len());
        for ScoredTerm { postings, weight, .. } in drivers {
            postings.each_before(self.end, |doc, _| self.sums.add(doc - start, *weight, 0.0));
        }
    }

    /// Rates the documents from `start` on.
    pub(super) fn rate(
        &mut self,
        start: DocId,
        drivers: &mut [ScoredTerm],
        norms: &FieldNormReader,
    ) {
        self.begin(start, drivers.len());
        for ScoredTerm { postings, weight, bm25, .. } in drivers {
            postings.each_before(self.end, |doc, frequency| {
                let score = bm25.score(norms.fieldnorm_id(doc), frequency);
                self.sums.add(doc - start, *weight, score);
            });
        }
    }

    /// Rates those of the documents from `start` on whose driving parts may score `bar`.
    pub(super) fn rate_from(
        &mut self,
        start: DocId,
        drivers: &mut [ScoredTerm],
        norms: &FieldNormReader,
        bar: Score,
    ) {
        self.begin(start, drivers.len());
        let Self { end, sums, bounds, hits, .. } = self;
        hits.clear();
        for (part, driver) in (0..=u8::MAX).zip(drivers.iter_mut()) {
            let ScoredTerm { postings, bm25, .. } = driver;
            let once = highest(bm25, 1);
            postings.each_before(*end, |doc, frequency| {
                let place = u16::try_from(doc - start).unwrap_or_default();
                let bound = if frequency == 1 { once } else { highest(bm25, frequency) };
                bounds[usize::from(place)] += bound;
                hits.push(Hit { place, part, frequency });
            });
        }
        for &Hit { place, part, frequency } in &*hits {
            if bounds[usize::from(place)] * SLACK >= bar {
                let (ScoredTerm { weight, bm25, .. }, place) =
                    (&drivers[usize::from(part)], u32::from(place));
                let score = bm25.score(norms.fieldnorm_id(start + place), frequency);
                sums.add(place, *weight, score);
            }
        }
        for hit in &*hits {
            bounds[usize::from(hit.place)] = 0.0;
        }
    }
}

/// Weights and scores of the documents of a window.
struct Sums {
    of: Vec<(Score, Score)>,
    /// Places that have any, as bits.
    marked: Vec<u64>,
}

impl Sums {
    fn new(size: usize) -> Self {
        Self { of: vec![(0.0, 0.0); size], marked: vec![0; size.div_ceil(64)] }
    }

    /// Adds to the weight and the score of a document.
    fn add(&mut self, place: u32, weight: Score, score: Score) {
        let place = place as usize;
        let (bits, bit) = (&mut self.marked[place / 64], 1 << (place % 64));
        let sums = &mut self.of[place];
        if *bits & bit == 0 {
            *bits |= bit;
            *sums = (0.0, 0.0);
        }
        sums.0 += weight;
        sums.1 += score;
    }

    /// Returns the first place from `from` on that has any.
    fn next(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.marked.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.marked.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}
