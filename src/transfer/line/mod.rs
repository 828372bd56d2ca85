//! Line-by-line parser of the text that the LINE app exports.
//!
//! It has two formats, in the language of the app. Phones write a title, then for each day a line
//! with the date and for each message `HH:MM<tab>Name<tab>Text`, with quotation marks around a text
//! of several lines. Computers write spaces in place of the tabs, so that only known names show
//! where a name ends (`names`). Lines without a sender are events in the chat (joined, left,
//! unsent, renamed).
//!
//! Nothing is guessed silently: an invalid line that looks like a date is reported, and so is
//! everything after it until the next valid date.

mod calendar;
mod clock;
#[cfg(test)]
mod computer_tests;
mod doubt;
#[cfg(test)]
mod form_tests;
mod names;
#[cfg(test)]
mod phone_tests;
#[cfg(test)]
mod sample_tests;
mod survey;
mod title;
#[cfg(test)]
mod variants;
mod words;

use chatkeep_core::message::Content;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use self::calendar::DateLine;
pub use self::calendar::DateOrder;
use self::doubt::WaitingLines;
use self::names::Names;
pub use self::survey::{Fit, Survey};
use self::words::Meaning;
pub(crate) use self::words::placeholder_kind;

/// Maximum length of a text in bytes; the app allows far less.
const TEXT: usize = 256 * 1_024;

/// Item parsed from one or several lines.
#[derive(Debug)]
pub enum ParsedLine {
    /// A message.
    Said(ParsedMessage),
    /// Event in the chat other than a message.
    Happened,
    /// Unrecognised line.
    Unknown {
        /// Line number, from 1.
        line: u64,
        /// Text of the line.
        text: String,
        /// Reason, where it is more specific.
        why: Option<String>,
    },
}

/// A message.
#[derive(Debug)]
pub struct ParsedMessage {
    /// Local time on the device that exported it.
    pub at: NaiveDateTime,
    /// Name of the sender.
    pub name: String,
    /// Text as it is in the file.
    pub text: String,
    /// Parsed content; `None` for a retracted message.
    pub content: Option<Content>,
}

/// Parser of one file's lines.
#[derive(Debug)]
pub struct LineReader {
    /// True for spaces instead of tabs.
    spaced: bool,
    /// True for times with a half of the day, between spaces.
    halves: bool,
    /// True for placeholders without brackets.
    bare: bool,
    form: Option<String>,
    order: DateOrder,
    names: Names,
    day: Day,
    /// Time of the last message of this day.
    last: Option<NaiveTime>,
    draft: Option<Draft>,
    held: Option<HeldLine>,
    /// Lines after quotation marks that are open.
    quoted: Option<WaitingLines>,
    /// Lines from one on that may begin a message of somebody who is not known.
    doubtful: Option<WaitingLines>,
}

/// Day of a line.
#[derive(Clone, Copy, Debug)]
enum Day {
    /// No date precedes it.
    None,
    Known(NaiveDate),
    /// The date before it, in that line, is invalid.
    Lost(u64),
}

/// Line that is the next day, or belongs to the message before it: the next lines decide.
#[derive(Debug)]
struct HeldLine {
    number: u64,
    line: String,
    date: DateLine,
    /// Empty lines after it.
    blank: Vec<(u64, String)>,
}

/// Message whose next lines may still come.
#[derive(Debug)]
struct Draft {
    at: NaiveDateTime,
    /// Sender; `None` for events in the chat.
    name: Option<String>,
    text: String,
}

/// Line that begins with a time.
struct Record<'a> {
    time: NaiveTime,
    name: Option<&'a str>,
    text: &'a str,
}

impl LineReader {
    /// Parses the next line, without its end. Complete items are appended to `found`.
    pub fn line(&mut self, number: u64, line: &str, found: &mut Vec<ParsedLine>) {
        let line = line.trim_start_matches('\u{feff}');
        if let Some(waiting) = self.quoted.take() {
            return self.quoted_line(waiting, number, line, found);
        }
        if let Some(waiting) = self.doubtful.take() {
            return self.doubtful_line(waiting, number, line, found);
        }
        let record = self.record(line);
        if self.is_doubtful(record.as_ref()) {
            return self.doubtful_line(WaitingLines::default(), number, line, found);
        }
        self.read(number, line, found);
    }

