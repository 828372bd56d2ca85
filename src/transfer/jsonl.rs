//! One message a line: the DTO of the REST interface, and where that is lossy, the stored content
//! itself in `extra`. An import restores the same content, byte for byte.

use chatkeep_core::id::{ChannelId, MAX_ID, MessageId};
use chatkeep_core::message::{
    Content, EarlierText, EarlierTexts, MediaInfo, Mention, MessageType, Sticker,
};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    ImportedMedia, ImportedMessage, ImportedPerson, MediaReason, MediaStatus, StoredMessage,
};
use chatkeep_view::pseudonyms::Masked;
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
        for id in [Some(view.id.as_str()), sender, quoted].into_iter().flatten() {
            if id.is_empty() || id.len() > MAX_ID || id.contains('\0') {
                return Err("one of its IDs is empty, too long or malformed".to_owned());
            }
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
mod tests {
    use chatkeep_core::message::{Emoji, ImageSet};
    use chatkeep_core::time::Timestamp;
    use chatkeep_store::{MediaRecord, MediaStatus, Sender};
    use proptest::prelude::*;

    use super::*;
    use chatkeep_view::pseudonyms::Mask;

    /// Returns the record of a pending file.
    fn pending() -> MediaRecord {
        MediaRecord {
            status: MediaStatus::Pending,
            bytes: 0,
            stored_at: None,
            blob: None,
            content_type: None,
            preview: None,
            reason: None,
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "[a-z早安ก\n\"\\\\]{0,20}"]
    }

    fn media() -> impl Strategy<Value = MediaInfo> {
        let set = (text(), any::<Option<u32>>()).prop_map(|(id, index)| ImageSet {
            id,
            index,
            total: None,
        });
        let some = || proptest::option::of(text());
        (some(), some(), any::<Option<i64>>(), any::<Option<i64>>(), proptest::option::of(set))
            .prop_map(|(original_url, file_name, duration, file_size, image_set)| MediaInfo {
                original_url,
                preview_url: None,
                duration,
                file_name,
                file_size,
                image_set,
            })
    }

    fn content() -> impl Strategy<Value = Content> {
        let emoji = (any::<u32>(), text()).prop_map(|(index, id)| Emoji {
            index,
            length: 1,
            product_id: id.clone(),
            emoji_id: id,
        });
        let user = proptest::option::of("U[0-9]{1,5}");
        let mention = (any::<u32>(), user, any::<bool>(), any::<Option<bool>>()).prop_map(
            |(start, user, is_self, is_all)| Mention {
                user_id: user.map(Into::into),
                start,
                length: 2,
                is_self,
                is_all,
            },
        );
        let several = |n| 0..n;
        let said = (
            text(),
            prop::collection::vec(emoji, several(3)),
            prop::collection::vec(mention, several(3)),
        );
        let sticker =
            (text(), proptest::option::of(text()), prop::collection::vec(text(), several(3)));
        prop_oneof![
            said.prop_map(|(text, emojis, mentions)| Content::Text { text, emojis, mentions }),
            media().prop_map(Content::Image),
            media().prop_map(Content::File),
            (-90.0..90.0, -180.0..180.0, proptest::option::of(text())).prop_map(
                |(latitude, longitude, title)| Content::Location {
                    title,
                    address: None,
                    latitude,
                    longitude
                }
            ),
            sticker.prop_map(|(id, text, keywords)| Content::Sticker(Sticker {
                package_id: id.clone(),
                sticker_id: id,
                resource_type: text.clone(),
                keywords,
                text,
            })),
            text().prop_map(|raw| Content::Other { raw }),
        ]
    }

    fn stored(content: &Content, at: i64) -> (StoredMessage, String) {
        let json = serde_json::to_string(content).unwrap();
        // As the store reads it: from its text.
        let content: Content = serde_json::from_str(&json).unwrap();
        let message = StoredMessage {
            channel: "C1".into(),
            id: "m1".into(),
            sent_at: Timestamp::from_millis(at),
            backed_up_at: Timestamp::from_millis(at + 5),
            sender: Some(Sender {
                id: "U1".into(),
                display_name: Some("小明".into()),
                picture_url: None,
            }),
            kind: content.kind(),
            media: content.kind().is_media().then(pending),
            content: Some(content),
            bytes: i64::try_from(json.len()).unwrap(),
            quoted: Some("m0".into()),
            edited_at: Some(Timestamp::from_millis(at + 9)),
            unsent_at: None,
            is_bot: true,
            reply: None,
            earlier_texts: EarlierTexts::default(),
        };
        (message, json)
    }

    fn written(message: &StoredMessage, json: &str) -> String {
        let mut out = Vec::new();
        Line::new(Mask::none().show(message.clone()), Some(json.to_owned()), &Links::default())
            .write(&mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn a_line_restores_its_message_byte_for_byte(
            content in content(),
            at in 0..4_102_444_800_000_i64,
        ) {
            let (message, json) = stored(&content, at);
            let line = written(&message, &json);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let read = Line::read(line.trim_end_matches('\n')).unwrap();
            prop_assert_eq!(read.person().unwrap().display_name, Some("小明".to_owned()));
            let back = read.message(&"C1".into()).unwrap();
            prop_assert_eq!(back.content, Some(json));
            prop_assert_eq!((back.id, back.sent_at, back.kept_at), (message.id, message.sent_at, Some(message.backed_up_at)));
            prop_assert_eq!((back.sender, back.kind, back.quoted), (message.sender.map(|s| s.id), message.kind, message.quoted));
            prop_assert_eq!((back.edited_at, back.unsent_at, back.is_bot), (message.edited_at, None, true));
            prop_assert_eq!(back.media.map(|media| media.status), message.media.map(|media| media.status));
        }

        #[test]
        fn nothing_that_is_read_ends_the_program(line in any::<String>()) {
            let _ = Line::read(&line);
        }
    }

    #[test]
    fn what_the_form_says_is_not_said_twice() {
        let (message, json) = stored(&Content::text("早安"), 1);
        assert!(!written(&message, &json).contains("extra"));
        let emoji = Emoji { index: 0, length: 1, product_id: "p".into(), emoji_id: "e".into() };
        let content = Content::Text { text: "$".into(), emojis: vec![emoji], mentions: Vec::new() };
        let (message, json) = stored(&content, 1);
        assert!(
            written(&message, &json).ends_with(&format!(",\"extra\":{{\"content\":{json}}}}}\n"))
        );
    }

    #[test]
    fn an_edit_of_another_type_keeps_the_type_of_the_message() {
        let (message, _) = stored(&Content::text("早安"), 1);
        let json = serde_json::to_string(&Content::Image(MediaInfo::default())).unwrap();
        let edited = StoredMessage { edited_at: Some(Timestamp::from_millis(9)), ..message };
        let line = written(&edited, &json);
        let read = Line::read(line.trim_end()).unwrap().message(&"C1".into()).unwrap();
        assert_eq!((read.kind, read.content), (MessageType::Text, Some(json.clone())));
        let unedited = StoredMessage { edited_at: None, ..edited };
        let line = written(&unedited, &json);
        assert!(Line::read(line.trim_end()).unwrap().message(&"C1".into()).is_err());
    }
    #[test]
    fn a_message_that_was_taken_back_has_no_content() {
        let (message, json) = stored(&Content::text("secret"), 1);
        let message =
            StoredMessage { content: None, unsent_at: Some(Timestamp::from_millis(9)), ..message };
        let mut out = Vec::new();
        Line::new(Mask::none().show(message), None, &Links::default()).write(&mut out).unwrap();
        let line = String::from_utf8(out).unwrap();
        let read = Line::read(&line).unwrap().message(&"C1".into()).unwrap();
        assert_eq!((read.content, read.unsent_at), (None, Some(Timestamp::from_millis(9))));
        // Even if a line contains it after all.
        let (message, _) = stored(&Content::text("secret"), 1);
        let line = written(&message, &json)
            .replace("\"unsentAt\":null", "\"unsentAt\":\"2026-01-01T00:00:00Z\"");
        assert_eq!(Line::read(&line).unwrap().message(&"C1".into()).unwrap().content, None);
    }

    #[test]
    fn whatever_id_is_stored_comes_back() {
        let (message, json) = stored(&Content::text("x"), 1);
        let id = |first: &str| format!("{first}{}", "9".repeat(MAX_ID - 1));
        let sender = message.sender.map(|sender| Sender { id: id("U").into(), ..sender });
        let longest =
            StoredMessage { id: id("m").into(), quoted: Some(id("q").into()), sender, ..message };
        let read = Line::read(written(&longest, &json).trim_end()).unwrap();
        let back = read.message(&"C1".into()).unwrap();
        assert_eq!((back.id, back.quoted), (longest.id, longest.quoted));
        assert_eq!(back.sender, Some(id("U").into()));
    }

    #[test]
    fn lines_that_are_wrong_say_why() {
        let (message, json) = stored(&Content::text("x"), 1);
        let line = written(&message, &json);
        let why = |line: &str| {
            let read = Line::read(line);
            read.and_then(|line| line.message(&"C1".into())).map(drop).unwrap_err()
        };
        assert!(why("{").starts_with("not JSON"), "{}", why("{"));
        assert!(why(&line.replace("\"text\"", "\"poem\"")).starts_with("not a message"));
        assert!(why(&line.replace("\"C1\"", "\"C2\"")).contains("channel C2"));
        assert!(why(&line.replace("\"x\"", "null")).contains("no content"));
        assert!(why(&line.replace("\"m1\"", "\"\"")).contains("IDs"));
        let too_long = format!("\"{}\"", "9".repeat(MAX_ID + 1));
        assert!(why(&line.replace("\"m1\"", &too_long)).contains("IDs"));
    }
}
