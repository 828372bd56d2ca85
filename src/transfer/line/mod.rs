//! The text that the LINE app exports, read line by line.
//!
//! It comes in two generations, in the language of the phone. Phones write a title, then for each
//! day a line with the date and for each message `HH:MM<tab>Name<tab>Text`, with quotation marks
//! around a text of several lines. Computers write no title and spaces in place of the tabs, so
//! that only the names tell where a name ends ([`names`]). Lines without a sender tell what
//! happened in the chat (joined, left, unsent, renamed).

mod calendar;
mod names;
mod words;

use chatkeep_core::message::Content;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use self::names::{Counted, Names};
use self::words::Meaning;

/// The longest text in bytes; the app allows far less.
const TEXT: usize = 256 * 1_024;

/// What the first reading of a file shows.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    tabbed: u64,
    spaced: u64,
    days: u64,
    counted: Counted,
}

/// What a line, or several, turned out to be.
#[derive(Debug)]
pub(crate) enum Found {
    /// A message.
    Said(Said),
    /// Something that happened in the chat and that nobody said.
    Happened,
    /// Nothing that is known.
    Unknown {
        /// The line, from 1.
        line: u64,
        /// What it says.
        text: String,
    },
}

/// A message.
#[derive(Debug)]
pub(crate) struct Said {
    /// When, on the clock of whoever exported it.
    pub(crate) at: NaiveDateTime,
    /// Who, by name.
    pub(crate) name: String,
    /// The words as they stand in the file.
    pub(crate) text: String,
    /// What they stand for; `None` for a message that was taken back.
    pub(crate) content: Option<Content>,
}

/// Reads the lines of one file.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Spaces instead of tabs.
    spaced: bool,
    names: Names,
    day: Option<NaiveDate>,
    /// The time of the last message of this day.
    last: Option<NaiveTime>,
    draft: Option<Draft>,
    /// A line that is the next day, or belongs to the message before it: what follows decides.
    held: Option<(u64, String, NaiveDate)>,
}

/// A message whose next lines may still come.
#[derive(Debug)]
struct Draft {
    at: NaiveDateTime,
    /// Nobody, for what happened in the chat.
    name: Option<String>,
    text: String,
}

/// A line that begins with a time.
struct Record<'a> {
    time: NaiveTime,
    name: Option<&'a str>,
    text: &'a str,
}

impl Survey {
    /// Takes a line into account.
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim_start_matches('\u{feff}');
        self.days += u64::from(calendar::date(line).is_some());
        match calendar::time(line) {
            Some((_, rest)) if rest.starts_with('\t') => self.tabbed += 1,
            Some((_, rest)) if rest.starts_with(' ') => {
                self.spaced += 1;
                if self.tabbed == 0 && !words::is_happening(rest) {
                    self.counted.add(rest.trim_start());
                }
            }
            _ => {}
        }
    }

    /// Whether this is such a file at all.
    pub(crate) const fn fits(&self) -> bool {
        self.days > 0 && self.tabbed + self.spaced > 0
    }

    /// Reads the file, now knowing its form and who is in the chat.
    pub(crate) fn reader<'a>(&self, known: impl Iterator<Item = &'a str>) -> Reader {
        Reader {
            spaced: self.tabbed == 0,
            names: self.counted.names(known),
            day: None,
            last: None,
            draft: None,
            held: None,
        }
    }
}

impl Reader {
    /// Reads the next line, without its end. What is complete goes into `found`.
    pub(crate) fn line(&mut self, number: u64, line: &str, found: &mut Vec<Found>) {
        let line = line.trim_start_matches('\u{feff}');
        let record = calendar::time(line).and_then(|(time, rest)| self.record(time, rest));
        if let Some((held_number, held_line, date)) = self.held.take() {
            if record.is_some() {
                self.begin_day(date, found);
            } else {
                self.go_on(held_number, &held_line, found);
            }
        }
        if let Some(Record { time, name, text }) = record {
            let (name, text) = (name.map(str::to_owned), text.to_owned());
            self.begin(number, time, name, text, line, found);
        } else if let Some(date) = calendar::date(line) {
            if self.draft.is_some() {
                self.held = Some((number, line.to_owned(), date));
            } else {
                self.begin_day(date, found);
            }
        } else {
            self.go_on(number, line, found);
        }
    }

