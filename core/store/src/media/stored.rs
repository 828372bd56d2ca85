//! Files that are stored, in one transaction with the counters.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::time::Timestamp;

use super::MediaStatus;
use super::given_up::{LockedRecord, record, skip};
use super::orphans::{BlobClaim, hold, release};
use crate::db::Tx;
use crate::ingest::{close_gaps, is_undone, lock_ledger, save_ledger};
use crate::ledger::Ledger;
use crate::outbox_kind::OutboxEventKind;
use crate::outbox_log::{NewOutboxEvent, log};
use crate::query::query;
use crate::{ImportId, MediaStore, StoreError};

/// Uploaded file with claimed blobs.
#[derive(Clone, Debug)]
pub struct NewMedia {
    /// Claim on its blob.
    pub claim: BlobClaim,
    /// Size in bytes, which is what it counts for.
    pub bytes: i64,
    /// Content type, as detected from its first bytes.
    pub content_type: String,
    /// Preview picture: the claim on its blob, and its content type.
    pub preview: Option<(BlobClaim, String)>,
}

/// Outcome of storing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaOutcome {
    /// Stored and counted.
    Stored,
    /// Stored, or skipped, before.
    Known,
    /// Backup of the channel is paused; the gap is recorded.
    Skipped,
    /// Its message was retracted or deleted meanwhile, or there was none.
    Unwanted,
    /// The blob was swept meanwhile: put it again.
    BlobGone,
    /// It is of an import that was undone meanwhile.
    Undone,
}

/// A record whose file was lost keeps its preview unless it gets another one.
const STORED: &str = "
    UPDATE media SET status = 'stored', reason = NULL, bytes = $3, stored_at = $4, sha256 = $5,
                     content_type = $6, preview_sha256 = COALESCE($7, preview_sha256),
                     preview_type = COALESCE($8, preview_type), lost_stored_at = NULL
    WHERE channel_id = $1 AND message_id = $2";

const IMPORTED: &str = "
    UPDATE media SET import_id = $3 WHERE channel_id = $1 AND message_id = $2";
const COUNT_IMPORTED: &str = "
    UPDATE imports SET files = files + 1, active_at = $2 WHERE import_id = $1";

/// File in its transaction.
struct Storing<'a> {
    channel: &'a ChannelId,
    message: &'a MessageId,
    media: &'a NewMedia,
    now: Timestamp,
    /// Import that it comes from.
    import: Option<ImportId>,
}

impl MediaStore<'_> {
    /// Stores a file for a message, in one transaction with the counters. Each message counts for
    /// the whole file, also when others hold the same blob. Repeating it changes nothing more. The
    /// claims on its blobs end, whatever the outcome.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn store_media(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        media: &NewMedia,
        now: Timestamp,
    ) -> Result<MediaOutcome, StoreError> {
        let storing = Storing { channel, message, media, now, import: None };
        let mut tx = self.store.db.begin().await?;
        let kept = storing.run(&mut tx).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// Stores a file from an import in the same way;
    /// [`ImportStore::undo_import`](crate::ImportStore::undo_import) removes it again, and from then on
    /// nothing of the import is stored.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn store_imported_media(
        &self,
        import: ImportId,
        (channel, message): (&ChannelId, &MessageId),
        media: &NewMedia,
        now: Timestamp,
    ) -> Result<MediaOutcome, StoreError> {
        let storing = Storing { channel, message, media, now, import: Some(import) };
        let mut tx = self.store.db.begin().await?;
        let kept = storing.run(&mut tx).await?;
        if kept == MediaOutcome::Stored {
            let number = import.number();
            let (c, m) = (channel.as_str(), message.as_str());
            tx.execute(query(IMPORTED).bind(c).bind(m).bind(number)).await?;
            tx.execute(query(COUNT_IMPORTED).bind(number).bind(now.millis())).await?;
        }
        tx.commit().await?;
        Ok(kept)
    }
}

impl Storing<'_> {
    async fn run(&self, tx: &mut Tx) -> Result<MediaOutcome, StoreError> {
        let mut ledger = lock_ledger(tx, &BTreeSet::from([self.channel])).await?;
        if let Some(import) = self.import
            && is_undone(tx, import).await?
        {
            release(tx, &self.claims()).await?;
            return Ok(MediaOutcome::Undone);
        }
        let kept = match record(tx, self.channel, self.message).await? {
            None => MediaOutcome::Unwanted,
            Some(LockedRecord { status: MediaStatus::Stored | MediaStatus::Skipped, .. }) => {
                MediaOutcome::Known
            }
            Some(record) => self.charge(tx, &mut ledger, &record).await?,
        };
        release(tx, &self.claims()).await?;
        Ok(kept)
    }

    async fn charge(
        &self,
        tx: &mut Tx,
        ledger: &mut Ledger,
        record: &LockedRecord,
    ) -> Result<MediaOutcome, StoreError> {
        // Without subscribers nobody pays, and the stored remainder of the message is completed.
        if ledger.subscribed(self.channel) && ledger.paused(self.channel) {
            let from = record.sent_at.unwrap_or(self.now);
            skip(tx, (self.channel, self.message), from, self.now).await?;
            return Ok(MediaOutcome::Skipped);
        }
        for claim in self.claims() {
            if !hold(tx, claim).await? {
                return Ok(MediaOutcome::BlobGone);
            }
        }
        let at = ledger.storing_time(self.channel, self.now);
        ledger.charge_file(self.channel, at, record.kind, self.media.bytes);
        self.save(tx, at).await?;
        save_ledger(tx, ledger, self.now).await?;
        let uploaded = NewOutboxEvent {
            kind: OutboxEventKind::FileUploaded.name(),
            at: self.now.millis(),
            c: Some(self.channel.as_str()),
            s: Some(self.message.as_str()),
        };
        log(tx, &[uploaded], self.now).await?;
        if ledger.subscribed(self.channel) {
            close_gaps(tx, &BTreeSet::from([self.channel.clone()]), self.now).await?;
        }
        Ok(MediaOutcome::Stored)
    }

    async fn save(&self, tx: &mut Tx, at: Timestamp) -> Result<(), StoreError> {
        let media = self.media;
        let preview = media.preview.as_ref();
        tx.execute(
            query(STORED)
                .bind(self.channel.as_str())
                .bind(self.message.as_str())
                .bind(media.bytes)
                .bind(at.millis())
                .bind(media.claim.blob().as_str())
                .bind(&media.content_type)
                .bind(preview.map(|(claim, _)| claim.blob().as_str()))
                .bind(preview.map(|(_, kind)| kind.as_str())),
        )
        .await?;
        Ok(())
    }

    /// Returns the claims in order of names, which is the lock order of marks.
    fn claims(&self) -> Vec<&BlobClaim> {
        let preview = self.media.preview.as_ref().map(|(claim, _)| claim);
        let mut claims: Vec<_> = std::iter::once(&self.media.claim).chain(preview).collect();
        claims.sort_by_key(|claim| claim.blob());
        claims
    }
}
