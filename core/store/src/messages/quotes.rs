//! Quotes of messages, in both directions: the messages that one quotes, up to the first, and those
//! that quote it.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};

use super::sql::{QUOTED, QUOTING};
use crate::ingest::BulkKey;
use crate::query::query_as;
use crate::{MessageStore, StoreError};

impl MessageStore<'_> {
    /// Returns the ids of the messages that a message quotes: the one that it quotes, the one that
    /// this quotes, and so on, at most `limit`. The last of them may not be stored. In a circle of
    /// quotes, which only an import can bring, ids repeat.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn quoted_by(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        limit: u32,
    ) -> Result<Vec<MessageId>, StoreError> {
        let chain =
            query_as(QUOTED).bind(channel.as_str()).bind(message.as_str()).bind(i64::from(limit));
        let rows: Vec<(String,)> = self.store.db.fetch_all(chain).await?;
        Ok(rows.into_iter().map(|(id,)| MessageId::new(id)).collect())
    }

    /// Returns the ids of the stored messages that quote one of these messages of a channel, oldest
    /// first; at most `limit` of each.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn quoting(
        &self,
        channel: &ChannelId,
        messages: &[MessageId],
        limit: u32,
    ) -> Result<Vec<MessageId>, StoreError> {
        let c = channel.as_str();
        let keys = messages.iter().map(|message| BulkKey { c, m: Some(message.as_str()) });
        let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
        let quoting = query_as(QUOTING).bind(&keys).bind(i64::from(limit));
        let rows: Vec<(String, i64)> = self.store.db.fetch_all(quoting).await?;
        Ok(rows.into_iter().map(|(id, _)| MessageId::new(id)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn quotes_are_looked_up_by_indexes() {
        let steps = plan(QUOTING.sqlite).await.join("\n");
        assert!(steps.contains("messages_by_quote (channel_id=? AND quoted_id=?"), "{steps}");
        assert!(!steps.contains("SCAN m") && !steps.contains("SCAN q"), "{steps}");
        let steps = plan(QUOTED).await.join("\n");
        assert!(steps.contains("(channel_id=? AND message_id=?)"), "{steps}");
        assert!(!steps.contains("SCAN m"), "{steps}");
    }
}
