//! Events of unstored messages, the bot's messages, and the order of a reply after its question,
//! whichever stage stores it first.

use std::collections::HashMap;

use chatkeep_core::id::EventId;
use chatkeep_core::plan::Plan;
use chatkeep_store::{
    Bookmark, ChannelChange, Exchange, IngestOutcome, OutboxEvent, PresenceEvidenceKind,
    UnstoredMessage, UnstoredReason,
};
use futures_util::future::join_all;

use super::outbox_events::{all, told};
use super::{Fixture, answered, at, edited, erase_person, item, on_both, said, unsent};

on_both!(
    what_the_bot_says_is_not_received,
    bots_are_known_by_what_they_said,
    what_is_not_kept_is_told_once_without_content,
    what_is_unsent_before_it_is_told_is_never_told,
    what_was_unsent_is_not_told_again_when_the_log_has_forgotten_it,
    an_erasure_is_told_of_what_was_not_kept,
    an_answer_is_told_after_its_question,
    a_welcome_is_told_after_who_joined,
    answers_follow_their_questions_in_the_log_of_many_workers,
);

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
}

/// Records the reply to an event.
async fn finish(fixture: &Fixture, event: &str, exchange: Exchange<'_>) -> Vec<IngestOutcome> {
    fixture
        .store
        .assistant()
        .finish_reply(&EventId::from(event), Ok(()), exchange, at(20))
        .await
        .unwrap()
}

fn unstored(outbox_event: &OutboxEvent) -> Option<(UnstoredReason, &str)> {
    let UnstoredMessage { reason, sender, .. } = outbox_event.unstored.as_ref()?;
    Some((*reason, sender.as_ref()?.as_str()))
}

async fn what_the_bot_says_is_not_received(fixture: Fixture) {
    prepared(&fixture).await;
    // By the fast path, and by the careful one: an edit that came before is known already.
    fixture.keep(&[answered("C1", "a", 10, "x"), said("C1", "b", 11, "y")], 12).await;
    fixture.keep(&[edited("C1", "c", 14, "z2")], 15).await;
    fixture.keep(&[answered("C1", "c", 13, "z"), said("C1", "d", 16, "w")], 17).await;
    let all = all(&fixture, &["C1"]).await;
    let expected = [
        ("message.sent", 10, "a"),
        ("message.received", 11, "b"),
        ("message.sent", 13, "c"),
        ("message.received", 16, "d"),
    ];
    assert_eq!(told(&all), expected);
    let changes =
        fixture.store.outbox().logged_changes(Bookmark::default(), 100).await.unwrap().unwrap();
    assert!(changes.messages.contains(&("C1".into(), "a".into())), "it is found by searches");
}

async fn bots_are_known_by_what_they_said(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    let bot = "Ubot".into();
    fixture.store.accounts().add_user(&bot, Some("Chatkeep"), at(6)).await.unwrap();
    fixture.keep(&[answered("C1", "a", 10, "x"), said("C1", "b", 11, "y")], 12).await;
    let bots = async |channels: &[&str]| {
        let channels: Vec<_> = channels.iter().map(|channel| (*channel).into()).collect();
        fixture.store.members().bots_in(&channels).await.unwrap()
    };
    assert_eq!(bots(&["C1", "C2"]).await, [(bot, Some("Chatkeep".to_owned()))]);
    assert_eq!(bots(&["C2"]).await, []);
    assert_eq!(bots(&[]).await, []);
}

