//! Figures of the whole deployment, for `chatkeep status`.

use super::{MediaStore, StoreError, WebhookStore};
use crate::query::query_as;

const MEDIA: &str = "
    SELECT COUNT(CASE WHEN status = 'pending' THEN 1 END),
           COUNT(CASE WHEN status = 'failed' THEN 1 END)
    FROM media WHERE status IN ('pending', 'failed')";

const FILES: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT)
    FROM (SELECT MAX(bytes) AS bytes FROM media WHERE sha256 IS NOT NULL GROUP BY sha256) f";

const WEBHOOKS: &str = "
    SELECT COUNT(CASE WHEN enabled = 1 THEN 1 END),
           COUNT(CASE WHEN enabled = 1 AND failing_since IS NOT NULL THEN 1 END),
           COUNT(CASE WHEN enabled = 0 AND disabled_reason IS NOT NULL THEN 1 END)
    FROM webhooks";

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

impl MediaStore<'_> {
    /// Returns the figures of all media files.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn media_figures(self) -> Result<MediaFigures, StoreError> {
        let (pending, failed): (i64, i64) = self.store.db.fetch_one(query_as(MEDIA)).await?;
        let (files, bytes): (i64, i64) = self.store.db.fetch_one(query_as(FILES)).await?;
        Ok(MediaFigures { files, bytes, pending, failed })
    }
}

impl WebhookStore<'_> {
    /// Returns the figures of all webhooks.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn webhook_figures(self) -> Result<WebhookFigures, StoreError> {
        let (enabled, failing, disabled): (i64, i64, i64) =
            self.store.db.fetch_one(query_as(WEBHOOKS)).await?;
        Ok(WebhookFigures { enabled, failing, disabled })
    }
}
