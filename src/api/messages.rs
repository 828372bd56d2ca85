//! Kept messages of a channel (contract section 5).

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::store::{MessageFilter, Order, StoredMessage};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::auth::{ChannelAccess, Member, ReadMessages};
use super::channels::parse;
use super::error::ApiError;
use super::extract::{Path, Query, limit};
use super::{Api, cursor};
use crate::view::{GapView, MessageView};

/// `GET …/backup/messages`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    messages: Vec<MessageView>,
    gaps: Vec<GapView>,
    next_cursor: Option<String>,
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
