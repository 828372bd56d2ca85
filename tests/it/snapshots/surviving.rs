//! Restorations beside a media store that survived, and of data that differed before.

use std::fs;
use std::path::Path;

use chatkeep_core::blob::BlobId;
use chatkeep_core::config::Database;
use chatkeep_store::Store;
use sha2::{Digest as _, Sha256};

use super::Scene;
use crate::harness::files::{below, holding};
use crate::harness::scratch;

/// Returns the name of a file with that content.
pub(super) fn name(content: &[u8]) -> BlobId {
    BlobId::from_digest(&Sha256::digest(content).into())
}

/// Opens the database of a restored folder.
async fn opened(folder: &Path) -> Store {
    Store::open(&Database::Sqlite, folder, 1).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_after_the_snapshot_are_left_alone() {
    let media = scratch::folder("media-");
    let media = media.path();
    let scene = Scene::new(&[("CHATKEEP_BLOBS", media.display().to_string())]).await;
    let (kept, gone, later) = (&b"before"[..], &b"lost"[..], &b"after it"[..]);
    scene.send(kept).await;
    scene.send(gone).await;
    let lost = holding(media, gone).pop().unwrap();
    fs::remove_file(&lost).unwrap();
    let id = scene.snapshot().await;
    scene.send(later).await;
    // Cut by the disk: that of the snapshot takes its place.
    let cut = holding(media, kept).pop().unwrap();
    fs::write(&cut, b"befo").unwrap();

    let folder = scene.new_folder("restored");
    let said = scene.restore(&id, &folder, &[]).await;
    assert!(said.contains("1 files are not in the snapshot"), "{said}");
    assert!(said.contains("1 differences were repaired, 0 are left"), "{said}");
    assert_eq!(fs::read(&cut).unwrap(), kept);
    assert_eq!(holding(media, later).len(), 1, "{:?}", below(media));
    let store = opened(&folder).await;
    let names = [name(later)].into();
    let unheld = store.audits().unreferenced_blobs(&names).await.unwrap();
    assert_eq!(unheld, names, "it is not marked for the sweep");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_differences_are_repaired_and_are_in_nobodys_way() {
    let scene = Scene::new(&[]).await;
    let chat = scene.group.chat_id.clone();
    let id = scene.say("what counts").await;
    for statement in [
        format!("UPDATE channels SET bytes = bytes + 5 WHERE channel_id = '{chat}'"),
        "UPDATE users SET used_bytes = used_bytes + 7".to_owned(),
        "INSERT INTO messages (channel_id, message_id, sent_at) VALUES ('nobody', 'm', 1)"
            .to_owned(),
    ] {
        scene.stack.ground.sql(&statement).await;
    }
    let snapshot = scene.snapshot().await;
    let (code, said) = scene.run(&["snapshot", "verify", &snapshot]).await;
    assert_eq!(code, Some(0), "{said}");
    let folder = scene.new_folder("restored");
    let said = scene.restore(&snapshot, &folder, &[]).await;
    assert!(said.contains(" differences were repaired, 1 are left as they were"), "{said}");
    let store = opened(&folder).await;
    let audit = store.audits().audit_channel(&chat.as_str().into()).await.unwrap().unwrap();
    assert_eq!(audit.differences, []);
    let message = store.messages().message(&chat.as_str().into(), &id.as_str().into()).await;
    assert!(format!("{message:?}").contains("what counts"));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_media_store_is_used_though_it_is_the_usual_one() {
    let scene = Scene::new(&[]).await;
    scene.send(b"in the old folder").await;
    let id = scene.snapshot().await;
    let old = scene.stack.ground.folder.path().join("blobs");
    let (into, old_name) = (scene.new_folder("restored"), old.display().to_string());
    scene.restore(&id, &into, &["--blobs", &old_name]).await;
    assert_eq!(below(&into.join("blobs")).len(), 0);
    assert_eq!(holding(&old, b"in the old folder").len(), 1);
}
