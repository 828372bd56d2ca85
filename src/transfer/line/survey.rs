//! First pass over a file: its format, its dates, and the people in the chat.

use super::calendar::{DateLine, DateOrder, Orders};
use super::names::Counted;
use super::{Day, LineReader, clock, title, words};

/// Minimum number of placeholders without brackets in a text of a phone.
const MANY: u64 = 2;
/// Minimum share of them in its messages: one in so many.
const RARE: u64 = 50;

/// Result of the first pass over a file.
#[derive(Debug, Default)]
pub struct Survey {
    lines: u64,
    /// Number of lines that begin with a time.
    timed: u64,
    /// True if the first of them has a space after its time, and no tab: no later one tells, for it
    /// may have been pasted into a message.
    spaced: bool,
    /// True if it has a half of the day between spaces, too. Without, a word there is a name.
    halves: bool,
    /// Numbers of placeholders in brackets and without.
    bracketed: u64,
    bare: u64,
    /// Format of its dates: that of the first line that looks like one.
    form: Option<String>,
    orders: Orders,
    /// Number of days with a weekday in a known language, for choosing between encodings.
    named: u64,
    /// First line that looks like a date and is invalid in either order.
    odd: Option<(u64, String)>,
    counted: Counted,
    chat: Option<String>,
}

/// Kind of a file, as far as its first pass shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Fit {
    /// Text of the LINE app.
    Line,
    /// Text whose dates are in no known language; the line of the first one.
    OtherLanguage(u64, String),
    /// Something else.
    No,
}

impl Survey {
    /// Adds a line.
    pub fn line(&mut self, line: &str) {
        self.lines += 1;
        let line = line.trim_start_matches('\u{feff}');
        let in_halves = clock::time(line);
        let in_24_hours = clock::time_of_24_hours(line);
        if self.timed == 0 {
            self.halves = in_halves != in_24_hours;
        }
        let time = if self.halves { in_halves } else { in_24_hours };
        match time {
            Some((_, rest)) if rest.starts_with('\t') => {
                self.timed += 1;
                let mut columns = rest.split('\t').skip(1);
                if let (Some(name), Some(_)) = (columns.next(), columns.next()) {
                    self.counted.sender(name.trim());
                }
                self.words(rest.rsplit('\t').next().unwrap_or_default());
            }
            Some((_, rest)) if rest.starts_with(' ') => {
                self.spaced |= self.timed == 0;
                self.timed += 1;
                self.said(rest.trim_start());
            }
            _ => self.other(line),
        }
    }

    fn said(&mut self, said: &str) {
        if let Some(name) = words::who_did(said) {
            self.counted.announce(name);
        } else {
            self.counted.add(said);
            self.words(said.rsplit(' ').next().unwrap_or_default());
        }
    }

    fn words(&mut self, words: &str) {
        let (bracketed, bare) = words::placeholder(words);
        self.bracketed += u64::from(bracketed);
        self.bare += u64::from(bare);
    }

    fn other(&mut self, line: &str) {
        if let Some(date) = DateLine::read(line) {
            let form = self.form.get_or_insert_with(|| date.form.clone());
            if *form == date.form {
                let days = self.orders.days();
                self.orders.add(&date);
                self.named += u64::from(date.names_day());
                if self.orders.days() == days && self.odd.is_none() {
                    self.odd = Some((self.lines, line.trim().to_owned()));
                }
            }
        } else if self.form.is_none() && self.chat.is_none() {
            self.chat = title::chat_name(line).map(str::to_owned);
        }
    }

    /// Returns the kind of the file.
    pub fn fit(&self) -> Fit {
        match &self.odd {
            _ if self.timed == 0 => Fit::No,
            _ if self.orders.days() > 0 => Fit::Line,
            Some((line, text)) => Fit::OtherLanguage(*line, text.clone()),
            None => Fit::No,
        }
    }

    /// Counts recognised lines of the file, for choosing between encodings.
    pub fn sense(&self) -> u64 {
        self.named + self.orders.days() + self.bracketed + self.bare
    }

    /// Returns the chat's name, if the file has it.
    pub fn chat_name(&self) -> Option<&str> {
        self.chat.as_deref()
    }

    /// Returns the order of day and month; `None` when the file does not show it.
    pub fn order(&self) -> Option<DateOrder> {
        self.orders.order()
    }

    /// Returns true if placeholders have no brackets. Phones hardly ever write them so: there, a word
    /// such as `Photo` that is not frequent was typed.
    fn has_bare_placeholders(&self) -> bool {
        let is_frequent = self.bare >= MANY && self.bare * RARE >= self.timed;
        // Computers write `2023.01.31`.
        let is_of_computer =
            self.spaced || self.form.as_ref().is_some_and(|form| form.matches('.').count() >= 2);
        self.bare > 2 * self.bracketed && (is_of_computer || is_frequent)
    }

    /// Returns a reader for the second pass, with the format and the people in the chat.
    pub fn reader<'a>(&self, order: DateOrder, known: impl Iterator<Item = &'a str>) -> LineReader {
        LineReader {
            spaced: self.spaced,
            halves: self.halves,
            bare: self.has_bare_placeholders(),
            form: self.form.clone(),
            order,
            names: self.counted.names(known),
            day: Day::None,
            last: None,
            draft: None,
            held: None,
            quoted: None,
            doubtful: None,
        }
    }
}