    /// The file is at its end.
    pub(crate) fn end(&mut self, found: &mut Vec<Found>) {
        if let Some((_, _, date)) = self.held.take() {
            self.begin_day(date, found);
        }
        self.close(found);
    }

    /// The parts of a line that begins with a time, when it is the beginning of a message.
    fn record<'a>(&self, time: NaiveTime, rest: &'a str) -> Option<Record<'a>> {
        if let Some(rest) = rest.strip_prefix('\t') {
            let (name, text) = match rest.split_once('\t') {
                Some((name, text)) => (Some(name.trim()).filter(|name| !name.is_empty()), text),
                None => (None, rest),
            };
            return Some(Record { time, name, text });
        }
        let said = rest.strip_prefix(' ').filter(|_| self.spaced)?.trim_start();
        if words::is_happening(said) {
            return Some(Record { time, name: None, text: said });
        }
        // A plan for the day inside a message has lines like this too, but time never runs back.
        let back = self.held.is_none() && self.draft.is_some() && Some(time) < self.last;
        if back && !self.names.begins(said) {
            return None;
        }
        let (name, text) = self.names.split(said)?;
        Some(Record { time, name: Some(name), text })
    }

    fn begin_day(&mut self, date: NaiveDate, found: &mut Vec<Found>) {
        self.close(found);
        self.day = Some(date);
        self.last = None;
    }

    fn begin(
        &mut self,
        number: u64,
        time: NaiveTime,
        name: Option<String>,
        text: String,
        line: &str,
        found: &mut Vec<Found>,
    ) {
        self.close(found);
        let Some(day) = self.day else {
            found.push(Found::Unknown { line: number, text: line.to_owned() });
            return;
        };
        self.last = Some(time);
        self.draft = Some(Draft { at: day.and_time(time), name, text });
    }

    /// A line that begins nothing belongs to the message before it.
    fn go_on(&mut self, number: u64, line: &str, found: &mut Vec<Found>) {
        match &mut self.draft {
            Some(draft) if draft.text.len() + line.len() < TEXT => {
                draft.text.push('\n');
                draft.text.push_str(line);
            }
            None if self.day.is_none() && words::is_heading(line) => {}
            None if line.trim().is_empty() => {}
            _ => found.push(Found::Unknown { line: number, text: line.to_owned() }),
        }
    }

    fn close(&mut self, found: &mut Vec<Found>) {
        let Some(Draft { at, name, text }) = self.draft.take() else { return };
        let Some(name) = name else {
            found.push(Found::Happened);
            return;
        };
        let text = unquoted(text.trim_end_matches(['\n', '\r']));
        let content = match words::meaning(&text, self.spaced) {
            Meaning::Said(content) => Some(content),
            Meaning::TakenBack => None,
        };
        found.push(Found::Said(Said { at, name, text, content }));
    }
}

/// A text of several lines without the quotation marks that phones put around it.
fn unquoted(text: &str) -> String {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match inside.filter(|inside| inside.contains('\n')) {
        Some(inside) => inside.replace("\"\"", "\""),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut survey = Survey::default();
        text.lines().for_each(|line| survey.line(line));
        let mut reader = survey.reader(["Tony Chou"].into_iter());
        let mut found = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            reader.line(number, line, &mut found);
        }
        reader.end(&mut found);
        let shown = |found: &Found| match found {
            Found::Said(said) => {
                let kind = said.content.as_ref().map_or("unsent", |content| content.kind().name());
                format!("{} {}|{kind}|{}", said.at.format("%d %H:%M"), said.name, said.text)
            }
            Found::Happened => "happened".to_owned(),
            Found::Unknown { line, .. } => format!("unknown {line}"),
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
    fn what_is_not_understood_is_told() {
        let text = "[LINE] x\nwhat is this\n09:00\tAnn\ttoo early\n2024/01/05(金)\n09:00\tAnn\tx\n";
        assert_eq!(read(text), ["unknown 2", "unknown 3", "05 09:00 Ann|text|x"]);
        let mut survey = Survey::default();
        "nothing\nof the kind\n".lines().for_each(|line| survey.line(line));
        assert!(!survey.fits());
    }
}
