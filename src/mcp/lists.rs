//! `list_channels` and `get_members`.

use chatkeep_store::{Channel as StoredChannel, ChannelStatus, Member as StoredMember};

use super::answer::{self, ChannelRow, ChannelsOutput, MemberRow, MembersOutput, NOTE};
use super::call::ToolResult;
use super::input::{self, GetMembers, ListChannels};
use super::text_row;
use crate::services::access::{self, ReadMembers};
use crate::services::members::MemberQuery;
use crate::services::{Caller, ServiceError, Services};

/// Page size of channels: with their ids they are about fifty tokens each, twice.
const CHANNELS: u32 = 50;

/// Returns the channels that the caller may see.
pub(super) async fn channels(
    services: &Services,
    caller: Caller,
    asked: ListChannels,
) -> Result<ToolResult, ServiceError> {
    let cursor = asked.cursor.as_deref();
    let (channels, next) = services.channels.page(&caller, CHANNELS, cursor).await?;
    let rows: Vec<_> = channels.iter().map(channel).collect();
    let mut lines = vec![match rows.len() {
        0 => "No channels: this person is not a member of any yet.".to_owned(),
        1 => format!("1 channel. {NOTE}"),
        count => format!("{count} channels. {NOTE}"),
    }];
    lines.extend(rows.iter().map(|row| {
        format!(
            "{} {} {}, {}",
            row.channel_id,
            text_row::name(row.name.as_deref()),
            row.kind,
            row.status
        )
    }));
    let text = lines.join("\n") + &text_row::tail(&[], 0, next.as_deref());
    let answer = ChannelsOutput { note: NOTE, channels: rows, next_cursor: next, truncated: false };
    ToolResult::new((answer, text))
}

fn channel(channel: &StoredChannel) -> ChannelRow {
    ChannelRow {
        channel_id: channel.id.to_string(),
        name: answer::name(channel.name.as_deref()),
        kind: channel.kind.name().to_owned(),
        status: match channel.status {
            ChannelStatus::Active => "active",
            ChannelStatus::Disabled => "disabled",
        }
        .to_owned(),
        enabled_at: answer::time(channel.enabled_at),
    }
}

/// Returns the people in a channel.
pub(super) async fn members(
    services: &Services,
    caller: Caller,
    asked: GetMembers,
) -> Result<ToolResult, ServiceError> {
    let channel = input::channel(&asked.channel_id)?;
    let access = services.access.channel::<access::Member, ReadMembers>(caller, channel).await?;
    let query =
        MemberQuery { status: asked.status, limit: asked.limit, cursor: asked.cursor, role: None };
    let (members, next) = services.members.page(&access, &query).await?;
    let rows: Vec<_> = members.iter().map(member).collect();
    let mut lines = vec![match rows.len() {
        1 => format!("1 person. Times are UTC. {NOTE}"),
        count => format!("{count} people. Times are UTC. {NOTE}"),
    }];
    lines.extend(rows.iter().map(text_row::member));
    let text = lines.join("\n") + &text_row::tail(&[], 0, next.as_deref());
    let answer = MembersOutput { note: NOTE, members: rows, next_cursor: next, truncated: false };
    ToolResult::new((answer, text))
}

fn member(member: &StoredMember) -> MemberRow {
    MemberRow {
        user_id: member.user.to_string(),
        name: answer::name(member.display_name.as_deref()),
        role: member.role.name().to_owned(),
        status: answer::status(member.status).to_owned(),
        joined_at: answer::time(member.joined_at),
        left_at: member.left_at.map(answer::time),
    }
}
