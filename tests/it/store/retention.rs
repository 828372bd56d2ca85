//! Retention: outdated messages are removed, and nothing else; nobody's counters drift.

use std::collections::BTreeMap;

use chatkeep_core::id::ChannelId;
use chatkeep_store::IngestOutcome;

use super::{Fixture, at, edited, on_both, said, unsent};

on_both!(
    what_is_older_than_the_channel_keeps_goes_in_batches,
    nothing_goes_where_nobody_set_it,
    what_nobody_subscribes_to_goes_after_its_time,
    whoever_comes_back_in_time_keeps_it,
    old_events_of_unknown_type_go,
    events_of_unknown_type_go_with_their_time,
    edits_without_a_message_go,
);

const DAY: i64 = 86_400_000;

/// Checks that every counter is true.
async fn is_well(fixture: &Fixture) {
    for channel in fixture.store.channels().channel_ids().await.unwrap() {
        let audit = fixture.store.audits().audit_channel(&channel).await.unwrap().unwrap();
        assert!(audit.differences.is_empty(), "{:?}", audit.differences);
    }
    let users = fixture.store.audits().audit_users(None, None, &BTreeMap::new(), 10).await.unwrap();
    assert!(users.iter().all(|user| user.differences.is_empty()), "{users:?}");
}

/// Stores five messages, a day apart, at their time of sending; two subscribers.
async fn five_days(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    for day in 1..=5 {
        let message = said("C1", &format!("m{day}"), day * DAY, "some words");
        fixture.keep(&[message], day * DAY).await;
        if day == 2 {
            fixture.subscribe("C1", "U2", day * DAY + 1).await;
        }
    }
}

async fn ids(fixture: &Fixture) -> String {
    let all = fixture.store.messages().all_messages(None, 100).await.unwrap();
    let ids: Vec<_> = all.into_iter().map(|(_, id, _)| id.into_string()).collect();
    ids.join(" ")
}

async fn what_is_older_than_the_channel_keeps_goes_in_batches(fixture: Fixture) {
    five_days(&fixture).await;
    let (store, channel) = (&fixture.store, ChannelId::from("C1"));
    let now = at(6 * DAY + 1);
    store.channels().set_retention(&channel, Some(3), &"U1".into(), at(1)).await.unwrap();
    assert_eq!(store.channels().channel(&channel).await.unwrap().unwrap().retention_days, Some(3));
    assert_eq!(store.channels().outdated_channels(at(4 * DAY)).await.unwrap(), []);
    assert_eq!(store.channels().outdated_channels(now).await.unwrap(), ["C1".into()]);
    assert_eq!(store.channels().retention(&channel).await.unwrap(), (Some(3), None));
    let first = store.channels().delete_outdated(&channel, 2, now).await.unwrap();
    assert_eq!((first.messages.len(), first.last), (2, false));
    is_well(&fixture).await;
    let second = store.channels().delete_outdated(&channel, 2, now).await.unwrap();
    assert_eq!((second.messages.len(), second.last), (1, true));
    assert_eq!(ids(&fixture).await, "m4 m5");
    is_well(&fixture).await;
    assert_eq!(store.channels().outdated_channels(now).await.unwrap(), []);
    let coverage = store.messages().coverage(&channel, None).await.unwrap();
    let told = (coverage.retention_days, coverage.removed_before);
    assert_eq!(told, (Some(3), Some(at(3 * DAY + 1))));
    // Late deliveries of that time are not stored.
    let late = [said("C1", "late", 2 * DAY, "x"), said("C1", "new", 6 * DAY, "y")];
    assert_eq!(
        fixture.keep(&late, 6 * DAY + 2).await,
        [IngestOutcome::Known, IngestOutcome::Changed]
    );
    // Again, by another process: nothing.
    assert!(store.channels().delete_outdated(&channel, 2, now).await.unwrap().messages.is_empty());
    // A changed setting between two batches spares the rest.
    store.channels().set_retention(&channel, None, &"U1".into(), at(1)).await.unwrap();
    let none = store.channels().delete_outdated(&channel, 2, at(90 * DAY)).await.unwrap();
    assert!(none.messages.is_empty() && none.last);
    assert_eq!(ids(&fixture).await, "m4 m5 new");
}

