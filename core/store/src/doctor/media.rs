//! Checks media records against their messages, and repairs them. The caller checks that their
//! files exist.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, Tx, locking};
use super::super::ingest::{BulkKey, lock_ledger, save_ledger};
use super::super::ledger::Ledger;
use super::super::media::{erase_media, file_kind, mark, names};
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewOutboxEvent, log};
use super::super::{AuditStore, MediaStatus, StoreError};
use crate::query::{query, query_as};

/// Inconsistency of a media record by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaFault {
    /// Its message does not exist.
    NoMessage,
    /// Its message is of a type without a file.
    NotMedia,
    /// Its message was retracted.
    TakenBack,
    /// Stored, but without a blob or a storing time.
    Nowhere,
    /// Not stored, and yet with a file or bytes.
    NotStored,
}

/// Media record with the result of its check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaAudit {
    /// Message id.
    pub message: MessageId,
    /// Inconsistency of the record by itself.
    pub fault: Option<MediaFault>,
    /// Status.
    pub status: String,
    /// Counted bytes.
    pub bytes: i64,
    /// Blob of the file.
    pub blob: Option<BlobId>,
    /// Blob of the preview picture.
    pub preview: Option<BlobId>,
}

/// Repair of a media record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaRepair {
    /// Deletes the record.
    Drop,
    /// Marks the record as failed, for that reason: the file is lost, and it counts for nothing.
    Lose(&'static str),
    /// Clears the bytes and the files of a record that is not stored.
    Empty,
    /// Sets the size of the file in bytes.
    Resize(i64),
    /// Removes the lost preview picture.
    DropPreview,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct AuditRow {
    message_id: String,
    status: String,
    bytes: i64,
    stored_at: Option<i64>,
    sha256: Option<String>,
    preview_sha256: Option<String>,
    known: Option<String>,
    kind: Option<String>,
    unsent_at: Option<i64>,
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
}

macro_rules! records {
    ($where:literal) => {
        concat!(
            "SELECT f.message_id, f.status, f.bytes, f.stored_at, f.sha256, f.preview_sha256,
                    m.message_id AS known, m.type AS kind, m.unsent_at
             FROM media f
             LEFT JOIN messages m
               ON m.channel_id = f.channel_id AND m.message_id = f.message_id
             WHERE f.channel_id = $1 AND ",
            $where
        )
    };
}

const PAGE: &str = records!("f.message_id > $2 ORDER BY f.message_id LIMIT $3");
const ONE: &str = records!("f.message_id = $2");

const LOCK: Sql = locking!(
    "SELECT status, type AS kind, bytes, stored_at, sha256, preview_sha256 FROM media
     WHERE channel_id = $1 AND message_id = $2"
);
const LOST: &str = "
    UPDATE media SET status = 'failed', reason = $3, bytes = 0, stored_at = NULL, sha256 = NULL,
                     content_type = NULL, preview_sha256 = NULL, preview_type = NULL
    WHERE channel_id = $1 AND message_id = $2";
const EMPTY: &str = "
    UPDATE media SET bytes = 0, stored_at = NULL, sha256 = NULL, content_type = NULL,
                     preview_sha256 = NULL, preview_type = NULL
    WHERE channel_id = $1 AND message_id = $2";
const RESIZE: &str = "UPDATE media SET bytes = $3 WHERE channel_id = $1 AND message_id = $2";
const DROP_PREVIEW: &str = "
    UPDATE media SET preview_sha256 = NULL, preview_type = NULL
    WHERE channel_id = $1 AND message_id = $2";

impl AuditStore<'_> {
    /// Returns the media records of a channel, in the order of their messages' ids, after `after`,
    /// at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn audit_media(
        &self,
        channel: &ChannelId,
        after: Option<&MessageId>,
        limit: u32,
    ) -> Result<Vec<MediaAudit>, StoreError> {
        let after = after.map_or("", MessageId::as_str);
        let rows: Vec<AuditRow> = self
            .store
            .db
            .fetch_all(query_as(PAGE).bind(channel.as_str()).bind(after).bind(i64::from(limit)))
            .await?;
        Ok(rows.into_iter().map(MediaAudit::from).collect())
    }

    /// Returns one media record in its present state.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn audit_medium(
        &self,
        channel: &ChannelId,
        message: &MessageId,
    ) -> Result<Option<MediaAudit>, StoreError> {
        let row: Option<AuditRow> = self
            .store
            .db
            .fetch_optional(query_as(ONE).bind(channel.as_str()).bind(message.as_str()))
            .await?;
        Ok(row.map(MediaAudit::from))
    }

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
        row.mend(&mut tx, &mut ledger, BulkKey { c, m: Some(m) }, mend, now).await?;
        save_ledger(&mut tx, &ledger, now).await?;
        tx.commit().await?;
        Ok(true)
    }
}

