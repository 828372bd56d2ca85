//! Channels and the people in them.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::AssistantConfig;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_core::store::{Channel, ChannelStatus, MemberStatus};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::auth::{self, Caller, ChannelAccess, ReadMembers};
use super::error::ApiError;
use super::extract::{Paging, Query, limit};
use super::{Api, cursor};
use crate::view::MemberView;

/// `GET /api/channels`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Channels {
    channels: Vec<ChannelItem>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChannelItem {
    channel_id: ChannelId,
    name: String,
    #[serde(rename = "type")]
    kind: ChannelKind,
    enabled_at: Timestamp,
    status: ChannelStatus,
}

/// `GET /api/channels/:channelId`.
#[derive(Serialize)]
pub(super) struct Detail {
    meta: Meta,
    config: Config,
    role: Role,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    channel_id: ChannelId,
    #[serde(rename = "type")]
    kind: ChannelKind,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    created_at: Timestamp,
    created_by: String,
    member_count: i64,
}

#[derive(Serialize)]
struct Config {
    assistant: AssistantConfig,
    backup: Backup,
}

#[derive(Serialize)]
struct Backup {
    enabled: bool,
    paused: bool,
}

/// `GET /api/channels/:channelId/members`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Members {
    members: Vec<MemberView>,
    next_cursor: Option<String>,
}

/// The query of the member list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberQuery {
    role: Option<String>,
    status: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(paging): Query<Paging>,
) -> Result<Json<Channels>, ApiError> {
    const LIST: &str = "channels";
    let limit = limit(paging.limit.as_deref())?;
    let after = paging.cursor.as_deref().map(|text| cursor::decode(LIST, text)).transpose()?;
    let mut channels = api.store.channels_of(caller.user(), after.as_ref(), limit + 1).await?;
    let more = channels.len() > limit as usize;
    channels.truncate(limit as usize);
    let last = channels.last().filter(|_| more).map(|channel| &channel.id);
    let next_cursor = last.and_then(|id| cursor::encode(LIST, id));
    channels.retain(|channel| caller.sees(&channel.id));
    Ok(Json(Channels { channels: channels.into_iter().map(item).collect(), next_cursor }))
}

fn item(channel: Channel) -> ChannelItem {
    ChannelItem {
        channel_id: channel.id,
        name: channel.name.unwrap_or_default(),
        kind: channel.kind,
        enabled_at: channel.enabled_at,
        status: channel.status,
    }
}

pub(super) async fn detail(
    State(api): State<Api>,
    access: ChannelAccess<auth::Member, ReadMembers>,
) -> Result<Json<Detail>, ApiError> {
    let channel = api.store.channel(&access.channel).await?.ok_or(ApiError::PermissionDenied)?;
    let assistant = api.store.assistant_config(&access.channel).await?;
    let (enabled, paused) = api.store.backup_state(&access.channel).await?;
    let meta = Meta {
        channel_id: channel.id,
        kind: channel.kind,
        name: channel.name.unwrap_or_default(),
        picture: channel.picture_url,
        created_at: channel.created_at,
        created_by: channel.created_by,
        member_count: channel.member_count,
    };
    let config = Config { assistant, backup: Backup { enabled, paused } };
    Ok(Json(Detail { meta, config, role: access.role }))
}

pub(super) async fn members(
    State(api): State<Api>,
    access: ChannelAccess<auth::Member, ReadMembers>,
    Query(query): Query<MemberQuery>,
) -> Result<Json<Members>, ApiError> {
    let limit = limit(query.limit.as_deref())?;
    let role = parse("role", query.role.as_deref(), Role::parse)?;
    let status = parse("status", query.status.as_deref(), MemberStatus::parse)?;
    let (role_name, status_name) = (query.role.as_deref(), query.status.as_deref());
    let binding = format!("members:{}:{role_name:?}:{status_name:?}", access.channel);
    let after = query.cursor.as_deref().map(|text| cursor::decode(&binding, text)).transpose()?;
    let mut members =
        api.store.members(&access.channel, role, status, after.as_ref(), limit + 1).await?;
    let more = members.len() > limit as usize;
    members.truncate(limit as usize);
    let last = members.last().filter(|_| more).map(|member| &member.user);
    let next_cursor = last.and_then(|id| cursor::encode(&binding, id));
    let members = members.into_iter().map(MemberView::from);
    Ok(Json(Members { members: members.collect(), next_cursor }))
}

/// A query parameter that is one of a fixed set.
pub(super) fn parse<T>(
    field: &'static str,
    given: Option<&str>,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let unknown = || ApiError::invalid(field, format!("{field} has no such value"));
    given.map(|name| parse(name).ok_or_else(unknown)).transpose()
}
