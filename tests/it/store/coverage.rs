//! Coverage of a channel, and its gaps.

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{BusRecord, Gap, IngestOutcome, MediaReason, PresenceEvidenceKind};

use super::{Fixture, at, delete_before, item, on_both, said};

on_both!(
    before_anybody_subscribes_nothing_is_kept,
    subscribing_again_ends_the_gap,
    subscriptions_are_in_the_order_in_which_they_were_made,
    changes_of_a_channel_are_bounded,
    the_bot_comes_and_goes_in_any_order,
    gaps_are_asked_for_by_time,
    an_outage_is_what_passed_between_two_beats,
    an_outage_is_told_after_a_clock_that_was_ahead,
    a_bus_that_lost_events_is_an_outage,
    what_a_restored_database_lacks_is_one_outage,
    lost_media_are_counted_by_reason,
    gaps_of_many_channels_are_those_of_each,
    what_comes_after_its_subscription_is_missing,
    removed_times_are_told,
    oldest_messages_of_channels_are_known,
);

/// Returns reason, begin and end of each gap.
fn told(gaps: &[Gap]) -> Vec<(&'static str, i64, Option<i64>)> {
    gaps.iter().map(told_one).collect()
}

fn told_one(gap: &Gap) -> (&'static str, i64, Option<i64>) {
    (gap.reason.name(), gap.from.millis(), gap.to.map(Timestamp::millis))
}

/// Returns the gaps since the first subscription.
async fn gaps(fixture: &Fixture, channel: &str) -> Vec<Gap> {
    let mut gaps = fixture.store.messages().gaps(&channel.into(), None, None).await.unwrap();
    assert_eq!((gaps[0].reason.name(), gaps[0].from), ("unsubscribed", at(1)));
    gaps.remove(0);
    gaps
}

async fn unsubscribe(fixture: &Fixture, user: &str, now: i64) {
    assert!(
        fixture.store.accounts().unsubscribe(&"C1".into(), &user.into(), at(now)).await.unwrap()
    );
}

async fn before_anybody_subscribes_nothing_is_kept(fixture: Fixture) {
    let moves = [
        item("C1", 1, PresenceEvidenceKind::BotJoined),
        item("C1", 2, PresenceEvidenceKind::BotLeft),
        item("C1", 3, PresenceEvidenceKind::BotJoined),
        item("C1", 3, PresenceEvidenceKind::Present("U1".into())),
    ];
    fixture.store.members().record_presence(&moves, at(4)).await.unwrap();
    fixture.store.messages().record_alive(at(1)).await.unwrap();
    fixture.store.messages().record_alive(at(1_000_000)).await.unwrap();
    let coverage = fixture.store.messages().coverage(&"C1".into(), None).await.unwrap();
    assert_eq!((coverage.since, coverage.messages), (None, None));
    assert_eq!(told(&coverage.gaps), [("unsubscribed", 1, None)], "silence is no news");
    assert!(coverage.media.is_empty(), "{coverage:?}");
    let since = fixture.store.messages().coverage(&"C1".into(), Some(at(7))).await.unwrap();
    assert_eq!(told(&since.gaps), [("unsubscribed", 7, None)]);
    fixture.subscribe("C1", "U1", 2_000_000).await;
    fixture.keep(&[said("C1", "a", 5, "x"), said("C1", "b", 2_000_001, "y")], 2_000_002).await;
    let coverage = fixture.store.messages().coverage(&"C1".into(), None).await.unwrap();
    assert_eq!(coverage.since, Some(at(2_000_000)));
    assert_eq!(coverage.messages, Some((at(5), at(2_000_001))));
    // No coverage was expected before that.
    assert_eq!(told(&coverage.gaps), [("unsubscribed", 1, Some(2_000_000))]);
    let unknown = fixture.store.messages().coverage(&"C9".into(), None).await.unwrap();
    assert!(unknown.since.is_none() && unknown.gaps.is_empty());
}

