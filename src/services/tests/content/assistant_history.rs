//! Tests of rules on what was said: bounds of readers, drafts, replies of the time, and questions.

use std::time::Duration;

use chatkeep_core::assistant::{QaMode, RuleDraft};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::message::{Content, Mention, MessageChange, Received};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_core::time::{DAY, Timestamp};
use chatkeep_store::{Exchange, ReplyFailure, ReplyIntent, ReplySource};
use chatkeep_view::pseudonyms::Mask;

use super::super::{GROUP, Group, OTHER, OWNER, caller, draft};
use super::conversation::{
    access, change, edited, message, refusal, sentence, store, text, texts, unsent,
};
use crate::access::{Admin, ReadMessages};
use crate::assistant::{
    BacktestDraft, BacktestRequest, BacktestResult, ComparisonRequest, GivenReply, HistoryAccess,
    Progress, UnansweredQuestion,
};
use crate::{Caller, ServiceError};

async fn history(group: &Group) -> HistoryAccess {
    access::<Admin, ReadMessages>(group, caller(OWNER)).await
}

/// Returns the access of a key that reads nothing older than that.
async fn since(group: &Group, earliest: Timestamp) -> HistoryAccess {
    let bounds = Bounds { not_before: Some(earliest), ..Bounds::full() };
    access::<Admin, ReadMessages>(group, Caller { bounds, ..caller(OWNER) }).await
}

fn drafts(drafts: Vec<(Option<&str>, RuleDraft)>) -> BacktestRequest {
    let rules =
        drafts.into_iter().map(|(id, texts)| BacktestDraft { id: id.map(str::to_owned), texts });
    BacktestRequest { rules: Some(rules.collect()), ..BacktestRequest::default() }
}

fn days(days: u32) -> BacktestRequest {
    BacktestRequest { days: Some(days), ..BacktestRequest::default() }
}

/// Returns the messages of the differences, newest first.
fn changed(result: &BacktestResult) -> Vec<&str> {
    texts(result.changes.iter().map(|change| &change.message.id))
}

/// Records a reply of that source to a message.
async fn replied(
    group: &Group,
    id: &str,
    source: ReplySource,
    failure: Option<ReplyFailureReason>,
) {
    let (event, at) = (format!("event of {id}").into(), group.clock.now());
    let (message, rule) = (MessageId::from(id), RuleId::from("qa_1_old"));
    let intent = ReplyIntent {
        event: &event,
        channel: &GROUP.into(),
        source,
        rule: (source == ReplySource::Qa).then_some(&rule),
        message: Some(&message),
        cooldown_ms: 0,
        at,
    };
    let store = group.store.assistant();
    store.claim_reply(&intent, at).await.unwrap();
    let outcome = failure.map_or(Ok(()), |reason| Err(ReplyFailure { reason, at }));
    store.finish_reply(&event, outcome, Exchange::default(), at).await.unwrap();
}

#[tokio::test]
async fn a_period_is_a_day_at_least_and_a_year_at_most() {
    let group = Group::new().await;
    group.hands.advance(DAY * 400);
    let now = group.clock.now();
    let at = |back: u32| now.minus(DAY * back);
    store(&group, &[text("old", at(365), "hours"), text("older", at(366), "hours")]).await;
    store(&group, &[text("late", at(1), "hours"), text("now", now, "hours")]).await;
    let (assistant, history) = (&group.assistant, history(&group).await);
    for wrong in [0, 366, u32::MAX] {
        let refused = assistant.backtest(&history, days(wrong)).await;
        assert_eq!(sentence(refused), "days must be from 1 to 365");
        let refused = assistant.backtest(&history, days(wrong)).await;
        assert_eq!(refusal(refused).0, "/days");
        let refused = assistant.unanswered(&history, wrong, 10).await;
        assert_eq!(refusal(refused).0, "days");
        let refused = assistant.unanswered_step(&history, wrong).await;
        assert_eq!(refusal(refused).0, "days");
    }
    for (days_back, scanned) in [(1, 2), (30, 2), (364, 2), (365, 3)] {
        let tested = assistant.backtest(&history, days(days_back)).await.unwrap();
        assert_eq!((tested.scanned, tested.complete), (scanned, true), "{days_back}");
        assert_eq!(tested.from, at(days_back), "the first moment belongs to it");
    }
    // A key never looks further back than it may.
    for (earliest, scanned) in [(at(1), 2), (at(1).plus(Duration::from_millis(1)), 1)] {
        let reader = since(&group, earliest).await;
        let tested = assistant.backtest(&reader, days(365)).await.unwrap();
        assert_eq!((tested.scanned, tested.from), (scanned, earliest));
        let found = assistant.unanswered(&reader, 365, 10).await.unwrap();
        assert_eq!((found.scanned, found.from), (scanned, earliest));
    }
    let wide = since(&group, at(400)).await;
    assert_eq!(assistant.backtest(&wide, days(30)).await.unwrap().from, at(30));
}

