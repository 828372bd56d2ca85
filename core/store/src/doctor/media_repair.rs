//! Repairs of media records, in one transaction with the counters.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, Tx, locking};
use super::super::ingest::{BulkKey, lock_ledger, save_ledger};
use super::super::ledger::Ledger;
use super::super::media::{erase_media, file_kind, mark, names};
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewOutboxEvent, log};
use super::super::{AuditStore, MediaReason, MediaStatus, StoreError};
use super::media::{MediaAudit, id, is_lost};
use crate::query::{query, query_as};

/// Repair of a media record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaRepair {
    /// Deletes the record.
    Drop,
    /// Marks the record as failed: the file is not there, and counts for nothing. Nothing deletes
    /// it should it come back.
    Lose,
    /// Marks the record as failed: the file has another content, counts for nothing and is deleted.
    Discard,
    /// Marks the record as stored: the lost file, of that many bytes, is there again.
    Find(i64),
    /// Clears the bytes and the files of a record that is not stored.
    Empty,
    /// Sets the size of the file in bytes.
    Resize(i64),
    /// Removes the lost preview picture.
    DropPreview,
}

/// Media record with its row locked.
#[derive(Debug, sqlx_macros::FromRow)]
struct LockedRow {
    status: String,
    kind: Option<String>,
    bytes: i64,
    stored_at: Option<i64>,
    sha256: Option<String>,
    preview_sha256: Option<String>,
    lost_stored_at: Option<i64>,
}

const LOCK: Sql = locking!(
    "SELECT status, type AS kind, bytes, stored_at, sha256, preview_sha256, lost_stored_at
     FROM media WHERE channel_id = $1 AND message_id = $2"
);
/// The record goes on naming the file and its preview.
const MARK_LOST: &str = "
    UPDATE media SET status = 'failed', reason = $4, bytes = 0, stored_at = NULL,
                     lost_stored_at = $3
    WHERE channel_id = $1 AND message_id = $2";
const FOUND: &str = "
    UPDATE media SET status = 'stored', reason = NULL, bytes = $3, stored_at = lost_stored_at,
                     lost_stored_at = NULL
    WHERE channel_id = $1 AND message_id = $2";
const FAILED: &str = "
    UPDATE media SET status = 'failed', reason = $3, bytes = 0, stored_at = NULL, sha256 = NULL,
                     content_type = NULL, preview_sha256 = NULL, preview_type = NULL,
                     lost_stored_at = NULL
    WHERE channel_id = $1 AND message_id = $2";
const EMPTY: &str = "
    UPDATE media SET bytes = 0, stored_at = NULL, sha256 = NULL, content_type = NULL,
                     preview_sha256 = NULL, preview_type = NULL, lost_stored_at = NULL
    WHERE channel_id = $1 AND message_id = $2";
const RESIZE: &str = "UPDATE media SET bytes = $3 WHERE channel_id = $1 AND message_id = $2";
const DROP_PREVIEW: &str = "
    UPDATE media SET preview_sha256 = NULL, preview_type = NULL
    WHERE channel_id = $1 AND message_id = $2";

/// Media record to repair, in the transaction that has locked it.
struct MediaRecordInTx<'a> {
    tx: &'a mut Tx,
    ledger: &'a mut Ledger,
    channel: &'a str,
    message: &'a str,
    now: Timestamp,
}

impl AuditStore<'_> {
    /// Repairs a media record, with the counters. `false`, without a change, when it is not in the
    /// audited state any more.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn mend_media(
        &self,
        channel: &ChannelId,
        found: &MediaAudit,
        mend: &MediaRepair,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (c, m) = (channel.as_str(), found.message.as_str());
        let mut tx = self.store.db.begin().await?;
        let mut ledger = lock_ledger(&mut tx, &BTreeSet::from([channel])).await?;
        let row: Option<LockedRow> = tx.fetch_optional(query_as(LOCK).bind(c).bind(m)).await?;
        let Some(row) = row.filter(|row| row.is(found)) else {
            return Ok(false);
        };
        let mut record =
            MediaRecordInTx { tx: &mut tx, ledger: &mut ledger, channel: c, message: m, now };
        row.mend(&mut record, mend).await?;
        save_ledger(&mut tx, &ledger, now).await?;
        tx.commit().await?;
        Ok(true)
    }
}

impl LockedRow {
    fn is(&self, found: &MediaAudit) -> bool {
        self.status == found.status
            && self.bytes == found.bytes
            && self.blob() == found.blob
            && id(self.preview_sha256.as_deref()) == found.preview
            && is_lost(&self.status, self.lost_stored_at, found.blob.as_ref()) == found.lost
    }

