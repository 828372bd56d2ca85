//! Endpoints of the Messaging API that are called, and their rate limits.

use chatkeep_core::named;

/// An endpoint: the unit of metrics, rate limits and pauses.
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
    WebhookAddress,
    WebhookTest,
    Quota,
    TokenVerify,
    TokenIssue,
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
/// the Messaging API reference: 2,000 for every endpoint that it does not name). The endpoints of a
/// bot's set-up have lower ones; those are called by hand alone, and a 429 says so there.
pub(super) const PER_SECOND: u32 = 2_000;
/// Burst size, in calls.
pub(super) const BURST: u32 = 200;

named! {
    pub(super) Endpoint {
        Reply = "reply",
        Push = "push",
        Profile = "profile",
        Group = "group_summary",
        MemberCount = "member_count",
        Bot = "bot_info",
        Content = "content",
        Preview = "preview",
        Transcoding = "transcoding",
        WebhookAddress = "webhook_endpoint",
        WebhookTest = "webhook_test",
        Quota = "quota",
        TokenVerify = "token_verify",
        TokenIssue = "token_issue",
    }
}

impl Endpoint {
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