async fn gaps_of_many_channels_are_those_of_each(fixture: Fixture) {
    let channels = ["C1", "C2", "C3", "C4", "C9"].map(Into::into);
    for (channel, at) in [("C1", 10), ("C2", 20), ("C3", 30)] {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", at).await;
    }
    // Nobody subscribes C4, and there is no C9.
    fixture.group("C4", &["U1"]).await;
    let moves = [
        item("C1", 40, PresenceEvidenceKind::BotLeft),
        item("C1", 50, PresenceEvidenceKind::BotJoined),
        item("C2", 60, PresenceEvidenceKind::BotLeft),
    ];
    fixture.store.members().record_presence(&moves, at(70)).await.unwrap();
    fixture.store.messages().record_alive(at(25)).await.unwrap();
    fixture.store.messages().record_alive(at(1_000_000)).await.unwrap();
    let messages = fixture.store.messages();
    for (from, to) in [(None, None), (Some(45), None), (None, Some(35)), (Some(41), Some(45))] {
        let (from, to) = (from.map(at), to.map(at));
        let all = messages.gaps_of(&channels, from, to).await.unwrap();
        for channel in &channels {
            let one = messages.gaps(channel, from, to).await.unwrap();
            let of_channel = all.get(channel).cloned().unwrap_or_default();
            assert_eq!(of_channel, one, "{channel} from {from:?} to {to:?}");
            assert_eq!(all.contains_key(channel), !one.is_empty());
        }
    }
    let all = messages.gaps_of(&channels, Some(at(41)), Some(at(45))).await.unwrap();
    assert_eq!(told(&all["C1"]), [("outage", 25, Some(1_000_000)), ("bot_removed", 40, Some(50))]);
    assert_eq!(told(&all["C4"]), [("unsubscribed", 1, None)]);
    assert_eq!(messages.gaps_of(&[], None, None).await.unwrap().len(), 0);
}

async fn oldest_messages_of_channels_are_known(fixture: Fixture) {
    for channel in ["C1", "C2", "C3"] {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", 10).await;
    }
    let said = [said("C1", "a", 20, "x"), said("C1", "b", 30, "x"), said("C2", "a", 25, "x")];
    fixture.keep(&said, 40).await;
    // Of C3 nothing is stored, and there is no C9.
    let channels = ["C1", "C2", "C3", "C9"].map(ChannelId::from);
    for (start, expected) in [
        (None, vec![("C1", 20), ("C2", 25)]),
        (Some(20), vec![("C1", 20), ("C2", 25)]),
        (Some(26), vec![("C1", 30)]),
        (Some(31), vec![]),
    ] {
        let oldest = fixture.store.messages().oldest_in(&channels, start.map(at)).await.unwrap();
        let expected = expected.into_iter().map(|(channel, time)| (channel.into(), at(time)));
        assert_eq!(oldest, expected.collect(), "since {start:?}");
    }
    assert!(fixture.store.messages().oldest_in(&[], None).await.unwrap().is_empty());
}

async fn subscribing_again_ends_the_gap(fixture: Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    fixture.subscribe("C1", "U2", 20).await;
    unsubscribe(&fixture, "U1", 30).await;
    assert_eq!(told(&gaps(&fixture, "C1").await), [], "somebody still wants it");
    unsubscribe(&fixture, "U2", 40).await;
    assert_eq!(told(&gaps(&fixture, "C1").await), [("unsubscribed", 40, None)]);
    fixture.subscribe("C1", "U1", 50).await;
    fixture.subscribe("C1", "U2", 60).await;
    let all = gaps(&fixture, "C1").await;
    assert_eq!(told(&all), [("unsubscribed", 40, Some(50))]);
    assert_eq!(all[0].skipped, None, "nobody can know");
    unsubscribe(&fixture, "U1", 70).await;
    unsubscribe(&fixture, "U2", 80).await;
    let expected = [("unsubscribed", 40, Some(50)), ("unsubscribed", 80, None)];
    assert_eq!(told(&gaps(&fixture, "C1").await), expected);
    let coverage = fixture.store.messages().coverage(&"C1".into(), None).await.unwrap();
    assert_eq!((coverage.since, coverage.gaps.len()), (Some(at(10)), 3));
}

async fn subscriptions_are_in_the_order_in_which_they_were_made(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    // The clock of the process that cancels is ahead.
    unsubscribe(&fixture, "U1", 40).await;
    fixture.subscribe("C1", "U1", 35).await;
    assert_eq!(told(&gaps(&fixture, "C1").await), [("unsubscribed", 40, Some(41))]);
    unsubscribe(&fixture, "U1", 38).await;
    let open = [("unsubscribed", 41, None)];
    assert_eq!(told(&gaps(&fixture, "C1").await).last(), open.last(), "it is the last one");
    fixture.subscribe("C1", "U1", 50).await;
    unsubscribe(&fixture, "U1", 60).await;
    fixture.subscribe("C1", "U1", 60).await;
    assert!(gaps(&fixture, "C1").await.iter().all(|gap| gap.to.is_some()));
}

