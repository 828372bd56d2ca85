//! Messages of a digest by what they have in them: links, mentions, questions, files.

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::time::Timestamp;

use super::sql::{NEWEST_OF_TYPE, NOTED, UNANSWERED};
use super::{DigestKey, DigestScope};
use crate::ingest::BulkKey;
use crate::query::query_as;
use crate::{MessageStore, StoreError, parsed};

/// Text that may have a link, a mention or a question.
#[derive(Clone, Debug)]
pub struct NotedText {
    /// Message.
    pub key: DigestKey,
    /// Time of sending.
    pub sent_at: Timestamp,
    /// Sender, if the platform named one.
    pub sender: Option<UserId>,
    /// `true` if the bot sent it.
    pub is_bot: bool,
    /// Content.
    pub content: Content,
}

/// Texts of a digest that may have a link, a mention or a question.
#[derive(Clone, Debug)]
pub struct NotedTexts {
    /// Start of the time whose texts are all there: that of the digest, or later where a channel
    /// has more of them.
    pub since: Timestamp,
    /// Texts, newest first.
    pub texts: Vec<NotedText>,
    /// `true` if a channel has more of them.
    pub more: bool,
}

#[derive(sqlx_macros::FromRow)]
struct NotedRow {
    channel_id: String,
    message_id: String,
    sent_at: i64,
    sender_id: Option<String>,
    is_bot: bool,
    content: String,
}

impl MessageStore<'_> {
    /// Returns the newest messages of that type, which is not text, that were not unsent, at most
    /// `limit` of all channels together.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn newest_of_type<'s>(
        &'s self,
        scope: DigestScope<'s>,
        kind: MessageType,
        limit: u32,
    ) -> Result<Vec<DigestKey>, StoreError> {
        let keys = scope.type_keys(&[kind])?;
        let newest = query_as(NEWEST_OF_TYPE).bind(&keys);
        let newest = newest.bind(scope.millis()).bind(i64::from(limit));
        let rows: Vec<(String, String, i64)> = self.store.db.fetch_all(newest).await?;
        Ok(rows.into_iter().map(|(c, m, _)| (c.into(), m.into())).collect())
    }

    /// Returns the texts that may have a link, a mention or a question, at most `limit` of each
    /// channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn noted_texts<'s>(
        &'s self,
        scope: DigestScope<'s>,
        limit: u32,
    ) -> Result<NotedTexts, StoreError> {
        let keys = scope.keys()?;
        let noted = query_as(NOTED).bind(&keys).bind(scope.millis()).bind(i64::from(limit) + 1);
        let texts = self.store.db.fetch_mapped(noted, noted_text).await?;
        Ok(NotedTexts::up_to(scope.from, texts, limit as usize))
    }

    /// Returns those of these questions that nobody answered: no message of somebody else quotes one,
    /// and none of the `next` messages that followed it within `time` milliseconds is by somebody
    /// else. What was unsent is no answer.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn unanswered(
        &self,
        questions: &[DigestKey],
        (next, time): (u32, i64),
    ) -> Result<HashSet<DigestKey>, StoreError> {
        let keys = questions.iter().map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) });
        let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
        let unanswered = query_as(UNANSWERED).bind(&keys).bind(i64::from(next)).bind(time);
        let rows: Vec<(String, String)> = self.store.db.fetch_all(unanswered).await?;
        Ok(rows.into_iter().map(|(c, m)| (c.into(), m.into())).collect())
    }
}

impl NotedTexts {
    /// Leaves at most `limit` texts of each channel, and of each time all or none, so that all of the
    /// time that is left are there.
    fn up_to(from: Timestamp, mut texts: Vec<NotedText>, limit: usize) -> Self {
        let mut counts: HashMap<&ChannelId, (usize, Timestamp)> = HashMap::new();
        for text in &texts {
            let (count, oldest) = counts.entry(&text.key.0).or_insert((0, text.sent_at));
            (*count, *oldest) = (*count + 1, text.sent_at);
        }
        let cut = counts.into_iter().filter(|(_, (count, _))| *count > limit);
        let cut: HashMap<ChannelId, Timestamp> =
            cut.map(|(channel, (_, oldest))| (channel.clone(), oldest)).collect();
        texts.retain(|text| cut.get(&text.key.0).is_none_or(|oldest| text.sent_at > *oldest));
        let after = |oldest: &Timestamp| Timestamp::from_millis(oldest.millis() + 1);
        let since = cut.values().map(after).max().unwrap_or(from);
        Self { since, texts, more: !cut.is_empty() }
    }
}

fn noted_text(row: NotedRow) -> Result<NotedText, StoreError> {
    let content = serde_json::from_str(&row.content).ok();
    Ok(NotedText {
        content: parsed(content, "messages", "content", &row.message_id)?,
        key: (row.channel_id.into(), row.message_id.into()),
        sent_at: Timestamp::from_millis(row.sent_at),
        sender: row.sender_id.map(UserId::new),
        is_bot: row.is_bot,
    })
}
