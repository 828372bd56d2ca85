//! Replies: claimed once, counted once, recorded with their outcome.

use chatkeep_core::assistant::RuleDraft;
use chatkeep_core::random::random_name;
use chatkeep_core::reply::ReplyFailureReason::{
    self, ExpiredToken, Interrupted, PlatformError, Quota, Unavailable,
};
use chatkeep_store::{
    Claim, Exchange, ReplyFailure, ReplyIntent, ReplyOrigin, ReplySource, ReplyStatus, RuleChange,
};

use super::{Fixture, at, edited, on_both, said};

on_both!(
    only_one_of_many_may_answer,
    a_claim_that_was_committed_unseen_is_granted_again,
    the_last_hit_is_of_the_event_that_was_sent_last,
    the_cooldown_suppresses_and_counts,
    a_corrected_answer_does_not_wait,
    the_cooldown_of_the_link_is_the_channels,
    what_was_never_said_begins_no_cooldown,
    the_outcome_is_recorded_once,
    replies_that_were_not_given_are_counted_by_reason,
    an_abandoned_reply_is_recorded,
    an_outcome_that_is_recorded_late_counts,
    replies_are_found_by_message,
    the_bots_messages_keep_their_origin,
    the_message_that_was_answered_is_found,
);

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let draft = RuleDraft {
        keywords: vec!["hours".to_owned()],
        answer: "9-18".to_owned(),
        ..RuleDraft::default()
    };
    let id = "qa_1_a".into();
    let add = RuleChange::Add(&id, &draft);
    fixture
        .store
        .assistant()
        .change_rule(&"C1".into(), add, None, &"U1".into(), at(6))
        .await
        .unwrap();
}

async fn claim(fixture: &Fixture, event: &str, time: i64, cooldown_ms: i64) -> Claim {
    claim_with(fixture, event, (time, cooldown_ms), &random_name()).await
}

/// Claims the reply to an event with the token of the claim.
async fn claim_with(
    fixture: &Fixture,
    event: &str,
    (time, cooldown_ms): (i64, i64),
    token: &str,
) -> Claim {
    let message = format!("to-{event}").into();
    let (event, channel, rule) = (event.into(), "C1".into(), "qa_1_a".into());
    let intent = ReplyIntent {
        event: &event,
        channel: &channel,
        source: ReplySource::Qa,
        rule: Some(&rule),
        message: Some(&message),
        cooldown_ms,
        at: at(time),
    };
    fixture.store.assistant().claim_reply_with(&intent, token, at(time)).await.unwrap()
}

async fn claim_link(fixture: &Fixture, event: &str, channel: &str, time: i64) -> Claim {
    let (event, channel) = (event.into(), channel.into());
    let intent = ReplyIntent {
        event: &event,
        channel: &channel,
        source: ReplySource::Link,
        rule: None,
        message: None,
        cooldown_ms: 5_000,
        at: at(time),
    };
    fixture.store.assistant().claim_reply(&intent, at(time)).await.unwrap()
}

/// Records that the reply to an event of that time was not given.
async fn fail(fixture: &Fixture, event: &str, reason: ReplyFailureReason, time: i64) {
    let failed = Err(ReplyFailure { reason, at: at(time) });
    let (event, none, now) = (event.into(), Exchange::default(), at(time + 1));
    fixture.store.assistant().finish_reply(&event, failed, none, now).await.unwrap();
}