    fn blob(&self) -> Option<BlobId> {
        id(self.sha256.as_deref())
    }

    /// Changes the counted bytes of the record. Only stored files count.
    fn charge(&self, ledger: &mut Ledger, channel: &str, bytes: i64) {
        if self.status == MediaStatus::Stored.name() {
            // A record without a storing time counts for all subscribers.
            self.charge_since(ledger, channel, self.stored_at.unwrap_or(i64::MAX), bytes);
        }
    }

    /// Changes the bytes that a file stored at `stored_at` counts for.
    fn charge_since(&self, ledger: &mut Ledger, channel: &str, stored_at: i64, bytes: i64) {
        let (channel, stored_at) = (ChannelId::from(channel), Timestamp::from_millis(stored_at));
        ledger.charge_file(&channel, stored_at, file_kind(self.kind.as_deref()), bytes);
    }

    async fn mend(
        &self,
        record: &mut MediaRecordInTx<'_>,
        mend: &MediaRepair,
    ) -> Result<(), StoreError> {
        let (c, m) = (record.channel, record.message);
        match mend {
            MediaRepair::Resize(bytes) => {
                self.charge(record.ledger, c, bytes - self.bytes);
                record.tx.execute(query(RESIZE).bind(c).bind(m).bind(bytes)).await?;
            }
            MediaRepair::DropPreview => {
                record.tx.execute(query(DROP_PREVIEW).bind(c).bind(m)).await?;
                // What is not there needs no mark: it would be deleted should it come back.
                return Ok(());
            }
            MediaRepair::Lose if self.blob().is_some() => return self.lose(record).await,
            MediaRepair::Lose => self.fail(record, MediaReason::FileLost).await?,
            MediaRepair::Discard => self.fail(record, MediaReason::FileDamaged).await?,
            MediaRepair::Find(bytes) => self.find(record, *bytes).await?,
            MediaRepair::Empty => {
                record.tx.execute(query(EMPTY).bind(c).bind(m)).await?;
            }
            MediaRepair::Drop => {
                self.charge(record.ledger, c, -self.bytes);
                record.tx.execute(query(EMPTY).bind(c).bind(m)).await?;
                erase_media(record.tx, record.ledger, &[BulkKey { c, m: Some(m) }]).await?;
            }
        }
        let blobs = [&self.sha256, &self.preview_sha256].map(|name| id(name.as_deref()));
        let blobs = names(blobs.iter().flatten().map(BlobId::as_str))?;
        mark(record.tx, &blobs).await
    }

    /// Notes that the file is not there. Its blob gets no mark, for the record goes on holding it.
    async fn lose(&self, record: &mut MediaRecordInTx<'_>) -> Result<(), StoreError> {
        let (c, m) = (record.channel, record.message);
        self.charge(record.ledger, c, -self.bytes);
        let stored_at = self.stored_at.unwrap_or(record.now.millis());
        let reason = MediaReason::FileLost.name();
        record.tx.execute(query(MARK_LOST).bind(c).bind(m).bind(stored_at).bind(reason)).await?;
        record.log_event(OutboxEventKind::MediaFailed).await
    }

    /// Gives the file up.
    async fn fail(
        &self,
        record: &mut MediaRecordInTx<'_>,
        reason: MediaReason,
    ) -> Result<(), StoreError> {
        let (c, m) = (record.channel, record.message);
        self.charge(record.ledger, c, -self.bytes);
        record.tx.execute(query(FAILED).bind(c).bind(m).bind(reason.name())).await?;
        record.log_event(OutboxEventKind::MediaFailed).await
    }

    /// Makes a lost file count again, as it did before.
    async fn find(&self, record: &mut MediaRecordInTx<'_>, bytes: i64) -> Result<(), StoreError> {
        let (c, m) = (record.channel, record.message);
        if let Some(stored_at) = self.lost_stored_at {
            self.charge_since(record.ledger, c, stored_at, bytes);
        }
        record.tx.execute(query(FOUND).bind(c).bind(m).bind(bytes)).await?;
        record.log_event(OutboxEventKind::FileUploaded).await
    }
}

impl MediaRecordInTx<'_> {
    /// Logs the repair for readers of the outbox.
    async fn log_event(&mut self, kind: OutboxEventKind) -> Result<(), StoreError> {
        let (c, s) = (Some(self.channel), Some(self.message));
        let event = NewOutboxEvent { kind: kind.name(), at: self.now.millis(), c, s };
        log(self.tx, &[event], self.now).await
    }
}
