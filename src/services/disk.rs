//! Free space of the file systems that folders are on, and the reserves that are left there.

use std::io;
use std::path::Path;

use chatkeep_core::config::{BlobsKind, BusKind, Config};
use chatkeep_core::disk::DiskReserve;

/// Space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that this user can still write.
    pub free: u64,
    /// Size of the file system.
    pub total: u64,
}

impl DiskSpace {
    /// Returns the space of the file system of a folder, or where it would be created.
    ///
    /// # Errors
    /// Returns an error if the file system cannot be asked.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let existing = folder.ancestors().find(|folder| folder.exists());
        let found = rustix::fs::statvfs(existing.unwrap_or(Path::new(".")))?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Self { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }
}

/// Reserves of this process, for the parts that pause.
#[derive(Clone, Debug)]
pub struct DiskReserves {
    pub ingress: DiskReserve,
    pub media: DiskReserve,
}

impl DiskReserves {
    /// Creates the reserves of the folders that are used. Only an embedded bus grows with what is
    /// accepted, and only a folder of media files with those.
    pub fn new(config: &Config) -> Self {
        let embedded = matches!(config.bus, BusKind::Embedded);
        let folder = matches!(config.blobs, BlobsKind::Folder(_));
        let reserve = |is_used, bytes| DiskReserve::new(if is_used { bytes } else { 0 });
        Self {
            ingress: reserve(embedded, config.disk.ingress_reserve_bytes),
            media: reserve(folder, config.disk.media_reserve().0),
        }
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
