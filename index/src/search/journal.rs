//! Journal of the changes during a rebuild: the writer of the current index appends them, the
//! rebuild applies them before it takes over.
//!
//! The file exists exactly during a rebuild. Each commit appends the messages it touched before it
//! commits, so that no committed change is ever missing; an entry too many does no harm.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::generation;

const JOURNAL: &str = "touched";

/// A message, or a whole channel, that changed while the index was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touched {
    /// The channel's id.
    pub channel_id: String,
    /// The message's id; `None` if the whole channel was erased.
    pub message_id: Option<String>,
}

fn path(dir: &Path) -> PathBuf {
    dir.join(JOURNAL)
}

/// Starts an empty journal.
pub(super) fn begin(dir: &Path) -> io::Result<()> {
    File::create(path(dir)).map(drop)
}

/// Removes the journal.
pub(super) fn end(dir: &Path) -> io::Result<()> {
    match fs::remove_file(path(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Adds a message, or the whole channel if there is none, to the entries for [`note`].
pub(super) fn push(touched: &mut String, channel_id: &str, message_id: Option<&str>) {
    touched.push_str(channel_id);
    if let Some(message_id) = message_id {
        touched.push('\0');
        touched.push_str(message_id);
    }
    touched.push('\n');
}

/// Appends the entries of a commit during a rebuild. The journal of a dead rebuild is removed.
pub(super) fn note(dir: &Path, touched: &str) -> io::Result<()> {
    if touched.is_empty() || !path(dir).try_exists()? {
        return Ok(());
    }
    if generation::lock_rebuild(dir)?.is_some() {
        return end(dir);
    }
    let mut file = OpenOptions::new().append(true).open(path(dir))?;
    file.write_all(touched.as_bytes())?;
    file.sync_data()
}

/// Returns the length of the journal in bytes.
pub(super) fn len(dir: &Path) -> io::Result<u64> {
    Ok(fs::metadata(path(dir))?.len())
}

/// Returns the entries from byte `from` on, without duplicates, and the offset to read on from.
pub(super) fn read(dir: &Path, from: u64) -> io::Result<(Vec<Touched>, u64)> {
    let mut file = File::open(path(dir))?;
    file.seek(SeekFrom::Start(from))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    // A line that is still being written is left for the next read.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut touched: Vec<Touched> = text[..whole].lines().map(touched_of).collect();
    touched.sort_unstable();
    touched.dedup();
    Ok((touched, from + whole as u64))
}

fn touched_of(line: &str) -> Touched {
    match line.split_once('\0') {
        None => Touched { channel_id: line.to_owned(), message_id: None },
        Some((channel, message)) => {
            Touched { channel_id: channel.to_owned(), message_id: Some(message.to_owned()) }
        }
    }
}
