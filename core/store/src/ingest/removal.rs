//! Removal of stored messages: all before a time, or all of one person. In batches, each one
//! transaction that changes the counters with the rows (docs/architecture.md#rule-3).

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;

use super::super::change_log::log_messages;
use super::super::db::Tx;
use super::super::exports::outdate_exports;
use super::super::media::erase_media;
use super::super::messages::{VersionedRow, origin_of, versioned_columns};
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewOutboxEvent, log};
use super::super::retractions::record_retractions;
use super::super::subscriptions::resume;
use super::super::unknown_events::{forget_unknown, forget_unknown_of};
use super::super::webhooks::delete_responses_in;
use super::super::{MessageState, MessageStore, StoreError};
use super::sql::BulkKey;
use super::stray_edits::{forget_skipped, forget_stray_edits};
use super::unstored_events::log_erased_unstored;
use super::{lock_ledger, save_ledger};
use crate::activity::Counted;
use crate::query::{query, query_as};

/// Batch of removed messages.
#[derive(Debug, Default)]
pub struct Removed {
    /// Message ids.
    pub messages: Vec<MessageId>,
    /// Number of those that counted as messages: what was unsent before did not.
    pub counted: i64,
    /// Bytes that they counted for, their media included.
    pub bytes: i64,
    /// `true` if nothing is left to remove.
    pub last: bool,
}

/// Builds a statement for the message rows to remove.
macro_rules! rows {
    ($where:literal) => {
        concat!("SELECT ", versioned_columns!(), "FROM messages m WHERE ", $where)
    };
}

pub(super) const BEFORE: &str =
    rows!("channel_id = $1 AND sent_at < $2 ORDER BY sent_at, message_id LIMIT $3");
/// Everything of a channel, incomplete messages included.
pub(super) const ALL: &str = rows!("channel_id = $1 ORDER BY message_id LIMIT $2");
const OF_IMPORT: &str = rows!("import_id = $1 AND channel_id = $2 ORDER BY message_id LIMIT $3");
const OF_PERSON: &str = rows!("channel_id = $1 AND sender_id = $4 AND sent_at < $2 LIMIT $3");

const COUNT: &str = "
    SELECT CAST(COALESCE(SUM(CASE WHEN m.unsent_at IS NULL AND NOT m.skipped THEN 1 ELSE 0 END), 0)
                AS BIGINT),
           CAST(COALESCE(SUM(COALESCE(OCTET_LENGTH(m.content), 0)
                                      + COALESCE(OCTET_LENGTH(m.earlier_texts), 0)), 0) AS BIGINT),
           CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT)
    FROM messages m
    LEFT JOIN media f ON f.channel_id = m.channel_id AND f.message_id = m.message_id
    WHERE m.channel_id = $1 AND m.sent_at < $2";

const DROP_MESSAGES: &str = "
    DELETE FROM messages
    WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))";
/// Remainder of an erased message: that it existed.
const TOMBSTONE_MESSAGES: &str = "
    UPDATE messages SET content = NULL, earlier_texts = NULL, sender_id = NULL, quoted_id = NULL,
                        import_id = NULL, unsent_at = COALESCE(unsent_at, $3)
    WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))";
const BAR: &str = "
    INSERT INTO erased_messages (channel_id, message_id)
    SELECT $1, value ->> 'm' FROM json_each($2) WHERE TRUE
    ON CONFLICT (channel_id, message_id) DO NOTHING";
const ERASE_PERSON: &str = "
    INSERT INTO erased_people (channel_id, user_id, erased_at) VALUES ($1, $2, $3)
    ON CONFLICT (channel_id, user_id) DO UPDATE SET
        erased_at = CASE WHEN excluded.erased_at > erased_people.erased_at
                         THEN excluded.erased_at ELSE erased_people.erased_at END";
pub(super) const DELETED_BEFORE: &str = "
    UPDATE channels SET deleted_before = $2 WHERE channel_id = $1 AND deleted_before < $2";

/// Treatment of the rows of a batch.
#[derive(Clone, Copy)]
pub(crate) enum RemovalMode {
    /// Deletes the rows.
    Delete,
    /// Leaves tombstones.
    Tombstone,
    /// Deletes the rows without a trace: another import may bring them again.
    Undo,
}

