//! The conversation of a channel, page by page in both directions.

use std::collections::HashMap;
use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::id::MessageId;
use chatkeep_core::time::Timestamp;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::gaps::TimeSpan;
use chatkeep_services::messages::MessageQuery;
use chatkeep_store::{Gap, GapReason, Order, StoredMessage};
use chatkeep_view::channel_path;
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::when::When;
use chrono_tz::Tz;
use serde::Deserialize;

use super::Console;
use super::bubble::{Bubble, BubbleContent, Bubbles};
use super::channel::{Heading, Tab, dates, is_ownerless};
use super::dates::{Dates, NoDay, day_of};
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::context_path;
use super::text::Piece;
use super::visitor::{Asked, Visitor};

/// Messages of a page.
const LIMIT: u32 = 50;
/// Time between two messages of a person after which the sender is shown again.
const PAUSE: i64 = 5 * 60 * 1000;
/// Time below which a gap within one minute of the clock is a moment.
const MINUTE: Duration = Duration::from_mins(1);

/// Part of the conversation: the newest without any.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TimelineQuery {
    /// Cursor: the messages before it.
    older: Option<String>,
    /// Cursor: the messages after it.
    newer: Option<String>,
    /// Message in the middle.
    around: Option<String>,
    /// Day to go to.
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
    /// Name of the element.
    pub(super) anchor: String,
    pub(super) why: String,
    pub(super) when: String,
    pub(super) skipped: Option<String>,
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
    /// Position of the page in the news.
    place: String,
    /// True if the page ends with the newest message.
    at_end: bool,
    /// True if somebody backs the channel up, so that new messages appear.
    is_backed_up: bool,
    /// True if nobody does, and whoever begins to becomes the owner.
    ownerless: bool,
    /// Day of the message at which the page opens, for the choice of a date.
    date: String,
    export: String,
}

/// Messages between their neighbours, oldest first, with the gaps within.
struct Stretch {
    messages: Vec<Masked<StoredMessage>>,
    gaps: Vec<Gap>,
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
    if let Some(first) = first_of_day(&console, &access, &query).await? {
        return Ok(Redirect::to(&context_path(access.without_reading(), &first)).into_response());
    }
    let dates = dates(&console, &visitor, &access).await?;
    // What happens while the page is made is announced afterwards.
    let place = console.services.live.place().await?;
    let stretch = stretch(&console, &access, &query).await?;
    let target = query.around.as_deref().map(MessageId::from);
    let messages = &stretch.messages;
    let items = items(&console, &access, messages, stretch.gaps, dates, target.as_ref()).await?;
    let path = channel_path(access.without_reading());
    let before = messages.first().and_then(|first| ordered(Order::Descending).cursor_after(first));
    let after = messages.last().and_then(|last| ordered(Order::Ascending).cursor_after(last));
    let older = before.map(|cursor| format!("{path}?older={cursor}"));
    let newer = after.map(|cursor| format!("{path}?newer={cursor}"));
    let chosen = messages.iter().find(|message| target.as_ref() == Some(&message.id));
    let seen = if stretch.newer { messages.first() } else { messages.last() };
    let seen = chosen.or(seen).map(|message| dates.day(message.sent_at));
    let heading = Heading::of_page(&console, &visitor, &access, Tab::Messages).await?;
    let is_backed_up = console.services.channels.is_backed_up(&access).await?;
    let members = visitor.channel(&console, &channel).await?;
    let page = TimelinePage {
        frame: visitor.frame(heading.name.clone()),
        items,
        following: newer.clone(),
        place: place.after(messages.last().filter(|_| !stretch.newer)).text(),
        older: older.filter(|_| stretch.older),
        newer: newer.filter(|_| stretch.newer),
        at_end: !stretch.newer,
        is_backed_up,
        ownerless: !is_backed_up && is_ownerless(&console, &members).await?,
        date: seen.map(|day| day.to_string()).unwrap_or_default(),
        export: format!("{path}/export"),
        channel: heading,
    };
    rendered(&page)
}

/// Returns a request for messages in that order.
fn ordered(order: Order) -> MessageQuery {
    MessageQuery::all(order, LIMIT)
}