async fn changes_of_a_channel_are_bounded(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    unsubscribe(&fixture, "U1", 20).await;
    // As the program of before left them: subscribed for a second, again and again.
    let changes: Vec<_> = (100..2_100)
        .flat_map(|n| [(n * 10, "subscribed"), (n * 10 + 1, "unsubscribed")])
        .map(|(seconds, kind)| format!("('C1', {}, '{kind}')", at(seconds).millis()))
        .collect();
    let insert = "INSERT INTO coverage_changes (channel_id, at, kind) VALUES";
    fixture.run(&format!("{insert} {}", changes.join(", "))).await;
    fixture.subscribe("C1", "U1", 30_000).await;
    let rows = async || {
        let count = "SELECT COUNT(*) FROM coverage_changes WHERE kind <> 'bot_joined'";
        fixture.value(count).await.parse::<usize>().unwrap()
    };
    assert!((990..=1_000).contains(&rows().await), "{} rows", rows().await);
    // A longer time of backup is told for ever.
    unsubscribe(&fixture, "U1", 40_000).await;
    for n in 0..5 {
        fixture.subscribe("C1", "U1", 50_000 + n * 10).await;
        unsubscribe(&fixture, "U1", 50_001 + n * 10).await;
    }
    assert!(rows().await <= 1_000, "{} rows", rows().await);
    let found = gaps(&fixture, "C1").await;
    let begins = |time: i64| found.iter().any(|gap| gap.from == at(time));
    let ends = |time: i64| found.iter().any(|gap| gap.to == Some(at(time)));
    assert!(begins(20) && ends(30_000) && begins(40_000), "{:?}", told(&found));
    assert_eq!(told(&found).last(), Some(&("unsubscribed", 50_041, None)));
}

async fn what_comes_after_its_subscription_is_missing(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    let stored = said("C1", "stored", 20, "x");
    fixture.keep(std::slice::from_ref(&stored), 21).await;
    unsubscribe(&fixture, "U1", 40).await;
    let ends = async || {
        fixture.value("SELECT COUNT(*) FROM coverage_changes WHERE kind = 'unsubscribed'").await
    };
    // Neither what is stored nor what was sent later changes the gap.
    let batch = [stored, said("C1", "later", 45, "x")];
    let kept = fixture.keep(&batch, 50).await;
    assert_eq!(kept, [IngestOutcome::Known, IngestOutcome::NotBackedUp]);
    assert_eq!(told(&gaps(&fixture, "C1").await), [("unsubscribed", 40, None)]);
    let late = [said("C1", "b", 35, "x"), said("C1", "a", 30, "x"), said("C1", "c", 39, "x")];
    for now in [51, 52] {
        assert_eq!(fixture.keep(&late, now).await, [IngestOutcome::NotBackedUp; 3]);
        assert_eq!(told(&gaps(&fixture, "C1").await), [("unsubscribed", 30, None)]);
        assert_eq!(ends().await, "2", "the first of them begins it");
    }
    fixture.subscribe("C1", "U1", 60).await;
    assert_eq!(told(&gaps(&fixture, "C1").await), [("unsubscribed", 30, Some(60))]);
    unsubscribe(&fixture, "U1", 80).await;
    // Of each time with a subscription, and of those without one.
    let late = [25, 70, 5, 55, 75, 60].map(|time| said("C1", &format!("at {time}"), time, "x"));
    fixture.keep(&late, 90).await;
    let expected = [("unsubscribed", 25, Some(60)), ("unsubscribed", 60, None)];
    assert_eq!(told(&gaps(&fixture, "C1").await), expected);
    assert_eq!(ends().await, "5");
    assert_eq!(fixture.counters("C1").await.1, 1);
}

async fn removed_times_are_told(fixture: Fixture) {
    const DAY: i64 = 86_400_000;
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    fixture.keep(&[said("C1", "a", 20, "x"), said("C1", "b", 40, "y")], 50).await;
    let (store, channel) = (&fixture.store, ChannelId::from("C1"));
    let removed = async |start: Option<i64>| {
        store.messages().coverage(&channel, start.map(at)).await.unwrap().removed_before
    };
    assert_eq!(removed(None).await, None);
    delete_before(store, &channel, at(30), at(60)).await;
    assert_eq!(removed(None).await, Some(at(30)));
    // Only as far as a key may know it.
    assert_eq!((removed(Some(29)).await, removed(Some(30)).await), (Some(at(30)), None));
    // Of what was deleted and what was too old the later time counts.
    store.channels().set_retention(&channel, Some(1), &"U1".into(), at(60)).await.unwrap();
    store.channels().delete_outdated(&channel, 9, at(DAY + 45)).await.unwrap();
    assert_eq!(removed(None).await, Some(at(45)));
    delete_before(store, &channel, at(35), at(DAY + 50)).await;
    assert_eq!(removed(None).await, Some(at(45)));
    delete_before(store, &channel, at(70), at(DAY + 51)).await;
    assert_eq!(removed(None).await, Some(at(70)));
}

