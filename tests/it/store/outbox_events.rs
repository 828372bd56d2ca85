//! Outbox events in order: each once, and only to those whom it concerns.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    Bookmark, FeedReader, OutboxEvent, OutboxPage, OutboxPosition, PresenceEvidence,
    PresenceEvidenceKind, Store,
};
use tokio::sync::watch;

use super::{Fixture, at, edited, item, on_both, said, sized, unsent};
use crate::harness::wait::{DEADLINE, until};

on_both!(
    everything_is_told_once_and_in_order,
    each_join_and_leave_is_told_once,
    what_may_have_been_told_is_not_told_again,
    quota_crossings_and_pauses_are_told,
    a_reader_sees_only_their_own,
    nothing_older_than_a_key_may_read,
    pages_give_everything_once,
    nothing_is_skipped_while_others_write,
    old_ones_are_deleted,
    those_of_a_clock_that_was_ahead_go_with_older_ones,
    a_reader_learns_that_events_were_purged_before_it_read_them,
    a_place_of_a_lost_database_begins_anew,
    a_reader_whose_event_was_lost_gets_what_came_since,
    a_restored_log_gives_no_number_twice,
);

/// Reads as that person after a cursor.
async fn read(
    store: &Store,
    channels: &[&str],
    after: impl Into<Bookmark>,
    limit: u32,
) -> OutboxPage {
    let channels: Vec<_> = channels.iter().map(|id| ChannelId::from(*id)).collect();
    let user = UserId::from("U1");
    let reader = FeedReader { user: &user, channels: &channels, not_before: None };
    store.outbox().outbox_events(reader, after.into(), limit).await.unwrap()
}

/// Returns all events of these channels, once the log is readable to its end: later reads find them
/// as well.
pub(super) async fn all(fixture: &Fixture, channels: &[&str]) -> Vec<OutboxEvent> {
    fixture.log_settled().await;
    let mut seen = Vec::new();
    let mut after = Bookmark::default();
    loop {
        let feed = read(&fixture.store, channels, after, 100).await;
        after = feed.next;
        seen.extend(feed.outbox_events);
        if !feed.more {
            return seen;
        }
    }
}

/// Returns kind, time and subject of each.
pub(super) fn told(outbox_events: &[OutboxEvent]) -> Vec<(&'static str, i64, &str)> {
    outbox_events.iter().map(told_one).collect()
}

fn told_one(outbox_event: &OutboxEvent) -> (&'static str, i64, &str) {
    let subject = outbox_event.subject.as_deref().unwrap_or_default();
    (outbox_event.kind.name(), outbox_event.at.millis(), subject)
}

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

async fn everything_is_told_once_and_in_order(fixture: Fixture) {
    prepared(&fixture).await;
    let store = &fixture.store;
    let joined = item("C1", 10, PresenceEvidenceKind::Joined("U3".into()));
    let left = item("C1", 40, PresenceEvidenceKind::Left("U3".into()));
    let batches = [
        vec![said("C1", "a", 11, "x"), said("C1", "b", 12, "y")],
        vec![edited("C1", "a", 20, "x2"), unsent("C1", "b", 21)],
        // Unseen states have no events: the edit before its message.
        vec![edited("C1", "c", 31, "c2")],
        vec![said("C1", "c", 30, "c1")],
        // Retracted before it was seen.
        vec![unsent("C1", "d", 33)],
        vec![said("C1", "d", 32, "gone")],
    ];
    // Everything comes again, also in one batch with itself.
    for round in 0..2 {
        store.members().record_presence(&[joined.clone(), joined.clone()], at(50)).await.unwrap();
        for batch in &batches {
            let twice: Vec<_> = batch.iter().chain(batch).cloned().collect();
            fixture.keep(&twice, 50 + round).await;
        }
        store.members().record_presence(std::slice::from_ref(&left), at(50)).await.unwrap();
    }
    // Late, but another one.
    let older = item("C1", 9, PresenceEvidenceKind::Joined("U3".into()));
    store.members().record_presence(&[older], at(60)).await.unwrap();
    let marker = said("C1", "end", 70, "end");
    fixture.keep(&[marker], 71).await;
    let expected = [
        ("member.joined", 10, "U3"),
        ("message.received", 11, "a"),
        ("message.received", 12, "b"),
        ("message.edited", 20, "a"),
        ("message.unsent", 21, "b"),
        ("message.received", 30, "c"),
        ("member.left", 40, "U3"),
        ("member.joined", 9, "U3"),
        ("message.received", 70, "end"),
    ];
    let all = all(&fixture, &["C1"]).await;
    assert_eq!(told(&all), expected);
    assert!(all.windows(2).all(|pair| pair[0].place < pair[1].place));
    assert!(all.iter().all(|outbox_event| outbox_event.channel == Some("C1".into())));
}

