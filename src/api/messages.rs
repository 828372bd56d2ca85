//! Kept messages of a channel.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::store::{Gap, MessageFilter, Order, StoredMessage};
use chatkeep_core::time::Timestamp;
use chrono::{Days, NaiveDate, NaiveTime};
use chrono_tz::Tz;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::auth::{ChannelAccess, Member, ReadMessages};
use super::cursor::Page;
use super::error::ApiError;
use super::extract::{Limit, Path, Query};
use super::field_path::FieldPath;
use super::route::{Describe, Output};
use super::{Api, cursor};
use crate::view::{GapView, MessageView};
use crate::when::{When, first};

/// `GET …/backup/messages`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageList {
    /// Messages of the page, in the requested order.
    messages: Vec<MessageView>,
    /// Periods without backup within the range of the page.
    gaps: Vec<GapView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Sort order by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OrderParam {
    #[default]
    Desc,
    Asc,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    pub(crate) limit: Limit,
    /// `nextCursor` of the previous page.
    pub(crate) cursor: Option<String>,
    /// Sort order; newest first when absent.
    #[serde(default)]
    #[param(inline)]
    pub(crate) order: OrderParam,
    /// Only messages of this day, in the channel's time zone, otherwise in the service's.
    #[serde(default, deserialize_with = "day")]
    #[param(value_type = Option<String>, format = Date)]
    pub(crate) date: Option<NaiveDate>,
    /// Only messages sent at or after this time. A date stands for its first moment in the
    /// channel's time zone.
    #[param(inline)]
    pub(crate) from: Option<When>,
    /// Only messages sent before this time. A date stands for its first moment in the channel's
    /// time zone.
    #[param(inline)]
    pub(crate) to: Option<When>,
    /// ID of a message, or a time: returns the messages before and after it.
    #[param(max_length = 200)]
    pub(crate) around: Option<String>,
    /// Only messages sent by this person.
    #[param(value_type = Option<String>)]
    pub(crate) sender_id: Option<UserId>,
    /// Only messages of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    pub(crate) kind: Option<MessageType>,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct MessagePath {
    /// The message.
    #[serde(rename = "messageId")]
    #[param(value_type = String)]
    pub(super) message: MessageId,
}

/// What a page of a list is made of, on every surface.
#[derive(Debug)]
pub(crate) struct MessagePage {
    pub(crate) messages: Vec<StoredMessage>,
    pub(crate) gaps: Vec<Gap>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// A page; 404 when there is no message that `around` names.
pub(super) struct MessagePageResponse(Page<MessageList>);

/// Where a page begins or turns: a time and the id of a message sent then.
type Keyset = (Timestamp, MessageId);

pub(super) async fn list(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
    Query(query): Query<ListQuery>,
) -> Result<MessagePageResponse, ApiError> {
    let MessagePage { messages, gaps, next } = page(&api, &access, &query).await?;
    let body = MessageList {
        messages: messages.into_iter().map(MessageView::from).collect(),
        gaps: gaps.into_iter().map(GapView::from).collect(),
        next_cursor: next.clone(),
    };
    Ok(MessagePageResponse(Page { body, next }))
}

/// A page of a channel's messages, with the times that are missing in what was asked for.
pub(crate) async fn page(
    api: &Api,
    access: &ChannelAccess<Member, ReadMessages>,
    query: &ListQuery,
) -> Result<MessagePage, ApiError> {
    let binding = query.binding(&access.channel);
    let mut filter = query.filter(&binding)?;
    let place = Some(&access.channel);
    filter.from = api.moment(place, FieldPath::FROM, query.from).await?.max(access.not_before());
    filter.to = api.moment(place, FieldPath::TO, query.to).await?;
    if let Some(date) = query.date {
        let (from, to) = api.day(&access.channel, date).await?;
        filter.from = filter.from.max(Some(from));
        filter.to = filter.to.map_or(Some(to), |end| Some(end.min(to)));
    }
    let (messages, next) = match &query.around {
        Some(around) if filter.after.is_none() => {
            let around = api.place(&access.channel, around, &access.caller.bounds).await?;
            api.around(&access.channel, &filter, around).await?
        }
        _ => {
            let page = api.store.messages(&access.channel, &filter).await?;
            (page.messages, page.next)
        }
    };
    let bounds = &access.caller.bounds;
    let gaps = api.gaps(bounds, &access.channel, filter.from, filter.to).await?;
    let next = next.and_then(|(at, id)| cursor::encode(&binding, &(at.millis(), id)));
    Ok(MessagePage { messages, gaps, next })
}

pub(super) async fn one(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
    Path(path): Path<MessagePath>,
) -> Result<Json<MessageView>, ApiError> {
    let message = api.store.message(&access.channel, &path.message).await?;
    let readable = |m: &StoredMessage| access.caller.bounds.reads(m.sent_at);
    Ok(Json(message.filter(readable).ok_or(ApiError::NotFound)?.into()))
}

impl Api {
    /// The times between which a day lies in the channel's zone.
    pub(crate) async fn day(
        &self,
        channel: &ChannelId,
        date: NaiveDate,
    ) -> Result<(Timestamp, Timestamp), ApiError> {
        let zone = self.zone(channel).await?;
        let wrong = || ApiError::invalid_value(FieldPath::parameter("date"), "is out of range");
        let next = date.checked_add_days(Days::new(1)).ok_or_else(wrong)?;
        let midnight = |day: NaiveDate| first(zone, day.and_time(NaiveTime::MIN));
        Ok((midnight(date).ok_or_else(wrong)?, midnight(next).ok_or_else(wrong)?))
    }

