//! Related messages: those that contain a large part of a question, not all of it.
//!
//! A message must contain some of a question's terms, and their total weight decides: rare terms
//! weigh more (their BM25 weight), so that particles alone match nothing. Terms are read heaviest
//! first, and a message is skipped as soon as those left cannot reach the least weight.
//!
//! Of the terms, the heaviest *drive*: only messages with one of them are looked at. No others
//! are needed once the rest is too light to reach the least weight. In a large channel fewer
//! drive, so that questions of everyday words do not read it from end to end (see [`Reach`]):
//! messages without any of the rarer words are left out then, and if even the rarest is frequent,
//! the most frequent words do not count at all.

use std::sync::Arc;

use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, TERMINATED, Term};

use super::posting_cursor::PostingCursor;
use super::related_scorer::{RelatedScorer, ScoredTerm, highest};
use super::statistics::{Entries, Statistics};

/// Minimum share of a question's whole weight that a message must contain.
///
/// Measured on Chinese and Japanese questions for paragraphs: at a fifth, three in a hundred of the
/// right ones are no longer listed (MRR@10 falls by 0.015 on the Chinese ones).
const LEAST_SHARE: Score = 0.1;

/// Maximum cost of a search, in documents read one after the other.
const BUDGET: f64 = 400_000.0;
/// Number of messages that driving terms should contain, so that there is something to choose from.
const ENOUGH: f64 = 2_000.0;
/// Cost of looking a document up in the list of another term.
const LOOKUP: f64 = 4.0;
/// Factor by which a later page may cost more than a first page may: the messages are others by
/// then.
const GROWTH: f64 = 4.0;

/// Numbers of terms of a question that are looked at, the heaviest first. Decided on the first
/// page of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// Number of terms that drive.
    pub(super) drivers: u8,
    /// Number of terms that count.
    pub(super) terms: u8,
}

/// A term of a question.
#[derive(Clone, Debug)]
pub(super) struct RelatedTerm {
    pub(super) term: Term,
    /// `true` if it counts for the least weight, and not only for the rank.
    pub(super) tells: bool,
    /// Factor of its score.
    pub(super) boost: Score,
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
    reach: Reach,
    /// The field whose length counts.
    text: Field,
    /// `true` if matches are ranked.
    scores: bool,
    entries: Arc<Entries>,
}

impl std::fmt::Debug for RelatedQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let terms: Vec<_> = self.terms.iter().map(|weighted| &weighted.term).collect();
        f.debug_struct("RelatedQuery").field("terms", &terms).finish_non_exhaustive()
    }
}