    /// Parses a line of which no later one tells what it is.
    fn read(&mut self, number: u64, line: &str, found: &mut Vec<ParsedLine>) {
        if let Some(held) = &mut self.held
            && line.trim().is_empty()
        {
            held.blank.push((number, line.to_owned()));
            return;
        }
        let record = self.record(line);
        let date = if record.is_none() { DateLine::read(line) } else { None };
        if let Some(held) = self.held.take() {
            let another =
                !self.is_quoted() && date.as_ref().is_some_and(|date| self.is_of_form(date));
            if record.is_some() || another {
                self.settle(held, record.as_ref().map(|record| record.time), found);
            } else {
                self.go_on_with(held, found);
            }
        }
        if let Some(Record { time, name, text }) = record {
            let (name, text) = (name.map(str::to_owned), text.to_owned());
            self.begin(number, time, name, text, line, found);
        } else if let Some(date) = date {
            let held = HeldLine { number, line: line.to_owned(), date, blank: Vec::new() };
            if self.draft.is_some() {
                self.held = Some(held);
            } else {
                self.settle(held, None, found);
            }
        } else if self.is_ambiguous(line) {
            self.close(found);
            let (text, why) = (line.to_owned(), Some(doubt::AMBIGUOUS.to_owned()));
            found.push(ParsedLine::Unknown { line: number, text, why });
        } else {
            self.go_on(number, line, found);
        }
    }

    /// Ends the file.
    pub fn end(&mut self, found: &mut Vec<ParsedLine>) {
        self.end_waiting(found);
        if let Some(held) = self.held.take() {
            self.settle(held, None, found);
        }
        self.close(found);
    }

