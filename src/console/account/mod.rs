//! Pages about the visitor's own account: plan and usage, keys, webhooks, programs that read for
//! them, sessions.
//!
//! Only a session opens them, and all they show is the visitor's own. A secret is in the answer to
//! the form that made it ([`secret`]), and nowhere else: not in an address, a cookie or a redirect.

mod delivery;
mod key;
mod keys;
mod left_chat;
mod mcp;
mod overview;
mod reach;
mod secret;
mod sessions;
#[cfg(test)]
mod tests;
mod webhook;
mod webhook_form;
mod webhook_log;
mod webhooks;

use axum::Router;
use axum::routing::get;
use chatkeep_core::id::WebhookId;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::ServiceError;
use chatkeep_store::Channel;
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::segment;
use serde::Deserialize;

use super::Console;
use super::dates::Dates;
use super::error::PageError;
use super::form::FormErrors;
use super::labels::chat_name;
use super::visitor::Visitor;
use key::beginning;

/// Path of the first page, with the plan and its use.
pub(super) const PATH: &str = "/console/account";
/// Maximum number of chats that a form offers, and that pages know the names of.
const CHATS: u32 = 200;

/// Part of the account, with a page of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Plan, usage, language, notices.
    Overview,
    /// API keys.
    Keys,
    /// Outgoing webhooks.
    Webhooks,
    /// Programs that read for the visitor.
    Mcp,
    /// Browsers that are signed in.
    Sessions,
}

/// Link to a section.
#[derive(Debug)]
struct SectionLink {
    href: &'static str,
    label: String,
    current: bool,
}

impl Section {
    const ALL: [Self; 5] = [Self::Overview, Self::Keys, Self::Webhooks, Self::Mcp, Self::Sessions];

    /// Returns the path of its page.
    const fn path(self) -> &'static str {
        match self {
            Self::Overview => PATH,
            Self::Keys => "/console/account/keys",
            Self::Webhooks => "/console/account/webhooks",
            Self::Mcp => "/console/account/mcp",
            Self::Sessions => "/console/account/sessions",
        }
    }

    fn label(self, language: Language) -> String {
        language.text(match self {
            Self::Overview => "account-overview",
            Self::Keys => "account-keys",
            Self::Webhooks => "account-webhooks",
            Self::Mcp => "account-mcp",
            Self::Sessions => "account-sessions",
        })
    }

    /// Returns the links to all sections; this one is the present.
    fn links(self, language: Language) -> Vec<SectionLink> {
        let link = |one: Self| SectionLink {
            href: one.path(),
            label: one.label(language),
            current: one == self,
        };
        Self::ALL.into_iter().map(link).collect()
    }
}

/// Form of a question that was answered with yes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Confirmation {
    confirmed: String,
}

impl Confirmation {
    fn is_yes(&self) -> bool {
        self.confirmed == "yes"
    }
}

/// Returns the path of a webhook's page.
pub(super) fn webhook_path(webhook: &WebhookId) -> String {
    format!("{}/{}", Section::Webhooks.path(), segment(webhook.as_str()))
}

/// Returns the page about a refusal that concerns something of the account.
fn refused(error: ServiceError) -> PageError {
    if error == ServiceError::NotFound { PageError::NotInAccount } else { error.into() }
}

/// Returns what is wrong with a form about something of the account.
fn wrong_with(error: ServiceError, language: Language) -> Result<FormErrors, PageError> {
    if error == ServiceError::NotFound {
        return Err(PageError::NotInAccount);
    }
    FormErrors::of(error, language)
}

/// Chats that a form offers.
#[derive(Debug)]
struct OfferedChats {
    list: Vec<Channel>,
    /// True if the visitor has more of them.
    is_cut: bool,
}

/// Returns the visitor's chats, as many as a form offers.
async fn offered_chats(console: &Console, visitor: &Visitor) -> Result<OfferedChats, PageError> {
    let (chats, next) = console.services.channels.page(&visitor.caller()?, CHATS, None).await?;
    let list = chats.into_iter().map(Masked::into_row).collect();
    Ok(OfferedChats { list, is_cut: next.is_some() })
}

/// Returns the visitor's chats, as far as pages know their names.
async fn chats(console: &Console, visitor: &Visitor) -> Result<Vec<Channel>, PageError> {
    Ok(offered_chats(console, visitor).await?.list)
}

/// Returns the name of a chat.
fn name_of(chat: &Channel, language: Language) -> String {
    chat_name(chat.name.clone(), language)
}

/// Returns the dates of the account's pages, which have the service's zone.
async fn dates(console: &Console, visitor: &Visitor) -> Result<Dates, PageError> {
    let zone = console.services.messages.zone(None).await?;
    Ok(Dates { language: visitor.language, zone, now: console.clock.now() })
}

/// Returns the last day of what ends as the next one begins, else the time at which it ends.
fn end_of(at: Timestamp, dates: Dates) -> String {
    // Not every day begins at midnight, which clocks may skip.
    if beginning(dates.day(at), dates.zone) == Some(at) {
        return dates.date(dates.day(Timestamp::from_millis(at.millis() - 1)));
    }
    dates.zoned(at)
}

/// Returns a sentence with a date in it.
fn dated(key: &str, date: &str, language: Language) -> String {
    language.format(key, &[("date", Value::from(date))])
}

/// Returns the routes of the account.
pub(super) fn router() -> Router<Console> {
    Router::new()
        .route(PATH, get(overview::page).post(overview::save))
        .route("/console/account/keys", get(keys::page))
        .route("/console/account/keys/new", get(key::page).post(key::create))
        .route("/console/account/keys/{key}/replace", get(keys::ask_replace).post(keys::replace))
        .route("/console/account/keys/{key}/delete", get(keys::ask_delete).post(keys::delete))
        .route("/console/account/webhooks", get(webhooks::page))
        .route(
            "/console/account/webhooks/new",
            get(webhook_form::new_page).post(webhook_form::create),
        )
        .route("/console/account/webhooks/{webhook}", get(webhook::page).post(webhook::act))
        .route(
            "/console/account/webhooks/{webhook}/edit",
            get(webhook_form::edit_page).post(webhook_form::save),
        )
        .route(
            "/console/account/webhooks/{webhook}/secret",
            get(webhook::ask_secret).post(webhook::new_secret),
        )
        .route(
            "/console/account/webhooks/{webhook}/delete",
            get(webhook::ask_delete).post(webhook::delete),
        )
        .route(
            "/console/account/webhooks/{webhook}/deliveries/{delivery}",
            get(delivery::page).post(delivery::redeliver),
        )
        .route("/console/account/mcp", get(mcp::page))
        .route("/console/account/mcp/{consent}/end", get(mcp::ask_end).post(mcp::end))
        .route("/console/account/sessions", get(sessions::page).post(sessions::end))
}
