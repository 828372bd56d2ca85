//! Outgoing webhooks of the caller.

mod body;
mod deliveries;
pub(super) mod events;
mod table;

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{ChannelId, WebhookId};
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    DisabledReason, NewWebhook, OutboxEventKind, Webhook, WebhookChanged, WebhookMade, WebhookMaker,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::body::{BEYOND, WebhookBody, WebhookPatch};
pub(super) use self::table::routes;
use super::Api;
use super::auth::{Caller, ManageWebhooks, Scoped};
use super::cursor::Page;
use super::editable::Editable;
use super::error::ApiError;
use super::extract::{Body, Paging, Path, Query};
use super::route::{Describe, Output};
use super::subscriptions::Success;
use crate::random;
use crate::services::{FieldPath, Window};

/// Default overlap after rotating a secret.
const OVERLAP: Duration = Duration::from_hours(24);
/// Maximum overlap in seconds: 30 days.
const MAX_OVERLAP: u64 = 2_592_000;

const TOO_MANY: ApiError = ApiError::Conflict("A user can have at most 20 webhooks");

/// `GET /api/webhooks`.
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
    /// Time of the first failure since the last success.
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
    /// Seconds for which the old secret also signs; one day when absent.
    #[serde(default, deserialize_with = "crate::decode::whole")]
    #[schema(minimum = 0, maximum = 2_592_000, nullable = false)]
    overlap_seconds: Option<u32>,
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
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Query(paging): Query<Paging>,
) -> Result<Page<Webhooks>, ApiError> {
    let window = Window::open("webhooks", paging.limit, paging.cursor.as_deref())?;
    let caller = &access.caller;
    let after: Option<(Timestamp, WebhookId)> = window.after.clone();
    let mut webhooks = api.store.webhooks().list(&caller.user).await?;
    webhooks.retain(|webhook| caller.reaches(webhook));
    webhooks.retain(|w| after.as_ref().is_none_or(|key| (w.created_at, &w.id) > (key.0, &key.1)));
    let next = window.cut(&mut webhooks, |webhook| (webhook.created_at, webhook.id.clone()));
    let webhooks = webhooks.into_iter().map(WebhookView::from).collect();
    Ok(Page { body: Webhooks { webhooks, next_cursor: next.clone() }, next })
}

pub(super) async fn make(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Body(body): Body<WebhookBody>,
) -> Result<CreatedWebhook, ApiError> {
    let caller = &access.caller;
    let wanted = body.checked(caller, api.webhooks_private)?;
    let (id, secret) = (random::webhook_id(), signing::secret(random::bytes()));
    let new = NewWebhook {
        id: &id,
        user: &caller.user,
        secret: &secret,
        change: wanted.change(),
        maker: caller.maker(),
    };
    match api.store.webhooks().add_webhook(&new, api.clock.now()).await? {
        WebhookMade::Done => {}
        WebhookMade::TooMany => return Err(TOO_MANY),
        WebhookMade::KeyEnded => return Err(ApiError::InvalidKey),
    }
    Ok(CreatedWebhook::new(api.webhook_of(caller, &id).await?, &secret))
}

pub(super) async fn one(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
) -> Result<Json<WebhookView>, ApiError> {
    Ok(Json(api.webhook_of(&access.caller, &path.webhook).await?.into()))
}

pub(super) async fn replace(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Body(Editable(change)): Body<Editable<WebhookPatch>>,
) -> Result<Json<WebhookView>, ApiError> {
    let caller = &access.caller;
    let known = api.webhook_of(caller, &path.webhook).await?;
    let wanted = change.over(&known).checked(caller, api.webhooks_private)?;
    let now = api.clock.now();
    let own = caller.key().is_none_or(|key| known.key.as_ref() == Some(key));
    if own && wanted.is(&known) {
        return Ok(Json(known.into()));
    }
    let (change, maker) = (wanted.change(), caller.maker());
    match api.store.webhooks().change_webhook(&caller.user, &known.id, change, maker, now).await? {
        WebhookChanged::Done => {}
        WebhookChanged::NoWebhook => return Err(ApiError::NotFound),
        WebhookChanged::Beyond => return Err(BEYOND),
        WebhookChanged::KeyEnded => return Err(ApiError::InvalidKey),
    }
    Ok(Json(api.webhook_of(caller, &path.webhook).await?.into()))
}

pub(super) async fn remove(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
) -> Result<Json<Success>, ApiError> {
    let known = api.webhook_of(&access.caller, &path.webhook).await?;
    if !api.store.webhooks().drop_webhook(&access.caller.user, &known.id).await? {
        return Err(ApiError::NotFound);
    }
    Ok(Success::answer())
}

pub(super) async fn rotate(
    State(api): State<Api>,
    access: Scoped<ManageWebhooks>,
    Path(path): Path<WebhookPath>,
    Body(body): Body<RotateSecretBody>,
) -> Result<CreatedWebhook, ApiError> {
    let seconds = body.overlap_seconds.map_or(OVERLAP.as_secs(), u64::from);
    if seconds > MAX_OVERLAP {
        let why = format_args!("must be at most {MAX_OVERLAP}");
        return Err(ApiError::invalid_value(FieldPath::body("/overlapSeconds"), why));
    }
    let (caller, now) = (&access.caller, api.clock.now());
    let known = api.webhook_of(caller, &path.webhook).await?;
    let (secret, until) =
        (signing::secret(random::bytes()), now.plus(Duration::from_secs(seconds)));
    api.store
        .webhooks()
        .rotate_webhook_secret(&caller.user, &known.id, &secret, until, now)
        .await?;
    Ok(CreatedWebhook::new(api.webhook_of(caller, &path.webhook).await?, &secret))
}

impl Api {
    /// Returns a webhook that the caller may manage.
    async fn webhook_of(&self, caller: &Caller, id: &WebhookId) -> Result<Webhook, ApiError> {
        let webhook = self.store.webhooks().webhook(&caller.user, id).await?;
        webhook.filter(|webhook| caller.reaches(webhook)).ok_or(ApiError::NotFound)
    }
}

impl Caller {
    /// Returns true when the webhook's bounds are within the caller's key; other webhooks are
    /// hidden from it.
    fn reaches(&self, webhook: &Webhook) -> bool {
        webhook.reach().within(&self.bounds)
    }

    /// Returns the caller as the creator of a webhook or its change.
    fn maker(&self) -> WebhookMaker<'_> {
        WebhookMaker { key: self.key(), bounds: &self.bounds }
    }
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

impl CreatedWebhook {
    fn new(webhook: Webhook, secret: &SecretString) -> Self {
        let secret = secret.expose_secret().to_owned();
        Self(MadeWebhook { secret, webhook: webhook.into() })
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
            answer.links = ["get_webhook", "replace_webhook", "test_webhook", "list_deliveries"]
                .map(|operation| (operation, "webhookId", "webhookId"))
                .to_vec();
        }
    }
}
