//! Source of an import: a file, the folder that an export made, or its archive.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use zip::ZipArchive;

use super::super::TransferError;

/// Name of the messages' file in a folder or an archive.
const MESSAGES: &str = "messages.jsonl";

/// Location of the messages.
pub(super) enum Source {
    /// In a file.
    File(PathBuf),
    /// In an archive.
    Zip(PathBuf),
}

/// Open archive.
pub(super) type OpenArchive = ZipArchive<BufReader<File>>;

impl Source {
    /// Returns the kind of source at `path`.
    pub(super) fn find(path: &Path) -> Result<Self, TransferError> {
        if path.is_dir() {
            return Ok(Self::File(path.join(MESSAGES)));
        }
        let mut start = Vec::new();
        open(path)?.take(4).read_to_end(&mut start)?;
        Ok(match start.as_slice() {
            b"PK\x03\x04" => Self::Zip(path.to_owned()),
            _ => Self::File(path.to_owned()),
        })
    }

    /// Opens an archive.
    pub(super) fn archive(path: &Path) -> Result<OpenArchive, TransferError> {
        let archive = ZipArchive::new(BufReader::new(open(path)?))?;
        if archive.index_for_name_raw(MESSAGES.as_bytes()).is_none() {
            return Err(TransferError::NoMessages(path.to_owned()));
        }
        Ok(archive)
    }

    /// Returns the messages in an archive, and their size in bytes.
    pub(super) fn entry(archive: &mut OpenArchive) -> Result<(impl Read + '_, u64), TransferError> {
        let entry = archive.by_name(MESSAGES)?;
        let size = entry.size();
        Ok((entry, size))
    }
}

/// Opens a file.
pub(super) fn open(path: &Path) -> Result<File, TransferError> {
    let failed = |cause| TransferError::File { what: "cannot read", path: path.to_owned(), cause };
    File::open(path).map_err(failed)
}

/// Reader that counts bytes.
pub(super) struct Metered<R> {
    pub(super) input: R,
    pub(super) read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.read.set(self.read.get() + length as u64);
        Ok(length)
    }
}
