//! Manifest of a snapshot, and the entries of its list of files.

use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::SnapshotError;
use super::files::NotedObject;
use super::layout::{PartName, object};

/// Layout that this version writes and reads.
pub(super) const FORMAT: u32 = 1;

/// Reason for making a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotReason {
    /// Somebody asked for it.
    Manual,
    /// It was due.
    Schedule,
    /// A migration was about to change data. Without the files of messages.
    Migration,
}

/// Description of a whole snapshot.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotManifest {
    pub(super) format: u32,
    /// Id of the snapshot.
    pub id: String,
    /// Beginning of its making.
    pub created_at: Timestamp,
    /// Reason for making it.
    pub reason: SnapshotReason,
    /// Version of the program that made it.
    pub program: String,
    /// Number of the last migration of its database.
    pub schema: i64,
    /// Public keys that its parts and files are encrypted to.
    pub recipients: Vec<String>,
    pub(super) parts: Vec<SnapshotPart>,
    /// Number of files of messages.
    pub files: u64,
    /// Size of those files as stored, in bytes.
    pub file_bytes: u64,
    /// Files that were gone when they were to be copied.
    pub files_gone: u64,
}

/// Stored part of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SnapshotPart {
    /// File name of its content.
    pub(super) file: String,
    /// File name as stored.
    pub(super) stored: String,
    /// Size as stored, in bytes.
    pub(super) bytes: u64,
    /// SHA-256 as stored, in lower-case hex.
    pub(super) sha256: String,
}

/// File of a message in the list of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListedBlob {
    /// SHA-256 of its content.
    pub(super) blob: String,
    /// Object that holds it; `None` if it was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stored: Option<StoredBlob>,
}

/// Object that holds a file of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredBlob {
    pub(super) object: String,
    /// Size as stored, in bytes.
    pub(super) bytes: u64,
    /// SHA-256 as stored, in lower-case hex.
    pub(super) sha256: String,
}

impl SnapshotManifest {
    /// Returns a part, if the snapshot has it.
    pub(super) fn part(&self, name: PartName) -> Option<&SnapshotPart> {
        self.parts.iter().find(|part| part.file == name.file())
    }

    /// Returns the size of everything but the files of messages, in bytes.
    pub fn part_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns true if identities are needed to read it.
    pub const fn is_encrypted(&self) -> bool {
        !self.recipients.is_empty()
    }

    /// Returns true if it holds the database: it is of an embedded deployment.
    pub fn has_database(&self) -> bool {
        self.part(PartName::Database).is_some()
    }

    /// Returns the error about a damaged object of the snapshot.
    pub(super) fn damaged(&self, object: &str, why: impl Into<String>) -> SnapshotError {
        SnapshotError::Damaged { id: self.id.clone(), object: object.to_owned(), why: why.into() }
    }

    /// Returns the name of the object of a part.
    pub(super) fn object(&self, part: &SnapshotPart) -> String {
        object(&self.id, &part.stored)
    }
}

impl<'a> From<&'a StoredBlob> for NotedObject<'a> {
    fn from(stored: &'a StoredBlob) -> Self {
        Self { object: &stored.object, bytes: stored.bytes, sha256: &stored.sha256 }
    }
}
