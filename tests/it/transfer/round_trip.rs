//! An exported channel can be imported, and exported again the same.

use std::io::Read as _;

use super::home::Home;
use super::{GROUP, OWNER, on_both};
use crate::stack::Parts;

on_both!(
    an_export_restores_every_byte_in_an_empty_store,
    folders_and_archives_come_back_too,
    a_range_is_exported_alone,
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
