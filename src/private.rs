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
/// Files and folders that only the program makes in a data folder; their owner is the user of the
/// service.
const MADE: [&str; 4] = ["chatkeep.db", "bus.db", "bus.id", "index"];

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

/// Returns true if a data folder contains what the program makes there.
pub(crate) fn has_data(folder: &Path) -> bool {
    MADE.iter().any(|name| folder.join(name).exists())
}

/// Checks that root does not leave files in a data folder which a service of another user has filled:
/// that service could not use them. A folder without data may be anybody's, as new volumes are.
///
/// # Errors
/// Returns a sentence that names the other user, and what to do.
pub(crate) fn check_owner(folder: &Path) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = |name: &&str| fs::symlink_metadata(folder.join(name)).ok().map(|found| found.uid());
    let Some(owner) = MADE.iter().filter_map(owner).find(|owner| *owner != 0) else {
        return Ok(());
    };
    // Some network file systems give root's files to another user.
    let new = tempfile::tempfile_in(folder).and_then(|file| file.metadata());
    if new.is_ok_and(|new| new.uid() == owner) {
        return Ok(());
    }
    let folder = folder.display();
    Err(format!(
        "the data in {folder} belong to the user {owner}, who could not use what root leaves there: \
         run the command as that user (sudo -u '#{owner}' chatkeep …; of the installed service: sudo -u \
         chatkeep chatkeep …; in a container: --user {owner}), or give the folder to root for good \
         (chown -R root {folder})"
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, lchown};

    use super::*;

    #[test]
    fn root_leaves_nothing_beside_the_data_of_another_user() {
        if !rustix::process::geteuid().is_root() {
            // Nobody else can give files to another user.
            return assert_eq!(check_owner(Path::new("/root")), Ok(()));
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(1), Some(1)).unwrap();
        assert_eq!(check_owner(&folder.path().join("none")), Ok(()));
        assert_eq!(check_owner(folder.path()), Ok(()), "an empty volume");
        let index = folder.path().join("index");
        fs::create_dir(&index).unwrap();
        fs::write(folder.path().join("somebody's"), "").unwrap();
        chown(folder.path().join("somebody's"), Some(1), None).unwrap();
        assert_eq!(check_owner(folder.path()), Ok(()), "all of the program is root's");
        lchown(&index, Some(65_534), None).unwrap();
        let refused = check_owner(folder.path()).unwrap_err();
        assert!(refused.contains("the user 65534") && refused.contains("chown"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left there");
    }

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