async fn what_is_not_kept_is_told_once_without_content(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let batch = [said("C1", "a", 10, "secret"), answered("C1", "b", 11, "secret")];
    for _ in 0..2 {
        let twice: Vec<_> = batch.iter().chain(&batch).cloned().collect();
        let kept = fixture.keep(&twice, 12).await;
        assert!(kept.iter().all(|kept| *kept == IngestOutcome::NotBackedUp), "{kept:?}");
    }
    // Only messages have events, and that one was unsent is told to those who know of it.
    fixture.keep(&[edited("C1", "a", 13, "secret"), unsent("C1", "a", 14)], 15).await;
    fixture.keep(&[unsent("C1", "a", 14), unsent("C1", "unheard of", 14)], 16).await;
    fixture.keep(&[said("C1", "a", 10, "secret")], 17).await;
    fixture.subscribe("C1", "U1", 20).await;
    fixture.preload("C1", "U1", Plan::Free.quota()).await;
    for _ in 0..2 {
        fixture.keep(&[said("C1", "c", 21, "secret")], 22).await;
    }
    let all = all(&fixture, &["C1"]).await;
    let mut seen = told(&all);
    seen.sort_by_key(|(kind, at, _)| (*at, *kind));
    let expected = [
        ("message.received", 10, "a"),
        ("message.sent", 11, "b"),
        ("message.unsent", 14, "a"),
        ("backup.paused", 21, ""),
        ("message.received", 21, "c"),
    ];
    assert_eq!(seen, expected);
    let reasons: Vec<_> = all.iter().filter_map(unstored).collect();
    let expected = [(UnstoredReason::NotSubscribed, "Ubot"), (UnstoredReason::Quota, "U1")];
    assert_eq!(reasons, expected, "of what was unsent nobody is the sender any more");
    let unsent = all.iter().find(|event| event.kind.name() == "message.unsent").unwrap();
    assert_eq!(unsent.unstored.as_ref().unwrap().sent_at, Some(at(10)));
    let secret = "SELECT COUNT(*) FROM outbox_events WHERE unstored LIKE '%secret%'";
    assert_eq!(fixture.value(secret).await, "0");
    let stored = "SELECT COUNT(*) FROM messages WHERE content IS NOT NULL OR sent_at IS NOT NULL";
    assert_eq!(fixture.value(&format!("{stored} AND NOT skipped")).await, "0", "nothing to find");
}

async fn what_is_unsent_before_it_is_told_is_never_told(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    // The unsend comes first, in one batch with its message, and after the message in one batch.
    fixture.keep(&[unsent("C1", "a", 14)], 15).await;
    fixture.keep(&[said("C1", "a", 10, "secret")], 16).await;
    fixture.keep(&[unsent("C1", "b", 14), said("C1", "b", 10, "secret")], 17).await;
    fixture.keep(&[said("C1", "c", 10, "secret"), unsent("C1", "c", 14)], 18).await;
    // The same where the quota is used up.
    fixture.subscribe("C1", "U1", 20).await;
    fixture.preload("C1", "U1", Plan::Free.quota()).await;
    fixture.keep(&[unsent("C1", "d", 24), said("C1", "d", 21, "secret")], 25).await;
    let again: Vec<_> = ["a", "b", "c", "d"].map(|id| said("C1", id, 10, "secret")).into();
    fixture.keep(&again, 26).await;
    let seen = all(&fixture, &["C1"]).await;
    assert!(told(&seen).iter().all(|(kind, ..)| *kind == "backup.paused"), "{seen:?}");
    // Of one that was told, the unsend is told as well, also with the message once more.
    fixture.keep(&[said("C1", "e", 27, "secret")], 28).await;
    fixture.keep(&[said("C1", "e", 27, "secret"), unsent("C1", "e", 29)], 30).await;
    let seen = all(&fixture, &["C1"]).await;
    assert_eq!(told(&seen).last(), Some(&("message.unsent", 29, "e")));
    let named = "SELECT COUNT(*) FROM outbox_events WHERE unstored LIKE '%U1%'";
    assert_eq!(fixture.value(named).await, "0", "nobody is named any more");
}

async fn what_was_unsent_is_not_told_again_when_the_log_has_forgotten_it(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    let batch = [said("C1", "a", 10, "secret"), said("C1", "b", 11, "secret")];
    fixture.keep(&batch, 12).await;
    fixture.keep(&[unsent("C1", "a", 14)], 15).await;
    while fixture.store.outbox().purge_outbox_events(at(20)).await.unwrap() > 0 {}
    fixture.keep(&batch, 30).await;
    // Of the other nobody knows any more that it was told.
    let seen = all(&fixture, &["C1"]).await;
    assert_eq!(told(&seen), [("message.received", 11, "b")]);
}

async fn an_erasure_is_told_of_what_was_not_kept(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.keep(&[said("C1", "a", 10, "x"), answered("C1", "b", 11, "y")], 12).await;
    fixture.keep(&[said("C1", "c", 13, "x"), said("C1", "later", 30, "x")], 31).await;
    fixture.keep(&[unsent("C1", "c", 14)], 32).await;
    for now in [40, 41] {
        erase_person(&fixture.store, &"C1".into(), &"U1".into(), at(20), at(now)).await;
    }
    let all = all(&fixture, &["C1"]).await;
    let unsent: Vec<_> =
        told(&all).into_iter().filter(|(kind, ..)| *kind == "message.unsent").collect();
    assert_eq!(unsent, [("message.unsent", 14, "c"), ("message.unsent", 40, "a")]);
    let named: Vec<_> = all.iter().filter_map(unstored).map(|(_, sender)| sender).collect();
    assert_eq!(named, ["Ubot", "U1"], "of others, and what was sent later");
}

