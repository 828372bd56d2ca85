//! Local files on their way to the archive and back, and the folder that they lie in meanwhile.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use chatkeep_blobs::{Archive, ArchiveError};
use futures_util::stream::{BoxStream, try_unfold};
use futures_util::{Stream, TryStreamExt as _};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::SnapshotError;
use super::manifest::SnapshotManifest;
use super::seal::AgeIdentities;

/// Size of one read from a file, in bytes.
const PIECE: usize = 128 * 1024;

/// Folder that exists as long as this does.
#[derive(Debug)]
pub(super) struct WorkFolder(PathBuf);

impl WorkFolder {
    /// Creates the folder; removes what a process that died has left there.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub(super) fn create(path: PathBuf) -> io::Result<Self> {
        remove_folder(&path)?;
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        let _ = remove_folder(&self.0);
    }
}

/// Removes a folder that may not be there.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a file that may not be there.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads a file piece by piece.
pub(super) async fn read_file(
    path: &Path,
) -> io::Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>> {
    let file = tokio::fs::File::open(path).await?;
    Ok(try_unfold(file, async |mut file| {
        let mut piece = vec![0; PIECE];
        let read = file.read(&mut piece).await?;
        piece.truncate(read);
        Ok((read > 0).then(|| (Bytes::from(piece), file)))
    }))
}

/// Writes a content into a new file.
pub(super) async fn write_file(
    mut content: BoxStream<'static, Result<Bytes, ArchiveError>>,
    path: &Path,
) -> Result<(), SnapshotError> {
    let mut file = tokio::fs::File::create_new(path).await?;
    while let Some(piece) = content.try_next().await? {
        file.write_all(&piece).await?;
    }
    Ok(file.flush().await?)
}

/// Object of a snapshot as its manifest or list has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotedObject<'a> {
    pub(super) object: &'a str,
    pub(super) bytes: u64,
    pub(super) sha256: &'a str,
}

impl SnapshotManifest {
    /// Reads an object, into a file if one is given, and compares it with what was noted of it.
    ///
    /// # Errors
    /// [`SnapshotError::Damaged`], or when archive or file fail.
    pub(super) async fn fetch(
        &self,
        archive: &Archive,
        noted: NotedObject<'_>,
        into: Option<&Path>,
    ) -> Result<(), SnapshotError> {
        let NotedObject { object, bytes, sha256 } = noted;
        let Some(mut content) = archive.get(object).await? else {
            return Err(self.damaged(object, "is not there"));
        };
        let mut file = match into {
            Some(path) => Some(tokio::fs::File::create_new(path).await?),
            None => None,
        };
        let (mut hash, mut size) = (Sha256::new(), 0);
        while let Some(piece) = content.try_next().await? {
            size += piece.len() as u64;
            hash.update(&piece);
            if let Some(file) = &mut file {
                file.write_all(&piece).await?;
            }
        }
        if let Some(mut file) = file {
            file.flush().await?;
        }
        if size != bytes {
            return Err(self.damaged(object, format!("has {size} bytes instead of {bytes}")));
        }
        if hex::encode(hash.finalize()) != sha256 {
            return Err(self.damaged(object, "has another content than was stored"));
        }
        Ok(())
    }

    /// Reads an object into the new file `into`, decrypted.
    ///
    /// # Errors
    /// Those of [`Self::fetch`], [`SnapshotError::Undecryptable`], [`SnapshotError::Encrypted`]
    /// without identities.
    pub(super) async fn fetch_open(
        &self,
        archive: &Archive,
        noted: NotedObject<'_>,
        identities: &AgeIdentities,
        into: &Path,
    ) -> Result<(), SnapshotError> {
        if !noted.object.ends_with(super::layout::AGE) {
            return self.fetch(archive, noted, Some(into)).await;
        }
        if identities.is_empty() {
            return Err(SnapshotError::Encrypted(self.id.clone()));
        }
        let sealed = into.with_added_extension("sealed");
        // Of an attempt that failed.
        remove_file(&sealed)?;
        self.fetch(archive, noted, Some(&sealed)).await?;
        identities.open(noted.object, &sealed, into).await?;
        Ok(tokio::fs::remove_file(&sealed).await?)
    }
}

/// Flushes every file and folder below a folder, so that it survives a power cut.
pub(super) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    File::open(folder)?.sync_all()
}
