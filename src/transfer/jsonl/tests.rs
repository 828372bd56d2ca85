//! Tests of the lines of an export.

use chatkeep_core::id::MAX_ID;
use chatkeep_core::message::{Emoji, ImageSet};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MediaStatus, Sender};
use proptest::prelude::*;

use super::*;
use crate::sample_tests::record;
use chatkeep_view::pseudonyms::Mask;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z早安ก\n\"\\\\]{0,20}"]
}

fn media() -> impl Strategy<Value = MediaInfo> {
    let set =
        (text(), any::<Option<u32>>()).prop_map(|(id, index)| ImageSet { id, index, total: None });
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
    let sticker = (text(), proptest::option::of(text()), prop::collection::vec(text(), several(3)));
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
        media: content.kind().is_media().then(|| record(MediaStatus::Pending)),
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
    assert!(written(&message, &json).ends_with(&format!(",\"extra\":{{\"content\":{json}}}}}\n")));
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
