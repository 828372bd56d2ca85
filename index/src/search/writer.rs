//! Writing: changes in batches, progress in the commit, merging in the background.

use std::collections::HashSet;
use std::fs::File;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tantivy::directory::error::LockError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, UserOperation};
use tantivy::{IndexWriter, Searcher, TantivyError, Term};

use super::generation::{self, Generation};
use super::journal::{self, Touched};
use super::{IndexChange, IndexError, MessageIndex, schema};

/// The least memory that tantivy works with, in bytes a thread.
const MIN_MEMORY: usize = 15_000_000;

/// So few changes wait for their commit and go to one thread, or each would make a small segment.
const FEW: usize = 1_000;

/// The share of erased messages from which on a segment is rewritten without them.
const MAX_ERASED: f32 = 0.1;

/// How often, and with what pause, a purge looks again after a merge in the background.
const PURGE_ATTEMPTS: u32 = 6_000;
const PURGE_PAUSE: Duration = Duration::from_millis(10);

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
    /// Two threads where there are two processors: the other work does not keep up with more.
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(2);
        Self { memory: 64_000_000, threads }
    }
}

/// When a batch of changes is committed: at the first limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Changes in a batch.
    pub changes: usize,
    /// Bytes of text and ids in a batch.
    pub bytes: usize,
    /// How long a change waits to be found.
    pub wait: Duration,
}

impl Default for BatchLimits {
    /// A commit costs about as much as indexing a thousand messages.
    fn default() -> Self {
        Self { changes: 50_000, bytes: 16_000_000, wait: Duration::from_millis(500) }
    }
}

/// The one writer of an index. What it is given counts from the next commit on; what is not
/// committed when it is dropped is lost.
pub struct MessageWriter {
    writer: IndexWriter,
    index: MessageIndex,
    generation: Arc<Generation>,
    /// Whether the generation is the one in use, and not one that is being built beside it.
    in_use: bool,
    /// What tantivy has not been told yet.
    waiting: Vec<UserOperation>,
    /// Hashes of the keys put since the last commit, which no reader sees yet.
    pending: HashSet<u64>,
    /// What changed since the last commit, for a rebuild that goes on meanwhile.
    touched: Vec<Touched>,
    /// What changed since the last commit, in bytes.
    bytes: usize,
}

impl MessageWriter {
    /// A writer of the generation in use.
    pub(super) fn new(
        index: MessageIndex,
        generation: Arc<Generation>,
        options: WriterOptions,
    ) -> Result<Self, IndexError> {
        let writer = engine(&generation, options)?;
        // What another writer committed must be seen, or it would be put twice.
        generation.reload()?;
        let (waiting, pending, touched) = (Vec::new(), HashSet::new(), Vec::new());
        Ok(Self { writer, index, generation, in_use: true, waiting, pending, touched, bytes: 0 })
    }

    /// A writer of a generation that is built beside the one in use.
    pub(super) fn aside(
        index: MessageIndex,
        generation: Arc<Generation>,
        options: WriterOptions,
    ) -> Result<Self, IndexError> {
        Ok(Self { in_use: false, ..Self::new(index, generation, options)? })
    }

    /// The generation of this writer is in use from now on.
    pub(super) fn enter_use(&mut self) -> Arc<Generation> {
        self.in_use = true;
        Arc::clone(&self.generation)
    }

    /// Takes changes, in order. A change that comes again changes nothing.
    pub fn apply(&mut self, changes: &[IndexChange]) -> Result<(), IndexError> {
        let committed = self.generation.view();
        for change in changes {
            self.apply_one(&committed.searcher, change)?;
            if self.waiting.len() > FEW {
                self.waiting.drain(..).try_for_each(|one| self.writer.run([one]).map(drop))?;
            }
        }
        Ok(())
    }

    fn apply_one(&mut self, committed: &Searcher, change: &IndexChange) -> Result<(), IndexError> {
        let fields = self.index.fields();
        match change {
            IndexChange::Put(message) => {
                let key = schema::key(&message.channel_id, &message.message_id);
                self.erase(committed, &key)?;
                self.waiting.push(UserOperation::Add(fields.document(message, &key)));
                self.pending.insert(schema::hash(&key));
                self.touch(&message.channel_id, Some(&message.message_id), message.text.len());
            }
            IndexChange::Erase { channel_id, message_id } => {
                self.erase(committed, &schema::key(channel_id, message_id))?;
                self.touch(channel_id, Some(message_id), 0);
            }
            IndexChange::EraseChannel { channel_id } => {
                let all = Term::from_field_text(fields.channel, channel_id);
                self.waiting.push(UserOperation::Delete(all));
                self.touch(channel_id, None, 0);
            }
        }
        Ok(())
    }

    fn touch(&mut self, channel_id: &str, message_id: Option<&str>, text: usize) {
        self.bytes += text + channel_id.len() + message_id.map_or(0, str::len);
        self.touched.push(Touched {
            channel_id: channel_id.to_owned(),
            message_id: message_id.map(str::to_owned),
        });
    }

