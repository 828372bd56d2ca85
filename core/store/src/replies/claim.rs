//! Claims of the right to reply: one for each event, and none during a cooldown.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, EventId, MessageId, RuleId};
use chatkeep_core::random::random_name;
use chatkeep_core::time::Timestamp;

use super::{ReplyFailure, ReplySource, ReplyStatus};
use crate::db::{Sql, Tx, locking};
use crate::query::{query, query_as};
use crate::{AssistantStore, StoreError, channel_locks, parsed};

/// Result of claiming the right to reply to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// This caller replies.
    Granted,
    /// The cooldown of the rule or of the link is on: nobody replies.
    Suppressed,
    /// Claimed before; the state of that reply.
    Taken(ReplyStatus),
}

/// Reply about to be sent.
#[derive(Clone, Debug)]
pub struct ReplyIntent<'a> {
    /// Event that it replies to, identified by [`Event::key`](chatkeep_core::event::Event::key);
    /// the claim's identity.
    pub event: &'a EventId,
    /// Channel.
    pub channel: &'a ChannelId,
    /// Source.
    pub source: ReplySource,
    /// Rule, for [`ReplySource::Qa`].
    pub rule: Option<&'a RuleId>,
    /// Message that it replies to; `None` for a welcome.
    pub message: Option<&'a MessageId>,
    /// Cooldown of the rule, or of the link, in milliseconds; 0 for none.
    pub cooldown_ms: i64,
    /// Time of sending of the message.
    pub at: Timestamp,
}

/// While a reply is being sent, the column of the messages that it becomes has the token of whoever
/// claimed it.
const CLAIM: &str = "
    INSERT INTO replies (event_id, channel_id, source, rule_id, message_id, status, created_at,
                         sent_ids)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (event_id) DO NOTHING";
const CLAIMED: &str = "SELECT status, sent_ids FROM replies WHERE event_id = $1";
const LAST_HIT: Sql =
    locking!("SELECT last_hit_at FROM qa_rules WHERE channel_id = $1 AND rule_id = $2");
/// Makes replies with the channel's link wait for each other; a rule's wait for its row.
const LAST_LINK: &str = "
    SELECT MAX(created_at) FROM replies
    WHERE channel_id = $1 AND created_at > $2 AND source = 'link' AND status <> 'suppressed'
      AND NOT (status = 'failed' AND reason IN ('expired_token', 'quota', 'unavailable'))";
/// Events may come late: the last hit is the one that was sent last.
const HIT: &str = "
    UPDATE qa_rules SET hit_count = hit_count + 1,
        last_hit_at = CASE WHEN last_hit_at > $3 THEN last_hit_at ELSE $3 END
    WHERE channel_id = $1 AND rule_id = $2";
/// Ends the cooldown that a reply began, unless a later one did meanwhile.
const END_COOLDOWN: &str = "
    UPDATE qa_rules SET last_hit_at = 0
    WHERE last_hit_at = $2
      AND (channel_id, rule_id) IN (SELECT channel_id, rule_id FROM replies
                                    WHERE event_id = $1
                                      AND (status = 'sending' OR reason = 'interrupted'))";
const SUPPRESSED: &str = "
    UPDATE qa_rules SET hit_count = hit_count + 1, suppressed_count = suppressed_count + 1
    WHERE channel_id = $1 AND rule_id = $2";

impl AssistantStore<'_> {
    /// Claims the right to reply to an event, and counts the rule's match with it. Callers without
    /// the grant must stay silent.
    ///
    /// # Errors
    /// Returns an error when the database fails. Nobody knows then whether the reply is claimed.
    #[boxed]
    pub async fn claim_reply(
        &self,
        intent: &ReplyIntent<'_>,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        self.claim_reply_with(intent, &random_name(), now).await
    }

    /// Claims a reply as [`Self::claim_reply`] does. `token` is the claim's own, which nobody else
    /// has: after a failure the same claim is granted with it, whether it was committed or not.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn claim_reply_with(
        &self,
        intent: &ReplyIntent<'_>,
        token: &str,
        now: Timestamp,
    ) -> Result<Claim, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let claim = claim_in(&mut tx, intent, token, now).await?;
        tx.commit().await?;
        Ok(claim)
    }
}

