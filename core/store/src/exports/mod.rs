//! Exports that are written in the background, in parts: rows that outlive the request, the process
//! and a restart, and files in the media store.
//!
//! A process works on an export under a claim, which it renews while it writes; [`crate::claims`] says
//! what becomes of one whose process ends. No file may outlive what it says: each change or removal of
//! a message is noted in the same transaction ([`changes`]), and a part that was begun before is not
//! read any more. A part is begun under the lock of its channel, before its messages are read, and
//! stored only if it is not out of date by then ([`ExportPart::attempt`]). So a part either has read
//! the change, or is written again.
//!
//! Rows are locked in the order channel, changes, parts, marks of blobs, exports.

mod changes;
mod job;
mod part_rows;
mod rows;
mod writing;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::{DAY, Timestamp};

use changes::{PartKey, release_files};
pub(super) use changes::{outdate_all_exports, outdate_exports};
pub use job::{
    ExportJob, ExportKeyset, ExportPart, ExportStep, NewExportJob, PartBlob, PartOutcome,
    WrittenPart,
};
use part_rows::{DROP, DROP_PARTS, PARTS_OF, PartFileRow};
use rows::{
    ADD, CLAIM, DroppedRow, EXPIRED, ExportRow, FAIL, INTERRUPT, IS_WAITING, OF_PERSON, ONE,
    RELEASE, RENEW, REQUESTED, SURPLUS,
};

use super::claims::{InterruptedRow, report};
use super::db::Tx;
use super::{ExportStore, StoreError, channel_locks};
use crate::query::{query, query_as};

/// Maximum number of exports of a person in a channel: the oldest ones make room for new ones.
pub const EXPORTS_OF_PERSON: i64 = 5;
/// Time after its completion or failure at which an export is deleted.
pub const EXPORT_RETENTION: Duration = DAY.saturating_mul(3);
/// Number of times in a row that an export may end the process which writes it, before it has failed.
pub const EXPORT_INTERRUPTIONS: i64 = 5;

/// Time after which an export that was never completed is deleted.
const ABANDONED: Duration = DAY.saturating_mul(7);
/// Timeout after which a claim that was not renewed is free.
const CLAIM_TIME: Duration = Duration::from_secs(10);
/// Number of consecutive attempts that may fail permanently before the export does.
const FAILURES: i64 = 3;
/// Batch size for the deletion of expired exports.
const SWEEP: i64 = 20;

