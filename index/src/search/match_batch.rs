//! A few messages that many queries are matched against, as if they were searched: saved searches
//! are compared with what is new by the same tokenizer and the same compiled queries as a search.

use tantivy::directory::RamDirectory;
use tantivy::query::EnableScoring;
use tantivy::{Index, IndexReader, ReloadPolicy, Searcher, TERMINATED};

use super::compile::{Compiler, any_of, filter};
use super::order::Period;
use super::schema::{self, Fields};
use super::{IndexDoc, IndexError, IndexOptions, IndexSearch, Query};

/// Memory that the messages are indexed in, in bytes; more is taken when they need it.
const BUDGET: usize = 15_000_000;

/// Messages in an index of their own, in memory.
pub struct MatchBatch {
    searcher: Searcher,
    fields: Fields,
    options: IndexOptions,
    /// Time of sending of each message, in milliseconds since 1970.
    sent_at: Vec<i64>,
}

impl std::fmt::Debug for MatchBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MatchBatch").field("messages", &self.sent_at.len()).finish_non_exhaustive()
    }
}

impl MatchBatch {
    /// Indexes messages with the default options, as [`super::MessageIndex::open`] does.
    ///
    /// # Errors
    /// Fails when they cannot be indexed.
    pub fn new(messages: &[IndexDoc]) -> Result<Self, IndexError> {
        let options = IndexOptions::default();
        let (schema, fields) = schema::schema();
        // The order of the messages stays: their numbers are their places in the list.
        let mut writer = Index::builder()
            .schema(schema)
            .tokenizers(schema::tokenizers(options))
            .single_segment_index_writer(RamDirectory::create(), BUDGET)?;
        for message in messages {
            let key = schema::key(&message.channel_id, &message.message_id);
            let tie = schema::tie(&key);
            writer.add_document(fields.document(message, &key, tie))?;
        }
        let index = writer.finalize()?;
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self {
            searcher: reader.searcher(),
            fields,
            options,
            sent_at: messages.iter().map(|message| message.sent_at).collect(),
        })
    }

    /// Returns the places of the messages in these channels that hold all of the query, in order.
    /// Messages that are only related are left out: which those are depends on all messages.
    ///
    /// # Errors
    /// Fails when the index cannot be read.
    pub fn matching(&self, query: &Query, channels: &[&str]) -> Result<Vec<usize>, IndexError> {
        let request = IndexSearch { channels: Some(channels), ..IndexSearch::new(query) };
        let Some(period) = Period::new(query.after, query.before) else {
            return Ok(Vec::new());
        };
        let compiler = Compiler { fields: self.fields, options: self.options };
        let mut conditions = compiler.exact(&request);
        conditions.wanted.push(filter(any_of(self.fields.channel, channels)));
        let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
        let weights = conditions.weights(scoring)?;
        let mut places = Vec::new();
        // One segment, none of whose messages was erased; none at all without messages.
        for segment in self.searcher.segment_readers() {
            let mut matches = weights.open(segment, 0..segment.max_doc())?;
            let mut next = 0;
            while let Some(doc) = matches.find(next, TERMINATED) {
                places.push(doc as usize);
                next = doc + 1;
            }
        }
        places.retain(|&place| self.sent_at.get(place).is_some_and(|&at| period.holds(at)));
        Ok(places)
    }
}