impl RelatedQuery {
    /// Creates a query of which [`RelatedQuery::limit`] is yet to be called.
    pub(super) fn new(text: Field, terms: &[RelatedTerm], statistics: &Statistics) -> Self {
        let docs = statistics.docs().max(1);
        #[expect(clippy::cast_precision_loss, reason = "a rounded length")]
        let length = statistics.length() as Score;
        let mut absent: u16 = 0;
        let weighted = |RelatedTerm { term, tells, boost }: &RelatedTerm| {
            let frequency = statistics.frequency(term);
            if frequency == 0 {
                absent += u16::from(*tells);
                return None;
            }
            Some(Weighted {
                term: term.clone(),
                weight: if *tells { weight(frequency, docs) } else { 0.0 },
                bm25: Bm25Weight::for_one_term(frequency, docs, length).boost_by(*boost),
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
        let least = (whole * LEAST_SHARE).max(Score::MIN_POSITIVE);
        let all = u8::try_from(terms.len()).unwrap_or(u8::MAX);
        let reach = Reach { drivers: all, terms: all };
        Self { terms, least, reach, text, scores: true, entries: statistics.entries() }
    }

    /// Returns what a search can afford: as many driving terms as possible beside all others, or
    /// else enough of them beside as many others as possible.
    pub(super) fn affordable(&self, statistics: &Statistics) -> Reach {
        let all = self.reach.terms;
        let mut rest: Score = self.terms.iter().map(|term| term.weight).sum();
        let mut read = 0.0;
        let mut reach = Reach::default();
        for (drivers, weighted) in (1..=all).zip(&self.terms) {
            if drivers > 1 && rest < self.least {
                break;
            }
            let is_enough = read >= ENOUGH;
            read += frequency(weighted, statistics);
            rest -= weighted.weight;
            if cost(read, all - drivers) <= BUDGET {
                reach = Reach { drivers, terms: all };
            } else if !is_enough {
                let others = (0..=all - drivers).take_while(|&others| cost(read, others) <= BUDGET);
                reach = Reach { drivers, terms: drivers + others.last().unwrap_or(0) };
            }
        }
        reach
    }

    /// Returns the reach of a cursor, or what is affordable by the statistics of now if that costs
    /// far more: a cursor is a text that anybody can write.
    pub(super) fn bounded(&self, reach: Reach, now: &Statistics) -> Reach {
        let affordable = self.affordable(now);
        let bound = GROWTH * self.cost_of(affordable, now).max(BUDGET);
        if self.cost_of(reach, now) <= bound { reach } else { affordable }
    }

    /// Returns the cost of a search.
    fn cost_of(&self, reach: Reach, statistics: &Statistics) -> f64 {
        let mut rest: Score = self.terms.iter().map(|term| term.weight).sum();
        let (mut read, mut drivers) = (0.0, 0);
        for weighted in self.terms.iter().take(usize::from(reach.drivers)) {
            if drivers > 0 && rest < self.least {
                break;
            }
            read += frequency(weighted, statistics);
            rest -= weighted.weight;
            drivers += 1;
        }
        cost(read, reach.terms.min(self.reach.terms).saturating_sub(drivers))
    }

    /// Looks at no more than that. Returns whether this leaves out messages.
    pub(super) fn limit(&mut self, reach: Reach) -> bool {
        self.reach = reach;
        let leaves_out = usize::from(reach.terms) < self.terms.len();
        self.terms.truncate(usize::from(reach.terms));
        let rest = self.terms.iter().skip(usize::from(reach.drivers));
        leaves_out || rest.map(|weighted| weighted.weight).sum::<Score>() >= self.least
    }
}

/// Returns the cost of reading that many messages and looking each up in the lists of others.
fn cost(read: f64, others: u8) -> f64 {
    read * (1.0 + LOOKUP * f64::from(others))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn frequency(weighted: &Weighted, statistics: &Statistics) -> f64 {
    statistics.frequency(&weighted.term) as f64
}

/// Returns the weight of a term with that document frequency (BM25's inverse document frequency).
#[expect(clippy::cast_precision_loss, reason = "a weight needs no exact numbers")]
fn weight(frequency: u64, docs: u64) -> Score {
    let others = docs.saturating_sub(frequency) as Score;
    (1.0 + (others + 0.5) / (frequency as Score + 0.5)).ln()
}

impl Query for RelatedQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(Self { scores: scoring.is_scoring_enabled(), ..self.clone() }))
    }
}

impl Weight for RelatedQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(mut scorer) = self.unplaced(reader, boost)? else {
            return Ok(Box::new(EmptyScorer));
        };
        if scorer.seek_danger(0) != SeekDangerResult::Found {
            scorer.advance();
        }
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
        let option =
            if self.scores { IndexRecordOption::WithFreqs } else { IndexRecordOption::Basic };
        let mut parts = Vec::with_capacity(self.terms.len());
        let mut may_drive = 0;
        for (at, Weighted { term, weight, bm25 }) in self.terms.iter().enumerate() {
            let index = reader.inverted_index(term.field())?;
            if let Some(info) = self.entries.of(term, reader, &index)? {
                let postings = PostingCursor::open(&index, &info, option)?;
                let (weight, bm25) = (*weight, bm25.boost_by(boost));
                parts.push(ScoredTerm { postings, weight, bm25, after: 0.0, most: 0.0 });
                may_drive += usize::from(at < usize::from(self.reach.drivers));
            }
        }
        let (mut after, mut most) = (0.0, 0.0);
        for part in parts.iter_mut().rev() {
            part.after = after;
            after += part.weight;
            // A message that has it very often comes near to it.
            most += highest(&part.bm25, u32::MAX);
            part.most = most;
        }
        if parts.is_empty() || after < self.least {
            return Ok(None);
        }
        // A message without any of these contains too little.
        let needed = 1 + parts.iter().take_while(|part| part.after >= self.least).count();
        let drivers = needed.min(may_drive);
        if drivers == 0 {
            return Ok(None);
        }
        let norms = self.scores.then(|| reader.get_fieldnorms_reader(self.text)).transpose()?;
        Ok(Some(RelatedScorer::new(parts, drivers, self.least, norms)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates statistics of terms in `frequencies` of a billion messages.
    fn question(frequencies: &[u32]) -> (RelatedQuery, Statistics) {
        let levels = |n: u32| {
            let level = (f64::from(n) + 1.0).log2() * 6.0;
            (0..=255).find(|&known| f64::from(known) >= level - 0.5).unwrap()
        };
        let term = |at: usize| Term::from_field_text(Field::from_field_id(0), &at.to_string());
        let terms: Vec<Term> = (0..frequencies.len()).map(term).collect();
        let counts = [1_000_000_000, 10].iter().chain(frequencies);
        let all = counts.map(|&n| levels(n)).collect();
        let statistics = Statistics::frozen(terms.clone(), all).unwrap();
        let related = |term| RelatedTerm { term, tells: true, boost: 1.0 };
        let terms: Vec<_> = terms.into_iter().map(related).collect();
        (RelatedQuery::new(Field::from_field_id(0), &terms, &statistics), statistics)
    }

    #[test]
    fn rare_words_are_all_looked_at_and_frequent_ones_as_far_as_affordable() {
        let reach = |frequencies: &[u32]| {
            let (mut query, statistics) = question(frequencies);
            let reach = query.affordable(&statistics);
            (reach.drivers, reach.terms, query.limit(reach))
        };
        assert_eq!(reach(&[100; 8]), (8, 8, false));
        // Nothing else is needed beside words that nearly everybody uses.
        assert_eq!(reach(&[100, 100, 999_000_000]), (2, 3, false));
        assert_eq!(reach(&[2_000, 2_000, 5_000_000, 5_000_000]), (2, 4, true));
        assert_eq!(reach(&[5, 300_000, 300_000]), (2, 2, true), "five are not enough");
        assert_eq!(reach(&[50_000; 5]), (5, 5, false));
        assert_eq!(reach(&[90_000; 12]), (1, 1, true));
        assert_eq!(reach(&[20_000; 40]), (1, 5, true));
    }

    #[test]
    fn the_reach_of_a_cursor_is_bounded_by_what_is_affordable_now() {
        let (query, _) = question(&[10; 12]);
        let all = Reach { drivers: 12, terms: 12 };
        let bounded = |reach, now: &[u32]| {
            let (_, now) = question(now);
            let reach = query.bounded(reach, &now);
            (reach.drivers, reach.terms)
        };
        assert_eq!(bounded(all, &[10; 12]), (12, 12));
        // What costs somewhat more than on the first page goes on as it was.
        assert_eq!(bounded(all, &[20_000; 12]), (12, 12));
        assert_eq!(bounded(all, &[400_000; 12]), (1, 1));
        // Even one word may cost more than a search should.
        let one = Reach { drivers: 1, terms: 2 };
        assert_eq!(bounded(one, &[50_000_000; 12]), (1, 1));
        assert_eq!(bounded(Reach { drivers: 1, terms: 1 }, &[50_000_000; 12]), (1, 1));
        // Numbers beyond those of the question are the question's.
        let beyond = Reach { drivers: 200, terms: 255 };
        assert_eq!(bounded(beyond, &[10; 12]), (200, 255));
    }
}
