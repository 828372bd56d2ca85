//! Channels.

use axum::Json;
use axum::extract::State;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_core::time::{Timestamp, zone_hint};
use chatkeep_store::{Channel, ChannelStatus};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::assistant::config::AssistantView;
use super::auth::{Admin, Caller, ChannelAccess, Member, ReadMembers, WriteBackup};
use super::cursor::Page;
use super::editable::{Editable, Nullable, Shown};
use super::error::ApiError;
use super::extract::{Body, Query, WholePaging};
use crate::services::FieldPath;

/// A hundred years.
const MOST_DAYS: u32 = 36_500;

/// `GET /api/channels`.
#[derive(Serialize, ToSchema)]
#[schema(as = ChannelList)]
#[serde(rename_all = "camelCase")]
pub(super) struct Channels {
    /// The channels of the page.
    channels: Vec<ChannelItem>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// A channel in the list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelItem {
    /// The id of the channel; on LINE a group begins with `C`, a room with `R` and a person's own
    /// chat with `U`.
    channel_id: ChannelId,
    /// Name of the channel; null when it has none or the platform has not provided it yet.
    name: Option<String>,
    /// Kind of chat.
    #[serde(rename = "type")]
    kind: ChannelKind,
    /// Time at which the channel last became active.
    enabled_at: Timestamp,
    /// Status of the channel: `active` while the bot is in it.
    status: ChannelStatus,
}

/// `GET /api/channels/:channelId`.
#[derive(Serialize, ToSchema)]
#[schema(as = ChannelDetail)]
pub(super) struct ChannelDetail {
    /// Properties of the channel.
    meta: Meta,
    /// The settings of the channel.
    config: Config,
    /// The role of the caller in the channel.
    role: Role,
}

/// Channel metadata from the platform.
#[derive(Serialize, ToSchema)]
#[schema(as = ChannelMeta)]
#[serde(rename_all = "camelCase")]
struct Meta {
    /// The id of the channel.
    channel_id: ChannelId,
    /// Kind of chat.
    #[serde(rename = "type")]
    kind: ChannelKind,
    /// Name of the channel's bot in the settings; null before any bot joined.
    bot: Option<String>,
    /// Name of the channel; null when it has none or the platform has not provided it yet.
    name: Option<String>,
    /// Address of the channel's picture; null when it has none or the platform has not provided it
    /// yet.
    picture: Option<String>,
    /// Time at which the channel was first seen.
    created_at: Timestamp,
    /// ID of the user who registered the channel; `system` for the platform.
    created_by: String,
    /// Number of known members in the channel.
    member_count: i64,
}

/// The settings of a channel.
#[derive(Serialize, ToSchema)]
#[schema(as = ChannelConfig)]
struct Config {
    /// The settings of the assistant.
    assistant: AssistantView,
    /// The settings of the backup.
    backup: Backup,
}

/// The settings of the backup of a channel.
#[derive(Serialize, ToSchema)]
#[schema(as = ChannelBackup)]
#[serde(rename_all = "camelCase")]
struct Backup {
    /// True while the channel has a backup subscription.
    enabled: bool,
    /// True while every subscriber's quota is exceeded: new messages are not stored.
    paused: bool,
    /// IANA name of the zone in which the channel's days begin; null for the service's.
    time_zone: Option<String>,
    /// Effective time zone: the channel's, otherwise the service's.
    effective_time_zone: String,
    /// Days after which messages and their files are deleted; null keeps them.
    retention_days: Option<i64>,
}

/// Backup settings of a channel; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BackupBody {
    /// IANA name of the zone in which the channel's days begin, such as `Asia/Taipei`; null for the
    /// service's.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 64)]
    time_zone: Nullable<String>,
    /// Days after which messages and their files are deleted; null keeps them. Only the owner may
    /// change it.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 36500)]
    retention_days: Nullable<u32>,
}

/// Read-only fields of the channel's `config.backup`.
impl Shown for BackupBody {
    const READ_ONLY: &'static [&'static str] = &["enabled", "paused", "effectiveTimeZone"];
}

fn days<'de, D: Deserializer<'de>>(value: D) -> Result<Nullable<u32>, D::Error> {
    crate::decode::nullable_whole(value).map(Nullable::To)
}

pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(paging): Query<WholePaging>,
) -> Result<Page<Channels>, ApiError> {
    let cursor = paging.cursor.as_deref();
    let (channels, next) = api.services.channels.page(&caller, paging.limit.0, cursor).await?;
    let channels = channels.into_iter().map(ChannelItem::from).collect();
    Ok(Page { body: Channels { channels, next_cursor: next.clone() }, next })
}

pub(super) async fn detail(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMembers>,
) -> Result<Json<ChannelDetail>, ApiError> {
    Ok(Json(detail_of(&api, &access.channel, access.role).await?))
}

pub(super) async fn set_backup(
    State(api): State<Api>,
    access: ChannelAccess<Admin, WriteBackup>,
    Body(Editable(body)): Body<Editable<BackupBody>>,
) -> Result<Json<ChannelDetail>, ApiError> {
    if let Nullable::To(Some(zone)) = &body.time_zone
        && zone.parse::<chrono_tz::Tz>().is_err()
    {
        let hint = zone_hint(zone);
        let why = format_args!("must be an IANA time zone, such as Asia/Taipei{hint}");
        return Err(ApiError::invalid_value(FieldPath::body("/timeZone"), why));
    }
    if let Nullable::To(days) = body.retention_days {
        if days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
            let why = format_args!("must be null or a whole number from 1 to {MOST_DAYS}");
            return Err(ApiError::invalid_value(FieldPath::body("/retentionDays"), why));
        }
        let (present, _) = api.store.channels().retention(&access.channel).await?;
        if days.map(i64::from) != present {
            // It deletes, and that is the owner's.
            if access.role != Role::Owner {
                return Err(ApiError::PermissionDenied);
            }
            api.store.channels().set_retention(&access.channel, days).await?;
        }
    }
    if let Nullable::To(zone) = &body.time_zone {
        api.store.channels().set_time_zone(&access.channel, zone.as_deref()).await?;
    }
    Ok(Json(detail_of(&api, &access.channel, access.role).await?))
}

async fn detail_of(api: &Api, id: &ChannelId, role: Role) -> Result<ChannelDetail, ApiError> {
    let channel = api.store.channels().channel(id).await?.ok_or(ApiError::PermissionDenied)?;
    let plan = api.store.members().owner_plan(id).await?;
    let assistant = AssistantView::new(api.store.assistant().assistant_config(id).await?, plan);
    let (enabled, paused) = api.store.accounts().backup_state(id).await?;
    let effective_time_zone = channel.zone(api.time_zone).name().to_owned();
    let meta = Meta {
        channel_id: channel.id,
        kind: channel.kind,
        bot: Some(channel.bot).filter(|bot| !bot.is_empty()),
        name: channel.name,
        picture: channel.picture_url,
        created_at: channel.created_at,
        created_by: channel.created_by,
        member_count: channel.member_count,
    };
    let backup = Backup {
        enabled,
        paused,
        time_zone: channel.time_zone,
        effective_time_zone,
        retention_days: channel.retention_days,
    };
    Ok(ChannelDetail { meta, config: Config { assistant, backup }, role })
}

impl From<Channel> for ChannelItem {
    fn from(channel: Channel) -> Self {
        Self {
            channel_id: channel.id,
            name: channel.name,
            kind: channel.kind,
            enabled_at: channel.enabled_at,
            status: channel.status,
        }
    }
}
