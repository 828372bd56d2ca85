//! Backup subscriptions of the caller.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, Query};
use chatkeep_services::Services;
use chatkeep_services::access::{Caller, ChannelAccess, Member, Reaches, WriteBackup};
use chatkeep_store::Subscription;
use serde::Serialize;
use utoipa::ToSchema;

use super::cursor::Page;
use super::extract::Paging;
use super::route::{Describe, Output};

/// `{success: true}`.
#[derive(Serialize, ToSchema)]
pub(super) struct Success {
    /// Always true: failures are error responses.
    success: bool,
}

impl Success {
    pub(super) const fn answer() -> Json<Self> {
        Json(Self { success: true })
    }
}

/// `{success: true}`, with 201 for what is new.
pub(super) struct MaybeNew(bool);

/// Page of subscriptions.
#[derive(Serialize, ToSchema)]
#[schema(as = SubscriptionList)]
#[serde(rename_all = "camelCase")]
pub(super) struct Subscriptions {
    /// Subscriptions of the page.
    subscriptions: Vec<SubscriptionView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Backup subscription of the caller.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscription)]
#[serde(rename_all = "camelCase")]
struct SubscriptionView {
    /// The channel.
    channel_id: ChannelId,
    /// Time of subscription.
    created_at: Timestamp,
    /// Status of the subscription: `active`.
    status: &'static str,
    /// Stored bytes of the channel at the time of subscription, which do not count against the
    /// quota.
    bytes_at_subscribe: i64,
}

pub(super) async fn subscribe(
    State(services): State<Services>,
    access: ChannelAccess<Member, WriteBackup>,
) -> Result<MaybeNew, HttpError> {
    Ok(MaybeNew(services.subscriptions.subscribe(&access).await?))
}

pub(super) async fn unsubscribe(
    State(services): State<Services>,
    access: Reaches<WriteBackup>,
) -> Result<Json<Success>, HttpError> {
    services.subscriptions.unsubscribe(&access).await?;
    Ok(Success::answer())
}

pub(super) async fn list(
    State(services): State<Services>,
    caller: Caller,
    Query(paging): Query<Paging>,
) -> Result<Page<Subscriptions>, HttpError> {
    let cursor = paging.cursor.as_deref();
    let (rows, next) = services.subscriptions.page(&caller, paging.limit.0, cursor).await?;
    let subscriptions = rows.into_iter().map(SubscriptionView::from).collect();
    Ok(Page { body: Subscriptions { subscriptions, next_cursor: next.clone() }, next })
}

impl From<Subscription> for SubscriptionView {
    fn from(row: Subscription) -> Self {
        Self {
            channel_id: row.channel,
            created_at: row.created_at,
            status: "active",
            bytes_at_subscribe: row.bytes_at_subscribe,
        }
    }
}

impl IntoResponse for MaybeNew {
    fn into_response(self) -> Response {
        let status = if self.0 { StatusCode::CREATED } else { StatusCode::OK };
        (status, Success::answer()).into_response()
    }
}

impl Output for MaybeNew {
    fn describe(route: &mut Describe) {
        route.answers::<Success>(StatusCode::CREATED, "The subscription was created");
        route.answers::<Success>(StatusCode::OK, "The subscription already existed");
    }
}
