//! Bulk removals of messages as jobs: rows that outlive the request, the process and a restart.
//!
//! A process works on a job under a claim, which it renews with every batch, and while one waits for
//! its channel. A batch, the job's progress and the claim change in one transaction, so that a job
//! taken over by another process is never counted twice. From its first removal on a batch has the
//! job's row locked, and whoever looks for a job passes over it, whether the claim has ended by then
//! or not. No job is given up: whoever asked for a removal relies on it. One that fails, or ends its
//! process ([`crate::claims`]), is tried again later, and says so meanwhile.
//!
//! Rows are locked in the order channel, users, job, the rest.

mod job;
mod rows;
mod work;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

pub use job::{ChannelJob, JobBatch, JobKind, JobStatus, NewChannelJob};
use rows::{
    ADD, CLAIM, COUNT_BEFORE, COUNT_OF_PERSON, ERASURE, FAIL, INTERRUPT, IS_WAITING, JOIN, JobRow,
    ONE, PURGE, RELEASE,
};

use super::activity_log::{ChangeKind, NewChange, log_change};
use super::claims::{InterruptedRow, report};
use super::db::Tx;
use super::ingest::bar_removed;
use super::{JobStore, StoreError};
use crate::query::{Query, query, query_as};

/// Maximum number of messages of a job that is done while its caller waits.
pub const SMALL_JOB: i64 = 2_000;

/// Timeout in milliseconds after which a claim that was not renewed is free.
const CLAIM_MS: i64 = 10_000;
/// Number of attempts in a row without progress after which a job says so.
const TROUBLED: i64 = 3;
/// Batch size for the deletion of finished jobs.
const SWEEP: i64 = 500;

impl JobStore<'_> {
    /// Begins a job, or joins an unfinished one that does the same. From now on the content to be
    /// removed cannot come back. A new job of at most [`SMALL_JOB`] messages is claimed for the
    /// caller's worker, as the returned `true` means.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is begun then.
    #[boxed]
    pub async fn begin_job(
        &self,
        new: &NewChannelJob<'_>,
        now: Timestamp,
    ) -> Result<(ChannelJob, bool), StoreError> {
        let total = self.count_of_job(new).await?;
        let mut tx = self.store.db.begin_bulk().await?;
        bar_removed(&mut tx, new.channel, new.kind.person(), new.sent_before, now).await?;
        let begun = join_or_add(&mut tx, new, total, now).await?;
        tx.commit().await?;
        Ok(begun)
    }

    /// Begins a job as [`Self::begin_job`] does, if there is something to remove. Where nothing is,
    /// it cannot come back either.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is begun then.
    #[boxed]
    pub async fn begin_needed_job(
        &self,
        new: &NewChannelJob<'_>,
        now: Timestamp,
    ) -> Result<Option<ChannelJob>, StoreError> {
        let mut total = self.count_of_job(new).await?;
        let mut tx = self.store.db.begin_bulk().await?;
        bar_removed(&mut tx, new.channel, new.kind.person(), new.sent_before, now).await?;
        if total == 0 {
            // Something may have been stored since, but no more from now on.
            (total,) = tx.fetch_one(count_of_job(new)).await?;
        }
        let begun = match total {
            0 => None,
            total => Some(join_or_add(&mut tx, new, total, now).await?.0),
        };
        tx.commit().await?;
        Ok(begun)
    }

    /// Counts the messages that such a job would remove now.
    async fn count_of_job(&self, new: &NewChannelJob<'_>) -> Result<i64, StoreError> {
        let (count,) = self.store.db.fetch_one(count_of_job(new)).await?;
        Ok(count)
    }

    /// Claims the job that has waited longest, if there is one. One that ends its process again and
    /// again says `why` it makes no progress.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_job(
        &self,
        worker: &str,
        why: &str,
        now: Timestamp,
    ) -> Result<Option<ChannelJob>, StoreError> {
        let (now, until) = (now.millis(), now.millis() + CLAIM_MS);
        let (waiting,): (i64,) = self.store.db.fetch_one(query_as(IS_WAITING).bind(now)).await?;
        if waiting == 0 {
            return Ok(None);
        }
        let interrupted = query_as(INTERRUPT).bind(worker).bind(now).bind(TROUBLED).bind(why);
        let mut tx = self.store.db.begin().await?;
        let interrupted: Vec<InterruptedRow> = tx.fetch_all(interrupted).await?;
        let row: Option<JobRow> =
            tx.fetch_optional(query_as(CLAIM).bind(worker).bind(until).bind(now)).await?;
        tx.commit().await?;
        report(&interrupted);
        row.map(ChannelJob::try_from).transpose()
    }

    /// Releases a job for other workers, from `next` on.
    ///
    /// # Errors
    /// Returns an error when the database fails; the claim ends by itself then.
    #[boxed]
    pub async fn release_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RELEASE).bind(&job.id).bind(worker).bind(next.millis())).await?;
        tx.commit().await
    }

    /// Records that a batch failed for a permanent reason. The job is tried again from `next` on, later
    /// after each failure in a row; after some of them it says `why`, which its caller may know.
    ///
    /// # Errors
    /// Returns an error when the database fails; the claim ends by itself then.
    #[boxed]
    pub async fn put_off_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        why: &str,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(FAIL).bind(&job.id).bind(worker).bind(next.millis()).bind(TROUBLED).bind(why),
        )
        .await?;
        tx.commit().await
    }

    /// Returns a job of a channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn channel_job(
        &self,
        channel: &ChannelId,
        id: &str,
    ) -> Result<Option<ChannelJob>, StoreError> {
        let row: Option<JobRow> =
            self.store.db.fetch_optional(query_as(ONE).bind(channel.as_str()).bind(id)).await?;
        row.map(ChannelJob::try_from).transpose()
    }

    /// Returns the unfinished erasure of a person in a channel, if there is one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn running_erasure(
        &self,
        channel: &ChannelId,
        user: &UserId,
    ) -> Result<Option<ChannelJob>, StoreError> {
        let erasure = query_as(ERASURE).bind(channel.as_str()).bind(user.as_str());
        let row: Option<JobRow> = self.store.db.fetch_optional(erasure).await?;
        row.map(ChannelJob::try_from).transpose()
    }

    /// Deletes a batch of the jobs finished before that time. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_jobs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone = tx.execute(query(PURGE).bind(before.millis()).bind(SWEEP)).await?;
        tx.commit().await?;
        Ok(gone)
    }
}

