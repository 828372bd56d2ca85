//! File of an archive that is being written.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// File of an archive. Once something failed it takes everything and writes nothing: an archive ends
/// itself when it is dropped, and would print the same failure past the log.
pub(super) struct ArchiveFile {
    file: BufWriter<File>,
    has_failed: bool,
}

impl ArchiveFile {
    pub(super) fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), has_failed: false }
    }

    /// Writes what is left to the disk.
    ///
    /// # Errors
    /// Returns an error if that fails, or anything did before.
    pub(super) fn sync(mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("an earlier part of the archive could not be written"));
        }
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }

    /// Works on the file, unless something failed before.
    fn attempt<T: Default>(
        &mut self,
        work: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.has_failed {
            return Ok(T::default());
        }
        let done = work(&mut self.file);
        self.has_failed =
            done.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        done
    }
}

impl Write for ArchiveFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.has_failed {
            return Ok(bytes.len());
        }
        self.attempt(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush)
    }
}

impl Seek for ArchiveFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.attempt(|file| file.seek(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_returned_once_and_never_forgotten() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut file = ArchiveFile::new(full);
        let bytes = vec![0; 1024 * 1024];
        let written = file.write_all(&bytes);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull);
        file.write_all(&bytes).unwrap();
        file.seek(SeekFrom::Start(3)).unwrap();
        file.flush().unwrap();
        file.sync().unwrap_err();
    }
}
