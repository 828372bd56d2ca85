//! Word frequencies for relevance: rounded, and frozen for all pages of a result.
//!
//! BM25 changes with every new message. A cursor is a score, so pages would overlap or leave gaps
//! while messages arrive. The statistics of the first page are therefore stored in its cursor,
//! rounded to a byte a number, and all pages rank with the rounded numbers.
//!
//! They are those of the messages that are searched (see [`super::extent`]): the score and the
//! cursor tell nothing of other channels.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::index::SegmentId;
use tantivy::postings::TermInfo;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{InvertedIndexReader, SegmentReader, Term};

use super::extent::{Extent, Size};

/// Number of rounding steps for each doubling: an error of a tenth at most.
const STEPS: f64 = 6.0;

/// Rounded numbers: messages, the length of a message in terms, and messages with each term.
pub(super) type Levels = Vec<u8>;

/// The statistics of the terms of one query.
#[derive(Clone, Debug)]
pub(super) struct Statistics {
    terms: Vec<Term>,
    levels: Levels,
    entries: Arc<Entries>,
}

/// Entries of the terms of one query in the dictionaries of segments, as far as they were looked up
/// for the statistics: a search opens the same terms.
#[derive(Debug, Default)]
pub(super) struct Entries {
    segments: Vec<SegmentId>,
    /// Entries of each term, in the order of the segments.
    of: HashMap<Term, Vec<Option<TermInfo>>>,
}

impl Entries {
    /// Returns the entry of a term in a segment; `None` if the segment does not contain it.
    pub(super) fn of(
        &self,
        term: &Term,
        segment: &SegmentReader,
        index: &InvertedIndexReader,
    ) -> tantivy::Result<Option<TermInfo>> {
        let id = segment.segment_id();
        let known = self.of.get(term).zip(self.segments.iter().position(|known| *known == id));
        match known.and_then(|(entries, at)| entries.get(at)) {
            Some(entry) => Ok(entry.clone()),
            None => Ok(index.get_term_info(term)?),
        }
    }
}

impl Statistics {
    /// Returns the current statistics of `terms` in some messages.
    pub(super) fn now(extent: &Extent<'_>, text: Field, terms: Vec<Term>) -> tantivy::Result<Self> {
        let Size { docs, length } = extent.size(text)?;
        let mut levels = vec![level(docs), level(length)];
        let mut entries = Entries { segments: extent.segments().collect(), of: HashMap::new() };
        for term in &terms {
            let (frequency, own) = extent.look_up(term)?;
            levels.push(level(frequency));
            entries.of.insert(term.clone(), own);
        }
        Ok(Self { terms, levels, entries: Arc::new(entries) })
    }

    /// Returns the statistics of `levels`, taken of the same terms; `None` if they were others.
    pub(super) fn frozen(terms: Vec<Term>, levels: Levels) -> Option<Self> {
        let entries = Arc::default();
        (levels.len() == terms.len() + 2).then_some(Self { terms, levels, entries })
    }

    /// Returns the dictionary entries that are known; none of frozen statistics.
    pub(super) fn entries(&self) -> Arc<Entries> {
        Arc::clone(&self.entries)
    }

    pub(super) fn levels(&self) -> &Levels {
        &self.levels
    }

    pub(super) fn docs(&self) -> u64 {
        // A rounded number may not fall below another that it includes.
        let frequencies = self.levels.iter().skip(2);
        number(frequencies.chain(self.levels.first()).copied().max().unwrap_or_default())
    }

    /// Returns the average length of a message, in terms.
    pub(super) fn length(&self) -> u64 {
        self.levels.get(1).map_or(1, |&level| number(level).max(1))
    }

    /// Returns the number of messages with a term; 0 for a term that was not counted.
    pub(super) fn frequency(&self, term: &Term) -> u64 {
        let at = self.terms.iter().position(|known| known == term);
        at.and_then(|at| self.levels.get(at + 2)).map_or(0, |&level| number(level))
    }
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        // The greatest levels, which only a cursor that somebody made up has, would overflow.
        Ok(self.docs().saturating_mul(self.length()))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.docs().max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.frequency(term))
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rounded logarithm, from 0 to 255"
)]
fn level(number: u64) -> u8 {
    ((number as f64 + 1.0).log2() * STEPS).round().min(255.0) as u8
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 2^43")]
fn number(level: u8) -> u64 {
    ((f64::from(level) / STEPS).exp2() - 1.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_numbers_are_near() {
        for n in (0..2_000).chain([65_000, 1_000_000, 1 << 40]) {
            let near = number(level(n));
            assert!(near.abs_diff(n) * 10 <= n, "{n} {near}");
            assert_eq!(level(near), level(n));
        }
    }

    #[test]
    fn a_term_is_never_in_more_messages_than_there_are() {
        let term = Term::from_field_text(Field::from_field_id(0), "a");
        let statistics = Statistics::frozen(vec![term.clone()], vec![10, 5, 60]).unwrap();
        assert!(statistics.docs() >= statistics.frequency(&term));
        assert_eq!(statistics.frequency(&Term::from_field_text(Field::from_field_id(0), "b")), 0);
        assert!(Statistics::frozen(vec![term], vec![1, 2]).is_none());
    }
}
