//! One message a line: the DTO of the REST interface, and where that is lossy, the stored content
//! itself in `extra`. An import restores the same content, byte for byte.

use chatkeep_core::id::{ChannelId, MessageId, UntrustedId};
use chatkeep_core::message::{
    Content, EarlierText, EarlierTexts, MediaInfo, Mention, MessageType, Sticker,
};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ImportedMedia, ImportedMessage, ImportedPerson, MediaReason, MediaStatus, StoredMessage,
};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_view::sanitize::one_line;
use chatkeep_view::{EarlierTextView, Links, MessageView};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::import::MediaEntry;

/// Line of an export.
#[derive(Debug)]
pub(super) struct Line {
    view: MessageView,
    extra: Option<Extra>,
}

/// Content of a message beyond the DTO of the REST interface.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Extra {
    /// Stored content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
    /// Stored earlier texts, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier_texts: Vec<ExtraText>,
}

/// Earlier text with its stored content.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtraText {
    content: Box<RawValue>,
    written_at: Timestamp,
}

/// Subset of a line with its `extra` only: raw JSON cannot be read through `flatten`.
#[derive(Deserialize)]
struct ExtraOnly {
    #[serde(default)]
    extra: Option<Extra>,
}

impl Line {
    /// Creates the line of a message with its stored content.
    pub(super) fn new(
        message: Masked<StoredMessage>,
        content: Option<String>,
        links: &Links,
    ) -> Self {
        let earlier_texts = extra_texts(&message.earlier_texts);
        let view = MessageView::new(message, links);
        // A parsed fraction may differ in its last digit, so locations are always copied.
        let copied = view.kind == MessageType::Location;
        let same = |stored: &String| {
            !copied && rebuilt(&view).and_then(json).is_some_and(|json| json == *stored)
        };
        let extra = content
            .filter(|stored| !same(stored))
            .and_then(|stored| RawValue::from_string(stored).ok());
        let extra = (extra.is_some() || !earlier_texts.is_empty())
            .then_some(Extra { content: extra, earlier_texts });
        Self { view, extra }
    }

    /// Appends the line.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        serde_json::to_writer(&mut *out, &self.view)?;
        if let Some(extra) = &self.extra {
            // Into the same object: the closing brace moves behind it.
            out.pop();
            out.extend_from_slice(br#","extra":"#);
            serde_json::to_writer(&mut *out, extra)?;
            out.push(b'}');
        }
        out.push(b'\n');
        Ok(())
    }

    /// Parses a line, or describes its error.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        // Of what is not JSON, category and position are sufficient. Of other data the error names the
        // field; it may quote its value to whoever imports the file.
        let broken = |error: serde_json::Error| match error.classify() {
            serde_json::error::Category::Data => format!("not a message: {error}"),
            category => format!("not JSON: {category:?} error at column {}", error.column()),
        };
        let view = serde_json::from_str(line).map_err(broken)?;
        let extra = serde_json::from_str::<ExtraOnly>(line).map_err(broken)?.extra;
        Ok(Self { view, extra })
    }

    /// Returns the channel of the message.
    pub(super) const fn channel(&self) -> &ChannelId {
        &self.view.channel_id
    }

    /// Returns the sender, with their name.
    pub(super) fn person(&self) -> Option<ImportedPerson> {
        let sender = self.view.sender.as_ref()?;
        Some(ImportedPerson {
            id: sender.user_id.clone(),
            display_name: sender.display_name.clone(),
            picture_url: sender.picture_url.clone(),
        })
    }

    /// Returns the file of the message that the export may include.
    pub(super) fn file(&self) -> Option<MediaEntry> {
        let view = &self.view;
        let stored = view.kind.is_media() && view.media_status == Some(MediaStatus::Stored);
        stored.then(|| MediaEntry {
            message: view.id.clone(),
            content_type: view.content_type.clone().unwrap_or_default(),
            sha256: view.sha256.clone(),
        })
    }

    /// Converts the line into a message, or describes its error. Its file is imported after the
    /// messages.
    pub(super) fn message(self, channel: &ChannelId) -> Result<ImportedMessage, String> {
        let view = &self.view;
        if view.channel_id != *channel {
            return Err(format!("it belongs to channel {}", view.channel_id));
        }
        let sender = view.sender.as_ref().map(|sender| sender.user_id.as_str());
        let quoted = view.quoted_message_id.as_ref().map(MessageId::as_str);
        if ![Some(view.id.as_str()), sender, quoted].into_iter().flatten().all(is_id) {
            return Err(
                "one of its IDs is empty, too long, malformed, or has characters that nobody sees"
                    .to_owned(),
            );
        }
        let (content, earlier_texts) = (self.content()?, self.earlier_texts()?);
        let view = self.view;
        let media = view.kind.is_media().then(|| media(&view));
        Ok(ImportedMessage {
            id: view.id,
            former_id: None,
            sent_at: view.timestamp,
            sent_until: None,
            kept_at: view.backed_up_at,
            sender: view.sender.map(|sender| sender.user_id),
            candidates: Vec::new(),
            unnamed_candidates: Vec::new(),
            kind: view.kind,
            content,
            quoted: view.quoted_message_id,
            is_bot: view.is_bot,
            edited_at: view.edited_at,
            unsent_at: view.unsent_at,
            media,
            earlier_texts,
        })
    }

    /// Returns true if the message may have that content: an edit may be of another type than the
    /// message was sent with, which stays its type.
    fn may_hold(&self, content: &Content) -> bool {
        content.kind() == self.view.kind || self.view.edited_at.is_some()
    }

    fn content(&self) -> Result<Option<String>, String> {
        if self.view.unsent_at.is_some() {
            return Ok(None);
        }
        let Some(json) = self.extra.as_ref().and_then(|extra| extra.content.as_deref()) else {
            let rebuilt = rebuilt(&self.view).and_then(json);
            return rebuilt.map(Some).ok_or_else(|| "it has no content".to_owned());
        };
        let json = json.get();
        match serde_json::from_str::<Content>(json) {
            Ok(content) if self.may_hold(&content) => Ok(Some(json.to_owned())),
            _ => Err("its extra.content does not match its type".to_owned()),
        }
    }

    fn earlier_texts(&self) -> Result<EarlierTexts, String> {
        let wrong = || "one of its earlier texts is none".to_owned();
        if self.view.edited_at.is_none() || self.view.unsent_at.is_some() {
            return Ok(EarlierTexts::default());
        }
        let stored = self.extra.as_ref().map_or(&[][..], |extra| &extra.earlier_texts);
        if stored.is_empty() {
            let texts = self.view.earlier_texts.iter();
            return texts.map(|text| stored_text(text).ok_or_else(wrong)).collect();
        }
        stored.iter().map(|text| text.stored().ok_or_else(wrong)).collect()
    }
}

