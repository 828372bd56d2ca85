//! Message that a rule should not have answered, as an address names it: the form of the rule begins
//! with it among the texts that are not for the rule.

use chatkeep_core::id::MessageId;
use chatkeep_core::message::Content;
use chatkeep_services::ServiceError;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::assistant::{HistoryAccess, SettingsAccess};
use chatkeep_store::StoredMessage;
use chatkeep_view::pseudonyms::Masked;
use serde::Deserialize;

use super::super::Console;
use super::super::error::PageError;
use super::super::visitor::Visitor;
use super::rule_form::RuleForm;

/// The message by its ID, by that of the reply of the bot, or by its text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WrongReply {
    asked: Option<MessageId>,
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
    /// Returns a form with the text, and the key of the sentence about it.
    pub(super) async fn excluded_in(
        self,
        form: RuleForm,
        (console, visitor, access): (&Console, &Visitor, &SettingsAccess),
    ) -> Result<(RuleForm, Option<&'static str>), PageError> {
        let answered = match self {
            Self { text: Some(text), .. } if !text.trim().is_empty() => AnsweredText::Known(text),
            Self { asked: Some(asked), .. } => {
                text_of(message(console, visitor, access, &asked).await?.as_deref())
            }
            Self { reply: Some(reply), .. } => {
                before_reply(console, visitor, access, &reply).await?
            }
            Self { .. } => return Ok((form, None)),
        };
        let text = match answered {
            AnsweredText::Known(text) => RuleForm::text_not_for(&text),
            AnsweredText::Edited => return Ok((form, Some("rule-not-for-edited"))),
            AnsweredText::Gone => return Ok((form, Some("rule-not-for-gone"))),
        };
        if form.has_keyword(&text) {
            return Ok((form, Some("rule-not-for-keyword")));
        }
        Ok((form.but_not_for(&text), Some("rule-not-for-added")))
    }
}

/// Returns the text of the message that a reply of the bot answered.
async fn before_reply(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    reply: &MessageId,
) -> Result<AnsweredText, PageError> {
    let history: HistoryAccess = visitor.channel(console, access.channel().as_str()).await?;
    let Some(asked) = console.services.assistant.asked(&history, reply).await? else {
        return Ok(AnsweredText::Gone);
    };
    let reply = message(console, visitor, access, reply).await?;
    let asked = message(console, visitor, access, &asked).await?;
    let edited = asked.as_ref().and_then(|asked| asked.edited_at);
    let is_edited = edited.zip(reply).is_some_and(|(edited, reply)| edited > reply.sent_at);
    Ok(match text_of(asked.as_deref()) {
        AnsweredText::Known(_) if is_edited => AnsweredText::Edited,
        text => text,
    })
}

/// Returns a message that the visitor may read; `None` if there is none.
async fn message(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    id: &MessageId,
) -> Result<Option<Masked<StoredMessage>>, PageError> {
    let readable: ChannelAccess<Member, ReadMessages> =
        visitor.channel(console, access.channel().as_str()).await?;
    match console.services.messages.one(&readable, id).await {
        Ok(message) => Ok(Some(message)),
        Err(ServiceError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn text_of(message: Option<&StoredMessage>) -> AnsweredText {
    match message.and_then(|message| message.content.as_ref()) {
        Some(Content::Text { text, .. }) => AnsweredText::Known(text.clone()),
        _ => AnsweredText::Gone,
    }
}
