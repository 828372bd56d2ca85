//! Retractions are known to queues outside of the store, for stored messages or not.

use chatkeep_core::event::EventOrigin;
use chatkeep_core::id::ChannelId;

use super::{Fixture, at, delete_before, erase_person, on_both, said, unsent};

on_both!(
    what_was_taken_back_is_told_apart,
    every_way_of_taking_back_leaves_a_note,
    a_note_stays_when_more_comes_meanwhile,
);

fn trace(channel: &str, message: &str, author: &str, time: i64) -> EventOrigin {
    EventOrigin {
        channel: channel.into(),
        chat: ChannelId::from(channel).chat_with("main"),
        message: Some(message.into()),
        author: Some(author.into()),
        at: at(time),
    }
}

async fn gone(fixture: &Fixture, traces: &[EventOrigin], now: i64) -> Vec<usize> {
    let traces: Vec<_> = traces.iter().collect();
    let mut gone = fixture.store.messages().taken_back(&traces, at(now)).await.unwrap();
    gone.sort_unstable();
    gone
}

async fn noted(fixture: &Fixture) -> Vec<String> {
    let notes = fixture.store.messages().retractions(10).await.unwrap();
    notes.into_iter().map(|note| note.channel.into_string()).collect()
}

async fn settled(fixture: &Fixture) -> Vec<String> {
    let channels = noted(fixture).await;
    let notes = fixture.store.messages().retractions(10).await.unwrap();
    fixture.store.messages().settle_retractions(&notes).await.unwrap();
    assert!(noted(fixture).await.is_empty());
    channels
}

async fn what_was_taken_back_is_told_apart(fixture: Fixture) {
    for channel in ["C1", "C2"] {
        fixture.group(channel, &["U1", "U2"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    let traces = [
        trace("C1", "kept", "U1", 10),
        trace("C1", "unsent", "U1", 10),
        trace("C1", "of the erased", "U2", 10),
        trace("C1", "after erasure", "U2", 60),
        trace("C2", "of the erased", "U2", 10),
        trace("C2", "unsent", "U1", 10),
        EventOrigin { message: None, author: None, ..trace("C1", "", "", 10) },
    ];
    assert!(gone(&fixture, &traces, 20).await.is_empty());
    fixture.keep(&[said("C1", "kept", 10, "x"), unsent("C1", "unsent", 12)], 13).await;
    assert_eq!(gone(&fixture, &traces, 20).await, [1]);
    // None of their messages was ever stored.
    erase_person(&fixture.store, &"C1".into(), &"U2".into(), at(50), at(50)).await;
    assert_eq!(gone(&fixture, &traces, 60).await, [1, 2]);
    delete_before(&fixture.store, &"C2".into(), at(11), at(61)).await;
    assert_eq!(gone(&fixture, &traces, 62).await, [1, 2, 4, 5]);
    // Beyond its channel's retention, also when nothing was stored that could go.
    fixture
        .store
        .channels()
        .set_retention(&"C1".into(), Some(1), &"U1".into(), at(1))
        .await
        .unwrap();
    assert_eq!(gone(&fixture, &traces, 86_400_011).await, [0, 1, 2, 4, 5, 6]);
}

async fn every_way_of_taking_back_leaves_a_note(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.group("C3", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C1", "b", 11, "x")], 12).await;
    assert!(noted(&fixture).await.is_empty());
    fixture.keep(&[unsent("C1", "a", 13)], 14).await;
    assert_eq!(settled(&fixture).await, ["C1"]);
    fixture.keep(&[unsent("C1", "a", 13)], 15).await;
    assert!(noted(&fixture).await.is_empty(), "it was known");
    fixture.keep(&[unsent("C1", "never seen", 13)], 16).await;
    assert_eq!(settled(&fixture).await, ["C1"]);
    // Without a subscriber: nothing of it was stored, and still it is known.
    fixture.keep(&[unsent("C3", "never kept", 13)], 17).await;
    assert_eq!(settled(&fixture).await, ["C3"]);
    assert_eq!(gone(&fixture, &[trace("C3", "never kept", "U1", 10)], 20).await, [0]);
    erase_person(&fixture.store, &"C3".into(), &"U1".into(), at(50), at(50)).await;
    assert_eq!(settled(&fixture).await, ["C3"]);
    delete_before(&fixture.store, &"C1".into(), at(60), at(60)).await;
    assert_eq!(settled(&fixture).await, ["C1"]);
}

async fn a_note_stays_when_more_comes_meanwhile(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.keep(&[unsent("C1", "a", 10)], 11).await;
    let notes = fixture.store.messages().retractions(10).await.unwrap();
    fixture.keep(&[unsent("C1", "b", 12)], 13).await;
    fixture.store.messages().settle_retractions(&notes).await.unwrap();
    assert_eq!(noted(&fixture).await, ["C1"]);
}