    /// The zone in which the channel's days begin.
    pub(crate) async fn zone(&self, channel: &ChannelId) -> Result<Tz, ApiError> {
        let channel = self.store.channel(channel).await?.ok_or(ApiError::PermissionDenied)?;
        Ok(channel.zone(self.time_zone))
    }

    /// The point in time that a parameter names: in the channel's zone where there is one channel,
    /// else in the service's.
    pub(crate) async fn moment(
        &self,
        channel: Option<&ChannelId>,
        field: FieldPath,
        when: Option<When>,
    ) -> Result<Option<Timestamp>, ApiError> {
        let Some(when) = when else {
            return Ok(None);
        };
        let zone = match channel {
            Some(channel) if when.is_local() => self.zone(channel).await?,
            _ => self.time_zone,
        };
        point_in_time(field, Some(when), zone)
    }

    /// The gaps of a channel that touch the given time, as far as the bounds go back.
    pub(crate) async fn gaps(
        &self,
        bounds: &Bounds,
        channel: &ChannelId,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<Vec<Gap>, ApiError> {
        let from = from.max(bounds.not_before);
        let gaps = self.store.gaps(channel, from, to).await?;
        Ok(gaps.into_iter().filter_map(|gap| gap.since(bounds.not_before)).collect())
    }

    /// What `around` names.
    async fn place(
        &self,
        channel: &ChannelId,
        around: &str,
        bounds: &Bounds,
    ) -> Result<Keyset, ApiError> {
        let when = When::parse(around);
        if let Some(time) = self.moment(Some(channel), FieldPath::parameter("around"), when).await?
        {
            return Ok((time, MessageId::new("")));
        }
        let message = self.store.message(channel, &MessageId::from(around)).await?;
        let readable = message.filter(|m| bounds.reads(m.sent_at));
        readable.map(|message| (message.sent_at, message.id)).ok_or(ApiError::NotFound)
    }

    /// A page with as much before a place as after it, in the order of the filter.
    async fn around(
        &self,
        channel: &ChannelId,
        filter: &MessageFilter,
        around: Keyset,
    ) -> Result<(Vec<StoredMessage>, Option<Keyset>), ApiError> {
        let half = filter.limit / 2;
        let side = |order, limit| {
            let after = Some(around.clone());
            MessageFilter { order, limit, after, ..filter.clone() }
        };
        // The message itself belongs to the older side.
        let mut older = side(Order::Descending, filter.limit - half);
        older.after = Some((around.0, MessageId::new(format!("{}\u{1}", around.1))));
        let older = self.store.messages(channel, &older).await?;
        let newer = match half {
            0 => None,
            half => Some(self.store.messages(channel, &side(Order::Ascending, half)).await?),
        };
        let (newer, newest) = newer.map_or((Vec::new(), None), |page| (page.messages, page.next));
        Ok(match filter.order {
            Order::Ascending => (older.messages.into_iter().rev().chain(newer).collect(), newest),
            Order::Descending => {
                (newer.into_iter().rev().chain(older.messages).collect(), older.next)
            }
        })
    }
}

impl IntoResponse for MessagePageResponse {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl Output for MessagePageResponse {
    fn describe(route: &mut Describe) {
        Page::<MessageList>::describe(route);
        route.refuses(&[StatusCode::NOT_FOUND]);
    }
}

/// Reads a day of the calendar.
fn day<'de, D: Deserializer<'de>>(value: D) -> Result<Option<NaiveDate>, D::Error> {
    let text = Option::<String>::deserialize(value)?;
    let day = text.map(|text| text.parse()).transpose();
    day.map_err(|_| D::Error::custom("must be a day such as 2026-01-31"))
}

/// The point in time that a value names.
pub(super) fn point_in_time(
    field: FieldPath,
    when: Option<When>,
    zone: Tz,
) -> Result<Option<Timestamp>, ApiError> {
    let Some(when) = when else {
        return Ok(None);
    };
    let wrong = || ApiError::invalid_value(field, "is out of range");
    when.within(zone).map(Some).ok_or_else(wrong)
}

impl ListQuery {
    /// The cursor of a page that goes on after that message of the list.
    pub(crate) fn cursor_after(&self, message: &StoredMessage) -> Option<String> {
        cursor::encode(&self.binding(&message.channel), &(message.sent_at.millis(), &message.id))
    }

    /// What a cursor of this list is bound to.
    fn binding(&self, channel: &ChannelId) -> String {
        format!(
            "messages:{channel}:{:?}:{:?}:{:?}:{:?}:{:?}:{:?}",
            self.order, self.date, self.from, self.to, self.sender_id, self.kind
        )
    }

    /// What is asked for but the times, whose zone is not known here.
    fn filter(&self, binding: &str) -> Result<MessageFilter, ApiError> {
        let after: Option<(i64, MessageId)> =
            self.cursor.as_deref().map(|text| cursor::decode(binding, text)).transpose()?;
        Ok(MessageFilter {
            from: None,
            to: None,
            sender: self.sender_id.clone(),
            kind: self.kind,
            order: match self.order {
                OrderParam::Desc => Order::Descending,
                OrderParam::Asc => Order::Ascending,
            },
            after: after.map(|(at, id)| (Timestamp::from_millis(at), id)),
            limit: self.limit.0,
        })
    }
}
