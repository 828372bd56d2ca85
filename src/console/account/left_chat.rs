//! End of the backup of a chat that the visitor has left: its settings are closed to them, and it still
//! counts against their storage.

use axum::response::Response;
use chatkeep_core::id::ChannelId;
use chatkeep_services::access::{Reaches, WriteBackup};

use super::super::Console;
use super::super::error::PageError;
use super::super::form::{Done, Question};
use super::super::visitor::Visitor;
use super::{PATH, name_of};

/// Action of the form.
pub(super) const UNSUBSCRIBE: &str = "unsubscribe";

/// Ends the visitor's backup of a chat, or asks first.
pub(super) async fn end(
    console: &Console,
    visitor: &Visitor,
    chat: &str,
    confirmed: bool,
) -> Result<Response, PageError> {
    let services = &console.services;
    let reach: Reaches<WriteBackup> =
        services.access.reaches(visitor.caller()?, ChannelId::from(chat)).await?;
    if !confirmed {
        return ask(console, visitor, &reach).await;
    }
    services.subscriptions.unsubscribe(&reach).await?;
    Ok(Done::Saved.at(PATH))
}

/// Asks before it, if there is such a backup.
async fn ask(
    console: &Console,
    visitor: &Visitor,
    reach: &Reaches<WriteBackup>,
) -> Result<Response, PageError> {
    let language = visitor.language;
    let (_, shares) = console.services.account.shares(&reach.caller).await?;
    let share = shares.into_iter().find(|share| share.usage.channel == reach.channel);
    let share = share.ok_or(PageError::NoChannel)?;
    let gone = || language.text("account-chat-gone");
    let question = Question {
        title: language.text("unsubscribe-title"),
        text: language.text("unsubscribe-text"),
        chat: Some(share.channel.map_or_else(gone, |channel| name_of(&channel, language))),
        button: language.text("unsubscribe-button"),
        back: PATH.to_owned(),
        values: vec![("action", UNSUBSCRIBE.to_owned()), ("chat", reach.channel.to_string())],
    };
    Ok(question.page(visitor))
}
