//! Names, seals, ledgers and manifests of snapshots, in a folder and by a clock that is moved.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use bytes::Bytes;
use chatkeep_core::config::{Config, Database, Sources};
use chatkeep_core::id::UserId;
use chatkeep_core::time::{Clock as _, DAY, DAY_MILLIS, ManualClock, Timestamp};
use chatkeep_store::Store;
use futures_util::TryStreamExt as _;
use futures_util::stream::iter;
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::files::WorkFolder;
use super::layout::{
    MANIFEST, blob_object, damage_note, first_id, id_of, is_id, new_id, noted_object, object,
};
use super::ledger::{LedgerReplay, check_ledger, write_ledger};
use super::lock::SnapshotLock;
use super::seal::{AgeIdentities, AgeRecipients};
use super::{SnapshotError, SnapshotReason, SnapshotService, SnapshotSource};

/// Deployment with a place for snapshots and a clock.
struct Place {
    folder: TempDir,
    clock: Arc<ManualClock>,
    service: SnapshotService,
    source: SnapshotSource,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let setting = |name: &str, value: &Path| (name.to_owned(), value.display().to_string());
        let environment = vec![
            setting("CHATKEEP_DATA", folder.path()),
            setting("CHATKEEP_SNAPSHOT_TARGET", &folder.path().join("archive")),
        ];
        let config = Config::load(Sources::new(None, environment, Vec::new())).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-01-01T00:00:00Z").unwrap()));
        let shared = Arc::<ManualClock>::clone(&clock);
        let service = SnapshotService::open(&config, None, shared).unwrap();
        let source = SnapshotSource {
            store: Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap(),
            blobs: None,
            embedded_database: true,
            embedded_bus: false,
        };
        Self { folder, clock, service, source }
    }

    /// Makes a snapshot, and returns its id.
    async fn make(&self) -> String {
        self.service.create(&self.source, SnapshotReason::Manual).await.unwrap().id
    }

    async fn newest(&self) -> Option<String> {
        self.service.newest().await.unwrap()
    }

    /// Changes the manifest of a snapshot.
    fn edit(&self, id: &str, change: impl FnOnce(&mut Value)) {
        let file = self.folder.path().join("archive").join(object(id, MANIFEST));
        let mut manifest = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        change(&mut manifest);
        fs::write(&file, manifest.to_string()).unwrap();
    }
}

/// Returns private keys in a file, with their public key.
fn keys(folder: &Path, name: &str) -> (AgeIdentities, String) {
    let (own, file) = (Identity::generate(), folder.join(name));
    fs::write(&file, own.to_string().expose_secret()).unwrap();
    (AgeIdentities::read(&[file]).unwrap(), own.to_public().to_string())
}