#[tokio::test]
async fn readers_of_pseudonyms_get_nothing_that_works_on_texts_as_they_are() {
    let group = Group::new().await;
    let mask = Mask::of(&PseudonymKey::new([3; 32]), &[]).unwrap();
    let reader = access::<Admin, ReadMessages>(&group, Caller { mask, ..caller(OWNER) }).await;
    let (assistant, refused) = (&group.assistant, ServiceError::PseudonymousKey);
    let tested = assistant.backtest(&reader, BacktestRequest::default()).await;
    assert_eq!(tested.unwrap_err(), refused);
    assert_eq!(assistant.unanswered(&reader, 30, 1).await.unwrap_err(), refused);
    assert_eq!(assistant.unanswered_step(&reader, 30).await.unwrap_err(), refused);
    let request = ComparisonRequest::default();
    assert_eq!(assistant.comparison(&reader, request).await.unwrap_err(), refused);
    assert_eq!(assistant.assistant_figures(&reader).await.unwrap_err(), refused);
}

#[tokio::test]
async fn what_is_wrong_with_a_draft_is_said_with_its_place() {
    let group = Group::new().await;
    let (assistant, history) = (&group.assistant, history(&group).await);
    let good = || (None, draft("a"));
    for (given, field) in [
        (vec![good(), (None, draft("\u{200b}"))], "/rules/1/keywords/0"),
        (
            vec![good(), (None, RuleDraft { keywords: Vec::new(), ..draft("x") })],
            "/rules/1/keywords",
        ),
        (vec![(None, RuleDraft { answer: " ".to_owned(), ..draft("x") })], "/rules/0/answer"),
        (
            vec![good(), good(), (None, RuleDraft { question: "x".repeat(501), ..draft("x") })],
            "/rules/2/question",
        ),
        (
            vec![(
                None,
                RuleDraft { not_for: vec!["y".to_owned(), "X!".to_owned()], ..draft("x") },
            )],
            "/rules/0/notFor/1",
        ),
        (vec![(Some(""), draft("x"))], "/rules/0/id"),
        (vec![good(), (Some(&*"i".repeat(101)), draft("x"))], "/rules/1/id"),
    ] {
        let refused = assistant.backtest(&history, drafts(given)).await;
        assert_eq!(refusal(refused).0, field);
    }
    let semantic = BacktestRequest { mode: Some(QaMode::Semantic), ..drafts(vec![good()]) };
    let refused = assistant.backtest(&history, semantic).await;
    assert_eq!(refused.unwrap_err(), ServiceError::PlanRequired);
    let longest = "識".repeat(100);
    let request = drafts(vec![(Some(longest.as_str()), draft("a")), good()]);
    assert!(assistant.backtest(&history, request).await.is_ok());
    assert!(assistant.backtest(&history, drafts(Vec::new())).await.is_ok(), "no rules at all");
}

