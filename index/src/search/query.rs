//! The search language of all interfaces: words, `"a phrase"`, `-without`, `from:`, `type:`,
//! `has:`, `before:`, `after:`.
//!
//! - Every word must occur: as the beginning of a word, or anywhere in scripts without spaces.
//!   Hyphens between words do not count: `wifi`, `wi-fi` and `Wi‑Fi` match each other.
//!   An emoji is a word of its own, with or without spaces: `Goal🔥` is `Goal 🔥`. Brackets around a
//!   word, `@` and `#` before it and sentence marks behind it do not count.
//! - A phrase must occur literally, but for case, width and white space. It stands in quotation
//!   marks or corner brackets.
//! - A `-` before a word, a phrase, `from:`, `type:` or `has:` excludes messages with it.
//! - Several `from:` or several `type:` mean any of them; everything else means all of them.
//! - `after:` a day or time includes its first moment; `before:` excludes it.
//! - If no message contains every unquoted word, messages that contain some of them are returned
//!   instead (see [`SearchPage`](super::SearchPage)); the rest of a query is always strict.

use chrono::NaiveDateTime;

use super::bare::bare;
use crate::Moment;
use crate::fold::search::{fold_for_search, one_dash};
use crate::fold::{is_end_mark, is_ignorable, strip_marks};
use crate::length::is_longer;
use crate::script::is_emoji;

/// Maximum length of a query, in characters after NFC.
pub const MAX_QUERY: usize = 200;

/// Message types that `type:` accepts.
pub const MESSAGE_TYPES: [&str; 8] =
    ["text", "image", "video", "audio", "file", "location", "sticker", "other"];

/// Characters that mark a question.
const QUESTION_MARKS: [char; 4] = ['?', '？', '؟', '⁇'];

/// Error of a query; the text is written for the person who typed it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The query is empty.
    #[error("the query is empty")]
    Empty,
    /// More than [`MAX_QUERY`] characters.
    #[error("the query is longer than {MAX_QUERY} characters")]
    TooLong,
    /// A quotation mark without its partner.
    #[error("a quotation mark is not closed")]
    OpenQuote,
    /// A field without a value.
    #[error("nothing follows {0}:")]
    NoValue(&'static str),
    /// An unknown value of a field.
    #[error("{field}: takes {allowed}, not {value}")]
    BadValue {
        /// Name of the field.
        field: &'static str,
        /// Value that was given.
        value: String,
        /// Accepted values.
        allowed: &'static str,
    },
    /// A `-` that cannot be applied.
    #[error("{0}: cannot be excluded with -")]
    NotExcludable(&'static str),
}

/// Required and excluded values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludeExclude<T> {
    /// Required values.
    pub wanted: Vec<T>,
    /// Excluded values.
    pub unwanted: Vec<T>,
}

impl<T> Default for IncludeExclude<T> {
    fn default() -> Self {
        Self { wanted: Vec::new(), unwanted: Vec::new() }
    }
}

impl<T> IncludeExclude<T> {
    /// Returns whether both sides are empty.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.unwanted.is_empty()
    }

    fn push(&mut self, value: T, unwanted: bool) {
        if unwanted { &mut self.unwanted } else { &mut self.wanted }.push(value);
    }
}

/// A word or phrase to be searched: folded for search, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    text: String,
    quoted: bool,
}

impl Needle {
    /// Creates the needle of a word (sentence marks at its end do not count) or of an exact phrase.
    fn new(text: &str, is_phrase: bool) -> Option<Self> {
        let folded = fold_for_search(text);
        let trimmed = if is_phrase { folded.trim() } else { strip_marks(folded.trim()) };
        (!trimmed.is_empty()).then(|| Self { text: trimmed.to_owned(), quoted: is_phrase })
    }

    /// Returns the folded text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether it was quoted: then it must always occur literally.
    pub fn is_quoted(&self) -> bool {
        self.quoted
    }
}

/// Returns the point in time, in milliseconds since 1970, that a local time stands for.
type PointInTime<'a> = &'a dyn Fn(NaiveDateTime) -> Option<i64>;

/// Value of `has:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasFilter {
    /// A link in the text.
    Link,
    /// An image, a video, a sound or a file.
    Media,
}

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Words and phrases.
    pub text: IncludeExclude<Needle>,
    /// `true` if an unquoted word ends in a question mark: replies are wanted then, not only
    /// messages with the same question.
    pub is_question: bool,
    /// Senders, as typed: ids or names (see [`Query::resolve_senders`]).
    pub from: IncludeExclude<String>,
    /// Message types.
    pub types: IncludeExclude<&'static str>,
    /// Properties.
    pub has: IncludeExclude<HasFilter>,
    /// Minimum time of sending, in milliseconds since 1970.
    pub after: Option<i64>,
    /// Exclusive maximum time of sending, in milliseconds since 1970.
    pub before: Option<i64>,
}