async fn nothing_goes_where_nobody_set_it(fixture: Fixture) {
    five_days(&fixture).await;
    assert_eq!(fixture.store.channels().outdated_channels(at(9_000 * DAY)).await.unwrap(), []);
    assert_eq!(fixture.store.channels().abandoned_channels(at(9_000 * DAY)).await.unwrap(), []);
    let (channel, now) = ("C1".into(), at(9_000 * DAY));
    assert!(
        fixture
            .store
            .channels()
            .delete_outdated(&channel, 9, now)
            .await
            .unwrap()
            .messages
            .is_empty()
    );
    let kept = fixture.store.channels().delete_abandoned(&channel, now, 9, now).await.unwrap();
    assert!(kept.messages.is_empty() && kept.last, "somebody subscribes");
    assert_eq!(ids(&fixture).await, "m1 m2 m3 m4 m5");
}

async fn what_nobody_subscribes_to_goes_after_its_time(fixture: Fixture) {
    five_days(&fixture).await;
    // Known only by an edit, or by an unsend: nothing of it stays either.
    let halves = [edited("C1", "half", 5 * DAY, "words"), unsent("C1", "early", 5 * DAY)];
    fixture.keep(&halves, 5 * DAY + 1).await;
    let (store, channel) = (&fixture.store, ChannelId::from("C1"));
    store.accounts().unsubscribe(&channel, &"U1".into(), at(6 * DAY)).await.unwrap();
    assert_eq!(
        store.channels().abandoned_channels(at(9 * DAY)).await.unwrap(),
        [],
        "U2 is still there"
    );
    store.accounts().unsubscribe(&channel, &"U2".into(), at(7 * DAY)).await.unwrap();
    assert_eq!(store.channels().abandoned_channels(at(7 * DAY)).await.unwrap(), []);
    // Sent after that, and unsent before it came.
    fixture.keep(&[unsent("C1", "later", 7 * DAY + 5)], 7 * DAY + 6).await;
    let before = at(7 * DAY + 1);
    assert_eq!(store.channels().abandoned_channels(before).await.unwrap(), ["C1".into()]);
    let mut batches = 0;
    loop {
        batches += 1;
        let now = at(10 * DAY);
        if store.channels().delete_abandoned(&channel, before, 3, now).await.unwrap().last {
            break;
        }
        is_well(&fixture).await;
    }
    assert_eq!((batches, ids(&fixture).await.as_str()), (3, ""));
    assert_eq!(fixture.counters("C1").await, (0, 0));
    while store.channels().forget_abandoned(&channel, before).await.unwrap() > 0 {}
    assert_eq!(store.channels().abandoned_channels(before).await.unwrap(), []);
    is_well(&fixture).await;
    // A message unsent before it came stays away, and a new subscriber gets new messages.
    fixture.subscribe("C1", "U1", 11 * DAY).await;
    let all = [
        said("C1", "early", 5 * DAY, "secret"),
        said("C1", "later", 7 * DAY + 4, "secret"),
        said("C1", "new", 8 * DAY, "late"),
    ];
    assert_eq!(
        fixture.keep(&all, 11 * DAY + 1).await,
        [IngestOutcome::Known, IngestOutcome::Known, IngestOutcome::Changed]
    );
    assert_eq!(ids(&fixture).await, "new");
    is_well(&fixture).await;
}

async fn whoever_comes_back_in_time_keeps_it(fixture: Fixture) {
    five_days(&fixture).await;
    let (store, channel) = (&fixture.store, ChannelId::from("C1"));
    for user in ["U1", "U2"] {
        store.accounts().unsubscribe(&channel, &user.into(), at(6 * DAY)).await.unwrap();
    }
    let before = at(7 * DAY);
    let first = store.channels().delete_abandoned(&channel, before, 2, at(8 * DAY)).await.unwrap();
    assert_eq!((first.messages.len(), first.last), (2, false));
    fixture.subscribe("C1", "U2", 8 * DAY).await;
    let next = store.channels().delete_abandoned(&channel, before, 2, at(8 * DAY)).await.unwrap();
    assert!(next.messages.is_empty() && next.last);
    assert_eq!(ids(&fixture).await, "m3 m4 m5");
    is_well(&fixture).await;
}