/// Returns evidence of a person who joins and leaves in turn at these times, odd ones for joins.
fn moves(user: &str, times: &[i64]) -> Vec<PresenceEvidence> {
    let kind = |time: i64| {
        let user = user.into();
        if time % 2 == 1 {
            PresenceEvidenceKind::Joined(user)
        } else {
            PresenceEvidenceKind::Left(user)
        }
    };
    times.iter().map(|time| item("C1", *time, kind(*time))).collect()
}

async fn each_join_and_leave_is_told_once(fixture: Fixture) {
    prepared(&fixture).await;
    // In one batch and in several, in their order and in others; each part comes again.
    let orders = [
        ("U3", [11, 12, 13, 14], 4),
        ("U4", [14, 13, 12, 11], 4),
        ("U5", [11, 12, 13, 14], 1),
        ("U6", [14, 13, 12, 11], 1),
        ("U7", [13, 12, 14, 11], 2),
        ("U8", [12, 11, 14, 13], 3),
    ];
    for (user, times, size) in orders {
        let moves = moves(user, &times);
        for part in moves.chunks(size).chain(moves.chunks(3)) {
            for now in [50, 51] {
                fixture.store.members().record_presence(part, at(now)).await.unwrap();
            }
        }
    }
    let all = all(&fixture, &["C1"]).await;
    for (user, _, size) in orders {
        let mut events: Vec<_> = told(&all).into_iter().filter(|(.., who)| *who == user).collect();
        assert!(size < 4 || events.is_sorted_by_key(|(_, at, _)| *at), "{events:?}");
        events.sort_by_key(|(_, at, _)| *at);
        let expected = [
            ("member.joined", 11, user),
            ("member.left", 12, user),
            ("member.joined", 13, user),
            ("member.left", 14, user),
        ];
        assert_eq!(events, expected);
        let member = fixture.store.members().member(&"C1".into(), &user.into()).await.unwrap();
        let member = member.unwrap();
        assert_eq!((member.joined_at, member.left_at), (at(13), Some(at(14))), "{user}");
    }
}

async fn what_may_have_been_told_is_not_told_again(fixture: Fixture) {
    const HOUR: i64 = 3_600_000;
    prepared(&fixture).await;
    let record = async |time: i64| {
        let moves = moves("U3", &[time]);
        fixture.store.members().record_presence(&moves, at(9 * HOUR)).await.unwrap();
    };
    let told = async || {
        let told = "SELECT COUNT(*) FROM outbox_events WHERE subject_id = 'U3'";
        fixture.value(told).await
    };
    record(HOUR + 1).await;
    record(5 * HOUR + 1).await;
    assert_eq!(told().await, "2");
    assert_eq!(fixture.store.outbox().purge_outbox_events(at(10 * HOUR)).await.unwrap(), 2);
    record(HOUR + 1).await;
    record(2 * HOUR + 1).await;
    assert_eq!(told().await, "0", "the log says nothing of that time any more");
    // It does of the time since its first event, clocks apart.
    fixture.keep(&[said("C1", "a", 10, "x")], 3 * HOUR).await;
    record(3 * HOUR + 1).await;
    record(4 * HOUR + 1).await;
    record(4 * HOUR + 1).await;
    assert_eq!(told().await, "1");
}

async fn a_place_of_a_lost_database_begins_anew(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 11, "x"), said("C1", "b", 12, "y")], 20).await;
    let events = all(&fixture, &["C1"]).await;
    let end = events[1].place;
    let known = read(&fixture.store, &["C1"], end, 10).await;
    assert_eq!((known.outbox_events.len(), known.next.at), (0, end), "nothing comes twice");
    let lost = OutboxPosition(end.0 + 1_000_000, end.1 + 1_000_000);
    let anew = read(&fixture.store, &["C1"], lost, 10).await;
    assert_eq!((told(&anew.outbox_events), anew.next.at), (told(&events), end));
}

