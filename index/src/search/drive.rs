//! Places where a search looks, in order: runs of channels, the newest matches first, or whole
//! segments.
//!
//! A few runs are read side by side: a heap knows which of them has the newest match next, and a
//! run that begins with older messages than those that were asked for is never opened. Of many
//! runs every match is read, in the order of the documents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::{ControlFlow, Range};

use tantivy::query::{EnableScoring, Weight};
use tantivy::{DocAddress, DocId, Score};

use super::IndexSearch;
use super::compile::any_of;
use super::conditions::{ClauseWeights, Conjunction};
use super::cursor::Rank;
use super::generation::{Columns, View};
use super::order::Period;
use super::schema::Fields;

/// Maximum number of runs of a segment that are read side by side.
const FEW: usize = 32;

/// A match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) age: u64,
    pub(super) segment: u32,
    pub(super) doc: DocId,
    pub(super) score: Score,
}

impl Place {
    /// Returns the rank among the results.
    pub(super) fn rank(&self, view: &View) -> Rank {
        let columns = &view.columns[self.segment as usize];
        let sent_at = columns.sent_at(self.doc, self.age);
        Rank { score: self.score, sent_at, tie: columns.tie(self.doc) }
    }

    pub(super) fn address(&self) -> DocAddress {
        DocAddress::new(self.segment, self.doc)
    }
}

/// A range of documents of one segment.
pub(super) struct Part {
    pub(super) segment: u32,
    pub(super) docs: Range<DocId>,
    /// The one channel that counts in a run that several share.
    pub(super) only: Option<Box<dyn Weight>>,
}

/// The messages that a search looks at.
pub(super) struct Scope<'a> {
    view: &'a View,
    fields: Fields,
    period: Period,
    parts: Vec<Part>,
    /// `true` if each part is in order of age.
    is_ordered: bool,
}

impl<'a> Scope<'a> {
    /// Returns the messages in the channels and the period of a request.
    pub(super) fn new(
        view: &'a View,
        fields: Fields,
        request: &IndexSearch<'_>,
    ) -> tantivy::Result<Self> {
        let from = request.from.max(request.query.after);
        let to = [request.to, request.query.before].into_iter().flatten().min();
        let parts = Vec::new();
        let Some(period) = Period::new(from, to) else {
            return Ok(Self { view, fields, period: Period::ALL, parts, is_ordered: true });
        };
        let mut scope = Self { view, fields, period, parts, is_ordered: true };
        let few = request.channels.is_some_and(|channels| channels.len() <= FEW);
        if few || scope.has_few_runs()? {
            scope.take_runs(request.channels)?;
        } else {
            scope.is_ordered = false;
            scope.take_segments(request.channels)?;
        }
        Ok(scope)
    }

