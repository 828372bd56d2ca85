//! The platform port: what chatkeep asks of a chat platform, and what it may answer.

mod bots;
mod circuit;
mod directory;
mod error;
pub mod line;
mod pace;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use bots::Bots;
use bytes::Bytes;
pub use directory::Directory;
pub use error::{DecodeError, PlatformError};
use futures_util::stream::BoxStream;

use crate::event::{ChannelRef, Envelope, Event, PlatformKind, ReplyToken, Trace};
use crate::id::{MessageId, UserId};

/// A boxed future, so that platforms can be kept as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A platform that many parts share.
pub type SharedPlatform = Arc<dyn Platform>;

/// Turns an envelope's raw JSON into an event. Never fails on a type it does not know, and needs no
/// bot: what was taken can be kept even when its bot is not configured any more.
///
/// # Errors
/// When the JSON is not an event of its platform at all.
pub fn decode(envelope: Envelope) -> Result<Event, DecodeError> {
    match envelope.platform {
        PlatformKind::Line => line::decode(envelope),
    }
}

/// Returns what an envelope is about, whether or not it can be decoded; `None` when it holds nothing
/// that anybody said, or belongs to no chat.
pub fn trace(envelope: &Envelope) -> Option<Trace> {
    match envelope.platform {
        PlatformKind::Line => line::trace(envelope),
    }
}

/// A chat platform, as one configured bot sees it.
pub trait Platform: fmt::Debug + Send + Sync {
    /// Answers an event with one call, which is never repeated here: its outcome may be unknown.
    /// At most [`Platform::max_texts`] texts, each within [`Platform::max_units`].
    fn reply<'a>(
        &'a self,
        token: &'a ReplyToken,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>>;

    /// Sends texts without an event to answer. `retry_key` (a UUID) makes repeating it harmless,
    /// and so a call that may not have come through is repeated a few times before it fails.
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

    /// The bytes of a media message, as they come.
    fn content<'a>(
        &'a self,
        message: &'a MessageId,
        part: Part,
    ) -> BoxFuture<'a, Result<Download, PlatformError>>;

    /// Whether the platform has a video or sound ready to be had.
    fn preparation<'a>(
        &'a self,
        message: &'a MessageId,
    ) -> BoxFuture<'a, Result<Preparation, PlatformError>>;

    /// The bot's own profile.
    fn bot(&self) -> BoxFuture<'_, Result<BotInfo, PlatformError>>;

    /// Texts in one reply, at most.
    fn max_texts(&self) -> usize;

    /// UTF-16 units in one text, at most.
    fn max_units(&self) -> usize;
}

/// Which bytes of a media message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What was sent.
    Original,
    /// A small picture of it.
    Preview,
}

/// Bytes on their way from the platform.
pub struct Download {
    /// How many there will be, where it says.
    pub length: Option<u64>,
    /// The bytes; breaks off with an error, never silently.
    pub bytes: BoxStream<'static, Result<Bytes, PlatformError>>,
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Download").field("length", &self.length).finish_non_exhaustive()
    }
}

/// Whether a file can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// It can.
    Ready,
    /// Soon.
    Pending,
    /// It never will.
    Failed,
}

/// A person as the platform shows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Their name.
    pub display_name: String,
    /// Their picture.
    pub picture_url: Option<String>,
    /// Their language as a BCP 47 tag, where the platform tells it.
    pub language: Option<String>,
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
