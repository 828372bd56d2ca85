//! Message that a rule should not have answered, as an address names it: the form of the rule begins
//! with it among the texts that are not for the rule.

use axum::http::Uri;
use chatkeep_core::id::MessageId;
use chatkeep_services::ServiceError;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::assistant::{HistoryAccess, SettingsAccess};
use chatkeep_store::StoredMessage;
use chatkeep_view::pseudonyms::Masked;
use serde::Deserialize;

use super::super::Console;
use super::super::error::PageError;
use super::super::visitor::{Visitor, asked};
use super::rule_form::{DraftTexts, RuleForm};

/// The message by its ID, by that of the reply of the bot, or by its text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WrongReply {
    #[serde(rename = "asked")]
    question: Option<MessageId>,
    reply: Option<MessageId>,
    #[serde(rename = "notFor")]
    text: Option<String>,
}

/// Text of the message as it was answered.
enum AnsweredText {
    Known(String),
    /// It was edited since.
    Edited,
    /// It is no longer there, or was never known.
    Gone,
}

impl WrongReply {
    /// Returns the message that an address names. That of a draft names none: its texts that are
    /// not for the rule are those of the form.
    ///
    /// # Errors
    /// [`PageError::Input`] for an address with several texts that is not that of a draft.
    pub(super) fn in_address(address: &Uri) -> Result<Self, PageError> {
        match DraftTexts::in_query(address.query().unwrap_or_default()) {
            Some(_) => Ok(Self::default()),
            None => asked(address),
        }
    }

    /// Returns a form with the text, and the key of the sentence about it.
    pub(super) async fn excluded_in(
        self,
        form: RuleForm,
        reader: MessageReader<'_>,
    ) -> Result<(RuleForm, Option<&'static str>), PageError> {
        let answered = match self {
            Self { text: Some(text), .. } if !text.trim().is_empty() => AnsweredText::Known(text),
            Self { question: Some(question), .. } => {
                text_of(reader.message(&question).await?.as_deref())
            }
            Self { reply: Some(reply), .. } => reader.before_reply(&reply).await?,
            Self { .. } => return Ok((form, None)),
        };
        let (text, is_whole) = match answered {
            AnsweredText::Known(text) => {
                let part = form.part_not_for(&text);
                let is_whole = text.split_whitespace().eq(part.split_whitespace());
                (part, is_whole)
            }
            AnsweredText::Edited => return Ok((form, Some("rule-not-for-edited"))),
            AnsweredText::Gone => return Ok((form, Some("rule-not-for-gone"))),
        };
        if form.has_keyword(&text) {
            return Ok((form, Some("rule-not-for-keyword")));
        }
        let said = if is_whole { "rule-not-for-added" } else { "rule-not-for-part" };
        Ok((form.but_not_for(&text), Some(said)))
    }
}

/// Reader of messages for the form of a rule.
#[derive(Clone, Copy)]
pub(super) struct MessageReader<'a> {
    pub(super) console: &'a Console,
    pub(super) visitor: &'a Visitor,
    pub(super) access: &'a SettingsAccess,
}

impl MessageReader<'_> {
    /// Returns the text of the message that a reply of the bot answered.
    async fn before_reply(self, reply: &MessageId) -> Result<AnsweredText, PageError> {
        let Self { console, visitor, access } = self;
        let history: HistoryAccess = visitor.channel(console, access.channel().as_str()).await?;
        let question = console.services.assistant.question_of(&history, reply).await?;
        let Some(question) = question else {
            return Ok(AnsweredText::Gone);
        };
        let reply = self.message(reply).await?;
        let question = self.message(&question).await?;
        let edited = question.as_ref().and_then(|question| question.edited_at);
        let is_edited = edited.zip(reply).is_some_and(|(edited, reply)| edited > reply.sent_at);
        Ok(match text_of(question.as_deref()) {
            AnsweredText::Known(_) if is_edited => AnsweredText::Edited,
            text => text,
        })
    }

    /// Returns a message that the visitor may read; `None` if there is none.
    async fn message(self, id: &MessageId) -> Result<Option<Masked<StoredMessage>>, PageError> {
        let Self { console, visitor, access } = self;
        let readable: ChannelAccess<Member, ReadMessages> =
            visitor.channel(console, access.channel().as_str()).await?;
        match console.services.messages.one(&readable, id).await {
            Ok(message) => Ok(Some(message)),
            Err(ServiceError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn text_of(message: Option<&StoredMessage>) -> AnsweredText {
    let words = message.and_then(|message| message.content.as_ref()?.typed_words());
    words.map_or(AnsweredText::Gone, |words| AnsweredText::Known(words.into_owned()))
}
