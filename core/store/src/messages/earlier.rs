//! Earlier texts of edited messages: read for a few messages at a time, so that lists cost nothing
//! more, and erased where their channel keeps them no more.

use std::collections::{BTreeSet, HashMap};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::EarlierTexts;
use chatkeep_core::time::Timestamp;

use super::StoredMessage;
use super::rows::{VersionedRow, earlier_texts_of, origin_of, versioned_columns};
use super::sql::EARLIER_TEXTS;
use crate::activity::Counted;
use crate::ingest::{BulkKey, lock_ledger, save_ledger};
use crate::query::{query, query_as};
use crate::subscriptions::resume;
use crate::{MessageStore, StoreError};

/// Part of a channel's messages, with whether each has earlier texts.
const PART: &str = "
    SELECT message_id, CAST(CASE WHEN earlier_texts IS NULL THEN 0 ELSE 1 END AS BIGINT)
    FROM messages WHERE channel_id = $1 AND message_id > $2 ORDER BY message_id LIMIT $3";

const TO_ERASE: &str = concat!(
    "SELECT ",
    versioned_columns!(),
    "FROM json_each($2) k CROSS JOIN messages m CROSS JOIN channels c
     WHERE m.channel_id = $1 AND m.message_id = k.value ->> 'm' AND m.earlier_texts IS NOT NULL
       AND c.channel_id = $1 AND c.erase_earlier_texts"
);
const ERASE: &str = "
    UPDATE messages SET earlier_texts = NULL
    WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))";

fn keys<'a>(messages: impl IntoIterator<Item = &'a MessageId>) -> Result<String, StoreError> {
    let keys = messages.into_iter().map(|message| BulkKey { c: "", m: Some(message.as_str()) });
    Ok(serde_json::to_string(&keys.collect::<Vec<_>>())?)
}

impl MessageStore<'_> {
    /// Adds their earlier texts to messages of a channel, where it keeps them.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn add_earlier_texts(
        &self,
        channel: &ChannelId,
        messages: &mut [StoredMessage],
    ) -> Result<(), StoreError> {
        let edited = |message: &&StoredMessage| message.edited_at.is_some();
        let wanted: Vec<_> = messages.iter().filter(edited).map(|message| &message.id).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let found = query_as(EARLIER_TEXTS).bind(channel.as_str()).bind(keys(wanted)?);
        let rows: Vec<(String, String)> = self.store.db.fetch_all(found).await?;
        let mut texts: HashMap<String, EarlierTexts> = HashMap::with_capacity(rows.len());
        for (message, json) in rows {
            let earlier = earlier_texts_of(Some(&json), &message)?;
            texts.insert(message, earlier);
        }
        for message in messages {
            if let Some(earlier) = texts.remove(message.id.as_str()) {
                message.earlier_texts = earlier;
            }
        }
        Ok(())
    }

    /// Looks through at most `limit` messages of a channel after `after`, by id. Returns those with
    /// earlier texts, and the last one looked at; `None` at the end.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn find_earlier_texts(
        &self,
        channel: &ChannelId,
        after: Option<&MessageId>,
        limit: u32,
    ) -> Result<(Vec<MessageId>, Option<MessageId>), StoreError> {
        let after = after.map_or("", MessageId::as_str);
        let part = query_as(PART).bind(channel.as_str()).bind(after).bind(i64::from(limit));
        let rows: Vec<(String, i64)> = self.store.db.fetch_all(part).await?;
        let last = rows.last().map(|(id, _)| MessageId::from(id.as_str()));
        let found = rows.into_iter().filter(|(_, has)| *has != 0);
        Ok((found.map(|(id, _)| MessageId::new(id)).collect(), last))
    }

    /// Erases earlier texts of these messages, if their channel has switched them off, and lowers
    /// the counters. Returns the number of messages that had some.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is erased then.
    #[boxed]
    pub async fn erase_earlier_texts(
        &self,
        channel: &ChannelId,
        messages: &[MessageId],
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let mut ledger = lock_ledger(&mut tx, &BTreeSet::from([channel])).await?;
        let chosen = query_as(TO_ERASE).bind(channel.as_str()).bind(keys(messages)?);
        let rows: Vec<VersionedRow> = tx.fetch_all(chosen).await?;
        let mut erased = Vec::with_capacity(rows.len());
        for row in rows {
            erased.push(MessageId::from(row.message.message_id.as_str()));
            let origin = origin_of(&row.message)?;
            let mut state = row.state()?;
            let before = Counted::of(&state, origin.as_ref());
            state.earlier_texts = EarlierTexts::default();
            let after = Counted::of(&state, origin.as_ref());
            let stored_at = state.backed_up_at.unwrap_or(now);
            ledger.charge_message(channel, stored_at, before.as_ref(), after.as_ref());
        }
        tx.execute(query(ERASE).bind(channel.as_str()).bind(keys(&erased)?)).await?;
        save_ledger(&mut tx, &ledger, now).await?;
        resume(&mut tx, &BTreeSet::from([channel.clone()]), now).await?;
        tx.commit().await?;
        Ok(erased.len())
    }
}
