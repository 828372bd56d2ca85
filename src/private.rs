//! Protection of chatkeep's files from the other users of the machine.
//!
//! The data folder contains people's messages, and keys. Whatever umask the shell has set, files
//! are created for the process' own user alone; the content of a folder of its own user alone is
//! out of reach even if an earlier version made it readable.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use rustix::fs::{Access, Mode, access};
use tracing::warn;

/// Permissions of a folder: everything for its own user, nothing for others.
const OWN: u32 = 0o700;
/// Permission bits of other users.
const OTHERS: u32 = 0o077;

/// Restricts files created by this process from now on to its own user. Must be called before there
/// are threads that create files.
pub(crate) fn restrict_umask() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Creates the data folder, or removes others' permissions from the existing one.
///
/// # Errors
/// Returns an error if it cannot be created or read. Another user's folder, as volumes are, is left
/// as it is.
pub(crate) fn make_data_folder(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        bail!("the data folder {shown} is a file");
    }
    DirBuilder::new()
        .recursive(true)
        .mode(OWN)
        .create(folder)
        .with_context(|| format!("cannot create the data folder {shown}"))?;
    check_data_folder(folder)?;
    let found =
        fs::metadata(folder).with_context(|| format!("cannot read the metadata of {shown}"))?;
    let mode = found.mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let own = fs::Permissions::from_mode(mode & !OTHERS);
    if let Err(error) = fs::set_permissions(folder, own) {
        warn!(%error, folder = %shown, "other users of this machine can read the data folder");
    }
    Ok(())
}

/// Checks that this user may change the data folder and the database files in it.
///
/// # Errors
/// Returns an error that names the folder or the file that may not be written.
pub(crate) fn check_data_folder(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)
        .map_err(io::Error::from)
        .with_context(|| format!("cannot write to the data folder {shown}"))?;
    for name in ["chatkeep.db", "bus.db"] {
        let file = folder.join(name);
        if file.exists() {
            access(&file, Access::READ_OK | Access::WRITE_OK)
                .map_err(io::Error::from)
                .with_context(|| format!("cannot write to {}", file.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_folder_is_closed_to_others() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("a/b");
        make_data_folder(&folder).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        make_data_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }
}
