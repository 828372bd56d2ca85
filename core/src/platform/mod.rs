//! The platform port: what chatkeep asks of a chat platform, and what it may answer.

mod directory;
pub mod line;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use directory::Directory;

use crate::event::{ChannelRef, Envelope, Event, ReplyToken};
use crate::id::{MessageId, UserId};

/// A boxed future, so that platforms can be kept as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A platform that many parts share.
pub type SharedPlatform = Arc<dyn Platform>;

/// A chat platform, as one configured bot sees it.
pub trait Platform: fmt::Debug + Send + Sync {
    /// Turns an envelope's raw JSON into an event. Never fails on a type it does not know.
    ///
    /// # Errors
    /// When the JSON is not an event of this platform at all.
    fn decode(&self, envelope: Envelope) -> Result<Event, DecodeError>;

    /// Answers an event with one call. At most [`Platform::max_texts`] texts, each within
    /// [`Platform::max_units`].
    fn reply<'a>(
        &'a self,
        token: &'a ReplyToken,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>>;

    /// Sends texts without an event to answer. `retry_key` (a UUID) makes repeating it harmless.
    fn push<'a>(
        &'a self,
        channel: &'a ChannelRef,
        texts: &'a [String],
        retry_key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>>;

    /// A person's profile, as a member of that chat.
    fn profile<'a>(
        &'a self,
        channel: &'a ChannelRef,
        user: &'a UserId,
    ) -> BoxFuture<'a, Result<Profile, PlatformError>>;

    /// A chat's name, picture and size.
    fn summary<'a>(
        &'a self,
        channel: &'a ChannelRef,
    ) -> BoxFuture<'a, Result<ChannelSummary, PlatformError>>;

    /// The bot's own profile.
    fn bot(&self) -> BoxFuture<'_, Result<BotInfo, PlatformError>>;

    /// Texts in one reply, at most.
    fn max_texts(&self) -> usize;

    /// UTF-16 units in one text, at most.
    fn max_units(&self) -> usize;
}

/// A person as the platform shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Their name.
    pub display_name: String,
    /// Their picture.
    pub picture_url: Option<String>,
}

/// A chat as the platform shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSummary {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its picture.
    pub picture_url: Option<String>,
    /// How many people are in it, the bot not counted.
    pub member_count: Option<i64>,
}

/// The bot as the platform shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotInfo {
    /// The bot's own user id.
    pub user_id: UserId,
    /// Its name.
    pub display_name: String,
    /// Its picture.
    pub picture_url: Option<String>,
}

/// An envelope that holds no event.
#[derive(Debug, thiserror::Error)]
#[error("not an event of the platform: {0}")]
pub struct DecodeError(#[from] pub serde_json::Error);

/// Why a call to the platform gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// The reply token is used up, expired or unknown.
    #[error("the reply token is no longer valid")]
    InvalidReplyToken,
    /// There is no such person or chat, or the bot may not see them.
    #[error("the platform does not know it")]
    NotFound,
    /// The channel access token is wrong or expired.
    #[error("the platform refused the access token")]
    Unauthorized,
    /// Too many calls; try again later.
    #[error("the platform asks to slow down")]
    RateLimited {
        /// How long to wait, where it says.
        retry_after: Option<Duration>,
    },
    /// Any other refusal.
    #[error("the platform refused with status {status}")]
    Refused {
        /// Its HTTP status.
        status: u16,
    },
    /// It never got there: trying again is safe.
    #[error("the platform cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// It may or may not have happened: no answer, a broken answer or a server error.
    #[error("the outcome of the platform call is unknown")]
    Unknown(#[source] Option<reqwest::Error>),
}

impl PlatformError {
    /// A short stable name for records and metrics; never holds text of the platform.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidReplyToken => "expired_token",
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited { .. } => "rate_limited",
            Self::Refused { .. } => "platform_error",
            Self::Unreachable(_) => "unreachable",
            Self::Unknown(_) => "unknown_outcome",
        }
    }
}
