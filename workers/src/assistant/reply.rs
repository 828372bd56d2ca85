//! Sending a reply: claim, call, record.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use chatkeep_core::event::{ChannelRef, Event, EventKind, ReplyToken};
use chatkeep_core::id::{EventId, MessageId};
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::{log_reason, metric};
use chatkeep_platform::{Directory, PlatformError};
use chatkeep_store::{
    ChannelChange, Claim, Exchange, IngestOutcome, ReplyFailure, ReplyIntent, ReplySource,
};
use tracing::info;
use uuid::Uuid;

use super::{Assistant, Planned, text};
use crate::backup::{change_of, count};
use crate::log_failure;
use crate::members::evidence_of;
use crate::outcome::Outcome;

/// First pause before a call that did not reach the platform is repeated.
const AGAIN: Duration = Duration::from_millis(250);
/// Longest pause before the outcome is recorded again.
const LONGEST: Duration = Duration::from_secs(5);
/// Back-off without an end: each pause is twice the one before.
const BACKOFF: ExponentialBuilder =
    ExponentialBuilder::new().with_min_delay(AGAIN).without_max_delay().without_max_times();

/// Returns the message that a reply to this event answers.
fn answered(event: &Event) -> Option<&MessageId> {
    match &event.kind {
        EventKind::Message(message) => Some(&message.id),
        _ => None,
    }
}

impl Assistant {
    /// Sends the planned reply unless another process did or is doing so.
    pub(super) async fn send_reply(
        &self,
        event: &Event,
        channel: &ChannelRef,
        planned: Planned,
    ) -> Result<(), Outcome> {
        // Before the claim: an event whose bot is unknown here can be replied to later.
        let directory = self.bot_of(event)?;
        let key = event.key();
        let intent = ReplyIntent {
            event: &key,
            channel: &channel.id,
            source: planned.source,
            rule: planned.rule.as_ref(),
            message: answered(event),
            cooldown_ms: i64::try_from(planned.cooldown.as_millis()).unwrap_or(i64::MAX),
            at: event.at,
        };
        match self.store.assistant().claim_reply(&intent, self.clock.now()).await? {
            Claim::Granted => {}
            Claim::Suppressed | Claim::Taken(_) => return Ok(()),
        }
        let platform = directory.platform();
        let texts = text::split(&planned.text, platform.max_units(), platform.max_texts());
        // Who asks for the link can ask again; it is never worth a push, which costs money.
        let may_push = self.policy.push_fallback && planned.source != ReplySource::Link;
        let given = self.call(directory, event, channel, &texts, may_push).await;
        log_reply(event, planned.source, &given);
        let given = given.map_err(|error| error.reply_reason());
        self.record_surely(event, channel, &texts, given).await
    }

    /// Records the outcome, waiting for a store that is unavailable: the call cannot be undone, and
    /// another delivery of the event would not know its outcome.
    async fn record_surely(
        &self,
        event: &Event,
        channel: &ChannelRef,
        texts: &[String],
        given: Result<Vec<MessageId>, &'static str>,
    ) -> Result<(), Outcome> {
        (|| self.record(event, channel, texts, &given))
            .retry(BACKOFF.with_max_delay(LONGEST))
            .when(|outcome| matches!(outcome, Outcome::Unavailable(_)))
            .notify(|outcome, _| {
                if let Outcome::Unavailable(failure) = outcome {
                    log_reason!(warn, failure, "cannot record a reply yet");
                }
            })
            .await
    }

    /// Calls the platform: by reply token while it is fresh, else by push if it may.
    async fn call(
        &self,
        directory: &Directory,
        event: &Event,
        channel: &ChannelRef,
        texts: &[String],
        may_push: bool,
    ) -> Result<Vec<MessageId>, PlatformError> {
        if let Some(token) = &event.reply_token
            && !self.late(event)
        {
            match self.call_with_token(directory, event, token, texts).await {
                Err(PlatformError::InvalidReplyToken) if may_push => {}
                done => return done,
            }
        }
        if !may_push {
            return Err(PlatformError::InvalidReplyToken);
        }
        let key = retry_key(&event.key());
        directory.platform().push(channel, texts, &key).await
    }

