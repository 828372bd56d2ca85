//! Removals of many messages as jobs: rows that outlive the request, the process and a restart.
//!
//! A process works on a job under a claim, which it renews with every batch. A batch, the job's
//! progress and the claim change in one transaction, so that a job that was taken over by another
//! process is never counted twice.

use sqlx::{query, query_as};

use super::db::{Sql, Tx, exec, read, run};
use super::keep::{Removed, bar_person, bar_time, lock_ledger, remove_some};
use super::{Store, StoreError, parsed};
use crate::id::{ChannelId, UserId};
use crate::time::Timestamp;

/// Messages of a job that is done while its caller waits, at most.
pub const SMALL_JOB: i64 = 2_000;

/// A claim that is not renewed for so long is free, in milliseconds.
const CLAIM_MS: i64 = 10_000;
/// Batches in a row that may fail for good before the job does.
const FAILURES: i64 = 3;
/// Finished jobs deleted at a time.
const SWEEP: i64 = 500;

/// What a job does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Erases what that person wrote in the channel.
    Erasure(UserId),
    /// Deletes the channel's messages.
    Deletion,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Nobody has begun.
    Pending,
    /// Some of it is done.
    Running,
    /// All of it is done.
    Done,
    /// It cannot be done; [`ChannelJob::error`] says why.
    Failed,
}

/// A job of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelJob {
    /// Its public id.
    pub id: String,
    /// The channel.
    pub channel: ChannelId,
    /// What it does.
    pub kind: JobKind,
    /// Only messages sent before this are removed.
    pub sent_before: Timestamp,
    /// Who asked for it.
    pub created_by: UserId,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Messages to remove; while it runs, as many as there were when it was asked for.
    pub total: i64,
    /// Messages removed so far.
    pub done: i64,
    /// Bytes that they counted for.
    pub freed_bytes: i64,
    /// How far it is.
    pub status: JobStatus,
    /// Why it failed, as the caller may know it.
    pub error: Option<String>,
    /// When it was done or failed.
    pub finished_at: Option<Timestamp>,
}

/// A job to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewChannelJob<'a> {
    /// Its public id.
    pub id: &'a str,
    /// The channel.
    pub channel: &'a ChannelId,
    /// What it does.
    pub kind: &'a JobKind,
    /// Only messages sent before this are removed.
    pub sent_before: Timestamp,
    /// Who asks for it.
    pub by: &'a UserId,
    /// Who works on it at once if it is small: names the claim.
    pub worker: &'a str,
}

/// A batch of a job that was done.
#[derive(Debug)]
pub struct JobBatch {
    /// What was taken away.
    pub removed: Removed,
    /// The job after it.
    pub job: ChannelJob,
}

impl JobKind {
    const fn name(&self) -> &'static str {
        match self {
            Self::Erasure(_) => "erasure",
            Self::Deletion => "deletion",
        }
    }

    /// The person whose messages are erased; empty for a deletion.
    fn user(&self) -> &str {
        match self {
            Self::Erasure(user) => user.as_str(),
            Self::Deletion => "",
        }
    }
}

impl JobStatus {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "done" => Self::Done,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    /// Whether nothing more will happen.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

#[derive(Debug, sqlx::FromRow)]
struct JobRow {
    id: String,
    channel_id: String,
    kind: String,
    user_id: String,
    sent_before: i64,
    created_by: String,
    created_at: i64,
    total: i64,
    done: i64,
    freed_bytes: i64,
    status: String,
    error: Option<String>,
    finished_at: Option<i64>,
}

/// A statement that gives whole jobs.
macro_rules! jobs {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " id, channel_id, kind, user_id, sent_before, created_by, created_at, total, done,
              freed_bytes, status, error, finished_at ",
            $after
        )
    };
}

const COUNT_OF_PERSON: &str = "
    SELECT COUNT(*) FROM messages WHERE channel_id = $1 AND sent_at < $2 AND sender_id = $3";