async fn a_reader_whose_event_was_lost_gets_what_came_since(fixture: Fixture) {
    prepared(&fixture).await;
    let keep = async |id: &str, now: i64| fixture.keep(&[said("C1", id, 10, "x")], now).await;
    keep("a", 1_000_000).await;
    keep("b", 2_000_000).await;
    keep("lost", 3_000_000).await;
    fixture.log_settled().await;
    let end = read(&fixture.store, &["C1"], Bookmark::default(), 100).await.next;
    fixture.run("DELETE FROM outbox_events WHERE subject_id = 'lost'").await;
    keep("c", 3_000_001).await;
    fixture.log_settled().await;
    let subjects = async |after: Bookmark| -> Vec<String> {
        let page = read(&fixture.store, &["C1"], after, 100).await;
        page.outbox_events.into_iter().filter_map(|event| event.subject).collect()
    };
    assert_eq!(subjects(end).await, ["c"]);
    // Another event is where the lost one was.
    let next = read(&fixture.store, &["C1"], end, 100).await.next;
    assert_eq!(subjects(next).await, [""; 0]);
    let other = Bookmark { logged_at: Some(at(2_100_000)), ..next };
    assert_eq!(subjects(other).await, ["b", "c"]);
    // What was purged was not lost.
    fixture.store.outbox().purge_outbox_events(at(4_000_000)).await.unwrap();
    keep("d", 4_000_001).await;
    fixture.log_settled().await;
    assert_eq!(subjects(next).await, ["d"]);
}

async fn a_restored_log_gives_no_number_twice(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 11, "x")], 20).await;
    let before = all(&fixture, &["C1"]).await[0].place;
    let epoch = fixture.store.outbox().log_state().await.unwrap().epoch;
    fixture.store.outbox().leave_lost_positions(at(1_000_000)).await.unwrap();
    let anew = fixture.store.outbox().log_state().await.unwrap().epoch;
    assert_ne!(anew, epoch, "replicas of the search index may hold what was lost");
    fixture.keep(&[said("C1", "b", 12, "y")], 30).await;
    let events = all(&fixture, &["C1"]).await;
    assert_eq!(told(&events), [("message.received", 11, "a"), ("message.received", 12, "b")]);
    // The server's own log has numbers of transactions, which it gives once.
    let least = if events[1].place.0 == 0 { OutboxPosition(0, 1_000_000) } else { before };
    assert!(events[1].place > least, "{events:?}");
    // Never back.
    fixture.store.outbox().leave_lost_positions(at(5)).await.unwrap();
    fixture.keep(&[said("C1", "c", 13, "z")], 40).await;
    let events = all(&fixture, &["C1"]).await;
    assert!(events[2].place > events[1].place, "{events:?}");
}

async fn quota_crossings_and_pauses_are_told(fixture: Fixture) {
    prepared(&fixture).await;
    for (now, percent) in [(10, 80), (20, 90), (30, 100)] {
        let short = Plan::Free.quota() / 100 * percent - fixture.used("U1").await - 10;
        fixture.preload("C1", "U1", short).await;
        fixture.keep(&[sized("C1", &format!("to {percent}"), now, 50)], now).await;
    }
    fixture.keep(&[said("C1", "lost", 70, "x")], 71).await;
    fixture.keep(&[said("C1", "lost too", 72, "x")], 73).await;
    assert!(fixture.store.accounts().set_plan(&"U1".into(), Plan::Pro, at(80)).await.unwrap());
    let all = all(&fixture, &["C1"]).await;
    let mut told = told(&all);
    // Within one transaction the order is undefined.
    told.sort_by_key(|(kind, at, _)| (*at, *kind));
    let expected = [
        ("message.received", 10, "to 80"),
        ("usage.warning", 10, "U1"),
        ("message.received", 20, "to 90"),
        ("usage.critical", 20, "U1"),
        ("message.received", 30, "to 100"),
        ("usage.exceeded", 30, "U1"),
        ("backup.paused", 70, ""),
        ("message.received", 70, "lost"),
        ("message.received", 72, "lost too"),
        ("backup.resumed", 80, ""),
    ];
    assert_eq!(told, expected);
    for outbox_event in &all {
        let of_user = outbox_event.kind.name().starts_with("usage");
        assert_eq!(outbox_event.channel.is_none(), of_user, "{outbox_event:?}");
        assert!(!of_user || outbox_event.subject.as_deref() == Some("U1"));
    }
}

