//! Damaged snapshots: each object in turn is cut, changed or removed.

use std::fs;

use super::{Scene, files};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_damage_is_found_and_nothing_damaged_is_restored() {
    let scene = Scene::new(&[]).await;
    scene.say("a word").await;
    scene.send(&[5; 10_000]).await;
    let id = scene.snapshot().await;
    let folder = scene.new_folder("restored");
    let place = folder.display().to_string();
    let objects: Vec<_> = files(&scene.target())
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
    assert!(said.contains("what it knows of erasures was not repeated"), "{said}");
    let next = scene.snapshot().await;
    scene.restore(&next, &scene.new_folder("next"), &[]).await;
}
