//! The kinds of what happens: their names on every surface.

use crate::bounds::Subject;
use crate::id::ChannelId;
use crate::plan::UsageStatus;
use crate::role::Scope;

/// The kinds of what happens.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, utoipa::ToSchema, serde::Serialize, serde::Deserialize,
)]
#[expect(missing_docs, reason = "the names say it")]
pub enum HappeningKind {
    #[serde(rename = "message.received")]
    MessageReceived,
    #[serde(rename = "message.sent")]
    MessageSent,
    #[serde(rename = "message.edited")]
    MessageEdited,
    #[serde(rename = "message.unsent")]
    MessageUnsent,
    #[serde(rename = "member.joined")]
    MemberJoined,
    #[serde(rename = "member.left")]
    MemberLeft,
    #[serde(rename = "file.uploaded")]
    FileUploaded,
    #[serde(rename = "media.failed")]
    MediaFailed,
    #[serde(rename = "backup.paused")]
    BackupPaused,
    #[serde(rename = "backup.resumed")]
    BackupResumed,
    #[serde(rename = "usage.warning")]
    UsageWarning,
    #[serde(rename = "usage.critical")]
    UsageCritical,
    #[serde(rename = "usage.exceeded")]
    UsageExceeded,
    #[serde(rename = "endpoint.disabled")]
    EndpointDisabled,
}

impl HappeningKind {
    /// Every kind there is.
    pub const ALL: [Self; 14] = [
        Self::MessageReceived,
        Self::MessageSent,
        Self::MessageEdited,
        Self::MessageUnsent,
        Self::MemberJoined,
        Self::MemberLeft,
        Self::FileUploaded,
        Self::MediaFailed,
        Self::BackupPaused,
        Self::BackupResumed,
        Self::UsageWarning,
        Self::UsageCritical,
        Self::UsageExceeded,
        Self::EndpointDisabled,
    ];

    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MessageReceived => "message.received",
            Self::MessageSent => "message.sent",
            Self::MessageEdited => "message.edited",
            Self::MessageUnsent => "message.unsent",
            Self::MemberJoined => "member.joined",
            Self::MemberLeft => "member.left",
            Self::FileUploaded => "file.uploaded",
            Self::MediaFailed => "media.failed",
            Self::BackupPaused => "backup.paused",
            Self::BackupResumed => "backup.resumed",
            Self::UsageWarning => "usage.warning",
            Self::UsageCritical => "usage.critical",
            Self::UsageExceeded => "usage.exceeded",
            Self::EndpointDisabled => "endpoint.disabled",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether its subject is a message.
    pub const fn is_about_message(self) -> bool {
        matches!(
            self,
            Self::MessageReceived
                | Self::MessageSent
                | Self::MessageEdited
                | Self::MessageUnsent
                | Self::FileUploaded
                | Self::MediaFailed
        )
    }

    /// The scope that being told of it needs; `None` for what any
    /// credential may know.
    pub const fn scope(self) -> Option<Scope> {
        match self {
            Self::MessageReceived
            | Self::MessageSent
            | Self::MessageEdited
            | Self::MessageUnsent => Some(Scope::ReadMessages),
            Self::MemberJoined | Self::MemberLeft => Some(Scope::ReadMembers),
            Self::FileUploaded | Self::MediaFailed => Some(Scope::ReadMedia),
            // Ids of webhooks are for those who may deal with webhooks.
            Self::EndpointDisabled => Some(Scope::ManageWebhooks),
            Self::BackupPaused
            | Self::BackupResumed
            | Self::UsageWarning
            | Self::UsageCritical
            | Self::UsageExceeded => None,
        }
    }

    /// Whether it is about its user's account with all channels together, and not about one.
    pub const fn is_about_account(self) -> bool {
        matches!(
            self,
            Self::UsageWarning | Self::UsageCritical | Self::UsageExceeded | Self::EndpointDisabled
        )
    }

    /// What it is for [`crate::bounds::Bounds::admit`], in that channel.
    pub const fn subject(self, channel: Option<&ChannelId>) -> Subject<'_> {
        match channel {
            Some(channel) => Subject::of_channel(channel, self.scope()),
            None => Subject::of_account(self.scope()),
        }
    }

    /// The kind of a new message: what the bot says itself was not received.
    pub(super) const fn of_message(is_bot: bool) -> Self {
        if is_bot { Self::MessageSent } else { Self::MessageReceived }
    }

    /// Whether it tells of a message for the first time.
    pub(super) const fn is_new_message(self) -> bool {
        matches!(self, Self::MessageReceived | Self::MessageSent)
    }

    /// What reaching that usage is called; nothing for going back to OK.
    pub(super) const fn of_usage(status: UsageStatus) -> Option<Self> {
        match status {
            UsageStatus::Ok => None,
            UsageStatus::Warning => Some(Self::UsageWarning),
            UsageStatus::Critical => Some(Self::UsageCritical),
            UsageStatus::Exceeded => Some(Self::UsageExceeded),
        }
    }
}
