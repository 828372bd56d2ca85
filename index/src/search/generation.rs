//! Generations: an index is rebuilt beside the current one and then replaces it.
//!
//! The folder of an index holds one folder a generation (`g1`, `g2`, …), the file `current` that
//! names the current one, and two locks that end with the process that holds them: `switch.lock` is
//! shared by a writer while it commits and exclusive while `current` changes; `rebuild.lock` is
//! held during a rebuild.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use tantivy::columnar::ColumnValues;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::index::SegmentId;
use tantivy::{DocId, Index, IndexReader, ReloadPolicy, Searcher, SegmentReader};

use super::IndexError;
use super::order::{MAX_AGE, age_of};
use super::runs::Runs;
use super::schema::{Fields, ORDER, SENT_AT, TIE};

/// File with the number of the current generation.
pub(super) const CURRENT: &str = "current";
const SWITCH_LOCK: &str = "switch.lock";
const REBUILD_LOCK: &str = "rebuild.lock";

/// An open generation.
pub(super) struct Generation {
    pub(super) number: u64,
    pub(super) index: Index,
    /// State of the last reload.
    view: ArcSwap<View>,
    reader: Mutex<IndexReader>,
}

impl Generation {
    pub(super) fn new(number: u64, index: Index) -> Result<Self, IndexError> {
        // Reloaded by hand: the writer here knows the time, and a watching thread would only guess.
        let builder = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        // Blocks of stored keys are small and not compressed: reading one again is less work than
        // looking it up in a cache that all searches share.
        let reader: IndexReader = builder.doc_store_cache_num_blocks(0).try_into()?;
        let position = position_before(&index, || reader.reload())?;
        let view = ArcSwap::from_pointee(View::new(reader.searcher(), position, &[])?);
        Ok(Self { number, index, view, reader: Mutex::new(reader) })
    }

    /// Returns the index as of the last reload.
    pub(super) fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Reloads the last commit.
    pub(super) fn reload(&self) -> Result<(), IndexError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let position = position_before(&self.index, || reader.reload())?;
        let view = View::new(reader.searcher(), position, &self.view.load().columns)?;
        self.view.store(Arc::new(view));
        Ok(())
    }
}

/// Maximum number of reloads until no commit of another process falls into one.
const RELOADS: usize = 5;

/// Reloads, and returns the position stored in the commit that was loaded. If commits follow each
/// other faster, it is that of an earlier one: changes are read again then, and none is missed.
fn position_before(
    index: &Index,
    mut reload: impl FnMut() -> tantivy::Result<()>,
) -> tantivy::Result<Option<String>> {
    let mut before = index.load_metas()?;
    for _ in 1..RELOADS {
        reload()?;
        let after = index.load_metas()?;
        if after.opstamp == before.opstamp {
            return Ok(before.payload);
        }
        before = after;
    }
    reload()?;
    Ok(before.payload)
}

/// A commit, opened for searches.
pub(super) struct View {
    pub(super) searcher: Searcher,
    /// Progress stored in the commit, or in an earlier one.
    pub(super) position: Option<String>,
    /// Columns and runs of each segment.
    pub(super) columns: Vec<Columns>,
}

/// Columns of a segment that a search needs besides its posting lists; opened once for a segment,
/// which takes longer than most searches.
#[derive(Clone)]
pub(super) struct Columns {
    segment: SegmentId,
    sent_at: Arc<dyn ColumnValues<i64>>,
    tie: Arc<dyn ColumnValues<u64>>,
    order: Arc<dyn ColumnValues<u64>>,
    runs: Arc<OnceLock<Runs>>,
}

impl View {
    /// Opens the segments of a commit, but for those that are open already.
    fn new(
        searcher: Searcher,
        position: Option<String>,
        open: &[Columns],
    ) -> tantivy::Result<Self> {
        let columns = searcher.segment_readers().iter().map(|segment| {
            let known = open.iter().find(|columns| columns.segment == segment.segment_id());
            known.map_or_else(|| Columns::open(segment), |known| Ok(known.clone()))
        });
        Ok(Self { columns: columns.collect::<Result<_, _>>()?, position, searcher })
    }
}

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        let fast = segment.fast_fields();
        Ok(Self {
            segment: segment.segment_id(),
            sent_at: fast.column_first_or_default(SENT_AT)?,
            tie: fast.column_first_or_default(TIE)?,
            order: fast.column_first_or_default(ORDER)?,
            runs: Arc::new(OnceLock::new()),
        })
    }

    /// Returns the age of a message.
    pub(super) fn age(&self, doc: DocId) -> u64 {
        age_of(self.order.get_val(doc))
    }

    /// Returns the time of sending of a message of that age.
    pub(super) fn sent_at(&self, doc: DocId, age: u64) -> i64 {
        match i64::try_from(MAX_AGE - age) {
            Ok(time) if age > 0 && age < MAX_AGE => time,
            _ => self.sent_at.get_val(doc),
        }
    }

    pub(super) fn tie(&self, doc: DocId) -> u64 {
        self.tie.get_val(doc)
    }

    /// Returns the ties of all messages, the erased ones included.
    pub(super) fn ties(&self) -> impl Iterator<Item = u64> {
        (0..self.tie.num_vals()).map(|doc| self.tie.get_val(doc))
    }

    /// Returns the runs of the segment, which are read when they are first needed.
    pub(super) fn runs(&self, segment: &SegmentReader, fields: Fields) -> tantivy::Result<&Runs> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let runs = Runs::read(segment, fields)?;
        Ok(self.runs.get_or_init(|| runs))
    }

    /// Returns the messages in a run, or part of one, of ages from `newest` to `oldest`.
    pub(super) fn of_ages(&self, docs: Range<DocId>, (newest, oldest): (u64, u64)) -> Range<DocId> {
        let first = |is_before: &dyn Fn(u64) -> bool, mut low: DocId, mut high: DocId| {
            while low < high {
                let middle = low + (high - low) / 2;
                if is_before(self.age(middle)) { low = middle + 1 } else { high = middle }
            }
            low
        };
        let start =
            if newest == 0 { docs.start } else { first(&|age| age < newest, docs.start, docs.end) };
        let end =
            if oldest == MAX_AGE { docs.end } else { first(&|age| age <= oldest, start, docs.end) };
        start..end
    }
}

