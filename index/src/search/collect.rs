//! Ranking, paging and counting: one order for both sorts, so that a cursor is a rank.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use super::cursor::Rank;
use super::generation::Columns;

/// Collected results.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// Best results after the cursor, best first.
    pub(super) best: Vec<(Rank, DocAddress)>,
    /// Number of all results, including those before the cursor.
    pub(super) total: usize,
}

/// Collects the best `limit` results after `after`, and counts all.
#[derive(Clone, Copy)]
pub(super) struct Best<'a> {
    /// Columns of each segment.
    pub(super) columns: &'a [Columns],
    pub(super) by_score: bool,
    pub(super) after: Option<Rank>,
    pub(super) limit: usize,
}

impl Collector for Best<'_> {
    type Fruit = Collected;
    type Child = BestInSegment;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        _reader: &SegmentReader,
    ) -> tantivy::Result<BestInSegment> {
        Ok(BestInSegment {
            after: self.after,
            limit: self.limit,
            segment,
            columns: self.columns[segment as usize].clone(),
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
    after: Option<Rank>,
    limit: usize,
    segment: SegmentOrdinal,
    columns: Columns,
    /// Retained results, the worst on top.
    kept: BinaryHeap<Reverse<(Rank, DocId)>>,
    total: usize,
}

impl SegmentCollector for BestInSegment {
    type Fruit = Collected;

    fn collect(&mut self, doc: DocId, score: Score) {
        self.total += 1;
        let score = rounded(score);
        let mut rank = Rank { score, sent_at: self.columns.sent_at.get_val(doc), tie: u64::MAX };
        let full = self.kept.len() >= self.limit;
        // The common case first: worse than all retained ones, whatever the tie-breaker.
        if full && self.kept.peek().is_none_or(|Reverse((worst, _))| rank <= *worst) {
            return;
        }
        rank.tie = self.columns.tie.get_val(doc);
        if self.after.is_some_and(|after| rank >= after) {
            return;
        }
        self.kept.push(Reverse((rank, doc)));
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    fn harvest(self) -> Collected {
        let segment = self.segment;
        let address = |Reverse((rank, doc))| (rank, DocAddress::new(segment, doc));
        Collected { best: self.kept.into_iter().map(address).collect(), total: self.total }
    }
}

/// Rounds a score to the digits on which segments agree: they add up the same numbers in different
/// order. The summands are frozen in the cursor.
fn rounded(score: Score) -> Score {
    (score * 1024.0).round() / 1024.0
}
