//! Stored files of messages: which of them are there, and which a check has found damaged.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use bytes::Bytes;
use chatkeep_blobs::ArchiveError;
use futures_util::TryStreamExt as _;
use tracing::warn;

use super::layout::{BLOBS, DAMAGED, damage_note, noted_object};
use super::{SnapshotError, SnapshotService};

/// Stored files at one time, by hashes of their names, so that many need little memory.
#[derive(Debug, Default)]
pub(super) struct StoredObjects {
    hasher: RandomState,
    /// Sizes in bytes.
    sizes: HashMap<u64, u64>,
    damaged: HashSet<u64>,
}

impl StoredObjects {
    /// Returns true if the object is there with that size in bytes.
    pub(super) fn has(&self, object: &str, bytes: u64) -> bool {
        self.sizes.get(&self.hasher.hash_one(object)) == Some(&bytes)
    }

    /// Returns true if the object was noted as damaged.
    pub(super) fn is_noted(&self, object: &str) -> bool {
        self.damaged.contains(&self.hasher.hash_one(object))
    }
}

impl SnapshotService {
    /// Lists the stored files, and those that are noted as damaged.
    ///
    /// # Errors
    /// Returns an error if the archive fails.
    pub(super) async fn stored_objects(&self) -> Result<StoredObjects, SnapshotError> {
        let mut found = StoredObjects::default();
        let mut all = self.archive.list(BLOBS);
        while let Some(one) = all.try_next().await? {
            found.sizes.insert(found.hasher.hash_one(&one.name), one.bytes);
        }
        let mut notes = self.archive.list(DAMAGED);
        while let Some(note) = notes.try_next().await? {
            found.damaged.extend(noted_object(&note.name).map(|name| found.hasher.hash_one(name)));
        }
        Ok(found)
    }

    /// Notes that a stored file is damaged: the next snapshot copies it again. Nothing is deleted,
    /// for somebody may be doing that now.
    pub(super) async fn note_damaged(&self, object: &str) {
        let noted = self.archive.put(&damage_note(object), Bytes::new()).await;
        if let Err(error) = noted {
            warn!(object, %error, "cannot note that a file is damaged: the next snapshot keeps it");
        }
    }

    /// Removes the note about a stored file.
    ///
    /// # Errors
    /// Returns an error if the archive fails.
    pub(super) async fn forget_damage(&self, object: &str) -> Result<(), ArchiveError> {
        self.archive.delete(&damage_note(object)).await
    }
}
