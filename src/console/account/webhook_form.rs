//! A new webhook, and the properties of one: their form.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::bounds::Bounds;
use chatkeep_i18n::Language;
use chatkeep_services::access::ManageWebhooks;
use chatkeep_services::webhooks::{
    WEBHOOK_DESCRIPTION, WebhookDraft, WebhookUpdate, webhook_version,
};
use chatkeep_services::{Nullable, ServiceError};
use chatkeep_store::{OutboxEventKind, Webhook};
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::super::Console;
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, SubmittedForm, limit_hint};
use super::super::frame::{Frame, rendered_as};
use super::super::idempotent_form::IdempotentForm;
use super::super::visitor::Visitor;
use super::reach::{ChatChoice, SentChats, chosen};
use super::secret::NewSecret;
use super::webhooks::{WebhookCard, event, limits};
use super::{Section, SectionLink, dates, offered_chats, refused, webhook_path, wrong_with};

/// Webhook as the form sends it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WebhookForm {
    url: String,
    description: String,
    event: Vec<String>,
    reach: String,
    chat: Vec<String>,
    /// Ids or addresses of chats that are not offered.
    others: String,
    /// Version of the webhook that the form was filled with; empty for a new one.
    version: String,
}

#[derive(Template)]
#[template(path = "console/account/webhook_form.html", whitespace = "minimize")]
struct WebhookFormPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    form: WebhookForm,
    errors: FormErrors,
    /// Present webhook, where another page has changed it.
    present: Option<WebhookCard>,
    events: Vec<EventOption>,
    choice: ChatChoice,
    /// Sentences about the bounds of the webhook; none without any.
    limits: Vec<String>,
    description_hint: String,
    /// Path of the page to go back to.
    back: String,
    is_new: bool,
}

/// Webhook that a form is about.
#[derive(Clone, Copy)]
enum Subject<'a> {
    /// A new one.
    New,
    /// One as the form knows it.
    Present(&'a Webhook),
    /// One that was changed since the form was shown.
    Changed(&'a Webhook),
}

impl<'a> Subject<'a> {
    const fn webhook(self) -> Option<&'a Webhook> {
        match self {
            Self::New => None,
            Self::Present(webhook) | Self::Changed(webhook) => Some(webhook),
        }
    }

    fn changed(self) -> Option<&'a Webhook> {
        self.webhook().filter(|_| matches!(self, Self::Changed(_)))
    }
}

struct EventOption {
    name: &'static str,
    words: String,
    /// Sentence about what it needs.
    hint: Option<String>,
    chosen: bool,
}

pub(super) async fn new_page(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    let form = WebhookForm { reach: "all".to_owned(), ..WebhookForm::default() };
    show(&console, &visitor, Subject::New, (form, FormErrors::default())).await
}

pub(super) async fn edit_page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(&console)?;
    let webhook = console.services.webhooks.one(&access, &id.into()).await.map_err(refused)?;
    let form = WebhookForm::of(&webhook);
    show(&console, &visitor, Subject::Present(&webhook), (form, FormErrors::default())).await
}

