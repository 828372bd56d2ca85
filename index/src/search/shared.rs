//! The index of another process, which is opened once and follows its commits.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::directory::{META_FILE, VERSION_FILE};
use super::generation::{self, CURRENT};
use super::{IndexError, MessageIndex};

/// The folder of an index that another process writes. Clones share what is open.
#[derive(Clone)]
pub struct SharedIndex {
    folder: PathBuf,
    open: Arc<Mutex<Option<OpenIndex>>>,
}

struct OpenIndex {
    state: State,
    index: MessageIndex,
}

/// State of the files of an index.
#[derive(Clone, PartialEq, Eq)]
struct State {
    /// States that a deletion or a rebuild replaces.
    identity: [FileState; 2],
    /// State that each commit replaces.
    commit: FileState,
}

/// State of a file that is only ever replaced.
#[derive(Clone, PartialEq, Eq)]
struct FileState {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

impl SharedIndex {
    /// Creates a handle of the index in a folder, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, open: Arc::default() }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the index as of the other process' last commit. `None` if there is none, if another
    /// version wrote it, or if it has never been committed; creates and deletes nothing.
    ///
    /// # Errors
    /// Returns an error if the index cannot be read.
    pub fn latest(&self) -> Result<Option<MessageIndex>, IndexError> {
        // Whoever comes meanwhile would open the same.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the index is read: what is committed later is seen the next time.
        let state = State::of(&self.folder)?;
        let known = open.take().zip(state.clone());
        *open = match known.and_then(|(known, state)| known.follow(state)) {
            Some(followed) => Some(followed),
            None => MessageIndex::open_existing(&self.folder)?
                .zip(state)
                .map(|(index, state)| OpenIndex { state, index }),
        };
        Ok(open.as_ref().map(|open| open.index.clone()))
    }
}

impl OpenIndex {
    /// Makes the commit of that state visible. `None` if the index has to be opened anew: it is
    /// another one, it cannot be read, or it was emptied.
    fn follow(mut self, state: State) -> Option<Self> {
        if self.state.identity != state.identity {
            return None;
        }
        if self.state != state {
            self.index.refresh().ok()?;
            self.state = state;
        }
        self.index.position().is_some().then_some(self)
    }
}

impl fmt::Debug for SharedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedIndex").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl State {
    /// Returns the state of a folder; `None` if it contains no index.
    fn of(folder: &Path) -> io::Result<Option<Self>> {
        let Some(number) = generation::current(folder)? else {
            return Ok(None);
        };
        let generation = generation::folder(folder, number);
        let current = FileState::of(&folder.join(CURRENT))?;
        let version = FileState::of(&generation.join(VERSION_FILE))?;
        let commit = FileState::of(&generation.join(META_FILE))?;
        let identity = current.zip(version).map(|(current, version)| [current, version]);
        Ok(identity.zip(commit).map(|(identity, commit)| Self { identity, commit }))
    }
}

impl FileState {
    /// Returns the state of a file; `None` if there is none.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(file) => Ok(Some(Self {
                inode: file.ino(),
                size: file.len(),
                modified: file.modified().ok(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