#[tokio::test]
async fn drafts_have_their_own_ids_or_their_numbers() {
    let group = Group::new().await;
    let now = group.clock.now();
    let said = [("m1", "one"), ("m2", "two"), ("m3", "three"), ("m4", "four")];
    store(&group, &said.map(|(id, said)| text(id, now, said))).await;
    let (assistant, history) = (&group.assistant, history(&group).await);
    let settings = group.settings().await;
    let saved = assistant.add_rule(&settings, draft("four"), None).await.unwrap();
    let request =
        drafts(vec![(None, draft("one")), (Some("mine"), draft("two")), (None, draft("three"))]);
    let tested = assistant.backtest(&history, request).await.unwrap();
    let mut rules: Vec<_> = tested
        .changes
        .iter()
        .map(|change| {
            let rule = change.draft.rule.as_ref().unwrap().as_str();
            (change.message.id.as_str(), rule)
        })
        .collect();
    rules.sort_unstable();
    assert_eq!(rules, [("m1", "draft_1"), ("m2", "mine"), ("m3", "draft_3")]);
    // Without rules in the request they are those of the channel, which nothing changes.
    let own = assistant.backtest(&history, BacktestRequest::default()).await.unwrap();
    assert_eq!((own.answered, own.changes[0].draft.rule.as_ref()), (1, Some(&saved)));
    assert_eq!(assistant.rules(&settings).await.unwrap().rules.len(), 1);
}

#[tokio::test]
async fn replies_of_the_time_count_unless_they_were_not_given() {
    let group = Group::new().await;
    let now = group.clock.now();
    let ids = ["same", "failed", "none", "other", "rules", "welcome"];
    store(&group, &ids.map(|id| text(id, now, "hours"))).await;
    store(&group, &[text("chat", now, "see you"), text("lost", now, "hello")]).await;
    replied(&group, "same", ReplySource::Qa, None).await;
    replied(&group, "failed", ReplySource::Qa, Some(ReplyFailureReason::Quota)).await;
    replied(&group, "none", ReplySource::NoMatch, None).await;
    replied(&group, "rules", ReplySource::Rules, None).await;
    replied(&group, "welcome", ReplySource::Welcome, None).await;
    replied(&group, "chat", ReplySource::NoMatch, None).await;
    replied(&group, "lost", ReplySource::Qa, None).await;
    let request = || drafts(vec![(Some("qa_1_old"), draft("hours"))]);
    let (assistant, history) = (&group.assistant, history(&group).await);
    let tested = assistant.backtest(&history, request()).await.unwrap();
    assert_eq!((tested.scanned, tested.answered, tested.was_answered), (8, 6, 2));
    let mut found = changed(&tested);
    found.sort_unstable();
    // What got the reply of no match gets it still: a draft does not change that.
    assert_eq!(found, ["failed", "lost", "none", "other", "rules", "welcome"]);
    assert_eq!(tested.changed, 6);
    let of = |id: &str| {
        let change = tested.changes.iter().find(|change| change.message.id.as_str() == id);
        let change = change.unwrap();
        (change.draft.clone(), change.was.clone())
    };
    let reply = |source, rule: Option<&str>| GivenReply { source, rule: rule.map(RuleId::from) };
    let (nothing, by_rule) = (reply(None, None), reply(Some(ReplySource::Qa), Some("qa_1_old")));
    assert_eq!(of("failed"), (by_rule.clone(), nothing.clone()));
    assert_eq!(of("lost"), (nothing.clone(), by_rule.clone()));
    assert_eq!(of("none").1, reply(Some(ReplySource::NoMatch), None), "as it was");
    assert_eq!(of("rules").1, reply(Some(ReplySource::Rules), None));
    assert_eq!(of("welcome"), (by_rule, nothing), "a welcome replies to nobody's message");
}

#[tokio::test]
async fn what_is_tested_is_what_people_typed_and_did_not_take_back() {
    let group = Group::new().await;
    let now = group.clock.now();
    let at = |millis| now.plus(Duration::from_millis(millis));
    let mention =
        |start, length| Mention { user_id: None, start, length, is_self: true, is_all: None };
    let mentioned = Content::Text {
        text: "👋 @hours hours".to_owned(),
        emojis: Vec::new(),
        // The emoji is two units long.
        mentions: vec![mention(0, 2), mention(3, 6)],
    };
    let of_bot = Received {
        at: now,
        sender: None,
        kind: Content::text("hours").kind(),
        content: serde_json::to_string(&Content::text("hours")).unwrap(),
        quoted: None,
        is_bot: true,
    };
    store(
        &group,
        &[
            message("mention", Some(OTHER), now, &mentioned),
            message(
                "name",
                Some(OTHER),
                now,
                &Content::Text {
                    text: "@hours".to_owned(),
                    emojis: Vec::new(),
                    mentions: vec![mention(0, 6)],
                },
            ),
            change("bot", MessageChange::Received(of_bot)),
            text("unsent", now, "hours"),
            unsent("unsent", at(1)),
            text("mended", now, "huors"),
            edited("mended", at(1), "hours"),
            text("spoilt", now, "hours"),
            edited("spoilt", at(1), "huors"),
            message(
                "place",
                Some(OTHER),
                now,
                &Content::Location {
                    title: Some("hours".to_owned()),
                    address: None,
                    latitude: 0.0,
                    longitude: 0.0,
                },
            ),
        ],
    )
    .await;
    let (assistant, history) = (&group.assistant, history(&group).await);
    let request = drafts(vec![(None, draft("hours"))]);
    let tested = assistant.backtest(&history, request).await.unwrap();
    let mut found = changed(&tested);
    found.sort_unstable();
    assert_eq!(found, ["mended", "mention"]);
    assert_eq!(tested.scanned, 4, "texts of people that are still there");
}

