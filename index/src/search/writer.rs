//! Writing of the index: changes in batches, position in the commit, merging in the background.

use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tantivy::indexer::UserOperation;
use tantivy::{IndexWriter, TantivyError, Term};

use super::batch::Batch;
use super::engine::{engine, step};
use super::generation::{self, Generation};
use super::journal;
use super::known::KnownTies;
use super::{IndexChange, IndexError, MessageIndex, schema};

/// Maximum number of changes that wait for their commit and go to one thread; otherwise each would
/// make a small segment.
const FEW: usize = 1_000;

/// Number of changes handed to a thread together: each hand-over may have to wake it. tantivy
/// queues up to 10,000 of them, so memory grows with this.
const GROUP: usize = 4;

/// Maximum number of attempts of a purge after a merge in the background, and the pause between
/// them.
const PURGE_ATTEMPTS: u32 = 6_000;
const PURGE_PAUSE: Duration = Duration::from_millis(10);

/// Options of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Memory for changes not yet on disk, in bytes, for all threads together; at least 15 MB a
    /// thread are used.
    pub memory: usize,
    /// Number of threads that build the index.
    pub threads: usize,
}

impl Default for WriterOptions {
    /// Returns two threads if there are two processors: the other work does not keep up with more.
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(2);
        Self { memory: 80_000_000, threads }
    }
}

/// Limits of a batch of changes; the first one reached triggers the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Maximum number of changes in a batch.
    pub changes: usize,
    /// Maximum bytes of text and ids in a batch.
    pub bytes: usize,
    /// Maximum time until a change becomes searchable.
    pub wait: Duration,
}

impl Default for BatchLimits {
    /// Returns limits for large batches: a commit costs about as much as indexing a thousand
    /// messages, and large segments are merged less often. That many short messages just fit into
    /// the memory of [`WriterOptions`].
    fn default() -> Self {
        Self { changes: 100_000, bytes: 32_000_000, wait: Duration::from_millis(500) }
    }
}

/// The one writer of an index. Changes become visible with the next commit; uncommitted changes are
/// lost when it is dropped.
pub struct MessageWriter {
    writer: IndexWriter,
    index: MessageIndex,
    generation: Arc<Generation>,
    /// `true` if the generation is the current one, and not one that is being built beside it.
    in_use: bool,
    /// Messages that may be in the generation.
    known: KnownTies,
    /// Changes that tantivy has not received yet.
    waiting: Vec<UserOperation>,
    /// Changes since the last commit.
    batch: Batch,
}

impl MessageWriter {
    /// Creates a writer of the current generation.
    pub(super) fn new(
        index: MessageIndex,
        generation: Arc<Generation>,
        options: WriterOptions,
    ) -> Result<Self, IndexError> {
        let writer = engine(&generation, options)?;
        // Commits of another writer must be seen, or they would be put twice.
        generation.reload()?;
        let known = KnownTies::of(&generation.view());
        let (waiting, batch) = (Vec::new(), Batch::default());
        Ok(Self { writer, index, generation, in_use: true, known, waiting, batch })
    }

    /// Creates a writer of a generation that is built beside the current one.
    pub(super) fn for_rebuild(
        index: MessageIndex,
        generation: Arc<Generation>,
        options: WriterOptions,
    ) -> Result<Self, IndexError> {
        Ok(Self { in_use: false, ..Self::new(index, generation, options)? })
    }

    /// Marks this writer's generation as the current one.
    pub(super) fn activate(&mut self) -> Arc<Generation> {
        self.in_use = true;
        Arc::clone(&self.generation)
    }

    /// Applies changes, in order. A repeated change has no effect.
    pub fn apply(&mut self, changes: &[IndexChange]) -> Result<(), IndexError> {
        for change in changes {
            self.apply_one(change);
            if self.waiting.len() > FEW {
                self.hand_over(GROUP)?;
            }
        }
        Ok(())
    }

    /// Passes pending changes to tantivy, `group` changes at a time.
    fn hand_over(&mut self, group: usize) -> tantivy::Result<()> {
        let mut waiting = self.waiting.drain(..);
        while waiting.len() > 0 {
            self.writer.run(waiting.by_ref().take(group))?;
        }
        Ok(())
    }

    fn apply_one(&mut self, change: &IndexChange) {
        let fields = self.index.fields();
        match change {
            IndexChange::Put(message) => {
                let key = schema::key(&message.channel_id, &message.message_id);
                let tie = schema::tie(&key);
                self.erase(&key, tie);
                let document = fields.document(message, &key, tie);
                self.waiting.push(UserOperation::Add(document));
                self.known.add(tie);
                let text = message.text.len();
                self.batch.touch(&message.channel_id, Some(&message.message_id), text);
            }
            IndexChange::Erase { channel_id, message_id } => {
                let key = schema::key(channel_id, message_id);
                self.erase(&key, schema::tie(&key));
                self.batch.touch(channel_id, Some(message_id), 0);
            }
            IndexChange::EraseChannel { channel_id } => {
                let all = Term::from_field_text(fields.channel, channel_id);
                self.waiting.push(UserOperation::Delete(all));
                self.batch.touch(channel_id, None, 0);
            }
        }
    }

