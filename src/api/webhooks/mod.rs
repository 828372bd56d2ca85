//! Outgoing webhooks of the caller.

mod body;
mod deliveries;
pub(super) mod events;
mod table;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{ChannelId, WebhookId};
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, OptionalBody, Path, Query};
use chatkeep_services::access::{ManageWebhooks, Scoped};
use chatkeep_services::webhooks::{FormerSecrets, WebhookWithSecret};
use chatkeep_services::{FieldPath, Services};
use chatkeep_store::{DisabledReason, OutboxEventKind, Webhook};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::body::{WebhookBody, WebhookPatch};
pub(super) use self::table::routes;
use super::cursor::Page;
use super::editable::Editable;
use super::extract::Paging;
use super::route::{Describe, Output};
use super::subscriptions::Success;

/// Page of webhook endpoints.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookList)]
#[serde(rename_all = "camelCase")]
pub(super) struct Webhooks {
    /// The webhooks of the page.
    webhooks: Vec<WebhookView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Webhook endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebhookView {
    /// ID of the webhook.
    webhook_id: WebhookId,
    /// Address that events are sent to.
    url: String,
    /// Description for people; may be empty.
    description: String,
    /// Event types that are sent.
    events: Vec<OutboxEventKind>,
    /// Channels whose events are sent; null for all that the caller may read.
    channel_ids: Option<Vec<ChannelId>>,
    /// True while the webhook is enabled; nothing is sent otherwise.
    enabled: bool,
    /// Last four characters of the secret.
    mask: String,
    /// Time until which the previous secret also signs.
    previous_until: Option<Timestamp>,
    /// Time of the first failure since the last success; null while deliveries succeed.
    failing_since: Option<Timestamp>,
    /// Reason for disabling the webhook automatically: it responded 410, failed for days, or the
    /// key that created it ended.
    disabled_reason: Option<DisabledReason>,
    /// Time at which the webhook was disabled automatically; null otherwise.
    disabled_at: Option<Timestamp>,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
}

/// A webhook with its new secret.
#[derive(Serialize, ToSchema)]
pub(super) struct MadeWebhook {
    /// Secret that deliveries are signed with. It is not shown again.
    secret: String,
    #[serde(flatten)]
    webhook: WebhookView,
}

/// Options for rotating a secret.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RotateSecretBody {
    /// Seconds for which the current secret also signs; one day when absent. While the previous one
    /// is still valid, only 0 is accepted, which ends both at once.
    #[serde(default, deserialize_with = "chatkeep_services::decode::whole")]
    #[schema(minimum = 0, maximum = 2_592_000, nullable = false)]
    overlap_seconds: Option<u32>,
    /// True to end the current secret at once and to keep the previous one valid until its time, as
    /// when the response with the current one was lost. Not together with `overlapSeconds`.
    #[serde(default)]
    keep_previous: bool,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct WebhookPath {
    /// ID of the webhook.
    #[serde(rename = "webhookId")]
    #[param(value_type = String)]
    webhook: WebhookId,
}

/// 201 with the secret, shown once.
pub(super) struct CreatedWebhook(MadeWebhook);

pub(super) async fn list(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Query(paging): Query<Paging>,
) -> Result<Page<Webhooks>, HttpError> {
    let cursor = paging.cursor.as_deref();
    let (webhooks, next) = services.webhooks.page(&access, paging.limit.0, cursor).await?;
    let webhooks = webhooks.into_iter().map(WebhookView::from).collect();
    Ok(Page { body: Webhooks { webhooks, next_cursor: next.clone() }, next })
}

pub(super) async fn make(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Body(body): Body<WebhookBody>,
) -> Result<CreatedWebhook, HttpError> {
    Ok(services.webhooks.create(&access, body.into()).await?.into())
}

pub(super) async fn one(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
) -> Result<Json<WebhookView>, HttpError> {
    Ok(Json(services.webhooks.one(&access, &path.webhook).await?.into()))
}

pub(super) async fn replace(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Body(Editable(change)): Body<Editable<WebhookPatch>>,
) -> Result<Json<WebhookView>, HttpError> {
    let changed = services.webhooks.change(&access, &path.webhook, change.into(), None).await?;
    Ok(Json(changed.into()))
}

pub(super) async fn remove(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
) -> Result<Json<Success>, HttpError> {
    services.webhooks.remove(&access, &path.webhook).await?;
    Ok(Success::answer())
}

pub(super) async fn rotate(
    State(services): State<Services>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    OptionalBody(body): OptionalBody<RotateSecretBody>,
) -> Result<CreatedWebhook, HttpError> {
    let former = match body.overlap_seconds {
        Some(_) if body.keep_previous => {
            let field = FieldPath::body("/overlapSeconds");
            return Err(HttpError::invalid_value(field, "must be absent with keepPrevious"));
        }
        _ if body.keep_previous => FormerSecrets::KeepPrevious,
        overlap => FormerSecrets::Overlap(overlap),
    };
    Ok(services.webhooks.rotate_secret(&access, &path.webhook, former).await?.into())
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        let (disabled_reason, disabled_at) = webhook.disabled.unzip();
        Self {
            webhook_id: webhook.id,
            url: webhook.url,
            description: webhook.description,
            events: webhook.events,
            channel_ids: webhook.channels,
            enabled: webhook.enabled,
            mask: webhook.mask,
            previous_until: webhook.old_until,
            failing_since: webhook.failing_since,
            disabled_reason,
            disabled_at,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
        }
    }
}

impl From<WebhookWithSecret> for CreatedWebhook {
    fn from(made: WebhookWithSecret) -> Self {
        let secret = made.secret.expose_secret().to_owned();
        Self(MadeWebhook { secret, webhook: made.webhook.into() })
    }
}

impl IntoResponse for CreatedWebhook {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl Output for CreatedWebhook {
    fn describe(route: &mut Describe) {
        route.answers::<MadeWebhook>(
            StatusCode::CREATED,
            "The webhook with its secret, which is shown only once",
        );
        for answer in &mut route.answers {
            answer.links = ["get_webhook", "update_webhook", "test_webhook", "list_deliveries"]
                .map(|operation| (operation, "webhookId", "webhookId"))
                .to_vec();
        }
    }
}
