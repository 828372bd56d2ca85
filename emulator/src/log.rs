//! What the emulator remembers of its traffic: API calls, broken rules, webhooks sent.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use super::deliver::Attempt;
use super::webhook::Webhook;

/// Calls, attempts and webhooks are kept up to this many each, so that a demonstration left running
/// does not grow without end. Violations are all kept.
const KEEP: usize = 100_000;

/// A call of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// When it arrived, in milliseconds since the Unix epoch.
    pub at: i64,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// What was answered; `None` when the connection was cut instead.
    pub status: Option<u16>,
    /// The answer's `x-line-request-id`.
    pub request_id: String,
}

/// A rule of LINE's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// The bearer token is the channel's access token.
    AccessToken,
    /// The path and method exist.
    Route,
    /// An id has the form of its kind.
    IdForm,
    /// An id was told by a webhook, not made up.
    IdKnown,
    /// The body is JSON of the right form and not over 2 MB.
    Body,
    /// A request sends 1 to 5 messages.
    MessageCount,
    /// A message is of a type that exists.
    MessageType,
    /// A message has the fields that its type needs.
    MessageFields,
    /// A text has 1 to 5,000 UTF-16 units.
    TextLength,
    /// A quote token is that of a message in the same chat.
    QuoteToken,
    /// A reply token was told by a webhook.
    ReplyTokenKnown,
    /// A reply token serves once.
    ReplyTokenOnce,
    /// A reply token serves for one minute.
    ReplyTokenFresh,
    /// A reply takes no retry key.
    RetryKeyOnReply,
    /// A retry key is a UUID.
    RetryKeyForm,
    /// A retry key repeats one request, and never another one.
    RetryKeySameRequest,
    /// The bot is in the chat (or is a friend of the person) that it writes to.
    BotInChat,
    /// Only images, videos, audios and files have content, only the first two a preview.
    HasContent,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// When, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Which rule.
    pub rule: Rule,
    /// The HTTP method of the call.
    pub method: String,
    /// The path of the call.
    pub path: String,
    /// More about it; never the text of a message.
    pub detail: String,
    /// The answer's `x-line-request-id`.
    pub request_id: String,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    calls: VecDeque<Call>,
    attempts: VecDeque<Attempt>,
    webhooks: VecDeque<Arc<Webhook>>,
    violations: Vec<Violation>,
    sent: u64,
}

impl Log {
    pub(super) fn call(&mut self, call: Call) {
        push(&mut self.calls, call);
    }

    pub(super) fn attempt(&mut self, attempt: Attempt) {
        push(&mut self.attempts, attempt);
    }

    pub(super) fn violation(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// Keeps a webhook and gives it its number; the first is 0.
    pub(super) fn webhook(&mut self, webhook: Arc<Webhook>) -> u64 {
        push(&mut self.webhooks, webhook);
        self.sent += 1;
        self.sent - 1
    }

    /// The webhook of that number, if it is still kept.
    pub(super) fn sent(&self, number: u64) -> Option<Arc<Webhook>> {
        let forgotten = self.sent - self.webhooks.len() as u64;
        let index = usize::try_from(number.checked_sub(forgotten)?).ok()?;
        self.webhooks.get(index).cloned()
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.iter().cloned().collect()
    }

    pub(super) fn attempts(&self) -> Vec<Attempt> {
        self.attempts.iter().cloned().collect()
    }

    pub(super) fn violations(&self) -> Vec<Violation> {
        self.violations.clone()
    }
}

fn push<T>(log: &mut VecDeque<T>, item: T) {
    if log.len() == KEEP {
        log.pop_front();
    }
    log.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_the_others_keep_their_numbers() {
        let mut log = Log::default();
        let webhook =
            |n: usize| Arc::new(Webhook { destination: n.to_string(), events: Vec::new() });
        for n in 0..=KEEP {
            assert_eq!(log.webhook(webhook(n)), n as u64);
        }
        assert_eq!(log.sent(0), None);
        assert_eq!(log.sent(1), Some(webhook(1)));
        assert_eq!(log.sent(KEEP as u64), Some(webhook(KEEP)));
        assert_eq!(log.sent(KEEP as u64 + 1), None);
    }
}
