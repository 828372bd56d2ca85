//! The log of a webhook's deliveries, and repeating them.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::WebhookId;
use chatkeep_core::random;
use chatkeep_core::time::Timestamp;
use chatkeep_search::saved_searches::Rendering;
use chatkeep_store::{
    DeliveryFilter, DeliveryStatus, OutboxEventKind, ReadAction, TEST_EVENT, Webhook,
    WebhookDelivery,
};

use super::super::access::{Caller, ManageWebhooks, Scoped};
use super::super::{ServiceError, Window};
use super::WebhookService;
use crate::event_renderer::MaskedBody;

/// Request for a page of deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveryListQuery {
    /// Only deliveries with this status.
    pub status: Option<DeliveryStatus>,
    /// Only deliveries of events of that kind: of an [`OutboxEventKind`], or [`TEST_EVENT`].
    pub event: Option<&'static str>,
    /// Only deliveries created at or after this time.
    pub from: Option<Timestamp>,
    /// Only deliveries created before this time.
    pub to: Option<Timestamp>,
    /// Maximum number of deliveries.
    pub limit: u32,
    /// Cursor of the page; the first page without it.
    pub cursor: Option<String>,
}

impl DeliveryListQuery {
    /// Returns the binding of cursors to the webhook and the filters.
    fn binding(&self, webhook: &Webhook) -> String {
        let status = self.status.map(DeliveryStatus::name).unwrap_or_default();
        let list = format!("deliveries:{}:{status}", webhook.id);
        if self.event.is_none() && self.from.is_none() && self.to.is_none() {
            return list;
        }
        let [from, to] = [self.from, self.to].map(|at| at.map_or(0, Timestamp::millis));
        format!("{list}:{}:{from}:{to}", self.event.unwrap_or_default())
    }
}

/// A delivery with the body that a redelivery would send now.
pub struct DeliveryWithBody {
    /// The delivery.
    pub delivery: WebhookDelivery,
    /// The body; `None` when its object is gone or the caller may not read it.
    pub body: Option<MaskedBody>,
}

/// Returns the name of the kind of a delivery's event.
pub fn event_name(delivery: &WebhookDelivery) -> &'static str {
    delivery.event.kind.map_or(TEST_EVENT, OutboxEventKind::name)
}

/// Returns the public id of a delivery.
pub fn delivery_id(delivery: &WebhookDelivery) -> String {
    format!("dlv_{}", delivery.number)
}

impl WebhookService {
    /// Returns the deliveries of a webhook, newest first, and the cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor; as of [`Self::one`].
    #[boxed]
    pub async fn deliveries(
        &self,
        access: &Scoped<ManageWebhooks>,
        webhook: &WebhookId,
        query: &DeliveryListQuery,
    ) -> Result<(Vec<WebhookDelivery>, Option<String>), ServiceError> {
        let webhook = self.one(access, webhook).await?;
        let window =
            Window::<i64>::open(query.binding(&webhook), query.limit, query.cursor.as_deref())?;
        let bounds = common(&access.caller, &webhook);
        let filter = DeliveryFilter {
            bounds: &bounds,
            status: query.status,
            event: query.event,
            from: query.from,
            to: query.to,
            before: window.after,
        };
        let mut deliveries =
            self.store.webhooks().webhook_deliveries(&webhook.id, filter, window.wanted()).await?;
        let next = window.cut(&mut deliveries, |delivery| delivery.number);
        Ok((deliveries, next))
    }

    /// Returns a delivery with the body that a redelivery would send now. A message in it counts as
    /// opened.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown delivery; as of [`Self::one`].
    #[boxed]
    pub async fn delivery(
        &self,
        access: &Scoped<ManageWebhooks>,
        webhook: &WebhookId,
        delivery: &str,
    ) -> Result<DeliveryWithBody, ServiceError> {
        let webhook = self.one(access, webhook).await?;
        let delivery = self.delivery_of(&access.caller, &webhook, delivery).await?;
        let body = self.body_of(&access.caller, &webhook, &delivery).await?;
        if body.as_ref().is_some_and(MaskedBody::has_message) {
            access.record(&delivery.event.channel, ReadAction::Open);
        }
        Ok(DeliveryWithBody { delivery, body })
    }

