//! DTO of a stored message, shared by all surfaces.

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{
    Content, EarlierText, ImageSet, MediaInfo, Mention, MessageType, Sticker,
};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Gap, GapReason, MediaStatus, Sender, StoredMessage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Links;
use crate::pseudonyms::Masked;

/// Stored message. Fields that its type lacks, and unknown ones, are null.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Message)]
#[serde(rename_all = "camelCase")]
pub struct MessageView {
    /// ID of the message on the platform.
    pub id: MessageId,
    /// ID of the channel that the message was sent to.
    pub channel_id: ChannelId,
    /// Time of sending.
    pub timestamp: Timestamp,
    /// Time of storing; null only in events of unstored messages.
    pub backed_up_at: Option<Timestamp>,
    /// Sender; null where the platform does not provide it, or once the person was erased.
    pub sender: Option<SenderView>,
    /// Type of the message.
    #[serde(rename = "type")]
    pub kind: MessageType,
    /// Text; null for other types, and once it was unsent or erased.
    pub content: Option<String>,
    /// Size counted against the quota, its media included.
    pub bytes: i64,
    /// ID of the quoted message; null when it quotes none.
    pub quoted_message_id: Option<MessageId>,
    /// Mentions in the text.
    #[serde(default)]
    #[schema(required)]
    pub mentions: Vec<MentionView>,
    /// Time of the last edit, if it was edited.
    pub edited_at: Option<Timestamp>,
    /// Texts that it had before, oldest first, at most 20, where its channel keeps them; absent without
    /// any, in lists, in search results and in events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_texts: Vec<EarlierTextView>,
    /// Time at which it was unsent or erased; its content is deleted then.
    pub unsent_at: Option<Timestamp>,
    /// True if the bot sent it.
    #[serde(default)]
    #[schema(required)]
    pub is_bot: bool,
    /// `messageId` of the file in `GET …/backup/media/{messageId}`; null for types without files.
    #[serde(default)]
    pub media_key: Option<MessageId>,
    /// Status of the file; null without a file.
    #[serde(default)]
    pub media_status: Option<MediaStatus>,
    /// Media type detected from the file itself, once it is stored.
    #[serde(default)]
    pub content_type: Option<String>,
    /// The SHA-256 of the stored file, in hexadecimal.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Original name of the file.
    #[serde(default)]
    pub file_name: Option<String>,
    /// Size in bytes, as declared by the platform.
    #[serde(default)]
    pub file_size: Option<i64>,
    /// Duration in milliseconds.
    #[serde(default)]
    pub duration: Option<i64>,
    /// Set of images that the message was sent with.
    #[serde(default)]
    pub image_set: Option<ImageSetView>,
    /// Coordinate of a location in degrees.
    #[serde(default)]
    pub latitude: Option<f64>,
    /// Coordinate of a location in degrees.
    #[serde(default)]
    pub longitude: Option<f64>,
    /// The title of a location.
    #[serde(default)]
    pub title: Option<String>,
    /// The address of a location.
    #[serde(default)]
    pub address: Option<String>,
    /// ID of the sticker's package.
    #[serde(default)]
    pub package_id: Option<String>,
    /// ID of the sticker in its package.
    #[serde(default)]
    pub sticker_id: Option<String>,
    /// Permanent address of the message's page for people who may read it; null for messages that are
    /// not stored.
    #[serde(default)]
    pub url: Option<String>,
}

/// Text that a message had before it was edited.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = EarlierText)]
#[serde(rename_all = "camelCase")]
pub struct EarlierTextView {
    /// The text; null if the message was not a text then.
    pub content: Option<String>,
    /// Time at which it was written: of the sending or of an earlier edit.
    pub written_at: Timestamp,
}

/// Sender of a message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Sender)]
#[serde(rename_all = "camelCase")]
pub struct SenderView {
    /// ID of the person.
    pub user_id: UserId,
    /// Display name; null until the platform provides it.
    pub display_name: Option<String>,
    /// Address of the picture; null when there is none or the platform has not provided it yet.
    pub picture_url: Option<String>,
}

/// A mention in a text.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Mention)]
#[serde(rename_all = "camelCase")]
pub struct MentionView {
    /// Mentioned user; null for "all" and for people whose ID is hidden.
    user_id: Option<UserId>,
    /// Start in the text, in UTF-16 units.
    start: u32,
    /// Length in the text, in UTF-16 units.
    length: u32,
    /// `true` if the bot itself is mentioned.
    #[serde(default)]
    #[schema(required)]
    is_self: bool,
    /// For a mention without a user: `true` if it mentions everybody, `false` if it mentions a
    /// person whose ID is hidden; null when the platform does not say, and for mentions of a user.
    #[serde(default)]
    is_all: Option<bool>,
}

/// Set of images that were sent together.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ImageSet)]
pub struct ImageSetView {
    /// ID of the set, the same for every image in it.
    id: String,
    /// Position of the image in the set, from 1; null when unknown.
    #[serde(default)]
    index: Option<u32>,
    /// Number of images in the set; null when unknown.
    #[serde(default)]
    total: Option<u32>,
}

