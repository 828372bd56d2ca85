//! The endpoints of the Messaging API that are called, and how often each may be.

/// An endpoint: what is counted, limited and paused together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Reply,
    Push,
    Profile,
    Group,
    MemberCount,
    Bot,
    Content,
    Preview,
    Transcoding,
}

/// A host of the Messaging API: what fails and comes back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Messages, people, chats.
    Api,
    /// Files.
    Data,
}

/// LINE's limit for each of these endpoints and each bot, in calls a second ("Rate limits" of the
/// Messaging API reference: 2,000 for every endpoint that it does not name).
pub(super) const PER_SECOND: u32 = 2_000;
/// How many of them may come at once.
pub(super) const BURST: u32 = 200;

impl Endpoint {
    /// Every endpoint there is.
    pub(super) const ALL: [Self; 9] = [
        Self::Reply,
        Self::Push,
        Self::Profile,
        Self::Group,
        Self::MemberCount,
        Self::Bot,
        Self::Content,
        Self::Preview,
        Self::Transcoding,
    ];

    /// Its name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Push => "push",
            Self::Profile => "profile",
            Self::Group => "group_summary",
            Self::MemberCount => "member_count",
            Self::Bot => "bot_info",
            Self::Content => "content",
            Self::Preview => "preview",
            Self::Transcoding => "transcoding",
        }
    }

    /// Where it is.
    pub(super) const fn host(self) -> Host {
        match self {
            Self::Content | Self::Preview | Self::Transcoding => Host::Data,
            _ => Host::Api,
        }
    }
}

impl Host {
    /// Its name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Data => "api-data",
        }
    }
}
