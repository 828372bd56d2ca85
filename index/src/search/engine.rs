//! Setup of tantivy's writer.

use tantivy::directory::error::LockError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{IndexWriter, TantivyError};

use super::generation::Generation;
use super::{IndexError, WriterOptions};

/// Minimum memory of tantivy, in bytes a thread.
const MIN_MEMORY: usize = 15_000_000;

/// Share of erased messages from which a segment is rewritten without them.
const MAX_ERASED: f32 = 0.1;

/// Number of segments of about one size that are merged into one. A search opens each of its words
/// in each segment: with 4 instead of tantivy's 8, there are half as many segments, searches for
/// several words take a quarter to a half less time, and a message takes a fifth more to index.
const MERGED: usize = 4;

/// Messages up to which all segments count as about one size. Every third commit of a chat in use
/// merges what is below it once more: with 2,500 instead of tantivy's 10,000, such a commit takes a
/// fifth to a half less processor time, and there is a segment or two more, with which a search for
/// eight words takes up to 0.3 ms more (`benches/trickle.rs`).
const SMALL_SEGMENT: u32 = 2_500;

/// Creates tantivy's writer, after removing the files that a killed process wrote and did not
/// commit: tantivy counts on from the last commit, names the same files again, and refuses to
/// overwrite one.
pub(super) fn engine(
    generation: &Generation,
    options: WriterOptions,
) -> Result<IndexWriter, IndexError> {
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
    policy.set_min_num_segments(MERGED);
    policy.set_min_layer_size(SMALL_SEGMENT);
    writer.set_merge_policy(Box::new(policy));
    writer.garbage_collect_files().wait()?;
    step(&writer)?;
    Ok(writer)
}

/// Skips an operation number. tantivy counts operations, and after opening and rolling back it
/// gives the first one the number of the last commit. A merge treats everything up to that number
/// as committed, and a part of the index that was changed by that very commit as up to date: an
/// erasure that is first and meets a merge would be lost, and an edited message found twice.
pub(super) fn step(writer: &IndexWriter) -> Result<(), IndexError> {
    writer.run(std::iter::empty())?;
    Ok(())
}

/// Maps a lock error; a lock that another writer holds is no failure of the engine.
pub(super) fn lock_error(error: LockError) -> IndexError {
    match error {
        LockError::LockBusy => IndexError::WriterBusy,
        LockError::IoError(_) => TantivyError::LockFailure(error, None).into(),
    }
}