const COUNT_BEFORE: &str = "SELECT COUNT(*) FROM messages WHERE channel_id = $1 AND sent_at < $2";
/// An erasure that still runs takes on what was written since. A deletion is the same only if it is
/// of the same time.
const JOIN: &str = jobs!(
    "UPDATE channel_jobs
     SET sent_before = CASE WHEN sent_before < $4 THEN $4 ELSE sent_before END,
         total = done + $5
     WHERE channel_id = $1 AND kind = $2 AND user_id = $3 AND finished_at IS NULL
       AND (kind = 'erasure' OR sent_before = $4)
     RETURNING",
    ""
);
const ADD: &str = jobs!(
    "INSERT INTO channel_jobs (id, channel_id, kind, user_id, sent_before, created_by, created_at,
                               total, claimed_by, claimed_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING",
    ""
);
const CLAIM: Sql = Sql {
    sqlite: jobs!(
        "UPDATE channel_jobs SET claimed_by = $1, claimed_until = $2, status = 'running'
         WHERE id = (SELECT id FROM channel_jobs
                     WHERE finished_at IS NULL AND claimed_until <= $3
                     ORDER BY claimed_until, created_at LIMIT 1)
         RETURNING",
        ""
    ),
    postgres: jobs!(
        "UPDATE channel_jobs SET claimed_by = $1, claimed_until = $2, status = 'running'
         WHERE id = (SELECT id FROM channel_jobs
                     WHERE finished_at IS NULL AND claimed_until <= $3
                     ORDER BY claimed_until, created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
         RETURNING",
        ""
    ),
};
/// What there is to do is looked at under the claim: the job may have taken on more.
const GOAL: &str = "
    SELECT sent_before FROM channel_jobs
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
const PROGRESS: &str = jobs!(
    "UPDATE channel_jobs
     SET done = done + $3, freed_bytes = freed_bytes + $4, claimed_until = $5, failures = 0,
         total = CASE WHEN $6 = 1 OR total < done + $3 THEN done + $3 ELSE total END,
         status = CASE WHEN $6 = 1 THEN 'done' ELSE 'running' END,
         finished_at = CASE WHEN $6 = 1 THEN $7 ELSE finished_at END
     WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL
     RETURNING",
    ""
);
const RELEASE: &str = "
    UPDATE channel_jobs SET claimed_by = NULL, claimed_until = $3
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
const FAIL: &str = "
    UPDATE channel_jobs
    SET claimed_by = NULL, claimed_until = $3, failures = failures + 1,
        status = CASE WHEN failures + 1 >= $4 THEN 'failed' ELSE status END,
        error = CASE WHEN failures + 1 >= $4 THEN $5 ELSE error END,
        finished_at = CASE WHEN failures + 1 >= $4 THEN $6 ELSE finished_at END
    WHERE id = $1 AND claimed_by = $2 AND finished_at IS NULL";
const ONE: &str = jobs!("SELECT", "FROM channel_jobs WHERE channel_id = $1 AND id = $2");
const PURGE: &str = "
    DELETE FROM channel_jobs WHERE id IN (
        SELECT id FROM channel_jobs WHERE finished_at IS NOT NULL AND finished_at < $1 LIMIT $2)";

impl Store {
    /// Begins a job, or joins one that does the same and is not finished. What is to be removed
    /// cannot come back from this moment on. A new job of at most [`SMALL_JOB`] messages is claimed
    /// for the caller's worker, which is told with `true`.
    ///
    /// # Errors
    /// When the database fails; nothing is begun then.
    pub async fn begin_job(
        &self,
        new: &NewChannelJob<'_>,
        now: Timestamp,
    ) -> Result<(ChannelJob, bool), StoreError> {
        let total = self.count_of_job(new).await?;
        let (c, kind, user) = (new.channel.as_str(), new.kind.name(), new.kind.user());
        let before = new.sent_before.millis();
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        // Two that ask for the same at once begin one job.
        lock_ledger(tx_ref, &[new.channel].into()).await?;
        match new.kind {
            JobKind::Erasure(user) => {
                bar_person(tx_ref, new.channel, user, new.sent_before).await?;
            }
            JobKind::Deletion => bar_time(tx_ref, new.channel, new.sent_before).await?,
        }
        let joined: Option<JobRow> = run!(tx_ref, conn => query_as(JOIN)
            .bind(c).bind(kind).bind(user).bind(before).bind(total).fetch_optional(conn))?;
        let (row, claimed) = if let Some(row) = joined {
            (row, false)
        } else {
            let small = total <= SMALL_JOB;
            let (worker, until) =
                if small { (Some(new.worker), now.millis() + CLAIM_MS) } else { (None, 0) };
            let row: JobRow = run!(tx_ref, conn => query_as(ADD)
                .bind(new.id).bind(c).bind(kind).bind(user).bind(before).bind(new.by.as_str())
                .bind(now.millis()).bind(total).bind(worker).bind(until).fetch_one(conn))?;
            (row, small)
        };
        tx.commit().await?;
        Ok((row.try_into()?, claimed))
    }

    /// Messages that such a job would remove now.
    async fn count_of_job(&self, new: &NewChannelJob<'_>) -> Result<i64, StoreError> {
        let (c, before) = (new.channel.as_str(), new.sent_before.millis());
        let (count,): (i64,) = match new.kind {
            JobKind::Erasure(user) => read!(self, conn => query_as(COUNT_OF_PERSON)
                .bind(c).bind(before).bind(user.as_str()).fetch_one(conn))?,
            JobKind::Deletion => read!(self, conn => query_as(COUNT_BEFORE)
                .bind(c).bind(before).fetch_one(conn))?,
        };
        Ok(count)
    }

    /// Claims the job that has waited longest, if any waits.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn claim_job(
        &self,
        worker: &str,
        now: Timestamp,
    ) -> Result<Option<ChannelJob>, StoreError> {
        let (now, until) = (now.millis(), now.millis() + CLAIM_MS);
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let row: Option<JobRow> = run!(tx_ref, CLAIM, |sql, conn| query_as(sql)
            .bind(worker)
            .bind(until)
            .bind(now)
            .fetch_optional(conn))?;
        tx.commit().await?;
        row.map(ChannelJob::try_from).transpose()
    }

    /// Removes a batch of at most `limit` messages and renews the worker's claim; `None` when it
    /// has lost the claim, and then nothing is removed. Repeat until the job is over.
    ///
    /// # Errors
    /// When the database fails; nothing is removed then.
    pub async fn work_on_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        limit: u32,
        now: Timestamp,
    ) -> Result<Option<JobBatch>, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        lock_ledger(tx_ref, &[&job.channel].into()).await?;
        let goal: Option<(i64,)> = run!(tx_ref, conn => query_as(GOAL)
            .bind(&job.id).bind(worker).fetch_optional(conn))?;
        let Some((before,)) = goal else {
            return Ok(None);
        };
        let of = match &job.kind {
            JobKind::Erasure(user) => Some(user),
            JobKind::Deletion => None,
        };
        let before = Timestamp::from_millis(before);
        let removed = remove_some(tx_ref, &job.channel, of, before, limit, now).await?;
        let Some(row) = progress(tx_ref, job, worker, &removed, now).await? else {
            return Ok(None);
        };
        tx.commit().await?;
        Ok(Some(JobBatch { removed, job: row.try_into()? }))
    }

    /// Gives a job up for others to go on with, from `next` on.
    ///
    /// # Errors
    /// When the database fails; the claim ends by itself then.
    pub async fn release_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(tx_ref, query(RELEASE).bind(&job.id).bind(worker).bind(next.millis()))?;
        tx.commit().await
    }

    /// Notes that a batch failed for a reason that does not pass. The job is tried again from `next`
    /// on, a few times; then it has failed, for the reason `why` that its caller may know.
    ///
    /// # Errors
    /// When the database fails; the claim ends by itself then.
    pub async fn fail_job(
        &self,
        job: &ChannelJob,
        worker: &str,
        why: &str,
        (now, next): (Timestamp, Timestamp),
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        exec!(
            tx_ref,
            query(FAIL)
                .bind(&job.id)
                .bind(worker)
                .bind(next.millis())
                .bind(FAILURES)
                .bind(why)
                .bind(now.millis())
        )?;
        tx.commit().await
    }

    /// A job of a channel.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn channel_job(
        &self,
        channel: &ChannelId,
        id: &str,
    ) -> Result<Option<ChannelJob>, StoreError> {
        let row: Option<JobRow> = read!(self, c => query_as(ONE)
            .bind(channel.as_str()).bind(id).fetch_optional(c))?;
        row.map(ChannelJob::try_from).transpose()
    }

    /// Deletes some of the jobs that were finished before that time. Says how many.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn purge_jobs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let gone = exec!(tx_ref, query(PURGE).bind(before.millis()).bind(SWEEP))?;
        tx.commit().await?;
        Ok(gone)
    }
}