    /// Whether what was applied since the last commit should be committed now, the first of it
    /// having come `waited` ago.
    pub fn is_due(&self, limits: BatchLimits, waited: Duration) -> bool {
        let changes = self.touched.len();
        changes >= limits.changes
            || self.bytes >= limits.bytes
            || (changes > 0 && waited >= limits.wait)
    }

    /// Erases a message if there may be one: tantivy would look for each in every segment, and most
    /// messages are new.
    fn erase(&mut self, committed: &Searcher, key: &str) -> tantivy::Result<()> {
        let term = Term::from_field_text(self.index.fields().key, key);
        if self.pending.contains(&schema::hash(key)) || committed.doc_freq(&term)? > 0 {
            self.waiting.push(UserOperation::Delete(term));
        }
        Ok(())
    }

    /// Makes all changes so far durable, together with `progress`, and visible to every clone of
    /// the index.
    ///
    /// # Errors
    /// [`IndexError::Superseded`] if a rebuilt index is in use: nothing was committed.
    pub fn commit(&mut self, progress: &str) -> Result<(), IndexError> {
        let _switch = self.claim()?;
        self.writer.run(self.waiting.drain(..))?;
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(progress);
        commit.commit()?;
        self.generation.reload()?;
        self.forget();
        Ok(())
    }

    /// Makes sure that this writer's generation is in use and stays so, and notes for a rebuild
    /// what is about to be committed.
    fn claim(&self) -> Result<Option<File>, IndexError> {
        let Some(dir) = self.index.folder().filter(|_| self.in_use) else {
            return Ok(None);
        };
        let lock = generation::lock_shared(dir)?;
        if generation::current(dir)? != Some(self.generation.number) {
            return Err(IndexError::Superseded);
        }
        journal::note(dir, &self.touched)?;
        Ok(Some(lock))
    }

    fn forget(&mut self) {
        self.waiting.clear();
        self.pending.clear();
        self.touched.clear();
        self.bytes = 0;
    }

    /// Forgets all changes since the last commit.
    pub fn rollback(&mut self) -> Result<(), IndexError> {
        self.writer.rollback()?;
        step(&self.writer)?;
        self.forget();
        Ok(())
    }

    /// Empties the index, changes not yet committed included, and forgets its progress.
    pub fn wipe(&mut self) -> Result<(), IndexError> {
        self.rollback()?;
        let _switch = self.claim()?;
        self.writer.delete_all_documents()?;
        self.writer.commit()?;
        self.generation.reload()
    }

    /// Rewrites every segment that still holds words of erased messages, so that nothing of them is
    /// left on disk. Merging does the same in time; this is for who must not wait.
    #[expect(clippy::disallowed_methods, reason = "all calls of this crate block their thread")]
    pub fn purge(&mut self) -> Result<(), IndexError> {
        for attempt in 0.. {
            let segments = self.generation.index.searchable_segment_metas()?;
            let mut erased = segments.iter().filter(|segment| segment.has_deletes());
            let Some(segment) = erased.next() else { break };
            match self.writer.merge(&[segment.id()]).wait() {
                Ok(_) => {}
                // A merge in the background has it, and will leave nothing of it.
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

    /// Waits for merges in the background and ends the writer.
    pub fn close(self) -> Result<(), IndexError> {
        self.writer.wait_merging_threads()?;
        self.generation.reload()
    }
}

/// tantivy's writer, after the files are removed that a killed process wrote and did not commit:
/// tantivy counts on from the last commit, names the same files again, and refuses to overwrite
/// one.
fn engine(generation: &Generation, options: WriterOptions) -> Result<IndexWriter, IndexError> {
    let threads = options.threads.max(1);
    let engine_options = IndexWriterOptions::builder()
        .memory_budget_per_thread((options.memory / threads).max(MIN_MEMORY))
        .num_worker_threads(threads)
        .num_merge_threads(1)
        .build();
    let writer = generation.index.writer_with_options(engine_options);
    let writer = writer.map_err(|error| match error {
        TantivyError::LockFailure(lock, _) => lock_error(lock),
        error => error.into(),
    })?;
    let mut policy = LogMergePolicy::default();
    policy.set_del_docs_ratio_before_merge(MAX_ERASED);
    writer.set_merge_policy(Box::new(policy));
    writer.garbage_collect_files().wait()?;
    step(&writer)?;
    Ok(writer)
}

/// Uses up a number. tantivy counts operations, and after opening and rolling back it gives the
/// first one the number of the last commit. A merge takes everything up to that number for
/// committed, and a part of the index that was changed by that very commit for up to date: an
/// erasure that is first and meets a merge would be lost, and an edited message found twice.
fn step(writer: &IndexWriter) -> Result<(), IndexError> {
    writer.run(std::iter::empty())?;
    Ok(())
}

/// A lock that somebody holds is no failure of the engine.
pub(super) fn lock_error(error: LockError) -> IndexError {
    match error {
        LockError::LockBusy => IndexError::WriterBusy,
        LockError::IoError(_) => TantivyError::LockFailure(error, None).into(),
    }
}