impl Query {
    /// Parses a query whose days are days in UTC.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        Self::parse_in(text, |local| Some(local.and_utc().timestamp_millis()))
    }

    /// Parses a query whose days and local times become points in time, in milliseconds since 1970,
    /// by `point`; `None` for one beyond the range of a calendar.
    pub fn parse_in(
        text: &str,
        point: impl Fn(NaiveDateTime) -> Option<i64>,
    ) -> Result<Self, QueryError> {
        if is_longer(text, MAX_QUERY) {
            return Err(QueryError::TooLong);
        }
        let mut query = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            rest = query.clause(rest, &point)?.trim_start();
        }
        if query == Self::default() { Err(QueryError::Empty) } else { Ok(query) }
    }

    /// Creates a query for one exact phrase, whatever its characters; `None` if it is empty.
    pub fn phrase(text: &str) -> Option<Self> {
        let mut query = Self::default();
        query.text.wanted.push(Needle::new(text, true)?);
        Some(query)
    }

    /// Replaces names by ids; `ids` returns the ids of a name. An unknown name stays, and matches
    /// nothing.
    pub fn resolve_senders(&mut self, mut ids: impl FnMut(&str) -> Vec<String>) {
        for side in [&mut self.from.wanted, &mut self.from.unwanted] {
            let resolved = side.drain(..).flat_map(|name| match ids(&name) {
                ids if ids.is_empty() => vec![name],
                ids => ids,
            });
            let resolved: Vec<_> = resolved.collect();
            *side = resolved;
        }
    }

    /// Parses one clause from the beginning of `text` and returns the rest.
    fn clause<'a>(&mut self, text: &'a str, point: PointInTime<'_>) -> Result<&'a str, QueryError> {
        let body = text
            .strip_prefix(is_minus)
            .filter(|body| body.chars().next().is_some_and(|c| !c.is_whitespace() && !is_minus(c)));
        let (unwanted, body) = (body.is_some(), body.unwrap_or(text));
        if let Some((field, value)) = field(body) {
            let (value, _, rest) = value_of(value)?;
            if value.is_empty() {
                return Err(QueryError::NoValue(field));
            }
            self.filter(field, value, unwanted, point)?;
            return Ok(rest);
        }
        let (value, is_phrase, rest) = value_of(body)?;
        if is_phrase || unwanted {
            self.add(value, is_phrase, unwanted);
        } else {
            // To exclude one of several words would exclude more than what was typed.
            each_word(value, |word| self.add(bare(word), false, false));
        }
        Ok(rest)
    }

    fn add(&mut self, text: &str, is_phrase: bool, unwanted: bool) {
        if let Some(needle) = Needle::new(text, is_phrase) {
            self.is_question |= !unwanted && !is_phrase && text.ends_with(QUESTION_MARKS);
            self.text.push(needle, unwanted);
        }
    }

    fn filter(
        &mut self,
        field: &'static str,
        value: &str,
        unwanted: bool,
        point: PointInTime<'_>,
    ) -> Result<(), QueryError> {
        match field {
            "from" => self.from.push(value.to_owned(), unwanted),
            "type" => self.types.push(message_type(value)?, unwanted),
            "has" => self.has.push(property(value)?, unwanted),
            _ if unwanted => return Err(QueryError::NotExcludable(field)),
            "after" => {
                let moment = moment(field, value, point)?;
                self.after = self.after.max(Some(moment));
            }
            _ => {
                let moment = moment(field, value, point)?;
                self.before = Some(self.before.map_or(moment, |before| before.min(moment)));
            }
        }
        Ok(())
    }
}

/// Returns whether `c` is a minus sign, or a short dash that is typed for one.
fn is_minus(c: char) -> bool {
    c == '－' || one_dash(c) == '-'
}

/// Parses the field that `text` begins with, if any, and returns the text after its colon.
pub(super) fn field(text: &str) -> Option<(&'static str, &str)> {
    const FIELDS: [&str; 5] = ["from", "type", "has", "after", "before"];
    let (name, value) = text.split_once([':', '：'])?;
    let field = FIELDS.into_iter().find(|field| name.eq_ignore_ascii_case(field))?;
    Some((field, value))
}

