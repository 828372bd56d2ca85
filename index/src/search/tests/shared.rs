//! Tests of an index that another process writes.

use super::*;

fn count(shared: &SharedIndex) -> Option<u64> {
    shared.latest().unwrap().map(|index| index.doc_count())
}

fn put(writer: &mut MessageWriter, id: u32) {
    writer.apply(&[IndexChange::Put(message("c", id, "tea"))]).unwrap();
    writer.commit(&id.to_string()).unwrap();
}

#[test]
fn each_commit_is_seen_and_nothing_is_opened_twice() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let shared = SharedIndex::new(dir.clone());
    assert_eq!(count(&shared), None);
    assert!(!dir.exists(), "only looked at");
    let index = MessageIndex::open(&dir).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    assert_eq!(count(&shared), None, "never committed");
    for id in 0..20 {
        put(&mut writer, id);
        assert_eq!(count(&shared), Some(u64::from(id) + 1));
    }
    let (one, other) =
        (shared.latest().unwrap().unwrap(), shared.clone().latest().unwrap().unwrap());
    assert!(Arc::ptr_eq(&one.generation().view(), &other.generation().view()));
    put(&mut writer, 20);
    assert_eq!((count(&shared), one.doc_count()), (Some(21), 21), "clones follow");
}

#[test]
fn an_index_that_was_deleted_or_built_again_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let shared = SharedIndex::new(dir.to_owned());
    let index = MessageIndex::open(dir).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    put(&mut writer, 0);
    assert_eq!(count(&shared), Some(1));

    let mut rebuild = Rebuild::start(&index, WriterOptions::default()).unwrap();
    rebuild.apply(&[1, 2].map(|id| IndexChange::Put(message("c", id, "tea")))).unwrap();
    assert_eq!(count(&shared), Some(1), "not yet");
    assert!(rebuild.swap("2").unwrap());
    assert_eq!(count(&shared), Some(2));

    drop((writer, index));
    fs::remove_dir_all(dir.join("g2")).unwrap();
    fs::remove_file(dir.join("current")).unwrap();
    assert_eq!(count(&shared), None);
    let index = MessageIndex::open(dir).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    (0..5).for_each(|id| put(&mut writer, id));
    assert_eq!(count(&shared), Some(5));

    // Emptied, to be filled once more.
    writer.wipe().unwrap();
    assert_eq!(count(&shared), None);
    put(&mut writer, 0);
    assert_eq!(count(&shared), Some(1));

    // Another version writes it from now on.
    drop((writer, index));
    fs::write(dir.join("g1/index-version"), "1").unwrap();
    assert_eq!(count(&shared), None);
}