async fn replies_that_were_not_given_are_counted_by_reason(fixture: Fixture) {
    prepared(&fixture).await;
    let failures = [(9, Quota), (10, ExpiredToken), (11, Quota), (12, Quota), (13, PlatformError)];
    for (time, reason) in failures {
        let event = format!("E{time}");
        assert_eq!(claim(&fixture, &event, time, 0).await, Claim::Granted);
        fail(&fixture, &event, reason, time).await;
    }
    assert_eq!(claim(&fixture, "E14", 14, 0).await, Claim::Granted);
    let assistant = fixture.store.assistant();
    let sent = assistant.finish_reply(&"E14".into(), Ok(()), Exchange::default(), at(15)).await;
    sent.unwrap();
    let counted = assistant.replies_not_given(&"C1".into(), at(10)).await.unwrap();
    assert_eq!(counted, [(Quota, 2), (ExpiredToken, 1), (PlatformError, 1)]);
    assert_eq!(assistant.replies_not_given(&"C2".into(), at(0)).await.unwrap(), []);
}

async fn hits(fixture: &Fixture) -> (i64, i64) {
    let rules = fixture.store.assistant().rules(&"C1".into()).await.unwrap().value;
    (rules.items[0].hit_count, rules.items[0].suppressed_count)
}

async fn only_one_of_many_may_answer(fixture: Fixture) {
    prepared(&fixture).await;
    let claims =
        futures_util::future::join_all((0..16).map(|_| claim(&fixture, "E1", 10, 0))).await;
    let granted = claims.iter().filter(|claim| **claim == Claim::Granted).count();
    assert_eq!(granted, 1, "{claims:?}");
    assert_eq!(hits(&fixture).await, (1, 0));
}

async fn a_claim_that_was_committed_unseen_is_granted_again(fixture: Fixture) {
    prepared(&fixture).await;
    assert_eq!(claim_with(&fixture, "E1", (10_000, 5_000), "one").await, Claim::Granted);
    let sending = Claim::Taken(ReplyStatus::Sending);
    assert_eq!(claim_with(&fixture, "E1", (10_000, 5_000), "other").await, sending);
    assert_eq!(claim(&fixture, "E1", 10_000, 0).await, sending);
    // Its connection broke while it was committed; the rule's cooldown is its own.
    assert_eq!(claim_with(&fixture, "E1", (10_000, 5_000), "one").await, Claim::Granted);
    assert_eq!(hits(&fixture).await, (1, 0), "counted once");
    assert_eq!(claim_with(&fixture, "E2", (10_000, 5_000), "two").await, Claim::Suppressed);
    let suppressed = Claim::Taken(ReplyStatus::Suppressed);
    assert_eq!(claim_with(&fixture, "E2", (10_000, 5_000), "two").await, suppressed);
    fail(&fixture, "E1", PlatformError, 10_000).await;
    let failed = Claim::Taken(ReplyStatus::Failed);
    assert_eq!(claim_with(&fixture, "E1", (10_000, 5_000), "one").await, failed, "it is over");
    assert_eq!(hits(&fixture).await, (2, 1));
}

async fn the_last_hit_is_of_the_event_that_was_sent_last(fixture: Fixture) {
    prepared(&fixture).await;
    for (event, time) in [("E1", 20_000), ("E2", 10_000)] {
        assert_eq!(claim(&fixture, event, time, 0).await, Claim::Granted, "{event}");
    }
    assert_eq!(claim(&fixture, "E3", 24_999, 5_000).await, Claim::Suppressed);
    assert_eq!(claim(&fixture, "E4", 25_000, 5_000).await, Claim::Granted);
    assert_eq!(hits(&fixture).await, (4, 1));
}

async fn a_corrected_answer_does_not_wait(fixture: Fixture) {
    prepared(&fixture).await;
    let set = async |answer: &str, keyword: &str, time: i64| {
        let draft = RuleDraft {
            keywords: vec![keyword.to_owned()],
            answer: answer.to_owned(),
            ..RuleDraft::default()
        };
        let id = "qa_1_a".into();
        let set = RuleChange::Replace(&id, &draft);
        let assistant = fixture.store.assistant();
        assistant.change_rule(&"C1".into(), set, None, &"U1".into(), at(time)).await.unwrap();
    };
    assert_eq!(claim(&fixture, "E1", 10_000, 5_000).await, Claim::Granted);
    set("9-18", "opening hours", 10_500).await;
    assert_eq!(claim(&fixture, "E2", 11_000, 5_000).await, Claim::Suppressed, "as it was said");
    set("10-19", "opening hours", 11_500).await;
    assert_eq!(claim(&fixture, "E3", 12_000, 5_000).await, Claim::Granted);
    assert_eq!(claim(&fixture, "E4", 13_000, 5_000).await, Claim::Suppressed);
}