async fn a_reader_sees_only_their_own(fixture: Fixture) {
    for channel in ["C1", "C2", "C3"] {
        fixture.group(channel, &["U1", "U2"]).await;
        fixture.subscribe(channel, "U2", 5).await;
        fixture.keep(&[said(channel, &format!("in {channel}"), 10, "x")], 11).await;
    }
    // U2 fills up: that event is for U2 alone.
    fixture.preload("C1", "U2", Plan::Free.quota()).await;
    assert!(fixture.store.accounts().set_plan(&"U2".into(), Plan::Standard, at(20)).await.unwrap());
    assert!(fixture.store.accounts().set_plan(&"U2".into(), Plan::Free, at(21)).await.unwrap());
    fixture.subscribe("C3", "U1", 25).await;
    fixture.keep(&[said("C3", "end", 30, "x")], 31).await;
    let store = &fixture.store;
    let mine = all(&fixture, &["C1", "C3"]).await;
    let subjects: Vec<_> = mine.iter().map(|h| h.subject.clone().unwrap_or_default()).collect();
    assert_eq!(subjects, ["in C1", "in C3", "end"]);
    assert!(all(&fixture, &[]).await.is_empty());
    let (user, channels) = (UserId::from("U2"), []);
    let reader = FeedReader { user: &user, channels: &channels, not_before: None };
    let feed = store.outbox().outbox_events(reader, Bookmark::default(), 100).await.unwrap();
    let kinds: Vec<_> = feed.outbox_events.iter().map(|h| h.kind.name()).collect();
    assert_eq!(kinds, ["usage.exceeded"]);
}

async fn nothing_older_than_a_key_may_read(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "old", 99, "x"), said("C1", "new", 100, "y")], 101).await;
    assert_eq!(all(&fixture, &["C1"]).await.len(), 2);
    let (user, channels) = (UserId::from("U1"), ["C1".into()]);
    let not_before: Option<Timestamp> = Some(at(100));
    let reader = FeedReader { user: &user, channels: &channels, not_before };
    let feed =
        fixture.store.outbox().outbox_events(reader, Bookmark::default(), 100).await.unwrap();
    assert_eq!(told(&feed.outbox_events), [("message.received", 100, "new")]);
}

async fn pages_give_everything_once(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    for n in 0..10 {
        let batch: Vec<_> = ["C1", "C2", "C1"]
            .iter()
            .enumerate()
            .map(|(k, channel)| said(channel, &format!("{n}-{k}"), 10 + n, "x"))
            .collect();
        fixture.keep(&batch, 20 + n).await;
    }
    let store = &fixture.store;
    let whole = all(&fixture, &["C1", "C2"]).await;
    for limit in [1, 3, 7, 10, 20, 100] {
        let (mut paged, mut after) = (Vec::new(), Bookmark::default());
        loop {
            let feed = read(store, &["C1"], after, limit).await;
            assert!(feed.outbox_events.len() <= limit as usize);
            assert!(feed.next.at >= after.at);
            paged.extend(feed.outbox_events);
            after = feed.next;
            if !feed.more {
                break;
            }
        }
        let expected: Vec<_> =
            whole.iter().filter(|h| h.channel == Some("C1".into())).cloned().collect();
        assert_eq!(paged, expected, "limit {limit}");
        let end = read(store, &["C1"], after, limit).await;
        assert!(end.outbox_events.is_empty() && !end.more && end.next == after);
    }
}

