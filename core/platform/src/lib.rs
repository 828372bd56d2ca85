//! The platform port: webhooks of a chat platform ([`InboundWebhooks`]), calls to it
//! ([`Platform`]), and the set-up of a bot there ([`BotSetup`]).

mod bots;
mod circuit;
mod directory;
mod error;
mod inbound;
pub mod line;
mod setup;
mod throttle;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use bots::Bots;
use bytes::Bytes;
use chatkeep_core::event::{ChannelRef, Envelope, Event, EventOrigin, PlatformKind, ReplyToken};
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::profile::{ChannelSummary, Profile};
pub use directory::Directory;
pub use error::{DecodeError, PlatformError, RefusalReason};
use futures_util::stream::BoxStream;
pub use inbound::{
    InboundEvents, InboundWebhooks, NotAWebhook, SharedWebhooks, Unverified, VerifiedBody,
};
pub use setup::{
    BotAccount, BotSetup, ClockDeviation, MessageAllowance, SharedSetup, TokenGrant,
    WebhookEndpoint, WebhookTest,
};

/// A boxed future, so that platforms can be trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A shared platform.
pub type SharedPlatform = Arc<dyn Platform>;

/// Decodes an envelope's raw JSON into an event. Never fails on an unknown type, and needs no bot:
/// a received event can be stored even if its bot is not configured any more.
///
/// # Errors
/// Fails when the JSON is not an event of its platform at all.
pub fn decode(envelope: Envelope) -> Result<Event, DecodeError> {
    match envelope.platform {
        PlatformKind::Line => line::decode(envelope),
    }
}

/// Returns the origin of an event, whether or not it can be decoded; `None` if it holds no user
/// content, or belongs to no chat.
pub fn origin(envelope: &Envelope) -> Option<EventOrigin> {
    match envelope.platform {
        PlatformKind::Line => line::origin(envelope),
    }
}

/// A chat platform, as one configured bot sees it.
pub trait Platform: fmt::Debug + Send + Sync {
    /// Replies to an event with one call, which is never repeated here: its outcome may be unknown.
    /// At most [`Platform::max_texts`] texts, each within [`Platform::max_units`].
    fn reply<'a>(
        &'a self,
        token: &'a ReplyToken,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>>;

    /// Sends texts without an event to reply to. `retry_key` (a UUID) makes the call idempotent,
    /// and so a call whose outcome is unknown is repeated a few times before it fails.
    fn push<'a>(
        &'a self,
        channel: &'a ChannelRef,
        texts: &'a [String],
        retry_key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>>;

    /// Returns a person's profile, as a member of that chat.
    fn profile<'a>(
        &'a self,
        channel: &'a ChannelRef,
        user: &'a UserId,
    ) -> BoxFuture<'a, Result<Profile, PlatformError>>;

    /// Returns a chat's name, picture and size.
    fn summary<'a>(
        &'a self,
        channel: &'a ChannelRef,
    ) -> BoxFuture<'a, Result<ChannelSummary, PlatformError>>;

    /// Returns the bytes of a media message as a stream.
    fn content<'a>(
        &'a self,
        message: &'a MessageId,
        part: MediaPart,
    ) -> BoxFuture<'a, Result<Download, PlatformError>>;

    /// Returns the state of a video or sound that the platform prepares for download.
    fn preparation<'a>(
        &'a self,
        message: &'a MessageId,
    ) -> BoxFuture<'a, Result<Preparation, PlatformError>>;

    /// Returns a picture of a person or chat whose address the platform named. Any other address is
    /// [`PlatformError::NotFound`] without a call.
    fn picture<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Bytes, PlatformError>>;

    /// Returns the bot's own profile.
    fn bot(&self) -> BoxFuture<'_, Result<BotInfo, PlatformError>>;

    /// Returns the time until the access token expires, if the platform names one.
    fn token_lifetime(&self) -> BoxFuture<'_, Result<Option<Duration>, PlatformError>>;

    /// Returns the maximum number of texts in one reply.
    fn max_texts(&self) -> usize;

    /// Returns the maximum length of one text, in UTF-16 units.
    fn max_units(&self) -> usize;
}

/// Part of a media message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaPart {
    /// Original file.
    Original,
    /// Small preview picture.
    Preview,
}

/// A download from the platform.
pub struct Download {
    /// Total number of bytes, if the platform names it.
    pub length: Option<u64>,
    /// Bytes; a broken download fails with an error, never silently.
    pub bytes: BoxStream<'static, Result<Bytes, PlatformError>>,
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").field("length", &self.length).finish_non_exhaustive()
    }
}

/// State of a file's preparation on the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// The file is ready.
    Ready,
    /// The file will be ready soon.
    Pending,
    /// The file will never be ready.
    Failed,
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