/// Returns the folder of a generation.
pub(super) fn folder(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("g{number}"))
}

/// Returns the current generation; `None` if there has never been one.
pub(super) fn current(dir: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(dir.join(CURRENT)) {
        Ok(number) => Ok(number.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a generation current, atomically for readers of the file.
pub(super) fn set_current(dir: &Path, number: u64) -> io::Result<()> {
    let passing = dir.join("current.new");
    let mut file = File::create(&passing)?;
    file.write_all(number.to_string().as_bytes())?;
    file.sync_all()?;
    fs::rename(passing, dir.join(CURRENT))?;
    // The rename is durable once the folder is synced.
    File::open(dir)?.sync_all()
}

/// Takes the lock of a commit: `current` does not change meanwhile.
pub(super) fn lock_shared(dir: &Path) -> io::Result<File> {
    let file = File::create(dir.join(SWITCH_LOCK))?;
    file.lock_shared()?;
    Ok(file)
}

/// Takes the lock for a change of `current`: nobody commits meanwhile.
pub(super) fn lock_exclusive(dir: &Path) -> io::Result<File> {
    let file = File::create(dir.join(SWITCH_LOCK))?;
    file.lock()?;
    Ok(file)
}

/// Does the same without waiting; `None` if somebody commits or changes `current`.
pub(super) fn try_lock_exclusive(dir: &Path) -> io::Result<Option<File>> {
    try_lock(&dir.join(SWITCH_LOCK))
}

/// Takes the lock of the one rebuild; `None` if another one has it.
pub(super) fn lock_rebuild(dir: &Path) -> io::Result<Option<File>> {
    try_lock(&dir.join(REBUILD_LOCK))
}

fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = File::create(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the numbers of all generations in the folder.
pub(super) fn all(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix('g'));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    Ok(numbers)
}

/// Removes unused generations: neither the current one nor one that is being written. A searcher
/// keeps its files open until it is done. Nothing is removed during a rebuild.
pub(super) fn sweep(dir: &Path) -> io::Result<()> {
    let Some(_rebuild) = lock_rebuild(dir)? else {
        return Ok(());
    };
    let _switch = lock_exclusive(dir)?;
    let current = current(dir)?;
    for number in all(dir)?.into_iter().filter(|number| Some(*number) != current) {
        let old = folder(dir, number);
        let lock = MmapDirectory::open(&old).map(|old| old.acquire_lock(&INDEX_WRITER_LOCK));
        if !matches!(lock, Ok(Err(_))) {
            fs::remove_dir_all(old)?;
        }
    }
    Ok(())
}

/// Removes the folder with all generations, unless one is being written or rebuilt. Returns whether
/// it was removed.
pub(super) fn delete_all(dir: &Path) -> io::Result<bool> {
    let Some(_rebuild) = lock_rebuild(dir)? else { return Ok(false) };
    let Some(_switch) = try_lock_exclusive(dir)? else { return Ok(false) };
    let mut locks = Vec::new();
    for number in all(dir)? {
        // One that cannot be opened has no writer.
        let Ok(generation) = MmapDirectory::open(folder(dir, number)) else { continue };
        let Ok(lock) = generation.acquire_lock(&INDEX_WRITER_LOCK) else { return Ok(false) };
        locks.push(lock);
    }
    // What is left of it after a crash is no index without the name of the current one.
    match fs::remove_file(dir.join(CURRENT)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir_all(dir)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{IndexChange, IndexDoc, MessageIndex, WriterOptions};

    #[test]
    fn position_is_never_ahead_of_what_was_loaded() {
        let index = MessageIndex::in_memory().unwrap();
        let mut writer = index.writer(WriterOptions::default()).unwrap();
        let mut commits = 0;
        let mut commit = || {
            commits += 1;
            let message = IndexDoc {
                channel_id: "c".to_owned(),
                message_id: format!("m{commits}"),
                sender_id: None,
                kind: "text".to_owned(),
                sent_at: commits,
                text: "tea".to_owned(),
            };
            writer.apply(&[IndexChange::Put(message)]).unwrap();
            writer.commit(&commits.to_string()).unwrap();
        };
        commit();
        let generation = index.generation();
        let builder = generation.index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader: IndexReader = builder.try_into().unwrap();
        // Commits of another process after the first reloads, and before and after every one.
        for (after, before_too) in [(0, false), (1, false), (3, false), (usize::MAX, true)] {
            let mut reloads = 0;
            let position = position_before(&generation.index, || {
                if before_too {
                    commit();
                }
                reader.reload()?;
                reloads += 1;
                if reloads <= after {
                    commit();
                }
                Ok(())
            });
            let loaded = reader.searcher().num_docs();
            assert!(reloads <= RELOADS);
            let position: u64 = position.unwrap().unwrap().parse().unwrap();
            assert!(position <= loaded, "{position} {loaded}");
            assert_eq!(position == loaded, !before_too);
        }
    }
}