    /// Splits a line into the time at its beginning and the rest.
    fn time<'a>(&self, line: &'a str) -> Option<(NaiveTime, &'a str)> {
        if self.halves { clock::time(line) } else { clock::time_of_24_hours(line) }
    }

    /// Splits a line that begins with a time, if it is the beginning of a message.
    fn record<'a>(&self, line: &'a str) -> Option<Record<'a>> {
        let (time, rest) = self.time(line)?;
        if let Some(rest) = rest.strip_prefix('\t') {
            let (name, text) = match rest.split_once('\t') {
                Some((name, text)) => (Some(name.trim()).filter(|name| !name.is_empty()), text),
                None => (None, rest),
            };
            let name = name.filter(|name| !happened(name, text));
            return Some(Record { time, name, text });
        }
        let said = rest.strip_prefix(' ').filter(|_| self.spaced)?.trim_start();
        if self.happened(said) {
            return Some(Record { time, name: None, text: said });
        }
        // A schedule inside a message has lines like this too, but time never goes back.
        let back = self.held.is_none() && self.draft.is_some() && Some(time) < self.last;
        if back && self.names.known(said).is_none() {
            return None;
        }
        let (name, text) = self.names.split(said)?;
        let name = Some(name).filter(|name| !words::is_automatic(name));
        Some(Record { time, name, text })
    }

    /// Returns true if words after a time describe an action. `Ann I think Bob left the group.` is
    /// a message of Ann.
    fn happened(&self, said: &str) -> bool {
        words::who_did(said).is_some()
            && self.names.known(said).is_none_or(|(_, text)| words::is_deed(text))
    }

    fn is_of_form(&self, date: &DateLine) -> bool {
        self.form.as_ref().is_none_or(|form| *form == date.form)
    }

    /// Treats a line that looks like a date as the next day, as a part of the message before it, or
    /// as unrecognised. `next` is the time in the line that follows.
    fn settle(&mut self, held: HeldLine, next: Option<NaiveTime>, found: &mut Vec<ParsedLine>) {
        let of_form = self.is_of_form(&held.date);
        match held.date.date(self.order).filter(|_| of_form) {
            Some(date) => {
                self.close(found);
                (self.day, self.last) = (Day::Known(date), None);
            }
            None if self.draft.is_some() && self.may_go_on(of_form, next) => {
                self.go_on_with(held, found);
            }
            None => {
                self.close(found);
                (self.day, self.last) = (Day::Lost(held.number), None);
                let why = "it looks like a date, but cannot be parsed".to_owned();
                let (line, text) = (held.number, held.line);
                found.push(ParsedLine::Unknown { line, text, why: Some(why) });
            }
        }
    }

    /// Returns true if the current message may contain a line that looks like a date.
    fn may_go_on(&self, of_form: bool, next: Option<NaiveTime>) -> bool {
        let text = self.draft.as_ref().map_or("", |draft| &draft.text);
        let several = text.trim_end().contains('\n');
        let back = next.is_some() && next < self.last;
        self.is_quoted() || (!of_form && (several || self.spaced) && !back)
    }

    fn begin(
        &mut self,
        number: u64,
        time: NaiveTime,
        name: Option<String>,
        text: String,
        line: &str,
        found: &mut Vec<ParsedLine>,
    ) {
        self.close(found);
        let unknown = |why| ParsedLine::Unknown { line: number, text: line.to_owned(), why };
        match self.day {
            Day::Known(day) => {
                self.last = Some(time);
                self.quoted = (!self.spaced && doubt::opens(&text)).then(WaitingLines::default);
                self.draft = Some(Draft { at: day.and_time(time), name, text });
            }
            Day::None => found.push(unknown(None)),
            Day::Lost(date) => {
                let why = format!("its day is unknown: line {date} cannot be parsed");
                found.push(unknown(Some(why)));
            }
        }
    }

    fn go_on_with(&mut self, held: HeldLine, found: &mut Vec<ParsedLine>) {
        self.go_on(held.number, &held.line, found);
        for (number, line) in held.blank {
            self.go_on(number, &line, found);
        }
    }

    /// Appends a line that begins nothing to the message before it.
    fn go_on(&mut self, number: u64, line: &str, found: &mut Vec<ParsedLine>) {
        match (&mut self.draft, self.day) {
            (Some(draft), _) if draft.text.len() + line.len() < TEXT => {
                draft.text.push('\n');
                draft.text.push_str(line);
            }
            (None, Day::None) if title::is_heading(line) => {}
            (None, _) if line.trim().is_empty() => {}
            _ => found.push(ParsedLine::Unknown { line: number, text: line.to_owned(), why: None }),
        }
    }

    fn close(&mut self, found: &mut Vec<ParsedLine>) {
        let Some(Draft { at, name, text }) = self.draft.take() else { return };
        let Some(name) = name else {
            found.push(ParsedLine::Happened);
            return;
        };
        let text = doubt::unquoted(text.trim_end_matches(['\n', '\r']));
        let content = match words::meaning(&text, self.bare) {
            Meaning::Said(content) => Some(content),
            Meaning::TakenBack => None,
        };
        found.push(ParsedLine::Said(ParsedMessage { at, name, text, content }));
    }
}

