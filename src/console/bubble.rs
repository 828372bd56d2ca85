//! A message as a page shows it.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_i18n::Value;
use chatkeep_services::assistant::VisibleRules;
use chatkeep_store::{MediaStatus, StoredMessage};
use chatkeep_view::message_path;
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::sanitize::is_visible;

use super::dates::Dates;
use super::labels::{
    anchor, context_path, gone, hue, initial, kind_key, length, media_path, missing_key, name_of,
    picture_of, shortened, size, summary, visible,
};
use super::origin::OriginNote;
use super::text::{Piece, pieces};

/// Maximum length of a quoted text in characters.
const QUOTE: usize = 80;

/// A message as a page shows it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that may be so or not")]
pub(super) struct Bubble {
    /// Name of the element.
    pub(super) anchor: String,
    /// Permanent path of the message.
    pub(super) link: String,
    /// Sender's name, its first character, and their colour.
    pub(super) name: String,
    pub(super) initial: String,
    pub(super) hue: u8,
    /// Address of the sender's picture.
    pub(super) picture: Option<String>,
    /// True for messages of the bot.
    pub(super) bot: bool,
    /// True for messages of the visitor.
    pub(super) mine: bool,
    /// True where the sender is shown: at the first of several messages in a row.
    pub(super) head: bool,
    /// True for the message that the visitor came for.
    pub(super) target: bool,
    /// Time of day, and the time in full for programs.
    pub(super) time: String,
    pub(super) datetime: String,
    pub(super) quote: Option<Quote>,
    pub(super) body: BubbleContent,
    /// Sentence about its last edit.
    pub(super) edited: Option<String>,
    /// Origin of a reply of the bot.
    pub(super) origin: Option<OriginNote>,
}

/// Message that another one quotes.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) name: String,
    pub(super) text: String,
    /// Path to the message in the conversation; `None` when it is not stored.
    pub(super) href: Option<String>,
}

/// Content of a message.
#[derive(Debug)]
pub(super) enum BubbleContent {
    Text(Vec<Piece>),
    Image {
        preview: String,
        file: String,
        label: String,
    },
    Video {
        file: String,
        poster: Option<String>,
        label: String,
        duration: Option<String>,
    },
    Audio {
        file: String,
        label: String,
        duration: Option<String>,
    },
    File {
        file: String,
        name: String,
        size: Option<String>,
        label: String,
    },
    Place {
        title: String,
        address: Option<String>,
        map: String,
    },
    Sticker(String),
    /// Name of a file that is not there, or its kind, and why.
    Lost {
        name: String,
        why: String,
    },
    /// Sentence in place of the content.
    Gone(String),
}

/// View of the messages of a page: its visitor, its dates, and the texts of its language.
pub(super) struct Bubbles<'a> {
    pub(super) dates: Dates,
    /// Visitor.
    pub(super) viewer: Option<&'a UserId>,
    /// Message that the visitor came for.
    pub(super) target: Option<&'a MessageId>,
    /// Quoted messages.
    pub(super) quoted: HashMap<MessageId, Masked<StoredMessage>>,
    /// Rules that gave the replies.
    pub(super) rules: VisibleRules,
}

impl Bubbles<'_> {
    /// Returns a message as the page shows it.
    pub(super) fn bubble(&self, message: &StoredMessage) -> Bubble {
        let language = self.dates.language;
        let sender = message.sender.as_ref();
        let name = name_of(message, language);
        let colour = sender.map_or("bot", |sender| sender.id.as_str());
        Bubble {
            anchor: anchor(&message.id),
            link: message_path(&message.channel, &message.id),
            initial: initial(&name),
            hue: hue(colour),
            picture: picture_of(message),
            name,
            bot: message.is_bot,
            mine: self.viewer.is_some() && sender.map(|sender| &sender.id) == self.viewer,
            head: true,
            target: self.target == Some(&message.id),
            time: self.dates.time(message.sent_at),
            datetime: message.sent_at.to_string(),
            quote: message.quoted.as_ref().map(|id| self.quote(&message.channel, id)),
            body: self.body(message),
            origin: OriginNote::of(message, &self.rules, language),
            edited: message.edited_at.filter(|_| message.unsent_at.is_none()).map(|at| {
                let (date, time) = (self.dates.date(self.dates.day(at)), self.dates.time(at));
                let values = [("date", Value::from(&date)), ("time", Value::from(&time))];
                language.format("mark-edited-at", &values)
            }),
        }
    }

    fn quote(&self, channel: &ChannelId, id: &MessageId) -> Quote {
        let language = self.dates.language;
        match self.quoted.get(id) {
            Some(message) => Quote {
                name: name_of(message, language),
                text: shortened(&summary(message, language), QUOTE),
                href: Some(context_path(channel, id)),
            },
            None => Quote { name: String::new(), text: language.text("quote-missing"), href: None },
        }
    }

    fn body(&self, message: &StoredMessage) -> BubbleContent {
        let language = self.dates.language;
        let Some(content) = message.content.as_ref().filter(|_| message.unsent_at.is_none()) else {
            return BubbleContent::Gone(language.text(gone(message)));
        };
        match content {
            Content::Text { text, mentions, .. } => BubbleContent::Text(pieces(text, mentions)),
            Content::Image(media)
            | Content::Video(media)
            | Content::Audio(media)
            | Content::File(media) => self.file(message, media),
            Content::Location { title, address, latitude, longitude } => BubbleContent::Place {
                title: visible(title.clone()).unwrap_or_else(|| language.text("kind-location")),
                address: visible(address.clone()),
                map: format!(
                    "https://www.openstreetmap.org/?mlat={latitude}&mlon={longitude}\
                     #map=16/{latitude}/{longitude}"
                ),
            },
            Content::Sticker(sticker) => {
                let mut words = sticker.text.iter().chain(&sticker.keywords);
                let words = words.find(|words| is_visible(words)).cloned();
                BubbleContent::Sticker(words.unwrap_or_else(|| language.text("kind-sticker")))
            }
            Content::Other { .. } => BubbleContent::Gone(language.text("kind-other")),
        }
    }

    fn file(&self, message: &StoredMessage, media: &MediaInfo) -> BubbleContent {
        let language = self.dates.language;
        let record = message.media.as_ref();
        let status = record.map_or(MediaStatus::Pending, |record| record.status);
        if status != MediaStatus::Stored {
            let name = visible(media.file_name.clone());
            return BubbleContent::Lost {
                name: name.unwrap_or_else(|| language.text(kind_key(message.kind))),
                why: language.text(&missing_key(record)),
            };
        }
        let file = media_path(&message.channel, &message.id);
        let preview = record.and_then(|record| record.preview.as_ref());
        let preview = preview.map(|_| format!("{file}?preview=true"));
        let name = name_of(message, language);
        let label = |key| language.format(key, &[("name", Value::from(&name))]);
        let duration = media.duration.map(length);
        match message.kind {
            MessageType::Image => BubbleContent::Image {
                preview: preview.unwrap_or_else(|| file.clone()),
                label: label("image-of"),
                file,
            },
            MessageType::Video => {
                BubbleContent::Video { poster: preview, label: label("video-of"), duration, file }
            }
            MessageType::Audio => BubbleContent::Audio { label: label("audio-of"), duration, file },
            _ => {
                let name = visible(media.file_name.clone());
                let name = name.unwrap_or_else(|| language.text("kind-file"));
                let label = language.format("media-download-named", &[("name", (&name).into())]);
                let bytes = record.map_or(0, |record| record.bytes);
                BubbleContent::File { size: (bytes > 0).then(|| size(bytes)), file, name, label }
            }
        }
    }
}
