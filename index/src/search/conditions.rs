//! The conditions of a search, and the messages of a segment that meet all of them.

use std::ops::Range;

use tantivy::fastfield::AliveBitSet;
use tantivy::query::{EnableScoring, Query as TantivyQuery, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED};

use super::phrase::PhraseScorer;
use super::related_scorer::RelatedScorer;
use super::union::Union;

/// Distance at which matches are close enough for what excludes one to be read up to the next.
const NEAR: DocId = 16;
/// Maximum number of excluded documents in a row that are passed at once.
const LONGEST_RUN: u32 = 65_536;

/// A condition that every result meets.
pub(super) struct Condition {
    pub(super) query: Box<dyn TantivyQuery>,
    /// `true` if its score counts: filters rank nothing.
    pub(super) scores: bool,
}

/// The conditions of a search.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) wanted: Vec<Condition>,
    pub(super) unwanted: Vec<Box<dyn TantivyQuery>>,
    /// Conditions that no result meets all of.
    pub(super) not_all: Option<Box<Conditions>>,
}

impl Conditions {
    /// Prepares the conditions for the segments of an index.
    pub(super) fn weights(&self, scoring: EnableScoring<'_>) -> tantivy::Result<ClauseWeights> {
        let wanted = self.wanted.iter().map(|condition| {
            let scoring = if condition.scores { scoring } else { without_scores(scoring) };
            Ok((condition.query.weight(scoring)?, condition.scores))
        });
        let off = without_scores(scoring);
        let unwanted = self.unwanted.iter().map(|query| query.weight(off));
        let not_all = self.not_all.as_ref().map(|conditions| conditions.weights(off));
        Ok(ClauseWeights {
            wanted: wanted.collect::<tantivy::Result<_>>()?,
            unwanted: unwanted.collect::<tantivy::Result<_>>()?,
            not_all: not_all.transpose()?.map(Box::new),
        })
    }
}

