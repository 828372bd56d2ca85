//! The pull feed of what happened, in order (contract sections 5 and 7).

use std::collections::HashMap;

use axum::extract::State;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::plan::Usage;
use chatkeep_core::store::{FeedReader, Happening, HappeningKind, Place};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::auth::{ReadMessages, Scoped};
use super::cursor::Page;
use super::error::ApiError;
use super::extract::{Limit, Query};
use super::{Api, cursor};
use crate::view::{MemberView, MessageView};

/// Channels of one caller that are read at once.
const CHANNELS: u32 = 10_000;
const LIST: &str = "events";

/// `GET /api/events`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventList {
    events: Vec<EventView>,
    /// Where to go on, also when nothing more has happened yet: ask again with it later.
    next_cursor: String,
    /// Whether more has happened already.
    has_more: bool,
}

/// Something that happened.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
struct EventView {
    /// The same however often it is told.
    id: String,
    #[serde(rename = "type")]
    kind: HappeningKind,
    timestamp: Timestamp,
    data: EventData,
}

/// What it happened to, as it is now.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EventData {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel_id: Option<ChannelId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<MessageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    member: Option<MemberView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    user_id: Option<UserId>,
    /// Percent of the quota that is used now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    percentage: Option<f64>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// The `nextCursor` of the last answer; without it the feed begins with the oldest there is.
    cursor: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    access: Scoped<ReadMessages>,
    Query(query): Query<EventQuery>,
) -> Result<Page<EventList>, ApiError> {
    let caller = access.caller;
    let after = query.cursor.as_deref().map(|text| cursor::decode(LIST, text)).transpose()?;
    let channels = api.store.channels_of(&caller.user, caller.channels(), None, CHANNELS).await?;
    let channels: Vec<_> = channels.into_iter().map(|channel| channel.id).collect();
    let reader =
        FeedReader { user: &caller.user, channels: &channels, not_before: caller.not_before };
    let after: Place = after.unwrap_or_default();
    let feed = api.store.happenings(reader, after, query.limit.0).await?;
    let events = api.told(feed.happenings, caller.not_before).await?;
    let next_cursor = cursor::encode(LIST, &feed.next).ok_or(ApiError::Internal)?;
    let next = feed.more.then(|| next_cursor.clone());
    Ok(Page { body: EventList { events, next_cursor, has_more: feed.more }, next })
}

impl Api {
    /// What happened with what it happened to. What is gone meanwhile is not told any more.
    async fn told(
        &self,
        happenings: Vec<Happening>,
        not_before: Option<Timestamp>,
    ) -> Result<Vec<EventView>, ApiError> {
        let messages = self.messages_of(&happenings).await?;
        let mut events = Vec::with_capacity(happenings.len());
        for happening in happenings {
            let Some(data) = self.data(&happening, &messages, not_before).await? else {
                continue;
            };
            let Place(tx, seq) = happening.place;
            let id = format!("evt_{tx}_{seq}");
            events.push(EventView { id, kind: happening.kind, timestamp: happening.at, data });
        }
        Ok(events)
    }

    async fn messages_of(
        &self,
        happenings: &[Happening],
    ) -> Result<HashMap<(ChannelId, MessageId), MessageView>, ApiError> {
        let about = happenings.iter().filter(|happening| is_about_message(happening.kind));
        let keys: Vec<_> = about
            .filter_map(|h| Some((h.channel.clone()?, MessageId::from(h.subject.clone()?))))
            .collect();
        let messages = self.store.chosen_messages(&keys).await?;
        let keyed = messages.into_iter().map(|message| {
            ((message.channel.clone(), message.id.clone()), MessageView::from(message))
        });
        Ok(keyed.collect())
    }

    async fn data(
        &self,
        happening: &Happening,
        messages: &HashMap<(ChannelId, MessageId), MessageView>,
        not_before: Option<Timestamp>,
    ) -> Result<Option<EventData>, ApiError> {
        let channel_id = happening.channel.clone();
        let (Some(channel), Some(subject)) = (&channel_id, &happening.subject) else {
            return match (&happening.channel, &happening.subject) {
                (None, Some(user)) => self.usage_data(&UserId::from(user.as_str())).await,
                _ => Ok(Some(EventData { channel_id, ..EventData::default() })),
            };
        };
        if is_about_message(happening.kind) {
            let key = (channel.clone(), MessageId::from(subject.as_str()));
            let readable =
                |message: &&MessageView| not_before.is_none_or(|from| message.timestamp >= from);
            let message = messages.get(&key).filter(readable).cloned();
            return Ok(message.map(|message| EventData {
                channel_id,
                message: Some(message),
                ..EventData::default()
            }));
        }
        let member = self.store.member(channel, &UserId::from(subject.as_str())).await?;
        let member = member.map(MemberView::from);
        Ok(Some(EventData { channel_id, member, ..EventData::default() }))
    }

    async fn usage_data(&self, user: &UserId) -> Result<Option<EventData>, ApiError> {
        let user = self.store.user(user).await?;
        Ok(user.map(|user| EventData {
            percentage: Some(Usage::new(user.used, user.plan).percentage()),
            user_id: Some(user.id),
            ..EventData::default()
        }))
    }
}

const fn is_about_message(kind: HappeningKind) -> bool {
    matches!(
        kind,
        HappeningKind::MessageReceived
            | HappeningKind::MessageEdited
            | HappeningKind::MessageUnsent
            | HappeningKind::FileUploaded
            | HappeningKind::MediaFailed
    )
}