async fn the_cooldown_suppresses_and_counts(fixture: Fixture) {
    prepared(&fixture).await;
    assert_eq!(claim(&fixture, "E1", 10_000, 5_000).await, Claim::Granted);
    assert_eq!(claim(&fixture, "E2", 14_999, 5_000).await, Claim::Suppressed);
    let again = claim(&fixture, "E2", 14_999, 5_000).await;
    assert_eq!(again, Claim::Taken(ReplyStatus::Suppressed));
    assert_eq!(claim(&fixture, "E3", 15_000, 5_000).await, Claim::Granted);
    assert_eq!(hits(&fixture).await, (3, 1));
    // Sent before the last one, and handled after it.
    assert_eq!(claim(&fixture, "E4", 10_001, 5_000).await, Claim::Suppressed);
    assert_eq!(claim(&fixture, "E5", 10_000, 5_000).await, Claim::Granted);
}

async fn the_cooldown_of_the_link_is_the_channels(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    assert_eq!(claim(&fixture, "E0", 9_999, 5_000).await, Claim::Granted);
    let events: Vec<_> = (0..16).map(|number| format!("L{number}")).collect();
    let at_once = events.iter().map(|event| claim_link(&fixture, event, "C1", 10_000));
    let claims = futures_util::future::join_all(at_once).await;
    let granted = claims.iter().filter(|claim| **claim == Claim::Granted).count();
    assert_eq!(granted, 1, "{claims:?}");
    assert_eq!(claim_link(&fixture, "M1", "C2", 10_001).await, Claim::Granted);
    assert_eq!(claim_link(&fixture, "M2", "C1", 14_999).await, Claim::Suppressed);
    assert_eq!(claim_link(&fixture, "M3", "C1", 15_000).await, Claim::Granted);
    assert_eq!(hits(&fixture).await, (1, 0));
}

async fn what_was_never_said_begins_no_cooldown(fixture: Fixture) {
    prepared(&fixture).await;
    for (event, time, reason) in [
        ("E1", 10_000, ExpiredToken),
        ("E2", 10_050, Unavailable),
        ("E21", 10_100, Quota),
        ("E3", 10_200, PlatformError),
    ] {
        assert_eq!(claim(&fixture, event, time, 5_000).await, Claim::Granted, "{event}");
        fail(&fixture, event, reason, time).await;
    }
    // It may have been said all the same.
    assert_eq!(claim(&fixture, "E4", 10_300, 5_000).await, Claim::Suppressed);
    // An earlier failure that is recorded late ends no later cooldown.
    assert_eq!(claim(&fixture, "E5", 20_000, 5_000).await, Claim::Granted);
    assert_eq!(claim(&fixture, "E6", 25_000, 5_000).await, Claim::Granted);
    fail(&fixture, "E5", ExpiredToken, 20_000).await;
    assert_eq!(claim(&fixture, "E7", 25_100, 5_000).await, Claim::Suppressed);
    fail(&fixture, "E6", ExpiredToken, 25_000).await;
    assert_eq!(claim(&fixture, "E8", 25_200, 5_000).await, Claim::Granted);
    assert_eq!(hits(&fixture).await, (9, 2));

    for (event, time, reason) in [
        ("L1", 10_000, ExpiredToken),
        ("L2", 10_050, Unavailable),
        ("L21", 10_100, Quota),
        ("L3", 10_200, PlatformError),
    ] {
        assert_eq!(claim_link(&fixture, event, "C1", time).await, Claim::Granted, "{event}");
        fail(&fixture, event, reason, time).await;
    }
    assert_eq!(claim_link(&fixture, "L4", "C1", 10_300).await, Claim::Suppressed);
}

