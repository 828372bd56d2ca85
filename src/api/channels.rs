//! Channels.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::AssistantConfig;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_core::store::{Channel, ChannelStatus};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use super::auth::{Admin, Caller, ChannelAccess, Member, ReadMembers, WriteBackup};
use super::cursor::{Page, Window};
use super::error::ApiError;
use super::extract::{Body, Paging, Query};

/// `GET /api/channels`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Channels {
    channels: Vec<ChannelItem>,
    next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelItem {
    channel_id: ChannelId,
    name: String,
    #[serde(rename = "type")]
    kind: ChannelKind,
    enabled_at: Timestamp,
    status: ChannelStatus,
}

/// `GET /api/channels/:channelId`.
#[derive(Serialize, ToSchema)]
#[schema(as = ChannelDetail)]
pub(super) struct Detail {
    meta: Meta,
    config: Config,
    role: Role,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChannelMeta)]
#[serde(rename_all = "camelCase")]
struct Meta {
    channel_id: ChannelId,
    #[serde(rename = "type")]
    kind: ChannelKind,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    picture: Option<String>,
    created_at: Timestamp,
    created_by: String,
    member_count: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChannelConfig)]
struct Config {
    assistant: AssistantConfig,
    backup: Backup,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChannelBackup)]
#[serde(rename_all = "camelCase")]
struct Backup {
    /// Somebody subscribes to the channel.
    enabled: bool,
    /// Every subscriber's quota is exceeded: nothing new is kept.
    paused: bool,
    /// IANA name of the zone in which the channel's days begin.
    time_zone: String,
}

/// How a channel is kept.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BackupBody {
    /// IANA name of the zone in which the channel's days begin, such as `Asia/Taipei`.
    #[schema(max_length = 64)]
    time_zone: String,
}

pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(paging): Query<Paging>,
) -> Result<Page<Channels>, ApiError> {
    let window = Window::open("channels", paging.limit, paging.cursor.as_deref())?;
    let (after, wanted) = (window.after.as_ref(), window.wanted());
    let mut channels =
        api.store.channels_of(&caller.user, caller.channels(), after, wanted).await?;
    let next = window.cut(&mut channels, |channel| channel.id.clone());
    let channels = channels.into_iter().map(ChannelItem::from).collect();
    Ok(Page { body: Channels { channels, next_cursor: next.clone() }, next })
}

pub(super) async fn detail(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMembers>,
) -> Result<Json<Detail>, ApiError> {
    Ok(Json(detail_of(&api, &access.channel, access.role).await?))
}

pub(super) async fn set_backup(
    State(api): State<Api>,
    access: ChannelAccess<Admin, WriteBackup>,
    Body(body): Body<BackupBody>,
) -> Result<Json<Detail>, ApiError> {
    if body.time_zone.parse::<chrono_tz::Tz>().is_err() {
        let why = "timeZone must be an IANA time zone, such as Asia/Taipei";
        return Err(ApiError::invalid("timeZone", why));
    }
    api.store.set_time_zone(&access.channel, &body.time_zone).await?;
    Ok(Json(detail_of(&api, &access.channel, access.role).await?))
}

async fn detail_of(api: &Api, id: &ChannelId, role: Role) -> Result<Detail, ApiError> {
    let channel = api.store.channel(id).await?.ok_or(ApiError::PermissionDenied)?;
    let assistant = api.store.assistant_config(id).await?;
    let (enabled, paused) = api.store.backup_state(id).await?;
    let meta = Meta {
        channel_id: channel.id,
        kind: channel.kind,
        name: channel.name.unwrap_or_default(),
        picture: channel.picture_url,
        created_at: channel.created_at,
        created_by: channel.created_by,
        member_count: channel.member_count,
    };
    let backup = Backup { enabled, paused, time_zone: channel.time_zone };
    Ok(Detail { meta, config: Config { assistant, backup }, role })
}

impl From<Channel> for ChannelItem {
    fn from(channel: Channel) -> Self {
        Self {
            channel_id: channel.id,
            name: channel.name.unwrap_or_default(),
            kind: channel.kind,
            enabled_at: channel.enabled_at,
            status: channel.status,
        }
    }
}
