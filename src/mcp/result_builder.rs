//! Rows of messages of an answer up to its budget, with the people and channels that they name once
//! in tables.

use std::collections::{BTreeMap, HashMap, HashSet};

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_search::SearchResult;
use chatkeep_store::{Sender, StoredMessage};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Masked;
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::answer_forms::AnswerForms;
use super::budget::{self, TokenBudget};
use super::channel_table::{ChannelTable, quoted_name, short_name};
use super::gap::GapRows;
use super::message_row::{MessageRow, TextWindow};
use super::shown_id::shown_id;
use super::time::AnswerZone;

/// Maximum length of a text among others, in characters.
const TEXT: usize = 400;
/// Maximum length of a text that is shown in full, or quoted to be checked, in characters: that of a
/// message on LINE.
pub(super) const WHOLE: usize = 5_000;

/// Window of a text among others.
const CUT: TextWindow = TextWindow { from: 0, max: TEXT, tells_rest: false };

/// A person in a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PersonRow {
    pub(super) user_id: String,
    /// Null where it is not known.
    pub(super) name: Option<String>,
}

/// People of an answer by their short names.
pub(super) type PeopleTable = BTreeMap<String, PersonRow>;

/// Message to add to an answer.
#[derive(Clone, Copy)]
pub(super) struct MessageSource<'a> {
    message: &'a Masked<StoredMessage>,
    /// Part of its text, in searches.
    part: Option<&'a str>,
    /// True for a search result that does not hold all of the query.
    is_related: bool,
    /// True if the row names its channel.
    has_channel: bool,
    /// Part of its text that is shown.
    window: TextWindow,
}

/// Person and channel that a row names.
#[derive(Clone, Copy)]
pub(super) struct RowNames<'a> {
    pub(super) person: Option<&'a Sender>,
    pub(super) channel: Option<&'a ChannelId>,
}

/// Short names of them.
pub(super) struct RowKeys {
    pub(super) person: Option<String>,
    pub(super) channel: Option<String>,
}

/// Rows under construction.
pub(super) struct ResultBuilder<'a> {
    links: &'a Links,
    forms: AnswerForms,
    zone: AnswerZone,
    pub(super) budget: TokenBudget,
    pub(super) channels: ChannelTable,
    people: PeopleTable,
    known: HashMap<UserId, String>,
    /// Channels that are counted already.
    counted: HashSet<String>,
    /// Day of the last line.
    day: String,
    /// True if a row or a part of a text was left out.
    pub(super) truncated: bool,
}

impl<'a> MessageSource<'a> {
    /// A message of the answer's only channel, its text cut as among others.
    pub(super) const fn new(message: &'a Masked<StoredMessage>) -> Self {
        Self { message, part: None, is_related: false, has_channel: false, window: CUT }
    }

    /// A message with a text of at most so many characters.
    pub(super) const fn up_to(self, max: usize) -> Self {
        Self { window: TextWindow { from: 0, max, tells_rest: false }, ..self }
    }

    /// A message with its text in full, from that character on, as far as it fits.
    pub(super) const fn in_full(self, from: usize) -> Self {
        Self { window: TextWindow { from, max: WHOLE, tells_rest: true }, ..self }
    }

    /// A message of one of several channels, which its row names.
    pub(super) const fn of_several(self) -> Self {
        Self { has_channel: true, ..self }
    }

    /// A search result, with a part of its text and its channel.
    pub(super) fn found(hit: &'a SearchResult) -> Self {
        // What was found by its type, say, may have no searchable text and still say something; of a
        // place, its coordinates.
        let is_place = hit.message.kind == MessageType::Location;
        let part = Some(hit.snippet.text.as_str()).filter(|part| !part.is_empty() && !is_place);
        let is_related = hit.related;
        Self { message: &hit.message, part, is_related, has_channel: true, window: CUT }
    }
}

impl<'a> ResultBuilder<'a> {
    /// Creates a builder of rows whose times are shown in `zone`.
    pub(super) fn new(links: &'a Links, zone: AnswerZone) -> Self {
        Self {
            links,
            forms: AnswerForms::Rows,
            zone,
            budget: TokenBudget::default(),
            channels: ChannelTable::default(),
            people: PeopleTable::new(),
            known: HashMap::new(),
            counted: HashSet::new(),
            day: String::new(),
            truncated: false,
        }
    }

    /// Creates a builder of the text of a document.
    pub(super) fn of_document(links: &'a Links, zone: AnswerZone) -> Self {
        Self { forms: AnswerForms::Document, ..Self::new(links, zone) }
    }

    /// Returns the zone of the rows that follow.
    pub(super) const fn zone(&self) -> AnswerZone {
        self.zone
    }

    /// Sets the zone of the rows that follow.
    pub(super) const fn set_zone(&mut self, zone: AnswerZone) {
        self.zone = zone;
    }