/// Four writers commit in another order than they begin, while a reader follows.
async fn nothing_is_skipped_while_others_write(fixture: Fixture) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 40;
    let channels: Vec<_> = (0..WRITERS).map(|writer| format!("C{writer}")).collect();
    for channel in &channels {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    // Half of it is written when some has been read, so that both go on at once.
    let (reading, written) = watch::channel(false);
    let writers = channels.iter().cloned().enumerate().map(|(writer, channel)| {
        let (store, mut is_read) = (fixture.store.clone(), written.clone());
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                if round == ROUNDS / 2 {
                    is_read.wait_for(|is_read| *is_read).await.unwrap();
                }
                // Batches of different sizes take differently long.
                let size = 1 + (round * 7 + writer * 13) % 60;
                let batch: Vec<_> =
                    (0..size).map(|n| said(&channel, &format!("{round}-{n}"), 10, "x")).collect();
                store.messages().ingest(&batch, at(100)).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let names: Vec<_> = channels.iter().map(String::as_str).collect();
    let expected: usize = (0..WRITERS)
        .flat_map(|writer| (0..ROUNDS).map(move |round| 1 + (round * 7 + writer * 13) % 60))
        .sum();
    let (mut seen, mut after) = (Vec::new(), Bookmark::default());
    until("everything is read", DEADLINE, async || {
        let feed = read(&fixture.store, &names, after, 25).await;
        assert!(feed.outbox_events.iter().all(|h| h.place > after.at), "nothing goes back");
        after = feed.next;
        seen.extend(feed.outbox_events);
        reading.send_replace(!seen.is_empty());
        seen.len() >= expected
    })
    .await;
    for writer in writers {
        writer.await.unwrap();
    }
    let places: BTreeSet<_> = seen.iter().map(|h| h.place).collect();
    let subjects: BTreeSet<_> = seen.iter().map(|h| (&h.channel, &h.subject)).collect();
    assert_eq!((seen.len(), places.len(), subjects.len()), (expected, expected, expected));
}

async fn old_ones_are_deleted(fixture: Fixture) {
    prepared(&fixture).await;
    for now in [100, 200, 300] {
        fixture.keep(&[said("C1", &format!("at {now}"), 10, "x")], now).await;
    }
    let store = &fixture.store;
    assert_eq!(all(&fixture, &["C1"]).await.len(), 3);
    assert_eq!(store.outbox().purge_outbox_events(at(100)).await.unwrap(), 0);
    assert_eq!(store.outbox().purge_outbox_events(at(201)).await.unwrap(), 2);
    assert_eq!(store.outbox().purge_outbox_events(at(201)).await.unwrap(), 0);
    let left = all(&fixture, &["C1"]).await;
    assert_eq!(told(&left), [("message.received", 10, "at 300")]);
}

async fn those_of_a_clock_that_was_ahead_go_with_older_ones(fixture: Fixture) {
    prepared(&fixture).await;
    for now in [5_000, 5_001, 100, 300, 5_002] {
        fixture.keep(&[said("C1", &format!("at {now}"), 10, "x")], now).await;
    }
    let outbox = fixture.store.outbox();
    let purge_future =
        async |before| outbox.purge_future_events(at(before), at(400)).await.unwrap();
    assert_eq!(purge_future(100).await, 0, "nothing behind them is old");
    assert_eq!(purge_future(201).await, 2);
    assert_eq!(outbox.purge_outbox_events(at(201)).await.unwrap(), 1);
    assert_eq!(purge_future(201).await, 0);
    let left = all(&fixture, &["C1"]).await;
    let received = |id| ("message.received", 10, id);
    assert_eq!(told(&left), [received("at 300"), received("at 5002")]);
}

async fn a_reader_learns_that_events_were_purged_before_it_read_them(fixture: Fixture) {
    prepared(&fixture).await;
    for now in [100, 200, 300] {
        fixture.keep(&[said("C1", &format!("at {now}"), 10, "x")], now).await;
    }
    fixture.log_settled().await;
    let (store, outbox) = (&fixture.store, fixture.store.outbox());
    let first = read(store, &["C1"], Bookmark::default(), 1).await;
    let second = read(store, &["C1"], first.next, 1).await;
    assert!(!first.missed && !second.missed);
    assert_eq!(outbox.purge_outbox_events(at(201)).await.unwrap(), 2);
    assert!(read(store, &["C1"], first.next, 10).await.missed);
    // The last event that was purged is the last one that this reader has read.
    let third = read(store, &["C1"], second.next, 10).await;
    assert!(!third.missed);
    assert_eq!(told(&third.outbox_events), [("message.received", 10, "at 300")]);
    // Nothing is left from which a reader whose event was lost could go on.
    let lost = Bookmark { logged_at: Some(at(250)), ..third.next };
    assert!(read(store, &["C1"], lost, 10).await.missed);
    // Also when the log has nothing more.
    assert_eq!(outbox.purge_outbox_events(at(301)).await.unwrap(), 1);
    assert!(read(store, &["C1"], second.next, 10).await.missed);
    let end = read(store, &["C1"], third.next, 10).await;
    assert!(end.outbox_events.is_empty() && !end.more && !end.missed);
}
