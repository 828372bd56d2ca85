//! Checks media records against their messages. The caller checks that their files exist.

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageType;

use super::super::{AuditStore, MediaStatus, StoreError};
use super::media_repair::MediaRepair;
use crate::query::query_as;

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
    /// `true` if the file was lost: found again, it can be stored again.
    pub lost: bool,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct AuditRow {
    message_id: String,
    status: String,
    bytes: i64,
    stored_at: Option<i64>,
    sha256: Option<String>,
    preview_sha256: Option<String>,
    lost_stored_at: Option<i64>,
    known: Option<String>,
    kind: Option<String>,
    unsent_at: Option<i64>,
}

macro_rules! records {
    ($where:literal) => {
        concat!(
            "SELECT f.message_id, f.status, f.bytes, f.stored_at, f.sha256, f.preview_sha256,
                    f.lost_stored_at, m.message_id AS known, m.type AS kind, m.unsent_at
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
}

impl From<AuditRow> for MediaAudit {
    fn from(row: AuditRow) -> Self {
        Self {
            fault: row.fault(),
            lost: row.is_lost(),
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
        let names = self.sha256.is_some() || self.preview_sha256.is_some();
        let holds = self.bytes != 0 || (names && !self.is_lost());
        holds.then_some(MediaFault::NotStored)
    }

    fn is_lost(&self) -> bool {
        is_lost(&self.status, self.lost_stored_at, id(self.sha256.as_deref()).as_ref())
    }
}

impl MediaFault {
    /// Returns the inconsistency in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoMessage => "no such message",
            Self::NotMedia => "the message's type has no file",
            Self::TakenBack => "the message was retracted",
            Self::Nowhere => "the record lacks its blob or its time of storing",
            Self::NotStored => "nothing is stored",
        }
    }

    /// Returns the repair.
    pub const fn mend(self) -> MediaRepair {
        match self {
            Self::NoMessage | Self::NotMedia | Self::TakenBack => MediaRepair::Drop,
            Self::Nowhere => MediaRepair::Lose,
            Self::NotStored => MediaRepair::Empty,
        }
    }
}

pub(super) fn id(name: Option<&str>) -> Option<BlobId> {
    name.and_then(BlobId::parse)
}

/// Returns `true` for a record that names a file which was lost.
pub(super) fn is_lost(status: &str, lost_stored_at: Option<i64>, blob: Option<&BlobId>) -> bool {
    status != MediaStatus::Stored.name() && lost_stored_at.is_some() && blob.is_some()
}
