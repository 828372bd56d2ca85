//! Rebuild of an index beside the current one, which it then replaces without a pause.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory;
use super::generation::{self, Generation};
use super::journal::{self, Touched};
use super::writer::{MessageWriter, WriterOptions};
use super::{IndexChange, IndexError, MessageIndex};

/// A new index beside the current one, of the same options. It can be built in the process that
/// writes the index or in another one; the current index is still searched and written meanwhile.
///
/// ```no_run
/// # use chatkeep_index::search::{IndexChange, MessageIndex, Rebuild, Touched, WriterOptions};
/// # fn all_of_the_store() -> Vec<Vec<IndexChange>> { vec![] }
/// # fn from_the_store(touched: &[Touched]) -> Vec<IndexChange> { vec![] }
/// # fn main() -> Result<(), chatkeep_index::search::IndexError> {
/// # let index = MessageIndex::open(std::path::Path::new("search"))?;
/// let mut rebuild = Rebuild::start(&index, WriterOptions::default())?;
/// for page in all_of_the_store() {
///     rebuild.apply(&page)?;
/// }
/// // Changes that the writer of the current index committed meanwhile are read again.
/// while !rebuild.swap("filled")? {
///     let touched = rebuild.missed_changes()?;
///     rebuild.apply(&from_the_store(&touched))?;
/// }
/// # Ok(()) }
/// ```
///
/// After the swap the writer of the replaced index gets [`IndexError::Superseded`] from its next
/// commit. It is dropped, [`MessageIndex::writer`] opens the new index, and the uncommitted changes
/// are applied again. Dropped before the swap, a rebuild leaves nothing behind; after a crash the
/// next [`Rebuild::start`] or [`MessageIndex::writer`] cleans up.
pub struct Rebuild {
    index: MessageIndex,
    dir: PathBuf,
    number: u64,
    /// `None` only while it is dropped.
    writer: Option<MessageWriter>,
    /// Offset up to which the journal was read.
    journal: u64,
    swapped: bool,
    _lock: File,
}

impl Rebuild {
    /// Starts a rebuild: from here on, the writer of the current index records its changes. Read
    /// the store only afterwards.
    ///
    /// # Errors
    /// [`IndexError::RebuildBusy`] if there is another rebuild, here or in another process.
    pub fn start(index: &MessageIndex, options: WriterOptions) -> Result<Self, IndexError> {
        let dir = index.folder().ok_or(IndexError::NoFolder)?.to_path_buf();
        generation::sweep(&dir)?;
        let lock = generation::lock_rebuild(&dir)?.ok_or(IndexError::RebuildBusy)?;
        let number = generation::all(&dir)?.into_iter().max().unwrap_or_default() + 1;
        let new = directory::create(&generation::folder(&dir, number), index.options())?;
        let new = Arc::new(Generation::new(number, new)?);
        let writer = MessageWriter::for_rebuild(index.clone(), new, options)?;
        // No commit runs between the start of the rebuild and that of its journal.
        let _switch = generation::lock_exclusive(&dir)?;
        journal::begin(&dir)?;
        let (index, writer) = (index.clone(), Some(writer));
        Ok(Self { index, dir, number, writer, journal: 0, swapped: false, _lock: lock })
    }

    /// Applies changes, in order, as [`MessageWriter::apply`] does.
    pub fn apply(&mut self, changes: &[IndexChange]) -> Result<(), IndexError> {
        self.writer()?.apply(changes)
    }

    /// Makes the applied changes durable. Needed only to bound the memory of a very long rebuild: a
    /// rebuild that dies starts over.
    pub fn commit(&mut self, position: &str) -> Result<(), IndexError> {
        self.writer()?.commit(position)
    }

    /// Returns the messages that were committed to the current index since the rebuild began, or
    /// since the last call: they must be read from the store and applied before the swap can
    /// succeed.
    pub fn missed_changes(&mut self) -> Result<Vec<Touched>, IndexError> {
        let (touched, journal) = journal::read(&self.dir, self.journal)?;
        self.journal = journal;
        Ok(touched)
    }

    /// Commits and replaces the current index by the new one, in every clone here at once and
    /// elsewhere with the next [`MessageIndex::refresh`]. Returns `false`, and does nothing, if
    /// there are changes it has [missed](Self::missed_changes).
    pub fn swap(&mut self, position: &str) -> Result<bool, IndexError> {
        if self.swapped {
            return Ok(true);
        }
        self.commit(position)?;
        {
            let _switch = generation::lock_exclusive(&self.dir)?;
            if journal::len(&self.dir)? > self.journal {
                return Ok(false);
            }
            generation::set_current(&self.dir, self.number)?;
            journal::end(&self.dir)?;
        }
        self.swapped = true;
        let generation = self.writer()?.activate();
        self.index.use_generation(generation);
        Ok(true)
    }

    /// Returns the writer of the new index, after the swap, for the process that continues to write
    /// it; otherwise dropping the rebuild lets another process write. `None` before the swap.
    pub fn into_writer(mut self) -> Option<MessageWriter> {
        if self.swapped { self.writer.take() } else { None }
    }

    fn writer(&mut self) -> Result<&mut MessageWriter, IndexError> {
        self.writer.as_mut().ok_or(IndexError::Superseded)
    }
}

impl Drop for Rebuild {
    fn drop(&mut self) {
        self.writer = None;
        if !self.swapped {
            give_up(&self.dir, self.number);
        }
    }
}

/// Removes the files of a rebuild, unless it failed after its index was made current. Leftovers are
/// removed by the next writer or rebuild.
fn give_up(dir: &Path, number: u64) {
    let removed = journal::end(dir).and_then(|()| match generation::current(dir)? {
        Some(current) if current != number => fs::remove_dir_all(generation::folder(dir, number)),
        _ => Ok(()),
    });
    drop(removed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::IndexDoc;

    #[test]
    fn a_swap_that_fails_late_does_not_remove_the_current_index() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let index = MessageIndex::open(dir).unwrap();
        let mut rebuild = Rebuild::start(&index, WriterOptions::default()).unwrap();
        let message = IndexDoc {
            channel_id: "c".to_owned(),
            message_id: "m".to_owned(),
            sender_id: None,
            kind: "text".to_owned(),
            sent_at: 1,
            text: "tea".to_owned(),
        };
        rebuild.apply(&[IndexChange::Put(message)]).unwrap();
        // A folder in place of the journal cannot be removed as a file.
        let journal = dir.join("touched");
        fs::remove_file(&journal).unwrap();
        fs::create_dir(&journal).unwrap();
        rebuild.journal = u64::MAX;
        assert!(matches!(rebuild.swap("1"), Err(IndexError::Folder(_))));
        fs::remove_dir(&journal).unwrap();
        drop(rebuild);
        index.refresh().unwrap();
        assert_eq!((index.doc_count(), index.position().as_deref()), (1, Some("1")));
        assert_eq!(MessageIndex::open(dir).unwrap().doc_count(), 1);
        // It is written on, and another rebuild replaces it.
        index.writer(WriterOptions::default()).unwrap().commit("2").unwrap();
        let mut rebuild = Rebuild::start(&index, WriterOptions::default()).unwrap();
        assert!(rebuild.swap("3").unwrap());
        assert_eq!((index.doc_count(), index.position().as_deref()), (0, Some("3")));
    }
}