async fn the_bot_comes_and_goes_in_any_order(fixture: Fixture) {
    let moves = [
        (1, PresenceEvidenceKind::BotJoined),
        (5, PresenceEvidenceKind::BotLeft),
        (20, PresenceEvidenceKind::BotJoined),
        (30, PresenceEvidenceKind::BotLeft),
        (40, PresenceEvidenceKind::BotJoined),
        (50, PresenceEvidenceKind::BotLeft),
    ];
    for turn in 0..moves.len() {
        let channel = format!("C{turn}");
        fixture.group(&channel, &["U1"]).await;
        let mut order: Vec<_> =
            moves.iter().map(|(time, kind)| item(&channel, *time, kind.clone())).collect();
        order.rotate_left(turn);
        if turn % 2 == 0 {
            order.reverse();
        }
        for (n, one) in order.iter().enumerate() {
            if n == turn {
                fixture.subscribe(&channel, "U1", 10).await;
            }
            for _ in 0..2 {
                fixture
                    .store
                    .members()
                    .record_presence(std::slice::from_ref(one), at(60))
                    .await
                    .unwrap();
            }
        }
        let expected = [
            // The bot was out already when the first user subscribed.
            ("bot_removed", 10, Some(20)),
            ("bot_removed", 30, Some(40)),
            ("bot_removed", 50, None),
        ];
        assert_eq!(told(&gaps(&fixture, &channel).await), expected, "{channel}");
    }
}

async fn gaps_are_asked_for_by_time(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    let moves = [
        item("C1", 100, PresenceEvidenceKind::BotLeft),
        item("C1", 110, PresenceEvidenceKind::BotJoined),
        item("C1", 300, PresenceEvidenceKind::BotLeft),
    ];
    fixture.store.members().record_presence(&moves, at(301)).await.unwrap();
    unsubscribe(&fixture, "U1", 200).await;
    fixture.subscribe("C1", "U1", 210).await;
    let between = async |from: Option<i64>, to: Option<i64>| {
        let gaps =
            fixture.store.messages().gaps(&"C1".into(), from.map(at), to.map(at)).await.unwrap();
        gaps.iter().map(|gap| gap.from.millis()).collect::<Vec<_>>()
    };
    assert_eq!(between(None, None).await, [1, 100, 200, 300]);
    assert_eq!(between(Some(105), Some(205)).await, [100, 200]);
    assert!(between(Some(111), Some(200)).await.is_empty());
    assert_eq!(between(Some(1_000), None).await, [300], "it still lasts");
    assert_eq!(between(None, Some(100)).await, [1]);
    assert!(between(Some(11), Some(100)).await.is_empty());
}

async fn an_outage_is_told_after_a_clock_that_was_ahead(fixture: Fixture) {
    const MINUTE: i64 = 60_000;
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", MINUTE).await;
    fixture.store.messages().record_alive(at(1_000 * MINUTE)).await.unwrap();
    assert_eq!(fixture.store.jobs().reset_future_times(at(40 * MINUTE)).await.unwrap(), 1);
    for minute in [41, 50] {
        fixture.store.messages().record_alive(at(minute * MINUTE)).await.unwrap();
    }
    let outages = [("outage", 41 * MINUTE, Some(50 * MINUTE))];
    assert_eq!(told(&gaps(&fixture, "C1").await), outages);
}

async fn an_outage_is_what_passed_between_two_beats(fixture: Fixture) {
    const MINUTE: i64 = 60_000;
    for channel in ["C1", "C2"] {
        fixture.group(channel, &["U1"]).await;
    }
    fixture.subscribe("C1", "U1", MINUTE).await;
    for minute in [10, 13, 20, 21, 40] {
        fixture.store.messages().record_alive(at(minute * MINUTE)).await.unwrap();
    }
    // Of two processes the slower one: its record changes nothing.
    fixture.store.messages().record_alive(at(30 * MINUTE)).await.unwrap();
    fixture.store.messages().record_alive(at(41 * MINUTE)).await.unwrap();
    let outages =
        [("outage", 13 * MINUTE, Some(20 * MINUTE)), ("outage", 21 * MINUTE, Some(40 * MINUTE))];
    assert_eq!(told(&gaps(&fixture, "C1").await), outages);
    // A subscriber who came in the middle of it misses only the rest.
    fixture.subscribe("C2", "U1", 15 * MINUTE).await;
    let outages =
        [("outage", 15 * MINUTE, Some(20 * MINUTE)), ("outage", 21 * MINUTE, Some(40 * MINUTE))];
    assert_eq!(told(&gaps(&fixture, "C2").await), outages);
}