/// Period without backup of the channel, or of the messages of people who opted out.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Gap)]
pub struct GapView {
    /// Start of the gap.
    from: Timestamp,
    /// End of the period; null while it lasts.
    to: Option<Timestamp>,
    /// Reason for the gap.
    reason: GapReason,
    /// Number of messages that were not stored; null when it cannot be known.
    skipped: Option<i64>,
}

impl From<Gap> for GapView {
    fn from(gap: Gap) -> Self {
        Self { from: gap.from, to: gap.to, reason: gap.reason, skipped: gap.skipped }
    }
}

impl From<Masked<Sender>> for SenderView {
    fn from(sender: Masked<Sender>) -> Self {
        sender.into_row().into()
    }
}

impl From<Sender> for SenderView {
    fn from(sender: Sender) -> Self {
        Self {
            user_id: sender.id,
            display_name: sender.display_name,
            picture_url: sender.picture_url,
        }
    }
}

impl From<&EarlierText> for EarlierTextView {
    fn from(text: &EarlierText) -> Self {
        let content = match text.parsed() {
            Some(Content::Text { text, .. }) => Some(text),
            _ => None,
        };
        Self { content, written_at: text.at }
    }
}

impl From<Mention> for MentionView {
    fn from(mention: Mention) -> Self {
        let Mention { user_id, start, length, is_self, is_all } = mention;
        Self { user_id, start, length, is_self, is_all }
    }
}

impl From<MentionView> for Mention {
    fn from(mention: MentionView) -> Self {
        let MentionView { user_id, start, length, is_self, is_all } = mention;
        Self { user_id, start, length, is_self, is_all }
    }
}

impl From<ImageSet> for ImageSetView {
    fn from(set: ImageSet) -> Self {
        Self { id: set.id, index: set.index, total: set.total }
    }
}

impl From<ImageSetView> for ImageSet {
    fn from(set: ImageSetView) -> Self {
        Self { id: set.id, index: set.index, total: set.total }
    }
}

impl MessageView {
    /// Creates it from a stored message, with the address of its page.
    pub fn new(message: Masked<StoredMessage>, links: &Links) -> Self {
        let message = message.into_row();
        let url = links.message(&message.channel, &message.id);
        let media_key = message.kind.is_media().then(|| message.id.clone());
        let media = message.media.as_ref();
        let empty = Self {
            backed_up_at: Some(message.backed_up_at),
            sender: message.sender.map(SenderView::from),
            bytes: message.bytes,
            quoted_message_id: message.quoted,
            edited_at: message.edited_at,
            earlier_texts: message.earlier_texts.as_slice().iter().map(Into::into).collect(),
            unsent_at: message.unsent_at,
            is_bot: message.is_bot,
            media_key,
            media_status: media.map(|media| media.status),
            content_type: media.and_then(|media| media.content_type.clone()),
            sha256: media.and_then(|media| Some(media.blob.as_ref()?.as_str().to_owned())),
            url,
            ..Self::bare(message.id, message.channel, message.sent_at, message.kind)
        };
        match message.content {
            Some(content) => empty.with(content),
            None => empty,
        }
    }

    /// Creates a message with its basic fields only.
    pub const fn bare(
        id: MessageId,
        channel_id: ChannelId,
        timestamp: Timestamp,
        kind: MessageType,
    ) -> Self {
        Self {
            id,
            channel_id,
            timestamp,
            backed_up_at: None,
            sender: None,
            kind,
            content: None,
            bytes: 0,
            quoted_message_id: None,
            mentions: Vec::new(),
            edited_at: None,
            earlier_texts: Vec::new(),
            unsent_at: None,
            is_bot: false,
            media_key: None,
            media_status: None,
            content_type: None,
            sha256: None,
            file_name: None,
            file_size: None,
            duration: None,
            image_set: None,
            latitude: None,
            longitude: None,
            title: None,
            address: None,
            package_id: None,
            sticker_id: None,
            url: None,
        }
    }

    /// Adds the fields of its content.
    fn with(self, content: Content) -> Self {
        match content {
            Content::Text { text, mentions, .. } => {
                let mentions = mentions.into_iter().map(MentionView::from).collect();
                Self { content: Some(text), mentions, ..self }
            }
            Content::Image(media)
            | Content::Video(media)
            | Content::Audio(media)
            | Content::File(media) => self.with_media(media),
            Content::Location { title, address, latitude, longitude } => {
                let (latitude, longitude) = (Some(latitude), Some(longitude));
                Self { latitude, longitude, title, address, ..self }
            }
            Content::Sticker(Sticker { package_id, sticker_id, text, .. }) => {
                let (package_id, sticker_id) = (Some(package_id), Some(sticker_id));
                Self { content: text, package_id, sticker_id, ..self }
            }
            Content::Other { .. } => self,
        }
    }

    fn with_media(self, media: MediaInfo) -> Self {
        Self {
            file_name: media.file_name,
            file_size: media.file_size,
            duration: media.duration,
            image_set: media.image_set.map(ImageSetView::from),
            ..self
        }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