impl MessageStore<'_> {
    /// Counts the messages sent before that time, and their bytes.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn count_before(
        &self,
        channel: &ChannelId,
        before: Timestamp,
    ) -> Result<(i64, i64), StoreError> {
        let (count, text, media): (i64, i64, i64) = self
            .store
            .db
            .fetch_one(query_as(COUNT).bind(channel.as_str()).bind(before.millis()))
            .await?;
        Ok((count, text + media))
    }
}

/// Removes at most `limit` messages sent before that time. Those of a person are erased: tombstones
/// without sender and content stay. Without a person the oldest of the channel are deleted. Bytes
/// and baselines are lowered with it, so that nobody's usage rises or falls below 0.
pub(crate) async fn remove_some(
    tx: &mut Tx,
    channel: &ChannelId,
    of: Option<&UserId>,
    before: Timestamp,
    limit: u32,
    now: Timestamp,
) -> Result<Removed, StoreError> {
    let how = if of.is_some() { RemovalMode::Tombstone } else { RemovalMode::Delete };
    remove(tx, channel, now, (how, limit), async |tx| {
        let (c, at, limit) = (channel.as_str(), before.millis(), i64::from(limit));
        Ok(match of {
            Some(user) => {
                tx.fetch_all(query_as(OF_PERSON).bind(c).bind(at).bind(limit).bind(user.as_str()))
                    .await?
            }
            None => tx.fetch_all(query_as(BEFORE).bind(c).bind(at).bind(limit)).await?,
        })
    })
    .await
}

/// Makes sure that what was sent in a channel before a time, by one person or by all, cannot come
/// back: late deliveries and imports of it are rejected from now on, and the events of unknown types
/// go, which may say something of it, as do edits that wait for such a message. Whoever was told of
/// an unstored message of an erased person learns that it is unsent. Two concurrent removals of the
/// same wait for each other here.
pub(crate) async fn bar_removed(
    tx: &mut Tx,
    channel: &ChannelId,
    of: Option<&UserId>,
    before: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    lock_ledger(tx, &[channel].into()).await?;
    let (c, at) = (channel.as_str(), before.millis());
    if let Some(user) = of {
        tx.execute(query(ERASE_PERSON).bind(c).bind(user.as_str()).bind(at)).await?;
        log_erased_unstored(tx, channel, user, before, now).await?;
    } else {
        tx.execute(query(DELETED_BEFORE).bind(c).bind(at)).await?;
        forget_skipped(tx, channel, before).await?;
    }
    forget_stray_edits(tx, channel, of, before).await?;
    forget_unknown(tx, channel, before).await
}

/// Records that messages of a channel, by JSON keys, are never to be stored again.
pub(crate) async fn remember_erased(
    tx: &mut Tx,
    channel: &ChannelId,
    keys: &str,
) -> Result<(), StoreError> {
    tx.execute(query(BAR).bind(channel.as_str()).bind(keys)).await?;
    forget_unknown_of(tx, channel, keys).await
}

/// Returns the messages that an import added, at most `limit`.
pub(super) async fn rows_of(
    tx: &mut Tx,
    channel: &ChannelId,
    import: i64,
    limit: u32,
) -> Result<Vec<VersionedRow>, StoreError> {
    Ok(tx
        .fetch_all(query_as(OF_IMPORT).bind(import).bind(channel.as_str()).bind(i64::from(limit)))
        .await?)
}

