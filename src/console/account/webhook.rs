//! The page of a webhook: its state, what can be done with it, the log of its deliveries.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::ServiceError;
use chatkeep_services::access::ManageWebhooks;
use chatkeep_services::webhooks::{FormerSecrets, WebhookUpdate};
use chatkeep_store::Webhook;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::super::Console;
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, Question, SubmittedForm};
use super::super::frame::{Frame, rendered_as};
use super::super::idempotent_form::IdempotentForm;
use super::super::labels::zone_note;
use super::super::visitor::{Asked, Visitor};
use super::keys::OverlapForm;
use super::secret::Replacement;
use super::webhook_log::{DeliveryRow, LogOption, LogQuery};
use super::webhooks::WebhookCard;
use super::{
    Confirmation, Section, SectionLink, chats, dated, dates, refused, webhook_form, webhook_path,
    wrong_with,
};

#[derive(Template)]
#[template(path = "console/account/webhook.html", whitespace = "minimize")]
struct WebhookPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    webhook: WebhookCard,
    errors: FormErrors,
    query: LogQuery,
    statuses: Vec<LogOption>,
    events: Vec<LogOption>,
    deliveries: Vec<DeliveryRow>,
    /// Sentence about the zone of the times.
    zone: String,
    next: Option<String>,
}

/// Form fields that the page's buttons send.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionForm {
    action: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
    Asked(query): Asked<LogQuery>,
) -> Result<Response, PageError> {
    let webhook = one(&console, &visitor, id).await?;
    show(&console, &visitor, &webhook, (query, FormErrors::default())).await
}

/// Returns the visitor's webhook of that id.
async fn one(console: &Console, visitor: &Visitor, id: String) -> Result<Webhook, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(console)?;
    console.services.webhooks.one(&access, &id.into()).await.map_err(refused)
}

async fn show(
    console: &Console,
    visitor: &Visitor,
    webhook: &Webhook,
    (query, errors): (LogQuery, FormErrors),
) -> Result<Response, PageError> {
    let language = visitor.language;
    let access = visitor.scoped::<ManageWebhooks>(console)?;
    let (chats, dates) = (chats(console, visitor).await?, dates(console, visitor).await?);
    let request = query.request(dates);
    let found = console.services.webhooks.deliveries(&access, &webhook.id, &request).await;
    let (deliveries, next) = found.map_err(refused)?;
    let view = WebhookCard::of(webhook, &chats, dates);
    let row = |delivery| DeliveryRow::of(delivery, &view.path, dates);
    let page = WebhookPage {
        frame: visitor.frame(view.name.clone()),
        sections: Section::Webhooks.links(language),
        deliveries: deliveries.iter().map(row).collect(),
        zone: zone_note(dates.zone, language),
        next: next.map(|cursor| format!("{}?{}", view.path, query.with_cursor(&cursor))),
        statuses: query.statuses(language),
        events: query.events(language),
        webhook: view,
        query,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

pub(super) async fn act(
    State(console): State<Console>,
    Path(id): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<ActionForm>,
) -> Result<Response, PageError> {
    let webhook = one(&console, &visitor, id).await?;
    let here = webhook_path(&webhook.id);
    match perform(&console, &visitor, &webhook, &form.action).await? {
        Ok(done) => Ok(done.at(&here)),
        Err(error) => {
            let errors = wrong_with(error, visitor.language)?;
            show(&console, &visitor, &webhook, (LogQuery::default(), errors)).await
        }
    }
}

/// Does what a button says.
async fn perform(
    console: &Console,
    visitor: &Visitor,
    webhook: &Webhook,
    action: &str,
) -> Result<Result<Done, ServiceError>, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(console)?;
    let webhooks = &console.services.webhooks;
    let enabled = match action {
        "on" => true,
        "off" => false,
        "test" => return Ok(webhooks.test(&access, &webhook.id).await.map(|_| Done::Sent)),
        _ => return Err(PageError::Input),
    };
    let update = WebhookUpdate { enabled: Some(enabled), ..WebhookUpdate::default() };
    Ok(webhooks.change(&access, &webhook.id, update, None).await.map(|_| Done::Saved))
}

pub(super) async fn ask_secret(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let webhook = one(&console, &visitor, id).await?;
    Ok(replacement(&webhook, visitor.language).page(&visitor, FormErrors::default()))
}

fn replacement(webhook: &Webhook, language: Language) -> Replacement {
    Replacement {
        section: Section::Webhooks,
        title: language.text("webhook-replace-title"),
        text: language.text("webhook-replace-text"),
        back: webhook_path(&webhook.id),
    }
}

pub(super) async fn new_secret(
    State(console): State<Console>,
    Path(id): Path<String>,
    IdempotentForm { visitor, form, form_key }: IdempotentForm<OverlapForm>,
) -> Result<Response, PageError> {
    let webhook = one(&console, &visitor, id).await?;
    let overlap = form.overlap.parse().map_err(|_| PageError::Input)?;
    let made = form_key.run(&console, replaced_secret(&console, &visitor, &webhook, overlap));
    Ok(made.await?.unwrap_or_else(|| Done::ShownBefore.at(&webhook_path(&webhook.id))))
}

/// Replaces the secret of a webhook and shows the new one.
async fn replaced_secret(
    console: &Console,
    visitor: &Visitor,
    webhook: &Webhook,
    overlap: u32,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(console)?;
    let former = FormerSecrets::Overlap(Some(overlap));
    match console.services.webhooks.rotate_secret(&access, &webhook.id, former).await {
        Ok(made) => {
            let dates = dates(console, visitor).await?;
            let until = made.webhook.old_until.filter(|at| *at > dates.now);
            let note =
                until.map(|at| dated("webhook-secret-until", &dates.zoned(at), visitor.language));
            let (secret, notes) = (made.secret.expose_secret(), note.into_iter().collect());
            Ok(webhook_form::shown(secret, webhook_path(&webhook.id), notes, visitor))
        }
        Err(error) => {
            let errors = match error {
                ServiceError::Conflict(_) => {
                    FormErrors::all(visitor.language.text("webhook-secret-still-valid"))
                }
                error => wrong_with(error, visitor.language)?,
            };
            Ok(replacement(webhook, visitor.language).page(visitor, errors))
        }
    }
}

pub(super) async fn ask_delete(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let webhook = one(&console, &visitor, id).await?;
    Ok(question(&webhook, visitor.language).page(&visitor))
}

fn question(webhook: &Webhook, language: Language) -> Question {
    let values = [("url", Value::from(&webhook.url))];
    Question {
        title: language.text("webhook-delete-title"),
        text: language.format("webhook-delete-text", &values),
        chat: None,
        button: language.text("delete"),
        back: webhook_path(&webhook.id),
        values: Vec::new(),
    }
}

pub(super) async fn delete(
    State(console): State<Console>,
    Path(id): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<Confirmation>,
) -> Result<Response, PageError> {
    let webhook = one(&console, &visitor, id).await?;
    if !form.is_yes() {
        return Ok(question(&webhook, visitor.language).page(&visitor));
    }
    let access = visitor.scoped::<ManageWebhooks>(&console)?;
    console.services.webhooks.remove(&access, &webhook.id).await.map_err(refused)?;
    Ok(Done::Deleted.at(Section::Webhooks.path()))
}
