//! Writing: changes in batches, progress in the commit, merging in the background.

use std::collections::HashSet;

use tantivy::directory::error::LockError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{IndexWriter, Searcher, TantivyError, Term};

use super::{IndexChange, IndexError, MessageIndex, schema};

/// The least memory that tantivy works with, in bytes a thread.
const MIN_MEMORY: usize = 15_000_000;

/// The share of erased messages from which on a segment is rewritten without them.
const MAX_ERASED: f32 = 0.1;

/// How a writer works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Memory for changes not yet on disk, in bytes, for all threads together; at least 15 MB a
    /// thread are used.
    pub memory: usize,
    /// Threads that build the index.
    pub threads: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self { memory: 64_000_000, threads: 1 }
    }
}

/// The one writer of an index. What it is given counts from the next commit on; what is not
/// committed when it is dropped is lost.
pub struct MessageWriter {
    writer: IndexWriter,
    index: MessageIndex,
    /// Hashes of the keys put since the last commit, which no reader sees yet.
    pending: HashSet<u64>,
}

impl MessageWriter {
    pub(super) fn new(index: MessageIndex, options: WriterOptions) -> Result<Self, IndexError> {
        let threads = options.threads.max(1);
        let engine_options = IndexWriterOptions::builder()
            .memory_budget_per_thread((options.memory / threads).max(MIN_MEMORY))
            .num_worker_threads(threads)
            .num_merge_threads(1)
            .build();
        let writer =
            index.index.writer_with_options(engine_options).map_err(|error| match error {
                TantivyError::LockFailure(lock, _) => lock_error(lock),
                error => error.into(),
            })?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(MAX_ERASED);
        writer.set_merge_policy(Box::new(policy));
        // What another writer committed must be seen, or it would be put twice.
        index.refresh()?;
        Ok(Self { writer, index, pending: HashSet::new() })
    }

    /// Takes changes, in order. A change that comes again changes nothing.
    pub fn apply(&mut self, changes: &[IndexChange]) -> Result<(), IndexError> {
        let fields = self.index.fields;
        let committed = self.index.reader.searcher();
        for change in changes {
            match change {
                IndexChange::Put(message) => {
                    let key = schema::key(&message.channel_id, &message.message_id);
                    self.erase(&committed, &key)?;
                    self.writer.add_document(fields.document(message, &key))?;
                    self.pending.insert(schema::hash(&key));
                }
                IndexChange::Erase { channel_id, message_id } => {
                    self.erase(&committed, &schema::key(channel_id, message_id))?;
                }
            }
        }
        Ok(())
    }

    /// Erases a message if there may be one: tantivy would look for each in every segment, and most
    /// messages are new.
    fn erase(&self, committed: &Searcher, key: &str) -> Result<(), IndexError> {
        let term = Term::from_field_text(self.index.fields.key, key);
        if self.pending.contains(&schema::hash(key)) || committed.doc_freq(&term)? > 0 {
            self.writer.delete_term(term);
        }
        Ok(())
    }

    /// Makes all changes so far durable, together with `progress`, and visible to every clone of
    /// the index.
    pub fn commit(&mut self, progress: &str) -> Result<(), IndexError> {
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(progress);
        commit.commit()?;
        self.index.refresh()?;
        self.pending.clear();
        Ok(())
    }

    /// Forgets all changes since the last commit.
    pub fn rollback(&mut self) -> Result<(), IndexError> {
        self.writer.rollback()?;
        self.pending.clear();
        Ok(())
    }

    /// Empties the index, changes not yet committed included, and forgets its progress.
    pub fn wipe(&mut self) -> Result<(), IndexError> {
        self.rollback()?;
        self.writer.delete_all_documents()?;
        self.writer.commit()?;
        self.index.refresh()
    }

    /// Rewrites every segment that still holds words of erased messages, so that nothing of them is
    /// left on disk. Merging does the same in time; this is for who must not wait.
    pub fn purge(&mut self) -> Result<(), IndexError> {
        let segments = self.index.index.searchable_segment_metas()?;
        for segment in segments.iter().filter(|segment| segment.has_deletes()) {
            self.writer.merge(&[segment.id()]).wait()?;
        }
        self.index.refresh()?;
        self.writer.garbage_collect_files().wait()?;
        Ok(())
    }

    /// Waits for merges in the background and ends the writer.
    pub fn close(self) -> Result<(), IndexError> {
        self.writer.wait_merging_threads()?;
        self.index.refresh()
    }
}

/// A lock that somebody holds is no failure of the engine.
pub(super) fn lock_error(error: LockError) -> IndexError {
    match error {
        LockError::LockBusy => IndexError::WriterBusy,
        LockError::IoError(_) => TantivyError::LockFailure(error, None).into(),
    }
}