/// Returns the first message of the chosen day or after; `None` without a choice and where there is
/// none.
async fn first_of_day(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    query: &TimelineQuery,
) -> Result<Option<MessageId>, PageError> {
    let day = day_of(query.date.as_deref().unwrap_or_default());
    let Some(day) = day.map_err(|NoDay| PageError::Input)? else { return Ok(None) };
    let query =
        MessageQuery { from: Some(When::of_day(day)), limit: 1, ..ordered(Order::Ascending) };
    let found = console.services.messages.page(access, &query).await?;
    Ok(found.messages.into_iter().next().map(|message| message.into_row().id))
}

/// Returns the requested part of the conversation, oldest first.
async fn stretch(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    query: &TimelineQuery,
) -> Result<Stretch, PageError> {
    let messages = &console.services.messages;
    let forwards = query.newer.is_some() || query.around.is_some();
    let order = if forwards { Order::Ascending } else { Order::Descending };
    let cursor = query.newer.clone().or_else(|| query.older.clone().filter(|_| !forwards));
    let around = query.around.clone().filter(|_| query.newer.is_none());
    let at_newest = !forwards && cursor.is_none();
    let query = MessageQuery { cursor, around, ..ordered(order) };
    let mut page = messages.page(access, &query).await?;
    let newer = if forwards { page.next.is_some() } else { !at_newest };
    if !forwards {
        page.messages.reverse();
    }
    let before = preceding(console, access, page.messages.first()).await?;
    let until = page.messages.last().map(|last| last.sent_at);
    let (bounds, channel) = (&access.caller.bounds, access.without_reading());
    let span = TimeSpan { from: before, to: until.filter(|_| newer).map(just_after) };
    let mut gaps = messages.each_gap(bounds, channel, span).await?;
    gaps.retain(|gap| is_within(gap, before, until, !newer));
    Ok(Stretch { messages: page.messages, gaps, older: before.is_some(), newer })
}

/// Returns the end of a time that includes that moment.
fn just_after(at: Timestamp) -> Timestamp {
    at.plus(Duration::from_millis(1))
}

/// Returns the time of the message before the first of a page; for a page without messages, of the
/// newest.
async fn preceding(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    first: Option<&Masked<StoredMessage>>,
) -> Result<Option<Timestamp>, PageError> {
    let query = ordered(Order::Descending);
    let cursor = first.and_then(|first| query.cursor_after(first));
    let query = MessageQuery { cursor, limit: 1, ..query };
    let before = console.services.messages.page(access, &query).await?;
    Ok(before.messages.first().map(|message| message.sent_at))
}

/// Returns true for a gap that is shown on this page: each is on the page of the message that
/// follows it, and one that nothing follows at the end.
fn is_within(gap: &Gap, before: Option<Timestamp>, until: Option<Timestamp>, at_end: bool) -> bool {
    before.is_none_or(|before| gap.from > before)
        && (at_end || until.is_some_and(|until| gap.from <= until))
}