/// Counts a batch; `None` when the claim is lost.
async fn progress(
    tx: &mut Tx,
    job: &ChannelJob,
    worker: &str,
    removed: &Removed,
    now: Timestamp,
) -> Result<Option<JobRow>, StoreError> {
    let count = i64::try_from(removed.messages.len()).unwrap_or(i64::MAX);
    let (last, at) = (i64::from(removed.last), now.millis());
    Ok(run!(tx, conn => query_as(PROGRESS)
        .bind(&job.id).bind(worker).bind(count).bind(removed.bytes).bind(at + CLAIM_MS)
        .bind(last).bind(at).fetch_optional(conn))?)
}

impl TryFrom<JobRow> for ChannelJob {
    type Error = StoreError;

    fn try_from(row: JobRow) -> Result<Self, StoreError> {
        let kind = match row.kind.as_str() {
            "erasure" => Some(JobKind::Erasure(row.user_id.into())),
            "deletion" => Some(JobKind::Deletion),
            _ => None,
        };
        Ok(Self {
            kind: parsed(kind, "channel_jobs", "kind", &row.id)?,
            status: parsed(JobStatus::parse(&row.status), "channel_jobs", "status", &row.id)?,
            id: row.id,
            channel: row.channel_id.into(),
            sent_before: Timestamp::from_millis(row.sent_before),
            created_by: row.created_by.into(),
            created_at: Timestamp::from_millis(row.created_at),
            total: row.total,
            done: row.done,
            freed_bytes: row.freed_bytes,
            error: row.error,
            finished_at: row.finished_at.map(Timestamp::from_millis),
        })
    }
}
