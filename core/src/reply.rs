//! Reasons for replies that were not given.

use crate::named;

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

named! {
    pub ReplyFailureReason {
        ExpiredToken = "expired_token",
        Quota = "quota",
        Unavailable = "unavailable",
        PlatformError = "platform_error",
        Interrupted = "interrupted",
    }
}

impl ReplyFailureReason {
    /// Returns whether nothing was said for certain: whoever asks again is to be answered.
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::ExpiredToken | Self::Quota | Self::Unavailable)
    }
}
