//! Free space of the file systems that folders are on.

use std::io;
use std::path::Path;

/// Space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiskSpace {
    /// Bytes that this user can still write.
    pub(crate) free: u64,
    /// Size of the file system.
    pub(crate) total: u64,
}

impl DiskSpace {
    /// Returns the space of the file system of a folder, or where it would be created.
    ///
    /// # Errors
    /// Returns an error if the file system cannot be asked.
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let existing = folder.ancestors().find(|folder| folder.exists());
        let found = rustix::fs::statvfs(existing.unwrap_or(Path::new(".")))?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Self { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_space_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let space = DiskSpace::of(folder.path()).unwrap();
        assert!(0 < space.total && space.free <= space.total, "{space:?}");
        let inside = DiskSpace::of(&folder.path().join("a/b")).unwrap();
        assert_eq!(inside.total, space.total);
        assert!(DiskSpace::of(Path::new("not/there")).is_ok());
    }
}
