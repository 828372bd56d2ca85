//! Texts exported by the LINE app, in its languages and both its formats.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chatkeep_store::{MediaStatus, OptOutChange, PresenceEvidenceKind, StoredMessage};

use super::home::{Home, START};
use super::{GROUP, OWNER, on_both};
use crate::stack::Parts;
use crate::store::{at, erase_person, item};

on_both!(
    four_languages_and_two_generations,
    importing_twice_changes_nothing,
    members_are_known,
    who_opted_out_stays_out,
    who_was_erased_stays_out_under_a_shared_name,
    an_erasure_after_opting_out_keeps_nobody_else_out,
    a_zone_is_asked_for_and_another_one_noticed,
    an_import_is_undone_by_its_number,
    code_pages_and_names_that_are_given,
);

/// Formats a message as one line: time in UTC, name, type, text.
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
        assert!(
            !media.is_empty()
                && media.iter().all(|m| m.media_status() == Some(MediaStatus::Expired))
        );
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
    let user = ["--user", OWNER, "--time-zone", "Asia/Taipei"];
    // 大家好 was sent twice in one minute, and both are stored.
    assert_eq!(home.import(&first, &user).await.succeeded().count("stored"), 8);
    let exported = home.export("first.jsonl").await;

    // A later export of the same chat, in another encoding, with one message more.
    let more = format!("\u{feff}{text}上午08:00\t小明\tnew\n").replace('\n', "\r\n");
    let bytes: Vec<u8> = more.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let later = home.write("later.txt", bytes);
    let ended = home.import(&later, &user[2..]).await.succeeded();
    assert_eq!((ended.count("stored"), ended.count("known")), (1, 8));
    let now = home.export("now.jsonl").await;
    assert!(now.starts_with(&exported) && now.len() > exported.len());
    // Somebody has another name by now, and the app another language.
    let renamed = more.replace("小明", "小明🌸").replace("[照片]", "[Photo]");
    assert_ne!(renamed, more);
    let ended = home.import(&home.write("renamed.txt", renamed), &user[2..]).await.succeeded();
    assert_eq!((ended.count("stored"), ended.count("known")), (0, 9));
    assert_eq!(home.export("renamed.jsonl").await, now);
    // In the order of the file, also within a minute.
    let times: Vec<_> = home.messages().await.iter().map(|m| m.sent_at.millis() % 60_000).collect();
    assert_eq!(times, [0, 0, 0, 0, 0, 1, 0, 0, 1]);
}

async fn members_are_known(parts: Parts) {
    let home = Home::with_user(parts).await;
    let store = home.store().await;
    for (user, name) in [("U7", "Ann"), ("U8", "Bob Lee"), ("U9", "Bob Lee")] {
        let present = item(GROUP, START, PresenceEvidenceKind::Present(user.into()));
        store.members().record_presence(&[present], at(START)).await.unwrap();
        store.accounts().add_user(&user.into(), Some(name), at(START)).await.unwrap();
    }
    store.close().await;
    let file = home.write("en.txt", include_str!("line_en.txt"));
    home.import(&file, &["--user", OWNER, "--time-zone", "UTC"]).await.succeeded();
    let mut senders = String::new();
    for message in home.messages().await {
        let sender = message.sender.unwrap();
        let id =
            if sender.id.as_str().starts_with("import:") { "import" } else { sender.id.as_str() };
        let _ = write!(senders, "{id}={} ", sender.display_name.unwrap());
    }
    // Two members are called Bob Lee, so the messages are neither's.
    assert!(
        senders.starts_with("U7=Ann import=Bob Lee import=Bob Lee U7=Ann import=Carol"),
        "{senders}"
    );
}

async fn who_opted_out_stays_out(parts: Parts) {
    let home = Home::with_user(parts).await;
    let store = home.store().await;
    for (user, name) in [("U7", Some("Ann")), ("U8", Some("Bob")), ("U9", Some("Bob"))] {
        let present = item(GROUP, START, PresenceEvidenceKind::Present(user.into()));
        store.members().record_presence(&[present], at(START)).await.unwrap();
        store.accounts().add_user(&user.into(), name, at(START)).await.unwrap();
    }
    // In the middle of a minute of which the text has only the minute.
    let out = "2024-03-01T12:01:30Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    let out = at(out.timestamp_millis());
    for user in ["U7", "U9"] {
        let done = store.members().set_opted_out(&user.into(), None, true, || out).await.unwrap();
        assert_eq!(done, OptOutChange::Done);
    }
    store.close().await;
    let text = "[LINE] Chat history with Group\nSaved on: 03/01/2024, 13:00\n\nFri, 03/01/2024\n\
                12:00\tAnn\tbefore\n12:00\tBob\tbefore\n12:00\tSomebody\tbefore\n\
                12:01\tAnn\tin that minute\n12:02\tAnn\tafter\n12:02\tBob\tone of two\n\
                12:02\tSomebody\tperhaps Ann with a new name\n";
    let file = home.write("out.txt", text);
    let ended = home.import(&file, &["--user", OWNER, "--time-zone", "UTC"]).await.succeeded();
    assert_eq!((ended.count("stored"), ended.count("erased")), (3, 4));
    let kept = home.messages().await;
    assert!(kept.iter().all(|message| shown(message).contains("before")), "{kept:?}");
}

