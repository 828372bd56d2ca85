//! The assistant's settings (interface specification, "Assistant config" and after).

pub(super) mod config;
pub(super) mod past;
pub(super) mod qa;
pub(super) mod texts;
pub(super) mod trial;

use std::sync::Arc;

use chatkeep_core::id::ChannelId;
use chatkeep_workers::assistant::Compiled;

use super::Api;
use super::auth::{Admin, ChannelAccess, WriteAssistant};
use super::error::ApiError;

/// Settings are for admins and owners, reading included.
type Settings = ChannelAccess<Admin, WriteAssistant>;

impl Api {
    /// The channel's assistant as it is, or as it would be before anything was set.
    async fn assistant(&self, channel: &ChannelId) -> Result<Arc<Compiled>, ApiError> {
        if let Some(compiled) = self.assistants.of(channel).await? {
            return Ok(compiled);
        }
        let source = self.assistants.source(channel).await?;
        Ok(self.assistants.compile_source(source, None).await?)
    }

    /// Has the channel's settings compiled anew, in every process.
    async fn assistant_changed(&self, channel: &ChannelId) {
        self.assistants.changed(channel, &self.bus).await;
    }

    /// Rates many messages, which keeps a processor busy for seconds: apart from everything else,
    /// and one such work at a time.
    async fn thinking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let _turn = self.thoughts.acquire().await.map_err(|_| ApiError::Unavailable)?;
        tokio::task::spawn_blocking(work).await.map_err(|error| {
            tracing::error!(%error, "rating messages failed");
            ApiError::Internal
        })
    }
}
