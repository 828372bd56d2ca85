//! Keys of the messages in the index: for comparing it with the store, page by page.

use std::collections::BTreeMap;

use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, InvertedIndexReader, SegmentReader, TERMINATED, Term};

use super::{IndexError, MessageIndex, schema};

/// A message that is in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedKey {
    /// The channel's id.
    pub channel_id: String,
    /// The message's id.
    pub message_id: String,
    /// Number of copies in the index; more than one is an error.
    pub copies: usize,
}

impl MessageIndex {
    /// Returns the messages of the index, as of the last commit seen here, by channel and message
    /// id, from after `after`, at most `limit`. Of each segment no more than that are read.
    pub fn keys(
        &self,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<IndexedKey>, IndexError> {
        let after = after.map(|(channel, message)| schema::key(channel, message));
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for segment in self.generation().view().searcher.segment_readers() {
            self.keys_of(segment, after.as_deref(), limit, &mut found)?;
        }
        // A segment that was cut off has returned `limit` keys, so none before the last is missing.
        let key = |(key, copies): (String, usize)| {
            let (channel, message) = schema::split_key(&key).ok_or(IndexError::NoKey)?;
            Ok(IndexedKey {
                channel_id: channel.to_owned(),
                message_id: message.to_owned(),
                copies,
            })
        };
        found.into_iter().take(limit).map(key).collect()
    }

    fn keys_of(
        &self,
        segment: &SegmentReader,
        after: Option<&str>,
        limit: usize,
        found: &mut BTreeMap<String, usize>,
    ) -> Result<(), IndexError> {
        let inverted = segment.inverted_index(self.fields().key)?;
        let range = inverted.terms().range();
        let range = match after {
            Some(after) => range.gt(after.as_bytes()),
            None => range,
        };
        let mut terms = range.into_stream()?;
        let mut taken = 0;
        while taken < limit && terms.advance() {
            let key = std::str::from_utf8(terms.key()).map_err(|_| IndexError::NoKey)?;
            let copies = alive(segment, &inverted, key, self.fields().key)?;
            if copies > 0 {
                *found.entry(key.to_owned()).or_default() += copies;
                taken += 1;
            }
        }
        Ok(())
    }

    /// Returns the number of copies of a message, as of the last commit seen here.
    pub fn copies(&self, channel_id: &str, message_id: &str) -> Result<usize, IndexError> {
        let (key, field) = (schema::key(channel_id, message_id), self.fields().key);
        let mut copies = 0;
        for segment in self.generation().view().searcher.segment_readers() {
            let inverted = segment.inverted_index(field)?;
            copies += alive(segment, &inverted, &key, field)?;
        }
        Ok(copies)
    }
}

/// Returns the number of documents with that key that are not erased.
fn alive(
    segment: &SegmentReader,
    inverted: &InvertedIndexReader,
    key: &str,
    field: Field,
) -> Result<usize, IndexError> {
    let term = Term::from_field_text(field, key);
    let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
        return Ok(0);
    };
    let mut copies = 0;
    while postings.doc() != TERMINATED {
        copies += usize::from(!segment.is_deleted(postings.doc()));
        postings.advance();
    }
    Ok(copies)
}
