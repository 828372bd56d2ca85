//! Texts without what identifies people.

use std::borrow::Cow;
use std::ops::Range;

use chatkeep_core::message::Mention;

use super::links::links;
use super::mails::mails;
use super::names::KnownNames;
use super::numbers::{Hidden, accounts, numbers};
use super::plain::Plain;

/// Stands for a mention of everybody in other words than the known ones.
const EVERYBODY: &str = "@All";
/// Stands for a mention of somebody whom the platform does not name.
const SOMEBODY: &str = "@[name]";

/// Text and its mentions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MaskedText {
    pub(super) text: String,
    pub(super) mentions: Vec<Mention>,
}

/// Part of the original in bytes, what stands for it, and the mention that it is.
type Part = (Range<usize>, String, Option<Mention>);

/// Id of a person in a text, in bytes, and what stands for it.
type FoundId<'t> = (Range<usize>, Cow<'t, str>);

/// Masks a text with these ids of people in it; `name` returns what stands for the name of a
/// mentioned person.
pub(super) fn mask(
    text: &str,
    mentions: &[Mention],
    (ids, names): (&[FoundId<'_>], &KnownNames),
    name: impl Fn(&Mention) -> Option<String>,
) -> MaskedText {
    let plain = Plain::of(text);
    let by_chars = |(range, stand_in)| (plain.original(&range), stand_in, None);
    // Links come first, for what is in them may open something, whoever it names.
    let links = links(text, &plain, names).into_iter().map(by_chars);
    let ids = ids.iter().map(|(range, own)| (range.clone(), own.clone().into_owned(), None));
    let mut cover = Cover::new(&plain);
    cover.add(links.chain(mentioned(text, mentions, name)).chain(ids));
    cover.add_mails(mails(&plain));
    cover.add(accounts(&plain).into_iter().chain(numbers(&plain)).map(by_chars));
    cover.add_rests(names.find(&plain));
    cover.parts.sort_by_key(|(range, ..)| range.start);
    assembled(text, cover.parts)
}

/// Parts of a text that are replaced, none over another.
struct Cover<'t> {
    plain: &'t Plain,
    parts: Vec<Part>,
    /// True for each character that is in one of them.
    taken: Vec<bool>,
}

impl<'t> Cover<'t> {
    fn new(plain: &'t Plain) -> Self {
        Self { plain, parts: Vec::new(), taken: vec![false; plain.chars.len()] }
    }

    /// Adds the parts of which nothing is taken.
    fn add(&mut self, parts: impl Iterator<Item = Part>) {
        for part in parts {
            let range = self.plain.chars_of(&part.0);
            if !self.taken[range.clone()].contains(&true) {
                self.taken[range].fill(true);
                self.parts.push(part);
            }
        }
    }

    /// Adds mail addresses. Of `thanks@J.Lin`, whose host is all of a mention, the mention is enough.
    fn add_mails(&mut self, mails: Vec<Hidden>) {
        let plain = self.plain;
        let mentions = self.parts.iter().filter(|(.., mention)| mention.is_some());
        let mentions: Vec<_> = mentions.map(|(range, ..)| plain.chars_of(range)).collect();
        let is_mention = |mail: &Range<usize>| {
            mentions.iter().any(|mention| {
                let begins = mail.contains(&mention.start) && plain.at(mention.start) == Some('@');
                begins && mention.end >= mail.end
            })
        };
        self.add_rests(mails.into_iter().filter(|(range, _)| !is_mention(range)).collect());
    }

    /// Adds addresses or names, or what is not taken of them: beside a number, the rest of a name
    /// still tells. The signs of one tell as well as its letters, and some have nothing else.
    fn add_rests(&mut self, parts: Vec<Hidden>) {
        for (range, stand_in) in parts {
            let is_whole = !self.taken[range.clone()].contains(&true);
            let rests = if is_whole { vec![range] } else { free(self.plain, &self.taken, range) };
            self.add_free(rests, &stand_in);
        }
    }

    fn add_free(&mut self, ranges: Vec<Range<usize>>, stand_in: &str) {
        for range in ranges {
            self.taken[range.clone()].fill(true);
            self.parts.push((self.plain.original(&range), stand_in.to_owned(), None));
        }
    }
}

/// Returns the words of a range, and what lies between them, of which nothing is taken.
fn free(plain: &Plain, taken: &[bool], range: Range<usize>) -> Vec<Range<usize>> {
    let mut rests: Vec<Range<usize>> = Vec::new();
    for at in range.filter(|at| !taken[*at]) {
        match rests.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => rests.push(at..at + 1),
        }
    }
    let is_word = |at: &usize| plain.chars[*at].is_alphanumeric();
    let words = rests.into_iter().filter_map(|rest| {
        let start = rest.clone().find(is_word)?;
        Some(start..rest.rev().find(is_word)? + 1)
    });
    words.collect()
}

/// Returns the mentions that lie within the text, none over another.
fn mentioned(
    text: &str,
    mentions: &[Mention],
    name: impl Fn(&Mention) -> Option<String>,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut sorted: Vec<_> = mentions.iter().collect();
    sorted.sort_by_key(|mention| mention.start);
    let offsets = unit_offsets(text);
    for mention in sorted {
        let (start, length) = (mention.start as usize, mention.length as usize);
        let end = start.checked_add(length).and_then(|end| offsets.get(end).copied().flatten());
        let (Some(start), Some(end)) = (offsets.get(start).copied().flatten(), end) else {
            continue;
        };
        if start >= end || parts.last().is_some_and(|(last, ..)| last.end > start) {
            continue;
        }
        let words = &text[start..end];
        let stand_in = match name(mention) {
            Some(name) => format!("@{name}"),
            None if !mention.is_of_everybody(text) => SOMEBODY.to_owned(),
            // Whatever else was written there: who imports messages says who is mentioned.
            None if Mention::names_everybody(words) => words.to_owned(),
            None => EVERYBODY.to_owned(),
        };
        parts.push((start..end, stand_in, Some(mention.clone())));
    }
    parts
}

/// Returns the byte at which each UTF-16 unit begins; `None` inside of a character.
fn unit_offsets(text: &str) -> Vec<Option<usize>> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    for (at, c) in text.char_indices() {
        offsets.push(Some(at));
        if c.len_utf16() == 2 {
            offsets.push(None);
        }
    }
    offsets.push(Some(text.len()));
    offsets
}

fn assembled(text: &str, parts: Vec<Part>) -> MaskedText {
    let (mut masked, mut mentions, mut at, mut units) = (String::new(), Vec::new(), 0, 0);
    let length = |text: &str| u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
    for (range, stand_in, mention) in parts {
        if range.end <= at {
            continue;
        }
        let kept = text.get(at..range.start).unwrap_or_default();
        masked.push_str(kept);
        units += length(kept);
        let own = length(&stand_in);
        mentions.extend(mention.map(|mention| Mention { start: units, length: own, ..mention }));
        masked.push_str(&stand_in);
        units += own;
        at = range.end;
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    MaskedText { text: masked, mentions }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
