//! The bot's messages: reply tokens, retry keys and what becomes of them.

use serde_json::Value;

use super::log::Rule;
use super::transcript::{Author, Change, Entry};
use super::webhook::Event;
use super::world::World;

/// A reply token serves for this long after its event, or a redelivery of it, in milliseconds.
const REPLY_WINDOW: i64 = 60_000;
/// A redelivery no longer renews a token so long after its event, in milliseconds.
const RENEWAL_WINDOW: i64 = 20 * 60_000;
/// A retry key is remembered for this long, in milliseconds.
const RETRY_WINDOW: i64 = 24 * 60 * 60 * 1000;

/// A reply token.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) chat_id: String,
    pub(super) event_id: String,
    /// The time of its event.
    pub(super) at: i64,
    /// The time of the event or its last redelivery.
    pub(super) delivered_at: i64,
    pub(super) used: bool,
}

/// A push that came with a retry key.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    at: i64,
    body: Vec<u8>,
    request_id: String,
    sent: Vec<Sent>,
}

/// Message sent by the bot.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sent {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    quote_token: Option<String>,
}

/// A push that is to go out.
pub(super) struct Push<'a> {
    pub(super) to: &'a str,
    pub(super) messages: Vec<Value>,
    pub(super) retry_key: Option<&'a str>,
    /// Raw body, to distinguish a repetition from another request with the same key.
    pub(super) body: &'a [u8],
    pub(super) request_id: &'a str,
}

/// Result of a push.
pub(super) enum Pushed {
    Sent(Vec<Sent>, Vec<Change>),
    /// The key was used before, by the request of that id.
    Repeated {
        request_id: String,
        sent: Vec<Sent>,
        same: bool,
    },
}

impl World {
    /// Sends a reply, using up its token.
    pub(super) fn reply(
        &mut self,
        token: &str,
        messages: Vec<Value>,
    ) -> Result<(Vec<Sent>, Vec<Change>), Rule> {
        let (chat_id, event_id) = self.redeemable(token)?;
        self.check_quotes(&chat_id, &messages)?;
        if let Some(token) = self.tokens.get_mut(token) {
            token.used = true;
        }
        Ok(self.bot_says(&chat_id, messages, Some(&event_id)))
    }

    /// Returns the chat and the event of a token that is still valid.
    fn redeemable(&self, token: &str) -> Result<(String, String), Rule> {
        let token = self.tokens.get(token).ok_or(Rule::ReplyTokenKnown)?;
        if token.used {
            return Err(Rule::ReplyTokenOnce);
        }
        let now = self.now();
        let renewed = token.delivered_at > token.at;
        if now - token.delivered_at > REPLY_WINDOW || (renewed && now - token.at > RENEWAL_WINDOW) {
            return Err(Rule::ReplyTokenFresh);
        }
        if !self.has_bot(&token.chat_id) {
            return Err(Rule::BotInChat);
        }
        Ok((token.chat_id.clone(), token.event_id.clone()))
    }

    /// Renews the tokens of events that are delivered again.
    pub(super) fn renew_tokens(&mut self, events: &[Event]) {
        let now = self.now();
        for token in events.iter().filter_map(|event| event.reply_token.as_ref()) {
            if let Some(token) = self.tokens.get_mut(token) {
                token.delivered_at = now;
            }
        }
    }

    /// Sends a push.
    pub(super) fn push(&mut self, push: Push<'_>) -> Result<Pushed, Rule> {
        let now = self.now();
        if let Some(earlier) = push.retry_key.and_then(|key| self.accepted.get(key))
            && now - earlier.at <= RETRY_WINDOW
        {
            let Accepted { request_id, sent, .. } = earlier.clone();
            return Ok(Pushed::Repeated { request_id, sent, same: earlier.body == push.body });
        }
        if !self.has_bot(push.to) {
            return Err(Rule::BotInChat);
        }
        self.check_quotes(push.to, &push.messages)?;
        let (sent, changes) = self.bot_says(push.to, push.messages, None);
        if let Some(key) = push.retry_key {
            let accepted = Accepted {
                at: now,
                body: push.body.to_vec(),
                request_id: push.request_id.to_owned(),
                sent: sent.clone(),
            };
            self.accepted.insert(key.to_owned(), accepted);
        }
        Ok(Pushed::Sent(sent, changes))
    }

    fn has_bot(&self, chat_id: &str) -> bool {
        self.chats.get(chat_id).is_some_and(|chat| chat.has_bot)
    }

    /// Quote tokens must be of messages in the same chat.
    fn check_quotes(&self, chat_id: &str, messages: &[Value]) -> Result<(), Rule> {
        let fits = |token: &str| {
            let quoted = self.quotes.get(token).and_then(|id| self.line(id));
            quoted.is_some_and(|line| line.chat_id == chat_id && line.unsent_at.is_none())
        };
        let mut tokens = messages.iter().filter_map(|message| message["quoteToken"].as_str());
        if tokens.all(fits) { Ok(()) } else { Err(Rule::QuoteToken) }
    }

    fn bot_says(
        &mut self,
        chat_id: &str,
        messages: Vec<Value>,
        answers: Option<&str>,
    ) -> (Vec<Sent>, Vec<Change>) {
        messages.into_iter().map(|message| self.bot_says_one(chat_id, message, answers)).unzip()
    }

    fn bot_says_one(
        &mut self,
        chat_id: &str,
        message: Value,
        answers: Option<&str>,
    ) -> (Sent, Change) {
        let at = self.now();
        let id = self.ids.message(at);
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        let quotable = matches!(kind.as_str(), "text" | "textV2" | "sticker" | "image" | "video");
        let quote_token = quotable.then(|| self.quotable(&id));
        let entry = Entry {
            chat_id: chat_id.to_owned(),
            at,
            author: Author::Bot,
            kind,
            message_id: Some(id.clone()),
            text: message["text"].as_str().map(str::to_owned),
            message,
            edited_at: None,
            unsent_at: None,
            answers: answers.map(str::to_owned),
        };
        (Sent { id, quote_token }, self.write(entry, None))
    }
}
