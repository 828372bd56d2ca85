//! The log of a webhook's deliveries, and making them once more.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, WebhookId};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    DeliveryFilter, DeliveryStatus, OutboxEventKind, TEST_EVENT, Webhook, WebhookDelivery,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::WebhookPath;
use crate::api::Api;
use crate::api::auth::{Caller, ManageWebhooks, Scoped};
use crate::api::cursor::Page;
use crate::api::error::ApiError;
use crate::api::extract::{Body, Limit, Path, Query};
use crate::api::route::{Describe, Output};
use crate::random;
use crate::services::Window;

const DISABLED: ApiError = ApiError::Conflict("The webhook is disabled");

/// `GET /api/webhooks/:webhookId/deliveries`.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryList)]
#[serde(rename_all = "camelCase")]
pub(in crate::api) struct Deliveries {
    /// Newest first.
    deliveries: Vec<DeliveryView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Delivery of an event. The body is not stored: it is rendered again when a single delivery is
/// requested.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
#[serde(rename_all = "camelCase")]
pub(in crate::api) struct DeliveryView {
    /// The id of the delivery.
    delivery_id: String,
    /// Value of the header `webhook-id`, the same for every attempt.
    event_id: String,
    /// Event type, or `webhook.test`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Time of the event.
    timestamp: Timestamp,
    /// ID of the channel; null for account events.
    channel_id: Option<ChannelId>,
    /// The state of the delivery.
    status: DeliveryStatus,
    /// Number of attempts.
    attempts: i64,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of the next attempt; null when there will be none.
    next_attempt_at: Option<Timestamp>,
    /// Time of the last attempt; null before the first.
    last_attempt_at: Option<Timestamp>,
    /// Duration of the last attempt in milliseconds.
    duration: Option<i64>,
    /// Size of the request body in bytes.
    request_bytes: Option<i64>,
    /// HTTP status of the last response; null when there was none.
    response_status: Option<i64>,
    /// Beginning of the response body. It is deleted together with the message, which it may
    /// repeat.
    response_excerpt: Option<String>,
    /// Reason for the failure: `status`, `timeout`, `connect`, `broken`, `redirect`, `gone`,
    /// `forbidden_address`, `unusable_secret`; of a dropped delivery `gone` or `not_permitted`.
    error: Option<String>,
}

/// A delivery with the body that a redelivery would send now.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct DeliveryDetail {
    #[serde(flatten)]
    delivery: DeliveryView,
    /// Body that a redelivery would send now; null when its object is gone or the caller may not
    /// read it.
    #[schema(value_type = Option<Object>)]
    request: Option<serde_json::Value>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct DeliveryQuery {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
    /// Only deliveries with this status.
    #[param(inline)]
    status: Option<DeliveryStatus>,
}

#[derive(Deserialize, IntoParams)]
pub(in crate::api) struct DeliveryPath {
    /// ID of the webhook.
    #[serde(rename = "webhookId")]
    #[param(value_type = String)]
    webhook: WebhookId,
    /// ID of the delivery.
    #[serde(rename = "deliveryId")]
    delivery: String,
}

/// Selection of deliveries to repeat.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct RedeliverBody {
    /// Repeats all failed deliveries created at or after this time.
    since: Timestamp,
}

/// Result of a redelivery.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct Redelivered {
    /// Number of deliveries that are repeated.
    count: u64,
}

/// 202: it will be done.
pub(in crate::api) struct Accepted<T>(T);

pub(in crate::api) async fn list(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Query(query): Query<DeliveryQuery>,
) -> Result<Page<Deliveries>, ApiError> {
    let webhook = api.webhook_of(&access.caller, &path.webhook).await?;
    let status = query.status.map(DeliveryStatus::name).unwrap_or_default();
    let binding = format!("deliveries:{}:{status}", webhook.id);
    let window = Window::<i64>::open(binding, query.limit, query.cursor.as_deref())?;
    let bounds = access.caller.common(&webhook);
    let filter = DeliveryFilter { bounds: &bounds, status: query.status, before: window.after };
    let mut deliveries =
        api.store.webhooks().webhook_deliveries(&webhook.id, filter, window.wanted()).await?;
    let next = window.cut(&mut deliveries, |delivery| delivery.number);
    let deliveries = deliveries.into_iter().map(DeliveryView::from).collect();
    Ok(Page { body: Deliveries { deliveries, next_cursor: next.clone() }, next })
}

pub(in crate::api) async fn one(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<DeliveryPath>,
) -> Result<Json<DeliveryDetail>, ApiError> {
    let caller = &access.caller;
    let webhook = api.webhook_of(caller, &path.webhook).await?;
    let delivery = api.delivery(caller, &webhook, &path.delivery).await?;
    let request = api.request_of(caller, &webhook, &delivery).await?;
    Ok(Json(DeliveryDetail { delivery: delivery.into(), request }))
}