    /// Sends a test event; returns its delivery.
    ///
    /// # Errors
    /// [`ServiceError::WebhookDisabled`]; as of [`Self::one`].
    #[boxed]
    pub async fn test(
        &self,
        access: &Scoped<ManageWebhooks>,
        webhook: &WebhookId,
    ) -> Result<WebhookDelivery, ServiceError> {
        let webhook = self.enabled(access, webhook).await?;
        let event = format!("evt_test_{}", random::text(16));
        let number =
            self.store.webhooks().test_webhook(&webhook.id, &event, self.clock.now()).await?;
        let number = number.ok_or(ServiceError::NotFound)?;
        let bounds = common(&access.caller, &webhook);
        let delivery = self.store.webhooks().webhook_delivery(&webhook.id, number, &bounds).await?;
        delivery.ok_or(ServiceError::NotFound)
    }

    /// Repeats a delivery; returns it.
    ///
    /// # Errors
    /// [`ServiceError::WebhookDisabled`], [`ServiceError::NotFound`] for an unknown
    /// delivery; as of [`Self::one`].
    #[boxed]
    pub async fn redeliver(
        &self,
        access: &Scoped<ManageWebhooks>,
        webhook: &WebhookId,
        delivery: &str,
    ) -> Result<WebhookDelivery, ServiceError> {
        let webhook = self.enabled(access, webhook).await?;
        let number = self.delivery_of(&access.caller, &webhook, delivery).await?.number;
        self.store.webhooks().redeliver(&webhook.id, number, self.clock.now()).await?;
        self.delivery_of(&access.caller, &webhook, delivery).await
    }

    /// Repeats all failed deliveries created at or after `since`; returns their number.
    ///
    /// # Errors
    /// [`ServiceError::WebhookDisabled`]; as of [`Self::one`].
    #[boxed]
    pub async fn redeliver_since(
        &self,
        access: &Scoped<ManageWebhooks>,
        webhook: &WebhookId,
        since: Timestamp,
    ) -> Result<u64, ServiceError> {
        let webhook = self.enabled(access, webhook).await?;
        let (bounds, now) = (common(&access.caller, &webhook), self.clock.now());
        Ok(self.store.webhooks().redeliver_since(&webhook.id, &bounds, since, now).await?)
    }

    async fn enabled(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &WebhookId,
    ) -> Result<Webhook, ServiceError> {
        let webhook = self.one(access, id).await?;
        if webhook.enabled { Ok(webhook) } else { Err(ServiceError::WebhookDisabled) }
    }

    /// Returns a delivery within the bounds of caller and webhook.
    async fn delivery_of(
        &self,
        caller: &Caller,
        webhook: &Webhook,
        id: &str,
    ) -> Result<WebhookDelivery, ServiceError> {
        let number = id.strip_prefix("dlv_").and_then(|number| number.parse().ok());
        let number = number.ok_or(ServiceError::NotFound)?;
        let bounds = common(caller, webhook);
        let delivery = self.store.webhooks().webhook_delivery(&webhook.id, number, &bounds).await?;
        // One delivery has one name.
        delivery.filter(|found| delivery_id(found) == id).ok_or(ServiceError::NotFound)
    }

    /// Returns the body that would be sent now, if the caller may read it.
    async fn body_of(
        &self,
        caller: &Caller,
        webhook: &Webhook,
        delivery: &WebhookDelivery,
    ) -> Result<Option<MaskedBody>, ServiceError> {
        if let Some(channel) = &delivery.event.channel {
            let only = std::slice::from_ref(channel);
            let wanted = webhook.channels.as_ref().is_none_or(|only| only.contains(channel));
            let readable =
                self.store.channels().channels_of(&caller.user, Some(only), None, 1).await?;
            if !wanted || readable.is_empty() {
                return Ok(None);
            }
        }
        let bounds = common(caller, webhook);
        let (event, user) = (&delivery.event, &webhook.user);
        Ok(self.renderer.webhook_body(event, user, &bounds, Rendering::Display).await?)
    }
}

/// Returns the intersection of the caller's and the webhook's bounds.
fn common(caller: &Caller, webhook: &Webhook) -> Bounds {
    caller.bounds.narrowed(&webhook.bounds)
}
