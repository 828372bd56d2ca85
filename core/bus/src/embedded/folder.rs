//! Files beside the bus file in its data folder: the lock of the process that serves, and the
//! identity of the bus, which processes that share it have in common.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;

use chatkeep_core::random::random_name;

use crate::BusError;

/// File name of the identity.
const IDENTITY: &str = "bus.id";
/// File name of an identity until it is on disk.
const NEW: &str = "bus.id.new";

/// Locks the folder for the process that serves from it.
pub(super) fn lock(folder: &Path) -> Result<File, BusError> {
    let path = folder.join("bus.lock");
    let file = File::create(&path).map_err(sqlx::Error::Io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(BusError::Locked(folder.display().to_string())),
        Err(TryLockError::Error(err)) => Err(sqlx::Error::Io(err).into()),
    }
}

/// Returns the identity of the bus in `folder`; creates it when there is none.
pub(super) fn identity(folder: &Path) -> io::Result<String> {
    let path = folder.join(IDENTITY);
    if let Some(known) = read(&path)? {
        return Ok(known);
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
    // Of processes that start at once, one creates it; the others wait and read it.
    file.lock()?;
    if let Some(known) = read(&path)? {
        return Ok(known);
    }
    let identity = random_name();
    write(folder, &identity)?;
    Ok(identity)
}

/// Reads an identity; `None` from a file without one. A power cut left an empty file of earlier
/// versions, which did not wait for the disk.
fn read(path: &Path) -> io::Result<Option<String>> {
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_identity = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    Ok(is_identity.then_some(text))
}

/// Puts an identity in place as a whole, on disk when this returns.
fn write(folder: &Path, identity: &str) -> io::Result<()> {
    let new = folder.join(NEW);
    let mut file = File::create(&new)?;
    file.write_all(identity.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, folder.join(IDENTITY))?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use super::*;

    #[test]
    fn an_identity_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let created = identity(folder.path()).unwrap();
        assert_eq!(created.len(), 32);
        assert_eq!(identity(folder.path()).unwrap(), created);
        assert!(!folder.path().join(NEW).exists());
        // Of an earlier version, or written by hand.
        fs::write(folder.path().join(IDENTITY), "ours\n").unwrap();
        assert_eq!(identity(folder.path()).unwrap(), "ours");
    }

    #[test]
    fn a_file_without_an_identity_gets_one() {
        for lost in [&b""[..], b" \n", &[0_u8; 32], b"\xff"] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(IDENTITY), lost).unwrap();
            let created = identity(folder.path()).unwrap();
            assert_eq!(created.len(), 32, "{lost:?}");
            assert_eq!(identity(folder.path()).unwrap(), created);
        }
    }

    #[test]
    fn processes_that_start_at_once_agree() {
        for before in [None, Some("")] {
            let folder = tempfile::tempdir().unwrap();
            if let Some(text) = before {
                fs::write(folder.path().join(IDENTITY), text).unwrap();
            }
            let identities: BTreeSet<_> = thread::scope(|scope| {
                let starting: Vec<_> =
                    (0..8).map(|_| scope.spawn(|| identity(folder.path()).unwrap())).collect();
                starting.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(identities.len(), 1);
        }
    }
}
