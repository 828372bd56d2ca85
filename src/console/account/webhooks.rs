//! Outgoing webhooks of the visitor: the list, and a webhook as pages show it.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::http::host_of;
use chatkeep_i18n::Language;
use chatkeep_services::access::ManageWebhooks;
use chatkeep_store::{Channel, DisabledReason, OutboxEventKind, Webhook};
use chatkeep_view::sanitize::is_visible;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::frame::{Frame, rendered};
use super::super::visitor::Visitor;
use super::{Section, SectionLink, chats, dated, dates, end_of, reach, webhook_path};

/// Maximum number of webhooks of a page; a person can have fewer.
const LIMIT: u32 = 100;

#[derive(Template)]
#[template(path = "console/account/webhooks.html", whitespace = "minimize")]
struct WebhooksPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    webhooks: Vec<WebhookCard>,
}

/// A webhook as pages show it.
#[derive(Debug)]
pub(super) struct WebhookCard {
    pub(super) path: String,
    pub(super) url: String,
    /// Purpose, where its owner has written one.
    pub(super) description: Option<String>,
    /// Its description, else the host.
    pub(super) name: String,
    pub(super) enabled: bool,
    pub(super) state: WebhookState,
    pub(super) events: Vec<String>,
    pub(super) chats: Vec<String>,
    /// Sentences about the bounds that the key which made it left; none without any.
    pub(super) limits: Vec<String>,
    /// Last characters of its secret.
    pub(super) mask: String,
    /// Sentence about the secret before.
    pub(super) previous: Option<String>,
    pub(super) created: String,
}

/// State of a webhook.
#[derive(Debug)]
pub(super) struct WebhookState {
    pub(super) label: String,
    /// True when something is not as it should be.
    pub(super) warning: bool,
    /// Sentence about that.
    pub(super) why: Option<String>,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ManageWebhooks>(&console)?;
    let (webhooks, _) = console.services.webhooks.page(&access, LIMIT, None).await?;
    let (chats, dates) = (chats(&console, &visitor).await?, dates(&console, &visitor).await?);
    let page = WebhooksPage {
        frame: visitor.frame(visitor.language.text("webhooks-title")),
        sections: Section::Webhooks.links(visitor.language),
        webhooks: webhooks.iter().map(|one| WebhookCard::of(one, &chats, dates)).collect(),
    };
    rendered(&page)
}

impl WebhookCard {
    pub(super) fn of(webhook: &Webhook, chats: &[Channel], dates: Dates) -> Self {
        let language = dates.language;
        let described = Some(&webhook.description).filter(|text| is_visible(text));
        let previous = webhook.old_until.filter(|at| *at > dates.now);
        Self {
            path: webhook_path(&webhook.id),
            description: described.cloned(),
            name: described.cloned().or_else(|| host_of(&webhook.url)).unwrap_or_default(),
            url: webhook.url.clone(),
            enabled: webhook.enabled,
            state: WebhookState::of(webhook, dates),
            events: webhook.events.iter().map(|kind| event(kind.name(), language)).collect(),
            chats: reach::names(webhook.chats().as_deref(), chats, language),
            limits: limits(&webhook.bounds, dates),
            mask: webhook.mask.clone(),
            previous: previous.map(|at| dated("webhook-secret-until", &dates.zoned(at), language)),
            created: dates.date(dates.day(webhook.created_at)),
        }
    }
}

impl WebhookState {
    fn of(webhook: &Webhook, dates: Dates) -> Self {
        let language = dates.language;
        if let Some((reason, at)) = webhook.disabled {
            let key = match reason {
                DisabledReason::Gone => "webhook-off-gone",
                DisabledReason::Failing => "webhook-off-failing",
                DisabledReason::KeyEnded => "webhook-off-key",
            };
            let why = Some(dated(key, &dates.zoned(at), language));
            return Self { label: language.text("webhook-off"), warning: true, why };
        }
        if !webhook.enabled {
            return Self { label: language.text("webhook-off"), warning: false, why: None };
        }
        let Some(since) = webhook.failing_since else {
            return Self { label: language.text("webhook-on"), warning: false, why: None };
        };
        let why = Some(dated("webhook-failing-since", &dates.zoned(since), language));
        Self { label: language.text("webhook-unanswering"), warning: true, why }
    }
}

/// Returns the words about a kind of event, by its name.
pub(super) fn event(name: &str, language: Language) -> String {
    language.text(&format!("event-{}", name.replace('.', "-")))
}

/// Returns all events with their words.
pub(super) fn events(language: Language) -> impl Iterator<Item = (&'static str, String)> {
    OutboxEventKind::ALL.into_iter().map(move |kind| (kind.name(), event(kind.name(), language)))
}

/// Returns the sentences about the bounds of a webhook; none without any.
pub(super) fn limits(bounds: &Bounds, dates: Dates) -> Vec<String> {
    let language = dates.language;
    if *bounds == Bounds::full() {
        return Vec::new();
    }
    let since =
        bounds.not_before.map(|at| dated("key-since", &dates.date(dates.day(at)), language));
    let end = bounds.expires_at.map(|at| dated("webhook-ends", &end_of(at, dates), language));
    std::iter::once(language.text("webhook-limited")).chain(since).chain(end).collect()
}