async fn claim_in(
    tx: &mut Tx,
    intent: &ReplyIntent<'_>,
    token: &str,
    now: Timestamp,
) -> Result<Claim, StoreError> {
    let cold = in_cooldown(tx, intent).await?;
    let status = if cold { ReplyStatus::Suppressed } else { ReplyStatus::Sending };
    let claimed = tx
        .execute(
            query(CLAIM)
                .bind(intent.event.as_str())
                .bind(intent.channel.as_str())
                .bind(intent.source.name())
                .bind(intent.rule.map(RuleId::as_str))
                .bind(intent.message.map(MessageId::as_str))
                .bind(status.name())
                .bind(now.millis())
                .bind((!cold).then_some(token)),
        )
        .await?;
    if claimed == 0 {
        return claim_before(tx, intent.event, token).await;
    }
    if let Some(rule) = intent.rule {
        let (channel, rule) = (intent.channel.as_str(), rule.as_str());
        if cold {
            tx.execute(query(SUPPRESSED).bind(channel).bind(rule)).await?;
        } else {
            tx.execute(query(HIT).bind(channel).bind(rule).bind(intent.at.millis())).await?;
        }
    }
    Ok(if cold { Claim::Suppressed } else { Claim::Granted })
}

/// Returns what an earlier claim of the event is to the one with this token: granted if it is the
/// same one, and nothing came of it yet.
async fn claim_before(tx: &mut Tx, event: &EventId, token: &str) -> Result<Claim, StoreError> {
    let event = event.as_str();
    let (status, claimant): (String, Option<String>) =
        tx.fetch_one(query_as(CLAIMED).bind(event)).await?;
    let status = parsed(ReplyStatus::parse(&status), "replies", "status", event)?;
    if status == ReplyStatus::Sending && claimant.as_deref() == Some(token) {
        return Ok(Claim::Granted);
    }
    Ok(Claim::Taken(status))
}

/// Returns `true` if the last reply of the rule, or the last one with the link, is within the
/// cooldown.
async fn in_cooldown(tx: &mut Tx, intent: &ReplyIntent<'_>) -> Result<bool, StoreError> {
    if intent.source == ReplySource::Link && intent.cooldown_ms > 0 {
        return link_in_cooldown(tx, intent).await;
    }
    let (Some(rule), true) = (intent.rule, intent.cooldown_ms > 0) else {
        return Ok(false);
    };
    let (channel, rule) = (intent.channel.as_str(), rule.as_str());
    let last: Option<(i64,)> =
        tx.fetch_optional(query_as(LAST_HIT).bind(channel).bind(rule)).await?;
    // One that was sent that long before the last one, and comes late, is as far from it.
    let near = |at: i64| intent.at.millis().abs_diff(at) < intent.cooldown_ms.unsigned_abs();
    Ok(last.is_some_and(|(at,)| at > 0 && near(at)))
}

async fn link_in_cooldown(tx: &mut Tx, intent: &ReplyIntent<'_>) -> Result<bool, StoreError> {
    channel_locks::lock_one(tx, intent.channel).await?;
    let channel = intent.channel.as_str();
    let since = intent.at.millis() - intent.cooldown_ms;
    let (last,): (Option<i64>,) =
        tx.fetch_one(query_as(LAST_LINK).bind(channel).bind(since)).await?;
    Ok(last.is_some())
}

/// Ends the cooldown of a reply that is about to be recorded as failed, if nothing was said for
/// certain: whoever asks again gets an answer. Replies with the link go by the recorded reason.
pub(super) async fn end_cooldown(
    tx: &mut Tx,
    event: &EventId,
    failure: ReplyFailure,
) -> Result<(), StoreError> {
    if failure.reason.is_certain() {
        let (event, at) = (event.as_str(), failure.at.millis());
        tx.execute(query(END_COOLDOWN).bind(event).bind(at)).await?;
    }
    Ok(())
}
