//! Damaged snapshots: each object in turn is cut, changed or removed.

use std::fs;
use std::path::Path;

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;

use super::Scene;
use crate::harness::files::{below, holding};

/// Changes one byte of a file.
fn flip(path: &Path) {
    let mut content = fs::read(path).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(path, content).unwrap();
}

/// Returns the only stored file of messages.
fn stored(scene: &Scene) -> std::path::PathBuf {
    let stored = below(&scene.target().join("blobs"));
    assert_eq!(stored.len(), 1, "{stored:?}");
    stored[0].clone()
}

async fn verified(scene: &Scene, id: &str) -> (bool, String) {
    let (code, said) = scene.run(&["snapshot", "verify", id]).await;
    (code == Some(0), said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_damage_is_found_and_nothing_damaged_is_restored() {
    let scene = Scene::new(&[]).await;
    scene.say("a word").await;
    scene.send(&[5; 10_000]).await;
    let id = scene.snapshot().await;
    let folder = scene.new_folder("restored");
    let place = folder.display().to_string();
    let objects: Vec<_> = below(&scene.target())
        .into_iter()
        .filter(|path| {
            path.to_string_lossy().contains(&id) || path.to_string_lossy().contains("blobs")
        })
        .collect();
    assert_eq!(objects.len(), 7, "{objects:?}");
    for object in objects {
        let whole = fs::read(&object).unwrap();
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        // An empty ledger can only grow.
        match changed.get_mut(middle) {
            Some(byte) => *byte ^= 1,
            None => changed.push(b'{'),
        }
        let cut = whole.split_last().map_or(vec![b'\n'], |(_, rest)| rest.to_vec());
        for damage in [Some(changed), Some(cut), None] {
            match &damage {
                Some(content) => fs::write(&object, content).unwrap(),
                None => fs::remove_file(&object).unwrap(),
            }
            let (code, said) = scene.run(&["snapshot", "verify", &id]).await;
            let manifest = object.ends_with("manifest.json");
            if manifest && code == Some(0) {
                // A changed character of a time or a count; the content is what counts.
                continue;
            }
            assert_eq!(code, Some(1), "{}: {said}", object.display());
            // What restoring reads is not restored damaged: the list of settings is read, too.
            let (code, said) = scene.run(&["snapshot", "restore", &id, "--into", &place]).await;
            assert_eq!(code, Some(1), "{}: {said}", object.display());
            assert!(!folder.exists(), "{}: {said}", object.display());
        }
        fs::write(&object, &whole).unwrap();
    }
    scene.restore(&id, &folder, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_snapshot_is_in_nobody_elses_way() {
    let scene = Scene::new(&[]).await;
    scene.send(&[5; 10_000]).await;
    let (good, bad) = (scene.snapshot().await, scene.snapshot().await);
    let manifest = scene.target().join("snapshots").join(&bad).join("manifest.json");
    fs::write(&manifest, "{").unwrap();
    let (code, said) = scene.run(&["snapshot", "list"]).await;
    assert!(code == Some(0) && said.contains(&format!("{bad}  damaged")), "{said}");
    let (code, said) = scene.run(&["snapshot", "prune"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("nothing is removed until its folder is"), "{said}");
    let said = scene.restore(&good, &scene.new_folder("restored"), &[]).await;
    assert!(said.contains("some erasures could not be read and were not applied"), "{said}");
    let next = scene.snapshot().await;
    scene.restore(&next, &scene.new_folder("next"), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_or_damaged_file_is_copied_again() {
    let scene = Scene::new(&[]).await;
    scene.send(&[5; 10_000]).await;
    let first = scene.snapshot().await;
    let file = stored(&scene);
    let damages: [fn(&Path); 3] =
        [|file| fs::remove_file(file).unwrap(), |file| fs::write(file, [5; 9_999]).unwrap(), flip];
    for (nth, damage) in damages.into_iter().enumerate() {
        damage(&file);
        // Of what has its size only a check knows.
        if nth == 2 {
            let (whole, said) = verified(&scene, &first).await;
            assert!(!whole && said.contains("has another content than was stored"), "{said}");
        }
        let next = scene.snapshot().await;
        for id in [&next, &first] {
            let (whole, said) = verified(&scene, id).await;
            assert!(whole, "{nth}: {said}");
        }
        assert_eq!(below(&scene.target().join("damaged")).len(), 0, "{nth}");
        let into = scene.new_folder(&format!("restored{nth}"));
        let said = scene.restore(&next, &into, &[]).await;
        assert!(said.contains("1 files\n") && !said.contains("not in the snapshot"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_damaged_at_home_replaces_no_copy() {
    let keys = [Identity::generate().to_public().to_string()];
    for recipients in [&[][..], &keys[..]] {
        let scene = Scene::new(&[("CHATKEEP_SNAPSHOT_RECIPIENTS", recipients.join(","))]).await;
        scene.send(&[5; 10_000]).await;
        scene.snapshot().await;
        let (copy, home) = (stored(&scene), below(&scene.stack.ground.folder.path().join("blobs")));
        flip(&home[0]);
        // The copy is noted as damaged, so the next snapshot copies again what is damaged itself.
        let note = scene.target().join("damaged").join(copy.strip_prefix(scene.target()).unwrap());
        fs::create_dir_all(note.parent().unwrap()).unwrap();
        fs::write(note, "").unwrap();
        flip(&copy);
        let before = fs::read(&copy).unwrap();
        let (code, said) = scene.run(&["snapshot", "create"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("1 files were erased, lost or damaged and are not in it"), "{said}");
        assert_eq!(below(&scene.target().join("blobs")).len(), 1, "nothing appeared");
        assert!(fs::read(&copy).unwrap() == before, "nothing was replaced");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mended_file_is_not_copied_and_a_note_about_nothing_goes() {
    let scene = Scene::new(&[]).await;
    scene.send(&[5; 10_000]).await;
    let first = scene.snapshot().await;
    let file = stored(&scene);
    flip(&file);
    assert!(!verified(&scene, &first).await.0);
    let notes = scene.target().join("damaged");
    assert_eq!(below(&notes).len(), 1);
    flip(&file);
    // Its original is damaged by now: the one in the archive stays.
    let original = below(&scene.stack.ground.folder.path().join("blobs"));
    let original = original.iter().find(|path| path.file_name() == file.file_name()).unwrap();
    flip(original);
    let next = scene.snapshot().await;
    assert!(verified(&scene, &next).await.0 && below(&notes).is_empty());
    fs::create_dir_all(notes.join("blobs")).unwrap();
    fs::write(notes.join("blobs/nothing"), "").unwrap();
    let (code, said) = scene.run(&["snapshot", "prune"]).await;
    assert_eq!((code, below(&notes).len()), (Some(0), 0), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_encrypted_file_is_stored_anew() {
    let own = Identity::generate();
    let recipient = own.to_public().to_string();
    let scene = Scene::new(&[("CHATKEEP_SNAPSHOT_RECIPIENTS", recipient)]).await;
    scene.send(&[5; 10_000]).await;
    let first = scene.snapshot().await;
    flip(&stored(&scene));
    assert!(!verified(&scene, &first).await.0);
    let next = scene.snapshot().await;
    assert_eq!(below(&scene.target().join("blobs")).len(), 2);
    assert!(verified(&scene, &next).await.0 && !verified(&scene, &first).await.0);
    let key = scene.new_folder("keys");
    fs::create_dir(&key).unwrap();
    let key = key.join("own");
    fs::write(&key, own.to_string().expose_secret()).unwrap();
    let into = scene.new_folder("restored");
    scene.restore(&next, &into, &["--identity", &key.display().to_string()]).await;
    assert_eq!(holding(&into, &[5; 10_000]).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_list_is_passed_over() {
    let scene = Scene::new(&[]).await;
    scene.send(&[5; 10_000]).await;
    let first = scene.snapshot().await;
    flip(&scene.target().join("snapshots").join(&first).join("blobs.jsonl"));
    let next = scene.snapshot().await;
    assert!(verified(&scene, &next).await.0 && !verified(&scene, &first).await.0);
    assert_eq!(below(&scene.target().join("blobs")).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_but_damaged_files_is_restored_on_request() {
    let scene = Scene::new(&[]).await;
    let word = scene.say("a word").await;
    let whole = scene.send(&[4; 10_000]).await;
    let [missing, changed] = [scene.send(&[5; 10_000]).await, scene.send(&[6; 10_000]).await];
    let id = scene.snapshot().await;
    let copies = below(&scene.target().join("blobs"));
    let copy_of = |byte: u8| {
        let copy = copies.iter().find(|copy| fs::read(copy).unwrap() == [byte; 10_000]);
        copy.unwrap().clone()
    };
    let (lost, flipped) = (copy_of(5), copy_of(6));
    fs::remove_file(&lost).unwrap();
    flip(&flipped);
    let folder = scene.new_folder("restored");
    let into = folder.display().to_string();
    let restore = ["snapshot", "restore", &id, "--into", &into];
    let (code, said) = scene.run(&restore).await;
    assert!(code == Some(1) && said.contains("--skip-damaged-files"), "{said}");
    assert!(!folder.exists(), "{said}");
    let (code, said) = scene.run(&[&restore[..], &["--skip-damaged-files"]].concat()).await;
    assert_eq!(code, Some(3), "{said}");
    for copy in [lost, flipped] {
        let name = copy.file_name().unwrap().to_string_lossy().into_owned();
        assert!(said.contains(&format!("{name} is damaged or missing")), "{name}: {said}");
    }
    assert!(said.contains("2 files of messages were left out"), "{said}");

    let scene = scene.move_to(&folder).await;
    assert!(scene.message(&word).await.is_some());
    for (file, status) in [(&whole, "stored"), (&missing, "failed"), (&changed, "failed")] {
        let message = scene.message(file).await.unwrap();
        assert_eq!(message["mediaStatus"], status, "{message}");
    }
    scene.stack.is_well().await;
}
