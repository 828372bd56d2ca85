//! Lines of a conversation: their speakers, their pace and their words.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::{Content, MediaInfo, Mention, Sticker};
use chatkeep_core::time::Timestamp;

use super::super::script::{ScriptLine, Talk, What};
use super::{CastMember, Deed, Planner, Said, SampleFile, days_before};

/// Different photos of a history.
const PHOTOS: usize = 8;

impl Planner<'_> {
    /// Adds a conversation that begins at that time.
    pub(super) fn talk(&mut self, begin: Timestamp, talk: &Talk) {
        if self.is_absent(begin) {
            return;
        }
        let Some(cast) = self.cast(begin, talk) else { return };
        let slots = self.slots();
        let (mut at, mut before) = (begin, None);
        for line in &talk.lines {
            let sender = cast[&line.who].clone();
            let quoted = before.take().filter(|_| line.replies);
            before = Some(self.line_said(at, line, &sender, quoted, (&slots, &cast)));
            at = at.plus(self.pause());
        }
    }

    fn pause(&mut self) -> Duration {
        let seconds = match self.dice.below(100) {
            0..6 => self.dice.between(400, 1_500),
            6..40 => self.dice.between(60, 300),
            _ => self.dice.between(8, 70),
        };
        Duration::from_millis(
            seconds.unsigned_abs() * 1_000 + self.dice.between(0, 999).unsigned_abs(),
        )
    }

    fn line_said(
        &mut self,
        at: Timestamp,
        line: &ScriptLine,
        sender: &CastMember,
        quoted: Option<MessageId>,
        (slots, cast): (&[(String, String)], &BTreeMap<char, CastMember>),
    ) -> MessageId {
        let (mut edited, mut file) = (None, None);
        let content = match &line.what {
            What::Text(text, other) => {
                edited = other.as_ref().map(|other| text_content(other, slots, cast));
                text_content(text, slots, cast)
            }
            What::Photo => {
                file = Some(SampleFile::Photo(self.dice.below(PHOTOS)));
                Content::Image(MediaInfo::default())
            }
            What::Sticker(word) => Content::Sticker(Sticker {
                package_id: "446".to_owned(),
                sticker_id: "1988".to_owned(),
                keywords: vec![word.clone()],
                ..Sticker::default()
            }),
            What::File(name) => {
                let text = format!("{name}\n{}\n", self.local(at).format("%Y-%m-%d"));
                let file_size = i64::try_from(text.len()).ok();
                file = Some(SampleFile::Text(text));
                let file_name = Some(name.clone());
                Content::File(MediaInfo { file_name, file_size, ..MediaInfo::default() })
            }
            What::Place { title, address, latitude, longitude } => Content::Location {
                title: Some(title.clone()),
                address: Some(address.clone()),
                latitude: *latitude,
                longitude: *longitude,
            },
        };
        let id = self.say(at, sender.id.clone(), content, quoted, file);
        if let Some(content) = edited {
            let later = at.plus(Duration::from_secs(self.dice.between(15, 90).unsigned_abs()));
            self.step(later, Deed::Edited(id.clone(), content));
        }
        if line.unsent {
            let later = at.plus(Duration::from_secs(self.dice.between(40, 400).unsigned_abs()));
            self.step(later, Deed::Unsent(id.clone()));
        }
        id
    }

    pub(super) fn say(
        &mut self,
        at: Timestamp,
        sender: UserId,
        content: Content,
        quoted: Option<MessageId>,
        file: Option<SampleFile>,
    ) -> MessageId {
        self.messages += 1;
        // Like those of the platform, which the emulator gives out: time and number.
        let id = MessageId::new(format!("{}{:05}", at.millis(), self.messages % 100_000));
        self.step(at, Deed::Said(Said { id: id.clone(), sender, content, quoted, file }));
        id
    }

    /// Returns who speaks in a conversation: the owner as `O`, others of those who are there then;
    /// `None` if they are too few.
    fn cast(&mut self, at: Timestamp, talk: &Talk) -> Option<BTreeMap<char, CastMember>> {
        let there = |person: &&CastMember| {
            person.joined.is_none_or(|joined| joined < at)
                && person.left.is_none_or(|left| at.plus(Duration::from_hours(6)) < left)
        };
        let mut others: Vec<&CastMember> = self.people[1..].iter().filter(there).collect();
        let mut cast = BTreeMap::from([('O', self.people[0].clone())]);
        for line in &talk.lines {
            if cast.contains_key(&line.who) {
                continue;
            }
            if others.is_empty() {
                return None;
            }
            // Some say more than others.
            let one = self.dice.below(others.len()).min(self.dice.below(others.len()));
            cast.insert(line.who, others.remove(one).clone());
        }
        Some(cast)
    }

    fn slots(&mut self) -> Vec<(String, String)> {
        let script = self.script;
        let choice = |(name, choices): &(String, Vec<String>)| {
            let chosen = choices[self.dice.below(choices.len())].clone();
            (format!("{{{name}}}"), chosen)
        };
        script.slots.iter().map(choice).collect()
    }

    fn is_absent(&self, at: Timestamp) -> bool {
        self.past.absence.is_some_and(|(from, to)| {
            let end = at.plus(Duration::from_hours(2));
            end > days_before(self.now, from) && at <= days_before(self.now, to)
        })
    }
}

/// Returns a text with its slots filled and its mentions named.
fn text_content(
    text: &str,
    slots: &[(String, String)],
    cast: &BTreeMap<char, CastMember>,
) -> Content {
    let filled = slots.iter().fold(text.to_owned(), |text, (slot, with)| text.replace(slot, with));
    let (mut text, mut mentions) = (String::new(), Vec::new());
    let mut rest = filled.as_str();
    while let Some(at) = rest.find('@') {
        let letter = rest[at + 1..].chars().next();
        let person = letter.and_then(|letter| cast.get(&letter));
        text.push_str(&rest[..at]);
        if let Some(person) = person {
            let name = format!("@{}", person.name);
            mentions.push(Mention {
                user_id: Some(person.id.clone()),
                start: units(&text),
                length: units(&name),
                is_self: false,
                is_all: None,
            });
            text.push_str(&name);
            rest = &rest[at + 2..];
        } else {
            text.push('@');
            rest = &rest[at + 1..];
        }
    }
    text.push_str(rest);
    Content::Text { text, emojis: Vec::new(), mentions }
}

fn units(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}
