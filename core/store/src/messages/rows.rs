//! Rows of messages, and what they say.

use chatkeep_core::id::{MessageId, RuleId, UserId};
use chatkeep_core::message::{EarlierTexts, MessageState, MessageType};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Deserializer};

use super::{ReplyOrigin, Sender, StoredMessage};
use crate::media::{MediaRecord, MediaRow};
use crate::{ReplySource, StoreError, parsed};

/// Row of `messages`. Its order of fields is that of the JSON that SQLite makes of it (`packed!`).
#[derive(Debug, Deserialize, sqlx_macros::FromRow)]
pub(crate) struct MessageRow {
    pub(crate) channel_id: String,
    pub(crate) message_id: String,
    sent_at: Option<i64>,
    backed_up_at: Option<i64>,
    sender_id: Option<String>,
    r#type: Option<String>,
    content: Option<String>,
    quoted_id: Option<String>,
    edited_at: Option<i64>,
    unsent_at: Option<i64>,
    #[serde(deserialize_with = "flag")]
    skipped: bool,
    #[serde(deserialize_with = "flag")]
    is_bot: bool,
    reply_source: Option<String>,
    reply_rule_id: Option<String>,
}

/// Columns of a [`VersionedRow`] in `messages m`.
macro_rules! versioned_columns {
    () => {
        "m.channel_id, m.message_id, m.sent_at, m.backed_up_at, m.sender_id, m.type, m.content,
         m.quoted_id, m.edited_at, m.unsent_at, m.skipped, m.is_bot, m.reply_source,
         m.reply_rule_id, m.earlier_texts "
    };
}

pub(crate) use versioned_columns;

/// Row of `messages` with its earlier texts, which lists do not read.
#[derive(Debug, sqlx_macros::FromRow)]
pub(crate) struct VersionedRow {
    #[sqlx(flatten)]
    pub(crate) message: MessageRow,
    earlier_texts: Option<String>,
}

/// Row of `messages` with its sender and media record, in the order of that JSON.
#[derive(Debug, Deserialize, sqlx_macros::FromRow)]
pub(super) struct FullRow {
    #[sqlx(flatten)]
    message: MessageRow,
    display_name: Option<String>,
    picture_url: Option<String>,
    earlier_bytes: i64,
    #[sqlx(flatten)]
    media: MediaRow,
}

/// Reads what SQLite has for a boolean.
fn flag<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Ok(u8::deserialize(value)? != 0)
}

/// Converts a row to the message's state, without earlier texts.
pub(crate) fn state_of(row: MessageRow) -> Result<MessageState, StoreError> {
    let kind = row
        .r#type
        .map(|name| parsed(MessageType::parse(&name), "messages", "type", &row.message_id))
        .transpose()?;
    Ok(MessageState {
        sent_at: row.sent_at.map(Timestamp::from_millis),
        backed_up_at: row.backed_up_at.map(Timestamp::from_millis),
        sender: row.sender_id.map(UserId::new),
        kind,
        content: row.content,
        quoted: row.quoted_id.map(MessageId::new),
        is_bot: row.is_bot,
        edited_at: row.edited_at.map(Timestamp::from_millis),
        unsent_at: row.unsent_at.map(Timestamp::from_millis),
        skipped: row.skipped,
        earlier_texts: EarlierTexts::default(),
    })
}

/// Parses stored earlier texts of a message.
pub(crate) fn earlier_texts_of(
    json: Option<&str>,
    message: &str,
) -> Result<EarlierTexts, StoreError> {
    let texts = json.map(EarlierTexts::parse).transpose();
    Ok(parsed(texts.ok(), "messages", "earlier_texts", message)?.unwrap_or_default())
}

impl VersionedRow {
    /// Converts the row to the message's state.
    pub(crate) fn state(self) -> Result<MessageState, StoreError> {
        let json = self.earlier_texts.as_deref();
        let earlier_texts = earlier_texts_of(json, &self.message.message_id)?;
        Ok(MessageState { earlier_texts, ..state_of(self.message)? })
    }
}

/// Returns the origin of a reply of the bot; `None` for other messages.
pub(crate) fn origin_of(row: &MessageRow) -> Result<Option<ReplyOrigin>, StoreError> {
    let Some(name) = &row.reply_source else {
        return Ok(None);
    };
    let source =
        parsed(ReplySource::parse(name), "messages", "reply_source", row.message_id.as_str())?;
    Ok(Some(ReplyOrigin { source, rule: row.reply_rule_id.as_deref().map(RuleId::from) }))
}

impl TryFrom<FullRow> for StoredMessage {
    type Error = StoreError;

    fn try_from(row: FullRow) -> Result<Self, StoreError> {
        let (channel, id) = (row.message.channel_id.clone(), row.message.message_id.clone());
        let reply = origin_of(&row.message)?;
        let state = state_of(row.message)?;
        let content = state.content.as_deref().map(serde_json::from_str).transpose();
        let content = parsed(content.ok(), "messages", "content", &id)?;
        let kind = parsed(state.kind, "messages", "type", &id)?;
        let media = match row.media.record(&id)? {
            None if kind.is_media() && state.unsent_at.is_some() => Some(MediaRecord::erased()),
            media => media,
        };
        let bytes =
            state.bytes() + row.earlier_bytes + media.as_ref().map_or(0, |media| media.bytes);
        Ok(Self {
            sent_at: parsed(state.sent_at, "messages", "sent_at", &id)?,
            backed_up_at: parsed(state.backed_up_at, "messages", "backed_up_at", &id)?,
            channel: channel.into(),
            id: id.into(),
            sender: state.sender.map(|id| Sender {
                id,
                display_name: row.display_name,
                picture_url: row.picture_url,
            }),
            kind,
            content,
            bytes,
            quoted: state.quoted,
            edited_at: state.edited_at,
            unsent_at: state.unsent_at,
            is_bot: state.is_bot,
            reply,
            media,
            earlier_texts: EarlierTexts::default(),
        })
    }
}
