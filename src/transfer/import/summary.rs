//! What an import tells: while it runs, and in the end.

use std::cmp::Reverse;
use std::collections::HashMap;

use chatkeep_core::id::UserId;
use chatkeep_core::store::{ImportId, ImportedMessage};
use chatkeep_core::time::Timestamp;
use serde::{Serialize, Serializer};

/// Lines that are shown when they are not understood.
const SHOWN: usize = 5;
/// How much of each, in characters.
const WIDTH: usize = 80;

/// What came of an import.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// The number by which it can be undone; none when it added nothing, or was a trial.
    #[serde(rename = "importId")]
    pub(crate) import: Option<ImportId>,
    /// The chat's name, where the file tells it.
    pub(crate) chat_name: Option<String>,
    /// The zone in which times were read; none where the file says it itself.
    pub(crate) time_zone: Option<String>,
    /// The encoding of a LINE text, where it is not UTF-8.
    pub(crate) encoding: Option<String>,
    /// When the first and the last message were sent.
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
    /// Senders of the messages in the file.
    #[serde(serialize_with = "listed")]
    pub(crate) people: HashMap<UserId, PersonFound>,
    /// Messages that are kept now and were not before.
    pub(crate) stored: u64,
    /// Messages that were known already.
    pub(crate) known: u64,
    /// Media files that are stored now and were not before.
    pub(crate) files: u64,
    /// Media files that are larger than this service keeps.
    pub(crate) files_too_large: u64,
    /// Messages that were erased once, or whose sender was.
    pub(crate) erased: u64,
    /// Lines that tell what happened in the chat instead of what somebody said.
    pub(crate) happened: u64,
    /// Lines that were not understood.
    pub(crate) not_understood: u64,
    /// The first of them.
    pub(crate) lines: Vec<Unknown>,
    /// Whether every subscriber's quota is full.
    pub(crate) full: bool,
    /// Messages that were left out because of that.
    pub(crate) left: u64,
}

/// Somebody whose messages are in the file.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonFound {
    /// Their name there.
    pub(crate) name: Option<String>,
    /// Their messages there.
    pub(crate) messages: u64,
}

/// A line that was not understood.
#[derive(Debug, Serialize)]
pub(crate) struct Unknown {
    /// Its number, from 1.
    pub(crate) line: u64,
    /// Why, where there is more to say than that.
    pub(crate) why: Option<String>,
    /// Its beginning.
    pub(crate) text: String,
}

/// How far an import is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes read.
    pub(crate) read: u64,
    /// Bytes there are.
    pub(crate) total: u64,
    /// Messages dealt with.
    pub(crate) messages: u64,
}

impl Summary {
    /// Takes note of a message in the file, and of its sender's name.
    pub(super) fn said(&mut self, message: &ImportedMessage, name: Option<String>) {
        let at = message.sent_at;
        self.from = Some(self.from.map_or(at, |from| from.min(at)));
        self.to = Some(self.to.map_or(at, |to| to.max(at)));
        let Some(sender) = &message.sender else { return };
        if let Some(person) = self.people.get_mut(sender) {
            person.messages += 1;
        } else {
            self.people.insert(sender.clone(), PersonFound { name, messages: 1 });
        }
    }

    /// The people, who sent the most first.
    pub(crate) fn by_messages(&self) -> Vec<(&UserId, &PersonFound)> {
        by_messages(&self.people)
    }

    /// Takes note of a line that was not understood.
    pub(super) fn unknown(&mut self, line: u64, why: Option<String>, text: &str) {
        self.not_understood += 1;
        if self.lines.len() < SHOWN {
            let mut short: String = text.chars().take(WIDTH).collect();
            if short.len() < text.len() {
                short.push('…');
            }
            self.lines.push(Unknown { line, why, text: short });
        }
    }
}

fn listed<S: Serializer>(
    people: &HashMap<UserId, PersonFound>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Listed<'a> {
        user_id: &'a UserId,
        #[serde(flatten)]
        person: &'a PersonFound,
    }
    let listed = by_messages(people).into_iter();
    serializer.collect_seq(listed.map(|(user_id, person)| Listed { user_id, person }))
}

fn by_messages(people: &HashMap<UserId, PersonFound>) -> Vec<(&UserId, &PersonFound)> {
    let mut people: Vec<_> = people.iter().collect();
    people.sort_by_key(|(id, person)| (Reverse(person.messages), *id));
    people
}
