//! Errors of snapshots, each a sentence that says what to do.

use std::io;

use chatkeep_blobs::{ArchiveError, BlobError};
use chatkeep_bus::BusError;
use chatkeep_store::StoreError;

use super::OtherSnapshotTarget;
use crate::doctor::DoctorError;
use crate::media_store::MediaStoreError;

/// Error of making, checking or restoring a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("no snapshot target is set: give --target, or set snapshot.target")]
    NoTarget,
    #[error(
        "the media store {media} is inside the snapshot target {target}, where files that no snapshot \
         lists are deleted: choose another target (snapshot.target or --target)"
    )]
    Overlaps { target: String, media: String },
    #[error("snapshot.recipients: {0:?} is not a public key of age (age1…)")]
    Recipient(String),
    #[error("the keys of snapshot.recipients cannot be used together: {0}")]
    Recipients(String),
    #[error("cannot read the identities in {file}: {why}")]
    Identity { file: String, why: String },
    #[error("snapshot {0} is encrypted: give --identity FILE")]
    Encrypted(String),
    #[error("{object} cannot be decrypted with these identities: {why}")]
    Undecryptable { object: String, why: String },
    #[error(
        "{0} has snapshots or erasures of another database, which would be replaced: restore them \
         first, or choose another target; if they belong to this database (written by an earlier \
         build), or nobody needs them, run `chatkeep snapshot adopt`"
    )]
    Foreign(String),
    #[error(transparent)]
    OtherTarget(#[from] OtherSnapshotTarget),
    #[error(
        "{place} led to another target in the meantime, perhaps because its disk was unmounted: \
         snapshot {id} is incomplete and does not count"
    )]
    TargetChanged { id: String, place: String },
    #[error("another snapshot or prune of this deployment is running")]
    Busy,
    #[error(
        "the disk of {folder} has {free} bytes free, and a snapshot needs {needed}, of which {reserve} \
         are disk.ingress_reserve_bytes: make room there, or run `chatkeep snapshot prune`"
    )]
    NoSpace { folder: String, needed: u64, free: u64, reserve: u64 },
    #[error("there is no snapshot {id} in {place}; `chatkeep snapshot list` shows them")]
    Unknown { id: String, place: String },
    #[error(
        "snapshot {0} was never finished and cannot be restored; the next snapshot or prune removes it"
    )]
    Unfinished(String),
    #[error("snapshot {id} is damaged: {object} {why}")]
    Damaged { id: String, object: String, why: String },
    #[error(
        "snapshot {id} is damaged: {object}, a file of messages, {why}; \
         --skip-damaged-files restores everything else"
    )]
    DamagedFile { id: String, object: String, why: String },
    #[error(
        "snapshot {id} was made by a newer chatkeep ({program}; schema {schema}, this one knows \
         {known}): restore it with that version"
    )]
    Newer { id: String, program: String, schema: i64, known: i64 },
    #[error("{0} exists already: a snapshot is restored into a new folder")]
    Exists(String),
    #[error(
        "the media store {media} is inside of the new folder {folder}, and is not {folder}/blobs: \
         give --blobs another place"
    )]
    InNewFolder { folder: String, media: String },
    #[error("another restore into {0} is running")]
    Restoring(String),
    #[error("snapshot {0} is of an embedded deployment: give --into FOLDER")]
    NeedsFolder(String),
    #[error(
        "snapshot {0} holds no database: restore the dump of PostgreSQL first, then give --database \
         instead of --into"
    )]
    NeedsDatabase(String),
    #[error("{0} processes use this database: stop them first")]
    InUse(usize),
    #[error(
        "the restored data differs in {0} places from what it should be, which cannot be repaired: \
         do not use it"
    )]
    Differs(u64),
    #[error("the restored data could not be checked: {0}")]
    Unchecked(String),
    #[error("{0}; nothing is removed until its folder is")]
    Unprunable(String),
    #[error("a ledger of erasures cannot be read: {0}")]
    Ledger(#[source] serde_json::Error),
    #[error("a list of a snapshot cannot be written")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error(transparent)]
    Blobs(#[from] BlobError),
    #[error(transparent)]
    MediaStore(#[from] MediaStoreError),
    #[error(transparent)]
    Doctor(#[from] DoctorError),
    #[error("a file of the snapshot failed")]
    Io(#[from] io::Error),
}

impl SnapshotError {
    /// Returns true if the error is about one snapshot, and others may be whole.
    pub(super) const fn is_about_one(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Newer { .. } | Self::Unfinished(_))
    }
}
