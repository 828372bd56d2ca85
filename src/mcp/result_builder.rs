//! Result builder for messages, row by row up to the budget: the rows of the structured form and
//! the lines of the text, with people and channels once in tables.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::{Content, MessageType};
use chatkeep_store::{Gap, Sender, StoredMessage};
use serde::Serialize;

use super::answer::{self, Cut, MessageRow, MissingTime, PersonRow};
use super::budget::TokenBudget;
use super::text_row;
use crate::sanitize;

/// Maximum length of a text among others, in characters.
const TEXT: usize = 400;
/// Maximum length of a text requested alone, in characters: that of a message on LINE.
const WHOLE: usize = 5_000;
/// Maximum number of gaps in a result.
const GAPS: usize = 10;

/// Result under construction.
#[derive(Debug, Default)]
pub(super) struct ResultBuilder {
    budget: TokenBudget,
    /// Maximum length of a text in characters.
    max: usize,
    pub(super) people: BTreeMap<String, PersonRow>,
    known: HashMap<UserId, String>,
    pub(super) channels: BTreeMap<String, String>,
    places: HashMap<ChannelId, String>,
    pub(super) rows: Vec<MessageRow>,
    pub(super) lines: Vec<String>,
    /// Day of the last line.
    day: String,
    pub(super) truncated: bool,
}

/// Message to add.
pub(super) struct RowText<'a> {
    pub(super) message: &'a StoredMessage,
    /// Snippet of its text, in searches.
    pub(super) snippet: Option<&'a str>,
}

impl ResultBuilder {
    /// Creates a builder for at most `limit` rows.
    pub(super) fn new(limit: u32) -> Self {
        Self { max: if limit == 1 { WHOLE } else { TEXT }, ..Self::default() }
    }

    /// Adds a message; returns `false`, and adds nothing, if it exceeds the budget.
    pub(super) fn add(&mut self, said: &RowText<'_>) -> bool {
        let row = self.row(said);
        let from = row.from.clone().unwrap_or_default();
        let (day, _) = row.time.split_at(row.time.len().min(10));
        let dated = row.channel.is_none();
        let mut line = text_row::message(&row, dated);
        if dated && self.day != day {
            line = format!("{day}\n{line}");
        }
        let structured = serde_json::to_string(&row).unwrap_or_default();
        let person = self.people.get(&from).filter(|_| !self.tells_of(&from));
        let person = person.map(json).unwrap_or_default();
        // The table of people is in both forms, too.
        if !self.budget.take(&[&structured, &line, &person, &person]) {
            self.forget(&from);
            self.truncated = true;
            return false;
        }
        day.clone_into(&mut self.day);
        self.truncated |= row.cut.is_some();
        self.rows.push(row);
        self.lines.push(line);
        true
    }

    fn tells_of(&self, person: &str) -> bool {
        self.rows.iter().any(|row| row.from.as_deref() == Some(person))
    }

    /// Removes a person whom no row mentions.
    fn forget(&mut self, person: &str) {
        if !self.tells_of(person) {
            self.people.remove(person);
        }
    }

    fn row(&mut self, said: &RowText<'_>) -> MessageRow {
        let message = said.message;
        let kind = message.kind;
        let row = MessageRow {
            id: message.id.to_string(),
            time: answer::time(message.sent_at),
            channel: said.snippet.is_some().then(|| self.place(&message.channel)),
            from: message.sender.as_ref().map(|sender| self.person(sender)),
            kind: (kind != MessageType::Text).then(|| kind.name().to_owned()),
            media_status: message.media_status().map(str::to_owned),
            reply_to: message.quoted.as_ref().map(ToString::to_string),
            edited: message.edited_at.is_some() && message.unsent_at.is_none(),
            unsent: message.unsent_at.is_some(),
            bot: message.is_bot,
            ..MessageRow::default()
        };
        let Some(whole) = message.content.as_ref().and_then(words) else {
            return row;
        };
        let (text, left) = match said.snippet {
            Some(part) => {
                let (text, more) = sanitize::cut(part, usize::MAX);
                let left = if part == whole { 0 } else { missing(&whole, part) };
                (text, left + more)
            }
            None => sanitize::cut(&whole, self.max),
        };
        MessageRow { text: Some(text), cut: (left > 0).then(|| rest(message, left)), ..row }
    }

    fn person(&mut self, sender: &Sender) -> String {
        if let Some(key) = self.known.get(&sender.id) {
            if !self.people.contains_key(key) {
                self.people.insert(key.clone(), person(sender));
            }
            return key.clone();
        }
        let key = format!("p{}", self.known.len() + 1);
        self.known.insert(sender.id.clone(), key.clone());
        self.people.insert(key.clone(), person(sender));
        key
    }

    fn place(&mut self, channel: &ChannelId) -> String {
        if let Some(key) = self.places.get(channel) {
            return key.clone();
        }
        let key = format!("c{}", self.places.len() + 1);
        self.places.insert(channel.clone(), key.clone());
        self.channels.insert(key.clone(), channel.to_string());
        key
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn person(sender: &Sender) -> PersonRow {
    PersonRow { user_id: sender.id.to_string(), name: answer::name(sender.display_name.as_deref()) }
}

/// Returns a message's text; `None` when it has none.
fn words(content: &Content) -> Option<String> {
    let words = match content {
        Content::Sticker(sticker) if sticker.text.is_none() => sticker.keywords.join(", "),
        Content::Location { latitude, longitude, .. } => {
            let place = content.searchable().map_or_else(String::new, |place| format!("{place}\n"));
            format!("{place}{latitude},{longitude}")
        }
        other => other.searchable()?,
    };
    Some(words).filter(|words| !words.is_empty())
}

/// Returns the number of characters of a text that a part of it lacks; it has a mark where some are
/// left out.
fn missing(whole: &str, part: &str) -> usize {
    let shown = part.chars().filter(|character| *character != '…').count();
    whole.chars().count().saturating_sub(shown)
}

/// Describes how to read the omitted part.
fn rest(message: &StoredMessage, characters: usize) -> Cut {
    let to = message.sent_at.plus(Duration::from_millis(1));
    Cut { characters, from: message.sent_at.to_string(), to: to.to_string() }
}

/// Returns the newest gaps, and the number of older ones.
pub(super) fn gaps(gaps: &[Gap]) -> (Vec<MissingTime>, usize) {
    let omitted = gaps.len().saturating_sub(GAPS);
    (gaps[omitted..].iter().map(MissingTime::from).collect(), omitted)
}
