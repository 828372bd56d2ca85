//! The conversation of a channel, page by page in both directions.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_i18n::Value;
use chatkeep_store::{Channel, Gap, Order, StoredMessage};
use chrono::NaiveDate;
use serde::Deserialize;

use super::Console;
use super::bubble::{Bubble, BubbleContent, Bubbles, hue, initial};
use super::dates::Dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::text::Piece;
use super::visitor::{Asked, Visitor};
use crate::services::access::{ChannelAccess, Member, ReadMessages};
use crate::services::messages::{MessagePage, MessageQuery};
use crate::view::channel_path;
use crate::when::When;

/// Messages of a page.
const LIMIT: u32 = 50;
/// Time between two messages of a person after which the sender is shown again.
const PAUSE: i64 = 5 * 60 * 1000;

/// Part of the conversation: the newest without any.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TimelineQuery {
    /// Cursor: the messages before it.
    older: Option<String>,
    /// Cursor: the messages after it.
    newer: Option<String>,
    /// Message in the middle.
    around: Option<String>,
    /// First day.
    date: Option<String>,
}

/// Row of a conversation.
#[derive(Debug)]
pub(super) enum Item {
    /// Beginning of a day: its date for programs, and its heading.
    Day(String, String),
    /// Time without backup.
    Gap(GapNote),
    Message(Box<Bubble>),
}

/// Time without backup as a page shows it.
#[derive(Debug)]
pub(super) struct GapNote {
    pub(super) why: String,
    pub(super) when: String,
    pub(super) skipped: Option<String>,
}

/// Channel as the header of its pages shows it.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) name: String,
    pub(super) initial: String,
    pub(super) hue: u8,
    pub(super) members: String,
    /// Path of the conversation.
    pub(super) path: String,
}

#[derive(Template)]
#[template(path = "console/timeline.html", whitespace = "minimize")]
struct TimelinePage {
    frame: Frame,
    channel: Heading,
    items: Vec<Item>,
    /// Addresses of the neighbours; `None` where there are no more messages.
    older: Option<String>,
    newer: Option<String>,
    /// Address of what comes after the newest message, for news.
    following: Option<String>,
    /// True if the page ends with the newest message.
    at_end: bool,
    /// First day of the page, for the choice of a date.
    date: String,
    export: String,
}

/// Page of messages between its neighbours.
struct Stretch {
    page: MessagePage,
    older: bool,
    newer: bool,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<TimelineQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let channel = console.services.channels.one(&access).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let stretch = stretch(&console, &access, &query).await?;
    let target = query.around.as_deref().map(MessageId::from);
    let items = items(&console, &access, &stretch.page, (dates, target.as_ref())).await?;
    let path = channel_path(access.without_reading());
    let messages = &stretch.page.messages;
    let before = messages.first().and_then(|first| ordered(Order::Descending).cursor_after(first));
    let after = messages.last().and_then(|last| ordered(Order::Ascending).cursor_after(last));
    let older = before.map(|cursor| format!("{path}?older={cursor}"));
    let newer = after.map(|cursor| format!("{path}?newer={cursor}"));
    let first = messages.first().map(|message| dates.day(message.sent_at));
    let heading = Heading::new(&channel, &visitor);
    let page = TimelinePage {
        frame: visitor.frame(heading.name.clone()),
        items,
        following: newer.clone(),
        older: older.filter(|_| stretch.older),
        newer: newer.filter(|_| stretch.newer),
        at_end: !stretch.newer,
        date: first.map(|day| day.to_string()).unwrap_or_default(),
        export: export_path(access.without_reading()),
        channel: heading,
    };
    rendered(&page)
}

/// Returns the path of a channel's export for reading.
fn export_path(channel: &ChannelId) -> String {
    let channel = crate::view::segment(channel.as_str());
    format!("/api/v1/channels/{channel}/backup/export?format=html")
}

/// Returns the dates of a channel's pages.
pub(super) async fn dates(
    console: &Console,
    visitor: &Visitor,
    access: &ChannelAccess<Member, ReadMessages>,
) -> Result<Dates, PageError> {
    let zone = console.services.messages.zone(Some(access.without_reading())).await?;
    Ok(Dates { language: visitor.language, zone, now: console.clock.now() })
}

/// Returns a request for messages in that order.
fn ordered(order: Order) -> MessageQuery {
    MessageQuery {
        limit: LIMIT,
        cursor: None,
        order,
        date: None,
        from: None,
        to: None,
        around: None,
        sender: None,
        kind: None,
    }
}