async fn a_bus_that_lost_events_is_an_outage(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let record = |identity: &str, last_sequence, until| BusRecord {
        identity: identity.to_owned(),
        last_sequence,
        handled_until: at(until),
    };
    let processes = fixture.store.processes();
    let replace = async |known: Option<&BusRecord>, found: &BusRecord, now| {
        processes.replace_bus_record(known, found, at(now)).await.unwrap()
    };
    let (first, second) = (record("one", 5, 10), record("one", 7, 20));
    assert_eq!(processes.bus_record().await.unwrap(), None);
    assert!(replace(None, &first, 11).await);
    assert!(!replace(None, &second, 12).await, "another process recorded it before");
    assert!(replace(Some(&first), &second, 21).await);
    assert_eq!(processes.bus_record().await.unwrap(), Some(second.clone()));
    assert_eq!(told(&gaps(&fixture, "C1").await), []);
    let (behind, other) = (record("one", 6, 30), record("two", 100, 40));
    assert!(replace(Some(&second), &behind, 31).await);
    assert!(!replace(Some(&second), &other, 32).await, "another process has told it");
    assert!(replace(Some(&behind), &other, 41).await);
    let outages = [("outage", 20, Some(31)), ("outage", 30, Some(41))];
    assert_eq!(told(&gaps(&fixture, "C1").await), outages);
}

async fn what_a_restored_database_lacks_is_one_outage(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let (processes, messages) = (fixture.store.processes(), fixture.store.messages());
    processes.leave_lost_events(at(1)).await.unwrap();
    let mut known = processes.bus_record().await.unwrap();
    assert_eq!(known, None, "no service ran on it");
    // The bus goes on; the restoration took a moment, or hours.
    for (handled, alive, start) in [(20, 25, 30), (45, 40, 10_000_000)] {
        let record = |until| BusRecord {
            identity: "one".to_owned(),
            last_sequence: 5,
            handled_until: at(until),
        };
        let replace = async |known: Option<&BusRecord>, until| {
            let done = processes.replace_bus_record(known, &record(until), at(until)).await;
            assert!(done.unwrap());
        };
        replace(known.as_ref(), handled).await;
        messages.record_alive(at(alive)).await.unwrap();
        // An attempt may be repeated.
        for _ in 0..2 {
            processes.leave_lost_events(at(start)).await.unwrap();
        }
        let restored = processes.bus_record().await.unwrap();
        messages.record_alive(at(start)).await.unwrap();
        replace(restored.as_ref(), start).await;
        known = Some(record(start));
    }
    let outages = [("outage", 20, Some(30)), ("outage", 40, Some(10_000_000))];
    assert_eq!(told(&gaps(&fixture, "C1").await), outages);
}

async fn lost_media_are_counted_by_reason(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 10).await;
    let rows = [
        ("a", "stored", "NULL"),
        ("b", "pending", "NULL"),
        ("c", "failed", "'too_large'"),
        ("d", "failed", "'too_large'"),
        ("e", "failed", "'the database failed: 10.0.0.7'"),
        ("h", "failed", "'the database failed: 10.0.0.8'"),
        ("i", "expired", "'not in the export'"),
        ("f", "expired", "NULL"),
        ("g", "skipped", "NULL"),
    ];
    for (id, status, reason) in rows {
        let row = format!("('C1', '{id}', '{status}', {reason}, 1)");
        let columns = "channel_id, message_id, status, reason, created_at";
        fixture.run(&format!("INSERT INTO media ({columns}) VALUES {row}")).await;
    }
    let coverage = fixture.store.messages().coverage(&"C1".into(), None).await.unwrap();
    let lost: Vec<_> = coverage
        .media
        .iter()
        .map(|lost| (lost.status.name(), lost.reason.map(MediaReason::name), lost.count))
        .collect();
    let expected = [
        ("expired", None, 1),
        ("expired", Some("not_in_export"), 1),
        ("failed", Some("too_large"), 2),
        ("failed", Some("unavailable"), 2),
        ("skipped", None, 1),
    ];
    assert_eq!(lost, expected);
}
