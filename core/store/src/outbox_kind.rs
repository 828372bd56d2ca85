//! Kinds of events: their names on every surface.

use chatkeep_core::bounds::{Bounds, Subject};
use chatkeep_core::id::ChannelId;
use chatkeep_core::named;
use chatkeep_core::plan::UsageStatus;
use chatkeep_core::role::Scope;

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum OutboxEventKind {
    MessageReceived,
    MessageSent,
    MessageEdited,
    MessageUnsent,
    MemberJoined,
    MemberLeft,
    FileUploaded,
    MediaFailed,
    BackupPaused,
    BackupResumed,
    UsageWarning,
    UsageCritical,
    UsageExceeded,
    EndpointDisabled,
    SearchMatched,
    ImportAdded,
    ImportUndone,
}

named! {
    pub OutboxEventKind {
        MessageReceived = "message.received",
        MessageSent = "message.sent",
        MessageEdited = "message.edited",
        MessageUnsent = "message.unsent",
        MemberJoined = "member.joined",
        MemberLeft = "member.left",
        FileUploaded = "file.uploaded",
        MediaFailed = "media.failed",
        BackupPaused = "backup.paused",
        BackupResumed = "backup.resumed",
        UsageWarning = "usage.warning",
        UsageCritical = "usage.critical",
        UsageExceeded = "usage.exceeded",
        EndpointDisabled = "endpoint.disabled",
        SearchMatched = "search.matched",
        ImportAdded = "import.added",
        ImportUndone = "import.undone",
    }
}

impl OutboxEventKind {
    /// Returns `true` if its subject is a message.
    pub const fn is_about_message(self) -> bool {
        matches!(
            self,
            Self::MessageReceived
                | Self::MessageSent
                | Self::MessageEdited
                | Self::MessageUnsent
                | Self::FileUploaded
                | Self::MediaFailed
                | Self::SearchMatched
        )
    }

    /// Returns the scope needed to receive the event; `None` for what any credential may know.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::MessageReceived
            | Self::MessageSent
            | Self::MessageEdited
            | Self::MessageUnsent
            | Self::SearchMatched
            | Self::ImportAdded
            | Self::ImportUndone => Some(Scope::ReadMessages),
            Self::MemberJoined | Self::MemberLeft => Some(Scope::ReadMembers),
            Self::FileUploaded | Self::MediaFailed => Some(Scope::ReadMedia),
            // Ids of webhooks are for callers who may manage webhooks.
            Self::EndpointDisabled => Some(Scope::ManageWebhooks),
            Self::BackupPaused
            | Self::BackupResumed
            | Self::UsageWarning
            | Self::UsageCritical
            | Self::UsageExceeded => None,
        }
    }

    /// Returns `true` if it is about its user's account with all channels, not about one of them.
    pub const fn is_about_account(self) -> bool {
        matches!(
            self,
            Self::UsageWarning | Self::UsageCritical | Self::UsageExceeded | Self::EndpointDisabled
        )
    }

    /// Returns `true` if a webhook with these bounds may deliver such events.
    pub fn is_within(self, bounds: &Bounds) -> bool {
        (bounds.channels.is_none() || !self.is_about_account())
            && self.scope().is_none_or(|scope| bounds.has(scope))
    }

    /// Returns the subject for [`chatkeep_core::bounds::Bounds::admit`], in that channel.
    pub const fn subject(self, channel: Option<&ChannelId>) -> Subject<'_> {
        match channel {
            Some(channel) => Subject::of_channel(channel, self.scope()),
            None => Subject::of_account(self.scope()),
        }
    }

    /// Returns the kind of a new message: the bot's own messages were not received.
    pub(super) const fn of_message(is_bot: bool) -> Self {
        if is_bot { Self::MessageSent } else { Self::MessageReceived }
    }

    /// Returns `true` if it is the first event of a message.
    pub(super) const fn is_new_message(self) -> bool {
        matches!(self, Self::MessageReceived | Self::MessageSent)
    }

    /// Returns the kind of reaching that usage; `None` for going back to OK.
    pub(super) const fn of_usage(status: UsageStatus) -> Option<Self> {
        match status {
            UsageStatus::Ok => None,
            UsageStatus::Warning => Some(Self::UsageWarning),
            UsageStatus::Critical => Some(Self::UsageCritical),
            UsageStatus::Exceeded => Some(Self::UsageExceeded),
        }
    }
}
