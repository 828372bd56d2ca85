//! Direct messages to users in their own chat with the bot, once each. Several workers may send the
//! same one at a time: it is pushed under a retry key, and the platform accepts a key once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::event::ChannelRef;
use chatkeep_core::id::UserId;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, PlatformError};
use chatkeep_store::NoticeOutcome;
use uuid::Uuid;

use crate::log_failure;

/// Maximum age of a direct message that is still sent; the platform forgets its retry keys then,
/// too.
const STALE: Duration = Duration::from_hours(24);

/// A direct message to a user.
#[derive(Debug)]
pub(crate) struct DirectMessage<'a> {
    pub(crate) user: &'a UserId,
    /// Bot that they have a 1:1 chat with, and the chat.
    pub(crate) chat: Option<&'a (String, ChannelRef)>,
    /// Time of the event.
    pub(crate) at: Timestamp,
    /// Unique key of the message.
    pub(crate) key: String,
}

/// Round of direct messages. A bot that fails as it would for everybody is not called again in it,
/// and holds up the messages of no other.
#[derive(Debug)]
pub(crate) struct DirectMessageRound<'a> {
    bots: &'a Bots,
    clock: &'a SharedClock,
    /// Names of the bots that are not called again.
    stopped: BTreeSet<String>,
}

impl<'a> DirectMessageRound<'a> {
    /// Begins a round in which no bot has failed yet.
    pub(crate) const fn new(bots: &'a Bots, clock: &'a SharedClock) -> Self {
        Self { bots, clock, stopped: BTreeSet::new() }
    }

    /// Sends the message in the user's language, a BCP 47 tag that may be empty. Returns the result
    /// for the record; `None` while it may still be sent, in a later round.
    pub(crate) async fn push_message(
        &mut self,
        news: DirectMessage<'_>,
        text: impl FnOnce(&str) -> String + Send,
    ) -> Option<NoticeOutcome> {
        let Some(chat) = news.chat else {
            return Some(NoticeOutcome::NoChat);
        };
        if self.clock.now().since(news.at) >= STALE {
            return Some(NoticeOutcome::Stale);
        }
        let (bot, _) = chat;
        if self.stopped.contains(bot) {
            return None;
        }
        match push(self.bots, chat, &news, text).await {
            Ok(()) => Some(NoticeOutcome::Sent),
            Err(error) if may_pass(&error) => {
                log_failure!(warn, &*error, "cannot notify a user yet");
                if error.stops_bot() {
                    self.stopped.insert(bot.clone());
                }
                None
            }
            Err(error) => Some(NoticeOutcome::Failed(error.code())),
        }
    }
}

async fn push(
    bots: &Bots,
    (bot, chat): &(String, ChannelRef),
    news: &DirectMessage<'_>,
    text: impl FnOnce(&str) -> String + Send,
) -> Result<(), Arc<PlatformError>> {
    let profile = bots.of_channel(bot)?.profile(chat, news.user).await?;
    let language = profile.and_then(|profile| profile.language);
    let text = text(language.as_deref().unwrap_or_default());
    let key = Uuid::new_v5(&Uuid::NAMESPACE_OID, news.key.as_bytes()).to_string();
    bots.push(bot, chat, &[text], &key).await?;
    Ok(())
}

/// Returns whether the same call may succeed later.
fn may_pass(error: &PlatformError) -> bool {
    error.stops_bot() || matches!(error, PlatformError::Unknown(_))
}