async fn show(
    console: &Console,
    visitor: &Visitor,
    subject: Subject<'_>,
    (form, errors): (WebhookForm, FormErrors),
) -> Result<Response, PageError> {
    let language = visitor.language;
    let webhook = subject.webhook();
    visitor.scoped::<ManageWebhooks>(console)?;
    let mut chats = offered_chats(console, visitor).await?;
    let dates = dates(console, visitor).await?;
    let bounds = webhook.map_or_else(Bounds::full, |webhook| webhook.bounds.clone());
    chats.list.retain(|chat| bounds.sees(&chat.id));
    let option = |kind: OutboxEventKind| EventOption {
        name: kind.name(),
        words: event(kind.name(), language),
        hint: (kind == OutboxEventKind::SearchMatched)
            .then(|| language.text("webhook-searches-text")),
        chosen: form.event.iter().any(|chosen| chosen == kind.name()),
    };
    let events = OutboxEventKind::ALL.into_iter().filter(|kind| kind.is_within(&bounds));
    let title = if webhook.is_none() { "webhook-new" } else { "webhook-edit" };
    let list = Section::Webhooks.path().to_owned();
    let page = WebhookFormPage {
        frame: visitor.frame(language.text(title)),
        sections: Section::Webhooks.links(language),
        events: events.map(option).collect(),
        limits: limits(&bounds, dates),
        choice: ChatChoice::new(&chats, form.chats(), language),
        description_hint: limit_hint(WEBHOOK_DESCRIPTION, language),
        back: webhook.map_or(list, |webhook| webhook_path(&webhook.id)),
        is_new: webhook.is_none(),
        present: subject.changed().map(|webhook| WebhookCard::of(webhook, &chats.list, dates)),
        form,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

pub(super) async fn create(
    State(console): State<Console>,
    IdempotentForm { visitor, form, form_key }: IdempotentForm<WebhookForm>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(&console)?;
    let language = visitor.language;
    let made = form_key.run(&console, async {
        let errors = match form.draft(language) {
            Ok(draft) => match console.services.webhooks.create(&access, draft).await {
                Ok(made) => {
                    let path = webhook_path(&made.webhook.id);
                    return Ok(shown(made.secret.expose_secret(), path, Vec::new(), &visitor));
                }
                Err(error) => wrong_with(error, language)?,
            },
            Err(errors) => errors,
        };
        show(&console, &visitor, Subject::New, (form, errors)).await
    });
    Ok(made.await?.unwrap_or_else(|| Done::ShownBefore.at(Section::Webhooks.path())))
}

/// Returns the page that shows the secret of a webhook, once.
pub(super) fn shown(secret: &str, next: String, notes: Vec<String>, visitor: &Visitor) -> Response {
    let language = visitor.language;
    let new = NewSecret {
        section: Section::Webhooks,
        title: language.text("webhook-secret-title"),
        label: language.text("webhook-secret"),
        secret: secret.to_owned(),
        notes: std::iter::once(language.text("webhook-secret-use")).chain(notes).collect(),
        next,
    };
    new.page(visitor)
}

pub(super) async fn save(
    State(console): State<Console>,
    Path(id): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<WebhookForm>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(&console)?;
    let webhooks = &console.services.webhooks;
    let webhook = webhooks.one(&access, &id.into()).await.map_err(refused)?;
    let expected = Some(&*form.version).filter(|version| !version.is_empty());
    let errors = match form.draft(visitor.language) {
        Ok(draft) => match webhooks.change(&access, &webhook.id, changes(draft), expected).await {
            Ok(webhook) => return Ok(Done::Saved.at(&webhook_path(&webhook.id))),
            Err(ServiceError::Stale) => {
                let webhook = webhooks.one(&access, &webhook.id).await.map_err(refused)?;
                let errors = wrong_with(ServiceError::Stale, visitor.language)?;
                // The next attempt is against what is shown now.
                let form = WebhookForm { version: webhook_version(&webhook), ..form };
                return show(&console, &visitor, Subject::Changed(&webhook), (form, errors)).await;
            }
            Err(error) => wrong_with(error, visitor.language)?,
        },
        Err(errors) => errors,
    };
    show(&console, &visitor, Subject::Present(&webhook), (form, errors)).await
}

/// Returns the change of a webhook to a draft; whether it is on stays.
fn changes(draft: WebhookDraft) -> WebhookUpdate {
    WebhookUpdate {
        url: Some(draft.url),
        events: Some(draft.events),
        channels: Nullable::To(draft.channels),
        enabled: None,
        description: Some(draft.description),
    }
}

impl WebhookForm {
    fn chats(&self) -> SentChats<'_> {
        SentChats { reach: &self.reach, ticked: &self.chat, others: &self.others }
    }

    fn of(webhook: &Webhook) -> Self {
        let chats = webhook.channels.as_deref();
        let reach = if chats.is_none() { "all" } else { "chosen" };
        Self {
            url: webhook.url.clone(),
            description: webhook.description.clone(),
            event: webhook.events.iter().map(|kind| kind.name().to_owned()).collect(),
            reach: reach.to_owned(),
            version: webhook_version(webhook),
            chat: chats.unwrap_or_default().iter().map(ToString::to_string).collect(),
            others: String::new(),
        }
    }

    fn draft(&self, language: Language) -> Result<WebhookDraft, FormErrors> {
        Ok(WebhookDraft {
            url: self.url.trim().to_owned(),
            events: self.event.iter().filter_map(|name| OutboxEventKind::parse(name)).collect(),
            channels: chosen(self.chats(), language)?,
            enabled: true,
            description: self.description.clone(),
        })
    }
}
