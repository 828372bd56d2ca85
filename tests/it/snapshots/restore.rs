//! Restored folders: everything that was there, and nothing that was erased since.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use chatkeep_core::config::Database;
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_store::Store;
use futures_util::future::join;
use reqwest::Method;
use serde_json::json;
use tokio::sync::Notify;

use super::Scene;
use crate::harness::files::{below, holding};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_under_load_is_restored_and_goes_on() {
    let scene = Scene::new(&[]).await;
    let file = scene.send(&vec![7; 50_000]).await;
    let first = scene.say("what stays").await;
    // The load begins before the copies, and ends after them.
    let (begun, done) = (Notify::new(), AtomicBool::new(false));
    let load = async {
        let mut said = Vec::new();
        for n in 0.. {
            if done.load(Ordering::SeqCst) && n > 10 {
                break;
            }
            said.push(scene.say(&format!("number {n} of those under way")).await);
            begun.notify_one();
        }
        said
    };
    let copies = async {
        begun.notified().await;
        let id = scene.snapshot().await;
        done.store(true, Ordering::SeqCst);
        id
    };
    let (load, id) = join(load, copies).await;
    let verified = scene.run(&["snapshot", "verify", "latest"]).await;
    assert_eq!(verified, (Some(0), format!("{id} is whole and can be restored")));
    let folder = scene.new_folder("restored");
    let said = scene.restore(&id, &folder, &[]).await;
    assert!(said.contains(&format!("{id} was restored into ")), "{said}");
    assert!(said.contains("settings.toml"), "{said}");
    let settings = std::fs::read_to_string(folder.join("settings.toml")).unwrap();
    assert!(settings.contains("listen = "), "{settings}");
    assert!(!settings.contains(crate::stack::TOKEN), "{settings}");

    let scene = scene.move_to(&folder).await;
    scene.stack.drained().await;
    for id in [&file, &first, &load[0]] {
        assert!(scene.message(id).await.is_some(), "{id}");
    }
    let mut survived = Vec::new();
    for id in &load {
        survived.push(scene.message(id).await.is_some());
    }
    let count = survived.iter().take_while(|survived| **survived).count();
    assert!(survived[count..].iter().all(|survived| !survived), "a gap: {survived:?}");
    assert!(count < load.len(), "the load had ended before the copies: {survived:?}");
    let path = format!("/channels/{}/backup/media/{file}", scene.group.chat_id);
    let (status, _) = scene.stack.call(reqwest::Method::GET, &path, None).await;
    assert!(status.is_success(), "{status}");
    scene.say("it goes on").await;
    scene.stack.drained().await;
    scene.stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_of_events_miss_nothing_after_a_restoration() {
    let scene = Scene::new(&[]).await;
    scene.say("before the snapshot").await;
    let id = scene.snapshot().await;
    for n in 0..5 {
        scene.say(&format!("number {n}, which is lost")).await;
    }
    let (read, cursor) = scene.events(None).await;
    let folder = scene.new_folder("restored");
    scene.restore(&id, &folder, &[]).await;
    let scene = scene.move_to(&folder).await;
    let anew = scene.say("after the restoration").await;
    let (told, _) = scene.events(Some(&cursor)).await;
    // What came shortly before comes again.
    for event in &told {
        let known = read.iter().find(|known| known["id"] == event["id"]);
        let other = known.filter(|known| known["data"] != event["data"]);
        assert_eq!(other, None, "another event had the id of {event}");
    }
    assert!(told.iter().any(|event| event["data"]["message"]["id"] == *anew), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_erased_after_a_snapshot_stays_erased() {
    const REGRET: &[u8] = b"burn after reading";
    let scene = Scene::new(&[]).await;
    let regret = scene.say("burn after reading").await;
    let kept = scene.say("an old promise").await;
    let file = scene.send(b"the plans of the other house").await;
    scene.stack.drained().await;
    let id = scene.snapshot().await;
    scene.unsend(&regret).await;
    scene.unsend(&file).await;
    let folder = scene.new_folder("without");
    let old = scene.stack.ground.folder.path().display().to_string();
    let said = scene.restore(&id, &folder, &["--erased-in", &old]).await;
    assert!(said.contains("2 erasures made after this snapshot were repeated"), "{said}");
    assert_eq!(holding(&folder, REGRET), [] as [std::path::PathBuf; 0]);
    let objects = ["media-store.id", "media-store.owner"];
    let objects = objects.map(|name| folder.join("blobs").join(name));
    let found: BTreeSet<_> = below(&folder.join("blobs")).into_iter().collect();
    assert_eq!(found, objects.into(), "its file is not restored");
    // A later snapshot in the same place knows it, too.
    let later = scene.snapshot().await;
    let folder = scene.new_folder("again");
    let said = scene.restore(&id, &folder, &[]).await;
    assert!(said.contains("2 erasures made after this snapshot were repeated"), "{said}");
    let said = scene.restore(&later, &scene.new_folder("later"), &[]).await;
    assert!(said.contains("no erasure after this snapshot is known: "), "{said}");
    let target = scene.target().display().to_string();
    for asked in [&*target, "no ledger of a later snapshot was read", "--erased-in, which names"] {
        assert!(said.contains(asked), "{asked}: {said}");
    }

    let scene = scene.move_to(&folder).await;
    scene.stack.drained().await;
    let left = scene.message(&regret).await;
    assert!(left.is_none_or(|message| message["content"].is_null()));
    assert!(scene.message(&kept).await.is_some());
    scene.stack.is_well().await;
    assert_eq!(holding(&folder.join("blobs"), b"the plans"), [] as [std::path::PathBuf; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_texts_that_were_switched_off_after_a_snapshot_are_in_no_restored_file() {
    const FIRST: &str = "the first draft of the plans";
    let scene = Scene::new(&[]).await;
    let path = format!("/channels/{}/backup/config", scene.group.chat_id);
    let set = async |keep: bool| {
        let setting = json!({"keepEarlierTexts": keep});
        let (status, body) = scene.stack.call(Method::PUT, &path, Some(setting)).await;
        assert!(status.is_success(), "{body}");
    };
    set(true).await;
    let message = scene.say(FIRST).await;
    scene.stack.line.edit(&message, "the plans").await.unwrap();
    scene.stack.drained().await;
    assert_eq!(scene.message(&message).await.unwrap()["earlierTexts"][0]["content"], FIRST);
    let id = scene.snapshot().await;
    set(false).await;
    let folder = scene.new_folder("restored");
    let old = scene.stack.ground.folder.path().display().to_string();
    let said = scene.restore(&id, &folder, &["--erased-in", &old]).await;
    assert!(said.contains("1 erasures made after this snapshot were repeated"), "{said}");
    assert!(said.contains("earlier texts of 1 messages were erased"), "{said}");
    assert_eq!(holding(&folder, FIRST.as_bytes()), [] as [std::path::PathBuf; 0]);
    let scene = scene.move_to(&folder).await;
    scene.stack.drained().await;
    let restored = scene.message(&message).await.unwrap();
    assert_eq!((&restored["content"], restored.get("earlierTexts")), (&json!("the plans"), None));
    scene.stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_touches_nothing_of_a_lost_one() {
    let scene = Scene::new(&[]).await;
    let regret = scene.say("burn after reading").await;
    let id = scene.snapshot().await;
    scene.unsend(&regret).await;
    // A service that starts writes its ledger soon.
    let (own, fresh) = (scene.stack.ground.folder.path().to_owned(), scene.new_folder("fresh"));
    let scene = scene.move_to(&own).await;
    let ledger = scene.target().join("ledger.jsonl");
    let knows = async || std::fs::read(&ledger).is_ok_and(|content| !content.is_empty());
    until("the ledger is there", DEADLINE, knows).await;
    let mut scene = scene.move_to(&fresh).await;
    let place = || {
        let all = below(&scene.target());
        all.into_iter().map(|file| (std::fs::read(&file).unwrap(), file)).collect::<Vec<_>>()
    };
    let before = place();
    for command in ["create", "prune"] {
        let (code, said) = scene.run(&["snapshot", command]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("of another database, which would be replaced"), "{said}");
    }
    until("the service says so, too", DEADLINE, async || {
        let said = scene.stack.process.stderr().concat();
        said.contains("of another database, which would be replaced")
    })
    .await;
    assert!(place() == before && !std::fs::read(&ledger).unwrap().is_empty());
    // A place that has lost its owner, or of an earlier build, is nobody's either.
    std::fs::remove_file(scene.target().join("owner")).unwrap();
    let (code, said) = scene.run(&["snapshot", "create"]).await;
    assert!(code == Some(1) && said.contains("`chatkeep snapshot adopt`"), "{said}");
    // What is restored from it is the same database.
    let folder = scene.new_folder("restored");
    let said = scene.restore(&id, &folder, &[]).await;
    assert!(said.contains("1 erasures made after this snapshot were repeated"), "{said}");
    scene = scene.move_to(&folder).await;
    let (code, said) = scene.run(&["snapshot", "adopt"]).await;
    assert_eq!(code, Some(0), "{said}");
    let next = scene.snapshot().await;
    scene.restore(&next, &scene.new_folder("next"), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_without_anything_to_lose_changes_hands() {
    let scene = Scene::new(&[]).await;
    until("the place has an owner", DEADLINE, async || scene.target().join("owner").exists()).await;
    std::fs::write(scene.target().join("owner"), "").unwrap();
    let fresh = scene.new_folder("fresh");
    let scene = scene.move_to(&fresh).await;
    scene.snapshot().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_erased_after_a_snapshot_is_erased_in_it() {
    let scene = Scene::new(&[]).await;
    let id = scene.say("I was never here").await;
    // An event that is still on the bus is in the copy of the bus.
    scene.stack.drained().await;
    let snapshot = scene.snapshot().await;
    let store = scene.stack.ground.store().await;
    let (channel, user) =
        (scene.group.chat_id.as_str().into(), scene.people[1].user_id.as_str().into());
    let now = SystemClock.now().plus(Duration::from_mins(1));
    crate::store::erase_person(&store, &channel, &user, now, now).await;
    store.close().await;
    scene.snapshot().await;
    let folder = scene.new_folder("without");
    scene.restore(&snapshot, &folder, &[]).await;
    assert_eq!(holding(&folder, b"I was never here"), [] as [std::path::PathBuf; 0]);
    let scene = scene.move_to(&folder).await;
    let left = scene.message(&id).await;
    assert!(left.is_none_or(|message| message["content"].is_null()));
    scene.stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_holds_files_once_for_all_snapshots() {
    let scene = Scene::in_bucket().await;
    scene.send(&vec![1; 30_000]).await;
    let first = scene.snapshot().await;
    scene.send(&vec![2; 20_000]).await;
    let second = scene.snapshot().await;
    let bucket = |folder: &str| {
        let of = |path: &std::path::PathBuf| path.to_string_lossy().contains(folder);
        let all = below(scene.s3.as_ref().unwrap().folder());
        all.into_iter().filter(of).filter(|path| path.extension().is_none()).count()
    };
    assert_eq!(bucket("/blobs/"), 2);
    for id in [&first, &second] {
        let (code, said) = scene.run(&["snapshot", "verify", id]).await;
        assert_eq!(code, Some(0), "{said}");
    }
    let folder = scene.new_folder("restored");
    scene.restore(&first, &folder, &[]).await;
    // One file, and identity and owner of the new media store, which is that of the restored database.
    assert_eq!(below(&folder.join("blobs")).len(), 3);
    let identity = std::fs::read_to_string(folder.join("blobs/media-store.id")).unwrap();
    let store = Store::open(&Database::Sqlite, &folder, 1).await.unwrap();
    assert_eq!(store.media().recorded_identity().await.unwrap(), Some(identity));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encrypted_snapshot_needs_its_identity() {
    let (own, other) = (Identity::generate(), Identity::generate());
    let recipient = own.to_public().to_string();
    let scene = Scene::new(&[("CHATKEEP_SNAPSHOT_RECIPIENTS", recipient)]).await;
    scene.say("only for the board").await;
    scene.send(b"the minutes of the board").await;
    let id = scene.snapshot().await;
    for text in [&b"only for the board"[..], b"the minutes of the board", b"SQLite format 3"] {
        assert_eq!(holding(&scene.target(), text), [] as [std::path::PathBuf; 0]);
    }
    let keys = scene.new_folder("keys");
    std::fs::create_dir(&keys).unwrap();
    let key = |name: &str, identity: &Identity| {
        let path = keys.join(name);
        std::fs::write(&path, identity.to_string().expose_secret()).unwrap();
        path.display().to_string()
    };
    let (own, other) = (key("own", &own), key("other", &other));
    let (code, said) = scene.run(&["snapshot", "verify", &id]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("its encrypted contents were not checked: give --identity"), "{said}");
    let (code, said) = scene.run(&["snapshot", "verify", &id, "--identity", &own]).await;
    assert_eq!((code, said), (Some(0), format!("{id} is whole and can be restored")));
    let into = scene.new_folder("restored");
    let place = into.display().to_string();
    for (more, why) in [
        (&[][..], "is encrypted: give --identity FILE"),
        (&["--identity", &other], "cannot be decrypted with these identities"),
        (&["--identity", "/nowhere"], "cannot read the identities in /nowhere"),
    ] {
        let args: Vec<_> =
            ["snapshot", "restore", &id, "--into", &place].iter().chain(more).copied().collect();
        let (code, said) = scene.run(&args).await;
        assert!(code != Some(0) && said.contains(why), "{said}");
        assert!(!into.exists());
    }
    scene.restore(&id, &into, &["--identity", &own]).await;
    assert_eq!(holding(&into, b"the minutes of the board").len(), 1);
    // The next one copies nothing that it knows, and has its own keys.
    let count = below(&scene.target().join("blobs")).len();
    scene.snapshot().await;
    assert_eq!(below(&scene.target().join("blobs")).len(), count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_request_is_refused_with_its_reason() {
    let scene = Scene::new(&[]).await;
    let id = scene.snapshot().await;
    let here = scene.stack.ground.folder.path().display().to_string();
    let cases: [(&[&str], &str); 7] = [
        (&["snapshot", "restore", &id, "--into", &here], "exists already"),
        (&["snapshot", "restore", &id], "give --into FOLDER"),
        (&["snapshot", "restore", "latest", "--into", "x", "--erased-in", "y"], "y contains no"),
        (&["snapshot", "verify", "../x"], "there is no snapshot ../x in"),
        (&["snapshot", "verify", "nobody"], "there is no snapshot nobody in"),
        (&["snapshot", "list", "--target", "/nowhere"], "there is no folder /nowhere"),
        (&["snapshot", "create", "--target", "ftp://x"], "--target must be"),
    ];
    for (args, why) in cases {
        let (code, said) = scene.run(args).await;
        assert!(code != Some(0) && said.contains(why), "{args:?}: {said}");
    }
    let folder = scene.new_folder("inside");
    let into = folder.display().to_string();
    let [files, blobs] = ["files", "blobs"].map(|name| folder.join(name).display().to_string());
    let args = ["snapshot", "restore", &id, "--into", &into, "--blobs", &files];
    let (code, said) = scene.run(&args).await;
    assert!(code != Some(0) && said.contains("is inside of the new folder"), "{said}");
    assert!(!folder.exists(), "nothing is left behind");
    scene.restore(&id, &folder, &["--blobs", &blobs]).await;
    assert!(folder.join("blobs/media-store.id").exists());
}
