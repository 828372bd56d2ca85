//! Snapshot targets whose disk is unmounted while a snapshot is made, and those of other disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Scene;
use crate::harness::files::below;
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Number of files that a snapshot copies at a time.
const COPIES: usize = 4;
/// Number of files: some are copied before the first one is there, and others after it.
const FILES: usize = 2 * COPIES;

/// Starts a service with files of messages in a bucket, whose server can let readers wait.
async fn scene_with_files(s3: &S3) -> Scene {
    let scene = Scene::new(&s3.environment()).await;
    for n in 0..FILES {
        scene.send(format!("file {n}").as_bytes()).await;
    }
    scene.stack.drained().await;
    scene
}

/// Makes a snapshot that copies all files again, and calls `switch` when some of them are copied.
/// Returns what it said; it must fail.
async fn interrupted(scene: &Scene, s3: &S3, switch: impl FnOnce()) -> String {
    let copies = scene.target().join("blobs");
    let mut names: Vec<_> = below(&copies).iter().map(|file| name(file)).collect();
    names.sort();
    assert_eq!(names.len(), FILES);
    fs::remove_dir_all(&copies).unwrap();
    s3.hold(&names[0]);
    let mut making = scene.program(&["snapshot", "create"]).start();
    let is_half_done = async || below(&copies).len() == COPIES - 1;
    until("those beside the first one are copied", DEADLINE, is_half_done).await;
    switch();
    s3.release();
    assert_eq!(making.finish().await.code(), Some(1), "{:?}", making.stderr());
    making.stderr().join("\n")
}

fn name(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_whose_disk_is_unmounted_does_not_count_and_leaves_nothing_behind() {
    let s3 = S3::start();
    let scene = scene_with_files(&s3).await;
    let whole = scene.snapshot().await;
    let (target, away) = (scene.target(), scene.new_folder("away"));
    let said = interrupted(&scene, &s3, || {
        fs::rename(&target, &away).unwrap();
        fs::create_dir(&target).unwrap();
    })
    .await;
    assert!(said.contains("is incomplete and does not count"), "{said}");
    assert_eq!(below(&target), [] as [PathBuf; 0]);

    // The disk is back; what is left there is no snapshot, either.
    fs::remove_dir_all(&target).unwrap();
    fs::rename(&away, &target).unwrap();
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    let unfinished = listed.lines().filter(|line| line.contains("not finished"));
    assert_eq!((unfinished.count(), listed.contains(&whole)), (1, true), "{listed}");
    let next = scene.snapshot().await;
    let (code, said) = scene.run(&["snapshot", "verify", &next]).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    assert!(!listed.contains("not finished"), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_took_the_place_of_the_target_keeps_what_is_its_own() {
    let s3 = S3::start();
    let scene = scene_with_files(&s3).await;
    scene.snapshot().await;
    // Another disk, with a snapshot of its own and the same files.
    let (target, other) = (scene.target(), scene.new_folder("other"));
    assert!(Command::new("cp").arg("-r").args([&target, &other]).status().unwrap().success());
    fs::write(other.join("snapshot-target.id"), "of another disk\n").unwrap();
    let before = below(&other);
    let said = interrupted(&scene, &s3, || {
        fs::rename(&target, scene.new_folder("away")).unwrap();
        fs::rename(&other, &target).unwrap();
    })
    .await;
    assert!(said.contains("is incomplete and does not count"), "{said}");
    let kept = before.iter().map(|path| target.join(path.strip_prefix(&other).unwrap()));
    assert_eq!(below(&target), kept.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_whose_disk_was_away_for_a_while_does_not_count() {
    let s3 = S3::start();
    let scene = scene_with_files(&s3).await;
    scene.snapshot().await;
    let snapshots = scene.target().join("snapshots");
    let said = interrupted(&scene, &s3, || {
        // What was stored meanwhile lies in the mount point.
        let parts = below(&snapshots);
        let made = parts.iter().filter(|part| !part.with_file_name("manifest.json").exists());
        let parts: Vec<_> = made.filter(|part| part.ends_with("chatkeep.db")).collect();
        assert_eq!(parts.len(), 1);
        fs::remove_file(parts[0]).unwrap();
    })
    .await;
    assert!(said.contains("is incomplete and does not count"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_commands_say_that_the_target_is_another_one_and_go_on() {
    let scene = Scene::new(&[]).await;
    let id = scene.snapshot().await;
    let target = scene.target();
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    assert!(!listed.contains("is not the snapshot target"), "{listed}");
    fs::write(target.join("snapshot-target.id"), "of another disk\n").unwrap();
    let other = "its snapshot-target.id is another one, of another disk";
    for command in ["list", "verify"] {
        let id = (command == "verify").then_some(id.as_str());
        let args = ["snapshot", command].into_iter().chain(id).collect::<Vec<_>>();
        let (code, said) = scene.run(&args).await;
        assert!(code == Some(0) && said.contains(other), "{command}: {said}");
    }
    let restored = scene.new_folder("restored");
    let said = scene.restore(&id, &restored, &[]).await;
    assert!(said.contains(other) && said.contains("was restored into"), "{said}");
    // What is restored has used that one.
    let scene = scene.move_to(&restored).await;
    let (_, listed) = scene.run(&["snapshot", "list"]).await;
    assert!(!listed.contains("is not the snapshot target") && listed.contains(&id), "{listed}");
}
