//! The page of a delivery: what became of it, its request and its answer as far as they are stored.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::WebhookId;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::access::ManageWebhooks;
use chatkeep_services::event_renderer::MaskedBody;
use chatkeep_services::webhooks::{delivery_id, event_name};
use chatkeep_store::{Channel, DeliveryFailure, DeliveryStatus, WebhookDelivery};
use chatkeep_view::segment;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, SubmittedForm};
use super::super::frame::{Frame, rendered_as};
use super::super::labels::size;
use super::super::sign_in::EmptyForm;
use super::super::visitor::Visitor;
use super::webhook_log::status_of;
use super::webhooks::event;
use super::{Section, SectionLink, chats, dates, reach, refused, webhook_path, wrong_with};

#[derive(Template)]
#[template(path = "console/account/delivery.html", whitespace = "minimize")]
struct DeliveryPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    errors: FormErrors,
    delivery: DeliveryFacts,
    /// Body that would be sent now; `None` when there is none any more.
    request: Option<String>,
    /// Path of the webhook's page.
    back: String,
}

/// Facts about a delivery.
struct DeliveryFacts {
    event: String,
    /// Value of the header `webhook-id`.
    id: String,
    chat: Option<String>,
    status: String,
    failed: bool,
    created: String,
    attempts: i64,
    /// Times of the last attempt and of the next one.
    tried: Option<String>,
    due: Option<String>,
    took: Option<String>,
    http_status: Option<i64>,
    why: Option<String>,
    answer: Option<String>,
    /// Sentence about the size of the last request.
    sent_size: Option<String>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path((webhook, delivery)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let webhook = WebhookId::from(webhook);
    show(&console, &visitor, (&webhook, &delivery), FormErrors::default()).await
}

async fn show(
    console: &Console,
    visitor: &Visitor,
    (webhook, delivery): (&WebhookId, &str),
    errors: FormErrors,
) -> Result<Response, PageError> {
    let language = visitor.language;
    let access = visitor.scoped::<ManageWebhooks>(console)?;
    let found = console.services.webhooks.delivery(&access, webhook, delivery).await;
    let found = found.map_err(refused)?;
    let (chats, dates) = (chats(console, visitor).await?, dates(console, visitor).await?);
    let request = found.body.as_ref().map(MaskedBody::pretty).transpose();
    let page = DeliveryPage {
        frame: visitor.frame(event(event_name(&found.delivery), language)),
        sections: Section::Webhooks.links(language),
        errors,
        delivery: DeliveryFacts::of(&found.delivery, &chats, dates),
        request: request.map_err(|_| PageError::Internal)?,
        back: webhook_path(webhook),
    };
    Ok(rendered_as(page.errors.status(), &page))
}

pub(super) async fn redeliver(
    State(console): State<Console>,
    Path((webhook, delivery)): Path<(String, String)>,
    SubmittedForm { visitor, .. }: SubmittedForm<EmptyForm>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(&console)?;
    let webhook = WebhookId::from(webhook);
    match console.services.webhooks.redeliver(&access, &webhook, &delivery).await {
        Ok(again) => {
            let id = delivery_id(&again);
            let path = format!("{}/deliveries/{}", webhook_path(&webhook), segment(&id));
            Ok(Done::Sent.at(&path))
        }
        Err(error) => {
            let errors = wrong_with(error, visitor.language)?;
            show(&console, &visitor, (&webhook, &delivery), errors).await
        }
    }
}

impl DeliveryFacts {
    fn of(delivery: &WebhookDelivery, chats: &[Channel], dates: Dates) -> Self {
        let language = dates.language;
        let chat = delivery.event.channel.as_ref();
        let took = delivery.took_ms;
        Self {
            event: event(event_name(delivery), language),
            id: delivery.event.id.clone(),
            chat: chat
                .map(|id| reach::names(Some(std::slice::from_ref(id)), chats, language).concat()),
            status: status_of(delivery.status, language),
            failed: delivery.status == DeliveryStatus::Failed,
            created: dates.zoned(delivery.created_at),
            attempts: delivery.attempts,
            tried: delivery.tried_at.map(|at| dates.zoned(at)),
            due: delivery.due_at.map(|at| dates.zoned(at)),
            took: took
                .map(|ms| language.format("delivery-milliseconds", &[("count", Value::from(ms))])),
            http_status: delivery.http_status,
            why: delivery.error.map(|failure| reason(failure, language)),
            answer: delivery.answer.clone().filter(|answer| !answer.is_empty()),
            sent_size: delivery.request_bytes.map(|bytes| {
                let size = size(bytes);
                language.format("delivery-sent-size", &[("size", Value::from(&size))])
            }),
        }
    }
}

/// Returns the words for the reason of a failure.
fn reason(failure: DeliveryFailure, language: Language) -> String {
    language.text(&format!("delivery-failed-{}", failure.name().replace('_', "-")))
}
