//! Ranking, paging and counting: one order for both sorts, so that a cursor is a rank.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use super::schema::{SENT_AT, TIE};

/// A message's place in a result: by score (0 for all when sorted by time), then by time, then by
/// a hash of its id. Greater is earlier in the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rank {
    pub(super) score: Score,
    pub(super) sent_at: i64,
    pub(super) tie: u64,
}

impl Eq for Rank {}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| self.sent_at.cmp(&other.sent_at))
            .then_with(|| self.tie.cmp(&other.tie))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a page of results ended. It names a rank, not a number of results, so that messages
/// indexed in the meantime shift nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub(super) Rank);

/// A text that is no [`Cursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a search cursor")]
pub struct BadCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rank { score, sent_at, tie } = self.0;
        write!(f, "{:x}.{sent_at}.{tie:x}", score.to_bits())
    }
}

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let mut parts = text.split('.');
        let mut part = || parts.next().ok_or(BadCursor);
        let score = u32::from_str_radix(part()?, 16).map_err(|_| BadCursor)?;
        let sent_at = part()?.parse().map_err(|_| BadCursor)?;
        let tie = u64::from_str_radix(part()?, 16).map_err(|_| BadCursor)?;
        if parts.next().is_some() {
            return Err(BadCursor);
        }
        Ok(Self(Rank { score: Score::from_bits(score), sent_at, tie }))
    }
}

/// What was collected.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// The best results after the cursor, best first.
    pub(super) best: Vec<(Rank, DocAddress)>,
    /// All results, also those before the cursor.
    pub(super) total: usize,
}

/// Collects the best `limit` results after `after`, and counts all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    pub(super) by_score: bool,
    pub(super) after: Option<Rank>,
    pub(super) limit: usize,
}

impl Collector for Best {
    type Fruit = Collected;
    type Child = BestInSegment;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<BestInSegment> {
        Ok(BestInSegment {
            best: *self,
            segment,
            sent_at: reader.fast_fields().column_first_or_default(SENT_AT)?,
            tie: reader.fast_fields().column_first_or_default(TIE)?,
            kept: BinaryHeap::with_capacity(self.limit + 1),
            total: 0,
        })
    }

    fn requires_scoring(&self) -> bool {
        self.by_score
    }

    fn merge_fruits(&self, segments: Vec<Collected>) -> tantivy::Result<Collected> {
        let mut merged = Collected::default();
        for segment in segments {
            merged.total += segment.total;
            merged.best.extend(segment.best);
        }
        merged.best.sort_unstable_by_key(|&(rank, _)| Reverse(rank));
        merged.best.truncate(self.limit);
        Ok(merged)
    }
}

/// [`Best`] of one segment.
pub(super) struct BestInSegment {
    best: Best,
    segment: SegmentOrdinal,
    sent_at: Arc<dyn ColumnValues<i64>>,
    tie: Arc<dyn ColumnValues<u64>>,
    /// The worst kept result on top.
    kept: BinaryHeap<Reverse<(Rank, DocId)>>,
    total: usize,
}

impl SegmentCollector for BestInSegment {
    type Fruit = Collected;

    fn collect(&mut self, doc: DocId, score: Score) {
        self.total += 1;
        let mut rank = Rank { score, sent_at: self.sent_at.get_val(doc), tie: u64::MAX };
        let full = self.kept.len() >= self.best.limit;
        // The common case first: worse than all that is kept, whatever the tie-breaker.
        if full && self.kept.peek().is_none_or(|Reverse((worst, _))| rank <= *worst) {
            return;
        }
        rank.tie = self.tie.get_val(doc);
        if self.best.after.is_some_and(|after| rank >= after) {
            return;
        }
        self.kept.push(Reverse((rank, doc)));
        if self.kept.len() > self.best.limit {
            self.kept.pop();
        }
    }

    fn harvest(self) -> Collected {
        let segment = self.segment;
        let address = |Reverse((rank, doc))| (rank, DocAddress::new(segment, doc));
        Collected { best: self.kept.into_iter().map(address).collect(), total: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text() {
        let cursor = Cursor(Rank { score: 3.25, sent_at: -5, tie: u64::MAX });
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", "1.2", "1.2.3.4", "x.1.1", "1.x.1", "1.1.x"] {
            assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text}");
        }
    }
}