async fn the_outcome_is_recorded_once(fixture: Fixture) {
    prepared(&fixture).await;
    claim(&fixture, "E1", 10, 0).await;
    let own = [said("C1", "bot1", 11, "9-18")];
    let event = "E1".into();
    for _ in 0..2 {
        let exchange = Exchange { own: &own, ..Exchange::default() };
        fixture.store.assistant().finish_reply(&event, Ok(()), exchange, at(12)).await.unwrap();
    }
    fail(&fixture, "E1", PlatformError, 10).await;
    let replies = fixture.store.assistant().replies(&"C1".into(), 10).await.unwrap();
    assert_eq!((replies.len(), replies[0].status), (1, ReplyStatus::Sent));
    assert_eq!(fixture.counters("C1").await.1, 1);
}

async fn an_abandoned_reply_is_recorded(fixture: Fixture) {
    prepared(&fixture).await;
    claim(&fixture, "E1", 10, 0).await;
    claim(&fixture, "E2", 90, 0).await;
    assert_eq!(fixture.store.assistant().interrupt_replies(at(50), at(100)).await.unwrap(), 1);
    let replies = fixture.store.assistant().replies(&"C1".into(), 10).await.unwrap();
    let one = replies.iter().find(|reply| reply.event.as_str() == "E1").unwrap();
    assert_eq!((one.status, one.reason), (ReplyStatus::Failed, Some(Interrupted)));
    assert_eq!(claim(&fixture, "E1", 10, 0).await, Claim::Taken(ReplyStatus::Failed));
}

async fn an_outcome_that_is_recorded_late_counts(fixture: Fixture) {
    prepared(&fixture).await;
    for (event, time) in [("E1", 10_000), ("E2", 20_000)] {
        assert_eq!(claim(&fixture, event, time, 5_000).await, Claim::Granted, "{event}");
    }
    let (before, now) = (at(50_000), at(60_000));
    assert_eq!(fixture.store.assistant().interrupt_replies(before, now).await.unwrap(), 2);
    let own = [said("C1", "bot1", 10_001, "9-18")];
    let exchange = Exchange { own: &own, ..Exchange::default() };
    fixture.store.assistant().finish_reply(&"E1".into(), Ok(()), exchange, now).await.unwrap();
    fail(&fixture, "E2", ExpiredToken, 20_000).await;
    let mut replies = fixture.store.assistant().replies(&"C1".into(), 10).await.unwrap();
    replies.sort_by(|a, b| a.event.cmp(&b.event));
    let recorded: Vec<_> = replies.iter().map(|reply| (reply.status, reply.reason)).collect();
    let expired = (ReplyStatus::Failed, Some(ExpiredToken));
    assert_eq!(recorded, [(ReplyStatus::Sent, None), expired]);
    assert_eq!(claim(&fixture, "E3", 20_001, 5_000).await, Claim::Granted, "no cooldown");
    // Another outcome after that changes nothing.
    fail(&fixture, "E1", PlatformError, 10_000).await;
    let replies = fixture.store.assistant().replies(&"C1".into(), 10).await.unwrap();
    let one = replies.iter().find(|reply| reply.event.as_str() == "E1").unwrap();
    assert_eq!(one.status, ReplyStatus::Sent);
}