    /// Creates the row of a message; `None`, with nothing added to the tables, if it exceeds the
    /// budget. The text of a first one is cut to the budget.
    pub(super) fn row(&mut self, said: MessageSource<'_>) -> Option<MessageRow> {
        let MessageSource { message, part, is_related, has_channel, window } = said;
        let channel = has_channel.then_some(&message.channel);
        let names = RowNames { person: message.sender.as_ref(), channel };
        let (url, time) = (self.link(message), self.zone.show(message.sent_at));
        let with_text = |max| MessageRow {
            url: url.clone(),
            time: time.clone(),
            related: is_related.then_some(true),
            ..MessageRow::new(message, part, TextWindow { max, ..window })
        };
        let (last, forms) = (self.day.clone(), self.forms);
        let sent_of = |row: &MessageRow| forms.of_message(row, (!has_channel).then_some(&*last));
        let person = names.person.map(PersonRow::new);
        let max = self.budget.longest(window.max, |max| {
            let [structured, text] = sent_of(&with_text(max));
            let [table, line] = person.as_ref().map(|row| forms.of_row(row)).unwrap_or_default();
            [structured, text, table, line]
        });
        let row =
            |RowKeys { person, channel }| MessageRow { channel, from: person, ..with_text(max) };
        let row = self.add(names, row, sent_of)?;
        if !has_channel {
            self.day = row.day_and_line().0;
        }
        self.truncated |= row.cut > 0;
        Some(row)
    }

    /// Moves the next message into the rows; `false` at the end, and where the budget ends, which
    /// ends the messages.
    pub(super) fn take<'m>(
        &mut self,
        messages: &mut impl Iterator<Item = MessageSource<'m>>,
        rows: &mut Vec<MessageRow>,
    ) -> bool {
        let Some(message) = messages.next() else { return false };
        if let Some(row) = self.row(message) {
            rows.push(row);
            return true;
        }
        messages.by_ref().for_each(drop);
        false
    }

    /// Takes the cost of JSON that is sent beside the rows, as structured content and again in the text.
    pub(super) fn spend_around(&mut self, json: &str) {
        self.budget.spend_around(&[json, &budget::sent(json)]);
    }

    /// Takes the cost of gaps, which the answer has whatever its rows cost.
    pub(super) fn spend_gaps(&mut self, gaps: &GapRows) {
        let [structured, text] = self.forms.of(&gaps.rows, &gaps.lines());
        self.budget.spend(&[&structured, &text]);
    }

    /// Returns true for a row that is within the budget, and takes its cost.
    pub(super) fn fits<T: Serialize>(&mut self, row: &T) -> bool {
        let [structured, text] = self.forms.of_row(row);
        let fits = self.budget.take(&[&structured, &text]);
        self.truncated |= !fits;
        fits
    }

    /// Creates a row with what it names, which is then in the tables; `None`, with nothing added, if
    /// it exceeds the budget.
    pub(super) fn naming<T: Serialize>(
        &mut self,
        names: RowNames<'_>,
        row: impl FnOnce(RowKeys) -> T,
    ) -> Option<T> {
        let forms = self.forms;
        self.add(names, row, |row| forms.of_row(row))
    }

    /// Creates a row with what it names; `sent_of` returns what is sent of it in both forms.
    fn add<T>(
        &mut self,
        names: RowNames<'_>,
        row: impl FnOnce(RowKeys) -> T,
        sent_of: impl FnOnce(&T) -> [String; 2],
    ) -> Option<T> {
        let person = names.person.map(|sender| (self.person_key(sender), sender));
        let channel = names.channel.map(|channel| self.channels.key(channel));
        let key = person.as_ref().map(|(key, _)| key.clone());
        let row = row(RowKeys { person: key, channel: channel.clone() });
        let person = person.filter(|(key, _)| !self.people.contains_key(key));
        let person = person.map(|(key, sender)| (key, PersonRow::new(sender)));
        let person_row = person.as_ref().map(|(_, person)| self.forms.of_row(person));
        let channel_row = self.uncounted_channel(channel.as_deref());
        // Tables are in both forms, too.
        let sent = [Some(sent_of(&row)), person_row, channel_row];
        let sent: Vec<_> = sent.iter().flatten().flatten().map(String::as_str).collect();
        if !self.budget.take(&sent) {
            self.truncated = true;
            let unused = channel.filter(|key| !self.counted.contains(key));
            unused.inspect(|key| self.channels.forget(key));
            return None;
        }
        self.counted.extend(channel);
        self.people.extend(person);
        Some(row)
    }

    /// Returns the permanent link of a message, if the service has a public address.
    pub(super) fn link(&self, message: &StoredMessage) -> Option<String> {
        self.links.message(&message.channel, &message.id)
    }

    /// Takes the cost of the channels that are in the table now, whatever rows follow.
    pub(super) fn spend_channels(&mut self) {
        let rows = self.channels.rows();
        let [structured, text] = self.forms.of_row(&rows);
        self.budget.spend(&[&structured, &text]);
        self.counted.extend(rows.into_keys());
    }

    /// Returns the people of the rows.
    pub(super) fn into_people(self) -> PeopleTable {
        self.people
    }

    fn person_key(&mut self, sender: &Sender) -> String {
        let next = self.known.len() + 1;
        self.known.entry(sender.id.clone()).or_insert_with(|| format!("p{next}")).clone()
    }

    /// Returns what is sent of a channel in the table unless it was counted.
    fn uncounted_channel(&self, key: Option<&str>) -> Option<[String; 2]> {
        let key = key.filter(|key| !self.counted.contains(*key))?;
        Some(self.forms.of_row(&self.channels.entry(key)?))
    }
}

