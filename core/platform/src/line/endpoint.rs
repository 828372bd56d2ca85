//! Endpoints of the Messaging API that are called, and their rate limits.

/// An endpoint: the unit of metrics, rate limits and pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Reply,
    Push,
    Profile,
    Group,
    MemberCount,
    Bot,
    Token,
    Content,
    Preview,
    Transcoding,
}

/// A host of the Messaging API: the unit of the circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Messages, people, chats.
    Api,
    /// Files.
    Data,
}

/// LINE's rate limit of each of these endpoints and each bot, in calls per second ("Rate limits" of
/// the Messaging API reference: 2,000 for every endpoint that it does not name).
pub(super) const PER_SECOND: u32 = 2_000;
/// Burst size, in calls.
pub(super) const BURST: u32 = 200;

impl Endpoint {
    /// Every endpoint.
    pub(super) const ALL: [Self; 10] = [
        Self::Reply,
        Self::Push,
        Self::Profile,
        Self::Group,
        Self::MemberCount,
        Self::Bot,
        Self::Token,
        Self::Content,
        Self::Preview,
        Self::Transcoding,
    ];

    /// Returns its name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Push => "push",
            Self::Profile => "profile",
            Self::Group => "group_summary",
            Self::MemberCount => "member_count",
            Self::Bot => "bot_info",
            Self::Token => "token_verification",
            Self::Content => "content",
            Self::Preview => "preview",
            Self::Transcoding => "transcoding",
        }
    }

    /// Returns its host.
    pub(super) const fn host(self) -> Host {
        match self {
            Self::Content | Self::Preview | Self::Transcoding => Host::Data,
            _ => Host::Api,
        }
    }
}

impl Host {
    /// Returns its name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Data => "api-data",
        }
    }
}
