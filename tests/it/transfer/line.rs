//! Texts that the LINE app exports, in its languages and both its generations.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chatkeep_core::store::{SightingKind, StoredMessage};

use super::home::{Home, START};
use super::{GROUP, OWNER, on_both};
use crate::stack::Parts;
use crate::store::{at, sighting};

on_both!(four_languages_and_two_generations, importing_twice_changes_nothing, members_are_known);

/// A message as one line: time in UTC, name, type, text.
fn shown(message: &StoredMessage) -> String {
    let name = message.sender.as_ref().and_then(|sender| sender.display_name.clone());
    let content = message.content.as_ref();
    let text = content.and_then(chatkeep_core::message::Content::searchable).unwrap_or_default();
    let kind = if message.unsent_at.is_some() { "unsent" } else { message.kind.name() };
    let time = &message.sent_at.to_string()[5..16];
    format!("{time} {} {kind} {text}", name.unwrap_or_default())
}

async fn four_languages_and_two_generations(parts: Parts) {
    let cases = [
        ("line_zh.txt", include_str!("line_zh.txt"), "Asia/Taipei", 2, ZH),
        ("line_ja.txt", include_str!("line_ja.txt"), "+09:00", 1, JA),
        ("line_th.txt", include_str!("line_th.txt"), "Asia/Bangkok", 1, TH),
        ("line_en.txt", include_str!("line_en.txt"), "-0500", 1, EN),
        ("line_computer.txt", include_str!("line_computer.txt"), "UTC", 1, COMPUTER),
    ];
    for (name, text, zone, happened, expected) in cases {
        let home = Home::with_user(parts).await;
        let file = home.write(name, text);
        let zone = ["--user", OWNER, "--time-zone", zone];
        let ended = home.import(&file, &zone).await.succeeded();
        let messages = home.messages().await;
        let found: BTreeSet<_> = messages.iter().map(shown).collect();
        let expected: BTreeSet<_> = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(ended.count("happened"), happened, "{name}");
        let media: Vec<_> = messages.iter().filter(|m| m.kind.is_media()).collect();
        assert!(!media.is_empty() && media.iter().all(|m| m.media_status() == Some("expired")));
    }
}

const ZH: &[&str] = &[
    "01-05T01:31 小明 text 早安 👋",
    "01-05T01:32 Amy Chen image ",
    "01-05T01:33 小明 text 中午吃什麼？\n1. 牛肉麵\n\n2. 壽司",
    "01-05T04:05 Amy Chen sticker ",
    "01-05T04:07 小華 text 大家好",
    "01-05T16:01 小明 file 預算 2024.xlsx",
    "01-06T00:00 小明 text =SUM(A1:A9)",
];
const JA: &[&str] = &[
    "01-05T00:31 山田 太郎 text おはようございます",
    "01-05T00:32 花子 image ",
    "01-05T00:33 山田 太郎 text 予定：\n2024/01/13(土)\nでどうですか",
    "01-05T12:05 花子 sticker ",
    "01-05T12:07 山田 太郎 audio ",
    "01-05T15:01 花子 video ",
    "01-05T15:02 花子 text [位置情報] 東京駅",
];
const TH: &[&str] = &[
    "01-05T02:31 สมชาย text สวัสดีครับ",
    "01-05T02:32 น้ำ image ",
    "01-05T02:33 น้ำ sticker ",
    "01-05T02:35 กานดา text ไปกินข้าวกันไหม",
    "01-06T03:00 สมชาย file ",
];
const EN: &[&str] = &[
    "01-05T14:31 Ann text good morning",
    "01-05T14:32 Bob Lee image ",
    "01-05T14:33 Bob Lee audio ",
    "01-05T17:05 Ann unsent ",
    "01-05T17:07 Carol text one\n\"two\"\nthree",
    "01-06T05:01 Ann text [Location]",
    "01-06T05:02 Ann text see https://example.com/menu",
];
const COMPUTER: &[&str] = &[
    "01-05T09:31 Tony Chou text good morning",
    "01-05T09:32 Tony Chou image ",
    "01-05T09:33 Ann text plan for tomorrow:\n08:00 breakfast\n\n09:00 walk",
    "01-05T09:34 Tony Chou text ok",
    "01-06T08:00 Tony Chou text on my way",
    "01-06T08:01 Ann sticker ",
];

async fn importing_twice_changes_nothing(parts: Parts) {
    let home = Home::with_user(parts).await;
    let text = include_str!("line_zh.txt");
    let first = home.write("first.txt", text);
    let user = ["--user", OWNER];
    // 大家好 was said twice in one minute, and both are kept.
    assert_eq!(home.import(&first, &user).await.succeeded().count("stored"), 8);
    let exported = home.export("first.jsonl").await;

    // A later export of the same chat, in another encoding, with one message more.
    let more = format!("\u{feff}{text}上午08:01\t小明\tnew\n").replace('\n', "\r\n");
    let bytes: Vec<u8> = more.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let later = home.write("later.txt", bytes);
    let ended = home.import(&later, &[]).await.succeeded();
    assert_eq!((ended.count("stored"), ended.count("known")), (1, 8));
    let now = home.export("now.jsonl").await;
    assert!(now.starts_with(&exported) && now.len() > exported.len());
}

async fn members_are_known(parts: Parts) {
    let home = Home::with_user(parts).await;
    let store = home.store().await;
    for (user, name) in [("U7", "Ann"), ("U8", "Bob Lee"), ("U9", "Bob Lee")] {
        let present = sighting(GROUP, START, SightingKind::Present(user.into()));
        store.sight(&[present], at(START)).await.unwrap();
        store.add_user(&user.into(), Some(name), at(START)).await.unwrap();
    }
    store.close().await;
    let file = home.write("en.txt", include_str!("line_en.txt"));
    home.import(&file, &["--user", OWNER]).await.succeeded();
    let mut senders = String::new();
    for message in home.messages().await {
        let sender = message.sender.unwrap();
        let id =
            if sender.id.as_str().starts_with("import:") { "import" } else { sender.id.as_str() };
        let _ = write!(senders, "{id}={} ", sender.display_name.unwrap());
    }
    // Two members are called Bob Lee, so the words are neither's.
    assert!(
        senders.starts_with("U7=Ann import=Bob Lee import=Bob Lee U7=Ann import=Carol"),
        "{senders}"
    );
}
