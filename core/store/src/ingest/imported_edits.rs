//! Edits that were received before their messages, which an import brings.

use std::borrow::Cow;
use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageState;
use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::db::{Sql, Tx};
use super::super::messages::{VersionedRow, versioned_columns};
use super::imported::ImportedMessage;
use super::sql::BulkKey;
use crate::query::query_as;

/// Condition of the row of an edit whose message is not there.
macro_rules! is_waiting {
    () => {
        "sent_at IS NULL AND unsent_at IS NULL AND content IS NOT NULL AND edited_at IS NOT NULL"
    };
}

/// LATERAL as in [`super::sql::KNOWN_MESSAGES`].
const WAITING_EDITS: Sql = Sql {
    sqlite: concat!(
        "SELECT ",
        versioned_columns!(),
        "FROM json_each($1) k CROSS JOIN messages m
         WHERE m.channel_id = k.value ->> 'c' AND m.message_id = k.value ->> 'm' AND ",
        is_waiting!()
    ),
    postgres: concat!(
        "SELECT ",
        versioned_columns!(),
        "FROM json_each($1) k CROSS JOIN LATERAL (
             SELECT * FROM messages
             WHERE channel_id = k.value ->> 'c' AND message_id = k.value ->> 'm' LIMIT 1) m
         WHERE ",
        is_waiting!()
    ),
};

/// Returns the messages as they are after the edits that wait for them, whichever came first
/// (docs/architecture.md#rule-1). What they replace is an earlier text.
pub(super) async fn with_waiting_edits<'a>(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &'a [ImportedMessage],
) -> Result<Cow<'a, [ImportedMessage]>, StoreError> {
    let waiting = waiting_edits(tx, channel, messages).await?;
    if waiting.is_empty() {
        return Ok(Cow::Borrowed(messages));
    }
    let edited = |message: &ImportedMessage| match waiting.get(&message.id) {
        Some(edit) => message.clone().edited(edit),
        None => message.clone(),
    };
    Ok(Cow::Owned(messages.iter().map(edited).collect()))
}

async fn waiting_edits(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &[ImportedMessage],
) -> Result<HashMap<MessageId, MessageState>, StoreError> {
    let keys = messages
        .iter()
        .map(|message| BulkKey { c: channel.as_str(), m: Some(message.id.as_str()) });
    let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
    let rows: Vec<VersionedRow> = tx.fetch_all(query_as(WAITING_EDITS).bind(&keys)).await?;
    let state = |row: VersionedRow| Ok((row.message.message_id.as_str().into(), row.state()?));
    rows.into_iter().map(state).collect()
}

impl ImportedMessage {
    /// Applies an edit that was received before; nothing to a retracted message.
    fn edited(mut self, edit: &MessageState) -> Self {
        let (Some(at), Some(text), Some(own)) = (edit.edited_at, &edit.content, &self.content)
        else {
            return self;
        };
        let written = self.edited_at.map_or((self.sent_at, None), |at| (at, Some(own.as_str())));
        if is_later((at, text), written) {
            self.earlier_texts.add(written.0, own);
            self.content = Some(text.clone());
            self.edited_at = Some(at);
        } else if at < written.0 {
            self.earlier_texts.add(at, text);
        }
        for earlier in edit.earlier_texts.as_slice() {
            self.earlier_texts.add(earlier.at, &earlier.content);
        }
        self
    }
}

/// Returns `true` if an edit is later than what was written then: any edit is later than the message as
/// it was sent, and of two edits of one time the greater text counts, as in
/// [`MessageState::apply`].
fn is_later((at, text): (Timestamp, &str), (written, edit): (Timestamp, Option<&str>)) -> bool {
    edit.is_none_or(|other| (written, other) < (at, text))
}

#[cfg(test)]
mod tests {
    use super::WAITING_EDITS;
    use crate::plan::plan;

    #[tokio::test]
    async fn edits_that_wait_are_found_by_their_keys() {
        let steps = plan(WAITING_EDITS.sqlite).await.join("\n");
        assert!(steps.contains("(channel_id=? AND message_id=?)"), "{steps}");
    }
}
