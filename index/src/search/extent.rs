//! The messages that statistics are counted in: those that a search looks at, and no others.
//!
//! The frequency of a word in other people's channels is none of a reader's business, and says
//! little about his own. Postings are therefore counted in the ranges of documents of the search.
//! Skip lists make this cheap: the number of postings in a range is the difference of two ranks.
//! Documents that were erased are left out, one by one of the first [`READ`] postings of a term,
//! then by their share. Of very many ranges the largest are counted, and the rest estimated.

use std::cell::OnceCell;
use std::ops::Range;

use tantivy::fastfield::AliveBitSet;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, InvertedIndexReader, Searcher, SegmentReader, Term};

use super::drive::Scope;

/// Maximum number of ranges that a term is counted in, in all segments together, and the number
/// that are counted in a segment however many segments there are.
const RANGES: (usize, usize) = (256, 8);
/// Maximum number of postings that are looked up among very many ranges, and of those that are read
/// where messages were erased.
const READ: usize = 4_096;
/// Number of messages whose length and presence is read, in all segments together.
const SAMPLE: u64 = 1_024;

/// Ranges of documents in segments.
pub(super) struct Extent<'a> {
    parts: Vec<Stretch<'a>>,
}

/// Ranges of documents in one segment.
struct Stretch<'a> {
    segment: &'a SegmentReader,
    /// All ranges, in order.
    all: Vec<Range<DocId>>,
    /// Those that are counted, in order.
    counted: Vec<Range<DocId>>,
    /// Distance of the messages of the sample.
    step: usize,
    /// The share of messages that were not erased.
    living: OnceCell<Share>,
}

/// Size of an extent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    /// Number of messages, without erased ones.
    pub(super) docs: u64,
    /// Their average length, in terms.
    pub(super) length: u64,
}

impl<'a> Extent<'a> {
    /// Returns the messages that a search looks at; in many channels those of all times.
    pub(super) fn of(searcher: &'a Searcher, scope: &Scope<'_>) -> tantivy::Result<Self> {
        let segments = searcher.segment_readers();
        let mut ranges = vec![Vec::new(); segments.len()];
        for part in scope.parts() {
            let (at, docs) = (part.segment as usize, &part.docs);
            let Some(only) = &part.only else {
                ranges[at].push(docs.clone());
                continue;
            };
            let mut own = only.scorer(&segments[at], 1.0)?;
            let mut doc = if own.doc() < docs.start { own.seek(docs.start) } else { own.doc() };
            while doc < docs.end {
                ranges[at].push(doc..doc + 1);
                doc = own.advance();
            }
        }
        Ok(Self::new(segments.iter().zip(ranges)))
    }

    /// Creates an extent of ranges of each segment, which need not be in order.
    fn new(parts: impl Iterator<Item = (&'a SegmentReader, Vec<Range<DocId>>)>) -> Self {
        let parts: Vec<_> = parts.filter(|(_, ranges)| !ranges.is_empty()).collect();
        let most = (RANGES.0 / parts.len().max(1)).max(RANGES.1);
        let stretches = parts.into_iter().map(|(segment, mut all)| {
            all.sort_unstable_by_key(|range| range.start);
            all.dedup_by(|next, range| {
                let joins = next.start <= range.end;
                if joins {
                    range.end = range.end.max(next.end);
                }
                joins
            });
            let mut counted = all.clone();
            if counted.len() > most {
                counted.select_nth_unstable_by_key(most, |range| std::cmp::Reverse(range.len()));
                counted.truncate(most);
                counted.sort_unstable_by_key(|range| range.start);
            }
            Stretch { segment, all, counted, step: 1, living: OnceCell::new() }
        });
        let mut parts: Vec<_> = stretches.collect();
        let counted: u64 = parts.iter().map(|stretch| documents(&stretch.counted)).sum();
        let step = usize::try_from(counted.div_ceil(SAMPLE).max(1)).unwrap_or(usize::MAX);
        for stretch in &mut parts {
            stretch.step = step;
        }
        Self { parts }
    }

    /// Returns the number of messages and their average length in `text`.
    pub(super) fn size(&self, text: Field) -> tantivy::Result<Size> {
        let (mut docs, mut length) = (0, 0);
        for stretch in &self.parts {
            let lengths = stretch.segment.get_fieldnorms_reader(text)?;
            let mut sum = 0;
            let living = stretch.sample(|doc| sum += length_of(lengths.fieldnorm_id(doc)));
            let here = living.of(documents(&stretch.all));
            docs += here;
            length += Share { part: sum, whole: living.part }.of(here);
            stretch.living.get_or_init(|| living);
        }
        Ok(Size { docs, length: length / u64::max(docs, 1) })
    }

    /// Returns the segments that are looked at.
    pub(super) fn segments(&self) -> impl Iterator<Item = SegmentId> {
        self.parts.iter().map(|stretch| stretch.segment.segment_id())
    }

    /// Returns the number of messages with a term, and its entry in the dictionary of each segment.
    pub(super) fn look_up(&self, term: &Term) -> tantivy::Result<(u64, Vec<Option<TermInfo>>)> {
        let (mut frequency, mut budget) = (0, READ);
        let mut entries = Vec::with_capacity(self.parts.len());
        for stretch in &self.parts {
            let index = stretch.segment.inverted_index(term.field())?;
            let entry = index.get_term_info(term)?;
            if let Some(info) = &entry {
                frequency += stretch.frequency(&index, info, &mut budget)?;
            }
            entries.push(entry);
        }
        Ok((frequency, entries))
    }
}

/// A share of documents.
#[derive(Clone, Copy, Debug)]
struct Share {
    part: u64,
    whole: u64,
}

impl Share {
    /// Returns the share of a number.
    fn of(self, number: u64) -> u64 {
        if self.part == self.whole { number } else { number * self.part / self.whole.max(1) }
    }
}

impl Stretch<'_> {
    /// Calls `take` with documents at even distances that were not erased; with all of a few.
    /// Returns the share that was not erased.
    fn sample(&self, mut take: impl FnMut(DocId)) -> Share {
        let alive = self.segment.alive_bitset();
        let mut share = Share { part: 0, whole: 0 };
        for doc in self.counted.iter().cloned().flatten().step_by(self.step) {
            share.whole += 1;
            if alive.is_none_or(|alive| alive.is_alive(doc)) {
                share.part += 1;
                take(doc);
            }
        }
        share
    }

