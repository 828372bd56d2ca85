//! Progress and summary of an import.

use std::cmp::Reverse;
use std::collections::HashMap;

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ImportId, ImportedMessage};
use serde::{Serialize, Serializer};

/// Maximum number of unrecognised lines that are shown.
const SHOWN: usize = 5;
/// Maximum length of each in characters.
const WIDTH: usize = 80;

/// Result of an import.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// Number for undoing it; `None` when it added nothing, or was a dry run.
    #[serde(rename = "importId")]
    pub(crate) import: Option<ImportId>,
    /// Name of the chat, if the file has it.
    pub(crate) chat_name: Option<String>,
    /// Zone in which times were read; `None` where the file declares it itself.
    pub(crate) time_zone: Option<String>,
    /// Encoding of a LINE text, where it is not UTF-8.
    pub(crate) encoding: Option<String>,
    /// Times of the first and the last message.
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
    /// Senders of the messages in the file.
    #[serde(serialize_with = "listed")]
    pub(crate) people: HashMap<UserId, PersonFound>,
    /// Number of messages that were added.
    pub(crate) stored: u64,
    /// Number of messages that were stored already.
    pub(crate) known: u64,
    /// Number of media files that were added.
    pub(crate) files: u64,
    /// Number of media files beyond this service's maximum size.
    pub(crate) files_too_large: u64,
    /// Number of messages that had been erased, or are of a deleted time, or whose sender had been
    /// erased, or had opted out when they were sent.
    pub(crate) erased: u64,
    /// Number of lines about events in the chat instead of messages.
    pub(crate) happened: u64,
    /// Number of unrecognised lines.
    pub(crate) not_understood: u64,
    /// The first of them.
    pub(crate) lines: Vec<Unknown>,
    /// True if every subscriber's quota is full.
    pub(crate) full: bool,
    /// Number of messages that were left out because of that.
    pub(crate) left: u64,
}

/// Person whose messages are in the file.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PersonFound {
    /// Their name in the file.
    pub(crate) name: Option<String>,
    /// Number of their messages.
    pub(crate) messages: u64,
}

/// Unrecognised line.
#[derive(Debug, Serialize)]
pub(crate) struct Unknown {
    /// Line number, from 1.
    pub(crate) line: u64,
    /// Reason, where it is more specific.
    pub(crate) why: Option<String>,
    /// Beginning of the line.
    pub(crate) text: String,
}

/// Progress of an import.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImportProgress {
    /// Bytes read.
    pub(crate) read: u64,
    /// Total bytes.
    pub(crate) total: u64,
    /// Number of processed messages.
    pub(crate) messages: u64,
}

impl Summary {
    /// Counts a message in the file, and records its sender's name.
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

    /// Returns the people, sorted by number of messages, descending.
    pub(crate) fn by_messages(&self) -> Vec<(&UserId, &PersonFound)> {
        by_messages(&self.people)
    }

    /// Records an unrecognised line.
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
