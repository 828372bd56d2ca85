//! The part of the event log that search replicas follow: it has every change of searchable
//! content, and none of the content itself.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{Content, MessageChange};
use chatkeep_store::{Bookmark, FeedReader, ImportId, ImportedMessage, IndexRequest};

use super::{Fixture, at, change, delete_before, erase_person, imported_text, on_both, said};

on_both!(
    every_change_of_a_message_is_logged,
    a_request_is_read_at_its_position,
    purging_is_known_to_those_who_are_behind,
    what_only_replicas_read_is_not_shown,
    a_lost_event_is_taken_for_no_other,
    what_was_lost_is_a_gap,
);

type Key = (ChannelId, MessageId);

const IMPORT: ImportId = ImportId::new(1);

fn keys(channel: &str, messages: &[&str]) -> BTreeSet<Key> {
    messages.iter().map(|message| (channel.into(), (*message).into())).collect()
}

/// Returns the changes logged after `at`, and the position of their end.
async fn logged(fixture: &Fixture, at: Bookmark) -> (BTreeSet<Key>, Bookmark) {
    let (mut found, mut next) = (BTreeSet::new(), at);
    fixture.log_settled().await;
    loop {
        // Small parts, so that their borders are tested.
        let part = fixture.store.outbox().logged_changes(next, 2).await.unwrap().unwrap();
        found.extend(part.messages);
        next = part.next;
        if !part.more {
            return (found, next);
        }
    }
}

async fn prepared(fixture: &Fixture) -> Bookmark {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 2).await;
    fixture.log_settled().await;
    fixture.store.outbox().log_state().await.unwrap().end
}

fn imported(id: &str) -> ImportedMessage {
    imported_text(id, 3, "U2", "x")
}

async fn every_change_of_a_message_is_logged(fixture: Fixture) {
    let store = &fixture.store;
    let mut at_ = prepared(&fixture).await;
    let mut expect = async |what: &str, messages: &[&str]| {
        let (found, next) = logged(&fixture, at_).await;
        assert_eq!(found, keys("C1", messages), "{what}");
        at_ = next;
    };
    fixture.keep(&[said("C1", "1", 5, "a"), said("C1", "2", 6, "b")], 7).await;
    expect("received", &["1", "2"]).await;
    fixture.keep(&[said("C1", "1", 5, "a")], 7).await;
    expect("nothing changed", &[]).await;
    let content = serde_json::to_string(&Content::text("c")).unwrap();
    fixture
        .keep(&[change("C1", "1", MessageChange::Edited { at: at(8), by: None, content })], 8)
        .await;
    expect("edited", &["1"]).await;
    fixture.keep(&[change("C1", "2", MessageChange::Unsent { at: at(9) })], 9).await;
    expect("unsent", &["2"]).await;
    // Before its message: no event, and the replicas read it all the same.
    fixture.keep(&[change("C1", "3", MessageChange::Unsent { at: at(9) })], 9).await;
    expect("unsent before it came", &["3"]).await;
    store
        .imports()
        .import(IMPORT, &"C1".into(), &[imported("i1"), imported("i2")], at(10))
        .await
        .unwrap();
    expect("imported", &["i1", "i2"]).await;
    let erased = erase_person(store, &"C1".into(), &"U2".into(), at(11), at(11)).await;
    let erased: Vec<_> = erased.messages.iter().map(MessageId::as_str).collect();
    assert!(erased.contains(&"i1"));
    expect("erased", &erased).await;
    fixture.keep(&[said("C1", "4", 20, "d")], 20).await;
    expect("received later", &["4"]).await;
    let mut gone = Vec::new();
    loop {
        let removed = delete_before(store, &"C1".into(), at(100), at(30)).await;
        gone.extend(removed.messages);
        if removed.last {
            break;
        }
    }
    let gone: Vec<_> = gone.iter().map(MessageId::as_str).collect();
    assert!(gone.contains(&"4"));
    expect("deleted", &gone).await;
}

async fn a_request_is_read_at_its_position(fixture: Fixture) {
    let start = prepared(&fixture).await;
    let wanted = keys("C1", &["x", "y"]);
    let request = IndexRequest::Messages(&wanted);
    let place = fixture.store.outbox().request_indexing(request, at(5)).await.unwrap();
    let (found, next) = logged(&fixture, start).await;
    assert_eq!((found, next.at), (wanted, place));
    let channel = "C1".into();
    let request = IndexRequest::Channel(&channel);
    let place = fixture.store.outbox().request_indexing(request, at(5)).await.unwrap();
    fixture.log_settled().await;
    let part = fixture.store.outbox().logged_changes(next, 10).await.unwrap().unwrap();
    assert_eq!((part.channels, part.next.at), (BTreeSet::from([channel]), place));
    assert_eq!(fixture.store.outbox().log_state().await.unwrap().rebuild, None);
    let place =
        fixture.store.outbox().request_indexing(IndexRequest::Rebuild, at(6)).await.unwrap();
    fixture.log_settled().await;
    let state = fixture.store.outbox().log_state().await.unwrap();
    assert_eq!(state.rebuild, Some(place));
    assert!(state.end.at >= place && state.limit >= place);
}

