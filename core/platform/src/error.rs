//! Errors of calls to a platform, and their codes.

use std::fmt;
use std::time::Duration;

use chatkeep_core::id::InvalidId;
use chatkeep_core::reply::ReplyFailureReason;

/// Error of an envelope that cannot be decoded into an event.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// It is not an event of the platform.
    #[error("not an event of the platform: {0}")]
    Json(#[from] serde_json::Error),
    /// A field of the event holds an invalid identifier.
    #[error("{field} is not an identifier: {why}")]
    Id {
        /// Name of the field on the platform.
        field: &'static str,
        /// Reason.
        why: InvalidId,
    },
}

/// Reason for which the platform refused a call, in its own words, with what its support asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusalReason {
    /// Explanation, at most 200 characters without control characters; empty without one.
    pub explanation: String,
    /// The platform's id of the call, if it names one.
    pub request_id: Option<String>,
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.explanation.is_empty() {
            write!(f, ": {}", self.explanation)?;
        }
        match &self.request_id {
            Some(id) => write!(f, " (request {id})"),
            None => Ok(()),
        }
    }
}

/// Error of a call to the platform.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// The reply token is used up, expired or unknown.
    #[error("the reply token is no longer valid")]
    InvalidReplyToken,
    /// There is no such person or chat, or the bot may not see them.
    #[error("the platform returned: not found")]
    NotFound,
    /// The file is not ready yet; try again later.
    #[error("the platform is still preparing the content")]
    NotReady,
    /// The channel access token is wrong or expired.
    #[error("the platform rejects the access token")]
    Unauthorized,
    /// Too many calls; try again later.
    #[error("the platform's rate limit is exceeded")]
    RateLimited {
        /// Time to wait, if the platform names one.
        retry_after: Option<Duration>,
    },
    /// The bot has sent as many messages this month as its plan allows. No wait helps.
    #[error("the bot's monthly message quota is used up")]
    QuotaExceeded,
    /// The circuit is open after repeated failures: no call was made.
    #[error("the platform is down; its circuit is open")]
    Unavailable {
        /// Time until the circuit allows a call.
        retry_after: Duration,
    },
    /// No bot of that name is configured: no call was made.
    #[error("no bot named {bot:?} is configured")]
    UnknownBot {
        /// Name of the bot.
        bot: String,
    },
    /// Any other refusal.
    #[error("the platform responded with status {status}{reason}")]
    Refused {
        /// Its HTTP status.
        status: u16,
        /// Reason that the platform gives.
        reason: RefusalReason,
    },
    /// The request did not reach the platform: trying again is safe.
    #[error("the platform cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// Outcome unknown: no response, a broken response or a server error.
    #[error("the outcome of the platform call is unknown")]
    Unknown(#[source] Option<reqwest::Error>),
}

impl PlatformError {
    /// Returns a short stable name for logs and metrics; never holds text of the platform.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidReplyToken => "expired_token",
            Self::NotFound => "not_found",
            Self::NotReady => "not_ready",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited { .. } => "rate_limited",
            Self::QuotaExceeded => "quota",
            Self::Unavailable { .. } => "unavailable",
            Self::UnknownBot { .. } => "unknown_bot",
            Self::Refused { .. } => "platform_error",
            Self::Unreachable(_) => "unreachable",
            Self::Unknown(_) => "unknown_outcome",
        }
    }

    /// Returns the reason for a failed reply, as it is recorded.
    pub const fn reply_reason(&self) -> ReplyFailureReason {
        match self {
            Self::InvalidReplyToken => ReplyFailureReason::ExpiredToken,
            Self::QuotaExceeded => ReplyFailureReason::Quota,
            Self::Unauthorized
            | Self::RateLimited { .. }
            | Self::Unavailable { .. }
            | Self::UnknownBot { .. }
            | Self::Unreachable(_) => ReplyFailureReason::Unavailable,
            Self::NotFound | Self::NotReady | Self::Refused { .. } | Self::Unknown(_) => {
                ReplyFailureReason::PlatformError
            }
        }
    }

    /// Returns whether the call certainly did not happen and may succeed later, with the
    /// retry-after time if the platform names one. Calls with an unknown outcome are not among
    /// these.
    pub const fn not_now(&self) -> Option<Option<Duration>> {
        match self {
            Self::Unreachable(_) => Some(None),
            Self::RateLimited { retry_after } => Some(*retry_after),
            Self::Unavailable { retry_after } => Some(Some(*retry_after)),
            _ => None,
        }
    }

    /// Returns whether no call of the bot can succeed for now, whomever it is about.
    pub const fn stops_bot(&self) -> bool {
        self.not_now().is_some() || matches!(self, Self::Unauthorized | Self::UnknownBot { .. })
    }

    /// Returns whether the platform is away: whoever calls next will fail, too.
    pub const fn is_outage(&self) -> bool {
        self.is_trouble() || matches!(self, Self::Unavailable { .. })
    }

    /// Returns whether the platform itself is in trouble, as far as one call can tell. A refusal is
    /// a sign of health.
    pub(super) const fn is_trouble(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unknown(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<PlatformError> {
        vec![
            PlatformError::InvalidReplyToken,
            PlatformError::NotFound,
            PlatformError::NotReady,
            PlatformError::Unauthorized,
            PlatformError::RateLimited { retry_after: None },
            PlatformError::QuotaExceeded,
            PlatformError::Unavailable { retry_after: Duration::from_secs(1) },
            PlatformError::UnknownBot { bot: "x".to_owned() },
            PlatformError::Refused { status: 403, reason: RefusalReason::default() },
            PlatformError::Unknown(None),
        ]
    }

    #[test]
    fn every_reason_has_a_name_of_its_own() {
        let codes: std::collections::BTreeSet<_> = all().iter().map(PlatformError::code).collect();
        assert_eq!(codes.len(), all().len());
    }

    #[test]
    fn a_reply_that_did_not_happen_is_certainly_not_given() {
        for error in all() {
            let not_given = error.reply_reason().is_certain();
            assert!(not_given || error.not_now().is_none(), "{error}");
            let unknown =
                matches!(error, PlatformError::Unknown(_) | PlatformError::Refused { .. });
            assert!(!(unknown && not_given), "{error}");
        }
    }

    #[test]
    fn only_what_did_not_happen_may_be_tried_again_by_anybody() {
        let later: Vec<_> =
            all().iter().filter(|e| e.not_now().is_some()).map(PlatformError::code).collect();
        assert_eq!(later, ["rate_limited", "unavailable"]);
    }

    #[test]
    fn a_failure_of_the_whole_bot_is_told_from_that_of_one_call() {
        let stops: Vec<_> =
            all().iter().filter(|e| e.stops_bot()).map(PlatformError::code).collect();
        assert_eq!(stops, ["unauthorized", "rate_limited", "unavailable", "unknown_bot"]);
    }
}