impl ExtraText {
    /// Returns the text as it was stored; `None` if it is of no known form.
    fn stored(&self) -> Option<EarlierText> {
        let text = EarlierText { at: self.written_at, content: self.content.get().to_owned() };
        text.parsed().is_some().then_some(text)
    }
}

/// Returns the earlier texts in full if the form of the REST interface loses anything of one.
fn extra_texts(texts: &EarlierTexts) -> Vec<ExtraText> {
    let is_lost = |text: &EarlierText| stored_text(&text.into()).as_ref() != Some(text);
    if !texts.as_slice().iter().any(is_lost) {
        return Vec::new();
    }
    let extra = |text: &EarlierText| {
        let content = RawValue::from_string(text.content.clone()).ok()?;
        Some(ExtraText { content, written_at: text.at })
    };
    texts.as_slice().iter().filter_map(extra).collect()
}

/// Rebuilds an earlier text from the form of the REST interface.
fn stored_text(text: &EarlierTextView) -> Option<EarlierText> {
    let content = json(Content::text(text.content.clone()?))?;
    Some(EarlierText { at: text.written_at, content })
}

/// Returns true for a text that may be an id. Ids stand in lines that models read, and in paths:
/// none has characters that nobody sees, and none is a segment that leads elsewhere.
fn is_id(text: &str) -> bool {
    let is_checked = UntrustedId::new(text).checked::<String>().is_ok();
    is_checked && one_line(text, text.len()) == text && ![".", ".."].contains(&text)
}

/// Returns the state of its file here.
fn media(view: &MessageView) -> ImportedMedia {
    let lost = (MediaStatus::Expired, Some(MediaReason::NotInExport));
    let (status, reason) = match view.media_status {
        None | Some(MediaStatus::Stored | MediaStatus::Expired | MediaStatus::Erased) => lost,
        // Its file may still be available from the platform, or never was.
        Some(status) => (status, None),
    };
    ImportedMedia { status, reason }
}

/// Rebuilds the content from the DTO of the REST interface.
fn rebuilt(view: &MessageView) -> Option<Content> {
    let info = || MediaInfo {
        duration: view.duration,
        file_name: view.file_name.clone(),
        file_size: view.file_size,
        image_set: view.image_set.clone().map(Into::into),
        ..MediaInfo::default()
    };
    Some(match view.kind {
        MessageType::Text => Content::Text {
            text: view.content.clone()?,
            emojis: Vec::new(),
            mentions: view.mentions.iter().cloned().map(Mention::from).collect(),
        },
        MessageType::Image => Content::Image(info()),
        MessageType::Video => Content::Video(info()),
        MessageType::Audio => Content::Audio(info()),
        MessageType::File => Content::File(info()),
        MessageType::Location => Content::Location {
            title: view.title.clone(),
            address: view.address.clone(),
            latitude: view.latitude?,
            longitude: view.longitude?,
        },
        MessageType::Sticker => Content::Sticker(Sticker {
            package_id: view.package_id.clone()?,
            sticker_id: view.sticker_id.clone()?,
            text: view.content.clone(),
            ..Sticker::default()
        }),
        MessageType::Other => return None,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "for and_then")]
fn json(content: Content) -> Option<String> {
    serde_json::to_string(&content).ok()
}

/// Returns the length of a content's JSON.
pub(super) fn length(content: &Content) -> i64 {
    let json = serde_json::to_string(content).unwrap_or_default();
    i64::try_from(json.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod line_tests;
#[cfg(test)]
mod tests;
