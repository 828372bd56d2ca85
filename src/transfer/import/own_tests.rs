//! Tests of imports of chatkeep's own exports into a store: in whatever parts, order and encoding
//! they come, and however damaged they are.

use chatkeep_core::message::{Content, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{MediaStatus, StoredMessage};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::{Import, Summary};
use crate::home_tests::{TransferHome, run};
use crate::jsonl::Line;
use crate::sample_tests::{GROUP, content, message, record, sender};
use crate::{Format, TransferError};

/// Returns lines of messages of every kind and state, the same each time.
fn lines(count: i64) -> Vec<String> {
    let (mut runner, contents) = (TestRunner::deterministic(), content());
    let mut line = |n: i64| {
        let content = contents.new_tree(&mut runner).unwrap().current();
        let json = serde_json::to_string(&content).unwrap();
        let after = |millis| Timestamp::from_millis(n / 3 * 1_000 + millis);
        // Ids of every form; some quote a message that is nowhere.
        let id = ["", "import:", "早/", "..%2f"][usize::try_from(n % 4).unwrap()];
        let plain = message(&format!("{id}{n:03}"), n / 3 * 1_000, content);
        let sent = StoredMessage {
            sender: (n % 5 != 0).then(|| sender(&format!("U{}", n % 7), &format!("{} 👋", n % 7))),
            quoted: (n % 2 == 0).then(|| format!("{:03}", n - 4).into()),
            edited_at: (n % 6 == 0).then(|| after(500)),
            is_bot: n % 11 == 0,
            media: plain
                .media
                .as_ref()
                .map(|_| record(MediaStatus::ALL[usize::try_from(n % 6).unwrap()])),
            ..plain
        };
        if n % 13 == 0 {
            let unsent_at = Some(after(900));
            let gone = StoredMessage { content: None, unsent_at, bytes: 0, ..sent };
            return written(StoredMessage { media: None, ..gone }, None);
        }
        written(sent, Some(json))
    };
    (0..count).map(&mut line).collect()
}

fn written(message: StoredMessage, content: Option<String>) -> String {
    let mut line = Vec::new();
    let written = Line::new(Mask::none().show(message), content, &Links::default());
    written.write(&mut line).unwrap();
    String::from_utf8(line).unwrap()
}

/// Returns numbers of stored, known and other messages, and of lines that nobody understands.
fn counts(summary: &Summary) -> [u64; 4] {
    [summary.stored, summary.known, summary.erased + summary.left, summary.not_understood]
}

#[tokio::test]
async fn whatever_people_sent_comes_back_from_store_to_store() {
    let lines = lines(150);
    let (first, second) = (TransferHome::new().await, TransferHome::new().await);
    let file = first.write("all.jsonl", lines.concat());
    let tried = run(&Import { trial: true, ..first.import() }, &file).await.unwrap();
    assert_eq!(first.exported(Format::Jsonl).await, "", "a dry run changes nothing");
    let done = first.imported(&file).await;
    assert_eq!((counts(&done), counts(&tried)), ([150, 0, 0, 0], [150, 0, 0, 0]));
    assert!(done.import.is_some() && tried.import.is_none());
    assert_eq!((done.from, done.to), (tried.from, tried.to));
    assert_eq!(done.to, Some(Timestamp::from_millis(49_000)));

    // What is stored is what the lines say.
    let exported = first.exported(Format::Jsonl).await;
    let read = |line: &str| Line::read(line.trim_end()).unwrap().message(&GROUP.into()).unwrap();
    let told = |line: &str| {
        let read = read(line);
        let times = (read.sent_at, read.kept_at, read.edited_at, read.unsent_at);
        let texts = (read.content, read.earlier_texts, read.is_bot);
        (read.id, read.sender, read.kind.name(), read.quoted, times, texts)
    };
    let mut expected: Vec<_> = lines.iter().map(|line| told(line)).collect();
    expected.sort_by_key(|(id, .., (sent_at, ..), _)| (*sent_at, id.clone()));
    assert_eq!(exported.lines().map(told).collect::<Vec<_>>(), expected);

    let again = second.imported(&second.write("again.jsonl", &exported)).await;
    assert_eq!(counts(&again), [150, 0, 0, 0]);
    assert_eq!(second.exported(Format::Jsonl).await, exported);
    assert_eq!(second.exported(Format::Csv).await, first.exported(Format::Csv).await);
    let once_more = second.imported(&second.path("again.jsonl")).await;
    assert_eq!((counts(&once_more), once_more.import.is_some()), ([0, 150, 0, 0], false));
    assert_eq!(second.exported(Format::Jsonl).await, exported);
}

#[tokio::test]
async fn parts_that_overlap_make_the_whole_in_any_order() {
    let lines = lines(60);
    let whole = TransferHome::new().await;
    whole.imported(&whole.write("all.jsonl", lines.concat())).await;
    let expected = whole.exported(Format::Jsonl).await;
    let backwards: Vec<_> = lines.iter().rev().cloned().collect();
    let twice = [&lines[..40], &lines[..40]].concat();
    for parts in [
        [&lines[..40], &lines[20..], &lines[10..30]],
        [&lines[30..], &lines[..45], &lines[..0]],
        [&backwards[..], &lines[..], &lines[..]],
        [&twice[..], &lines[50..], &lines[39..55]],
    ] {
        let home = TransferHome::new().await;
        let (mut stored, mut known) = (0, 0);
        for (n, part) in parts.iter().enumerate() {
            let done = home.imported(&home.write(&format!("{n}.jsonl"), part.concat())).await;
            (stored, known) = (stored + done.stored, known + done.known);
        }
        let all = parts.iter().map(|part| part.len() as u64).sum::<u64>();
        assert_eq!((stored, known), (60, all - 60));
        assert_eq!(home.exported(Format::Jsonl).await, expected);
    }
}

#[tokio::test]
async fn an_export_that_somebody_converted_is_the_same() {
    let whole = lines(40).concat();
    let plain = TransferHome::new().await;
    plain.imported(&plain.write("all.jsonl", &whole)).await;
    let expected = plain.exported(Format::Jsonl).await;
    let windows = whole.replace('\n', "\r\n");
    let marked = format!("\u{feff}{windows}");
    let spaced = whole.replace('\n', "\n\n  \n") + "\t\n";
    let units = |to_bytes: fn(u16) -> [u8; 2]| marked.encode_utf16().flat_map(to_bytes).collect();
    let [little, big]: [Vec<u8>; 2] = [units(u16::to_le_bytes), units(u16::to_be_bytes)];
    for (name, bytes) in [
        ("lines of Windows", windows.as_bytes()),
        ("a mark", marked.as_bytes()),
        ("empty lines", spaced.as_bytes()),
        ("no end of the last line", whole.trim_end().as_bytes()),
        ("UTF-16, little", &little[..]),
        ("UTF-16, big", &big[..]),
    ] {
        let home = TransferHome::new().await;
        let done = home.imported(&home.write("all.jsonl", bytes)).await;
        assert_eq!(counts(&done), [40, 0, 0, 0], "{name}");
        assert_eq!(home.exported(Format::Jsonl).await, expected, "{name}");
    }
}

#[tokio::test]
async fn what_is_damaged_costs_its_own_line_and_is_told_by_its_number() {
    let lines = lines(12);
    let home = TransferHome::new().await;
    let mut file = lines[..3].concat().into_bytes();
    let surrogate = format!(r#"{{"id":"x","channelId":"{GROUP}","content":"\ud83d"}}"#);
    let other = lines[3].replace(GROUP, "Cother");
    for line in [
        &b"\xff\xfe{broken}"[..],
        surrogate.as_bytes(),
        b"{\"id\":",
        b"null",
        other.trim_end().as_bytes(),
        "x".repeat(200).as_bytes(),
    ] {
        file.extend_from_slice(line);
        file.push(b'\n');
    }
    file.extend_from_slice(lines[3..11].concat().as_bytes());
    file.extend_from_slice(&lines[11].as_bytes()[..lines[11].len() / 2]);
    let done = home.imported(&home.write("all.jsonl", file)).await;
    assert_eq!(counts(&done), [11, 0, 0, 7]);
    // Only the first ones are shown, each cut.
    let numbers: Vec<_> = done.lines.iter().map(|unknown| unknown.line).collect();
    assert_eq!(numbers, [4, 5, 6, 7, 8]);
    assert!(done.lines.iter().all(|unknown| unknown.text.chars().count() <= 81));
    assert!(done.lines.iter().all(|unknown| unknown.why.is_some()));
    let kept = home.messages().await;
    assert!(kept.iter().all(|message| message.channel.as_str() == GROUP) && kept.len() == 11);
}

#[tokio::test]
async fn an_export_of_another_channel_is_refused_before_anything_is_made() {
    let home = TransferHome::new().await;
    let foreign = lines(3).concat().replace(GROUP, "Cother");
    for text in [foreign.clone(), format!("\n\n{foreign}"), format!("\u{feff}nonsense\n{foreign}")]
    {
        let path = home.write("foreign.jsonl", text);
        let import = Import { form: super::Form::Jsonl, ..home.import() };
        match run(&import, &path).await {
            Err(TransferError::OtherChannel { of, .. }) => assert_eq!(of.as_str(), "Cother"),
            other => panic!("{other:?}"),
        }
    }
    assert!(home.store.imports().list(None).await.unwrap().is_empty());
    assert_eq!(home.exported(Format::Jsonl).await, "");
}

#[tokio::test]
async fn people_are_counted_by_id_and_listed_by_messages() {
    let home = TransferHome::new().await;
    let mut text = String::new();
    for (n, (user, name)) in
        [("U2", "Bob"), ("U3", "Ann"), ("U3", "Ann, later"), ("U1", "Bob"), ("U3", "Ann")]
            .into_iter()
            .enumerate()
    {
        let at = i64::try_from(n).unwrap();
        let plain = message(&format!("m{n}"), at, Content::text("x"));
        let sent = StoredMessage { sender: Some(sender(user, name)), ..plain };
        text += &written(sent, None);
    }
    let done = home.imported(&home.write("all.jsonl", text)).await;
    let summary: Value = serde_json::to_value(&done).unwrap();
    let expected = json!([
        {"userId": "U3", "name": "Ann", "messages": 3},
        {"userId": "U1", "name": "Bob", "messages": 1},
        {"userId": "U2", "name": "Bob", "messages": 1},
    ]);
    assert_eq!(summary["people"], expected);
    assert_eq!(summary["from"], "1970-01-01T00:00:00.000Z");
    let names = home.messages().await.into_iter().map(|m| m.sender.unwrap().display_name.unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["Bob", "Ann", "Ann", "Bob", "Ann"], "one name each");
}

#[tokio::test]
async fn an_unsent_message_stays_empty_whatever_its_line_says() {
    let home = TransferHome::new().await;
    let mut line: Value =
        serde_json::from_str(&written(message("m1", 1, Content::text("secret")), None)).unwrap();
    line["unsentAt"] = json!("2024-01-01T00:00:00Z");
    line["editedAt"] = json!("2023-12-31T00:00:00Z");
    line["earlierTexts"] = json!([{"content": "secret", "writtenAt": "2023-01-01T00:00:00Z"}]);
    line["extra"] = json!({"content": {"type": "text", "text": "secret"}});
    let done = home.imported(&home.write("all.jsonl", line.to_string())).await;
    assert_eq!(counts(&done), [1, 0, 0, 0]);
    for format in Format::ALL {
        assert!(!home.exported(format).await.contains("secret"), "{format:?}");
    }
    let kept = home.messages().await;
    assert!(kept[0].content.is_none() && kept[0].kind == MessageType::Text);
    assert_eq!(kept[0].bytes, 0);
}
