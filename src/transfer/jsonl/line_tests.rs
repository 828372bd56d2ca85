//! Tests of lines that were read: what they say again when they are written, and what is no line.

use chatkeep_core::id::MAX_ID;
use chatkeep_store::Sender;
use chatkeep_view::pseudonyms::Mask;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::sample_tests::{GROUP, any_text, content, message, record, regex};

/// Statuses that an export does not change.
const LASTING: [MediaStatus; 4] =
    [MediaStatus::Pending, MediaStatus::Skipped, MediaStatus::Failed, MediaStatus::Expired];

/// Returns messages in every state but the retracted one.
fn any_message() -> impl Strategy<Value = StoredMessage> {
    let id = || regex("(m|import:|早|/|\\.){1,3}[0-9]{1,4}");
    let some = || proptest::option::of(any_text());
    let who = (regex("U[0-9]{1,3}"), some(), some());
    let who = proptest::option::of(who);
    let times = (0..4_102_444_800_000_i64, proptest::option::of(0..10_000_i64));
    let earlier = prop::collection::vec((-9..9_i64, content()), 0..4);
    let rest = (proptest::option::of(id()), any::<bool>(), 0..LASTING.len());
    (id(), times, content(), who, earlier, rest).prop_map(
        |(id, (at, edited), content, who, earlier, (quoted, is_bot, status))| {
            let after = |millis: i64| Timestamp::from_millis(at + millis);
            let sender = |(id, display_name, picture_url): (String, _, _)| Sender {
                id: id.into(),
                display_name,
                picture_url,
            };
            let text = |(millis, content): (i64, Content)| EarlierText {
                at: after(millis),
                content: serde_json::to_string(&content).unwrap(),
            };
            let earlier = earlier.into_iter().map(text).filter(|_| edited.is_some());
            let plain = message(&id, at, content);
            StoredMessage {
                sender: who.map(sender),
                quoted: quoted.map(Into::into),
                edited_at: edited.map(after),
                is_bot,
                media: plain.media.map(|_| record(LASTING[status])),
                earlier_texts: earlier.collect(),
                ..plain
            }
        },
    )
}