    /// Returns the number of messages with a term of that entry.
    fn frequency(
        &self,
        index: &InvertedIndexReader,
        info: &TermInfo,
        budget: &mut usize,
    ) -> tantivy::Result<u64> {
        let alive = self.segment.alive_bitset();
        if alive.is_none() && self.is_whole() {
            return Ok(u64::from(info.doc_freq));
        }
        let open = || index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic);
        if self.all.len() == self.counted.len() {
            return Ok(self.count(&mut Counter { block: open()?, alive, budget }));
        }
        if info.doc_freq as usize <= READ {
            return Ok(living_among(&self.all, open()?, alive));
        }
        let found = self.count(&mut Counter { block: open()?, alive, budget });
        if found > 0 {
            let share = Share { part: documents(&self.all), whole: documents(&self.counted) };
            return Ok(share.of(found));
        }
        // A word of few channels: whether it occurs at all must not depend on others.
        Ok(u64::from(occurs_in(&self.all, open()?, alive)))
    }

    /// Returns whether all documents of the segment are in it.
    fn is_whole(&self) -> bool {
        matches!(&self.all[..], [all] if all.start == 0 && all.end >= self.segment.max_doc())
    }

    /// Counts the postings in the ranges that are counted.
    fn count(&self, counter: &mut Counter<'_>) -> u64 {
        let (mut read, mut unread) = (0, 0);
        for range in &self.counted {
            let (found, rest) = counter.count(range);
            read += found;
            unread += rest;
        }
        if unread > 0 && counter.alive.is_some() {
            unread = self.living.get_or_init(|| self.sample(|_| {})).of(unread);
        }
        read + unread
    }
}

/// The postings of a term in a segment, counted in ranges in order.
struct Counter<'a> {
    block: BlockSegmentPostings,
    alive: Option<&'a AliveBitSet>,
    /// Number of postings that may be read.
    budget: &'a mut usize,
}

impl Counter<'_> {
    /// Returns the number of documents in a range without the erased ones, and the number of those
    /// that were not read.
    fn count(&mut self, range: &Range<DocId>) -> (u64, u64) {
        let Some(alive) = self.alive else {
            let before = self.block.rank(range.start);
            return (u64::from(self.block.rank(range.end) - before), 0);
        };
        let (mut living, mut at) = (0, self.block.seek(range.start));
        while *self.budget > 0 {
            let docs = self.block.docs().get(at..).unwrap_or_default();
            let inside = docs.partition_point(|&doc| doc < range.end);
            living += docs[..inside].iter().filter(|&&doc| alive.is_alive(doc)).count() as u64;
            *self.budget = self.budget.saturating_sub(inside);
            if inside < docs.len() || docs.is_empty() {
                return (living, 0);
            }
            self.block.advance();
            at = 0;
        }
        let next = self.block.docs().get(at).map_or(range.end, |&doc| doc.min(range.end));
        let before = self.block.rank(next);
        (living, u64::from(self.block.rank(range.end) - before))
    }
}

/// Returns the number of documents of a short list that are in any of the ranges and not erased.
fn living_among(
    ranges: &[Range<DocId>],
    mut block: BlockSegmentPostings,
    alive: Option<&AliveBitSet>,
) -> u64 {
    let (mut count, mut ranges) = (0, ranges);
    while !block.docs().is_empty() {
        for &doc in block.docs() {
            let past = ranges.partition_point(|range| range.end <= doc);
            ranges = &ranges[past..];
            let is_inside = ranges.first().is_some_and(|range| range.start <= doc);
            let is_alive = alive.is_none_or(|alive| alive.is_alive(doc));
            count += u64::from(is_inside && is_alive);
        }
        block.advance();
    }
    count
}

/// Returns whether any document of a list is in any of the ranges and not erased.
fn occurs_in(
    ranges: &[Range<DocId>],
    block: BlockSegmentPostings,
    alive: Option<&AliveBitSet>,
) -> bool {
    let mut budget = usize::MAX;
    let mut counter = Counter { block, alive, budget: &mut budget };
    ranges.iter().any(|range| counter.count(range).0 > 0)
}

/// Returns the length that a rounded one stands for: they are rounded down, so that their average
/// would be too low.
fn length_of(rounded: u8) -> u64 {
    let least = FieldNormReader::id_to_fieldnorm(rounded);
    let next = rounded.checked_add(1).map_or(least, FieldNormReader::id_to_fieldnorm);
    u64::from(least.midpoint(next.saturating_sub(1).max(least)))
}

fn documents(ranges: &[Range<DocId>]) -> u64 {
    ranges.iter().map(|range| u64::from(range.end - range.start)).sum()
}
