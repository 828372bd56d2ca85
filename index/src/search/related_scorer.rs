//! The messages of one segment that contain enough of a question.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, Scorer};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, TERMINATED};

/// Number of documents that are rated together.
const WINDOW: u32 = 4_096;
/// Factor by which the same scores, added in another order, may differ at most.
const SLACK: Score = 1.0001;

/// A term in one segment.
pub(super) struct ScoredTerm {
    pub(super) postings: SegmentPostings,
    pub(super) weight: Score,
    pub(super) bm25: Bm25Weight,
    /// Total weight of all parts after this one.
    pub(super) after: Score,
    /// Highest score that this part and all after it may add to a message.
    pub(super) most: Score,
}

impl ScoredTerm {
    /// Returns the score of the document at which it is; 0 if nothing is ranked.
    fn score(&self, norms: Option<&FieldNormReader>, doc: DocId) -> Score {
        norms.map_or(0.0, |norms| {
            self.bm25.score(norms.fieldnorm_id(doc), self.postings.term_freq())
        })
    }

    /// Moves to `doc` or the first document after it.
    fn seek(&mut self, doc: DocId) -> DocId {
        match self.postings.doc() {
            at if at < doc => self.postings.seek(doc),
            at => at,
        }
    }
}

/// Weight and score of documents from `start` to `end`, the driving parts alone.
#[derive(Default)]
struct Window {
    start: DocId,
    end: DocId,
    /// Number of driving parts.
    drivers: usize,
    sums: Vec<(Score, Score)>,
    /// Documents that have any, as bits.
    marked: Vec<u64>,
}

impl Window {
    /// Returns the first document from `doc` on that a driving part contains; the end if there is
    /// none.
    fn next(&self, doc: DocId) -> DocId {
        let from = doc - self.start;
        let mut word = (from / 64) as usize;
        let mut bits = self.marked.get(word).map_or(0, |bits| bits & (u64::MAX << (from % 64)));
        while bits == 0 {
            word += 1;
            let Some(&next) = self.marked.get(word) else {
                return self.end;
            };
            bits = next;
        }
        let place = u32::try_from(word).unwrap_or(0) * 64 + bits.trailing_zeros();
        self.start + place
    }
}

/// Scorer of related messages.
pub(super) struct RelatedScorer {
    /// Parts, the heaviest first.
    parts: Vec<ScoredTerm>,
    /// Number of parts one of which is in every match.
    drivers: usize,
    least: Score,
    /// No match of a lower score is wanted.
    bar: Score,
    /// Lengths of the messages; `None` if nothing is ranked.
    norms: Option<FieldNormReader>,
    /// Documents rated together, if they are asked for one after the other.
    window: Option<Window>,
    at: DocId,
    score: Score,
}

impl RelatedScorer {
    /// Creates a scorer without a position, of parts with the heaviest first.
    pub(super) fn new(
        parts: Vec<ScoredTerm>,
        drivers: usize,
        least: Score,
        norms: Option<FieldNormReader>,
    ) -> Self {
        Self { parts, drivers, least, bar: 0.0, norms, window: None, at: 0, score: 0.0 }
    }

    /// Notes that no other condition chooses the documents: from here on they are rated many at a
    /// time.
    pub(super) fn lead(&mut self) {
        let sums = vec![(0.0, 0.0); WINDOW as usize];
        self.window =
            Some(Window { sums, marked: vec![0; WINDOW as usize / 64], ..Window::default() });
    }

    /// Leaves out matches of a lower score from here on, and stops reading the lists of parts that
    /// even together do not reach it.
    pub(super) fn raise(&mut self, bar: Score) {
        self.bar = bar;
        let reaches = |part: &ScoredTerm| part.most * SLACK >= bar;
        self.drivers =
            self.parts.iter().take(self.drivers).take_while(|part| reaches(part)).count();
    }

    /// Adds the parts from number `first` on to a document's sums; returns its score if it
    /// contains enough.
    fn complete(
        &mut self,
        doc: DocId,
        first: usize,
        (mut weight, mut score): (Score, Score),
    ) -> Option<Score> {
        let norms = self.norms.as_ref();
        for part in &mut self.parts[first..] {
            let is_too_light = weight + part.weight + part.after < self.least;
            if is_too_light || (score + part.most) * SLACK < self.bar {
                return None;
            }
            if part.seek(doc) == doc {
                weight += part.weight;
                score += part.score(norms, doc);
            }
        }
        (weight >= self.least && score >= self.bar).then_some(score)
    }

    /// Returns the first message at `doc` or later that one of the drivers covers.
    fn next_driver(&mut self, doc: DocId) -> DocId {
        let drivers = self.parts.iter_mut().take(self.drivers);
        drivers.map(|part| part.seek(doc)).min().unwrap_or(TERMINATED)
    }

    /// Rates the documents from the next one on that a driver contains.
    fn fill(&mut self, window: &mut Window, target: DocId) {
        window.start = self.next_driver(target);
        window.end = window.start.saturating_add(WINDOW).min(TERMINATED);
        window.marked.fill(0);
        window.drivers = self.drivers;
        let norms = self.norms.as_ref();
        for part in self.parts.iter_mut().take(self.drivers) {
            let mut doc = part.postings.doc();
            while doc < window.end {
                let place = (doc - window.start) as usize;
                let score = part.score(norms, doc);
                let (bits, bit) = (&mut window.marked[place / 64], 1 << (place % 64));
                let sums = &mut window.sums[place];
                if *bits & bit == 0 {
                    *bits |= bit;
                    *sums = (0.0, 0.0);
                }
                sums.0 += part.weight;
                sums.1 += score;
                doc = part.postings.advance();
            }
        }
    }

    /// Does what `seek_danger` does, many documents at a time.
    fn seek_in(&mut self, window: &mut Window, target: DocId) -> SeekDangerResult {
        if target >= window.end {
            self.fill(window, target);
        }
        if window.start == TERMINATED {
            return SeekDangerResult::SeekLowerBound(TERMINATED);
        }
        let next = window.next(target.max(window.start));
        if next != target {
            return SeekDangerResult::SeekLowerBound(next);
        }
        let sums = window.sums[(target - window.start) as usize];
        match self.complete(target, window.drivers, sums) {
            Some(score) => {
                (self.at, self.score) = (target, score);
                SeekDangerResult::Found
            }
            None if target + 1 < window.end => {
                SeekDangerResult::SeekLowerBound(window.next(target + 1))
            }
            None => SeekDangerResult::SeekLowerBound(window.end),
        }
    }

    /// Moves to the first match at `doc` or later.
    fn seek_from(&mut self, mut doc: DocId) -> DocId {
        while doc < TERMINATED {
            match self.seek_danger(doc) {
                SeekDangerResult::Found => return doc,
                SeekDangerResult::SeekLowerBound(next) => doc = next,
            }
        }
        self.at = TERMINATED;
        TERMINATED
    }
}

impl DocSet for RelatedScorer {
    fn advance(&mut self) -> DocId {
        if self.at == TERMINATED { TERMINATED } else { self.seek_from(self.at + 1) }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.at >= target { self.at } else { self.seek_from(target) }
    }

    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        if target >= TERMINATED {
            return SeekDangerResult::SeekLowerBound(TERMINATED);
        }
        if let Some(mut window) = self.window.take() {
            let found = self.seek_in(&mut window, target);
            self.window = Some(window);
            return found;
        }
        // One of the drivers is in every match, so this is also how far the others may skip.
        let next = self.next_driver(target);
        if next > target {
            return SeekDangerResult::SeekLowerBound(next);
        }
        match self.complete(target, 0, (0.0, 0.0)) {
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