    /// Returns whether the changes since the last commit should be committed now, if the first of
    /// them was applied `waited` ago.
    pub fn is_due(&self, limits: BatchLimits, waited: Duration) -> bool {
        self.batch.is_due(limits, waited)
    }

    /// Erases a message if it may exist: tantivy would search each in every segment, and most
    /// messages are new.
    fn erase(&mut self, key: &str, tie: u64) {
        if self.known.may_contain(tie) {
            let term = Term::from_field_text(self.index.fields().key, key);
            self.waiting.push(UserOperation::Delete(term));
        }
    }

    /// Makes all changes so far durable, together with `position`, and visible to every clone of
    /// the index.
    ///
    /// # Errors
    /// [`IndexError::Superseded`] if a rebuilt index is current: nothing was committed.
    pub fn commit(&mut self, position: &str) -> Result<(), IndexError> {
        self.make_durable(Some(position))
    }

    /// Makes all changes so far durable in an incomplete index: it has no position, as if it had
    /// never been committed.
    ///
    /// # Errors
    /// Those of [`MessageWriter::commit`].
    pub fn save(&mut self) -> Result<(), IndexError> {
        self.make_durable(None)
    }

    fn make_durable(&mut self, position: Option<&str>) -> Result<(), IndexError> {
        let _switch = self.claim()?;
        let is_small = self.batch.changes() <= FEW;
        self.hand_over(if is_small { usize::MAX } else { GROUP })?;
        let mut commit = self.writer.prepare_commit()?;
        if let Some(position) = position {
            commit.set_payload(position);
        }
        commit.commit()?;
        self.generation.reload()?;
        self.forget();
        Ok(())
    }

    /// Makes sure that this writer's generation is current and stays so, and records for a rebuild
    /// the changes that are about to be committed.
    fn claim(&self) -> Result<Option<File>, IndexError> {
        let Some(dir) = self.index.folder().filter(|_| self.in_use) else {
            return Ok(None);
        };
        let lock = generation::lock_shared(dir)?;
        if generation::current(dir)? != Some(self.generation.number) {
            return Err(IndexError::Superseded);
        }
        journal::note(dir, self.batch.touched())?;
        Ok(Some(lock))
    }

    fn forget(&mut self) {
        self.waiting.clear();
        self.batch.clear();
    }

    /// Discards all changes since the last commit.
    pub fn rollback(&mut self) -> Result<(), IndexError> {
        self.writer.rollback()?;
        step(&self.writer)?;
        self.forget();
        Ok(())
    }

    /// Empties the index, uncommitted changes included, and resets its position.
    pub fn wipe(&mut self) -> Result<(), IndexError> {
        self.rollback()?;
        let _switch = self.claim()?;
        self.writer.delete_all_documents()?;
        self.writer.commit()?;
        self.generation.reload()?;
        self.known = KnownTies::of(&self.generation.view());
        Ok(())
    }

    /// Rewrites every segment that still holds words of erased messages, so that nothing of them is
    /// left on disk. Merging does the same in time; this is for callers that must not wait.
    #[expect(clippy::disallowed_methods, reason = "all calls of this crate block their thread")]
    pub fn purge(&mut self) -> Result<(), IndexError> {
        for attempt in 0.. {
            let segments = self.generation.index.searchable_segment_metas()?;
            let mut erased = segments.iter().filter(|segment| segment.has_deletes());
            let Some(segment) = erased.next() else { break };
            match self.writer.merge(&[segment.id()]).wait() {
                Ok(_) => {}
                // A merge in the background is rewriting it, and will leave nothing of it.
                Err(TantivyError::InvalidArgument(_)) if attempt < PURGE_ATTEMPTS => {
                    thread::sleep(PURGE_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.generation.reload()?;
        self.writer.garbage_collect_files().wait()?;
        Ok(())
    }

    /// Waits for merges in the background and closes the writer.
    pub fn close(self) -> Result<(), IndexError> {
        self.writer.wait_merging_threads()?;
        self.generation.reload()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::IndexDoc;

    #[test]
    fn an_emptied_index_knows_no_message() {
        let index = MessageIndex::in_memory().unwrap();
        let mut writer = index.writer(WriterOptions::default()).unwrap();
        let message = IndexDoc {
            channel_id: "c".to_owned(),
            message_id: "m".to_owned(),
            sender_id: None,
            kind: "text".to_owned(),
            sent_at: 1,
            text: "tea".to_owned(),
        };
        let tie = schema::tie(&schema::key("c", "m"));
        for _ in 0..2 {
            writer.apply(&[IndexChange::Put(message.clone())]).unwrap();
            writer.commit("").unwrap();
            assert!(writer.known.may_contain(tie));
            writer.wipe().unwrap();
            assert!(!writer.known.may_contain(tie));
        }
    }
}
