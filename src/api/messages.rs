//! Kept messages of a channel.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_http::{HttpError, Path, Query};
use chatkeep_services::Services;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::messages::{MessagePage, MessageQuery};
use chatkeep_store::Order;
use chatkeep_view::when::{When, day_of_calendar};
use chatkeep_view::{GapView, MessageView};
use chrono::NaiveDate;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor::Page;
use super::extract::Limit;
use super::route::{Describe, Output};

/// Page of messages.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageList {
    /// Messages of the page, in the requested order.
    messages: Vec<MessageView>,
    /// Periods without backup within the time of the page: between its messages, and up to the ends
    /// of the requested range on the pages that reach them.
    gaps: Vec<GapView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// Sort order by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrderParam {
    #[default]
    Desc,
    Asc,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListQuery {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    pub limit: Limit,
    /// `nextCursor` of the previous page.
    pub cursor: Option<String>,
    /// Sort order; newest first when absent.
    #[serde(default)]
    #[param(inline)]
    pub order: OrderParam,
    /// Only messages of this day, in the channel's time zone, otherwise in the service's.
    #[serde(default, deserialize_with = "day")]
    #[param(value_type = Option<String>, format = Date)]
    pub date: Option<NaiveDate>,
    /// Only messages sent at or after this time. A date stands for its first moment in the
    /// channel's time zone.
    #[param(inline)]
    pub from: Option<When>,
    /// Only messages sent before this time. A date stands for its first moment in the channel's
    /// time zone.
    #[param(inline)]
    pub to: Option<When>,
    /// ID of a message, or a time: returns the messages before and after it.
    pub around: Option<String>,
    /// Only messages sent by this person; `me` for the caller.
    #[param(value_type = Option<String>)]
    pub sender_id: Option<UserId>,
    /// Only messages of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    pub kind: Option<MessageType>,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct MessagePath {
    /// The message.
    #[serde(rename = "messageId")]
    #[param(value_type = String)]
    pub(super) message: MessageId,
}

/// A page; 404 when there is no message that `around` names.
pub(super) struct MessagePageResponse(Page<MessageList>);

pub(super) async fn list(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
    Query(query): Query<ListQuery>,
) -> Result<MessagePageResponse, HttpError> {
    let page = services.messages.page(&access, &query.into()).await?;
    let MessagePage { messages, next, span, .. } = page;
    let (bounds, channel) = (&access.caller.bounds, access.without_reading());
    let gaps = services.messages.gaps(bounds, channel, span).await?;
    let links = &services.links;
    let body = MessageList {
        messages: messages.into_iter().map(|message| MessageView::new(message, links)).collect(),
        gaps: gaps.into_iter().map(GapView::from).collect(),
        next_cursor: next.clone(),
    };
    Ok(MessagePageResponse(Page { body, next }))
}

pub(super) async fn one(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
    Path(path): Path<MessagePath>,
) -> Result<Json<MessageView>, HttpError> {
    let message = services.messages.one(&access, &path.message).await?;
    Ok(Json(MessageView::new(message, &services.links)))
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
    let wrong = || D::Error::custom("must be a day such as 2026-01-31");
    text.map(|text| day_of_calendar(&text).ok_or_else(wrong)).transpose()
}

impl From<ListQuery> for MessageQuery {
    fn from(query: ListQuery) -> Self {
        Self {
            limit: query.limit.0,
            cursor: query.cursor,
            order: match query.order {
                OrderParam::Desc => Order::Descending,
                OrderParam::Asc => Order::Ascending,
            },
            date: query.date,
            from: query.from,
            to: query.to,
            around: query.around,
            sender: query.sender_id,
            kind: query.kind,
        }
    }
}
