//! The page of one message. Its address is permanent: it tells what became of the message.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, EarlierText};
use chatkeep_i18n::Value;
use chatkeep_services::access::{Member, ReadMessages};
use chatkeep_services::messages::MessageQuery;
use chatkeep_store::Order;

use super::Console;
use super::bubble::BubbleContent;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::context_path;
use super::text::{Piece, pieces};
use super::timeline::{Item, items};
use super::visitor::Visitor;

/// Messages around the one of the page, itself included.
const NEIGHBOURS: u32 = 7;

#[derive(Template)]
#[template(path = "console/permalink.html", whitespace = "minimize")]
struct PermalinkPage {
    frame: Frame,
    channel: Heading,
    items: Vec<Item>,
    /// Sentence about an edit or a retraction.
    note: Option<String>,
    /// Earlier texts, oldest first.
    earlier: Vec<EarlierRow>,
    /// Address of the message in the conversation.
    conversation: String,
}

/// Text that the message had before it was edited.
struct EarlierRow {
    words: Vec<Piece>,
    /// Day and time, and the time in full for programs.
    moment: String,
    datetime: String,
}

impl EarlierRow {
    fn new(text: &EarlierText, dates: Dates) -> Self {
        let words = match text.parsed() {
            Some(Content::Text { text, mentions, .. }) => pieces(&text, &mentions),
            content => {
                let words = content.as_ref().and_then(Content::legible);
                vec![Piece::Plain(words.unwrap_or_else(|| dates.language.text("kind-other")))]
            }
        };
        Self { words, moment: dates.moment(text.at), datetime: text.at.to_string() }
    }
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path((channel, message)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let id = MessageId::from(message.as_str());
    let services = &console.services;
    let message = services.messages.one(&access, &id).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let language = visitor.language;
    let note = match (message.unsent_at, message.edited_at) {
        (Some(_), _) => Some(language.text("permalink-gone")),
        (None, Some(at)) => {
            let (date, time) = (dates.date(dates.day(at)), dates.time(at));
            let values = [("date", Value::from(&date)), ("time", Value::from(&time))];
            Some(language.format("permalink-edited", &values))
        }
        (None, None) => None,
    };
    let earlier = message.earlier_texts.as_slice().iter();
    let earlier = earlier.map(|text| EarlierRow::new(text, dates)).collect();
    let around = Some(id.to_string());
    let query = MessageQuery { around, ..MessageQuery::all(Order::Ascending, NEIGHBOURS) };
    let around = services.messages.page(&access, &query).await?.messages;
    let items = items(&console, &access, &around, Vec::new(), dates, Some(&id)).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Messages).await?;
    let page = PermalinkPage {
        frame: visitor.frame(language.text("permalink-title")),
        conversation: context_path(access.without_reading(), &id),
        channel,
        items,
        note,
        earlier,
    };
    rendered(&page)
}
