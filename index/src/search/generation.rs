//! Generations: an index is rebuilt beside the current one and then replaces it.
//!
//! The folder of an index holds one folder a generation (`g1`, `g2`, …), the file `current` that
//! names the current one, and two locks that end with the process that holds them: `switch.lock` is
//! shared by a writer while it commits and exclusive while `current` changes; `rebuild.lock` is
//! held during a rebuild.

use std::cmp::Ordering;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tantivy::columnar::ColumnValues;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::{Index, IndexReader, ReloadPolicy, Searcher, SegmentReader};

use super::IndexError;
use super::schema::{SENT_AT, TIE};

const CURRENT: &str = "current";
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
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let view = ArcSwap::from_pointee(View::new(reader.searcher())?);
        Ok(Self { number, index, view, reader: Mutex::new(reader) })
    }

    /// Returns the index as of the last reload.
    pub(super) fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Reloads the last commit.
    pub(super) fn reload(&self) -> Result<(), IndexError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.reload()?;
        self.view.store(Arc::new(View::new(reader.searcher())?));
        Ok(())
    }
}

/// A commit, opened for searches.
pub(super) struct View {
    pub(super) searcher: Searcher,
    /// Progress stored in the commit.
    pub(super) progress: Option<String>,
    /// Columns of each segment.
    pub(super) columns: Vec<Columns>,
}

/// Columns of a segment that results are sorted by. Opening them takes longer than most searches.
#[derive(Clone)]
pub(super) struct Columns {
    pub(super) sent_at: Arc<dyn ColumnValues<i64>>,
    pub(super) tie: Arc<dyn ColumnValues<u64>>,
}

impl View {
    fn new(searcher: Searcher) -> tantivy::Result<Self> {
        let columns =
            searcher.segment_readers().iter().map(Columns::open).collect::<Result<_, _>>();
        let progress = searcher.index().load_metas()?.payload;
        Ok(Self { columns: columns?, progress, searcher })
    }

    /// Returns whether there may be a message with that tie.
    pub(super) fn may_hold(&self, tie: u64) -> bool {
        self.columns.iter().any(|columns| columns.holds(tie))
    }
}

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        Ok(Self {
            sent_at: segment.fast_fields().column_first_or_default(SENT_AT)?,
            tie: segment.fast_fields().column_first_or_default(TIE)?,
        })
    }

    /// Returns whether a message, perhaps an erased one, has that tie: a binary search, for
    /// segments are sorted by it.
    fn holds(&self, tie: u64) -> bool {
        let (mut low, mut high) = (0, self.tie.num_vals());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.tie.get_val(middle).cmp(&tie) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => high = middle,
            }
        }
        false
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

/// Takes the lock of the one rebuild; `None` if another one has it.
pub(super) fn lock_rebuild(dir: &Path) -> io::Result<Option<File>> {
    let file = File::create(dir.join(REBUILD_LOCK))?;
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
