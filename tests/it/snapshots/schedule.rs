//! Snapshots by themselves, and the removal of old ones.

use std::fs;

use serde_json::Value;

use super::Scene;
use crate::harness::files::{below, holding};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_makes_snapshots_by_itself() {
    let every = ("CHATKEEP_SNAPSHOT_EVERY_HOURS", "1".to_owned());
    let scene = Scene::new(&[every]).await;
    let target = scene.target();
    let made = async || !below(&target.join("snapshots")).is_empty();
    until("the first snapshot", DEADLINE, made).await;
    let whole = async || {
        let list = scene.run(&["snapshot", "list", "--json"]).await.1;
        let line: Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
        line["manifest"]["reason"] == "schedule"
    };
    until("it is whole", DEADLINE, whole).await;
    assert!(target.join("ledger.jsonl").exists());
    let (code, said) = scene.run(&["snapshot", "verify", "latest"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = scene.run(&["status", "--json"]).await;
    let status: Value = serde_json::from_str(&said).unwrap();
    let snapshots = &status["snapshots"];
    assert!(code == Some(0) && snapshots["newestAt"].is_string(), "{said}");
    assert_eq!(snapshots["place"], target.display().to_string(), "{said}");
    let (_, said) = scene.run(&["status"]).await;
    assert!(said.contains("last snapshot"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_cannot_be_opened_stops_nothing_else() {
    let mut scene = Scene::new(&[("CHATKEEP_SNAPSHOT_EVERY_HOURS", "1".to_owned())]).await;
    let target = scene.new_folder("away").join("snapshots");
    fs::write(target.parent().unwrap(), "a disk that is not mounted").unwrap();
    let setting = ("CHATKEEP_SNAPSHOT_TARGET", target.display().to_string());
    scene.stack.ground.settings.push(setting);
    scene.restart().await;
    scene.say("it is stored all the same").await;
    let address = format!("http://{}/readyz", scene.stack.ground.address);
    until("the problem is listed", DEADLINE, async || {
        let answer = reqwest::get(&address).await.unwrap();
        assert!(answer.status().is_success());
        answer.text().await.unwrap().contains(r#""part":"snapshots""#)
    })
    .await;
    fs::remove_file(target.parent().unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_that_a_killed_snapshot_left_are_removed_at_the_start() {
    let mut scene = Scene::new(&[]).await;
    let work = scene.stack.ground.folder.path().join("snapshot-work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("chatkeep.db"), "a plain copy").unwrap();
    scene.restart().await;
    assert!(!work.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_snapshots_go_and_the_files_of_the_others_stay() {
    let keep = [("KEEP", "2"), ("KEEP_DAYS", "0")];
    let keep = keep.map(|(name, value)| match name {
        "KEEP" => ("CHATKEEP_SNAPSHOT_KEEP", value.to_owned()),
        _ => ("CHATKEEP_SNAPSHOT_KEEP_DAYS", value.to_owned()),
    });
    let mut scene = Scene::new(&keep).await;
    let gone = scene.send(b"only in the first").await;
    scene.send(b"in all of them").await;
    let first = scene.snapshot().await;
    scene.unsend(&gone).await;
    // Files are swept every minute, and at the start.
    scene.restart().await;
    let data = scene.stack.ground.folder.path().join("blobs");
    let swept = async || holding(&data, b"only in the first").is_empty();
    until("its file is removed", DEADLINE, swept).await;
    let (second, third) = (scene.snapshot().await, scene.snapshot().await);
    let stored = scene.target().join("blobs");
    assert_eq!(below(&stored).len(), 2);
    // What a process that died has left.
    let unfinished = scene.target().join("snapshots/20200101T000000000Z-0badcafe");
    fs::create_dir(&unfinished).unwrap();
    fs::write(unfinished.join("bus.db"), "half").unwrap();
    fs::write(stored.join("half#1"), "half").unwrap();
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    assert!(listed.contains("0badcafe  not finished"), "{listed}");
    let (code, said) = scene.run(&["snapshot", "prune"]).await;
    assert_eq!((code, said.as_str()), (Some(0), "2 snapshots and 1 files were removed"));
    assert_eq!(below(&stored).len(), 1);
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    assert!(!listed.contains(&first) && !unfinished.exists(), "{listed}");
    for id in [second, third] {
        let (code, said) = scene.run(&["snapshot", "verify", &id]).await;
        assert_eq!(code, Some(0), "{said}");
    }
}
