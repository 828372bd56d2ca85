//! Imported messages, and what became of them.

use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::{EarlierTexts, MessageType};
use chatkeep_core::time::Timestamp;

use crate::media::{MediaReason, MediaStatus};

/// Imported message.
#[derive(Clone, Debug)]
pub struct ImportedMessage {
    /// Message id.
    pub id: MessageId,
    /// Id under which an earlier version of the import may have stored it.
    pub former_id: Option<MessageId>,
    /// Time of sending.
    pub sent_at: Timestamp,
    /// Latest time at which it may have been sent; `None` when `sent_at` is exact.
    pub sent_until: Option<Timestamp>,
    /// Time at which another store first stored it; `None` when no store did.
    pub kept_at: Option<Timestamp>,
    /// Sender, if known.
    pub sender: Option<UserId>,
    /// People of whom one may be the true sender, where the source has only a name.
    pub candidates: Vec<UserId>,
    /// People who opted out at some time, of whom one may be the sender because the name is nobody's
    /// any more. Their opting out counts, and their erasure does not: it was of what was theirs by
    /// name.
    pub unnamed_candidates: Vec<UserId>,
    /// Message type.
    pub kind: MessageType,
    /// Content as stored JSON; `None` for a retracted message.
    pub content: Option<String>,
    /// Quoted message.
    pub quoted: Option<MessageId>,
    /// `true` if the bot sent it.
    pub is_bot: bool,
    /// Time of its present content, if it was edited.
    pub edited_at: Option<Timestamp>,
    /// Time of its retraction.
    pub unsent_at: Option<Timestamp>,
    /// File state, for media types.
    pub media: Option<ImportedMedia>,
    /// Earlier texts, if it was edited; stored where the channel keeps them.
    pub earlier_texts: EarlierTexts,
}

impl ImportedMessage {
    /// Returns the ids under which it may be stored.
    pub(super) fn ids(&self) -> impl Iterator<Item = &MessageId> {
        std::iter::once(&self.id).chain(&self.former_id)
    }

    /// Returns its sender and the people who may be it by their name.
    pub(super) fn named_senders(&self) -> impl Iterator<Item = &UserId> {
        self.sender.iter().chain(&self.candidates)
    }

    /// Returns its sender and all people who may be it.
    pub(super) fn possible_senders(&self) -> impl Iterator<Item = &UserId> {
        self.named_senders().chain(&self.unnamed_candidates)
    }
}

/// State of an imported message's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMedia {
    /// Media status.
    pub status: MediaStatus,
    /// Reason for a missing file, if known.
    pub reason: Option<MediaReason>,
}

/// Person named by imported messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedPerson {
    /// User id.
    pub id: UserId,
    /// Name.
    pub display_name: Option<String>,
    /// Picture.
    pub picture_url: Option<String>,
}

/// Result of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of newly stored messages.
    pub stored: usize,
    /// Number of messages known before.
    pub known: usize,
    /// Number of messages that were erased once, or are of a deleted time, or whose sender was
    /// erased, or had opted out when they were sent.
    pub erased: usize,
    /// Every subscriber's quota is full: the batch ended after the messages counted above.
    pub full: bool,
}

impl Imported {
    /// Number of processed messages of the batch, from its beginning.
    pub const fn taken(&self) -> usize {
        self.stored + self.known + self.erased
    }
}

/// Outcome of a batch, or the reason for its refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// Processed.
    Done(Imported),
    /// Nobody subscribes to the channel, so nothing of it is stored.
    NotSubscribed,
    /// The import was undone while it ran.
    Undone,
}
