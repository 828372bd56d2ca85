//! An exported channel can be imported, and exported again the same.

use std::io::Read as _;

use chatkeep_core::message::{Content, Mention, MessageChange};
use chatkeep_store::PresenceEvidenceKind;

use super::home::{Home, START};
use super::{GROUP, OWNER, on_both};
use crate::stack::Parts;
use crate::store::{at, change, edited, item, said, unsent};

on_both!(
    an_export_restores_every_byte_in_an_empty_store,
    folders_and_archives_come_back_too,
    a_range_is_exported_alone,
    earlier_texts_come_back_where_they_may_be_kept,
);

async fn an_export_restores_every_byte_in_an_empty_store(parts: Parts) {
    let (from, to) = (Home::with_messages(parts).await, Home::with_user(parts).await);
    let first = from.export("first.jsonl").await;
    assert_eq!(String::from_utf8_lossy(&first).lines().count(), 13);
    let file = from.path("first.jsonl");

    let tried = to.import(&file, &["--dry-run"]).await.succeeded();
    assert_eq!(tried.count("stored"), 13);
    let refused = to.import(&file, &[]).await.ended(1);
    assert!(refused.stderr.contains("--user ID"), "{}", refused.stderr);
    let imported = to.import(&file, &["--user", OWNER]).await.succeeded();
    assert_eq!((imported.count("stored"), imported.count("known")), (13, 0));
    let second = to.export("second.jsonl").await;
    assert_eq!(String::from_utf8(second).unwrap(), String::from_utf8(first).unwrap());
    assert_eq!(to.counters().await, from.counters().await);

    let again = to.import(&file, &[]).await.succeeded();
    assert_eq!((again.count("stored"), again.count("known")), (0, 13));
    assert_eq!(to.counters().await, from.counters().await);
    assert_eq!(to.export("third.jsonl").await, from.export("fourth.jsonl").await);
}

async fn folders_and_archives_come_back_too(parts: Parts) {
    let from = Home::with_messages(parts).await;
    let expected = from.export("plain.jsonl").await;
    for out in ["backup", "backup.zip"] {
        let path = from.path(out).display().to_string();
        let export = ["export", "--channel", GROUP, "--out", &path];
        from.run(&export).await.succeeded();
        let refused = from.run(&export).await.ended(1);
        assert!(refused.stderr.contains("will not overwrite"), "{}", refused.stderr);
        let to = Home::with_user(parts).await;
        to.import(&path, &["--user", OWNER]).await.succeeded();
        assert_eq!(to.export("again.jsonl").await, expected, "{out}");
    }
    let archive = std::fs::File::open(from.path("backup.zip")).unwrap();
    let mut archive = zip::ZipArchive::new(archive).unwrap();
    let mut inside = Vec::new();
    archive.by_name("messages.jsonl").unwrap().read_to_end(&mut inside).unwrap();
    assert_eq!(inside, expected);
    let left = std::fs::read_dir(from.folder.path()).unwrap();
    let left: Vec<_> =
        left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.ends_with(".partial")), "{left:?}");
}

/// Has the group keep earlier texts, in a home that may not know it yet.
async fn keep_earlier_texts(home: &Home) {
    let store = home.store().await;
    let present = item(GROUP, START, PresenceEvidenceKind::Present(OWNER.into()));
    store.members().record_presence(&[present], at(START)).await.unwrap();
    let (group, owner) = (GROUP.into(), OWNER.into());
    store.channels().set_earlier_texts(&group, true, &owner, at(START)).await.unwrap();
    store.close().await;
}

/// Returns the earlier texts of the group's messages as they are stored.
async fn earlier_texts(home: &Home) -> Vec<(String, Option<String>)> {
    let (store, mut messages) = (home.store().await, home.messages().await);
    store.messages().add_earlier_texts(&GROUP.into(), &mut messages).await.unwrap();
    store.close().await;
    let texts = messages.iter().filter(|message| !message.earlier_texts.is_empty());
    texts.map(|message| (message.id.to_string(), message.earlier_texts.to_json())).collect()
}

