//! Batches beside each other, and beside those who change what may be stored: nothing is lost, nothing
//! counts twice, nothing stays that had to go, and nobody waits for ever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use chatkeep_core::message::{MessageChange, MessageType};
use chatkeep_core::plan::Plan;
use chatkeep_store::{ChannelChange, IngestOutcome, PresenceEvidenceKind};
use futures_util::future::join_all;

use super::{Fixture, at, edited, erase_person, item, on_both, said, sized, unsent};

on_both!(
    whatever_happens_meanwhile_the_counters_are_true,
    a_quota_that_many_fill_at_once_ends_at_one_message,
    batches_of_different_channels_stop_nobody,
    whoever_needs_a_channel_alone_gets_it_in_turn,
    one_that_is_stored_already_takes_nothing_from_the_others,
);

const CHANNELS: [&str; 3] = ["C1", "C2", "C3"];
/// Batches of each writer, and messages of each channel in a batch.
const ROUNDS: i64 = 12;
const MESSAGES: i64 = 6;

/// Returns a batch of new messages, half of them of another writer, too, with changes of older ones.
fn batch(writer: i64, round: i64) -> Vec<ChannelChange> {
    let mut batch = Vec::new();
    for channel in CHANNELS {
        for n in 0..MESSAGES {
            let id = format!("{}-{round}-{n}", writer / 2);
            let mut message = said(channel, &id, 10 + round, "some words");
            if let (MessageChange::Received(received), 0) = (&mut message.change, n % 3) {
                received.sender = Some("U3".into());
            }
            batch.push(message);
        }
        // One that this batch brings, one that another writer may just be storing.
        batch.push(unsent(channel, &format!("{}-{round}-1", writer / 2), 50));
        batch.push(unsent(channel, &format!("{}-{}-2", (writer + 2) % 6 / 2, round), 51));
        batch.push(edited(channel, &format!("{}-{}-4", (writer + 2) % 6 / 2, round), 52, "others"));
    }
    let turn = usize::try_from(writer).unwrap() * 5 % batch.len();
    batch.rotate_left(turn);
    batch
}