/// Removes at most that many messages, chosen under the channel's lock.
pub(crate) async fn remove(
    tx: &mut Tx,
    channel: &ChannelId,
    now: Timestamp,
    (how, limit): (RemovalMode, u32),
    choose: impl AsyncFnOnce(&mut Tx) -> Result<Vec<VersionedRow>, StoreError>,
) -> Result<Removed, StoreError> {
    let mut ledger = lock_ledger(tx, &BTreeSet::from([channel])).await?;
    let rows = choose(tx).await?;
    let last = i64::try_from(rows.len()).unwrap_or(i64::MAX) < i64::from(limit);
    let mut states = Vec::with_capacity(rows.len());
    let (mut bytes, mut counted) = (0, 0);
    for row in rows {
        let id = MessageId::new(row.message.message_id.clone());
        let origin = origin_of(&row.message)?;
        let state = row.state()?;
        bytes += state.bytes();
        counted += i64::from(state.counts());
        let stored_at = state.backed_up_at.unwrap_or(now);
        let before = Counted::of(&state, origin.as_ref());
        ledger.charge_message(channel, stored_at, before.as_ref(), None);
        states.push((id, state));
    }
    let all = keys(states.iter().map(|(id, _)| id))?;
    let sent = states.iter().filter_map(|(_, state)| Some((channel, state.sent_at?)));
    outdate_exports(tx, sent).await?;
    let media = states.iter().filter(|(_, state)| state.kind.is_some_and(MessageType::is_media));
    let media: Vec<_> =
        media.map(|(id, _)| BulkKey { c: channel.as_str(), m: Some(id.as_str()) }).collect();
    if !media.is_empty() {
        bytes += erase_media(tx, &mut ledger, &media).await?;
    }
    take_messages(tx, channel, &states, &all, how, now).await?;
    delete_responses_in(tx, channel, &all).await?;
    if !matches!(how, RemovalMode::Undo) {
        forget_unknown_of(tx, channel, &all).await?;
    }
    log_removed(tx, channel, &states, how, now).await?;
    save_ledger(tx, &ledger, now).await?;
    resume(tx, &BTreeSet::from([channel.clone()]), now).await?;
    record_retractions(tx, &BTreeSet::from([channel])).await?;
    let messages = states.into_iter().map(|(id, _)| id).collect();
    Ok(Removed { messages, counted, bytes, last })
}

async fn take_messages(
    tx: &mut Tx,
    channel: &ChannelId,
    states: &[(MessageId, MessageState)],
    all: &str,
    how: RemovalMode,
    now: Timestamp,
) -> Result<(), StoreError> {
    let c = channel.as_str();
    match how {
        RemovalMode::Delete => {
            // With the tombstone goes the knowledge that its content must not come back.
            let unsent = states.iter().filter(|(_, state)| state.unsent_at.is_some());
            let unsent = keys(unsent.map(|(id, _)| id))?;
            tx.execute(query(BAR).bind(c).bind(&unsent)).await?;
            tx.execute(query(DROP_MESSAGES).bind(c).bind(all)).await?;
        }
        RemovalMode::Undo => {
            tx.execute(query(DROP_MESSAGES).bind(c).bind(all)).await?;
        }
        RemovalMode::Tombstone => {
            tx.execute(query(BAR).bind(c).bind(all)).await?;
            tx.execute(query(TOMBSTONE_MESSAGES).bind(c).bind(all).bind(now.millis())).await?;
        }
    }
    Ok(())
}

/// Logs a batch: erased messages as taken back, which whoever has copies of them has to know (those
/// that were unsent before lose their sender); others for search replicas alone.
async fn log_removed(
    tx: &mut Tx,
    channel: &ChannelId,
    states: &[(MessageId, MessageState)],
    how: RemovalMode,
    now: Timestamp,
) -> Result<(), StoreError> {
    let is_erased = matches!(how, RemovalMode::Tombstone);
    let (erased, quiet): (Vec<_>, Vec<_>) =
        states.iter().partition(|(_, state)| is_erased && state.sent_at.is_some());
    let events = erased.iter().map(|(message, _)| NewOutboxEvent {
        kind: OutboxEventKind::MessageUnsent.name(),
        at: now.millis(),
        c: Some(channel.as_str()),
        s: Some(message.as_str()),
    });
    log(tx, &events.collect::<Vec<_>>(), now).await?;
    log_messages(tx, quiet.iter().map(|(message, _)| (channel, message)), now).await
}

fn keys<'a>(ids: impl Iterator<Item = &'a MessageId>) -> Result<String, StoreError> {
    let keys: Vec<_> = ids.map(|id| BulkKey { c: "", m: Some(id.as_str()) }).collect();
    Ok(serde_json::to_string(&keys)?)
}
