//! Exports that are written in the background, in parts: rows that outlive the request, the process
//! and a restart, and files in the media store.
//!
//! A process works on an export under a claim, which it renews while it writes. No file may outlive
//! what it says: each change or removal of a message takes the parts that may contain it out of
//! date, in the same transaction ([`outdate_exports`]). A part is begun under the lock of its
//! channel, before its messages are read, and stored only if it is not out of date by then
//! ([`ExportPart::attempt`]). So a part either has read the change, or is written again.
//!
//! Rows are locked in the order channel, parts, marks of blobs, exports.

mod job;
mod outdated;
mod rows;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::random::random_name;
use chatkeep_core::time::{DAY, Timestamp};

pub use job::{
    ExportJob, ExportKeyset, ExportPart, ExportStep, NewExportJob, PartBlob, PartOutcome,
    WrittenPart,
};
use outdated::{PartKey, outdate, release_files};
pub(super) use outdated::{outdate_all_exports, outdate_exports};
use rows::{
    ADD, ADD_PART, ATTEMPT, ATTEMPTED, CLAIM, DROP, DROP_PARTS, DroppedRow, EXPIRED, ExportRow,
    FAIL, FINISH, HAS, IS_CURRENT, IS_WAITING, LAST, LAST_PART, LastRow, MESSAGES_OF, OF_PERSON,
    ONE, PART_WITH, PARTS, PARTS_OF, PROGRESS, PartFileRow, PartRow, RELEASE, RENEW, SURPLUS,
    UNWRITTEN, UnwrittenRow, WRITTEN, files,
};

use super::db::Tx;
use super::media::{hold, release};
use super::{ExportStore, StoreError, channel_locks};
use crate::query::{query, query_as};

/// Maximum number of exports of a person in a channel: the oldest ones make room for new ones.
pub const EXPORTS_OF_PERSON: i64 = 5;
/// Time after its completion or failure at which an export is deleted.
pub const EXPORT_RETENTION: Duration = DAY.saturating_mul(3);

/// Time after which an export that was never completed is deleted.
const ABANDONED: Duration = DAY.saturating_mul(7);
/// Timeout after which a claim that was not renewed is free.
const CLAIM_TIME: Duration = Duration::from_secs(10);
/// Number of consecutive attempts that may fail permanently before the export does.
const FAILURES: i64 = 3;
/// Batch size for the deletion of expired exports.
const SWEEP: i64 = 20;

impl ExportStore<'_> {
    /// Begins an export. Of the requesting person's exports of the channel the oldest ones beyond
    /// [`EXPORTS_OF_PERSON`] are deleted.
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
        channel_locks::lock_one(&mut tx, new.channel).await?;
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

    /// Claims the export that has waited longest, if there is one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_export(
        &self,
        worker: &str,
        now: Timestamp,
    ) -> Result<Option<ExportJob>, StoreError> {
        let waiting = query_as(IS_WAITING).bind(now.millis());
        let (waiting,): (i64,) = self.store.db.fetch_one(waiting).await?;
        if waiting == 0 {
            return Ok(None);
        }
        let until = now.plus(CLAIM_TIME).millis();
        let mut tx = self.store.db.begin().await?;
        let claimed = query_as(CLAIM).bind(worker).bind(until).bind(now.millis());
        let row: Option<ExportRow> = tx.fetch_optional(claimed).await?;
        tx.commit().await?;
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

    /// Begins the next part of an export and renews the worker's claim; completes the export when
    /// all parts are written.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is begun then.
    #[boxed]
    pub async fn next_export_part(
        &self,
        export: &ExportJob,
        worker: &str,
        now: Timestamp,
    ) -> Result<ExportStep, StoreError> {
        let mut tx = self.store.db.begin().await?;
        // Whoever changes a message of the channel has done so by now, or will find this part.
        channel_locks::lock_one(&mut tx, &export.channel).await?;
        let step = match begin_part(&mut tx, export).await? {
            Some(part) => {
                let until = now.plus(CLAIM_TIME).millis();
                let renewed = query(RENEW).bind(&export.id).bind(worker).bind(until);
                match tx.execute(renewed).await? {
                    0 => return Ok(ExportStep::Lost),
                    _ => ExportStep::Part(part),
                }
            }
            None => complete(&mut tx, export, worker, now).await?,
        };
        tx.commit().await?;
        Ok(step)
    }

    /// Stores a written part, unless it is out of date, and renews the worker's claim. The claim on
    /// its blob ends, but for [`PartOutcome::Lost`], after which the sweep finds the file.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is stored then.
    #[boxed]
    pub async fn store_export_part(
        &self,
        export: &ExportJob,
        worker: &str,
        part: &ExportPart,
        written: &WrittenPart<'_>,
        now: Timestamp,
    ) -> Result<PartOutcome, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let attempted = query_as(ATTEMPTED).bind(&export.id).bind(part.number).bind(&part.attempt);
        let attempted: Option<(i64,)> = tx.fetch_optional(attempted).await?;
        if attempted.is_none() || !hold(&mut tx, written.claim).await? {
            release(&mut tx, &[written.claim]).await?;
            tx.commit().await?;
            return Ok(PartOutcome::Outdated);
        }
        outdate_count(&mut tx, export, part, written, now).await?;
        save_part(&mut tx, export, part, written).await?;
        let until = now.plus(CLAIM_TIME).millis();
        let progress = query_as(PROGRESS).bind(&export.id).bind(worker).bind(until);
        let row: Option<ExportRow> = tx.fetch_optional(progress).await?;
        let Some(row) = row else {
            return Ok(PartOutcome::Lost);
        };
        release(&mut tx, &[written.claim]).await?;
        tx.commit().await?;
        Ok(PartOutcome::Stored(Box::new(row.try_into()?)))
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

    /// Returns the files of an export, in order; `None` unless all its parts are written.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn export_files(&self, id: &str) -> Result<Option<Vec<PartBlob>>, StoreError> {
        let rows: Vec<PartRow> = self.store.db.fetch_all(query_as(PARTS).bind(id)).await?;
        files(rows)
    }

    /// Returns whether a file still is that of its part: nothing in it was changed or removed.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn is_export_file(&self, id: &str, file: &PartBlob) -> Result<bool, StoreError> {
        let current = query_as(IS_CURRENT).bind(id).bind(file.part).bind(file.blob.as_str());
        let (count,): (i64,) = self.store.db.fetch_one(current).await?;
        Ok(count > 0)
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

    /// Takes a part out of date whose file the media store does not have.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn lose_export_file(
        &self,
        id: &str,
        file: &PartBlob,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        let lost = query_as(PART_WITH).bind(id).bind(file.part).bind(file.blob.as_str());
        let lost: Vec<PartFileRow> = tx.fetch_all(lost).await?;
        outdate(&mut tx, &lost, now).await?;
        tx.commit().await
    }

    /// Deletes a batch of the exports that have expired, or that could not be completed within a
    /// week. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn purge_exports(&self, now: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.store.db.begin().await?;
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

