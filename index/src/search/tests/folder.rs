//! Tests of the folder of an index: processes that die or start together in it.

use std::path::Path;
use std::sync::Barrier;
use std::thread;

use super::*;
use crate::search::generation;

fn with_one_message(dir: &Path) -> MessageIndex {
    let index = MessageIndex::open(dir).unwrap();
    let mut writer = index.writer(WriterOptions::default()).unwrap();
    writer.apply(&[IndexChange::Put(message("c", 1, "tea"))]).unwrap();
    writer.commit("1").unwrap();
    writer.close().unwrap();
    index
}

#[test]
fn a_generation_that_was_created_and_not_named_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(MessageIndex::open(dir).unwrap());
    fs::remove_file(dir.join("current")).unwrap();
    assert_eq!(with_one_message(dir).doc_count(), 1);
    // One that was created in part, and one of another version.
    for (file, content) in [("g1/meta.json", None), ("g1/index-version", Some("1"))] {
        fs::remove_file(dir.join("current")).unwrap();
        match content {
            Some(content) => fs::write(dir.join(file), content).unwrap(),
            None => fs::remove_file(dir.join(file)).unwrap(),
        }
        let index = with_one_message(dir);
        assert_ne!(index.opened(), Opened::Kept);
        assert_eq!((index.doc_count(), generation::current(dir).unwrap()), (1, Some(1)));
    }
}

#[test]
fn of_those_that_open_one_folder_at_once_one_writes_it() {
    const ALL: usize = 6;
    for round in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        if round % 2 == 1 {
            drop(with_one_message(dir));
            fs::write(dir.join("g1/index-version"), "1").unwrap();
        }
        let barrier = Barrier::new(ALL);
        let open = || {
            barrier.wait();
            let opened = MessageIndex::open(dir);
            let opened =
                opened.and_then(|index| Ok((index.writer(WriterOptions::default())?, index)));
            // The one that writes holds on until all have tried.
            barrier.wait();
            match opened {
                Ok((mut writer, index)) => {
                    writer.apply(&[IndexChange::Put(message("c", 1, "tea"))]).unwrap();
                    writer.commit("1").unwrap();
                    Some(index.doc_count())
                }
                Err(IndexError::WriterBusy) => None,
                Err(error) => panic!("{error:?}"),
            }
        };
        let found: Vec<u64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..ALL).map(|_| scope.spawn(open)).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(found, [1], "round {round}");
    }
}

#[test]
fn a_folder_that_another_process_prepares_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let switch = generation::lock_exclusive(dir).unwrap();
    assert!(matches!(MessageIndex::open(dir), Err(IndexError::WriterBusy)));
    drop(switch);
    drop(with_one_message(dir));
    // One that is whole needs no preparation, and opens beside a commit.
    let _switch = generation::lock_shared(dir).unwrap();
    assert_eq!(MessageIndex::open(dir).unwrap().doc_count(), 1);
    fs::write(dir.join("g1/index-version"), "1").unwrap();
    assert!(matches!(MessageIndex::open(dir), Err(IndexError::WriterBusy)));
}

#[test]
fn an_index_is_deleted_unless_somebody_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let dir = &folder.path().join("index");
    let index = with_one_message(dir);
    let writer = index.writer(WriterOptions::default()).unwrap();
    assert!(!MessageIndex::delete(dir).unwrap());
    drop(writer);
    let rebuild = generation::lock_rebuild(dir).unwrap();
    assert!(!MessageIndex::delete(dir).unwrap());
    drop(rebuild);
    assert!(MessageIndex::delete(dir).unwrap());
    assert!(!dir.exists());
    assert_eq!(MessageIndex::open(dir).unwrap().doc_count(), 0, "a new one");
}