#[tokio::test]
async fn questions_are_told_with_their_newest_messages() {
    let group = Group::new().await;
    let now = group.clock.now();
    let at = |millis: u64| now.plus(Duration::from_millis(millis));
    let asked: Vec<_> = (0..7)
        .map(|nth| text(&format!("park{nth}"), at(nth), "where is the parking garage?"))
        .chain([
            text("dog", at(8), "can I bring my dog?"),
            text("hours", at(9), "hours?"),
            text("chat", at(10), "see you tomorrow"),
        ])
        .collect();
    store(&group, &asked).await;
    group.hands.advance(Duration::from_mins(1));
    let settings = group.settings().await;
    group.assistant.add_rule(&settings, draft("hours"), None).await.unwrap();
    let (assistant, history) = (&group.assistant, history(&group).await);
    let found = assistant.unanswered(&history, 30, 10).await.unwrap();
    assert_eq!((found.total, found.scanned, found.complete), (2, 10, true));
    let [parking, dog] = &found.questions[..] else { panic!("{found:?}") };
    assert_eq!(
        (parking.count, parking.last_asked_at, &*parking.text),
        (7, at(6), "where is the parking garage?")
    );
    assert_eq!(texts(&parking.messages), ["park6", "park5", "park4", "park3", "park2"]);
    assert!(parking.representative.as_str().starts_with("park"));
    assert_eq!((dog.count, dog.last_asked_at, texts(&dog.messages)), (1, at(8), vec!["dog"]));
    // The number of all is told, however few are wanted.
    for limit in [0, 1] {
        let few = assistant.unanswered(&history, 30, limit).await.unwrap();
        assert_eq!((few.questions.len(), few.total), (usize::try_from(limit).unwrap(), 2));
    }
    let Progress::Finished(stepwise) = assistant.unanswered_step(&history, 30).await.unwrap()
    else {
        panic!("so few are looked through at once")
    };
    let told = |questions: &[UnansweredQuestion]| -> Vec<_> {
        questions.iter().map(|one| (one.text.clone(), one.count)).collect()
    };
    assert_eq!(told(&stepwise.questions), told(&found.questions), "two ways, one answer");
}

#[tokio::test]
async fn listed_messages_are_as_they_are_now_and_as_old_as_may_be_read() {
    let group = Group::new().await;
    let now = group.clock.now();
    let later = now.plus(Duration::from_secs(1));
    store(&group, &[text("early", now, "one"), text("late", later, "two")]).await;
    let ids = || ["early", "late", "gone"].map(MessageId::from).to_vec();
    let (assistant, history) = (&group.assistant, history(&group).await);
    let listed = assistant.listed_messages(&history, ids()).await.unwrap();
    let mut found = texts(listed.keys());
    found.sort_unstable();
    assert_eq!(found, ["early", "late"]);
    let reader = since(&group, later).await;
    let listed = assistant.listed_messages(&reader, ids()).await.unwrap();
    assert_eq!(texts(listed.keys()), ["late"]);
    store(&group, &[unsent("late", later)]).await;
    let listed = assistant.listed_messages(&reader, ids()).await.unwrap();
    assert!(listed[&MessageId::from("late")].content.is_none());
    assert!(assistant.listed_messages(&reader, Vec::new()).await.unwrap().is_empty());
}
