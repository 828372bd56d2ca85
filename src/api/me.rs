//! The caller: who they are and what they use.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::{Plan, UsageStatus};
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, Timed};
use chatkeep_services::Services;
use chatkeep_services::access::{Caller, Reaches, Scoped, WriteBackup};
use chatkeep_services::account::AccountUsage;
use chatkeep_store::{ChannelUsage, User};
use chatkeep_view::pseudonyms::Masked;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The caller, with plan and quota.
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

/// Usage of the user's quota, by all of their subscriptions together.
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
    /// Usage by channel ID; with a key that is restricted to channels, of these alone.
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

pub(super) async fn me(
    State(services): State<Services>,
    caller: Caller,
) -> Result<Json<Me>, HttpError> {
    Ok(Json(services.account.user(&caller).await?.into()))
}

/// Part of [`UsageView`] without the time: quota and usage of each channel.
type UsageContent = (i64, i64, BTreeMap<ChannelId, ChannelUsageView>);

pub(super) async fn usage(
    State(services): State<Services>,
    caller: Caller,
) -> Result<Timed<UsageView, UsageContent>, HttpError> {
    let body = UsageView::from(services.account.usage(&caller).await?);
    let content = (body.total_bytes, body.quota, body.channels.clone());
    Ok(Timed { body, content })
}

/// Notification settings of the caller.
#[derive(Serialize, ToSchema)]
pub(super) struct NoticesView {
    /// True when the bot notifies the caller in their own chat about quota usage.
    usage: bool,
}

pub(super) async fn notices(
    State(services): State<Services>,
    caller: Caller,
) -> Result<Json<NoticesView>, HttpError> {
    Ok(Json(NoticesView { usage: services.account.wants_notices(&caller).await? }))
}

pub(super) async fn set_notices(
    State(services): State<Services>,
    access: Scoped<WriteBackup>,
    Body(patch): Body<NoticesPatch>,
) -> Result<Json<NoticesView>, HttpError> {
    let usage = match patch.usage {
        Some(usage) => {
            services.account.set_notices(&access, usage).await?;
            usage
        }
        None => services.account.wants_notices(&access.caller).await?,
    };
    Ok(Json(NoticesView { usage }))
}

/// Change of the notification settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoticesPatch {
    /// True to have the bot notify the caller in their own chat about quota usage.
    #[schema(nullable = false)]
    usage: Option<bool>,
}

/// Storage of the caller's own messages in a channel.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnBackupView {
    /// False when nothing that the caller writes in the channel is stored from now on.
    kept: bool,
}

pub(super) async fn set_own_backup(
    State(services): State<Services>,
    access: Reaches<WriteBackup>,
    Body(own): Body<OwnBackupView>,
) -> Result<Json<OwnBackupView>, HttpError> {
    services.my_data.set_opted_in(&access, own.kept).await?;
    Ok(Json(own))
}

impl From<Masked<User>> for Me {
    fn from(user: Masked<User>) -> Self {
        let user = user.into_row();
        Self {
            display_name: user.display_name,
            user_id: user.id,
            picture_url: user.picture_url,
            plan: user.plan,
            quota: user.plan.quota(),
            created_at: user.created_at,
        }
    }
}

impl From<AccountUsage> for UsageView {
    fn from(usage: AccountUsage) -> Self {
        let AccountUsage { total, channels, at } = usage;
        let channel = |one: ChannelUsage| (one.channel.clone(), ChannelUsageView::from(one));
        Self {
            total_bytes: total.used,
            quota: total.quota,
            remaining: total.remaining(),
            percentage: total.percentage(),
            status: total.status(),
            channels: channels.into_iter().map(channel).collect(),
            synced_at: at,
        }
    }
}

impl From<ChannelUsage> for ChannelUsageView {
    fn from(usage: ChannelUsage) -> Self {
        Self {
            bytes: usage.bytes,
            bytes_at_subscribe: usage.bytes_at_subscribe,
            message_count: usage.message_count,
        }
    }
}