async fn earlier_texts_come_back_where_they_may_be_kept(parts: Parts) {
    let from = Home::with_messages(parts).await;
    keep_earlier_texts(&from).await;
    let mention =
        Mention { user_id: Some("U2".into()), start: 0, length: 2, is_self: false, is_all: None };
    let rich = Content::Text {
        text: "@b, in <b>".to_owned(),
        emojis: Vec::new(),
        mentions: vec![mention],
    };
    let rich = serde_json::to_string(&rich).unwrap();
    let edit = |id: &str, time, content: &str| {
        let content = content.to_owned();
        change(GROUP, id, MessageChange::Edited { at: at(START + time), by: None, content })
    };
    let changes = [
        said(GROUP, "plain", START + 900_000, "first"),
        edited(GROUP, "plain", START + 900_001, "second \u{1F600}"),
        edited(GROUP, "plain", START + 900_002, "third"),
        said(GROUP, "rich", START + 900_010, "before"),
        edit("rich", 900_011, &rich),
        edited(GROUP, "rich", START + 900_012, "after"),
        said(GROUP, "unsent", START + 900_020, "secret"),
        edited(GROUP, "unsent", START + 900_021, "secret, too"),
        unsent(GROUP, "unsent", START + 900_022),
    ];
    let store = from.store().await;
    store.messages().ingest(&changes, at(START + 910_000)).await.unwrap();
    store.close().await;
    let stored = earlier_texts(&from).await;
    assert_eq!(stored.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["plain", "rich"]);

    let first = from.export("first.jsonl").await;
    let text = String::from_utf8(first.clone()).unwrap();
    let line =
        |id: &str| text.lines().find(|line| line.contains(&format!(r#""id":"{id}""#))).unwrap();
    assert!(line("plain").contains(r#""earlierTexts":[{"content":"first""#), "{}", line("plain"));
    assert!(!line("plain").contains("extra"), "{}", line("plain"));
    assert!(line("rich").contains(&rich), "{}", line("rich"));
    assert!(!text.contains("secret"), "{text}");
    let file = from.path("first.jsonl");

    let to = Home::with_user(parts).await;
    keep_earlier_texts(&to).await;
    to.import(&file, &["--user", OWNER]).await.succeeded();
    assert_eq!(earlier_texts(&to).await, stored);
    assert_eq!(String::from_utf8(to.export("second.jsonl").await).unwrap(), text);
    assert_eq!(to.counters().await, from.counters().await);

    // Where nobody has them kept, they stay away.
    let other = Home::with_user(parts).await;
    other.import(&file, &["--user", OWNER]).await.succeeded();
    assert!(earlier_texts(&other).await.is_empty());
    let bytes = (from.counters().await, other.counters().await);
    assert!(bytes.1 < bytes.0, "{bytes:?}");

    // U+0000 becomes what it becomes in any other text.
    let nul = Home::with_user(parts).await;
    keep_earlier_texts(&nul).await;
    let text = text.replace(r#""content":"first""#, r#""content":"fi\u0000rst""#);
    let text = text.replace(r#""text":"before""#, r#""text":"be\u0000fore""#);
    let imported = nul.import(nul.write("nul.jsonl", text), &["--user", OWNER]).await.succeeded();
    assert_eq!(imported.count("replaced"), 2);
    let kept = format!("{:?}", earlier_texts(&nul).await);
    assert!(kept.contains("fi\u{fffd}rst") && kept.contains("be\u{fffd}fore"), "{kept}");
    let page = String::from_utf8(from.export("page.html").await).unwrap();
    assert!(page.contains("@b, in &#60;b&#62;") || page.contains("@b, in &lt;b&gt;"), "{page}");
}

async fn a_range_is_exported_alone(parts: Parts) {
    let home = Home::with_messages(parts).await;
    let range = ["--from", "2026-01-02T03:05:00Z", "--to", "2026-01-02T03:07:00+00:00"];
    let args = ["export", "--channel", GROUP].into_iter().chain(range).collect::<Vec<_>>();
    let ended = home.run(&args).await.succeeded();
    let ids: Vec<_> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(ids, ["m01", "m02"]);
    let wrong = home.run(&["export", "--channel", GROUP, "--from", "yesterday"]).await.ended(2);
    assert!(wrong.stderr.contains("--from"), "{}", wrong.stderr);
    let unknown = home.run(&["export", "--channel", "Cnone"]).await.ended(1);
    assert!(unknown.stderr.contains("unknown channel Cnone"), "{}", unknown.stderr);
}
