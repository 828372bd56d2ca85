//! The log of a webhook's deliveries, and making them once more.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{ChannelId, WebhookId};
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, Path, Query};
use chatkeep_services::access::{ManageWebhooks, Scoped};
use chatkeep_services::webhooks::{DeliveryListQuery, DeliveryWithBody, delivery_id, event_name};
use chatkeep_services::{FieldPath, Services};
use chatkeep_store::{DeliveryFailure, DeliveryStatus, WebhookDelivery};
use chatkeep_view::when::When;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::WebhookPath;
use crate::cursor::Page;
use crate::extract::Limit;
use crate::route::{Describe, Output};

/// Page of deliveries.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryList)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deliveries {
    /// Deliveries of the page, newest first.
    deliveries: Vec<DeliveryView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Delivery of an event. The body is not stored: it is rendered again when a single delivery is
/// requested.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryView {
    /// ID of the delivery.
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
    /// Number of attempts since the event, or since the last redelivery was requested.
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
    /// Reason for the failure of the last attempt, or for dropping the delivery; null otherwise.
    error: Option<DeliveryFailure>,
}

/// A delivery with the body that a redelivery would send now.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliveryDetail {
    #[serde(flatten)]
    delivery: DeliveryView,
    /// Body that a redelivery would send now; null when its object is gone or the caller may not
    /// read it.
    #[schema(value_type = Option<Object>)]
    request: Option<serde_json::Value>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryQuery {
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
pub(crate) struct DeliveryPath {
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
pub(crate) struct RedeliverBody {
    /// Repeats all failed deliveries created at or after this time.
    since: When,
}

/// Result of a redelivery.
#[derive(Serialize, ToSchema)]
pub(crate) struct Redelivered {
    /// Number of deliveries that are repeated.
    count: u64,
}

/// 202: it will be done.
pub(crate) struct Accepted<T>(T);

pub(crate) async fn list(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Query(query): Query<DeliveryQuery>,
) -> Result<Page<Deliveries>, HttpError> {
    let DeliveryQuery { limit, cursor, status } = query;
    let query =
        DeliveryListQuery { status, limit: limit.0, cursor, ..DeliveryListQuery::default() };
    let (deliveries, next) = services.webhooks.deliveries(&access, &path.webhook, &query).await?;
    let deliveries = deliveries.into_iter().map(DeliveryView::from).collect();
    Ok(Page { body: Deliveries { deliveries, next_cursor: next.clone() }, next })
}

pub(crate) async fn one(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<DeliveryPath>,
) -> Result<Json<DeliveryDetail>, HttpError> {
    let found = services.webhooks.delivery(&access, &path.webhook, &path.delivery).await?;
    let DeliveryWithBody { delivery, body } = found;
    let request = body
        .map(|body| serde_json::from_slice(&body.json()?))
        .transpose()
        .map_err(|_| HttpError::Internal)?;
    Ok(Json(DeliveryDetail { delivery: delivery.into(), request }))
}

pub(crate) async fn test(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
) -> Result<Accepted<DeliveryView>, HttpError> {
    Ok(Accepted(services.webhooks.test(&access, &path.webhook).await?.into()))
}

pub(crate) async fn redeliver(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<DeliveryPath>,
) -> Result<Accepted<DeliveryView>, HttpError> {
    let delivery = services.webhooks.redeliver(&access, &path.webhook, &path.delivery).await?;
    Ok(Accepted(delivery.into()))
}

pub(crate) async fn redeliver_since(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Body(body): Body<RedeliverBody>,
) -> Result<Accepted<Redelivered>, HttpError> {
    let (field, since) = (FieldPath::body("/since"), Some(body.since));
    let since = services.messages.moment(None, field, since).await?;
    let since = since.ok_or(HttpError::Internal)?;
    let count = services.webhooks.redeliver_since(&access, &path.webhook, since).await?;
    Ok(Accepted(Redelivered { count }))
}

impl From<WebhookDelivery> for DeliveryView {
    fn from(delivery: WebhookDelivery) -> Self {
        let kind = event_name(&delivery);
        Self {
            delivery_id: delivery_id(&delivery),
            event_id: delivery.event.id,
            kind,
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
