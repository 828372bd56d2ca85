//! Reasons for replies that were not given.

/// Reason for which a reply was not given, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplyFailureReason {
    /// The reply token was used up or expired.
    ExpiredToken,
    /// The bot's messages of the month are used up.
    Quota,
    /// The platform could not be reached, or takes no calls from the bot at the moment.
    Unavailable,
    /// The platform refused the reply, or failed: it may have been given.
    PlatformError,
    /// The process ended while it was sending: it may have been given.
    Interrupted,
}

impl ReplyFailureReason {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::ExpiredToken,
        Self::Quota,
        Self::Unavailable,
        Self::PlatformError,
        Self::Interrupted,
    ];

    /// Returns the name of the reason, as it is recorded.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExpiredToken => "expired_token",
            Self::Quota => "quota",
            Self::Unavailable => "unavailable",
            Self::PlatformError => "platform_error",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the reason of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Returns whether nothing was said for certain: whoever asks again is to be answered.
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::ExpiredToken | Self::Quota | Self::Unavailable)
    }
}