async fn replies_are_found_by_message(fixture: Fixture) {
    prepared(&fixture).await;
    for event in ["E1", "E2", "E3"] {
        claim(&fixture, event, 10, 0).await;
    }
    let messages = ["to-E3", "to-E1", "to-nobody"].map(Into::into);
    let asked: Vec<_> = messages.iter().collect();
    let mut found = fixture.store.assistant().replies_to(&"C1".into(), &asked).await.unwrap();
    found.sort_by(|a, b| a.message.cmp(&b.message));
    let found: Vec<_> = found.iter().map(|reply| reply.event.as_str()).collect();
    assert_eq!(found, ["E1", "E3"]);
    assert!(fixture.store.assistant().replies_to(&"C2".into(), &asked).await.unwrap().is_empty());
    assert!(fixture.store.assistant().replies_to(&"C1".into(), &[]).await.unwrap().is_empty());
}

async fn the_bots_messages_keep_their_origin(fixture: Fixture) {
    prepared(&fixture).await;
    claim(&fixture, "E1", 10, 0).await;
    let own = [said("C1", "bot1", 11, "9-18"), said("C1", "bot2", 11, "on weekdays")];
    let exchange = Exchange { own: &own, ..Exchange::default() };
    fixture.store.assistant().finish_reply(&"E1".into(), Ok(()), exchange, at(12)).await.unwrap();
    // The record goes one day, and an edit changes nothing of it.
    while fixture.store.assistant().purge_replies(at(1_000)).await.unwrap() > 0 {}
    fixture.store.messages().ingest(&[edited("C1", "bot1", 20, "10-18")], at(21)).await.unwrap();
    let expected = ReplyOrigin { source: ReplySource::Qa, rule: Some("qa_1_a".into()) };
    for id in ["bot1", "bot2"] {
        let message = fixture.store.messages().message(&"C1".into(), &id.into()).await.unwrap();
        assert_eq!(message.unwrap().reply, Some(expected.clone()), "{id}");
    }
    fixture.store.messages().ingest(&[said("C1", "other", 30, "hi")], at(31)).await.unwrap();
    let other = fixture.store.messages().message(&"C1".into(), &"other".into()).await.unwrap();
    assert_eq!(other.unwrap().reply, None);
    let rules = ["qa_1_a".into(), "qa_2_b".into()];
    let asked: Vec<_> = rules.iter().collect();
    let found = fixture.store.assistant().chosen_rules(&"C1".into(), &asked).await.unwrap();
    assert_eq!(found.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["qa_1_a"]);
    let count = fixture.store.messages().count(&"C1".into(), Some(at(11)), Some(at(30))).await;
    assert_eq!(count.unwrap(), 2);
}

async fn the_message_that_was_answered_is_found(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    let assistant = || fixture.store.assistant();
    for (event, own) in [("one", ["a_b", "second"]), ("two", ["axb", "b%"])] {
        assert_eq!(claim(&fixture, event, 10, 0).await, Claim::Granted);
        let own = own.map(|id| said("C1", id, 10, "9-18"));
        let exchange = Exchange { own: &own, ..Exchange::default() };
        assistant().finish_reply(&event.into(), Ok(()), exchange, at(11)).await.unwrap();
    }
    let question_of = async |channel: &str, reply: &str| {
        let question = assistant().question_of(&channel.into(), &reply.into()).await.unwrap();
        question.map(|message| message.to_string())
    };
    for (reply, message) in
        [("a_b", "to-one"), ("second", "to-one"), ("axb", "to-two"), ("b%", "to-two")]
    {
        assert_eq!(question_of("C1", reply).await.as_deref(), Some(message), "{reply}");
    }
    for (channel, reply) in [("C2", "a_b"), ("C1", "%"), ("C1", "to-one"), ("C1", "nothing")] {
        assert_eq!(question_of(channel, reply).await, None, "{channel} {reply}");
    }
    assert_eq!(claim_link(&fixture, "link", "C1", 10).await, Claim::Granted);
    let own = [said("C1", "linked", 10, "https://chat.example.org")];
    let exchange = Exchange { own: &own, ..Exchange::default() };
    assistant().finish_reply(&"link".into(), Ok(()), exchange, at(11)).await.unwrap();
    assert_eq!(question_of("C1", "linked").await, None, "no rule answered");
}
