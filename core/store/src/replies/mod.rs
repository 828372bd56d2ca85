//! Replies: records that make a reply be sent at most once and a match be counted exactly once.

mod claim;
mod exchange;
mod kinds;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, EventId, MessageId, RuleId};
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_core::time::{DAY_MILLIS, Timestamp};
use serde::Serialize;

use super::db::Tx;
use super::ingest::{ChannelChange, IngestOutcome};
use super::{AssistantStore, ReplyOrigin, StoreError, parsed};
use crate::activity::count_answers;
use crate::query::{query, query_as};
use claim::end_cooldown;
pub use claim::{Claim, ReplyIntent};
pub use exchange::Exchange;
use exchange::store_exchange;
pub use kinds::{ReplySource, ReplyStatus};

/// Reply that was not given, as far as is known.
#[derive(Clone, Copy, Debug)]
pub struct ReplyFailure {
    /// Reason.
    pub reason: ReplyFailureReason,
    /// Time of sending of the message, as in [`ReplyIntent`].
    pub at: Timestamp,
}

/// Recorded reply.
#[derive(Clone, Debug)]
pub struct ReplyRecord {
    /// Key of the event that it replies to.
    pub event: EventId,
    /// Channel.
    pub channel: ChannelId,
    /// Source.
    pub source: ReplySource,
    /// Rule, for [`ReplySource::Qa`].
    pub rule: Option<RuleId>,
    /// Message that it replies to; `None` for a welcome.
    pub message: Option<MessageId>,
    /// State.
    pub status: ReplyStatus,
    /// Reason for not being sent.
    pub reason: Option<ReplyFailureReason>,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct ReplyRow {
    event_id: String,
    channel_id: String,
    source: String,
    rule_id: Option<String>,
    message_id: Option<String>,
    status: String,
    reason: Option<String>,
}

/// Records the outcome of a reply. Its sender knows more than what was assumed of it meanwhile.
const FINISH: &str = "
    UPDATE replies SET status = $2, reason = $3, finished_at = $4, sent_ids = $5
    WHERE event_id = $1 AND (status = 'sending' OR reason = 'interrupted')";
/// Marks the bot's own messages with the origin of their reply, whose record is deleted one day.
/// Returns the messages that count, each once.
const MARK_REPLY: &str = "
    UPDATE messages SET reply_source = r.source, reply_rule_id = r.rule_id
    FROM replies r
    WHERE r.event_id = $1 AND messages.channel_id = r.channel_id
      AND messages.message_id IN (SELECT value ->> 'm' FROM json_each($2))
      AND messages.sent_at IS NOT NULL AND messages.unsent_at IS NULL AND NOT messages.skipped
      AND messages.reply_source IS NULL
    RETURNING sent_at, reply_source, reply_rule_id";
const INTERRUPT: &str = "
    UPDATE replies SET status = 'failed', reason = 'interrupted', finished_at = $2, sent_ids = NULL
    WHERE status = 'sending' AND created_at < $1";

/// Builds a statement that reads replies.
macro_rules! replies {
    ($rest:literal) => {
        concat!(
            "SELECT event_id, channel_id, source, rule_id, message_id, status, reason FROM replies ",
            $rest
        )
    };
}

const OF_CHANNEL: &str =
    replies!("WHERE channel_id = $1 ORDER BY created_at DESC, event_id DESC LIMIT $2");
/// One reply per message; an event that comes twice has the same id.
const TO_MESSAGES: &str =
    replies!("WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))");

/// Maximum time between the claim of a reply and the message that it became, in milliseconds.
const APART: i64 = DAY_MILLIS;
const QUESTION: &str = "
    SELECT r.event_id, r.message_id, r.sent_ids
    FROM messages m JOIN replies r ON r.channel_id = m.channel_id
                                  AND r.created_at BETWEEN m.sent_at - $3 AND m.sent_at + $3
    WHERE m.channel_id = $1 AND m.message_id = $2 AND r.rule_id = m.reply_rule_id
      AND r.message_id IS NOT NULL AND r.sent_ids LIKE '%\"' || $2 || '\"%'";

/// Maximum age of a reply that is recognised by the id of its message alone, in milliseconds.
const RECOGNISED: i64 = 7 * DAY_MILLIS;
const SENT: &str = "
    SELECT event_id, sent_ids FROM replies
    WHERE channel_id = $1 AND created_at BETWEEN $3 - $4 AND $3 + $4
      AND sent_ids LIKE '%\"' || $2 || '\"%'";

#[derive(Serialize)]
struct MessageKey<'a> {
    m: &'a str,
}