async fn an_erasure_after_opting_out_keeps_nobody_else_out(parts: Parts) {
    let home = Home::with_user(parts).await;
    let store = home.store().await;
    let present = item(GROUP, START, PresenceEvidenceKind::Present("U7".into()));
    store.members().record_presence(&[present], at(START)).await.unwrap();
    store.accounts().add_user(&"U7".into(), Some("Ann"), at(START)).await.unwrap();
    let time =
        |text: &str| at(text.parse::<chrono::DateTime<chrono::Utc>>().unwrap().timestamp_millis());
    for (out, when) in [(true, "2024-03-02T12:00:00Z"), (false, "2024-03-02T12:01:00Z")] {
        let user = "U7".into();
        let done = store.members().set_opted_out(&user, None, out, || time(when)).await.unwrap();
        assert_eq!(done, OptOutChange::Done);
    }
    let erased = time("2024-03-02T12:02:00Z");
    erase_person(&store, &GROUP.into(), &"U7".into(), erased, erased).await;
    store.close().await;
    let text = "[LINE] Chat history with Group\nSaved on: 03/01/2024, 13:00\n\nFri, 03/01/2024\n\
                12:00\tAnn\there\n12:00\tSomebody\tthere\n";
    let file = home.write("erased.txt", text);
    let ended = home.import(&file, &["--user", OWNER, "--time-zone", "UTC"]).await.succeeded();
    assert_eq!((ended.count("stored"), ended.count("erased")), (1, 1), "the one of her name");
}

async fn who_was_erased_stays_out_under_a_shared_name(parts: Parts) {
    let home = Home::with_user(parts).await;
    let store = home.store().await;
    for user in ["U8", "U9"] {
        let present = item(GROUP, START, PresenceEvidenceKind::Present(user.into()));
        store.members().record_presence(&[present], at(START)).await.unwrap();
        store.accounts().add_user(&user.into(), Some("Bob"), at(START)).await.unwrap();
    }
    let erased = "2024-03-01T12:01:30Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    let erased = at(erased.timestamp_millis());
    erase_person(&store, &GROUP.into(), &"U9".into(), erased, erased).await;
    store.close().await;
    let text = "[LINE] Chat history with Group\nSaved on: 03/01/2024, 13:00\n\nFri, 03/01/2024\n\
                12:00\tBob\tone of two\n12:02\tBob\tafter\n";
    let file = home.write("erased.txt", text);
    let ended = home.import(&file, &["--user", OWNER, "--time-zone", "UTC"]).await.succeeded();
    assert_eq!((ended.count("stored"), ended.count("erased")), (1, 1));
    let kept = home.messages().await;
    assert!(kept.iter().all(|message| shown(message).contains("after")), "{kept:?}");
}

async fn a_zone_is_asked_for_and_another_one_noticed(parts: Parts) {
    let home = Home::new(parts).await;
    let file = home.write("zh.txt", include_str!("line_zh.txt"));
    let refused = home.import(&file, &["--user", OWNER]).await.ended(2);
    assert!(refused.stderr.contains("--time-zone is required"), "{}", refused.stderr);
    let store = home.store().await;
    assert!(
        store.accounts().user(&OWNER.into()).await.unwrap().is_none(),
        "nothing was made for it"
    );
    store.close().await;

    let user = ["--user", OWNER];
    let zone = |zone| [&user[..], &["--time-zone", zone]].concat();
    let first = home.import(&file, &zone("Asia/Taipei")).await.succeeded();
    assert!(first.stderr.contains("added user"), "{}", first.stderr);
    let number = first.count("importId").to_string();
    let other = home.import(&file, &zone("UTC")).await.ended(2);
    let what = format!("with the time zone Asia/Taipei before (import {number}); with UTC, 8 of");
    assert!(other.stderr.contains(&what), "{}", other.stderr);
    // The same zone by another name is none, and a channel's own zone is the default.
    assert_eq!(home.import(&file, &zone("+08:00")).await.succeeded().count("known"), 8);
    let store = home.store().await;
    store
        .channels()
        .set_time_zone(&GROUP.into(), Some("Asia/Taipei"), &"U1".into(), at(1))
        .await
        .unwrap();
    store.close().await;
    assert_eq!(home.import(&file, &[]).await.succeeded().count("known"), 8);
    let misspelt = home.import(&file, &["--time-zone", "Taipei"]).await.ended(2);
    assert!(misspelt.stderr.contains("did you mean Asia/Taipei?"), "{}", misspelt.stderr);

    home.run(&["import", "undo", &number]).await.succeeded();
    assert_eq!(home.import(&file, &zone("UTC")).await.succeeded().count("stored"), 8);
}