async fn an_answer_is_told_after_its_question(fixture: Fixture) {
    prepared(&fixture).await;
    let question = |id: &str| [said("C1", id, 10, "hours?")];
    let answer = |id: &str| [answered("C1", id, 11, "9-18")];
    let exchange = async |q: &[ChannelChange], a: &[ChannelChange]| {
        let exchange = Exchange { question: q, joined: &[], own: a };
        finish(&fixture, "E1", exchange).await
    };
    // The reply is recorded first; then the question is stored.
    assert_eq!(exchange(&question("q1"), &answer("a1")).await, [IngestOutcome::Changed]);
    assert_eq!(fixture.keep(&question("q1"), 21).await, [IngestOutcome::Known]);
    // The other way round.
    fixture.keep(&question("q2"), 22).await;
    assert_eq!(exchange(&question("q2"), &answer("a2")).await, [IngestOutcome::Known]);
    // An edit of the question came before it.
    fixture.keep(&[edited("C1", "q3", 12, "hours??")], 23).await;
    exchange(&question("q3"), &answer("a3")).await;
    let all = all(&fixture, &["C1"]).await;
    let subjects: Vec<_> = told(&all).into_iter().map(|(kind, _, id)| (kind, id)).collect();
    let pairs = ["1", "2", "3"].iter().flat_map(|n| [("received", "q", n), ("sent", "a", n)]);
    let expected: Vec<_> =
        pairs.map(|(kind, id, n)| (format!("message.{kind}"), format!("{id}{n}"))).collect();
    let expected: Vec<_> = expected.iter().map(|(kind, id)| (kind.as_str(), id.as_str())).collect();
    assert_eq!(subjects, expected);
    assert_eq!(fixture.counters("C1").await.1, 6, "each is counted once");
}

async fn a_welcome_is_told_after_who_joined(fixture: Fixture) {
    prepared(&fixture).await;
    let joined = [item("C1", 10, PresenceEvidenceKind::Joined("U3".into()))];
    let own = [answered("C1", "w", 11, "welcome")];
    finish(&fixture, "E1", Exchange { question: &[], joined: &joined, own: &own }).await;
    fixture.store.members().record_presence(&joined, at(21)).await.unwrap();
    let all = all(&fixture, &["C1"]).await;
    assert_eq!(told(&all), [("member.joined", 10, "U3"), ("message.sent", 11, "w")]);
}

/// Backup stores questions in batches over all channels while others record the replies: every
/// reply stands behind its question, and nothing is there twice.
async fn answers_follow_their_questions_in_the_log_of_many_workers(fixture: Fixture) {
    const CHANNELS: usize = 4;
    const ROUNDS: usize = 30;
    let channels: Vec<_> = (0..CHANNELS).map(|n| format!("C{n}")).collect();
    for channel in &channels {
        fixture.group(channel, &["U1"]).await;
        fixture.subscribe(channel, "U1", 5).await;
    }
    for round in 0..ROUNDS {
        let question = |channel: &str| said(channel, &format!("q{round}"), 10, "hours?");
        let all: Vec<_> = channels.iter().map(|channel| question(channel)).collect();
        let backup = async {
            fixture.keep(&all, 20).await;
        };
        let answers = channels.iter().rev().map(|channel| {
            let (fixture, question) = (&fixture, [question(channel)]);
            let own = [answered(channel, &format!("a{round}"), 11, "9-18")];
            async move {
                let exchange = Exchange { question: &question, joined: &[], own: &own };
                finish(fixture, &format!("E{round}{channel}"), exchange).await;
            }
        });
        tokio::join!(backup, join_all(answers));
    }
    let names: Vec<_> = channels.iter().map(String::as_str).collect();
    let count = CHANNELS * ROUNDS * 2;
    let mut places = HashMap::new();
    for outbox_event in all(&fixture, &names).await {
        let key = (outbox_event.channel.unwrap(), outbox_event.subject.unwrap());
        assert!(places.insert(key, outbox_event.place).is_none(), "told twice");
    }
    assert_eq!(places.len(), count);
    for channel in &channels {
        for round in 0..ROUNDS {
            let place = |id: &str| places[&(channel.as_str().into(), format!("{id}{round}"))];
            assert!(place("q") < place("a"), "{channel} {round}");
        }
    }
}
