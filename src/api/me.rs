//! The caller: who they are and what they use.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::{Plan, Usage, UsageStatus};
use chatkeep_core::time::Timestamp;
use chatkeep_store::User;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::auth::{Caller, Scoped, WriteBackup};
use super::error::ApiError;
use super::etag::Timed;
use super::extract::Body;

/// `GET /api/me`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Me {
    /// ID of the user; on LINE it begins with `U`.
    user_id: UserId,
    /// Display name; null until the platform provides it.
    display_name: Option<String>,
    /// Address of the picture; null when there is none or the platform has not provided it yet.
    picture_url: Option<String>,
    /// Plan, which determines the quota.
    plan: Plan,
    /// Quota of the plan in bytes.
    quota: i64,
    /// Time at which the user was first seen.
    created_at: Timestamp,
}

/// Usage of the quota; for a key that is restricted to channels, their part of it.
#[derive(Serialize, ToSchema)]
#[schema(as = Usage)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageView {
    /// Used bytes of the quota.
    total_bytes: i64,
    /// Quota of the plan in bytes.
    quota: i64,
    /// Remaining bytes of the quota; never below 0.
    remaining: i64,
    /// Used part of the quota in percent, from 0 to 100, with two decimals.
    percentage: f64,
    /// Status of the quota: `OK` below 80 %, `WARNING` from 80 %, `CRITICAL` from 90 %, `EXCEEDED`
    /// at 100 %.
    status: UsageStatus,
    /// Usage by channel ID.
    channels: BTreeMap<ChannelId, ChannelUsageView>,
    /// Time of the measurement.
    synced_at: Timestamp,
}

/// Storage usage of a channel: `bytes` minus `bytesAtSubscribe` counts against the quota.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = ChannelUsage)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelUsageView {
    /// Stored bytes of the channel, media included.
    bytes: i64,
    /// Stored bytes of the channel when the user subscribed.
    bytes_at_subscribe: i64,
    /// Number of stored messages of the channel.
    message_count: i64,
}

pub(super) async fn me(State(api): State<Api>, caller: Caller) -> Result<Json<Me>, ApiError> {
    let user = user(&api, &caller).await?;
    Ok(Json(Me {
        display_name: user.display_name,
        user_id: user.id,
        picture_url: user.picture_url,
        plan: user.plan,
        quota: user.plan.quota(),
        created_at: user.created_at,
    }))
}

/// Part of [`UsageView`] without the time: quota and usage of each channel.
type UsageContent = (i64, i64, BTreeMap<ChannelId, ChannelUsageView>);

pub(super) async fn usage(
    State(api): State<Api>,
    caller: Caller,
) -> Result<Timed<UsageView, UsageContent>, ApiError> {
    let user = user(&api, &caller).await?;
    let mut usage = api.store.accounts().usage(&user.id).await?;
    usage.channels.retain(|channel| caller.bounds.sees(&channel.channel));
    let total = Usage::new(usage.total(), user.plan);
    let channels = usage.channels.into_iter().map(|channel| {
        let view = ChannelUsageView {
            bytes: channel.bytes,
            bytes_at_subscribe: channel.bytes_at_subscribe,
            message_count: channel.message_count,
        };
        (channel.channel, view)
    });
    let channels: BTreeMap<_, _> = channels.collect();
    let content = (total.used, total.quota, channels.clone());
    let body = UsageView {
        total_bytes: total.used,
        quota: total.quota,
        remaining: total.remaining(),
        percentage: total.percentage(),
        status: total.status(),
        channels,
        // The counters change with what they count, so they are true whenever they are read.
        synced_at: api.clock.now(),
    };
    Ok(Timed { body, content })
}

/// Notification settings of the caller.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoticesView {
    /// True when the bot notifies the caller in their own chat about quota usage.
    usage: bool,
}

pub(super) async fn notices(
    State(api): State<Api>,
    caller: Caller,
) -> Result<Json<NoticesView>, ApiError> {
    let usage = api.store.accounts().wants_notices(&caller.user).await?;
    Ok(Json(NoticesView { usage: usage.ok_or(ApiError::InvalidKey)? }))
}

pub(super) async fn set_notices(
    State(api): State<Api>,
    access: Scoped<WriteBackup>,
    Body(notices): Body<NoticesView>,
) -> Result<Json<NoticesView>, ApiError> {
    if !api.store.accounts().set_notices_enabled(&access.caller.user, notices.usage).await? {
        return Err(ApiError::InvalidKey);
    }
    Ok(Json(notices))
}

/// Returns the key's user; a key without one is treated as deleted.
async fn user(api: &Api, caller: &Caller) -> Result<User, ApiError> {
    api.store.accounts().user(&caller.user).await?.ok_or(ApiError::InvalidKey)
}