async fn an_import_is_undone_by_its_number(parts: Parts) {
    let home = Home::with_messages(parts).await;
    let (before, counters) = (home.export("before.jsonl").await, home.counters().await);
    let file = home.write("zh.txt", include_str!("line_zh.txt"));
    let zone = ["--time-zone", "Asia/Taipei"];
    let args = ["import", &file, "--channel", GROUP, zone[0], zone[1]];
    let said = home.run(&args).await.succeeded();
    let said_lines = [
        "8 messages stored",
        "chat: 午餐群組",
        "time zone: Asia/Taipei",
        "sent from 2024-01-05T01:31:00.000Z to 2024-01-06T00:00:00.000Z",
        "3 people: 小明 (4), ",
        "import 1;",
    ];
    for what in said_lines {
        assert!(said.stderr.contains(what), "{what}: {}", said.stderr);
    }
    // Nothing is added again, and no import is recorded.
    assert!(home.import(&file, &zone).await.succeeded().stdout.contains("\"importId\":null"));
    let listed = home.run(&["import", "list"]).await.succeeded().stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.contains("zh.txt") && listed.contains("Asia/Taipei"), "{listed}");
    let listed = home.run(&["import", "list", "--json"]).await.succeeded().stdout;
    assert!(listed.contains(r#""state":"done""#), "{listed}");

    let store = home.store().await;
    let named = async || {
        let names = store.members().names_in(&[GROUP.into()]).await.unwrap();
        names.iter().any(|(_, name)| name.as_deref() == Some("Amy Chen"))
    };
    assert!(named().await);
    let undone = home.run(&["import", "undo", "1"]).await.succeeded();
    assert!(undone.stderr.contains("8 messages removed"), "{}", undone.stderr);
    assert!(!named().await);
    store.close().await;
    let again = home.run(&["import", "undo", "1"]).await.succeeded();
    assert!(
        again.stderr.contains("0 messages removed, 0 bytes freed (already"),
        "{}",
        again.stderr
    );
    assert!(home.run(&["import", "list"]).await.succeeded().stdout.contains("  undone  "));
    assert_eq!((home.export("after.jsonl").await, home.counters().await), (before, counters));
    home.run(&["import", "undo", "2"]).await.ended(1);
    assert_eq!(home.import(&file, &zone).await.succeeded().count("stored"), 8);
}

async fn code_pages_and_names_that_are_given(parts: Parts) {
    let home = Home::new(parts).await;
    let text =
        "2019.12.23 月曜日\n09:31 山田 次郎 おはよう\n09:32 山田 次郎 写真\n09:33 花子 はい\n";
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(text);
    let file = home.write("computer.txt", &bytes);
    let tokyo = ["--user", OWNER, "--time-zone", "Asia/Tokyo"];
    let named = [&tokyo[..], &["--name", "山田 次郎"]].concat();
    let ended = home.import(&file, &named).await.succeeded();
    let summary: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["encoding"], "Shift_JIS");
    assert_eq!(
        (&summary["people"][0]["name"], &summary["people"][0]["messages"]),
        (&"山田 次郎".into(), &2.into())
    );
    let expected = [
        "12-23T00:31 山田 次郎 text おはよう",
        "12-23T00:32 山田 次郎 image ",
        "12-23T00:33 花子 text はい",
    ];
    assert_eq!(home.messages().await.iter().map(shown).collect::<Vec<_>>(), expected);

    for (name, text, code, what) in [
        (
            "french.txt",
            "ven. 05/01/2024\n09:31\tAnne\tbonjour\n".as_bytes(),
            1,
            "(line 1: \"ven. 05/01/2024\")",
        ),
        ("both.txt", "05/01/2024\n09:31\tAnn\thi\n".as_bytes(), 2, "--date-order"),
        (
            "latin.txt",
            b"Journ\xe9e d'\xe9t\xe9 \xe0 Besan\xe7on\n",
            1,
            "it looks like windows-1252",
        ),
    ] {
        let file = home.write(name, text);
        let refused = home.import(&file, &tokyo).await.ended(code);
        assert!(refused.stderr.contains(what), "{name}: {}", refused.stderr);
    }
    let odd = "2024/01/05(Fri)\n09:31\tAnn\thi\n\n2024/01/06(sam.)\n09:31\tAnn\tlost\n";
    let odd = home.import(home.write("odd.txt", odd), &tokyo).await.ended(3);
    let summary: serde_json::Value = serde_json::from_str(&odd.stdout).unwrap();
    assert_eq!((odd.count("stored"), odd.count("notUnderstood")), (1, 2));
    assert_eq!(
        (&summary["lines"][0]["line"], &summary["lines"][1]["line"]),
        (&4.into(), &5.into())
    );
}
