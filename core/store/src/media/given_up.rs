//! Files that are not stored: skipped while backup is paused, or given up.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, Tx, locking};
use super::super::ingest::{Skips, lock_ledger, open_gap};
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewOutboxEvent, log};
use super::super::{MediaStore, StoreError, parsed};
use super::{MediaReason, MediaStatus, file_kind};
use crate::query::{query, query_as};

const RECORD: Sql =
    locking!("SELECT status, type, sent_at FROM media WHERE channel_id = $1 AND message_id = $2");

const SKIPPED: &str = "
    UPDATE media SET status = 'skipped', reason = $3
    WHERE channel_id = $1 AND message_id = $2";

const GIVEN_UP: &str = "
    UPDATE media SET status = $3, reason = $4
    WHERE channel_id = $1 AND message_id = $2 AND status IN ('pending', 'failed')";

/// Present, locked record of a file.
pub(super) struct LockedRecord {
    pub(super) status: MediaStatus,
    pub(super) kind: MessageType,
    /// Time at which its message was sent.
    pub(super) sent_at: Option<Timestamp>,
}

impl MediaStore<'_> {
    /// Skips a pending file when backup of its channel is paused, so that it need not be downloaded
    /// in vain; the gap is recorded. `false` when it is not paused.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn skip_media(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        if !self.store.accounts().backup_state(channel).await?.is_paused() {
            return Ok(false);
        }
        let mut tx = self.store.db.begin().await?;
        let skipped = skip_if_paused(&mut tx, channel, message, now).await?;
        tx.commit().await?;
        Ok(skipped)
    }

    /// Marks a pending file as failed because it cannot be downloaded. `false` when not pending.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn fail_media(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        reason: MediaReason,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.give_up(channel, message, (MediaStatus::Failed, reason), now).await
    }

    /// Marks a pending file as expired because the platform no longer has it. `false` when not
    /// pending.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn expire_media(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let why = (MediaStatus::Expired, MediaReason::GoneFromPlatform);
        self.give_up(channel, message, why, now).await
    }

    async fn give_up(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        (status, reason): (MediaStatus, MediaReason),
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (channel, message) = (channel.as_str(), message.as_str());
        let (state, reason) = (status.name(), reason.name());
        let mut tx = self.store.db.begin().await?;
        let changed = tx
            .execute(query(GIVEN_UP).bind(channel).bind(message).bind(state).bind(reason))
            .await?;
        if changed > 0 {
            let kind = OutboxEventKind::MediaFailed.name();
            let failed =
                NewOutboxEvent { kind, at: now.millis(), c: Some(channel), s: Some(message) };
            log(&mut tx, &[failed], now).await?;
        }
        tx.commit().await?;
        Ok(changed > 0)
    }
}

async fn skip_if_paused(
    tx: &mut Tx,
    channel: &ChannelId,
    message: &MessageId,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let ledger = lock_ledger(tx, &BTreeSet::from([channel])).await?;
    if !ledger.subscribed(channel) || !ledger.paused(channel) {
        return Ok(false);
    }
    let waits =
        |record: &LockedRecord| matches!(record.status, MediaStatus::Pending | MediaStatus::Failed);
    if let Some(record) = record(tx, channel, message).await?.filter(waits) {
        skip(tx, (channel, message), record.sent_at.unwrap_or(now), now).await?;
    }
    Ok(true)
}

/// Locks the record of a file.
pub(super) async fn record(
    tx: &mut Tx,
    channel: &ChannelId,
    message: &MessageId,
) -> Result<Option<LockedRecord>, StoreError> {
    let row: Option<(String, Option<String>, Option<i64>)> =
        tx.fetch_optional(query_as(RECORD).bind(channel.as_str()).bind(message.as_str())).await?;
    let Some((status, kind, sent_at)) = row else {
        return Ok(None);
    };
    let status = parsed(MediaStatus::parse(&status), "media", "status", message.as_str())?;
    let (kind, sent_at) = (file_kind(kind.as_deref()), sent_at.map(Timestamp::from_millis));
    Ok(Some(LockedRecord { status, kind, sent_at }))
}

/// Marks a file as skipped, and records the gap.
pub(super) async fn skip(
    tx: &mut Tx,
    (channel, message): (&ChannelId, &MessageId),
    from: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (c, m, reason) = (channel.as_str(), message.as_str(), MediaReason::Quota.name());
    tx.execute(query(SKIPPED).bind(c).bind(m).bind(reason)).await?;
    open_gap(tx, channel, &Skips { from, count: 1 }, now).await
}
