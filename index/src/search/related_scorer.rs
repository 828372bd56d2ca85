//! The messages of one segment that contain enough of a question.

use std::ops::Range;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::query::{Bm25Weight, Scorer};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, TERMINATED};

use super::posting_cursor::PostingCursor;
use super::related_window::Window;

/// Factor by which the same scores, added in another order, may differ at most.
pub(super) const SLACK: Score = 1.0001;

/// Returns an upper bound of the score of a message that contains a term that often.
pub(super) fn highest(bm25: &Bm25Weight, frequency: u32) -> Score {
    const NO_LENGTH: u8 = 0;
    bm25.score(NO_LENGTH, frequency)
}

/// A term in one segment.
pub(super) struct ScoredTerm {
    pub(super) postings: PostingCursor,
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
            self.bm25.score(norms.fieldnorm_id(doc), self.postings.frequency())
        })
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
    /// `true` if the document was rated in its window, and matches.
    is_found: bool,
}

impl RelatedScorer {
    /// Creates a scorer without a position, of parts with the heaviest first.
    pub(super) fn new(
        parts: Vec<ScoredTerm>,
        drivers: usize,
        least: Score,
        norms: Option<FieldNormReader>,
    ) -> Self {
        let (bar, window, at, score, is_found) = (0.0, None, 0, 0.0, false);
        Self { parts, drivers, least, bar, norms, window, at, score, is_found }
    }

    /// Notes that no other condition chooses the documents, and that none but `docs` is asked for:
    /// from here on they are rated many at a time.
    pub(super) fn lead(&mut self, docs: Range<DocId>) {
        self.window = Some(Window::new(docs));
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
            if part.postings.seek(doc) == doc {
                weight += part.weight;
                score += part.score(norms, doc);
            }
        }
        (weight >= self.least && score >= self.bar).then_some(score)
    }

    /// Returns the first message at `doc` or later that one of the drivers covers.
    fn next_driver(&mut self, doc: DocId) -> DocId {
        let drivers = self.parts.iter_mut().take(self.drivers);
        drivers.map(|part| part.postings.seek(doc)).min().unwrap_or(TERMINATED)
    }

    /// Rates the documents from the next one on that a driver contains.
    fn fill(&mut self, window: &mut Window, target: DocId) {
        let start = self.next_driver(target);
        let rest = self.parts.get(self.drivers).map_or(0.0, |part| part.most);
        let bar = self.bar - rest * SLACK;
        let drivers = self.parts.get_mut(..self.drivers).unwrap_or_default();
        match &self.norms {
            None => window.weigh(start, drivers),
            Some(norms) if bar > 0.0 => window.rate_from(start, drivers, norms, bar),
            Some(norms) => window.rate(start, drivers, norms),
        }
    }

    /// Does what `seek_danger` does, many documents at a time: a lower bound is the next match, if
    /// the window has one.
    fn seek_in(&mut self, window: &mut Window, target: DocId) -> SeekDangerResult {
        use SeekDangerResult::{Found, SeekLowerBound};
        if self.is_found && self.at == target {
            return Found;
        }
        if target >= window.end() {
            self.fill(window, target);
        }
        let mut next = window.next(target);
        while let Some((doc, sums)) = next {
            if let Some(score) = self.complete(doc, window.drivers(), sums) {
                (self.at, self.score, self.is_found) = (doc, score, true);
                return if doc == target { Found } else { SeekLowerBound(doc) };
            }
            next = window.next(doc + 1);
        }
        SeekLowerBound(window.end())
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
        drivers.fold(0, |sum, part| sum.saturating_add(part.postings.len()))
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
