//! Pull feed of events, in order.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_http::{HttpError, Query};
use chatkeep_services::Services;
use chatkeep_services::access::{ReadMessages, Scoped};
use chatkeep_services::events::EventPage;
use chatkeep_view::EventView;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor::Page;
use super::extract::Limit;
use super::route::{Describe, Output};

/// Page of the event feed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventList {
    /// Events of the page, in order.
    events: Vec<EventView>,
    /// Cursor for the next request; always present, so that polling can continue with it later.
    next_cursor: String,
    /// True when more events are available now.
    has_more: bool,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct EventQuery {
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
    /// `nextCursor` of the last response; when absent, the feed begins with the oldest retained
    /// event, and with `latest` after the newest one.
    cursor: Option<String>,
}

/// Page of the feed, which goes on after its cursor or not at all.
pub(super) struct EventFeed(Page<EventList>);

pub(super) async fn list(
    State(services): State<Services>,
    access: Scoped<ReadMessages>,
    Query(query): Query<EventQuery>,
) -> Result<EventFeed, HttpError> {
    let cursor = query.cursor.as_deref();
    let EventPage { events, next: next_cursor, has_more } =
        services.events.page(&access, query.limit.0, cursor).await?;
    let next = has_more.then(|| next_cursor.clone());
    Ok(EventFeed(Page { body: EventList { events, next_cursor, has_more }, next }))
}

impl IntoResponse for EventFeed {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl Output for EventFeed {
    fn describe(route: &mut Describe) {
        Page::<EventList>::describe(route);
        route.refuses(&[StatusCode::GONE]);
    }
}