impl AssistantStore<'_> {
    /// Records the result of a reply, and stores the bot's own messages with it, after the message
    /// that they reply to. Returns the outcome of storing that message.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is recorded then.
    #[boxed]
    pub async fn finish_reply<'s>(
        &'s self,
        event: &EventId,
        outcome: Result<(), ReplyFailure>,
        exchange: Exchange<'s>,
        now: Timestamp,
    ) -> Result<Vec<IngestOutcome>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let kept = store_exchange(&mut tx, exchange, now).await?;
        if let Err(failure) = outcome {
            end_cooldown(&mut tx, event, failure).await?;
        }
        let status = if outcome.is_ok() { ReplyStatus::Sent } else { ReplyStatus::Failed };
        let (status, reason) = (status.name(), outcome.err().map(|failure| failure.reason.name()));
        let ids: Vec<_> = exchange.own.iter().map(|change| change.message.as_str()).collect();
        let ids = serde_json::to_string(&ids)?;
        tx.execute(
            query(FINISH)
                .bind(event.as_str())
                .bind(status)
                .bind(reason)
                .bind(now.millis())
                .bind(&ids),
        )
        .await?;
        mark_reply(&mut tx, event, exchange.own).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// Marks replies as failed whose process died while sending before `before`: nobody knows
    /// whether they arrived, so they are not repeated. A process that lives and could not reach the
    /// database records the result all the same. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn interrupt_replies(
        &self,
        before: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (before, now) = (before.millis(), now.millis());
        let interrupted = tx.execute(query(INTERRUPT).bind(before).bind(now)).await?;
        tx.commit().await?;
        Ok(interrupted)
    }

    /// Returns the message that a rule answered with that message of the bot; `None` for other
    /// messages, and once the record of the reply is deleted.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn question_of(
        &self,
        channel: &ChannelId,
        reply: &MessageId,
    ) -> Result<Option<MessageId>, StoreError> {
        let replies = query_as(QUESTION).bind(channel.as_str()).bind(reply.as_str()).bind(APART);
        let replies: Vec<(String, String, String)> = self.store.db.fetch_all(replies).await?;
        for (event, message, sent) in replies {
            if is_among(reply, &sent, &event)? {
                return Ok(Some(MessageId::new(message)));
            }
        }
        Ok(None)
    }

    /// Returns whether a message, about which somebody said something at that time, is a reply of the
    /// bot that was sent in the week before. It need not be stored.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn is_reply(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let sent = query_as(SENT)
            .bind(channel.as_str())
            .bind(message.as_str())
            .bind(at.millis())
            .bind(RECOGNISED);
        let replies: Vec<(String, String)> = self.store.db.fetch_all(sent).await?;
        for (event, sent) in replies {
            if is_among(message, &sent, &event)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the latest replies of a channel, newest first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn replies(
        &self,
        channel: &ChannelId,
        limit: u32,
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let rows: Vec<ReplyRow> = self
            .store
            .db
            .fetch_all(query_as(OF_CHANNEL).bind(channel.as_str()).bind(i64::from(limit)))
            .await?;
        rows.into_iter().map(ReplyRecord::try_from).collect()
    }

    /// Returns the replies to these messages of a channel, in any order.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn replies_to(
        &self,
        channel: &ChannelId,
        messages: &[&MessageId],
    ) -> Result<Vec<ReplyRecord>, StoreError> {
        let ids: Vec<_> =
            messages.iter().map(|message| MessageKey { m: message.as_str() }).collect();
        let ids = serde_json::to_string(&ids)?;
        let rows: Vec<ReplyRow> = self
            .store
            .db
            .fetch_all(query_as(TO_MESSAGES).bind(channel.as_str()).bind(&ids))
            .await?;
        rows.into_iter().map(ReplyRecord::try_from).collect()
    }
}