pub(in crate::api) async fn test(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
) -> Result<Accepted<DeliveryView>, ApiError> {
    let webhook = api.enabled_webhook(&access.caller, &path.webhook).await?;
    let event = format!("evt_test_{}", random::text(16));
    let number = api.store.webhooks().test_webhook(&webhook.id, &event, api.clock.now()).await?;
    let number = number.ok_or(ApiError::NotFound)?;
    let bounds = access.caller.common(&webhook);
    let delivery = api.store.webhooks().webhook_delivery(&webhook.id, number, &bounds).await?;
    Ok(Accepted(delivery.ok_or(ApiError::NotFound)?.into()))
}

pub(in crate::api) async fn redeliver(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<DeliveryPath>,
) -> Result<Accepted<DeliveryView>, ApiError> {
    let caller = &access.caller;
    let webhook = api.enabled_webhook(caller, &path.webhook).await?;
    let delivery = api.delivery(caller, &webhook, &path.delivery).await?;
    api.store.webhooks().redeliver(&webhook.id, delivery.number, api.clock.now()).await?;
    Ok(Accepted(api.delivery(caller, &webhook, &path.delivery).await?.into()))
}

pub(in crate::api) async fn redeliver_since(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Body(body): Body<RedeliverBody>,
) -> Result<Accepted<Redelivered>, ApiError> {
    let webhook = api.enabled_webhook(&access.caller, &path.webhook).await?;
    let (bounds, now) = (access.caller.common(&webhook), api.clock.now());
    let count = api.store.webhooks().redeliver_since(&webhook.id, &bounds, body.since, now).await?;
    Ok(Accepted(Redelivered { count }))
}

impl Caller {
    /// Returns the intersection of the caller's and the webhook's bounds.
    fn common(&self, webhook: &Webhook) -> Bounds {
        self.bounds.narrowed(&webhook.bounds)
    }
}

impl Api {
    async fn enabled_webhook(&self, caller: &Caller, id: &WebhookId) -> Result<Webhook, ApiError> {
        let webhook = self.webhook_of(caller, id).await?;
        if webhook.enabled { Ok(webhook) } else { Err(DISABLED) }
    }

    /// Returns a delivery within the bounds of caller and webhook.
    async fn delivery(
        &self,
        caller: &Caller,
        webhook: &Webhook,
        id: &str,
    ) -> Result<WebhookDelivery, ApiError> {
        let number = id.strip_prefix("dlv_").and_then(|number| number.parse().ok());
        let number = number.ok_or(ApiError::NotFound)?;
        let bounds = caller.common(webhook);
        let delivery = self.store.webhooks().webhook_delivery(&webhook.id, number, &bounds).await?;
        // One delivery has one name.
        delivery.filter(|found| name(found) == id).ok_or(ApiError::NotFound)
    }

    /// Returns the body that would be sent now, if the caller may read it.
    async fn request_of(
        &self,
        caller: &Caller,
        webhook: &Webhook,
        delivery: &WebhookDelivery,
    ) -> Result<Option<serde_json::Value>, ApiError> {
        if let Some(channel) = &delivery.event.channel {
            let only = std::slice::from_ref(channel);
            let wanted = webhook.channels.as_ref().is_none_or(|only| only.contains(channel));
            let readable =
                self.store.channels().channels_of(&caller.user, Some(only), None, 1).await?;
            if !wanted || readable.is_empty() {
                return Ok(None);
            }
        }
        let bounds = caller.common(webhook);
        let body = self.event_renderer().webhook_body(&delivery.event, &bounds).await?;
        body.map(|body| serde_json::to_value(body).map_err(|_| ApiError::Internal)).transpose()
    }
}

fn name(delivery: &WebhookDelivery) -> String {
    format!("dlv_{}", delivery.number)
}

impl From<WebhookDelivery> for DeliveryView {
    fn from(delivery: WebhookDelivery) -> Self {
        Self {
            delivery_id: name(&delivery),
            event_id: delivery.event.id,
            kind: delivery.event.kind.map_or(TEST_EVENT, OutboxEventKind::name),
            timestamp: delivery.event.at,
            channel_id: delivery.event.channel,
            status: delivery.status,
            attempts: delivery.attempts,
            created_at: delivery.created_at,
            next_attempt_at: delivery.due_at,
            last_attempt_at: delivery.tried_at,
            duration: delivery.took_ms,
            request_bytes: delivery.request_bytes,
            response_status: delivery.http_status,
            response_excerpt: delivery.answer,
            error: delivery.error,
        }
    }
}

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}

impl<T: Serialize + ToSchema> Output for Accepted<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::ACCEPTED, "Accepted for delivery");
    }
}