impl ExportStore<'_> {
    /// Begins an export, or returns the person's equal one that is still to be completed. Of the
    /// requesting person's exports of the channel the oldest ones beyond [`EXPORTS_OF_PERSON`] are
    /// deleted for a new one.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is begun then.
    #[boxed]
    pub async fn begin_export(
        &self,
        new: &NewExportJob<'_>,
        now: Timestamp,
    ) -> Result<ExportJob, StoreError> {
        let (c, by) = (new.channel.as_str(), new.by.as_str());
        let mut tx = self.store.db.begin().await?;
        // Two requests at the same moment wait for each other here.
        channel_locks::lock_one(&mut tx, new.channel).await?;
        if let Some(same) = same(&mut tx, new, now).await? {
            return same.try_into();
        }
        let added = query_as(ADD)
            .bind(new.id)
            .bind(c)
            .bind(by)
            .bind(now.millis())
            .bind(new.format)
            .bind(new.from.map(Timestamp::millis))
            .bind(new.before.millis())
            .bind(new.not_before.map(Timestamp::millis))
            .bind(new.time_zone)
            .bind(new.language)
            .bind(new.total);
        let row: ExportRow = tx.fetch_one(added).await?;
        let others = EXPORTS_OF_PERSON - 1;
        let surplus = query_as(SURPLUS).bind(c).bind(by).bind(others).bind(new.id);
        let surplus: Vec<DroppedRow> = tx.fetch_all(surplus).await?;
        drop_exports(&mut tx, &surplus).await?;
        tx.commit().await?;
        row.try_into()
    }

    /// Claims the export that has waited longest, if there is one. One that ended the process which
    /// wrote it [`EXPORT_INTERRUPTIONS`] times in a row has failed, for the reason `why` that its
    /// caller may know.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_export(
        &self,
        worker: &str,
        why: &str,
        now: Timestamp,
    ) -> Result<Option<ExportJob>, StoreError> {
        let waiting = query_as(IS_WAITING).bind(now.millis());
        let (waiting,): (i64,) = self.store.db.fetch_one(waiting).await?;
        if waiting == 0 {
            return Ok(None);
        }
        let until = now.plus(CLAIM_TIME).millis();
        let interrupted = query_as(INTERRUPT)
            .bind(worker)
            .bind(now.millis())
            .bind(EXPORT_INTERRUPTIONS)
            .bind(why)
            .bind(now.plus(EXPORT_RETENTION).millis());
        let claimed = query_as(CLAIM).bind(worker).bind(until).bind(now.millis());
        let mut tx = self.store.db.begin().await?;
        let interrupted: Vec<InterruptedRow> = tx.fetch_all(interrupted).await?;
        let row: Option<ExportRow> = tx.fetch_optional(claimed).await?;
        tx.commit().await?;
        report(&interrupted);
        row.map(ExportJob::try_from).transpose()
    }

    /// Renews the worker's claim while it writes a part.
    ///
    /// # Errors
    /// Returns an error when the database fails; the claim ends by itself then.
    #[boxed]
    pub async fn renew_export(
        &self,
        export: &ExportJob,
        worker: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let until = now.plus(CLAIM_TIME).millis();
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RENEW).bind(&export.id).bind(worker).bind(until)).await?;
        tx.commit().await
    }

    /// Releases an export for other workers, from `next` on.
    ///
    /// # Errors
    /// Returns an error when the database fails; the claim ends by itself then.
    #[boxed]
    pub async fn release_export(
        &self,
        export: &ExportJob,
        worker: &str,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RELEASE).bind(&export.id).bind(worker).bind(next.millis())).await?;
        tx.commit().await
    }

    /// Records that an attempt failed for a permanent reason. The export is retried from `next` on, a
    /// few times; then it has failed, for the reason `why` that its caller may know.
    ///
    /// # Errors
    /// Returns an error when the database fails; the claim ends by itself then.
    #[boxed]
    pub async fn fail_export(
        &self,
        export: &ExportJob,
        worker: &str,
        why: &str,
        (now, next): (Timestamp, Timestamp),
    ) -> Result<(), StoreError> {
        let failed = query(FAIL)
            .bind(&export.id)
            .bind(worker)
            .bind(next.millis())
            .bind(FAILURES)
            .bind(why)
            .bind(now.millis())
            .bind(now.plus(EXPORT_RETENTION).millis());
        let mut tx = self.store.db.begin().await?;
        tx.execute(failed).await?;
        tx.commit().await
    }

    /// Returns an export of a channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn export(
        &self,
        channel: &ChannelId,
        id: &str,
    ) -> Result<Option<ExportJob>, StoreError> {
        let one = query_as(ONE).bind(channel.as_str()).bind(id);
        let row: Option<ExportRow> = self.store.db.fetch_optional(one).await?;
        row.map(ExportJob::try_from).transpose()
    }

    /// Returns a person's exports of a channel, newest first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn exports_of(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Vec<ExportJob>, StoreError> {
        let all = query_as(OF_PERSON).bind(channel.as_str()).bind(user.as_str());
        let rows: Vec<ExportRow> = self.store.db.fetch_all(all).await?;
        rows.into_iter().map(ExportJob::try_from).collect()
    }

    /// Deletes an export; its files go with the next sweep.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is deleted then.
    #[boxed]
    pub async fn delete_export(&self, export: &ExportJob) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        channel_locks::lock_one(&mut tx, &export.channel).await?;
        let dropped =
            DroppedRow { id: export.id.clone(), channel_id: export.channel.as_str().to_owned() };
        drop_exports(&mut tx, &[dropped]).await?;
        tx.commit().await
    }

    /// Deletes a batch of the exports that have expired, or that could not be completed within a
    /// week. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn purge_exports(&self, now: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let begun = now.minus(ABANDONED).millis();
        let expired = query_as(EXPIRED).bind(now.millis()).bind(begun).bind(SWEEP);
        let expired: Vec<DroppedRow> = tx.fetch_all(expired).await?;
        let channels: Vec<_> =
            expired.iter().map(|row| ChannelId::from(row.channel_id.as_str())).collect();
        channel_locks::lock(&mut tx, &channels).await?;
        drop_exports(&mut tx, &expired).await?;
        tx.commit().await?;
        Ok(expired.len())
    }
}

/// Returns the export that the same person has asked for with the same words, and that was never
/// completed.
async fn same(
    tx: &mut Tx,
    new: &NewExportJob<'_>,
    now: Timestamp,
) -> Result<Option<ExportRow>, StoreError> {
    let same = query_as(REQUESTED)
        .bind(new.channel.as_str())
        .bind(new.by.as_str())
        .bind(new.format)
        .bind(new.time_zone)
        .bind(new.language)
        .bind(new.from.map(Timestamp::millis))
        .bind(new.not_before.map(Timestamp::millis))
        .bind(new.before.millis())
        .bind(now.millis());
    Ok(tx.fetch_optional(same).await?)
}

/// Deletes exports with their parts, whose files are given up. The caller has locked their channels,
/// so that no part is begun meanwhile.
async fn drop_exports(tx: &mut Tx, exports: &[DroppedRow]) -> Result<(), StoreError> {
    if exports.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = exports.iter().map(|row| PartKey { e: &row.id, p: 0 }).collect();
    let keys = serde_json::to_string(&keys)?;
    let parts: Vec<PartFileRow> = tx.fetch_all(query_as(PARTS_OF).bind(&keys)).await?;
    tx.execute(query(DROP_PARTS).bind(&keys)).await?;
    release_files(tx, &parts).await?;
    tx.execute(query(DROP).bind(&keys)).await?;
    Ok(())
}
