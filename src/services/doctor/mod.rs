//! The doctor: compares records with the actual state (rows, files, search index), and repairs
//! differences. `chatkeep doctor` is its command; tests call [`check`].
//!
//! It may run beside the service. Each part is checked in one snapshot of the database, and
//! anything outside of it (files, index) is checked a second time before it counts as a difference.

mod awaited;
mod files;
mod index;
mod replicas;
mod report;

use std::collections::BTreeMap;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_bus::BusError;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ChannelAudit, Difference, Store, StoreError};
use chatkeep_workers::replica::ReplicaError;

use crate::media_store::MediaStoreError;

pub use index::LocalIndex;
pub use replicas::Replicas;
pub use replicas::answer_checks;
pub use report::{CheckedCounts, Finding, Report};

/// Page size when reading users.
const USERS: u32 = 500;
/// Timeout in [`check`] for a running indexer to catch up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Error of a check.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Blobs(#[from] BlobError),
    #[error(transparent)]
    MediaStore(#[from] MediaStoreError),
    #[error(transparent)]
    Index(#[from] ReplicaError),
    #[error("the bus failed")]
    Bus(#[from] BusError),
    #[error("a request to the search replicas cannot be written")]
    Json(#[from] serde_json::Error),
}

/// Resources for repairs.
#[derive(Clone, Debug)]
pub struct Repair {
    pub clock: SharedClock,
}

/// Options of a check.
#[derive(Clone, Debug, Default)]
pub struct DoctorOptions {
    /// Read every media file and compare its SHA-256 with its name.
    pub deep: bool,
    /// Restriction to these channels and their subscribers.
    pub channels: Option<Vec<ChannelId>>,
    /// Time that the index may be behind before it counts as a difference.
    pub timeout: Duration,
    /// Repair differences.
    pub repair: Option<Repair>,
    /// Files that are checked.
    pub files: FileChecks,
}

/// Files that a check looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileChecks {
    /// Those of the records, and those that nothing refers to.
    #[default]
    All,
    /// Those of the records: something that is not stored yet may refer to others.
    Recorded,
    /// None; records are checked by themselves.
    None,
}

/// A check: its subjects and options.
pub struct Doctor<'a> {
    pub store: &'a Store,
    /// Media store; `None` when it cannot be read, and no files are checked.
    pub blobs: Option<&'a Blobs>,
    /// Search indexes in local folders.
    pub indexes: &'a [LocalIndex],
    /// Search indexes of running processes.
    pub replicas: Option<Replicas<'a>>,
    pub options: DoctorOptions,
}

impl std::fmt::Debug for Doctor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doctor").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Callback for each finding as soon as there is one.
pub type FindingListener<'a> = &'a mut (dyn FnMut(&Finding) + Send);

/// Checks everything without changing anything.
///
/// # Errors
/// Returns an error if something cannot be read.
#[boxed]
pub async fn check(
    store: &Store,
    blobs: &Blobs,
    indexes: &[LocalIndex],
) -> Result<Report, DoctorError> {
    let options = DoctorOptions { timeout: TIMEOUT, ..DoctorOptions::default() };
    Doctor { store, blobs: Some(blobs), indexes, replicas: None, options }.run(&mut |_| {}).await
}

impl DoctorError {
    /// Returns true for a failure of the media store.
    const fn is_of_media_store(&self) -> bool {
        matches!(self, Self::Blobs(_) | Self::MediaStore(MediaStoreError::Blobs(_)))
    }

    /// Returns true for a failure of a search index alone.
    const fn is_of_index(&self) -> bool {
        matches!(self, Self::Index(error) if !matches!(error, ReplicaError::Store(_)))
    }
}

impl Doctor<'_> {
    /// Checks, repairs where requested, and reports the findings.
    ///
    /// A media store, search index or bus that fails is in the report, and the rest is checked.
    ///
    /// # Errors
    /// Returns an error if the database fails, or the media store turns out to be another one.
    /// Repairs made by then are kept.
    #[boxed]
    pub async fn run<'s>(&'s self, listener: FindingListener<'s>) -> Result<Report, DoctorError> {
        let mut report = report::ReportWriter::new(listener);
        let mut parts = BTreeMap::new();
        for channel in self.channels().await? {
            Box::pin(self.channel(&channel, &mut parts, &mut report)).await?;
            Box::pin(self.media(&channel, &mut report)).await?;
        }
        Box::pin(self.users(&parts, &mut report)).await?;
        if self.options.channels.is_none() {
            self.loose_rows(&mut report).await?;
            if self.options.files == FileChecks::All {
                Box::pin(self.unreferenced_files(&mut report)).await?;
            }
        }
        Box::pin(self.local_indexes(&mut report)).await?;
        Box::pin(self.running_replicas(&mut report)).await?;
        Ok(report.end())
    }

    async fn channels(&self) -> Result<Vec<ChannelId>, StoreError> {
        match &self.options.channels {
            Some(channels) => Ok(channels.clone()),
            None => self.store.channels().channel_ids().await,
        }
    }

    /// Returns the present time, if repairs are requested.
    fn repairing(&self) -> Option<Timestamp> {
        self.options.repair.as_ref().map(|repair| repair.clock.now())
    }

    async fn channel(
        &self,
        channel: &ChannelId,
        parts: &mut BTreeMap<UserId, i64>,
        report: &mut report::ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let Some(audit) = self.store.audits().audit_channel(channel).await? else {
            return Ok(());
        };
        let ChannelAudit { differences, parts: off, messages } = audit;
        report.checked.channels += 1;
        report.checked.messages += messages;
        let repaired = match self.repairing() {
            Some(now) if !differences.is_empty() => {
                self.store.audits().repair_channel(channel, now).await?;
                true
            }
            _ => false,
        };
        if !repaired {
            for (user, bytes) in off {
                *parts.entry(user).or_default() += bytes;
            }
        }
        report.add(differences, repaired);
        Ok(())
    }

    async fn users(
        &self,
        parts: &BTreeMap<UserId, i64>,
        report: &mut report::ReportWriter<'_>,
    ) -> Result<(), DoctorError> {
        let only = self.options.channels.as_deref();
        let mut after = None;
        loop {
            let page = self.store.audits().audit_users(after.as_ref(), only, parts, USERS).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.user.clone());
            for audit in page {
                report.checked.users += 1;
                let repaired = match self.repairing() {
                    Some(now) if !audit.differences.is_empty() => {
                        self.store.audits().repair_user(&audit.user, now).await?;
                        true
                    }
                    _ => false,
                };
                report.add(audit.differences, repaired);
            }
        }
    }

    async fn loose_rows(&self, report: &mut report::ReportWriter<'_>) -> Result<(), DoctorError> {
        let (spare, precious) = self.store.audits().orphaned_rows().await?;
        let repaired = self.repairing().is_some() && !spare.is_empty();
        if repaired {
            self.store.audits().delete_orphaned_rows().await?;
        }
        report.add(spare, repaired);
        report.add(precious, false);
        Ok(())
    }
}

/// Returns one difference as a list.
fn one(difference: Difference) -> [Difference; 1] {
    [difference]
}
