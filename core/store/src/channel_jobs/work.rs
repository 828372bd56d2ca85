//! Work on a claimed job: batches, and the renewal of the claim while one waits for its channel.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::{Clock, Timestamp};

use super::super::db::Tx;
use super::super::ingest::{Removed, lock_ledger, remove_some};
use super::super::{JobStore, StoreError};
use super::rows::{GOAL, JobRow, PROGRESS, RENEW};
use super::{CLAIM_MS, ChannelJob, JobBatch};
use crate::query::{query, query_as};

impl JobStore<'_> {
    /// Removes a batch of at most `limit` messages and renews the worker's claim; `None` when the
    /// claim was lost, and then nothing is removed. Nobody else claims the job from the first removal
    /// to the end of the batch, however long it takes. Repeat until the job is over.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is removed then.
    #[boxed]
    pub async fn work_on_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        limit: u32,
        clock: &dyn Clock,
    ) -> Result<Option<JobBatch>, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        lock_ledger(&mut tx, &[&job.channel].into()).await?;
        let goal: Option<(i64,)> =
            tx.fetch_optional(query_as(GOAL).bind(&job.id).bind(worker)).await?;
        let Some((before,)) = goal else {
            return Ok(None);
        };
        let (before, now) = (Timestamp::from_millis(before), clock.now());
        let removed =
            remove_some(&mut tx, &job.channel, job.kind.person(), before, limit, now).await?;
        // The claim lasts from the end of the batch on.
        let Some(row) = progress(&mut tx, job, worker, &removed, clock.now()).await? else {
            return Ok(None);
        };
        tx.commit().await?;
        Ok(Some(JobBatch { removed, job: row.try_into()? }))
    }

    /// Renews the worker's claim while a batch waits for its channel. Does nothing while the batch
    /// has the job locked.
    ///
    /// # Errors
    /// Returns an error when the database fails; the claim ends by itself then.
    #[boxed]
    pub async fn renew_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let until = now.millis() + CLAIM_MS;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RENEW).bind(&job.id).bind(worker).bind(until)).await?;
        tx.commit().await
    }
}

/// Records a batch; `None` when the claim is lost.
async fn progress(
    tx: &mut Tx,
    job: &ChannelJob,
    worker: &str,
    removed: &Removed,
    now: Timestamp,
) -> Result<Option<JobRow>, StoreError> {
    let (last, at) = (i64::from(removed.last), now.millis());
    Ok(tx
        .fetch_optional(
            query_as(PROGRESS)
                .bind(&job.id)
                .bind(worker)
                .bind(removed.counted)
                .bind(removed.bytes)
                .bind(at + CLAIM_MS)
                .bind(last)
                .bind(at),
        )
        .await?)
}