impl LockedRow {
    fn is(&self, found: &MediaAudit) -> bool {
        self.status == found.status
            && self.bytes == found.bytes
            && id(self.sha256.as_deref()) == found.blob
            && id(self.preview_sha256.as_deref()) == found.preview
    }

    /// Changes the counted bytes of the record. Only stored files count.
    fn charge(&self, ledger: &mut Ledger, channel: &str, bytes: i64) {
        if self.status == MediaStatus::Stored.name() {
            // A record without a storing time counts for all subscribers.
            let stored_at = Timestamp::from_millis(self.stored_at.unwrap_or(i64::MAX));
            let kind = file_kind(self.kind.as_deref());
            ledger.charge_file(&ChannelId::from(channel), stored_at, kind, bytes);
        }
    }

    async fn mend(
        &self,
        tx: &mut Tx,
        ledger: &mut Ledger,
        key: BulkKey<'_>,
        mend: &MediaRepair,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (c, m) = (key.c, key.m.unwrap_or_default());
        match mend {
            MediaRepair::Resize(bytes) => {
                self.charge(ledger, c, bytes - self.bytes);
                tx.execute(query(RESIZE).bind(c).bind(m).bind(bytes)).await?;
            }
            MediaRepair::DropPreview => {
                tx.execute(query(DROP_PREVIEW).bind(c).bind(m)).await?;
            }
            MediaRepair::Lose(reason) => {
                self.charge(ledger, c, -self.bytes);
                tx.execute(query(LOST).bind(c).bind(m).bind(*reason)).await?;
                let kind = OutboxEventKind::MediaFailed.name();
                let failed = NewOutboxEvent { kind, at: now.millis(), c: Some(c), s: Some(m) };
                log(tx, &[failed], now).await?;
            }
            MediaRepair::Empty => {
                tx.execute(query(EMPTY).bind(c).bind(m)).await?;
            }
            MediaRepair::Drop => {
                self.charge(ledger, c, -self.bytes);
                tx.execute(query(EMPTY).bind(c).bind(m)).await?;
                erase_media(tx, ledger, &[key]).await?;
            }
        }
        let blobs = [&self.sha256, &self.preview_sha256].map(|name| id(name.as_deref()));
        let blobs = names(blobs.iter().flatten().map(BlobId::as_str))?;
        mark(tx, &blobs).await
    }
}

impl From<AuditRow> for MediaAudit {
    fn from(row: AuditRow) -> Self {
        Self {
            fault: row.fault(),
            blob: id(row.sha256.as_deref()),
            preview: id(row.preview_sha256.as_deref()),
            message: row.message_id.into(),
            status: row.status,
            bytes: row.bytes,
        }
    }
}

impl AuditRow {
    fn fault(&self) -> Option<MediaFault> {
        let is_media = self.kind.as_deref().and_then(MessageType::parse);
        if self.known.is_none() {
            return Some(MediaFault::NoMessage);
        }
        if !is_media.is_some_and(MessageType::is_media) {
            return Some(MediaFault::NotMedia);
        }
        if self.unsent_at.is_some() {
            return Some(MediaFault::TakenBack);
        }
        if self.status == MediaStatus::Stored.name() {
            let whole = self.stored_at.is_some() && id(self.sha256.as_deref()).is_some();
            return (!whole).then_some(MediaFault::Nowhere);
        }
        let holds = self.bytes != 0 || self.sha256.is_some() || self.preview_sha256.is_some();
        holds.then_some(MediaFault::NotStored)
    }
}

impl MediaFault {
    /// Returns the inconsistency in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoMessage => "no such message",
            Self::NotMedia => "the message's type has no file",
            Self::TakenBack => "the message was taken back",
            Self::Nowhere => "where and since when is not said",
            Self::NotStored => "nothing is stored",
        }
    }

    /// Returns the repair.
    pub const fn mend(self) -> MediaRepair {
        match self {
            Self::NoMessage | Self::NotMedia | Self::TakenBack => MediaRepair::Drop,
            Self::Nowhere => MediaRepair::Lose("file_lost"),
            Self::NotStored => MediaRepair::Empty,
        }
    }
}

fn id(name: Option<&str>) -> Option<BlobId> {
    name.and_then(BlobId::parse)
}