/// Returns the setting of queries whose scores nobody asks for.
fn without_scores(scoring: EnableScoring<'_>) -> EnableScoring<'_> {
    match scoring {
        EnableScoring::Enabled { searcher, .. } => EnableScoring::disabled_from_searcher(searcher),
        disabled @ EnableScoring::Disabled { .. } => disabled,
    }
}

/// [`Conditions`] prepared for the segments of an index.
pub(super) struct ClauseWeights {
    wanted: Vec<(Box<dyn Weight>, bool)>,
    unwanted: Vec<Box<dyn Weight>>,
    not_all: Option<Box<ClauseWeights>>,
}

impl ClauseWeights {
    /// Opens the conditions in a segment without looking for a match. Matches are only asked for
    /// among `docs`.
    pub(super) fn open(
        &self,
        segment: &SegmentReader,
        docs: Range<DocId>,
    ) -> tantivy::Result<Conjunction> {
        let mut wanted = Vec::with_capacity(self.wanted.len() + 1);
        let mut first = docs.start;
        for (weight, scores) in &self.wanted {
            if first >= TERMINATED {
                break;
            }
            let (found, scorer) = weight.scorer_danger(segment, first, 1.0)?;
            if let SeekDangerResult::SeekLowerBound(next) = found {
                first = first.max(next);
            }
            wanted.push((scorer, *scores));
        }
        wanted.sort_by_key(|(scorer, _)| scorer.cost());
        let scores_alone = wanted.iter().filter(|(_, scores)| *scores).count() == 1;
        if let Some((leading, _)) = wanted.first_mut()
            && let Some(related) = leading.downcast_mut::<RelatedScorer>()
        {
            related.lead(first..docs.end);
        }
        let mut unwanted = Vec::with_capacity(self.unwanted.len());
        if first < TERMINATED {
            for weight in &self.unwanted {
                let (found, scorer) = weight.scorer_danger(segment, first, 1.0)?;
                let next = match found {
                    SeekDangerResult::Found => first,
                    SeekDangerResult::SeekLowerBound(next) => next,
                };
                unwanted.push(Unwanted::new(Excluded::One(scorer), next));
            }
            if let Some(not_all) = &self.not_all {
                let all = not_all.open(segment, first..docs.end)?;
                let next = all.first;
                unwanted.push(Unwanted::new(Excluded::All(Box::new(all)), next));
            }
        }
        let alive = segment.alive_bitset().cloned();
        Ok(Conjunction { wanted, unwanted, first, alive, scores_alone, bar: 0.0 })
    }
}

/// The messages of a segment that meet all conditions, looked up in ascending order.
pub(super) struct Conjunction {
    /// Conditions, the cheapest first, and whether they score.
    wanted: Vec<(Box<dyn Scorer>, bool)>,
    unwanted: Vec<Unwanted>,
    /// No document before this one meets the conditions.
    first: DocId,
    alive: Option<AliveBitSet>,
    /// `true` if the score is that of one condition alone.
    scores_alone: bool,
    /// No related message of a lower score is wanted.
    bar: Score,
}

impl Conjunction {
    /// Adds a condition, looked up from document `start` on.
    pub(super) fn add(
        &mut self,
        weight: &dyn Weight,
        segment: &SegmentReader,
        start: DocId,
    ) -> tantivy::Result<()> {
        let (found, scorer) = weight.scorer_danger(segment, start, 1.0)?;
        if let SeekDangerResult::SeekLowerBound(next) = found {
            self.first = self.first.max(next);
        }
        self.wanted.push((scorer, false));
        Ok(())
    }

    /// Returns the first match from `doc` on and before `end`.
    pub(super) fn find(&mut self, doc: DocId, end: DocId) -> Option<DocId> {
        let mut doc = doc.max(self.first);
        while doc < end {
            match self.check(doc) {
                SeekDangerResult::Found => return Some(doc),
                SeekDangerResult::SeekLowerBound(next) => doc = next.max(doc + 1),
            }
        }
        self.first = doc;
        None
    }

    /// Returns whether `doc` matches, or the first document that may.
    fn check(&mut self, doc: DocId) -> SeekDangerResult {
        if doc < self.first {
            return SeekDangerResult::SeekLowerBound(self.first);
        }
        for (scorer, _) in &mut self.wanted {
            match scorer.seek_danger(doc) {
                SeekDangerResult::Found => {}
                next @ SeekDangerResult::SeekLowerBound(_) => return next,
            }
        }
        if self.alive.as_ref().is_some_and(|alive| alive.is_deleted(doc)) {
            return SeekDangerResult::SeekLowerBound(doc + 1);
        }
        let excluded = self.unwanted.iter_mut().find_map(|unwanted| unwanted.excludes(doc));
        excluded.map_or(SeekDangerResult::Found, SeekDangerResult::SeekLowerBound)
    }

    /// Leaves out related messages of a lower score from here on, where the question alone scores:
    /// beside a phrase, it knows only its own share of the score.
    pub(super) fn raise(&mut self, bar: Score) {
        if !self.scores_alone || bar <= self.bar {
            return;
        }
        self.bar = bar;
        let wanted = self.wanted.iter_mut();
        for related in wanted.filter_map(|(scorer, _)| scorer.downcast_mut::<RelatedScorer>()) {
            related.raise(bar);
        }
    }

    /// Returns the score of the match found last.
    pub(super) fn score(&mut self) -> Score {
        let scores = self.wanted.iter_mut().filter(|(_, scores)| *scores);
        scores.map(|(scorer, _)| scorer.score()).sum()
    }
}

/// Something that no result meets.
struct Unwanted {
    what: Excluded,
    /// No document before this one meets it. A phrase may not be asked for a document that it has
    /// passed.
    next: DocId,
    /// End of what was excluded last.
    end: DocId,
    /// Number of documents after an excluded one that are looked at for the end of a run. It doubles
    /// while matches are close to each other: where they are far apart, they pass the run by
    /// themselves.
    stretch: u32,
}

enum Excluded {
    One(Box<dyn Scorer>),
    All(Box<Conjunction>),
}

impl Unwanted {
    fn new(what: Excluded, next: DocId) -> Self {
        Self { what, next, end: 0, stretch: 0 }
    }

    /// Returns the first document from `doc` on that it may not exclude; `None` if that is `doc`.
    fn excludes(&mut self, doc: DocId) -> Option<DocId> {
        if doc < self.next {
            return None;
        }
        let found = match &mut self.what {
            Excluded::One(scorer) => scorer.seek_danger(doc),
            Excluded::All(all) => all.check(doc),
        };
        match found {
            SeekDangerResult::Found => Some(self.pass(doc)),
            SeekDangerResult::SeekLowerBound(next) => {
                self.next = next;
                None
            }
        }
    }

    /// Passes a run of excluded documents, the first of which was found, and returns its end.
    fn pass(&mut self, doc: DocId) -> DocId {
        let is_near = doc - self.end < NEAR;
        self.stretch = if is_near { (2 * self.stretch).clamp(1, LONGEST_RUN) } else { 0 };
        (self.end, self.next) = match &mut self.what {
            Excluded::One(scorer) => pass(scorer.as_mut(), doc, self.stretch),
            Excluded::All(_) => (doc + 1, doc + 1),
        };
        self.end
    }
}

/// Passes at most `stretch` documents after `doc`, at which a scorer is. Returns the end of those
/// in a row, and the first document from there on that the scorer may match.
fn pass(scorer: &mut dyn Scorer, doc: DocId, stretch: u32) -> (DocId, DocId) {
    let end = doc + 1;
    let list = if scorer.is::<Union>() {
        scorer.downcast_mut::<Union>()
    } else {
        scorer.downcast_mut().and_then(PhraseScorer::words_alone)
    };
    let Some(list) = list else {
        // The next match of a phrase may be far away, and is not looked for in vain.
        return (end, end);
    };
    list.pass_run(stretch)
}
