//! Disk of a fixed size, to be filled: a tmpfs over a folder.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Mounted disk. Dropping it unmounts it; the guard of the scratch folders does when the test
/// process is killed.
pub(crate) struct SmallDisk {
    folder: PathBuf,
}

/// Files that fill a disk until dropped.
pub(crate) struct Filler {
    path: PathBuf,
    file: File,
}

impl SmallDisk {
    /// Mounts a disk over an empty folder.
    ///
    /// # Panics
    /// Panics if mounting is not permitted: the test cannot be run then, and must not seem to pass.
    pub(crate) fn over(folder: &Path, mebibytes: u32) -> Self {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=0700"), "tmpfs"])
            .arg(folder)
            .output()
            .unwrap_or_else(|error| panic!("cannot run mount: {error}"));
        assert!(
            done.status.success(),
            "this test fills a disk of its own and has to mount a tmpfs, as root: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        Self { folder: folder.to_owned() }
    }

    /// Creates a filler that occupies nothing yet.
    pub(crate) fn filler(&self) -> Filler {
        let path = self.folder.join("filler");
        let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        Filler { path, file }
    }
}

impl Filler {
    /// Fills until at most that many MiB are free.
    pub(crate) fn leave(&mut self, mebibytes: u64) {
        let block = vec![7_u8; 1 << 20];
        while self.free() > mebibytes << 20 {
            self.file.write_all(&block).unwrap();
        }
    }

    fn free(&self) -> u64 {
        let found = rustix::fs::fstatvfs(&self.file).unwrap();
        found.f_bavail * found.f_frsize
    }

    /// Fills the free space, down to single bytes; others may free some again.
    pub(crate) fn fill(&mut self) {
        for block in [1 << 20, 1 << 12, 1] {
            let block = vec![7_u8; block];
            while self.file.write_all(&block).is_ok() {}
        }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the program may still be ending.
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}