fn written(message: StoredMessage, content: Option<String>) -> String {
    let mut out = Vec::new();
    let line = Line::new(Mask::none().show(message), content, &Links::default());
    line.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns a read line as a store has it, which counts its bytes anew.
fn stored(line: &str, bytes: i64) -> (StoredMessage, Option<String>) {
    let read = Line::read(line).unwrap();
    let person = read.person();
    let read = read.message(&GROUP.into()).unwrap();
    let content = read.content.as_ref().map(|json| serde_json::from_str(json).unwrap());
    assert_eq!(read.sender, person.as_ref().map(|person| person.id.clone()));
    let sender = person.map(|person| Sender {
        id: person.id,
        display_name: person.display_name,
        picture_url: person.picture_url,
    });
    let message = StoredMessage {
        channel: GROUP.into(),
        id: read.id,
        sent_at: read.sent_at,
        backed_up_at: read.kept_at.unwrap(),
        sender,
        kind: read.kind,
        content,
        bytes,
        quoted: read.quoted,
        edited_at: read.edited_at,
        unsent_at: read.unsent_at,
        is_bot: read.is_bot,
        reply: None,
        media: read.media.map(|media| record(media.status)),
        earlier_texts: read.earlier_texts,
    };
    (message, read.content)
}

proptest! {
    #[test]
    fn a_line_that_was_read_is_written_again_the_same(message in any_message()) {
        let (texts, bytes) = (message.earlier_texts.clone(), message.bytes);
        let json = message.content.as_ref().map(|content| serde_json::to_string(content).unwrap());
        let line = written(message, json.clone());
        let (again, content) = stored(line.trim_end_matches('\n'), bytes);
        prop_assert_eq!(&content, &json);
        prop_assert_eq!(&again.earlier_texts, &texts);
        prop_assert_eq!(written(again, content), line);
    }

    #[test]
    fn a_line_is_one_line_whatever_is_in_it(message in any_message()) {
        let json = message.content.as_ref().map(|content| serde_json::to_string(content).unwrap());
        let line = written(message, json);
        prop_assert_eq!(line.find(['\n', '\r']), Some(line.len() - 1));
        let value: Value = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(&value["channelId"], GROUP);
    }
}

/// Returns a line of an export, with other members.
fn line_with(changes: &Value) -> String {
    let text = written(message("m1", 1, Content::text("早安")), None);
    let mut line: Value = serde_json::from_str(&text).unwrap();
    for (name, value) in changes.as_object().unwrap() {
        line[name] = value.clone();
    }
    line.to_string()
}

fn read(line: &str) -> Result<ImportedMessage, String> {
    Line::read(line)?.message(&GROUP.into())
}

#[test]
fn a_line_of_an_earlier_or_a_later_version_is_read() {
    // What an export had at least.
    let bare = json!({
        "id": "m1", "channelId": GROUP, "timestamp": "2024-02-29T23:59:59.999+08:00",
        "type": "text", "content": "早安", "bytes": 1,
    });
    let message = read(&bare.to_string()).unwrap();
    assert_eq!(message.content, Some(r#"{"type":"text","text":"早安"}"#.to_owned()));
    assert_eq!(message.sent_at.to_string(), "2024-02-29T15:59:59.999Z");
    assert!(message.kept_at.is_none() && message.sender.is_none() && !message.is_bot);
    let later = line_with(&json!({"mood": {"is": ["good", {"very": null}]}, "extra": {"mood": 1}}));
    assert_eq!(read(&later).unwrap().content, message.content);
    assert_eq!(read(&line_with(&json!({"extra": null}))).unwrap().content, message.content);
}

#[test]
fn what_is_no_line_is_told_and_harms_nobody() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = line_with(&json!({}));
    for (broken, why) in [
        // Halves of a surrogate pair are no text.
        (line.replace("早安", "\\ud83d"), "not JSON"),
        (line.replace("早安", "\\udc4b\\ud83d"), "not JSON"),
        (line.replace("早安", "a\tb"), "not JSON"),
        (format!("{line}{line}"), "not JSON"),
        (line[..line.len() - 1].to_owned(), "not JSON"),
        (format!("{},\"id\":\"m2\"}}", &line[..line.len() - 1]), "not a message"),
        (line.replace("\"bytes\":", "\"bytes\":\"1\",\"b\":"), "not a message"),
        (line_with(&json!({"timestamp": "yesterday"})), "not a message"),
        (line_with(&json!({"timestamp": 1_700_000_000})), "not a message"),
        (line_with(&json!({"id": null})), "not a message"),
        (line_with(&json!({"mentions": [{"start": -1, "length": 1}]})), "not a message"),
        ("[]".to_owned(), "not a message"),
        (deep.clone(), "not"),
        (line_with(&json!({"id": "a\0b"})), "one of its IDs"),
        (line_with(&json!({"sender": {"userId": "9".repeat(MAX_ID + 1)}})), "one of its IDs"),
        (line_with(&json!({"quotedMessageId": ""})), "one of its IDs"),
        (line_with(&json!({"extra": {"content": {"type": "image"}}})), "its extra.content"),
        (line_with(&json!({"extra": {"content": [1]}})), "its extra.content"),
        (line_with(&json!({"type": "location"})), "it has no content"),
        (line_with(&json!({"type": "sticker", "packageId": "1"})), "it has no content"),
        (line_with(&json!({"type": "other"})), "it has no content"),
    ] {
        let said = read(&broken).map(drop).unwrap_err();
        let beginning: String = broken.chars().take(200).collect();
        assert!(said.starts_with(why), "{said:?} of {beginning}");
    }
    let nested = line.replace("\"bytes\":", &format!("\"deep\":{deep},\"bytes\":"));
    assert!(read(&nested).is_ok(), "nobody looks into what is not known");
    let content = format!(",\"extra\":{{\"content\":{deep}}}}}");
    let nested = format!("{}{content}", &line[..line.len() - 1]);
    assert!(read(&nested).unwrap_err().starts_with("its extra.content"));
}

#[test]
fn an_id_is_a_line_that_people_see_and_leads_nowhere_else() {
    let own = |id: &str| json!({ "id": id });
    let of_sender = |id: &str| json!({"sender": {"userId": id}});
    let quoted = |id: &str| json!({ "quotedMessageId": id });
    let places: [&dyn Fn(&str) -> Value; 3] = [&own, &of_sender, &quoted];
    for id in
        ["a\nb", "a\tb", "\u{85}", "a\u{2028}", "\u{202e}a", "a\u{200b}", "\u{e0041}", "\u{fffd}"]
    {
        for with_id in places {
            let why = read(&line_with(&with_id(id))).map(drop).unwrap_err();
            assert!(why.starts_with("one of its IDs"), "{id:?}: {why}");
        }
    }
    for with_id in places {
        for dots in [".", ".."] {
            assert!(read(&line_with(&with_id(dots))).is_err(), "{dots}");
        }
        for id in ["...", "../up", "A B.jpg", "早", "telegram:-100123", "import:0a"] {
            assert!(read(&line_with(&with_id(id))).is_ok(), "{id}");
        }
    }
}

#[test]
fn an_earlier_text_that_is_none_is_told() {
    let edited = |extra: Value| {
        let texts = json!([{"content": "before", "writtenAt": "2024-01-01T00:00:00Z"}]);
        let at = "2024-01-02T00:00:00Z";
        line_with(&json!({"editedAt": at, "earlierTexts": texts, "extra": extra}))
    };
    let kept = read(&edited(Value::Null)).unwrap().earlier_texts;
    assert_eq!(kept.as_slice()[0].content, r#"{"type":"text","text":"before"}"#);
    // The copy counts, because it says more.
    let copy = json!([{"content": {"type": "text", "text": "as it was"},
                       "writtenAt": "2024-01-01T00:00:00Z"}]);
    let kept = read(&edited(json!({"earlierTexts": copy}))).unwrap().earlier_texts;
    assert!(kept.as_slice()[0].content.contains("as it was") && kept.as_slice().len() == 1);
    let wrong = json!([{"content": {"type": "poem"}, "writtenAt": "2024-01-01T00:00:00Z"}]);
    assert!(read(&edited(json!({"earlierTexts": wrong}))).is_err());
    // Nobody edited this one, and that one was taken back: there is nothing before it.
    let texts = json!([{"content": "before", "writtenAt": "2024-01-01T00:00:00Z"}]);
    for unsent in [Value::Null, json!("2024-01-03T00:00:00Z")] {
        let edited = if unsent.is_null() { Value::Null } else { json!("2024-01-02T00:00:00Z") };
        let line = json!({"editedAt": edited, "unsentAt": unsent, "earlierTexts": texts});
        assert!(read(&line_with(&line)).unwrap().earlier_texts.is_empty(), "{line}");
    }
}

#[test]
fn only_a_file_that_was_stored_is_looked_for() {
    for kind in MessageType::ALL {
        for status in MediaStatus::ALL {
            let line = line_with(&json!({
                "type": kind.name(), "mediaStatus": status.name(), "sha256": "ab",
                "contentType": "image/png", "packageId": "1", "stickerId": "2",
                "latitude": 1.5, "longitude": 2.5,
                "extra": {"content": {"type": "other", "raw": "{}"}},
            }));
            let line = if kind == MessageType::Other { line } else { without_extra(&line) };
            let read = Line::read(&line).unwrap();
            let file = read.file();
            let is_stored = kind.is_media() && status == MediaStatus::Stored;
            assert_eq!(file.is_some(), is_stored, "{kind:?} {status:?}");
            let media = read.message(&GROUP.into()).unwrap().media;
            assert_eq!(media.is_some(), kind.is_media(), "{kind:?} {status:?}");
            // Until its file is imported, it is not stored here.
            assert!(media.is_none_or(|media| media.status != MediaStatus::Stored));
        }
    }
}

fn without_extra(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    value.as_object_mut().unwrap().remove("extra");
    value.to_string()
}