/// Returns the rows of a page: messages with their days, and gaps. Those with no message between
/// them are joined.
pub(super) async fn items(
    console: &Console,
    access: &ChannelAccess<Member, ReadMessages>,
    messages: &[Masked<StoredMessage>],
    gaps: Vec<Gap>,
    dates: Dates,
    target: Option<&MessageId>,
) -> Result<Vec<Item>, PageError> {
    let quoted = messages.iter().filter_map(|message| message.quoted.clone());
    let quoted = console.services.messages.several(access, quoted).await?;
    let quoted = quoted.into_iter().map(|message| (message.id.clone(), message));
    let rules = console.services.assistant.rules_behind(access, messages).await?;
    let viewer = Some(access.user());
    let quoted = quoted.collect::<HashMap<_, _>>();
    let bubbles = Bubbles { dates, viewer, target, quoted, rules };
    let mut gaps = gaps.into_iter().peekable();
    let (mut items, mut last): (Vec<Item>, Option<&Masked<StoredMessage>>) = (Vec::new(), None);
    for message in messages {
        let due = std::iter::from_fn(|| gaps.next_if(|gap| gap.from <= message.sent_at));
        for gap in Gap::joined(due) {
            items.push(Item::Gap(GapNote::new(&gap, dates)));
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
    items.extend(Gap::joined(gaps).iter().map(|gap| Item::Gap(GapNote::new(gap, dates))));
    Ok(items)
}

/// Returns true if a message continues what its sender said right before.
fn continues(last: &StoredMessage, message: &StoredMessage) -> bool {
    let sender = |message: &StoredMessage| message.sender.as_ref().map(|sender| sender.id.clone());
    let since = message.sent_at.millis() - last.sent_at.millis();
    last.is_bot == message.is_bot && sender(last) == sender(message) && since < PAUSE
}

/// Returns the words about a time with a beginning and an end.
fn span(from: &str, to: &str, language: Language) -> String {
    language.format("gap-until", &[("from", Value::from(from)), ("to", Value::from(to))])
}

/// Returns the days of a gap that is stored as whole days in UTC; one without an end is a day.
fn days_in_utc(from: Timestamp, to: Option<Timestamp>, dates: Dates) -> String {
    let dates = Dates { zone: Tz::UTC, ..dates };
    let last = to.map_or(from, |to| to.minus(Duration::from_millis(1)).max(from));
    let [first, last] = [from, last].map(|at| dates.date(dates.day(at)));
    let days = if first == last { first } else { span(&first, &last, dates.language) };
    dates.language.format("gap-days", &[("days", Value::from(&days))])
}

impl GapNote {
    pub(super) fn new(gap: &Gap, dates: Dates) -> Self {
        let language = dates.language;
        let when = match (gap.reason, gap.to) {
            (GapReason::OptedOut, to) => days_in_utc(gap.from, to, dates),
            (_, None) => {
                let from = dates.moment(gap.from);
                language.format("gap-since", &[("from", Value::from(&from))])
            }
            (_, Some(to)) => {
                let from = dates.moment(gap.from);
                let same = dates.day(gap.from) == dates.day(to);
                let end = if same { dates.time(to) } else { dates.moment(to) };
                let short = to.since(gap.from) < MINUTE && dates.moment(to) == from;
                if short { from } else { span(&from, &end, language) }
            }
        };
        let skipped = gap.skipped.filter(|count| *count > 0);
        Self {
            anchor: format!("gap-{}", gap.from.millis()),
            why: language.text(&format!("gap-{}", gap.reason.name())),
            when,
            skipped: skipped
                .map(|count| language.format("gap-skipped", &[("count", count.into())])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words about the time of a gap, in Taipei.
    fn when(reason: GapReason, from: &str, to: Option<&str>) -> String {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let dates = Dates {
            language: Language::English,
            zone: "Asia/Taipei".parse().unwrap(),
            now: at("2026-11-29T12:00:00Z"),
        };
        let gap = Gap { reason, from: at(from), to: to.map(at), skipped: None };
        GapNote::new(&gap, dates).when.replace('\u{a0}', " ")
    }

    #[test]
    fn days_of_people_who_opted_out_are_days_in_utc() {
        let days = |from, to| when(GapReason::OptedOut, from, Some(to));
        assert_eq!(days("2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"), "29 Nov (UTC)");
        assert_eq!(days("2026-11-27T00:00:00Z", "2026-11-30T00:00:00Z"), "27 Nov – 29 Nov (UTC)");
        assert_eq!(when(GapReason::OptedOut, "2026-11-29T00:00:00Z", None), "29 Nov (UTC)");
    }

    #[test]
    fn a_gap_within_a_minute_is_one_time() {
        let when = |from, to| when(GapReason::Outage, from, Some(to));
        let from = "2026-11-28T19:23:10Z";
        assert_eq!(when(from, "2026-11-28T19:23:50Z"), "29 Nov 03:23");
        assert_eq!(when(from, "2026-11-28T19:24:00Z"), "29 Nov 03:23 – 03:24");
        assert_eq!(when(from, "2026-11-29T19:23:10Z"), "29 Nov 03:23 – 30 Nov 03:23");
    }
}
