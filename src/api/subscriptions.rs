//! Subscriptions: which channels are kept for the caller (contract section 4).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::{Subscribed, Subscription};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::auth::{Caller, ChannelAccess, ChannelPath, Member, Scoped as _, WriteBackup};
use super::error::ApiError;
use super::extract::{Paging, Path, Query, limit};
use super::{Api, cursor};

/// `{success: true}`.
#[derive(Serialize)]
pub(super) struct Success {
    success: bool,
}

impl Success {
    pub(super) const fn answer() -> Json<Self> {
        Json(Self { success: true })
    }
}

/// `GET /api/subscriptions`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Subscriptions {
    subscriptions: Vec<SubscriptionView>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubscriptionView {
    channel_id: ChannelId,
    created_at: Timestamp,
    status: &'static str,
    bytes_at_subscribe: i64,
}

pub(super) async fn subscribe(
    State(api): State<Api>,
    access: ChannelAccess<Member, WriteBackup>,
) -> Result<(StatusCode, Json<Success>), ApiError> {
    let now = api.clock.now();
    match api.store.subscribe(&access.channel, &access.user, now).await? {
        Subscribed::New => Ok((StatusCode::CREATED, Success::answer())),
        Subscribed::Already => Ok((StatusCode::OK, Success::answer())),
        Subscribed::NoChannel => Err(ApiError::PermissionDenied),
    }
}

/// Open to whoever has a subscription, also after they left the chat: it still counts for them.
pub(super) async fn unsubscribe(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<ChannelPath>,
    access: Option<ChannelAccess<Member, WriteBackup>>,
) -> Result<Json<Success>, ApiError> {
    caller.require(WriteBackup::SCOPE)?;
    let ended = api.store.unsubscribe(&path.channel, caller.user(), api.clock.now()).await?;
    if ended || access.is_some() { Ok(Success::answer()) } else { Err(ApiError::PermissionDenied) }
}

pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(paging): Query<Paging>,
) -> Result<Json<Subscriptions>, ApiError> {
    const LIST: &str = "subscriptions";
    let limit = limit(paging.limit.as_deref())?;
    let after = paging.cursor.as_deref().map(|text| cursor::decode(LIST, text)).transpose()?;
    let mut rows = api.store.subscriptions(caller.user(), after.as_ref(), limit + 1).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let last = rows.last().filter(|_| more).map(|row| &row.channel);
    let next_cursor = last.and_then(|id| cursor::encode(LIST, id));
    rows.retain(|row| caller.sees(&row.channel));
    let view = |row: Subscription| SubscriptionView {
        channel_id: row.channel,
        created_at: row.created_at,
        status: "active",
        bytes_at_subscribe: row.bytes_at_subscribe,
    };
    Ok(Json(Subscriptions { subscriptions: rows.into_iter().map(view).collect(), next_cursor }))
}
