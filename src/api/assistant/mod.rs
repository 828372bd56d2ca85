//! The assistant's settings.

pub(super) mod config;
pub(super) mod past;
pub(super) mod qa;
pub(super) mod texts;
pub(super) mod trial;

use std::sync::Arc;

use chatkeep_core::assistant::Revision;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_workers::assistant::Compiled;
use serde::Serialize;
use utoipa::ToSchema;

use super::Api;
use super::auth::{Admin, ChannelAccess, WriteAssistant};
use super::error::ApiError;

/// The fields of [`RevisionView`].
const REVISION: [&str; 2] = ["updatedAt", "updatedBy"];

/// Editor of a settings object before its first change.
const SYSTEM: &str = "system";

/// Last change of a settings object.
#[derive(Serialize, ToSchema)]
#[schema(as = Revision)]
#[serde(rename_all = "camelCase")]
struct RevisionView {
    /// Time of the last change; before the first change, the time at which the channel was first
    /// seen.
    updated_at: Timestamp,
    /// ID of the user who made the last change; `system` before the first.
    updated_by: UserId,
}

/// Settings are for admins and owners, reading included.
type Settings = ChannelAccess<Admin, WriteAssistant>;

impl Api {
    /// Returns the channel's assistant, with defaults for what was never set.
    async fn assistant(&self, channel: &ChannelId) -> Result<Arc<Compiled>, ApiError> {
        if let Some(compiled) = self.assistants.of(channel).await? {
            return Ok(compiled);
        }
        let source = self.assistants.source(channel).await?;
        Ok(self.assistants.compile_source(source, None).await?)
    }

    /// Returns the last change of a settings object of the channel; before the first one, the time
    /// at which the channel was first seen.
    async fn revision(
        &self,
        channel: &ChannelId,
        known: Revision,
    ) -> Result<RevisionView, ApiError> {
        let updated_at = match known.updated_at {
            Some(at) => at,
            None => {
                self.store
                    .channels()
                    .channel(channel)
                    .await?
                    .ok_or(ApiError::PermissionDenied)?
                    .created_at
            }
        };
        let updated_by = known.updated_by.unwrap_or_else(|| SYSTEM.into());
        Ok(RevisionView { updated_at, updated_by })
    }

    /// Recompiles the channel's settings in every process.
    async fn assistant_changed(&self, channel: &ChannelId) {
        self.assistants.changed(channel, &self.bus).await;
    }

    /// Runs CPU-bound scoring of many messages on a blocking thread, one at a time.
    async fn thinking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let _turn = self.backtest_permit.acquire().await.map_err(|_| ApiError::Unavailable)?;
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "scoring messages failed");
            ApiError::Internal
        })
    }
}