fn count_of_job<'a>(new: &NewChannelJob<'a>) -> Query<'a, (i64,)> {
    let (c, before) = (new.channel.as_str(), new.sent_before.millis());
    match new.kind {
        JobKind::Erasure(user) => {
            query_as(COUNT_OF_PERSON).bind(c).bind(before).bind(user.as_str())
        }
        JobKind::Deletion => query_as(COUNT_BEFORE).bind(c).bind(before),
    }
}

/// Joins an unfinished job that does the same, or adds one; with true if the worker has claimed it.
async fn join_or_add(
    tx: &mut Tx,
    new: &NewChannelJob<'_>,
    total: i64,
    now: Timestamp,
) -> Result<(ChannelJob, bool), StoreError> {
    let (c, kind, user) = (new.channel.as_str(), new.kind.name(), new.kind.user());
    let before = new.sent_before.millis();
    let same = query_as(JOIN).bind(c).bind(kind).bind(user).bind(before).bind(total);
    let joined: Option<JobRow> = tx.fetch_optional(same).await?;
    if let Some(row) = joined {
        return Ok((row.try_into()?, false));
    }
    let worker = new.worker.filter(|_| total <= SMALL_JOB);
    let until = worker.map_or(0, |_| now.millis() + CLAIM_MS);
    let row: JobRow = tx
        .fetch_one(
            query_as(ADD)
                .bind(new.id)
                .bind(c)
                .bind(kind)
                .bind(user)
                .bind(before)
                .bind(new.by.as_str())
                .bind(now.millis())
                .bind(total)
                .bind(worker)
                .bind(until),
        )
        .await?;
    log_job(tx, new, now).await?;
    Ok((row.try_into()?, worker.is_some()))
}

/// Logs the request for a removal.
async fn log_job(tx: &mut Tx, new: &NewChannelJob<'_>, now: Timestamp) -> Result<(), StoreError> {
    let before = new.sent_before.to_string();
    let (kind, subject) = match new.kind {
        JobKind::Erasure(user) => (ChangeKind::Erasure, Some(user.as_str())),
        JobKind::Deletion => (ChangeKind::Deletion, None),
    };
    let (channel, by, after) = (new.channel, new.by, Some(before.as_str()));
    log_change(tx, NewChange { channel, by, kind, subject, before: None, after }, now).await
}