/// Returns whether a message is one of those that the reply to an event became, as recorded. In a
/// pattern of SQL, some characters of an id stand for others.
fn is_among(message: &MessageId, sent: &str, event: &str) -> Result<bool, StoreError> {
    let sent = serde_json::from_str::<Vec<String>>(sent).ok();
    let sent = parsed(sent, "replies", "sent_ids", event)?;
    Ok(sent.iter().any(|sent| sent == message.as_str()))
}

/// Marks the bot's own messages with the origin of the reply, and counts them as its answers.
/// They are of one channel, which is locked.
async fn mark_reply(tx: &mut Tx, event: &EventId, own: &[ChannelChange]) -> Result<(), StoreError> {
    let Some(first) = own.first() else {
        return Ok(());
    };
    let ids: Vec<_> = own.iter().map(|own| MessageKey { m: own.message.as_str() }).collect();
    let ids = serde_json::to_string(&ids)?;
    let marked: Vec<(i64, String, Option<String>)> =
        tx.fetch_all(query_as(MARK_REPLY).bind(event.as_str()).bind(&ids)).await?;
    let Some((_, source, rule)) = marked.first() else {
        return Ok(());
    };
    let source =
        parsed(ReplySource::parse(source), "messages", "reply_source", first.message.as_str())?;
    let origin = ReplyOrigin { source, rule: rule.as_deref().map(RuleId::from) };
    let sent_at: Vec<_> = marked.iter().map(|(at, ..)| Timestamp::from_millis(*at)).collect();
    count_answers(tx, &first.channel, &origin, &sent_at).await
}

/// Parses the recorded reason of a reply to an event.
pub(crate) fn parsed_reason(reason: &str, event: &str) -> Result<ReplyFailureReason, StoreError> {
    parsed(ReplyFailureReason::parse(reason), "replies", "reason", event)
}

impl TryFrom<ReplyRow> for ReplyRecord {
    type Error = StoreError;

    fn try_from(row: ReplyRow) -> Result<Self, StoreError> {
        let source = ReplySource::parse(&row.source);
        let status = ReplyStatus::parse(&row.status);
        let reason = row.reason.as_deref().map(|reason| parsed_reason(reason, &row.event_id));
        Ok(Self {
            source: parsed(source, "replies", "source", &row.event_id)?,
            status: parsed(status, "replies", "status", &row.event_id)?,
            reason: reason.transpose()?,
            event: row.event_id.into(),
            channel: row.channel_id.into(),
            rule: row.rule_id.map(RuleId::new),
            message: row.message_id.map(MessageId::new),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn replies_that_are_being_sent_are_found_among_all() {
        let steps = plan(INTERRUPT).await.join("\n");
        assert!(steps.contains("replies_sending (created_at<?)"), "{steps}");
    }

    #[test]
    fn messages_of_a_reply_that_cannot_be_read_are_an_error() {
        let is_among = |sent| is_among(&"7".into(), sent, "event");
        assert!(is_among(r#"["6","7"]"#).unwrap());
        assert!(!is_among(r#"["77"]"#).unwrap());
        let error = is_among(r#"{"7":"7"}"#).unwrap_err();
        assert_eq!(error.to_string(), "unexpected value in replies.sent_ids of event");
    }

    #[tokio::test]
    async fn replies_of_a_week_are_read_of_one_channel() {
        let steps = plan(SENT).await.join("\n");
        assert!(steps.contains("(channel_id=? AND created_at>? AND created_at<?)"), "{steps}");
    }
}
