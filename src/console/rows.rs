//! Rows of messages that changed while a page shows them.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chatkeep_core::id::MessageId;
use chatkeep_services::access::{Member, ReadMessages};
use url::form_urlencoded;

use super::Console;
use super::bubble::BubbleContent;
use super::channel::dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::text::Piece;
use super::timeline::{Item, items};
use super::visitor::Visitor;

/// Maximum number of messages in a request.
const LIMIT: usize = 100;

/// Rows alone: the page that asks for them has the rest.
#[derive(Template)]
#[template(path = "console/rows.html", whitespace = "minimize")]
struct Rows {
    frame: Frame,
    items: Vec<Item>,
}

/// Handles `id=`, once for each message; one that is named twice has one row, and those that are
/// gone have none.
pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    address: Uri,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let pairs = form_urlencoded::parse(address.query().unwrap_or_default().as_bytes());
    let ids = pairs.filter(|(name, _)| name == "id").map(|(_, id)| id.into_owned());
    let ids: BTreeSet<_> = ids.collect();
    if ids.len() > LIMIT {
        return Err(PageError::Input);
    }
    let ids = ids.into_iter().map(MessageId::new);
    let mut messages = console.services.messages.several(&access, ids).await?;
    messages.sort_by(|one, other| (one.sent_at, &one.id).cmp(&(other.sent_at, &other.id)));
    let dates = dates(&console, &visitor, &access).await?;
    let items = items(&console, &access, &messages, Vec::new(), dates, None).await?;
    let frame = visitor.frame(visitor.language.text("timeline-label"));
    rendered(&Rows { frame, items })
}