/// Begins the first part that is not written; `None` when all are.
async fn begin_part(tx: &mut Tx, export: &ExportJob) -> Result<Option<ExportPart>, StoreError> {
    let attempt = random_name();
    // Under the lock of the channel, under which it may have been deleted.
    let (has,): (i64,) = tx.fetch_one(query_as(HAS).bind(&export.id)).await?;
    if has == 0 {
        return Ok(None);
    }
    let unwritten: Option<UnwrittenRow> =
        tx.fetch_optional(query_as(UNWRITTEN).bind(&export.id)).await?;
    if let Some(row) = unwritten {
        tx.execute(query(ATTEMPT).bind(&export.id).bind(row.part).bind(&attempt)).await?;
        return Ok(Some(ExportPart {
            number: row.part,
            after: row.after(),
            until: row.until(),
            is_last: row.is_last != 0,
            messages_before: u64::try_from(row.messages_before).unwrap_or_default(),
            attempt,
        }));
    }
    let last: Option<LastRow> = tx.fetch_optional(query_as(LAST).bind(&export.id)).await?;
    if last.as_ref().is_some_and(|last| last.is_last != 0) {
        return Ok(None);
    }
    let number = last.as_ref().map_or(0, |last| last.part + 1);
    let after = last.map(|last| last.keyset());
    // What was sent before or after all of the export takes nothing of it out of date.
    let from = export.from.map(|from| from.millis().saturating_sub(1));
    let added = query(ADD_PART)
        .bind(&export.id)
        .bind(number)
        .bind(export.channel.as_str())
        .bind(after.as_ref().map(|(at, _)| at.millis()).or(from))
        .bind(after.as_ref().map(|(_, id)| id.as_str()))
        .bind(end_of(export))
        .bind(&attempt);
    tx.execute(added).await?;
    let messages_before = u64::try_from(export.done).unwrap_or_default();
    Ok(Some(ExportPart { number, after, until: None, is_last: false, messages_before, attempt }))
}

/// Returns the last time of sending of an export.
const fn end_of(export: &ExportJob) -> i64 {
    export.before.millis().saturating_sub(1)
}

/// Takes the last part out of date, which counts all messages, if this part had another number of
/// them when it was written before.
async fn outdate_count(
    tx: &mut Tx,
    export: &ExportJob,
    part: &ExportPart,
    written: &WrittenPart<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if part.until.is_none() || part.is_last {
        return Ok(());
    }
    let before = query_as(MESSAGES_OF).bind(&export.id).bind(part.number);
    let (before,): (i64,) = tx.fetch_one(before).await?;
    if u64::try_from(before).is_ok_and(|before| before == written.messages) {
        return Ok(());
    }
    let last: Vec<PartFileRow> = tx.fetch_all(query_as(LAST_PART).bind(&export.id)).await?;
    outdate(tx, &last, now).await
}

/// Completes an export whose parts are all written.
async fn complete(
    tx: &mut Tx,
    export: &ExportJob,
    worker: &str,
    now: Timestamp,
) -> Result<ExportStep, StoreError> {
    let expires = now.plus(EXPORT_RETENTION).millis();
    let finished = query_as(FINISH).bind(&export.id).bind(worker).bind(now.millis()).bind(expires);
    let row: Option<ExportRow> = tx.fetch_optional(finished).await?;
    Ok(match row {
        Some(row) => ExportStep::Completed(Box::new(row.try_into()?)),
        None => ExportStep::Lost,
    })
}

async fn save_part(
    tx: &mut Tx,
    export: &ExportJob,
    part: &ExportPart,
    written: &WrittenPart<'_>,
) -> Result<(), StoreError> {
    // A part without messages ends where it begins, and one that was written before where it did.
    let last = part.until.as_ref().or(written.last).or(part.after.as_ref());
    let saved = query(WRITTEN)
        .bind(&export.id)
        .bind(part.number)
        .bind(written.claim.blob().as_str())
        .bind(i64::try_from(written.bytes).unwrap_or(i64::MAX))
        .bind(i64::try_from(written.messages).unwrap_or(i64::MAX))
        .bind(last.map_or(end_of(export), |(at, _)| at.millis()))
        .bind(last.map_or("", |(_, id)| id.as_str()))
        .bind(i64::from(written.is_last));
    tx.execute(saved).await?;
    Ok(())
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