/// Calls `word` with the parts of a text between emoji and with the runs of emoji.
fn each_word<'a>(text: &'a str, mut word: impl FnMut(&'a str)) {
    // `❓` ends a sentence as `?` does.
    let is_emoji = |c| is_emoji(c) && !is_end_mark(c);
    let (mut start, mut last) = (0, None);
    // Invisible characters, such as joiners, belong to the character before them.
    for (at, c) in text.char_indices().filter(|&(_, c)| !is_ignorable(c)) {
        if last.is_some_and(|last| is_emoji(last) != is_emoji(c)) {
            word(&text[start..at]);
            start = at;
        }
        last = Some(c);
    }
    word(&text[start..]);
}

/// Parses a quoted or bare value; returns whether it is quoted, and the rest.
pub(super) fn value_of(text: &str) -> Result<(&str, bool, &str), QueryError> {
    const QUOTATION_MARKS: [char; 5] = ['"', '＂', '“', '”', '„'];
    const CORNER_BRACKETS: [(char, char); 4] =
        [('「', '」'), ('『', '』'), ('｢', '｣'), ('﹁', '﹂')];
    if let Some(quoted) = text.strip_prefix(QUOTATION_MARKS) {
        let (value, rest) = quoted.split_once(QUOTATION_MARKS).ok_or(QueryError::OpenQuote)?;
        return Ok((value, true, rest));
    }
    let bracketed = CORNER_BRACKETS
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.split_once(close));
    if let Some((value, rest)) = bracketed {
        return Ok((value, true, rest));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    Ok((&text[..end], false, &text[end..]))
}

fn message_type(value: &str) -> Result<&'static str, QueryError> {
    let known = MESSAGE_TYPES.into_iter().find(|known| value.eq_ignore_ascii_case(known));
    known.ok_or_else(|| QueryError::BadValue {
        field: "type",
        value: value.to_owned(),
        allowed: "text, image, video, audio, file, location, sticker or other",
    })
}

fn property(value: &str) -> Result<HasFilter, QueryError> {
    match value.to_ascii_lowercase().as_str() {
        "link" => Ok(HasFilter::Link),
        "media" => Ok(HasFilter::Media),
        _ => Err(QueryError::BadValue {
            field: "has",
            value: value.to_owned(),
            allowed: "link or media",
        }),
    }
}