async fn opted_out(store: &Store, users: &[&str]) {
    for user in users {
        let now = || Timestamp::from_millis(5);
        store.members().set_opted_out(&UserId::from(*user), None, true, now).await.unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ids_are_in_the_order_of_their_times(
        millis in 0_i64..4_102_444_800_000,
        later in 1_i64..DAY_MILLIS,
    ) {
        let (one, other) = (Timestamp::from_millis(millis), Timestamp::from_millis(millis + later));
        let (id, next) = (new_id(one), new_id(other));
        prop_assert!(id < next && first_id(one) < id && id < first_id(other), "{} {}", id, next);
        prop_assert!(is_id(&id));
        for file in ["manifest.json", "chatkeep.db.age"] {
            let object = object(&id, file);
            prop_assert_eq!(id_of(&object), Some(id.as_str()));
        }
    }

    #[test]
    fn what_is_an_id_is_no_path(text in "(\\PC|[./\\\\~-]|\0|\n){0,12}") {
        let is_plain = Path::new(&text).components().count() == 1 && !text.starts_with('.');
        prop_assert!(!is_id(&text) || (is_plain && text.is_ascii()), "{:?}", text);
    }
}

#[test]
fn an_id_has_at_most_as_many_characters_as_are_written() {
    assert!(is_id(&"a".repeat(64)) && !is_id(&"a".repeat(65)));
    for other in ["", "a/b", "..", "a b", "ａ", "a_b", "latest\n"] {
        assert!(!is_id(other), "{other:?}");
    }
    for object in ["snapshots", "snapshots/", "snapshots/a", "blobs/a/b", "snapshotsx/a/b"] {
        assert_eq!(id_of(object), None, "{object}");
    }
    let plain = blob_object(&"0f".repeat(32), false);
    assert_eq!(noted_object(&damage_note(&plain)), Some(plain.as_str()));
    for other in ["damaged", "damagedx/blobs/a", "blobs/a"] {
        assert_eq!(noted_object(other), None, "{other}");
    }
}

#[tokio::test]
async fn what_is_sealed_is_opened_by_each_of_its_keys_and_by_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (one, first) = keys(folder.path(), "one");
    let (other, second) = keys(folder.path(), "other");
    let (stranger, _) = keys(folder.path(), "stranger");
    let sealing = AgeRecipients::parse(&[first.clone(), second, first]).unwrap();
    assert_eq!((sealing.names().len(), &*sealing.stored_name("x.db")), (2, "x.db.age"));
    assert!(sealing.names().is_sorted(), "as in manifests");
    let contents: [Vec<Vec<u8>>; 4] = [
        Vec::new(),
        vec![Vec::new()],
        vec![b"a".to_vec(), Vec::new(), b"bc".to_vec()],
        vec![vec![7; 70_000], vec![0; 65_536], b"end".to_vec()],
    ];
    for (nth, pieces) in contents.into_iter().enumerate() {
        let content = pieces.concat();
        let pieces = pieces.into_iter().map(Bytes::from);
        let pieces = iter(pieces.map(Ok::<_, std::io::Error>).collect::<Vec<_>>());
        let sealed: Vec<Bytes> = sealing.seal(pieces).unwrap().try_collect().await.unwrap();
        let (sealed, from) = (sealed.concat(), folder.path().join(format!("sealed-{nth}")));
        assert!(!sealed.windows(100).any(|part| part == [7; 100]), "nothing of it is to be seen");
        fs::write(&from, &sealed).unwrap();
        for (name, keys) in [("a", &one), ("b", &other)] {
            let into = folder.path().join(format!("opened-{nth}-{name}"));
            keys.open("object", &from, &into).await.unwrap();
            assert_eq!(fs::read(&into).unwrap(), content, "{nth}");
        }
        let into = folder.path().join(format!("never-{nth}"));
        let refused = stranger.open("object", &from, &into).await.unwrap_err();
        assert!(matches!(refused, SnapshotError::Undecryptable { .. }), "{refused}");
        // A half of it is nothing.
        fs::write(&from, &sealed[..sealed.len() - 1]).unwrap();
        assert!(one.open("object", &from, &into).await.is_err());
    }
}

#[tokio::test]
async fn without_keys_nothing_is_changed_and_what_is_no_key_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plain = AgeRecipients::parse(&[]).unwrap();
    assert!(!plain.encrypt() && plain.stored_name("x.db") == "x.db");
    let pieces = iter([Ok::<_, std::io::Error>(Bytes::from_static(b"as it is"))]);
    let same: Vec<Bytes> = plain.seal(pieces).unwrap().try_collect().await.unwrap();
    assert_eq!(same.concat(), b"as it is");
    let (_, good) = keys(folder.path(), "one");
    for wrong in ["", "age1", "AGE-SECRET-KEY-1", &good[..good.len() - 1]] {
        let refused = AgeRecipients::parse(&[good.clone(), wrong.to_owned()]).unwrap_err();
        assert!(matches!(&refused, SnapshotError::Recipient(text) if text == wrong), "{wrong}");
    }
    let file = folder.path().join("wrong");
    for wrong in ["AGE-SECRET-KEY-1NONSENSE", "hello"] {
        fs::write(&file, wrong).unwrap();
        let refused = AgeIdentities::read(&[&file]).unwrap_err().to_string();
        assert!(!refused.contains(wrong), "what the file holds is not repeated: {refused}");
    }
    assert!(AgeIdentities::read(&[folder.path().join("none")]).is_err());
    assert!(AgeIdentities::read(&[] as &[&Path]).unwrap().is_empty());
}

#[tokio::test]
async fn a_ledger_that_is_replayed_again_changes_nothing() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let now = Timestamp::from_millis(9);
    let open =
        async |nth: usize| Store::open(&Database::Sqlite, folders[nth].path(), 1).await.unwrap();
    let (store, other) = (open(0).await, open(1).await);
    opted_out(&store, &["U1", "U2", "小明"]).await;
    opted_out(&other, &["U2"]).await;
    let ledger = folders[0].path().join("ledger.jsonl");
    let digest = write_ledger(&store, &ledger).await.unwrap();
    assert_eq!(check_ledger(&ledger).await.unwrap(), 3);
    let mut replay = LedgerReplay::on(&other, now).await.unwrap();
    replay.file(&ledger).await.unwrap();
    assert_eq!(replay.replayed, 2, "one was there");
    replay.file(&ledger).await.unwrap();
    replay.database(&store).await.unwrap();
    assert_eq!(replay.replayed, 2, "each once, from wherever it comes");
    let mut anew = LedgerReplay::on(&other, now).await.unwrap();
    anew.database(&store).await.unwrap();
    assert_eq!(anew.replayed, 0);
    let copy = folders[1].path().join("ledger.jsonl");
    assert_eq!(write_ledger(&other, &copy).await.unwrap(), digest, "both are the same now");
    let text = fs::read_to_string(&ledger).unwrap();
    fs::write(&copy, &text[..text.len() - 5]).unwrap();
    assert!(check_ledger(&copy).await.is_err(), "a half of a line is none");
    assert!(write_ledger(&store, &ledger).await.is_err(), "nothing is written over");
}

