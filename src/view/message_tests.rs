//! Tests of the form of messages: the same members for every type, and nothing lost by reading it.

use chatkeep_core::message::{EarlierTexts, Emoji};
use chatkeep_store::MediaRecord;
use serde_json::{Value, json};

use super::*;
use crate::pseudonyms::Mask;

/// Returns contents of every type, each with all that it may have.
fn contents() -> Vec<Content> {
    let info = || MediaInfo {
        original_url: Some("https://a.example/original".to_owned()),
        preview_url: Some("https://a.example/preview".to_owned()),
        duration: Some(1_500),
        file_name: Some("預算.xlsx".to_owned()),
        file_size: Some(i64::MAX),
        image_set: Some(ImageSet { id: "set".to_owned(), index: Some(1), total: Some(u32::MAX) }),
    };
    let mention =
        Mention { user_id: None, start: 0, length: 4, is_self: false, is_all: Some(true) };
    let emoji = Emoji { index: 5, length: 6, product_id: "p".into(), emoji_id: "e".into() };
    vec![
        Content::Text {
            text: "@All (moon)".to_owned(),
            emojis: vec![emoji],
            mentions: vec![mention],
        },
        Content::Image(info()),
        Content::Video(info()),
        Content::Audio(info()),
        Content::File(info()),
        Content::Location {
            title: Some("東京駅".to_owned()),
            address: Some("千代田区".to_owned()),
            latitude: 35.681_236_123_456_79,
            longitude: -0.1,
        },
        Content::Sticker(Sticker {
            package_id: "446".to_owned(),
            sticker_id: "1988".to_owned(),
            resource_type: Some("ANIMATION".to_owned()),
            keywords: vec!["hello".to_owned()],
            text: Some("in my words".to_owned()),
        }),
        Content::Other { raw: "{}".to_owned() },
    ]
}

fn stored(content: Option<Content>, kind: MessageType) -> StoredMessage {
    let at = Timestamp::from_millis;
    StoredMessage {
        channel: "C1".into(),
        id: "m/1".into(),
        sent_at: at(1),
        backed_up_at: at(2),
        sender: Some(Sender { id: "U1".into(), display_name: None, picture_url: None }),
        kind,
        content,
        bytes: 7,
        quoted: Some("m0".into()),
        edited_at: Some(at(3)),
        unsent_at: None,
        is_bot: false,
        reply: None,
        media: kind.is_media().then(|| MediaRecord {
            status: MediaStatus::Stored,
            bytes: 5,
            stored_at: Some(at(4)),
            blob: chatkeep_core::blob::BlobId::parse(&"a0".repeat(32)),
            content_type: Some("image/jpeg".to_owned()),
            preview: None,
            reason: None,
        }),
        earlier_texts: EarlierTexts::default(),
    }
}

fn shown(message: StoredMessage) -> Value {
    let links = Links::new(Some("https://chat.example"));
    serde_json::to_value(MessageView::new(Mask::none().show(message), &links)).unwrap()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Returns the members that are there and not null, without those of every message.
fn told(value: &Value) -> Vec<&str> {
    let of_all = [
        "id",
        "channelId",
        "timestamp",
        "backedUpAt",
        "sender",
        "type",
        "bytes",
        "quotedMessageId",
        "editedAt",
        "isBot",
        "url",
    ];
    let members = value.as_object().unwrap().iter();
    let told = members.filter(|(_, value)| !value.is_null() && **value != json!([]));
    told.map(|(name, _)| name.as_str()).filter(|name| !of_all.contains(name)).collect()
}

const MEDIA: [&str; 8] = [
    "mediaKey",
    "mediaStatus",
    "contentType",
    "sha256",
    "fileName",
    "fileSize",
    "duration",
    "imageSet",
];

#[test]
fn every_type_has_the_same_members_and_its_own_are_told() {
    let first = shown(stored(Some(Content::text("早安")), MessageType::Text));
    for content in contents() {
        let kind = content.kind();
        let value = shown(stored(Some(content), kind));
        assert_eq!(names(&value), names(&first), "{kind:?}");
        assert_eq!(value["type"], kind.name());
        let expected: &[&str] = match kind {
            MessageType::Text => &["content", "mentions"],
            MessageType::Location => &["latitude", "longitude", "title", "address"],
            MessageType::Sticker => &["content", "packageId", "stickerId"],
            MessageType::Other => &[],
            _ => &MEDIA,
        };
        assert_eq!(told(&value), expected, "{kind:?}");
        assert_eq!(value["url"], "https://chat.example/c/C1/m/m%2F1");
        // Of one that was taken back nothing is left.
        let unsent_at = Some(Timestamp::from_millis(9));
        let gone = StoredMessage { unsent_at, media: None, ..stored(None, kind) };
        let value = shown(gone);
        assert_eq!(names(&value), names(&first), "{kind:?}");
        let left: &[&str] = if kind.is_media() { &["unsentAt", "mediaKey"] } else { &["unsentAt"] };
        assert_eq!(told(&value), left, "{kind:?}");
    }
}

#[test]
fn a_form_that_is_read_is_the_same_form() {
    for content in contents() {
        let kind = content.kind();
        let mut message = stored(Some(content.clone()), kind);
        let earlier = EarlierText {
            at: Timestamp::from_millis(-1),
            content: serde_json::to_string(&content).unwrap(),
        };
        message.earlier_texts = std::iter::once(earlier).collect();
        let value = shown(message);
        let read: MessageView = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), value);
        // An earlier text that was something else has no words, and its time.
        let words = if kind == MessageType::Text { json!("@All (moon)") } else { Value::Null };
        let expected = json!([{"content": words, "writtenAt": "1969-12-31T23:59:59.999Z"}]);
        assert_eq!(value["earlierTexts"], expected, "{kind:?}");
    }
}

#[test]
fn no_form_tells_what_only_the_store_has() {
    for content in contents() {
        let kind = content.kind();
        let text = shown(stored(Some(content), kind)).to_string();
        for hidden in ["a.example", "ANIMATION", "hello", "emoji", "storedAt", "preview"] {
            assert!(!text.contains(hidden), "{hidden} in {text}");
        }
    }
}

#[test]
fn without_a_public_address_there_is_no_link() {
    let message = Mask::none().show(stored(Some(Content::text("x")), MessageType::Text));
    let view = MessageView::new(message, &Links::default());
    assert_eq!(view.url, None);
    let bare = MessageView::bare("m1".into(), "C1".into(), Timestamp::default(), MessageType::File);
    let (bare, first) =
        (serde_json::to_value(&bare).unwrap(), serde_json::to_value(&view).unwrap());
    assert_eq!(names(&bare), names(&first), "an event of an unstored message has the same form");
    assert!(bare["backedUpAt"].is_null() && bare["content"].is_null());
}