async fn old_events_of_unknown_type_go(fixture: Fixture) {
    for (id, time) in [("e1", 1), ("e2", 2), ("e3", 3)] {
        fixture
            .run(&format!(
                "INSERT INTO other_events (event_id, type, at, raw) VALUES ('{id}', 't', {time}, '')"
            ))
            .await;
    }
    assert_eq!(fixture.store.messages().purge_other_events(at(3)).await.unwrap(), 2);
    assert_eq!(fixture.store.messages().purge_other_events(at(3)).await.unwrap(), 0);
    let left = "SELECT MIN(event_id) FROM other_events";
    assert_eq!(fixture.value(left).await, "e3");
}

/// Also where no message is as old as they are.
async fn events_of_unknown_type_go_with_their_time(fixture: Fixture) {
    five_days(&fixture).await;
    let (store, channel, owner) = (&fixture.store, ChannelId::from("C1"), "U1".into());
    let event = async |id: &str, channel: &str, day: i64| {
        let at = day * DAY;
        let values = format!("('{id}', '{channel}', 't', {at}, '')");
        let insert = "INSERT INTO other_events (event_id, channel_id, type, at, raw) VALUES";
        fixture.run(&format!("{insert} {values}")).await;
    };
    event("old", "C1", 0).await;
    event("young", "C1", 4).await;
    event("other", "C2", 0).await;
    let left = async || {
        let others = fixture.value("SELECT COUNT(*) FROM other_events WHERE channel_id = 'C2'");
        assert_eq!(others.await, "1");
        fixture.value("SELECT COUNT(*) FROM other_events WHERE channel_id = 'C1'").await
    };
    store.channels().set_retention(&channel, Some(5), &owner, at(1)).await.unwrap();
    assert_eq!(store.channels().outdated_channels(at(5 * DAY + 1)).await.unwrap(), ["C1".into()]);
    let removed = store.channels().delete_outdated(&channel, 9, at(5 * DAY + 1)).await.unwrap();
    assert!(removed.messages.is_empty() && removed.last);
    assert_eq!(left().await, "1");
    assert_eq!(store.channels().outdated_channels(at(5 * DAY + 1)).await.unwrap(), []);
    store.channels().set_retention(&channel, None, &owner, at(1)).await.unwrap();
    // Nobody subscribes any more, and the messages are gone already.
    for user in ["U1", "U2"] {
        store.accounts().unsubscribe(&channel, &user.into(), at(6 * DAY)).await.unwrap();
    }
    let before = at(7 * DAY);
    store.channels().delete_abandoned(&channel, before, 9, before).await.unwrap();
    event("late", "C1", 5).await;
    assert_eq!(store.channels().abandoned_channels(before).await.unwrap(), ["C1".into()]);
    store.channels().delete_abandoned(&channel, before, 9, before).await.unwrap();
    assert_eq!(left().await, "0");
}

async fn edits_without_a_message_go(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let edits = ["stray", "found", "late"].map(|id| edited("C1", id, 20, "a new text"));
    fixture.keep(&edits, 21).await;
    assert_eq!(fixture.counters("C1").await, (0, 0), "what nobody sees counts for nothing");
    fixture.keep(&[said("C1", "found", 10, "an old text"), unsent("C1", "gone", 20)], 22).await;
    assert_eq!(
        fixture.store.messages().purge_stray_edits(at(20)).await.unwrap(),
        0,
        "not old enough"
    );
    fixture.keep(&[edited("C1", "late", 30, "a newer text")], 31).await;
    assert_eq!(fixture.store.messages().purge_stray_edits(at(25)).await.unwrap(), 1);
    assert_eq!(ids(&fixture).await, "found gone late");
    let counted = fixture.counters("C1").await;
    fixture.keep(&[said("C1", "late", 11, "an old text")], 32).await;
    assert_eq!(fixture.counters("C1").await.1, counted.1 + 1);
    assert!(fixture.counters("C1").await.0 > counted.0);
    is_well(&fixture).await;
}