/// Parses a day or a time to milliseconds since 1970, a day to its first moment.
fn moment(field: &'static str, value: &str, point: PointInTime<'_>) -> Result<i64, QueryError> {
    let millis = match Moment::parse(value) {
        Some(Moment::At(millis)) => Some(millis),
        Some(Moment::Local(local)) => point(local),
        None => None,
    };
    millis.ok_or_else(|| QueryError::BadValue {
        field,
        value: value.to_owned(),
        allowed: Moment::FORMS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needles(needles: &[Needle]) -> Vec<&str> {
        needles.iter().map(Needle::as_str).collect()
    }

    #[test]
    fn a_phrase_has_any_usual_quotation_marks() {
        let quoted = Query::parse(r#""no way""#).unwrap();
        for query in ["“no way”", "＂no way＂", "„no way“", "”no way”"] {
            assert_eq!(Query::parse(query).unwrap(), quoted, "{query}");
        }
        let quoted = Query::parse(r#"-"見「面」" from:"佐 藤""#).unwrap();
        for query in ["-『見「面」』 from:「佐 藤」", "-\"見「面」\" from:｢佐 藤｣"]
        {
            assert_eq!(Query::parse(query).unwrap(), quoted, "{query}");
        }
        let open = Query::parse("「見面").unwrap();
        assert_eq!(needles(&open.text.wanted), ["「見面"], "a bracket alone is text");
    }

    #[test]
    fn any_short_dash_excludes() {
        let typed = Query::parse("example -mail -from:Ann").unwrap();
        for minus in ['－', '\u{2010}', '\u{2013}', '\u{2212}'] {
            let query = format!("example {minus}mail {minus}from:Ann");
            assert_eq!(Query::parse(&query).unwrap(), typed, "{query}");
            let alone = Query::parse(&format!("tea {minus} cake")).unwrap();
            assert!(alone.text.unwanted.is_empty(), "{alone:?}");
        }
    }

    #[test]
    fn emoji_are_words_of_their_own() {
        let wanted = |query: &str| -> Vec<String> {
            let query = Query::parse(query).unwrap();
            query.text.wanted.iter().map(|needle| needle.as_str().to_owned()).collect()
        };
        assert_eq!(wanted("Goal🔥"), ["goal", "🔥"]);
        assert_eq!(wanted("我❤\u{fe0f}你"), ["我", "❤", "你"]);
        assert_eq!(wanted("ok!👍🏽👨\u{200d}👩\u{200d}👧"), ["ok", "👍🏽👨👩👧"]);
        assert_eq!(wanted("\u{200d}🎉"), ["🎉"]);
        assert_eq!(wanted("幾點❓"), ["幾點"]);
        assert_eq!(wanted("\"goal🔥\""), ["goal🔥"]);
        let query = Query::parse("-goal🔥 幾點？⏰").unwrap();
        assert_eq!(needles(&query.text.unwanted), ["goal🔥"]);
        assert!(query.is_question);
    }

    #[test]
    fn words_and_phrases_on_both_sides() {
        let query =
            Query::parse(r#" Hello “the  Wörld!” -spam -"no way" 營業時間？ C++ - "#).unwrap();
        let wanted = ["hello", "the world!", "營業時間", "c++", "-"];
        assert_eq!(needles(&query.text.wanted), wanted);
        assert_eq!(needles(&query.text.unwanted), ["spam", "no way"]);
        assert!(query.from.is_empty() && query.types.is_empty() && query.has.is_empty());
    }

    #[test]
    fn fields_filter() {
        let query = Query::parse(
            r#"from:"Ann Lee" From:U1 -from:U2 TYPE：image -type:sticker has:Link -has:media"#,
        )
        .unwrap();
        assert_eq!(query.from.wanted, ["Ann Lee", "U1"]);
        assert_eq!(query.from.unwanted, ["U2"]);
        assert_eq!((query.types.wanted, query.types.unwanted), (vec!["image"], vec!["sticker"]));
        assert_eq!(
            (query.has.wanted, query.has.unwanted),
            (vec![HasFilter::Link], vec![HasFilter::Media])
        );
        assert!(query.text.is_empty());
    }

    #[test]
    fn names_become_the_ids_of_all_whom_they_mean() {
        let mut query = Query::parse("from:ann from:bob -from:eve").unwrap();
        query.resolve_senders(|name| match name {
            "ann" => vec!["U1".to_owned(), "U2".to_owned()],
            "eve" => vec!["U3".to_owned()],
            _ => vec![],
        });
        assert_eq!(query.from.wanted, ["U1", "U2", "bob"]);
        assert_eq!(query.from.unwanted, ["U3"]);
    }

    /// Parses a query by a clock that is eight hours ahead of UTC.
    fn in_taipei(text: &str) -> Query {
        let point = |local: NaiveDateTime| Some(local.and_utc().timestamp_millis() - 8 * 3_600_000);
        Query::parse_in(text, point).unwrap()
    }

    #[test]
    fn days_begin_at_midnight_of_the_time_zone() {
        let query = Query::parse("after:2026-01-02 before:2026-01-02T00:00:00.500+08:00").unwrap();
        assert_eq!(query.after, Some(1_767_312_000_000));
        assert_eq!(query.before, Some(1_767_312_000_500 - 8 * 3_600_000));
        let taipei = in_taipei("after:2026/01/02 after:2025-12-31");
        assert_eq!(taipei.after, Some(1_767_312_000_000 - 8 * 3_600_000), "the later one counts");
        let before = Query::parse("before:2026-01-02 before:2027-01-02").unwrap();
        assert_eq!(before.before, Some(1_767_312_000_000), "the earlier one counts");
    }

    #[test]
    fn times_are_read_as_everywhere() {
        let query = in_taipei("after:2026-01-02T08:00 before:2026-01-02T08:00Z");
        assert_eq!(query.after, Some(1_767_312_000_000));
        assert_eq!(query.before, Some(1_767_312_000_000 + 8 * 3_600_000));
    }

    #[test]
    fn what_only_looks_like_the_language_is_text() {
        let query = Query::parse(r#"https://example.com 12:30 e-mail 5" :) --"#).unwrap();
        let words = ["https://example.com", "12:30", "e-mail", "5\"", ":)", "--"];
        assert_eq!(needles(&query.text.wanted), words);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = |text: &str| Query::parse(text).unwrap_err().to_string();
        assert_eq!(error(" \u{200b} "), "the query is empty");
        assert_eq!(error("\"\""), "the query is empty");
        assert_eq!(error(&"x".repeat(201)), "the query is longer than 200 characters");
        // As some devices send it: a letter and its accent apart.
        assert!(Query::parse(&"e\u{301}".repeat(200)).is_ok());
        assert_eq!(error(&"e\u{301}".repeat(201)), "the query is longer than 200 characters");
        assert_eq!(error("a \"b"), "a quotation mark is not closed");
        assert_eq!(error("from: x"), "nothing follows from:");
        assert_eq!(
            error("type:picture"),
            "type: takes text, image, video, audio, file, location, sticker or other, not picture"
        );
        assert_eq!(error("has:x"), "has: takes link or media, not x");
        assert_eq!(error("-before:2026-01-01"), "before: cannot be excluded with -");
        assert!(error("after:2026-02-30").starts_with("after: takes a day such as"));
    }
}
