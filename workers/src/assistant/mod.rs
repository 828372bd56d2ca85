//! The assistant: triggers of the group rules and of the channel's link, questions and answers,
//! welcome.
//!
//! It has a consumer of its own and never waits for backup. An event gets at most one reply: the
//! right to reply is claimed in the store before the platform is called, and a call of unknown
//! outcome is not repeated.

mod cache;
mod claims;
mod compiled;
mod decide;
mod neutral;
mod record;
mod reply;
mod text;
mod turns;
mod welcome;

use std::time::Duration;

use chatkeep_core::event::{ChannelKind, ChannelRef, Event, EventKind, IncomingMessage};
use chatkeep_core::message::Content;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, Directory, PlatformError};
use chatkeep_store::{ReplySource, Store};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

pub use cache::{Assistants, CompileError};
pub use claims::UnsureClaims;
pub use compiled::{Compiled, Source, strictness};
pub use decide::{Decision, DecisionTrace, Reply, words_to_rate};
pub use turns::{QueuedEvent, ReplyTurns};
pub use welcome::Newcomers;

use crate::backup::decode_event;
use crate::outcome::{Outcome, Unfinished};
use crate::runner::Stage;
use crate::stages::StageName;

/// Timeout of the question who the bot is, before a reply.
const SELF_KNOWLEDGE: Duration = Duration::from_secs(2);

/// Settings of replies.
#[derive(Clone, Debug)]
pub struct ReplyPolicy {
    /// Maximum time from an event to its reply; the token lives about a minute.
    pub deadline: Duration,
    /// Maximum age of an event for which a push may stand in for an expired token; `None` if none
    /// may. Pushes cost money, once for each member of the chat.
    pub push_max_age: Option<Duration>,
}

/// The assistant stage. Clones share what they know.
#[derive(Clone, Debug)]
pub struct Assistant {
    /// Store of settings, claims and the record of replies.
    pub store: Store,
    /// Bots that reply, each to the events it received; they also know people's names.
    pub bots: Bots,
    /// Compiled settings by channel.
    pub assistants: Assistants,
    /// Clock.
    pub clock: SharedClock,
    /// Settings of replies.
    pub policy: ReplyPolicy,
    /// Concurrency, in events.
    pub concurrency: usize,
    /// Claims of which nobody knows whether the store has them.
    pub claims: UnsureClaims,
    /// Events that are to be handled: replies of a channel are in their order.
    pub turns: ReplyTurns,
    /// Replies under way; the process waits for them before it ends.
    pub tasks: TaskTracker,
}

/// A reply that is decided but not sent.
#[derive(Debug)]
struct Planned {
    source: ReplySource,
    rule: Option<chatkeep_core::id::RuleId>,
    text: String,
    cooldown: Duration,
}

impl Stage for Assistant {
    type Item = QueuedEvent;

    fn name(&self) -> StageName {
        StageName::Assistant
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    fn decode(&self, payload: &[u8]) -> Result<QueuedEvent, String> {
        decode_event(payload).map(|event| self.turns.queue(event))
    }

    async fn handle(&self, events: &[QueuedEvent]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(events.len());
        for event in events {
            outcomes.push(self.answer(event).await);
        }
        outcomes
    }
}

impl Assistant {
    async fn answer(&self, queued: &QueuedEvent) -> Result<(), Unfinished> {
        let event = &queued.event;
        let Some(channel) = event.channel.as_ref().filter(|_| event.active) else {
            return Ok(());
        };
        let planned = match &event.kind {
            EventKind::Message(message) => self.answer_message(channel, message, event.at).await?,
            EventKind::MembersJoined(users) => self.welcome(event, channel, users).await?,
            _ => None,
        };
        match planned {
            Some(planned) if !self.is_own(event).await => {
                queued.turn().await;
                self.send_reply(event, channel, planned).await
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the bot itself caused an event: an answer that is a keyword, too, would be
    /// answered without an end. A platform that does not tell who the bot is holds up no reply.
    async fn is_own(&self, event: &Event) -> bool {
        let (Some(sender), Ok(directory)) = (&event.sender, self.bots.get(&event.bot)) else {
            return false;
        };
        let bot = timeout(SELF_KNOWLEDGE, directory.bot()).await;
        matches!(bot, Ok(Ok(bot)) if bot.user_id == *sender)
    }

    async fn answer_message(
        &self,
        channel: &ChannelRef,
        message: &IncomingMessage,
        at: Timestamp,
    ) -> Result<Option<Planned>, Unfinished> {
        let Some(text) = message.content.typed_words() else {
            return Ok(None);
        };
        let Some(compiled) = self.assistants.of(&channel.id).await? else {
            return Ok(None);
        };
        let answer = match self.assistants.decide(&compiled, &text).await? {
            Decision::Answer(answer) => answer,
            Decision::NoMatch if self.addressed(channel, message, at, &compiled).await? => {
                match compiled.no_match() {
                    Some(text) => Reply { source: ReplySource::NoMatch, rule: None, text },
                    None => return Ok(None),
                }
            }
            Decision::NoMatch | Decision::Silent => return Ok(None),
        };
        Ok(Some(Planned {
            source: answer.source,
            rule: answer.rule,
            text: answer.text,
            cooldown: compiled.cooldown(),
        }))
    }

    /// Returns whether the no-match reply is for this message of that time: always, or only if the
    /// bot is addressed.
    async fn addressed(
        &self,
        channel: &ChannelRef,
        message: &IncomingMessage,
        at: Timestamp,
        compiled: &Compiled,
    ) -> Result<bool, Unfinished> {
        if compiled.answers_everything() || channel.kind == ChannelKind::User {
            return Ok(true);
        }
        if let Content::Text { mentions, .. } = &message.content
            && mentions.iter().any(|mention| mention.is_self)
        {
            return Ok(true);
        }
        let Some(quoted) = &message.quoted else {
            return Ok(false);
        };
        let stored = self.store.messages().message(&channel.id, quoted).await?;
        match stored {
            Some(stored) => Ok(stored.is_bot),
            // Nothing is stored while nobody backs the channel up, or the backup is paused.
            None => Ok(self.store.assistant().is_reply(&channel.id, quoted, at).await?),
        }
    }

    /// Returns the bot that received an event, which alone may reply to it. One that this process
    /// does not know may be known to another one, or to this one after its next start.
    fn bot_of(&self, event: &Event) -> Result<&Directory, Unfinished> {
        self.bots
            .get(&event.bot)
            .map_err(|error: PlatformError| Unfinished::Retry(error.to_string().into()))
    }
}