/// Returns true if a line with a column for the sender is no message all the same: an automatic
/// reply, or an action of its sender, described with their name.
fn happened(name: &str, text: &str) -> bool {
    let is_action = || words::who_did(text).is_some_and(|who| who.trim() == name);
    words::is_automatic(name) || is_action()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn read(text: &str) -> Vec<String> {
        read_among(&["Tony Chou"], "%d %H:%M", text)
    }

    /// Returns what is read of a text among people of these names, with times in that format.
    pub(super) fn read_among(names: &[&str], format: &str, text: &str) -> Vec<String> {
        let mut survey = Survey::default();
        text.lines().for_each(|line| survey.line(line));
        let order = survey.order().unwrap_or(DateOrder::MonthFirst);
        let mut reader = survey.reader(order, names.iter().copied());
        let mut found = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            reader.line(number, line, &mut found);
        }
        reader.end(&mut found);
        let shown = |found: &ParsedLine| match found {
            ParsedLine::Said(said) => {
                let kind = said.content.as_ref().map_or("unsent", |content| content.kind().name());
                format!("{} {}|{kind}|{}", said.at.format(format), said.name, said.text)
            }
            ParsedLine::Happened => "happened".to_owned(),
            ParsedLine::Unknown { line, .. } => format!("unknown {line}"),
        };
        found.iter().map(shown).collect()
    }

    #[test]
    fn phones_write_tabs() {
        let text = "\u{feff}[LINE] Chat history with Team\nSaved on: 2024/01/06 10:00\n\n\
            Fri, 01/05/2024\n09:31\tAnn\tgood morning\n09:32\t\tBob joined the group.\n\
            09:32\tBob left the group.\n09:33\tBob\t\"first\nsecond \"\"quoted\"\"\n\nlast\"\n\
            09:34\tAnn\t\"just quoted\"\n09:35\tAnn\ta\ttab\n\nSat, 01/06/2024\n10:00\tBob\t[Photo]\n\
            10:01\tBob\tMessage unsent.\n";
        let expected = [
            "05 09:31 Ann|text|good morning",
            "happened",
            "happened",
            "05 09:33 Bob|text|first\nsecond \"quoted\"\n\nlast",
            "05 09:34 Ann|text|\"just quoted\"",
            "05 09:35 Ann|text|a\ttab",
            "06 10:00 Bob|image|[Photo]",
            "06 10:01 Bob|unsent|Message unsent.",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn computers_write_spaces() {
        let text = "2024.01.05 Friday\n09:31 Tony Chou good morning\nsecond line\n\n\
            09:32 Ann Photos\n09:33 Ann plan:\n08:00 breakfast\n09:34 Bob Lee joined the group.\n\
            2024.01.06 Saturday\n08:00 Tony Chou hi\n";
        let expected = [
            "05 09:31 Tony Chou|text|good morning\nsecond line",
            "05 09:32 Ann|image|Photos",
            "05 09:33 Ann|text|plan:\n08:00 breakfast",
            "happened",
            "06 08:00 Tony Chou|text|hi",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_date_inside_a_message_stays_there() {
        let text = "2024/01/05(金)\n09:31\tAnn\t\"dates:\n2024/01/12(金)\n2024/01/19(金)\nok?\"\n\
            09:32\tBob\tyes\n\n2024/01/06(土)\n09:00\tBob\tx\n";
        let expected = [
            "05 09:31 Ann|text|dates:\n2024/01/12(金)\n2024/01/19(金)\nok?",
            "05 09:32 Bob|text|yes",
            "06 09:00 Bob|text|x",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_line_that_looks_like_a_date_is_never_glued() {
        let text = "2024/01/05(金)\n09:00\tAnn\tone\n\n2024/01/06(Sa)\n09:00\tAnn\tlost\nmore\n\n\
            2024/01/07(日)\n09:00\tAnn\ttwo\n\n2024/01/08(金)\n";
        let expected = [
            "05 09:00 Ann|text|one",
            "unknown 4",
            "unknown 5",
            "unknown 6",
            "07 09:00 Ann|text|two",
        ];
        assert_eq!(read(text), [&expected[..], &["unknown 11"]].concat());
    }

    #[test]
    fn a_date_of_another_form_is_a_part_of_the_words() {
        let text = "2024.01.05 Friday\n09:00 Ann when?\n2024.01.12\n10:00 Bob ok\n\
            2024.01.06 Saturday\n09:00 Ann x\n";
        let expected =
            ["05 09:00 Ann|text|when?\n2024.01.12", "05 10:00 Bob|text|ok", "06 09:00 Ann|text|x"];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn days_without_words_are_days() {
        let text = "2024/01/05(金)\n09:00\tAnn\tone\n\n2024/01/06(土)\n\n2024/01/07(日)\n\n\
            09:00\tAnn\ttwo\n";
        assert_eq!(read(text), ["05 09:00 Ann|text|one", "07 09:00 Ann|text|two"]);
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let text = "[LINE] x\nwhat is this\n09:00\tAnn\ttoo early\n2024/01/05(金)\n09:00\tAnn\tx\n";
        assert_eq!(read(text), ["unknown 2", "unknown 3", "05 09:00 Ann|text|x"]);
        let mut survey = Survey::default();
        "nothing\nof the kind\n".lines().for_each(|line| survey.line(line));
        assert_eq!(survey.fit(), Fit::No);
    }
}
