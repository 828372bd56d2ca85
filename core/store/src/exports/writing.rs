//! Parts of exports: begun, written, stored, and read.

use async_recursion::async_recursion as boxed;
use chatkeep_core::random::random_name;
use chatkeep_core::time::Timestamp;

use super::super::db::Tx;
use super::super::media::{hold, release};
use super::super::{ExportStore, StoreError, channel_locks};
use super::changes::{outdate, outdate_own};
use super::part_rows::{
    ADD_PART, ATTEMPT, ATTEMPTED, HAS, IS_CURRENT, LAST, LAST_PART, LastRow, MESSAGES_OF,
    PART_WITH, PARTS, PartFileRow, PartRow, UNWRITTEN, UnwrittenRow, WRITTEN, files,
};
use super::rows::{ExportRow, FINISH, PROGRESS, RENEW};
use super::{
    CLAIM_TIME, EXPORT_RETENTION, ExportJob, ExportPart, ExportStep, PartBlob, PartOutcome,
    WrittenPart,
};
use crate::query::{query, query_as};

impl ExportStore<'_> {
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
        let step = match begin_part(&mut tx, export, now).await? {
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
        let progress =
            query_as(PROGRESS).bind(&export.id).bind(worker).bind(until).bind(now.millis());
        let row: Option<ExportRow> = tx.fetch_optional(progress).await?;
        let Some(row) = row else {
            return Ok(PartOutcome::Lost);
        };
        release(&mut tx, &[written.claim]).await?;
        tx.commit().await?;
        Ok(PartOutcome::Stored(Box::new(row.try_into()?)))
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
}

/// Begins the first part that is not written; `None` when all are.
async fn begin_part(
    tx: &mut Tx,
    export: &ExportJob,
    now: Timestamp,
) -> Result<Option<ExportPart>, StoreError> {
    let attempt = random_name();
    // Under the lock of the channel, under which it may have been deleted.
    let (has,): (i64,) = tx.fetch_one(query_as(HAS).bind(&export.id)).await?;
    if has == 0 {
        return Ok(None);
    }
    outdate_own(tx, &export.id, now).await?;
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
