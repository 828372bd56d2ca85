//! Progress and summary of an import.

use std::cmp::Reverse;
use std::collections::HashMap;

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_index::cut::shortened;
use chatkeep_store::{ImportId, ImportedMessage};
use serde::{Serialize, Serializer};

/// Maximum number of unrecognised lines that are shown.
const SHOWN: usize = 5;
/// Maximum length of each in characters.
const WIDTH: usize = 80;

/// Result of an import.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Number for undoing it; `None` when it added nothing, or was a dry run.
    #[serde(rename = "importId")]
    pub import: Option<ImportId>,
    /// Name of the chat, if the file has it.
    pub chat_name: Option<String>,
    /// Zone in which times were read; `None` where the file declares it itself.
    pub time_zone: Option<String>,
    /// Encoding of a LINE text, where it is not UTF-8.
    pub encoding: Option<String>,
    /// Time of the first message.
    pub from: Option<Timestamp>,
    /// Time of the last message.
    pub to: Option<Timestamp>,
    /// Senders of the messages in the file.
    #[serde(serialize_with = "listed")]
    pub people: HashMap<UserId, PersonFound>,
    /// Number of messages that were added.
    pub stored: u64,
    /// Number of messages that were stored already.
    pub known: u64,
    /// Number of media files that were added.
    pub files: u64,
    /// Number of media files beyond this service's maximum size.
    pub files_too_large: u64,
    /// Number of media files that the export has no more, while it has others.
    pub files_missing: u64,
    /// Number of media files that cannot be read, or are not what was exported.
    pub files_damaged: u64,
    /// Number of messages that had been erased, or are of a deleted time, or whose sender had been
    /// erased, or had opted out when they were sent.
    pub erased: u64,
    /// Number of texts and names in which U+FFFD stands for U+0000, which no database stores.
    pub replaced: u64,
    /// Number of lines about events in the chat instead of messages.
    pub happened: u64,
    /// Number of unrecognised lines.
    pub not_understood: u64,
    /// The first of them.
    pub lines: Vec<Unknown>,
    /// True if every subscriber's quota is full.
    pub full: bool,
    /// Number of messages that were left out because of that.
    pub left: u64,
    /// Number of media files that were left out because of that, those of such messages included.
    pub files_left: u64,
}

/// Person whose messages are in the file.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonFound {
    /// Their name in the file.
    pub name: Option<String>,
    /// Number of their messages.
    pub messages: u64,
}

/// Unrecognised line.
#[derive(Debug, Serialize)]
pub struct Unknown {
    /// Line number, from 1.
    pub line: u64,
    /// Reason, where it is more specific.
    pub why: Option<String>,
    /// Beginning of the line.
    pub text: String,
}

/// Progress of an import.
#[derive(Clone, Copy, Debug)]
pub struct ImportProgress {
    /// Bytes read.
    pub read: u64,
    /// Total bytes.
    pub total: u64,
    /// Number of processed messages.
    pub messages: u64,
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
    pub fn by_messages(&self) -> Vec<(&UserId, &PersonFound)> {
        by_messages(&self.people)
    }

    /// Records an unrecognised line.
    pub(super) fn unknown(&mut self, line: u64, why: Option<String>, text: &str) {
        self.not_understood += 1;
        if self.lines.len() < SHOWN {
            self.lines.push(Unknown { line, why, text: shortened(text, WIDTH).into_owned() });
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
