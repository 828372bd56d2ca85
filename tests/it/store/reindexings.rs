//! Watching a channel being indexed anew.

use chatkeep_core::store::Reindexing;

use super::{Fixture, at, on_both, said};

on_both!(
    progress_is_told_to_those_who_asked_before,
    what_nobody_watches_is_forgotten,
    an_unknown_channel_has_no_messages,
);

const DAY: i64 = 86_400_000;

async fn progress_is_told_to_those_who_asked_before(fixture: Fixture) {
    let store = &fixture.store;
    fixture.group("C1", &["U1"]).await;
    let kept: Vec<_> = ["1", "2", "3"].map(|id| said("C1", id, 5, "hello")).into_iter().collect();
    fixture.subscribe("C1", "U1", 2).await;
    store.keep(&kept, at(5)).await.unwrap();

    store.ask_reindexing("a", &"C1".into(), at(10)).await.unwrap();
    store.ask_reindexing("b", &"C2".into(), at(10)).await.unwrap();
    let state = async |id: &str| store.reindexing(id).await.unwrap();
    let begun = Reindexing { total: 3, done: 0, ended: false };
    assert_eq!(state("a").await, Some(begun));
    assert_eq!(state("c").await, None);
    assert!(store.ask_reindexing("a", &"C1".into(), at(10)).await.is_err(), "taken");

    let waiting = store.open_reindexings(&"C1".into()).await.unwrap();
    assert_eq!(waiting, ["a"]);
    store.ask_reindexing("late", &"C1".into(), at(11)).await.unwrap();
    store.reindexed(&waiting, 2, false).await.unwrap();
    assert_eq!(state("a").await, Some(Reindexing { done: 2, ..begun }));
    store.reindexed(&waiting, 3, true).await.unwrap();
    assert_eq!(state("a").await, Some(Reindexing { total: 3, done: 3, ended: true }));
    assert_eq!(state("late").await, Some(begun));
    assert_eq!(store.open_reindexings(&"C1".into()).await.unwrap(), ["late"]);
    store.reindexed(&[], 9, true).await.unwrap();
}

async fn what_nobody_watches_is_forgotten(fixture: Fixture) {
    let store = &fixture.store;
    for (id, when) in [("left", 1), ("read", 2), ("young", DAY)] {
        store.ask_reindexing(id, &"C1".into(), at(when)).await.unwrap();
    }
    store.forget_reindexing("read").await.unwrap();
    store.forget_reindexing("read").await.unwrap();
    assert_eq!(store.reindexing("read").await.unwrap(), None);
    assert!(store.reindexing("left").await.unwrap().is_some());
    store.ask_reindexing("next", &"C1".into(), at(DAY + 2)).await.unwrap();
    assert_eq!(store.reindexing("left").await.unwrap(), None);
    assert!(store.reindexing("young").await.unwrap().is_some());
}

async fn an_unknown_channel_has_no_messages(fixture: Fixture) {
    let store = &fixture.store;
    store.ask_reindexing("a", &"C9".into(), at(1)).await.unwrap();
    assert_eq!(store.reindexing("a").await.unwrap().map(|state| state.total), Some(0));
    // Nobody waits any more: nothing to tell.
    store.reindexed(&["gone".to_owned()], 1, true).await.unwrap();
    assert_eq!(store.reindexing("gone").await.unwrap(), None);
}
