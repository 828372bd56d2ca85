//! Figures of the whole deployment, for `chatkeep status` and metrics.

use async_recursion::async_recursion as boxed;

use chatkeep_core::time::Timestamp;

use super::{ChannelStore, JobStore, MediaStore, StoreError, WebhookStore};
use crate::query::query_as;

const MEDIA: &str = "
    SELECT COUNT(CASE WHEN status = 'pending' THEN 1 END),
           COUNT(CASE WHEN status = 'failed' THEN 1 END)
    FROM media WHERE status IN ('pending', 'failed')";

const PENDING: &str = "SELECT COUNT(*) FROM media WHERE status = 'pending'";

/// A gap because of the quota is open as long as backup is paused.
const CHANNELS: &str = "
    SELECT COUNT(*), COUNT(g.channel_id)
    FROM (SELECT DISTINCT channel_id FROM subscriptions WHERE cancelled_at = 0) s
    LEFT JOIN (SELECT DISTINCT channel_id FROM gaps WHERE reason = 'quota' AND to_at = 0) g
        ON g.channel_id = s.channel_id";

const FILES: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT)
    FROM (SELECT MAX(bytes) AS bytes FROM media
          WHERE sha256 IS NOT NULL AND status = 'stored' GROUP BY sha256) f";

const WEBHOOKS: &str = "
    SELECT COUNT(CASE WHEN enabled = 1 THEN 1 END),
           COUNT(CASE WHEN enabled = 1 AND failing_since IS NOT NULL THEN 1 END),
           COUNT(CASE WHEN enabled = 0 AND disabled_reason IS NOT NULL THEN 1 END)
    FROM webhooks";

/// Jobs say so after some attempts in a row without progress; exports fail instead.
const JOBS: &str = "
    SELECT 'export' AS kind, COUNT(*), MIN(COALESCE(progress_at, created_at)), CAST(0 AS BIGINT)
    FROM exports WHERE finished_at IS NULL
    UNION ALL
    SELECT kind, COUNT(*), MIN(COALESCE(progress_at, created_at)),
           COUNT(CASE WHEN error IS NOT NULL THEN 1 END)
    FROM channel_jobs WHERE finished_at IS NULL GROUP BY kind";

/// Figures of the unfinished jobs of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFigures {
    /// Kind of the jobs.
    pub kind: String,
    /// Number of the jobs.
    pub unfinished: i64,
    /// Earliest time of the jobs' last progress, or of their request; `None` without a job.
    pub last_progress: Option<Timestamp>,
    /// Number of those that fail, or end their process, again and again.
    pub troubled: i64,
}

/// Figures of media files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaFigures {
    /// Number of different stored files.
    pub files: i64,
    /// Their size in bytes.
    pub bytes: i64,
    /// Number of files that are still to be downloaded.
    pub pending: i64,
    /// Number of files that were given up.
    pub failed: i64,
}

/// Figures of channels that are backed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelFigures {
    /// Number of channels with a subscription.
    pub subscribed: i64,
    /// Number of those whose backup is paused, since every quota is used up.
    pub paused: i64,
}

/// Figures of outgoing webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookFigures {
    /// Number of enabled webhooks.
    pub enabled: i64,
    /// Number of those whose last attempt failed.
    pub failing: i64,
    /// Number of webhooks that were disabled automatically.
    pub disabled: i64,
}

impl JobStore<'_> {
    /// Returns the figures of the unfinished jobs of channels, by kind; a kind without any may be
    /// missing.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn job_figures(&self) -> Result<Vec<JobFigures>, StoreError> {
        let rows: Vec<(String, i64, Option<i64>, i64)> =
            self.store.db.fetch_all(query_as(JOBS)).await?;
        let figures = |(kind, unfinished, at, troubled): (_, _, Option<i64>, _)| {
            let last_progress = at.map(Timestamp::from_millis);
            JobFigures { kind, unfinished, last_progress, troubled }
        };
        Ok(rows.into_iter().map(figures).collect())
    }
}

impl MediaStore<'_> {
    /// Returns the figures of all media files.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn media_figures(&self) -> Result<MediaFigures, StoreError> {
        let (pending, failed): (i64, i64) = self.store.db.fetch_one(query_as(MEDIA)).await?;
        let (files, bytes): (i64, i64) = self.store.db.fetch_one(query_as(FILES)).await?;
        Ok(MediaFigures { files, bytes, pending, failed })
    }

    /// Returns the number of files that are still to be downloaded, which takes little work.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn count_pending_media(&self) -> Result<i64, StoreError> {
        let (pending,): (i64,) = self.store.db.fetch_one(query_as(PENDING)).await?;
        Ok(pending)
    }
}

impl ChannelStore<'_> {
    /// Returns the figures of all channels with a subscription.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn channel_figures(&self) -> Result<ChannelFigures, StoreError> {
        let (subscribed, paused): (i64, i64) = self.store.db.fetch_one(query_as(CHANNELS)).await?;
        Ok(ChannelFigures { subscribed, paused })
    }
}

impl WebhookStore<'_> {
    /// Returns the figures of all webhooks.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn webhook_figures(&self) -> Result<WebhookFigures, StoreError> {
        let (enabled, failing, disabled): (i64, i64, i64) =
            self.store.db.fetch_one(query_as(WEBHOOKS)).await?;
        Ok(WebhookFigures { enabled, failing, disabled })
    }
}