    /// Returns whether no segment has more than a few runs.
    fn has_few_runs(&self) -> tantivy::Result<bool> {
        for (segment, columns) in
            self.view.searcher.segment_readers().iter().zip(&self.view.columns)
        {
            if columns.runs(segment, self.fields)?.all().len() > FEW {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the part of a run that is in the period.
    fn add(&mut self, segment: u32, docs: Range<DocId>, only: Option<Box<dyn Weight>>) {
        let docs = self.view.columns[segment as usize].of_ages(docs, self.period.ages);
        if !docs.is_empty() {
            self.parts.push(Part { segment, docs, only });
        }
    }

    fn take_runs(&mut self, channels: Option<&[&str]>) -> tantivy::Result<()> {
        let view = self.view;
        let segments = view.searcher.segment_readers().iter().zip(&view.columns);
        for (number, (segment, columns)) in (0..).zip(segments) {
            let runs = columns.runs(segment, self.fields)?;
            let Some(channels) = channels else {
                for run in runs.all() {
                    self.add(number, run.clone(), None);
                }
                continue;
            };
            for (at, channel) in channels.iter().enumerate() {
                let Some(run) = runs.of(channel) else { continue };
                if channels[..at].contains(channel) {
                    continue;
                }
                let only = run.is_shared.then(|| any_of(self.fields.channel, &[channel]));
                let off = EnableScoring::disabled_from_searcher(&view.searcher);
                let only = only.map(|query| query.weight(off)).transpose()?;
                self.add(number, run.docs.clone(), only);
            }
        }
        Ok(())
    }

    fn take_segments(&mut self, channels: Option<&[&str]>) -> tantivy::Result<()> {
        let view = self.view;
        let segments = view.searcher.segment_readers().iter().zip(&view.columns);
        for (number, (segment, columns)) in (0..).zip(segments) {
            let part = |docs| Part { segment: number, docs, only: None };
            let Some(channels) = channels else {
                self.parts.push(part(0..segment.max_doc()));
                continue;
            };
            let runs = columns.runs(segment, self.fields)?;
            self.parts.extend(runs.ranges(channels, segment, self.fields)?.into_iter().map(part));
        }
        Ok(())
    }

    /// Returns whether matches come in order of age.
    pub(super) fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Returns the ranges of documents that are looked at.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Calls `take` with each match of an age of at least `newest`, until it breaks; in order if
    /// the scope is ordered.
    pub(super) fn each(
        &self,
        weights: &ClauseWeights,
        newest: u64,
        take: impl FnMut(Place, &mut Conjunction) -> ControlFlow<()>,
    ) -> tantivy::Result<()> {
        self.each_of(weights, newest, self.is_ordered, take)
    }

    /// Calls `take` with each match until it breaks, in no order.
    pub(super) fn each_unordered(
        &self,
        weights: &ClauseWeights,
        take: impl FnMut(Place, &mut Conjunction) -> ControlFlow<()>,
    ) -> tantivy::Result<()> {
        self.each_of(weights, 0, false, take)
    }

    fn each_of(
        &self,
        weights: &ClauseWeights,
        newest: u64,
        is_ordered: bool,
        mut take: impl FnMut(Place, &mut Conjunction) -> ControlFlow<()>,
    ) -> tantivy::Result<()> {
        let (first, last) = self.period.ages;
        let mut counts = |place: Place, matches: &mut Conjunction| {
            let columns = &self.view.columns[place.segment as usize];
            if self.period.contains(|| columns.sent_at(place.doc, place.age)) {
                take(place, matches)
            } else {
                ControlFlow::Continue(())
            }
        };
        if is_ordered {
            self.each_in_order(weights, newest, &mut counts)
        } else {
            let ages = first.max(newest)..=last;
            self.each_anyhow(weights, |place, matches| {
                if ages.contains(&place.age) {
                    counts(place, matches)
                } else {
                    ControlFlow::Continue(())
                }
            })
        }
    }

    fn open(
        &self,
        weights: &ClauseWeights,
        part: &Part,
        docs: Range<DocId>,
    ) -> tantivy::Result<Conjunction> {
        let segment = self.view.searcher.segment_reader(part.segment);
        let start = docs.start;
        let mut matches = weights.open(segment, docs)?;
        if let Some(only) = &part.only {
            matches.add(only.as_ref(), segment, start)?;
        }
        Ok(matches)
    }

    fn each_in_order(
        &self,
        weights: &ClauseWeights,
        newest: u64,
        take: &mut impl FnMut(Place, &mut Conjunction) -> ControlFlow<()>,
    ) -> tantivy::Result<()> {
        let mut lanes = Vec::with_capacity(self.parts.len());
        let mut next = BinaryHeap::with_capacity(self.parts.len());
        for part in &self.parts {
            let columns = &self.view.columns[part.segment as usize];
            let (_, oldest) = self.period.ages;
            let docs = columns.of_ages(part.docs.clone(), (newest, oldest));
            if docs.is_empty() {
                continue;
            }
            next.push(Reverse((columns.age(docs.start), lanes.len())));
            lanes.push(Lane { part, matches: None, at: docs.start, columns });
        }
        while let Some(mut first) = next.peek_mut() {
            let Reverse((age, number)) = *first;
            let lane = &mut lanes[number];
            let from = match &mut lane.matches {
                None => {
                    lane.matches =
                        Some(self.open(weights, lane.part, lane.at..lane.part.docs.end)?);
                    lane.at
                }
                Some(matches) => {
                    let (segment, doc) = (lane.part.segment, lane.at);
                    if take(Place { age, segment, doc, score: 0.0 }, matches).is_break() {
                        return Ok(());
                    }
                    doc + 1
                }
            };
            let found = lane.matches.as_mut().and_then(|all| all.find(from, lane.part.docs.end));
            if let Some(doc) = found {
                lane.at = doc;
                *first = Reverse((lane.columns.age(doc), number));
            } else {
                PeekMut::pop(first);
            }
        }
        Ok(())
    }

    fn each_anyhow(
        &self,
        weights: &ClauseWeights,
        mut take: impl FnMut(Place, &mut Conjunction) -> ControlFlow<()>,
    ) -> tantivy::Result<()> {
        // One pass over a segment, if its parts are in order.
        let goes_on = |a: &Part, b: &Part| {
            let all_count = a.only.is_none() && b.only.is_none();
            a.segment == b.segment && a.docs.end <= b.docs.start && all_count
        };
        for parts in self.parts.chunk_by(goes_on) {
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else { continue };
            let columns = &self.view.columns[first.segment as usize];
            let mut matches = self.open(weights, first, first.docs.start..last.docs.end)?;
            for part in parts {
                let mut from = part.docs.start;
                while let Some(doc) = matches.find(from, part.docs.end) {
                    let (segment, age) = (part.segment, columns.age(doc));
                    if take(Place { age, segment, doc, score: 0.0 }, &mut matches).is_break() {
                        return Ok(());
                    }
                    from = doc + 1;
                }
            }
        }
        Ok(())
    }
}

/// A part that is read in order.
struct Lane<'a> {
    part: &'a Part,
    /// `None` until a match is wanted.
    matches: Option<Conjunction>,
    /// The next match, or the first document as long as it is not open.
    at: DocId,
    columns: &'a Columns,
}
