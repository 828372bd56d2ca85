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
    assert!(said.contains("last snapshot") && !said.contains("no schedule"), "{said}");
    let (_, said) = scene.run(&["status", "--json"]).await;
    assert!(said.contains(r#""everyHours":1"#), "{said}");
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
async fn an_empty_folder_in_place_of_the_target_is_a_problem_until_it_is_adopted() {
    let mut scene = Scene::new(&[("CHATKEEP_SNAPSHOT_EVERY_HOURS", "1".to_owned())]).await;
    let (target, away) = (scene.target(), scene.new_folder("away"));
    let first = scene.snapshot().await;
    fs::rename(&target, &away).unwrap();
    fs::create_dir(&target).unwrap();
    scene.restart().await;
    let advice = "it has no snapshot-target.id. Mount it";
    let address = format!("http://{}/readyz", scene.stack.ground.address);
    let problems = async || reqwest::get(&address).await.unwrap().text().await.unwrap();
    until("the problem is listed", DEADLINE, async || {
        let listed = problems().await;
        listed.contains(r#""part":"snapshots""#) && listed.contains(advice)
    })
    .await;
    until("it is in the log", DEADLINE, async || {
        scene.stack.process.stderr().iter().any(|line| line.contains(advice))
    })
    .await;
    let (code, said) = scene.run(&["status"]).await;
    assert!(code == Some(0) && said.contains("`chatkeep snapshot adopt"), "{said}");
    for command in ["create", "prune"] {
        let (code, said) = scene.run(&["snapshot", command]).await;
        assert!(code == Some(1) && said.contains(advice), "{command}: {said}");
    }
    assert_eq!(below(&target), Vec::<std::path::PathBuf>::new());
    // The right one is mounted: a new database that is restored from it goes on there.
    fs::remove_dir(&target).unwrap();
    fs::rename(&away, &target).unwrap();
    let restored = scene.new_folder("restored");
    scene.restore(&first, &restored, &[]).await;
    scene = scene.move_to(&restored).await;
    let next = scene.snapshot().await;
    until("no problem is left", DEADLINE, async || !problems().await.contains("snapshots")).await;
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    assert!(listed.contains(&first) && listed.contains(&next), "{listed}");
    // Or it is lost, and an empty one takes its place. What the service were to write at that moment
    // would make the folder anew.
    assert!(scene.stack.process.terminate().await.success());
    fs::remove_dir_all(&target).unwrap();
    let (code, said) = scene.run(&["snapshot", "create"]).await;
    assert!(code == Some(1) && said.contains("there is no such folder"), "{said}");
    assert!(!target.exists());
    fs::create_dir(&target).unwrap();
    let (code, said) = scene.run(&["snapshot", "adopt"]).await;
    assert_eq!(code, Some(0), "{said}");
    scene.snapshot().await;
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
