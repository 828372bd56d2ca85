//! Keeping what chatkeep writes from the other users of the machine.
//!
//! The data folder holds what people said to each other, and keys. Whatever the shell that starts
//! the process has set, files are made for its own user alone; what lies in a folder of its own
//! user alone is out of reach even when an earlier version made it readable.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use rustix::fs::{Access, Mode, access};
use tracing::warn;

/// What a folder's own user may do, and nobody else anything.
const OWN: u32 = 0o700;
/// What others must not be able to do.
const OTHERS: u32 = 0o077;

/// From now on, what this process makes is for its own user alone. To be called before there are
/// threads that make files.
pub(crate) fn keep_to_oneself() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Makes the data folder, or takes from others what they may do in the one there is.
///
/// # Errors
/// When it cannot be made or looked at. One of somebody else's, as volumes are, is left as it is.
pub(crate) fn make_data_folder(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        bail!("the data folder {shown} is a file");
    }
    DirBuilder::new()
        .recursive(true)
        .mode(OWN)
        .create(folder)
        .with_context(|| format!("cannot make the data folder {shown}"))?;
    check_data_folder(folder)?;
    let found = fs::metadata(folder).with_context(|| format!("cannot look at {shown}"))?;
    let mode = found.mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let own = fs::Permissions::from_mode(mode & !OTHERS);
    if let Err(error) = fs::set_permissions(folder, own) {
        warn!(%error, folder = %shown, "other users of this machine may look into the data folder");
    }
    Ok(())
}

/// Makes sure that this user may change the data folder and what the databases in it need.
///
/// # Errors
/// Names the folder or the file that may not be written.
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
