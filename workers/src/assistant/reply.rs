//! Sending a reply: claim, call, record.
//!
//! After the claim a task of its own goes on, which the process waits for when it stops. A call
//! cannot be undone, and nobody else will know its outcome: it is recorded whatever becomes of the
//! delivery that it began with, and however long the store is away.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use chatkeep_core::event::{ChannelRef, Event, EventKind, ReplyToken};
use chatkeep_core::id::{EventId, MessageId};
use chatkeep_core::metric;
use chatkeep_core::time::Timestamp;
use chatkeep_platform::{Directory, PlatformError};
use chatkeep_store::{Claim, ReplyIntent, ReplySource, StoreError};
use tokio::time::timeout;
use tracing::{Instrument as _, info};
use uuid::Uuid;

use super::{Assistant, Planned, text};
use crate::log_failure;
use crate::outcome::Unfinished;
use crate::stages::StageName;
use crate::supervisor::track;

/// Time for which a delivery waits for the record of its reply, less than a stage has for a call.
const RECORD_TIMEOUT: Duration = Duration::from_mins(1);
/// Time after an event in which the platform may accept the reply token of a redelivery.
const REDELIVERED_TOKEN: Duration = Duration::from_mins(20);
/// First pause before a call that did not reach the platform is repeated.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Back-off without an end: each pause is twice the one before.
pub(super) const BACKOFF: ExponentialBuilder =
    ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).without_max_delay().without_max_times();

/// A reply that was granted to this process.
pub(super) struct GrantedReply {
    pub(super) assistant: Assistant,
    pub(super) event: Event,
    pub(super) channel: ChannelRef,
    planned: Planned,
}

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
    ) -> Result<(), Unfinished> {
        // Before the claim: an event whose bot is unknown here can be replied to later.
        self.bot_of(event)?;
        match self.claim(event, channel, &planned).await? {
            Claim::Granted => {}
            Claim::Suppressed | Claim::Taken(_) => return Ok(()),
        }
        let (assistant, event, channel) = (self.clone(), event.clone(), channel.clone());
        let reply = GrantedReply { assistant, event, channel, planned };
        let given = reply.give().in_current_span();
        let given = track(&self.tasks, StageName::Assistant.part(), given);
        match timeout(RECORD_TIMEOUT, given).await {
            Ok(Ok(Ok(recorded))) => recorded,
            Ok(_) => Err(Unfinished::Retry("a reply was not completed".into())),
            // The task goes on. Whoever handles the event again finds the reply taken.
            Err(_elapsed) => Err(Unfinished::Unavailable("a reply is not recorded yet".into())),
        }
    }

    async fn claim(
        &self,
        event: &Event,
        channel: &ChannelRef,
        planned: &Planned,
    ) -> Result<Claim, StoreError> {
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
        let (store, now) = (self.store.assistant(), self.clock.now());
        let attempt = self.claims.begin(&key);
        let claim = store.claim_reply_with(&intent, attempt.token(), now).await?;
        attempt.end();
        Ok(claim)
    }
}

impl GrantedReply {
    /// Calls the platform and records what came of it.
    async fn give(self) -> Result<(), Unfinished> {
        let directory = self.assistant.bot_of(&self.event)?;
        let platform = directory.platform();
        let texts = text::split(&self.planned.text, platform.max_units(), platform.max_texts());
        let given = self.call(directory, &texts).await;
        log_reply(&self.event, self.planned.source, &given);
        let given = given.map_err(|error| error.reply_reason());
        self.record_surely(&texts, &given).await
    }

    /// Calls the platform: by reply token while it is fresh, else by push if it may.
    async fn call(
        &self,
        directory: &Directory,
        texts: &[String],
    ) -> Result<Vec<MessageId>, PlatformError> {
        if let Some(token) = &self.event.reply_token
            && !self.is_late()
        {
            match self.call_with_token(directory, token, texts).await {
                Err(PlatformError::InvalidReplyToken) if self.may_push() => {}
                done => return done,
            }
        }
        if !self.may_push() {
            return Err(PlatformError::InvalidReplyToken);
        }
        let key = retry_key(&self.event.key());
        directory.platform().push(&self.channel, texts, &key).await
    }

    /// Repeats only calls that certainly did not happen: no connection, or a refusal for now.
    async fn call_with_token(
        &self,
        directory: &Directory,
        token: &ReplyToken,
        texts: &[String],
    ) -> Result<Vec<MessageId>, PlatformError> {
        (|| directory.platform().reply(token, texts))
            .retry(BACKOFF)
            .when(|error| error.not_now().is_some())
            .adjust(|error, pause| {
                let retry_after = error.not_now().flatten().map(|time| time.max(FIRST_PAUSE));
                let wait = retry_after.or(pause)?;
                let due = self.assistant.clock.now().plus(wait);
                (due < self.deadline()).then_some(wait)
            })
            .await
    }

    /// Returns whether a push may take the place of the reply.
    fn may_push(&self) -> bool {
        // Who asks for the link can ask again; it is never worth a push, which costs money.
        let is_worth_it = self.planned.source != ReplySource::Link;
        let age = self.assistant.clock.now().since(self.event.at);
        is_worth_it && self.assistant.policy.push_max_age.is_some_and(|longest| age < longest)
    }

    fn is_late(&self) -> bool {
        self.assistant.clock.now() >= self.deadline()
    }

    /// Returns the time at which the reply token is taken for expired. That of an event which the
    /// platform sends again lives by the redelivery, for a while.
    fn deadline(&self) -> Timestamp {
        let (event, deadline) = (&self.event, self.assistant.policy.deadline);
        let first = event.at.plus(deadline);
        if !event.redelivered {
            return first;
        }
        event.received_at.plus(deadline).min(event.at.plus(REDELIVERED_TOKEN)).max(first)
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