/// Returns the requested part of the conversation, oldest first.
async fn stretch(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    query: &TimelineQuery,
) -> Result<Stretch, PageError> {
    let messages = &console.services.messages;
    if let Some(cursor) = &query.newer {
        let query = MessageQuery { cursor: Some(cursor.clone()), ..ordered(Order::Ascending) };
        let page = messages.page(access, &query).await?;
        let newer = page.next.is_some();
        return Ok(Stretch { page, older: true, newer });
    }
    if let Some(around) = &query.around {
        let query = MessageQuery { around: Some(around.clone()), ..ordered(Order::Ascending) };
        let page = messages.page(access, &query).await?;
        let (older, newer) = (precedes(console, access, &page).await?, page.next.is_some());
        return Ok(Stretch { page, older, newer });
    }
    if let Some(date) = query.date.as_deref().filter(|date| !date.is_empty()) {
        let day: NaiveDate = date.parse().map_err(|_| PageError::Input)?;
        let from = When::parse(&day.to_string()).ok_or(PageError::Input)?;
        let query = MessageQuery { from: Some(from), ..ordered(Order::Ascending) };
        let found = messages.page(access, &query).await?;
        if let Some(first) = found.messages.first() {
            // A cursor of a list with a first day continues in that list alone.
            let query = ordered(Order::Ascending);
            let around = MessageQuery { around: Some(first.id.to_string()), ..query };
            let page = messages.page(access, &around).await?;
            let (older, newer) = (precedes(console, access, &page).await?, page.next.is_some());
            return Ok(Stretch { page, older, newer });
        }
    }
    let cursor = query.older.clone();
    let newer = cursor.is_some();
    let query = MessageQuery { cursor, ..ordered(Order::Descending) };
    let mut page = messages.page(access, &query).await?;
    page.messages.reverse();
    let older = page.next.is_some();
    Ok(Stretch { page, older, newer })
}

/// Returns true if there are messages before the page.
async fn precedes(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    page: &MessagePage,
) -> Result<bool, PageError> {
    let query = ordered(Order::Descending);
    let Some(cursor) = page.messages.first().and_then(|first| query.cursor_after(first)) else {
        return Ok(false);
    };
    let query = MessageQuery { cursor: Some(cursor), limit: 1, ..query };
    Ok(!console.services.messages.page(access, &query).await?.messages.is_empty())
}

/// Returns the rows of a page: messages with their days and gaps.
pub(super) async fn items(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    page: &MessagePage,
    (dates, target): (Dates, Option<&MessageId>),
) -> Result<Vec<Item>, PageError> {
    let quoted = page.messages.iter().filter_map(|message| message.quoted.clone());
    let quoted = console.services.messages.several(access, quoted).await?;
    let quoted = quoted.into_iter().map(|message| (message.id.clone(), message));
    let viewer = Some(access.user());
    let bubbles = Bubbles { dates, viewer, target, quoted: quoted.collect::<HashMap<_, _>>() };
    let mut gaps = shown_gaps(&page.gaps, &page.messages).into_iter().peekable();
    let (mut items, mut last): (Vec<Item>, Option<&StoredMessage>) = (Vec::new(), None);
    for message in &page.messages {
        while let Some(gap) = gaps.next_if(|gap| gap.from <= message.sent_at) {
            items.push(Item::Gap(GapNote::new(gap, dates)));
            last = None;
        }
        let day = dates.day(message.sent_at);
        if last.is_none_or(|last| dates.day(last.sent_at) != day) {
            items.push(Item::Day(day.to_string(), dates.heading(day)));
            last = None;
        }
        let mut bubble = bubbles.bubble(message);
        bubble.head = last.is_none_or(|last| !continues(last, message));
        items.push(Item::Message(Box::new(bubble)));
        last = Some(message);
    }
    items.extend(gaps.map(|gap| Item::Gap(GapNote::new(gap, dates))));
    Ok(items)
}

/// Returns the gaps within the messages of a page, and the present one at its end. Others are on
/// the pages of their neighbours.
fn shown_gaps<'a>(gaps: &'a [Gap], messages: &[StoredMessage]) -> Vec<&'a Gap> {
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
        return gaps.iter().collect();
    };
    let within =
        |gap: &&Gap| gap.from > first.sent_at && (gap.from <= last.sent_at || gap.to.is_none());
    gaps.iter().filter(within).collect()
}

/// Returns true if a message continues what its sender said right before.
fn continues(last: &StoredMessage, message: &StoredMessage) -> bool {
    let sender = |message: &StoredMessage| message.sender.as_ref().map(|sender| sender.id.clone());
    let since = message.sent_at.millis() - last.sent_at.millis();
    last.is_bot == message.is_bot && sender(last) == sender(message) && since < PAUSE
}

impl GapNote {
    fn new(gap: &Gap, dates: Dates) -> Self {
        let language = dates.language;
        let from = dates.moment(gap.from);
        let when = match gap.to {
            Some(to) => {
                let same = dates.day(gap.from) == dates.day(to);
                let to = if same { dates.time(to) } else { dates.moment(to) };
                let values = [("from", Value::from(&from)), ("to", Value::from(&to))];
                language.format("gap-until", &values)
            }
            None => language.format("gap-since", &[("from", Value::from(&from))]),
        };
        let skipped = gap.skipped.filter(|count| *count > 0);
        Self {
            why: language.text(&format!("gap-{}", gap.reason)),
            when,
            skipped: skipped
                .map(|count| language.format("gap-skipped", &[("count", count.into())])),
        }
    }
}

impl Heading {
    /// Creates the heading of a channel's pages.
    pub(super) fn new(channel: &Channel, visitor: &Visitor) -> Self {
        let language = visitor.language;
        let name = channel.name.clone().filter(|name| !name.trim().is_empty());
        let name = name.unwrap_or_else(|| language.text("chat-nameless"));
        Self {
            initial: initial(&name),
            hue: hue(channel.id.as_str()),
            members: language.format("chat-members", &[("count", channel.member_count.into())]),
            path: channel_path(&channel.id),
            name,
        }
    }
}
