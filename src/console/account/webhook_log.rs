//! The log of a webhook's deliveries: its filters and its rows.

use chatkeep_i18n::Language;
use chatkeep_services::webhooks::{DeliveryListQuery, delivery_id, event_name};
use chatkeep_store::{DeliveryStatus, OutboxEventKind, TEST_EVENT, WebhookDelivery};
use chatkeep_view::segment;
use serde::Deserialize;
use url::form_urlencoded;

use super::super::dates::{Dates, day_of};
use super::key::beginning;
use super::webhooks::{event, events};

/// Deliveries of a page.
const LIMIT: u32 = 50;

/// Filters as the form sends them; what makes no sense filters nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LogQuery {
    status: String,
    event: String,
    pub(super) from: String,
    pub(super) to: String,
    cursor: Option<String>,
}

/// Choice of a filter.
#[derive(Debug)]
pub(super) struct LogOption {
    pub(super) value: &'static str,
    pub(super) label: String,
    pub(super) chosen: bool,
}

/// A delivery in the log.
#[derive(Debug)]
pub(super) struct DeliveryRow {
    pub(super) path: String,
    pub(super) event: String,
    pub(super) datetime: String,
    pub(super) when: String,
    pub(super) status: String,
    /// True for one that failed.
    pub(super) failed: bool,
    /// HTTP status of the answer.
    pub(super) answer: Option<i64>,
}

impl LogQuery {
    /// Returns the request for the page; days are those of the account's pages.
    pub(super) fn request(&self, dates: Dates) -> DeliveryListQuery {
        let day = |text: &str| day_of(text).ok().flatten();
        let after = day(&self.to).and_then(|day| day.succ_opt());
        let kind = OutboxEventKind::parse(&self.event).map(OutboxEventKind::name);
        DeliveryListQuery {
            status: DeliveryStatus::parse(&self.status),
            event: kind.or((self.event == TEST_EVENT).then_some(TEST_EVENT)),
            from: day(&self.from).and_then(|day| beginning(day, dates.zone)),
            to: after.and_then(|day| beginning(day, dates.zone)),
            limit: LIMIT,
            cursor: self.cursor.clone(),
        }
    }

    /// Returns true if anything is filtered.
    pub(super) fn is_filtered(&self) -> bool {
        [&self.status, &self.event, &self.from, &self.to].iter().any(|value| !value.is_empty())
    }

    /// Returns the query string of the page from that cursor.
    pub(super) fn with_cursor(&self, cursor: &str) -> String {
        let filters = [
            ("status", &self.status),
            ("event", &self.event),
            ("from", &self.from),
            ("to", &self.to),
        ];
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(filters.into_iter().filter(|(_, value)| !value.is_empty()))
            .append_pair("cursor", cursor)
            .finish()
    }

    pub(super) fn statuses(&self, language: Language) -> Vec<LogOption> {
        let option = |status: DeliveryStatus| LogOption {
            value: status.name(),
            label: status_of(status, language),
            chosen: status.name() == self.status,
        };
        DeliveryStatus::ALL.into_iter().map(option).collect()
    }

    pub(super) fn events(&self, language: Language) -> Vec<LogOption> {
        let test = (TEST_EVENT, event(TEST_EVENT, language));
        let option =
            |(value, label)| LogOption { value, label, chosen: value == self.event.as_str() };
        events(language).chain([test]).map(option).collect()
    }
}

/// Returns the words for a status.
pub(super) fn status_of(status: DeliveryStatus, language: Language) -> String {
    language.text(&format!("delivery-is-{}", status.name()))
}

impl DeliveryRow {
    /// Creates the row of a delivery of the webhook whose page has that path.
    pub(super) fn of(delivery: &WebhookDelivery, webhook: &str, dates: Dates) -> Self {
        Self {
            path: format!("{webhook}/deliveries/{}", segment(&delivery_id(delivery))),
            event: event(event_name(delivery), dates.language),
            datetime: delivery.created_at.to_string(),
            when: dates.moment(delivery.created_at),
            status: status_of(delivery.status, dates.language),
            failed: delivery.status == DeliveryStatus::Failed,
            answer: delivery.http_status,
        }
    }
}