    /// Repeats only calls that certainly did not happen: no connection, or a refusal for now.
    async fn call_with_token(
        &self,
        directory: &Directory,
        event: &Event,
        token: &ReplyToken,
        texts: &[String],
    ) -> Result<Vec<MessageId>, PlatformError> {
        (|| directory.platform().reply(token, texts))
            .retry(BACKOFF)
            .when(|error| error.not_now().is_some())
            .adjust(|error, pause| {
                let retry_after = error.not_now().flatten().map(|time| time.max(AGAIN));
                let wait = retry_after.or(pause)?;
                let due = self.clock.now().plus(wait);
                (due.since(event.at) < self.policy.deadline).then_some(wait)
            })
            .await
    }

    fn late(&self, event: &Event) -> bool {
        self.clock.now().since(event.at) >= self.policy.deadline
    }

    /// Records the outcome, and stores the bot's own messages after those that they answer.
    async fn record(
        &self,
        event: &Event,
        channel: &ChannelRef,
        texts: &[String],
        given: &Result<Vec<MessageId>, &'static str>,
    ) -> Result<(), Outcome> {
        let (key, now) = (event.key(), self.clock.now());
        let ids = match given {
            Ok(ids) => ids,
            Err(reason) => {
                let failure = ReplyFailure { reason, at: event.at };
                self.store
                    .assistant()
                    .finish_reply(&key, Err(failure), Exchange::default(), now)
                    .await?;
                return Ok(());
            }
        };
        let own = self.own_messages(event, channel, texts, ids).await?;
        let question: Vec<_> = change_of(event).into_iter().collect();
        let joined = match event.kind {
            EventKind::MembersJoined(_) => evidence_of(event),
            _ => Vec::new(),
        };
        let exchange = Exchange { question: &question, joined: &joined, own: &own };
        let mut kept = self.store.assistant().finish_reply(&key, Ok(()), exchange, now).await?;
        // Messages that another delivery stored are counted there.
        kept.retain(|kept| matches!(kept, IngestOutcome::Changed | IngestOutcome::Skipped));
        count(&kept);
        Ok(())
    }

    async fn own_messages(
        &self,
        event: &Event,
        channel: &ChannelRef,
        texts: &[String],
        ids: &[MessageId],
    ) -> Result<Vec<ChannelChange>, Outcome> {
        // Without its own id the bot's messages are stored all the same, marked by `isBot`.
        let bot = self.bot_of(event)?.bot().await.ok();
        if let Some(bot) = &bot {
            let name = Some(bot.display_name.as_str());
            self.store.accounts().add_user(&bot.user_id, name, self.clock.now()).await?;
        }
        let sender = bot.map(|bot| bot.user_id);
        // The platform's clock may be ahead of ours; no reply is dated before its question.
        let at = self.clock.now().max(event.at.plus(Duration::from_millis(1)));
        let own = |(id, text): (&MessageId, &String)| {
            let content = serde_json::to_string(&Content::text(text.as_str())).ok()?;
            let received = Received {
                at,
                sender: sender.clone(),
                kind: MessageType::Text,
                content,
                quoted: None,
                is_bot: true,
            };
            let change = MessageChange::Received(received);
            Some(ChannelChange { channel: channel.id.clone(), message: id.clone(), change })
        };
        Ok(ids.iter().zip(texts).filter_map(own).collect())
    }
}

/// Counts and logs the result of a reply.
fn log_reply(event: &Event, source: ReplySource, given: &Result<Vec<MessageId>, PlatformError>) {
    let (source, bot) = (source.name(), event.bot.clone());
    let result = given.as_ref().map_or_else(PlatformError::code, |_| "sent");
    match given {
        Ok(ids) => info!(bot, source, messages = ids.len(), "replied"),
        Err(error) => log_failure!(warn, error, bot, source, "no reply was sent"),
    }
    metric::REPLIES.add([bot.into(), source.into(), result.into()], 1);
}

/// Returns a UUID made from an event's key: retries of the event push under the same key.
fn retry_key(event: &EventId) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, event.as_str().as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_keys_are_uuids_and_stable() {
        let key = retry_key(&"01FZ74A0TDDPYRVKNK77XKC3ZR".into());
        assert_eq!(key, retry_key(&"01FZ74A0TDDPYRVKNK77XKC3ZR".into()));
        assert_ne!(key, retry_key(&"01FZ74A0TDDPYRVKNK77XKC3ZS".into()));
        let lengths: Vec<_> = key.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
    }
}
