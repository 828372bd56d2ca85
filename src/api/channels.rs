//! Channels.

use axum::Json;
use axum::extract::State;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::ChannelId;
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, Query};
use chatkeep_services::access::{Admin, Caller, ChannelAccess, Member, ReadMembers, WriteBackup};
use chatkeep_services::channels::{BackupChange, ChannelSettings};
use chatkeep_services::{Nullable, Services};
use chatkeep_store::{Channel, ChannelStatus};
use chatkeep_view::pseudonyms::Masked;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::assistant::config::AssistantView;
use super::cursor::Page;
use super::editable::{Editable, Shown};
use super::extract::WholePaging;

/// Page of the caller's channels.
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
    /// ID of the channel; on LINE a group begins with `C`, a room with `R` and a person's own chat
    /// with `U`.
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

/// Channel with its settings and the caller's role.
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
    /// ID of the channel.
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

/// Backup settings of a channel after a change: those of the channel's detail, without what needs
/// another scope.
#[derive(Serialize, ToSchema)]
#[schema(as = BackupSettings)]
pub(super) struct BackupSettings {
    /// The settings of the channel.
    config: BackupConfig,
}

/// The settings of a channel that are about its backup.
#[derive(Serialize, ToSchema)]
#[schema(as = BackupConfig)]
struct BackupConfig {
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
    /// True if the texts that messages had before they were edited are kept.
    keep_earlier_texts: bool,
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
    /// True keeps the texts that messages had before they were edited, from now on; false erases
    /// those that are stored.
    #[schema(nullable = false)]
    keep_earlier_texts: Option<bool>,
}

/// Read-only fields of the channel's `config.backup`.
impl Shown for BackupBody {
    const READ_ONLY: &'static [&'static str] = &["enabled", "paused", "effectiveTimeZone"];
}

fn days<'de, D: Deserializer<'de>>(value: D) -> Result<Nullable<u32>, D::Error> {
    chatkeep_services::decode::nullable_whole(value).map(Nullable::To)
}

pub(super) async fn list(
    State(services): State<Services>,
    caller: Caller,
    Query(paging): Query<WholePaging>,
) -> Result<Page<Channels>, HttpError> {
    let cursor = paging.cursor.as_deref();
    let (channels, next) = services.channels.page(&caller, paging.limit.0, cursor).await?;
    let channels = channels.into_iter().map(ChannelItem::from).collect();
    Ok(Page { body: Channels { channels, next_cursor: next.clone() }, next })
}

pub(super) async fn detail(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMembers>,
) -> Result<Json<ChannelDetail>, HttpError> {
    let settings = services.channels.settings(&access).await?;
    Ok(Json(ChannelDetail::new(settings, access.role)))
}

pub(super) async fn set_backup(
    State(services): State<Services>,
    access: ChannelAccess<Admin, WriteBackup>,
    Body(Editable(body)): Body<Editable<BackupBody>>,
) -> Result<Json<BackupSettings>, HttpError> {
    let BackupBody { time_zone, retention_days, keep_earlier_texts } = body;
    let change = BackupChange { time_zone, retention_days, keep_earlier_texts };
    let settings = services.channels.change_backup(&access, change).await?;
    let Config { backup, .. } = ChannelDetail::new(settings, access.role).config;
    Ok(Json(BackupSettings { config: BackupConfig { backup } }))
}

impl ChannelDetail {
    fn new(settings: ChannelSettings, role: Role) -> Self {
        let ChannelSettings { channel, assistant, is_backed_up, is_paused, zone } = settings;
        let channel = channel.into_row();
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
            enabled: is_backed_up,
            paused: is_paused,
            time_zone: channel.time_zone,
            effective_time_zone: zone.name().to_owned(),
            retention_days: channel.retention_days,
            keep_earlier_texts: channel.keeps_earlier_texts,
        };
        Self { meta, config: Config { assistant: assistant.into(), backup }, role }
    }
}

impl From<Masked<Channel>> for ChannelItem {
    fn from(channel: Masked<Channel>) -> Self {
        let channel = channel.into_row();
        Self {
            channel_id: channel.id,
            name: channel.name,
            kind: channel.kind,
            enabled_at: channel.enabled_at,
            status: channel.status,
        }
    }
}
