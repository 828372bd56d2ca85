//! Record of the emulator's traffic: API calls, rule violations, webhooks sent.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use super::deliver::Attempt;
use super::webhook::Webhook;

/// Maximum number of recorded calls, attempts and webhooks each, so that a long-running
/// demonstration stays bounded. All violations are recorded.
const KEEP: usize = 100_000;

/// A call of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// Time of arrival, in milliseconds since the Unix epoch.
    pub at: i64,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// Status of the response; `None` when the connection was closed instead.
    pub status: Option<u16>,
    /// The response's `x-line-request-id`.
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
    /// IDs have the form of their kind.
    IdForm,
    /// IDs come from a webhook.
    IdKnown,
    /// The body is JSON of the right form and at most 2 MB.
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
    /// Reply tokens come from a webhook.
    ReplyTokenKnown,
    /// A reply token serves once.
    ReplyTokenOnce,
    /// A reply token serves for one minute after its event, or a redelivery up to 20 minutes after it.
    ReplyTokenFresh,
    /// Replies have no retry key.
    RetryKeyOnReply,
    /// A retry key is a UUID.
    RetryKeyForm,
    /// A retry key repeats one request, and never another one.
    RetryKeySameRequest,
    /// The bot is in the chat (or is a friend of the person) that it writes to.
    BotInChat,
    /// Webhooks go to an HTTPS address of at most 500 characters.
    WebhookAddress,
    /// Only images, videos, audios and files have content, only the first two a preview.
    HasContent,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Time in milliseconds since the Unix epoch.
    pub at: i64,
    /// Violated rule.
    pub rule: Rule,
    /// The HTTP method of the call.
    pub method: String,
    /// The path of the call.
    pub path: String,
    /// More about it; never the text of a message.
    pub detail: String,
    /// The response's `x-line-request-id`.
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

    /// Records a webhook and returns its number, from 0.
    pub(super) fn webhook(&mut self, webhook: Arc<Webhook>) -> u64 {
        push(&mut self.webhooks, webhook);
        self.sent += 1;
        self.sent - 1
    }

    /// Returns the webhook of that number, if it is still recorded.
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