async fn whatever_happens_meanwhile_the_counters_are_true(fixture: Fixture) {
    for channel in CHANNELS {
        fixture.group(channel, &["U1", "U2", "U3"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    let writers = join_all((0..6_i64).map(|writer| {
        let store = fixture.store.clone();
        async move {
            for round in 0..ROUNDS {
                store.messages().ingest(&batch(writer, round), at(100 + round)).await.unwrap();
            }
        }
    }));
    let subscriber = async {
        for round in 0..ROUNDS {
            let channel = CHANNELS[usize::try_from(round).unwrap() % 3].into();
            let accounts = fixture.store.accounts();
            accounts.subscribe(&channel, &"U2".into(), at(100 + round)).await.unwrap();
            accounts.unsubscribe(&channel, &"U2".into(), at(100 + round)).await.unwrap();
        }
    };
    let eraser = async {
        for channel in CHANNELS {
            let (channel, time) = (channel.into(), at(60));
            erase_person(&fixture.store, &channel, &"U3".into(), time, at(110)).await;
        }
    };
    tokio::join!(writers, subscriber, eraser);

    let stored = fixture.store.messages().all_messages(None, 10_000).await.unwrap();
    for (_, id, state) in &stored {
        let id = id.as_str();
        if id.ends_with("-1") || id.ends_with("-2") {
            assert!(state.unsent_at.is_some() && state.content.is_none(), "{id}");
        }
        let edited = state.content.as_deref().is_some_and(|content| content.contains("others"));
        assert_eq!(edited, id.ends_with("-4") && state.unsent_at.is_none(), "{id}");
        assert!(state.sender.as_ref().is_none_or(|sender| sender.as_str() != "U3"), "{id}");
    }
    let ids = stored.iter().map(|(_, id, _)| id.as_str());
    let whole = ids.filter(|id| id.ends_with("-4") || id.ends_with("-5"));
    assert_eq!(whole.count(), CHANNELS.len() * 3 * usize::try_from(ROUNDS).unwrap() * 2);
    for channel in CHANNELS {
        let audit = fixture.store.audits().audit_channel(&channel.into()).await.unwrap().unwrap();
        assert!(audit.differences.is_empty(), "{:?}", audit.differences);
    }
    let users = fixture.store.audits().audit_users(None, None, &BTreeMap::new(), 10).await.unwrap();
    assert!(users.iter().all(|user| user.differences.is_empty()), "{users:?}");
}

async fn a_quota_that_many_fill_at_once_ends_at_one_message(fixture: Fixture) {
    for channel in CHANNELS {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    fixture.preload("C1", "U1", Plan::Free.quota() - 5_000).await;
    let writers = (0..8_i64).map(|writer| {
        let store = fixture.store.clone();
        async move {
            for round in 0..10_i64 {
                let message = |channel| sized(channel, &format!("{writer}-{round}"), 10, 100);
                let batch: Vec<_> = CHANNELS.into_iter().map(message).collect();
                store.messages().ingest(&batch, at(100 + round)).await.unwrap();
            }
        }
    });
    join_all(writers).await;
    let over = fixture.used("U1").await - Plan::Free.quota();
    assert_eq!(over, 0, "the fiftieth message of 100 bytes fills it");
    let count = async |what: &str| {
        fixture.value(&format!("SELECT COUNT(*) FROM messages WHERE {what}")).await
    };
    assert_eq!((count("NOT skipped").await, count("skipped").await), ("50".into(), "190".into()));
}

/// Returns a batch of new messages of these channels, enough of them for the way side by side.
fn new_messages(channels: &[&str], prefix: &str) -> Vec<ChannelChange> {
    let ids = (0..8).flat_map(|n| channels.iter().map(move |channel| (n, *channel)));
    ids.map(|(n, channel)| said(channel, &format!("{prefix}-{n}"), 10, "some words")).collect()
}

async fn batches_of_different_channels_stop_nobody(fixture: Fixture) {
    const SETS: [&[&str]; 6] =
        [&["C1", "C2", "C3"], &["C3"], &["C2", "C3"], &["C1"], &["C1", "C3"], &["C2"]];
    for channel in CHANNELS {
        fixture.group(channel, &["U1", "U2"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    let writers = (0..).zip(SETS).map(|(writer, channels)| {
        let store = fixture.store.clone();
        async move {
            for round in 0..40 {
                let batch = new_messages(channels, &format!("{writer}-{round}"));
                store.messages().ingest(&batch, at(100 + round)).await.unwrap();
            }
        }
    });
    // The stage of the members, which reads the same events, and shares nothing.
    let members = async {
        for round in 0..120 {
            let seen = CHANNELS
                .map(|channel| item(channel, 10, PresenceEvidenceKind::Present("U1".into())));
            fixture.store.members().record_presence(&seen, at(100 + round)).await.unwrap();
        }
    };
    let alone = CHANNELS.map(|channel| {
        let store = fixture.store.clone();
        async move {
            let (channel, user) = (channel.into(), "U2".into());
            for round in 0..40 {
                store.accounts().subscribe(&channel, &user, at(100 + round)).await.unwrap();
                store.accounts().unsubscribe(&channel, &user, at(100 + round)).await.unwrap();
            }
        }
    });
    tokio::join!(join_all(writers), members, join_all(alone));
    let stored: usize = SETS.iter().map(|channels| 40 * 8 * channels.len()).sum();
    assert_eq!(fixture.value("SELECT COUNT(*) FROM messages").await, stored.to_string());
}

async fn whoever_needs_a_channel_alone_gets_it_in_turn(fixture: Fixture) {
    /// Batches after which a writer gives up: nobody who is next waits for so many.
    const MAX_ROUNDS: i64 = 2_000;
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let is_done = AtomicBool::new(false);
    let writers = (0..4).map(|writer| {
        let (store, is_done) = (fixture.store.clone(), &is_done);
        async move {
            for round in 0..MAX_ROUNDS {
                if is_done.load(Ordering::Relaxed) {
                    return true;
                }
                let batch = new_messages(&["C1"], &format!("{writer}-{round}"));
                store.messages().ingest(&batch, at(100 + round)).await.unwrap();
            }
            false
        }
    });
    let alone = async {
        for round in 0..20 {
            let (channel, user) = ("C1".into(), "U2".into());
            let accounts = fixture.store.accounts();
            accounts.subscribe(&channel, &user, at(100 + round)).await.unwrap();
            accounts.unsubscribe(&channel, &user, at(100 + round)).await.unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
    };
    let (were_let_go, ()) = tokio::join!(join_all(writers), alone);
    assert_eq!(were_let_go, [true; 4], "it came after all writers");
}

async fn one_that_is_stored_already_takes_nothing_from_the_others(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    // What was unsent before it came is there already, too.
    let first = [unsent("C1", "b-5", 12), said("C1", "old", 9, "some words")];
    assert_eq!(fixture.keep(&first, 100).await, [IngestOutcome::Changed; 2]);
    let mut batch = new_messages(&["C1"], "b");
    batch.insert(2, said("C1", "old", 9, "some words"));
    let mut picture = said("C1", "picture", 11, "a picture");
    if let MessageChange::Received(received) = &mut picture.change {
        received.kind = MessageType::Image;
    }
    for (known, message) in [(true, None), (false, Some(picture))] {
        let prefix = if known { "b" } else { "c" };
        let mut batch = if known { batch.clone() } else { new_messages(&["C1"], prefix) };
        batch.extend(message);
        let kept = fixture.keep(&batch, 101).await;
        let changed = kept.iter().filter(|kept| **kept == IngestOutcome::Changed).count();
        assert_eq!((changed, kept[2] == IngestOutcome::Known), (8 + usize::from(!known), known));
        assert!(fixture.keep(&batch, 102).await.iter().all(|kept| *kept == IngestOutcome::Known));
    }
    let count = async |what: &str| fixture.value(&format!("SELECT COUNT(*) FROM {what}")).await;
    assert_eq!(count("media WHERE status = 'pending' AND type = 'image'").await, "1");
    // Not one of the message that nobody saw.
    assert_eq!(count("outbox_events WHERE type = 'message.received'").await, "17");
    let audit = fixture.store.audits().audit_channel(&"C1".into()).await.unwrap().unwrap();
    assert!(audit.differences.is_empty(), "{:?}", audit.differences);
}