#[tokio::test]
async fn the_newest_snapshot_is_none_of_the_future_unless_there_is_no_other() {
    let place = Place::new().await;
    assert_eq!(place.newest().await, None);
    let begin = place.clock.now();
    place.clock.advance(DAY * 365);
    let ahead = place.make().await;
    place.clock.set(begin);
    assert_eq!(place.newest().await, Some(ahead.clone()), "better than none");
    let own = place.make().await;
    assert_eq!(place.newest().await, Some(own.clone()));
    place.clock.advance(Duration::from_secs(1));
    let next = place.make().await;
    assert_eq!(place.service.manifest("latest").await.unwrap().id, next);
    let listed = place.service.list().await.unwrap();
    let ids: Vec<_> = listed.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, [&*own, &*next, &*ahead]);
    place.clock.set(begin.plus(DAY * 366));
    assert_eq!(place.newest().await, Some(ahead));
}

#[tokio::test]
async fn what_is_no_snapshot_is_told_apart() {
    let place = Place::new().await;
    for none in ["latest", "", "..", "a/../b", "20260101T000000000Z-0badcafe"] {
        let refused = place.service.manifest(none).await.unwrap_err();
        assert!(matches!(refused, SnapshotError::Unknown { .. }), "{none}: {refused}");
    }
    let half = place.folder.path().join("archive/snapshots/20250101T000000000Z-0badcafe");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("chatkeep.db"), "half").unwrap();
    let refused = place.service.manifest("20250101T000000000Z-0badcafe").await.unwrap_err();
    assert!(matches!(refused, SnapshotError::Unfinished(_)), "{refused}");
    let id = place.make().await;
    assert!(!half.exists(), "the next one removes it");
    place.edit(&id, |manifest| manifest["schema"] = (Store::latest_schema() + 1).into());
    let newer = place.service.manifest(&id).await.unwrap_err();
    assert!(matches!(newer, SnapshotError::Newer { .. }), "{newer}");
    place.edit(&id, |manifest| manifest["schema"] = Store::latest_schema().into());
    place.edit(&id, |manifest| manifest["format"] = 2.into());
    let newer = place.service.manifest("latest").await.unwrap_err();
    assert!(matches!(newer, SnapshotError::Newer { .. }), "{newer}");
    place.edit(&id, |manifest| manifest["format"] = 1.into());
    place.edit(&id, |manifest| manifest["addedByALaterVersion"] = "x".into());
    assert!(place.service.manifest(&id).await.is_ok(), "what is added does not matter");
    place.edit(&id, |manifest| manifest["id"] = "20250101T000000000Z-0badcafe".into());
    let damaged = place.service.manifest(&id).await.unwrap_err();
    assert!(matches!(damaged, SnapshotError::Damaged { .. }), "{damaged}");
    let listed = place.service.list().await.unwrap();
    assert!(listed.len() == 1 && listed[0].fault.is_some() && listed[0].manifest.is_none());
}

#[test]
fn a_work_folder_is_empty_at_first_and_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work");
    fs::create_dir_all(path.join("deep")).unwrap();
    fs::write(path.join("deep/left"), "by a process that died").unwrap();
    let work = WorkFolder::create(path.clone()).unwrap();
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
    fs::write(work.file("part"), "x").unwrap();
    drop(work);
    assert!(!path.exists());
}

#[test]
fn a_lock_is_for_one_at_a_time_also_when_its_file_vanishes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lock");
    let first = SnapshotLock::take(&file).unwrap().unwrap();
    assert!(SnapshotLock::take(&file).unwrap().is_none());
    // Whoever locks the file that is there now is not held up by the one that was.
    fs::remove_file(&file).unwrap();
    let second = SnapshotLock::take(&file).unwrap();
    assert!(second.is_some() && SnapshotLock::take(&file).unwrap().is_none());
    drop((first, second));
    assert!(SnapshotLock::take(&file).unwrap().is_some());
    assert!(matches!(SnapshotLock::of(&folder.path().join("nowhere")), Err(SnapshotError::Io(_))));
}