impl PersonRow {
    /// Creates the row of a person of that name.
    pub(super) fn of((user, name): &(UserId, String)) -> Self {
        Self { user_id: user.to_string(), name: short_name(Some(name)) }
    }

    fn new(sender: &Sender) -> Self {
        Self { user_id: sender.id.to_string(), name: short_name(sender.display_name.as_deref()) }
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Formats the people of an answer as a line of the head; nothing without any.
pub(super) fn people_line(people: &PeopleTable) -> String {
    if people.is_empty() {
        return String::new();
    }
    let people = people.iter().map(|(key, person)| {
        let (name, id) = (quoted_name(person.name.as_deref()), shown_id(&person.user_id));
        format!("{key} = {name} ({id})")
    });
    format!("\nPeople: {}", people.collect::<Vec<_>>().join(", "))
}

/// Formats the cursor of the next page as the last line of a text; nothing without one.
pub(super) fn cursor_line(next: Option<&str>) -> String {
    next.map_or_else(String::new, |cursor| {
        format!("\nMore: call again with the same arguments and cursor {cursor}")
    })
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::super::channel_table::ChannelEntry;
    use super::*;

    const LONG: &str = "a row that does not fit";

    fn sender(id: &str) -> Sender {
        Sender { id: id.into(), display_name: Some("Ann".to_owned()), picture_url: None }
    }

    #[test]
    fn a_row_that_does_not_fit_leaves_nothing_in_the_tables() {
        let links = Links::default();
        let mut builder = ResultBuilder::new(&links, AnswerZone(Tz::UTC));
        let (ann, bo) = (sender("U1"), sender("U2"));
        let (one, other) = (ChannelId::from("C1"), ChannelId::from("C2"));
        let named = |person, channel| RowNames { person: Some(person), channel: Some(channel) };
        let keys = |RowKeys { person, channel }| (person, channel);
        let first = builder.naming(named(&ann, &one), keys);
        assert_eq!(first, Some((Some("p1".to_owned()), Some("c1".to_owned()))));
        builder.budget.spend(&[&"x".repeat(100_000)]);
        let row = |keys: RowKeys| (keys.person, keys.channel, LONG);
        assert_eq!(builder.naming(named(&bo, &other), row), None);
        assert!(builder.truncated);
        assert_eq!(builder.channels.rows().into_keys().collect::<Vec<_>>(), ["c1"]);
        // A channel that is paid for stays.
        assert_eq!(builder.naming(named(&bo, &one), row), None);
        assert_eq!(builder.channels.rows().into_keys().collect::<Vec<_>>(), ["c1"]);
        assert_eq!(builder.into_people().into_keys().collect::<Vec<_>>(), ["p1"]);
    }

    #[test]
    fn what_a_row_names_is_paid_for_once() {
        let links = Links::default();
        let count = |name: &str, is_paid: bool| {
            let id = ChannelId::from("C1");
            let entry = ChannelEntry {
                channel_id: id.to_string(),
                name: Some(name.to_owned()),
                time_zone: "UTC".to_owned(),
            };
            let mut builder = ResultBuilder::new(&links, AnswerZone(Tz::UTC));
            builder.channels = ChannelTable::new([(id.clone(), entry)]);
            if is_paid {
                builder.channels.key(&id);
                builder.spend_channels();
            }
            let names = RowNames { person: None, channel: Some(&id) };
            let rows = || builder.naming(names, |keys| (keys.channel, LONG));
            std::iter::from_fn(rows).count()
        };
        let (short, long) = (count("Ann", false), count(&"日".repeat(3_000), false));
        // 6,000 of 9,600 tokens.
        assert!(long > 0 && (long * 2..long * 3).contains(&short), "{long} of {short}");
        assert!(long.abs_diff(count(&"日".repeat(3_000), true)) <= 1);
    }
}