async fn purging_is_known_to_those_who_are_behind(fixture: Fixture) {
    let start = prepared(&fixture).await;
    assert!(fixture.store.outbox().log_state().await.unwrap().purged <= start.at);
    fixture.keep(&[said("C1", "1", 5, "a")], 7).await;
    fixture.keep(&[said("C1", "2", 5, "a")], 9).await;
    let (_, end) = logged(&fixture, start).await;
    fixture.store.outbox().purge_outbox_events(at(8)).await.unwrap();
    let purged = fixture.store.outbox().log_state().await.unwrap().purged;
    assert!(start.at < purged && purged < end.at, "{start:?} {purged:?} {end:?}");
    fixture.store.outbox().purge_outbox_events(at(10)).await.unwrap();
    assert_eq!(fixture.store.outbox().log_state().await.unwrap().purged, end.at);
    fixture.store.outbox().purge_outbox_events(at(10)).await.unwrap();
    assert_eq!(fixture.store.outbox().log_state().await.unwrap().purged, end.at, "never goes back");
}

async fn what_only_replicas_read_is_not_shown(fixture: Fixture) {
    let start = prepared(&fixture).await;
    let channel: ChannelId = "C1".into();
    fixture.store.imports().import(IMPORT, &channel, &[imported("i1")], at(10)).await.unwrap();
    fixture.store.outbox().request_indexing(IndexRequest::Channel(&channel), at(5)).await.unwrap();
    fixture.store.outbox().request_indexing(IndexRequest::Rebuild, at(5)).await.unwrap();
    fixture.keep(&[said("C1", "1", 5, "a")], 7).await;
    let user = "U1".into();
    let reader = FeedReader { user: &user, channels: &[channel], not_before: None };
    fixture.log_settled().await;
    let feed = fixture.store.outbox().outbox_events(reader, start, 100).await.unwrap();
    let told: Vec<_> = feed.outbox_events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(told, ["import.added", "message.received"]);
    assert_eq!(feed.outbox_events[1].subject.as_deref(), Some("1"));
}

async fn a_lost_event_is_taken_for_no_other(fixture: Fixture) {
    let start = prepared(&fixture).await;
    fixture.keep(&[said("C1", "1", 5, "a")], 7).await;
    fixture.keep(&[said("C1", "2", 5, "a")], 9).await;
    let (_, end) = logged(&fixture, start).await;
    assert_eq!(end.logged_at, Some(at(9)));
    let knows = async |bookmark: Bookmark| {
        fixture.store.outbox().logged_changes(bookmark, 10).await.unwrap().is_some()
    };
    assert!(knows(start).await && knows(end).await);
    assert!(!knows(Bookmark { logged_at: Some(at(8)), ..end }).await, "another one is there");
    fixture.run("DELETE FROM outbox_events WHERE subject_id = '2'").await;
    assert!(knows(start).await && !knows(end).await, "nothing is there");
    assert!(knows(end.at.into()).await, "nobody asks");
    fixture.keep(&[said("C1", "3", 5, "a")], 20).await;
    let (_, end) = logged(&fixture, start).await;
    fixture.store.outbox().purge_outbox_events(at(30)).await.unwrap();
    assert!(knows(end).await, "it was purged");
    assert_eq!(fixture.store.outbox().log_state().await.unwrap().newest(), end.at.into());
}

async fn what_was_lost_is_a_gap(fixture: Fixture) {
    let start = prepared(&fixture).await;
    for (id, now) in [("1", 1_000), ("2", 2_000), ("3", 3_000)] {
        fixture.keep(&[said("C1", id, now, "a")], now).await;
    }
    let (_, end) = logged(&fixture, start).await;
    fixture.run("DELETE FROM outbox_events WHERE subject_id IN ('2', '3')").await;
    let outbox = fixture.store.outbox();
    // Nothing came since.
    let period = outbox.record_loss(end, at(9_000)).await.unwrap();
    assert_eq!(period, (at(1_000), at(9_000)));
    // Every replica finds out by itself.
    fixture.keep(&[said("C1", "4", 9_500, "a")], 9_500).await;
    let period = outbox.record_loss(end, at(10_000)).await.unwrap();
    assert_eq!(period, (at(1_000), at(9_500)));
    let gaps = fixture.store.messages().coverage(&"C1".into(), None).await.unwrap().gaps;
    let outages: Vec<_> = gaps.iter().filter(|gap| gap.reason.name() == "outage").collect();
    assert_eq!(outages.len(), 1, "{gaps:?}");
    assert_eq!((outages[0].from, outages[0].to), (at(1_000), Some(at(9_000))));
}
