//! The runs of channels in a segment: where the documents of each channel are.

use std::collections::HashMap;
use std::ops::Range;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED, Term};

use super::order;
use super::schema::Fields;

/// The documents of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) docs: Range<DocId>,
    /// `true` if other channels have documents in it: their order keys are alike.
    pub(super) is_shared: bool,
}

/// The runs of a segment.
#[derive(Debug, Default)]
pub(super) struct Runs {
    by_channel: HashMap<Box<str>, Run>,
    /// All runs, in order.
    all: Vec<Range<DocId>>,
}

impl Runs {
    /// Reads the runs of a segment from its channels and the number of documents of each: no
    /// document is looked at.
    pub(super) fn read(segment: &SegmentReader, fields: Fields) -> tantivy::Result<Self> {
        let channels = segment.inverted_index(fields.channel)?;
        let mut terms = channels.terms().stream()?;
        let mut counts: Vec<(u64, Box<str>, u32)> =
            Vec::with_capacity(channels.terms().num_terms());
        while terms.advance() {
            let id = String::from_utf8_lossy(terms.key());
            counts.push((order::channel(&id), id.into(), terms.value().doc_freq));
        }
        counts.sort_unstable();
        let mut runs = Self::default();
        let mut start = 0;
        for group in counts.chunk_by(|a, b| a.0 == b.0) {
            let end = start + group.iter().map(|(.., count)| count).sum::<u32>();
            let run = Run { docs: start..end, is_shared: group.len() > 1 };
            runs.by_channel.extend(group.iter().map(|(_, id, _)| (id.clone(), run.clone())));
            runs.all.push(start..end);
            start = end;
        }
        Ok(runs)
    }

    /// Returns the run of a channel, if it has documents.
    pub(super) fn of(&self, channel_id: &str) -> Option<&Run> {
        self.by_channel.get(channel_id)
    }

    /// Returns all runs, in order.
    pub(super) fn all(&self) -> &[Range<DocId>] {
        &self.all
    }

    /// Returns the documents of some channels as ranges, in order.
    pub(super) fn ranges(
        &self,
        channels: &[&str],
        segment: &SegmentReader,
        fields: Fields,
    ) -> tantivy::Result<Vec<Range<DocId>>> {
        let mut ranges = Vec::with_capacity(channels.len());
        for channel in channels {
            match self.of(channel) {
                None => {}
                Some(run) if run.is_shared => {
                    own_documents(channel, segment, fields, &mut ranges)?;
                }
                Some(run) => ranges.push(run.docs.clone()),
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, range| {
            let joins = next.start <= range.end;
            if joins {
                range.end = range.end.max(next.end);
            }
            joins
        });
        Ok(ranges)
    }
}

/// Adds the documents of a channel in a run that it shares.
fn own_documents(
    channel: &str,
    segment: &SegmentReader,
    fields: Fields,
    ranges: &mut Vec<Range<DocId>>,
) -> tantivy::Result<()> {
    let term = Term::from_field_text(fields.channel, channel);
    let channels = segment.inverted_index(fields.channel)?;
    if let Some(mut postings) = channels.read_postings(&term, IndexRecordOption::Basic)? {
        while postings.doc() != TERMINATED {
            ranges.push(postings.doc()..postings.doc() + 1);
            postings.advance();
        }
    }
    Ok(())
}
