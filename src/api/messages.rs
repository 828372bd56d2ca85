//! Kept messages of a channel (contract section 5).

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{Content, ImageSet, MediaInfo, Mention, MessageType, Sticker};
use chatkeep_core::store::{Gap, MessageFilter, Order, Sender, StoredMessage};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::auth::{ChannelAccess, Member, ReadMessages};
use super::channels::parse;
use super::error::ApiError;
use super::extract::{Path, Query, limit};
use super::{Api, cursor};

/// `GET …/backup/messages`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    messages: Vec<MessageView>,
    gaps: Vec<GapView>,
    next_cursor: Option<String>,
}

/// A message as every surface shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageView {
    id: MessageId,
    channel_id: ChannelId,
    timestamp: Timestamp,
    backed_up_at: Timestamp,
    sender: Option<SenderView>,
    #[serde(rename = "type")]
    kind: MessageType,
    content: Option<String>,
    bytes: i64,
    quoted_message_id: Option<MessageId>,
    mentions: Vec<Mention>,
    edited_at: Option<Timestamp>,
    unsent_at: Option<Timestamp>,
    is_bot: bool,
    #[serde(flatten)]
    more: More,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SenderView {
    user_id: UserId,
    display_name: Option<String>,
    picture_url: Option<String>,
}

/// What only some types have.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct More {
    #[serde(skip_serializing_if = "Option::is_none")]
    media_key: Option<MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_size: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_set: Option<ImageSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sticker_id: Option<String>,
}

#[derive(Serialize)]
struct GapView {
    from: Timestamp,
    to: Option<Timestamp>,
    reason: String,
    skipped: i64,
}

/// The query of the message list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListQuery {
    limit: Option<String>,
    cursor: Option<String>,
    order: Option<String>,
    from: Option<String>,
    to: Option<String>,
    sender_id: Option<UserId>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct MessagePath {
    #[serde(rename = "messageId")]
    message: MessageId,
}

pub(super) async fn list(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page>, ApiError> {
    let binding = query.binding(&access.channel);
    let mut filter = query.filter(&binding)?;
    filter.from = filter.from.max(access.not_before);
    let page = api.store.messages(&access.channel, &filter).await?;
    let gaps = api.store.gaps(&access.channel, filter.from, filter.to).await?;
    let next_cursor = page.next.and_then(|(at, id)| cursor::encode(&binding, &(at.millis(), id)));
    Ok(Json(Page {
        messages: page.messages.into_iter().map(MessageView::from).collect(),
        gaps: gaps.into_iter().map(GapView::from).collect(),
        next_cursor,
    }))
}

pub(super) async fn one(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
    Path(path): Path<MessagePath>,
) -> Result<Json<MessageView>, ApiError> {
    let message = api.store.message(&access.channel, &path.message).await?;
    let readable = |m: &StoredMessage| access.not_before.is_none_or(|from| m.sent_at >= from);
    Ok(Json(message.filter(readable).ok_or(ApiError::NotFound)?.into()))
}

impl ListQuery {
    /// What a cursor of this list is bound to.
    fn binding(&self, channel: &ChannelId) -> String {
        format!(
            "messages:{channel}:{:?}:{:?}:{:?}:{:?}:{:?}",
            self.order, self.from, self.to, self.sender_id, self.kind
        )
    }

    fn filter(&self, binding: &str) -> Result<MessageFilter, ApiError> {
        let after: Option<(i64, MessageId)> =
            self.cursor.as_deref().map(|text| cursor::decode(binding, text)).transpose()?;
        let order = parse("order", self.order.as_deref(), |name| match name {
            "desc" => Some(Order::Descending),
            "asc" => Some(Order::Ascending),
            _ => None,
        })?;
        Ok(MessageFilter {
            from: time("from", self.from.as_deref())?,
            to: time("to", self.to.as_deref())?,
            sender: self.sender_id.clone(),
            kind: parse("type", self.kind.as_deref(), MessageType::parse)?,
            order: order.unwrap_or_default(),
            after: after.map(|(at, id)| (Timestamp::from_millis(at), id)),
            limit: limit(self.limit.as_deref())?,
        })
    }
}

fn time(field: &'static str, given: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let wrong = || ApiError::invalid(field, format!("{field} must be an ISO 8601 time"));
    given.map(|text| Timestamp::parse(text).ok_or_else(wrong)).transpose()
}

impl From<Gap> for GapView {
    fn from(gap: Gap) -> Self {
        Self { from: gap.from, to: gap.to, reason: gap.reason, skipped: gap.skipped }
    }
}

impl From<Sender> for SenderView {
    fn from(sender: Sender) -> Self {
        Self {
            user_id: sender.id,
            display_name: sender.display_name,
            picture_url: sender.picture_url,
        }
    }
}

impl From<StoredMessage> for MessageView {
    fn from(message: StoredMessage) -> Self {
        let media = message.kind.is_media().then(|| message.id.clone());
        let (content, mentions, mut more) = message.content.map(parts).unwrap_or_default();
        more.media_key = media;
        more.media_status = message.media_status;
        Self {
            id: message.id,
            channel_id: message.channel,
            timestamp: message.sent_at,
            backed_up_at: message.backed_up_at,
            sender: message.sender.map(SenderView::from),
            kind: message.kind,
            content,
            bytes: message.bytes,
            quoted_message_id: message.quoted,
            mentions,
            edited_at: message.edited_at,
            unsent_at: message.unsent_at,
            is_bot: message.is_bot,
            more,
        }
    }
}

/// A content's text, mentions and the fields of its type.
fn parts(content: Content) -> (Option<String>, Vec<Mention>, More) {
    match content {
        Content::Text { text, mentions, .. } => (Some(text), mentions, More::default()),
        Content::Image(media)
        | Content::Video(media)
        | Content::Audio(media)
        | Content::File(media) => (None, Vec::new(), media_parts(media)),
        Content::Location { title, address, latitude, longitude } => {
            let (latitude, longitude) = (Some(latitude), Some(longitude));
            let more = More { latitude, longitude, title, address, ..More::default() };
            (None, Vec::new(), more)
        }
        Content::Sticker(Sticker { package_id, sticker_id, text, .. }) => {
            let (package_id, sticker_id) = (Some(package_id), Some(sticker_id));
            (text, Vec::new(), More { package_id, sticker_id, ..More::default() })
        }
        Content::Other { .. } => (None, Vec::new(), More::default()),
    }
}

fn media_parts(media: MediaInfo) -> More {
    More {
        file_name: media.file_name,
        file_size: media.file_size,
        duration: media.duration,
        image_set: media.image_set,
        ..More::default()
    }
}
