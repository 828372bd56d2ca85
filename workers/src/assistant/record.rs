//! Record of a reply: its outcome, with the bot's own messages.

use std::time::Duration;

use backon::Retryable as _;
use chatkeep_core::event::EventKind;
use chatkeep_core::id::MessageId;
use chatkeep_core::log_reason;
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_store::{ChannelChange, Exchange, IngestOutcome, ReplyFailure};

use super::reply::{BACKOFF, GrantedReply};
use crate::backup::{change_of, count, stored_content};
use crate::members::evidence_of;
use crate::outcome::Unfinished;

/// Longest pause before the outcome is recorded again.
const LONGEST: Duration = Duration::from_secs(5);

impl GrantedReply {
    /// Records the outcome, waiting for a store that is unavailable: the call cannot be undone, and
    /// another delivery of the event would not know its outcome.
    pub(super) async fn record_surely(
        &self,
        texts: &[String],
        given: &Result<Vec<MessageId>, ReplyFailureReason>,
    ) -> Result<(), Unfinished> {
        (|| self.record(texts, given))
            .retry(BACKOFF.with_max_delay(LONGEST))
            .when(|unfinished| unfinished.waits_for().is_some())
            .notify(|unfinished, _| {
                if let Some(failure) = unfinished.waits_for() {
                    log_reason!(warn, failure, "cannot record a reply yet");
                }
            })
            .await
    }

    /// Records the outcome, and stores the bot's own messages after those that they answer.
    async fn record(
        &self,
        texts: &[String],
        given: &Result<Vec<MessageId>, ReplyFailureReason>,
    ) -> Result<(), Unfinished> {
        let (event, assistant) = (&self.event, self.assistant.store.assistant());
        let (key, now) = (event.key(), self.assistant.clock.now());
        let ids = match given {
            Ok(ids) => ids,
            Err(reason) => {
                let failure = ReplyFailure { reason: *reason, at: event.at };
                assistant.finish_reply(&key, Err(failure), Exchange::default(), now).await?;
                return Ok(());
            }
        };
        let own = self.own_messages(texts, ids).await?;
        let question: Vec<_> = change_of(event)?.into_iter().collect();
        let joined = match event.kind {
            EventKind::MembersJoined(_) => evidence_of(event),
            _ => Vec::new(),
        };
        let exchange = Exchange { question: &question, joined: &joined, own: &own };
        let mut kept = assistant.finish_reply(&key, Ok(()), exchange, now).await?;
        // Messages that another delivery stored are counted there.
        kept.retain(|kept| matches!(kept, IngestOutcome::Changed | IngestOutcome::Skipped));
        count(&kept);
        Ok(())
    }

    async fn own_messages(
        &self,
        texts: &[String],
        ids: &[MessageId],
    ) -> Result<Vec<ChannelChange>, Unfinished> {
        let (assistant, event) = (&self.assistant, &self.event);
        // Without its own id the bot's messages are stored all the same, marked by `isBot`.
        let bot = assistant.bot_of(event)?.bot().await.ok();
        if let Some(bot) = &bot {
            let (name, now) = (Some(bot.display_name.as_str()), assistant.clock.now());
            assistant.store.accounts().add_user(&bot.user_id, name, now).await?;
        }
        let sender = bot.map(|bot| bot.user_id);
        // The platform's clock may be ahead of ours; no reply is dated before its question.
        let at = assistant.clock.now().max(event.at.plus(Duration::from_millis(1)));
        let own = |(id, text): (&MessageId, &String)| {
            let content = stored_content(&Content::text(text.as_str()))?;
            let received = Received {
                at,
                sender: sender.clone(),
                kind: MessageType::Text,
                content,
                quoted: None,
                is_bot: true,
            };
            let change = MessageChange::Received(received);
            let channel = self.channel.id.clone();
            Ok(ChannelChange { channel, message: id.clone(), change })
        };
        ids.iter().zip(texts).map(own).collect()
    }
}
