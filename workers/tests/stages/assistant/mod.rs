//! The assistant: one reply to an event at most, in time, and none where somebody else speaks.

mod link;
mod outage;
mod silence;
mod welcome;

use std::time::Duration;

use chatkeep_core::assistant::{AssistantConfig, RuleDraft};
use chatkeep_core::id::RuleId;
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_core::time::Clock as _;
use chatkeep_emulator::{Event, Fault, Target};
use chatkeep_store::{ReplyStatus, RuleChange};
use chatkeep_workers::StageName;
use chatkeep_workers::assistant::{Assistant, ReplyPolicy};
use serde_json::json;

use super::bench::{ATTEMPTS, Bench, Group, START, skip, until};
use super::faults::deaths;

/// Returns a bench with a group whose rule answers "hours".
pub(crate) async fn answering() -> (Bench, Group) {
    let (bench, group) = Bench::with_group().await;
    add_rule(&bench, &group, "hours", "9-18").await;
    // What was said before anybody set a rule.
    bench.drain(bench.assistant()).await;
    (bench, group)
}

async fn add_rule(bench: &Bench, group: &Group, keyword: &str, answer: &str) {
    let draft = RuleDraft {
        keywords: vec![keyword.to_owned()],
        answer: answer.to_owned(),
        ..RuleDraft::default()
    };
    let (id, by) = (RuleId::new(format!("qa_1_{keyword}")), group.ann.as_str().into());
    let add = RuleChange::Add(&id, &draft);
    bench
        .store
        .assistant()
        .change_rule(&group.channel(), add, None, &by, bench.clock.now())
        .await
        .unwrap();
    bench.assistants.changed(&group.channel(), &bench.bus).await;
}

async fn configure(
    bench: &Bench,
    group: &Group,
    change: impl Fn(&mut AssistantConfig) + Send + Sync,
) {
    let (channel, by) = (group.channel(), group.ann.as_str().into());
    let edit = |mut config: AssistantConfig, _| {
        change(&mut config);
        Ok::<_, ()>(config)
    };
    let now = bench.clock.now();
    let changed = bench.store.assistant().change_assistant_config(&channel, &by, now, edit).await;
    changed.unwrap().unwrap();
    bench.assistants.changed(&group.channel(), &bench.bus).await;
}

/// Returns how often the first rule matched.
async fn hits(bench: &Bench, group: &Group) -> i64 {
    bench.store.assistant().rules(&group.channel()).await.unwrap().value.items[0].hit_count
}

/// Returns state and reason of each reply of a channel, newest first.
async fn replies(bench: &Bench, group: &Group) -> Vec<(ReplyStatus, Option<ReplyFailureReason>)> {
    let replies = bench.store.assistant().replies(&group.channel(), 100).await.unwrap();
    replies.into_iter().map(|reply| (reply.status, reply.reason)).collect()
}

fn failed(reason: ReplyFailureReason) -> (ReplyStatus, Option<ReplyFailureReason>) {
    (ReplyStatus::Failed, Some(reason))
}

fn ask(bench: &Bench, group: &Group) -> Vec<Event> {
    bench.say(&group.id, &group.bob, "hours")
}

#[tokio::test]
async fn an_event_that_comes_often_and_to_several_workers_gets_one_reply() {
    let (bench, group) = answering().await;
    let question = ask(&bench, &group);
    let often: Vec<_> = std::iter::repeat_n(question, 8).flatten().collect();
    bench.publish(&often).await;
    let (one, other) = tokio::join!(bench.drain(bench.assistant()), bench.drain(bench.assistant()));
    assert_eq!(one + other, 8);
    bench.publish(&often).await;
    bench.drain(bench.assistant()).await;
    assert_eq!(bench.said(&group.id), ["9-18"]);
    assert_eq!(hits(&bench, &group).await, 1);
    assert_eq!(bench.calls("/reply"), 1);
    bench.assert_polite();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replies_stand_in_the_order_of_what_they_answer() {
    const QUESTIONS: usize = 40;
    let (bench, group) = answering().await;
    let names: Vec<_> = (0..QUESTIONS).map(|n| format!("place {n}")).collect();
    let mut questions = Vec::new();
    for name in &names {
        add_rule(&bench, &group, name, name).await;
        questions.extend(bench.say(&group.id, &group.bob, name.as_str()));
        questions.extend(bench.say(&group.id, &group.ann, "thanks"));
        bench.clock.advance(Duration::from_millis(1));
    }
    bench.publish(&questions).await;
    bench.drain(bench.assistant()).await;
    assert_eq!(bench.said(&group.id), names);
    bench.assert_polite();
}

#[tokio::test]
async fn a_reply_that_takes_long_holds_up_others_for_a_moment_alone() {
    let (bench, group) = answering().await;
    add_rule(&bench, &group, "wifi", "1234").await;
    let first = ask(&bench, &group);
    bench.clock.advance(Duration::from_millis(1));
    let second = bench.say(&group.id, &group.bob, "wifi");
    bench.line.fail_next(Target::Reply, 1, Fault::Delay(Duration::from_hours(1)));
    bench.publish(&[first, second].concat()).await;
    let running = tokio::spawn(bench.runner(bench.assistant()).run());
    until("the second is answered", async || bench.said(&group.id) == ["9-18", "1234"]).await;
    assert_eq!(replies(&bench, &group).await.len(), 2, "the first one is under way");
    running.abort();
    bench.assert_polite();
}

#[tokio::test]
async fn wherever_a_process_dies_nobody_gets_the_same_reply_twice() {
    for death in deaths() {
        let (mut bench, group) = answering().await;
        let both = [ask(&bench, &group), ask(&bench, &group)].concat();
        bench.publish(&both).await;
        bench.die(bench.assistant(), death).await;
        bench.drain(bench.assistant()).await;
        assert_eq!(bench.said(&group.id), ["9-18", "9-18"], "{death:?}");
        assert_eq!(hits(&bench, &group).await, 2);
        // The bot's messages are stored after those that they answer.
        let kept = bench.messages(&group.channel()).await;
        let own: Vec<_> = kept.iter().map(|message| message.is_bot).collect();
        assert_eq!(own.iter().filter(|own| **own).count(), 2, "{own:?}");
        assert!(!own[0]);
        bench.assert_polite();
    }
}

#[tokio::test]
async fn a_reply_under_way_when_its_process_died_is_not_repeated() {
    let (mut bench, group) = answering().await;
    bench.publish(&ask(&bench, &group)).await;
    bench.line.fail_next(Target::Reply, 1, Fault::Delay(Duration::from_hours(1)));
    let runner = bench.runner(bench.assistant());
    let dying = tokio::spawn(async move { runner.drain().await });
    let claimed = async || replies(&bench, &group).await == [(ReplyStatus::Sending, None)];
    until("the reply is claimed", claimed).await;
    dying.abort();
    bench.restart().await;
    assert_eq!(bench.drain(bench.assistant()).await, 1, "it came again");
    assert_eq!(replies(&bench, &group).await, [(ReplyStatus::Sending, None)]);
    // Nobody knows whether it arrived; after a while that is what the record says.
    bench.clock.advance(Duration::from_mins(5));
    let now = bench.clock.now();
    assert_eq!(bench.store.assistant().interrupt_replies(now, now).await.unwrap(), 1);
    assert_eq!(replies(&bench, &group).await, [failed(ReplyFailureReason::Interrupted)]);
    assert!(bench.calls("/reply") <= 1);
}

#[tokio::test]
async fn a_call_of_unknown_outcome_is_not_repeated_and_one_that_was_refused_is_recorded() {
    let status = |status| Fault::Status { status, retry_after: None };
    let cases = [
        (Fault::CutAfter, failed(ReplyFailureReason::PlatformError), 1),
        (Fault::StatusAfter { status: 500 }, failed(ReplyFailureReason::PlatformError), 1),
        (status(500), failed(ReplyFailureReason::PlatformError), 0),
        (status(403), failed(ReplyFailureReason::PlatformError), 0),
        (status(401), failed(ReplyFailureReason::Unavailable), 0),
        (Fault::MonthlyLimit, failed(ReplyFailureReason::Quota), 0),
    ];
    for (fault, expected, arrived) in cases {
        let (bench, group) = answering().await;
        bench.line.fail_next(Target::Reply, 1, fault.clone());
        let question = ask(&bench, &group);
        bench.publish(&[question.clone(), question].concat()).await;
        bench.drain(bench.assistant()).await;
        assert_eq!(replies(&bench, &group).await, [expected], "{fault:?}");
        assert_eq!((bench.calls("/reply"), bench.said(&group.id).len()), (1, arrived), "{fault:?}");
        assert!(bench.dead_letters().await.is_empty());
        assert_eq!(bench.backlog(StageName::Assistant).await, 0);
    }
}

#[tokio::test]
async fn a_platform_that_asks_to_wait_gets_the_reply_later() {
    let (bench, group) = answering().await;
    bench.line.fail_next(Target::Reply, 1, Fault::Status { status: 429, retry_after: Some(20) });
    bench.publish(&ask(&bench, &group)).await;
    let runner = bench.runner(bench.assistant());
    let running = tokio::spawn(async move { runner.drain().await });
    until("it has replied", async || {
        if bench.said(&group.id).is_empty() {
            bench.clock.advance(Duration::from_secs(1));
            skip(Duration::from_secs(1)).await;
        }
        running.is_finished()
    })
    .await;
    assert!(
        bench.clock.now().since(START) >= Duration::from_secs(20),
        "not before it was asked to"
    );
    assert_eq!(running.await.unwrap().unwrap(), 1, "it was never delivered again");
    assert_eq!(replies(&bench, &group).await, [(ReplyStatus::Sent, None)]);
    bench.assert_polite();
}

#[tokio::test]
async fn a_platform_that_asks_to_wait_beyond_the_deadline_gets_no_reply() {
    let (bench, group) = answering().await;
    bench.line.fail_next(Target::Reply, 1, Fault::Status { status: 429, retry_after: Some(50) });
    bench.publish(&ask(&bench, &group)).await;
    bench.drain(bench.assistant()).await;
    assert_eq!(replies(&bench, &group).await, [failed(ReplyFailureReason::Unavailable)]);
    assert_eq!(bench.calls("/reply"), 1);
}

#[tokio::test]
async fn a_late_reply_is_pushed_once_and_only_where_that_is_on() {
    for (push_fallback, late, expected) in [
        (false, 49, "reply"),
        (false, 50, "nothing"),
        (true, 50, "push"),
        (true, 599, "push"),
        (true, 600, "nothing"),
        (true, 172_800, "nothing"),
    ] {
        let (bench, group) = answering().await;
        let question = ask(&bench, &group);
        bench.clock.advance(Duration::from_secs(late));
        bench.publish(&[question.clone(), question].concat()).await;
        let deadline = Duration::from_secs(50);
        let push_max_age = push_fallback.then_some(Duration::from_mins(10));
        let policy = ReplyPolicy { deadline, push_max_age };
        bench.drain(Assistant { policy, ..bench.assistant() }).await;
        let calls = (bench.calls("/reply"), bench.calls("/push"));
        let (calls_expected, said, status) = match expected {
            "reply" => ((1, 0), 1, (ReplyStatus::Sent, None)),
            "push" => ((0, 1), 1, (ReplyStatus::Sent, None)),
            _ => ((0, 0), 0, failed(ReplyFailureReason::ExpiredToken)),
        };
        assert_eq!((calls, bench.said(&group.id).len()), (calls_expected, said), "{late} s");
        assert_eq!(replies(&bench, &group).await, [status]);
        assert_eq!(hits(&bench, &group).await, 1, "the match counts, answered or not");
        bench.assert_polite();
    }
}

#[tokio::test]
async fn the_deadline_of_a_redelivered_event_counts_from_its_redelivery() {
    for (redelivered, handled, said) in
        [(90, 0, 1), (90, 49, 1), (90, 50, 0), (1_190, 9, 1), (1_190, 10, 0), (1_300, 0, 0)]
    {
        let (bench, group) = answering().await;
        let question = ask(&bench, &group);
        bench.clock.advance(Duration::from_secs(redelivered));
        bench.publish_again(&[question.clone(), question].concat()).await;
        bench.clock.advance(Duration::from_secs(handled));
        bench.drain(bench.assistant()).await;
        let case = format!("redelivered after {redelivered} s, handled {handled} s later");
        assert_eq!((bench.calls("/reply"), bench.said(&group.id).len()), (said, said), "{case}");
        let reply = if said == 1 {
            (ReplyStatus::Sent, None)
        } else {
            failed(ReplyFailureReason::ExpiredToken)
        };
        assert_eq!(replies(&bench, &group).await, [reply], "{case}");
        bench.assert_polite();
    }
}

#[tokio::test]
async fn an_event_that_is_redelivered_after_its_reply_is_not_answered_again() {
    let (bench, group) = answering().await;
    let question = ask(&bench, &group);
    bench.publish(&question).await;
    bench.drain(bench.assistant()).await;
    bench.clock.advance(Duration::from_secs(40));
    bench.publish_again(&question).await;
    bench.drain(bench.assistant()).await;
    assert_eq!((bench.calls("/reply"), bench.said(&group.id).len()), (1, 1));
    bench.assert_polite();
}

#[tokio::test]
async fn a_token_that_the_platform_refuses_is_replaced_by_a_push() {
    let (bench, group) = answering().await;
    let question = ask(&bench, &group);
    bench.clock.advance(Duration::from_secs(61));
    bench.publish(&question).await;
    let push_max_age = Some(Duration::from_mins(10));
    let policy = ReplyPolicy { deadline: Duration::from_mins(5), push_max_age };
    bench.drain(Assistant { policy, ..bench.assistant() }).await;
    assert_eq!((bench.calls("/reply"), bench.calls("/push")), (1, 1));
    assert_eq!(bench.said(&group.id), ["9-18"]);
    assert_eq!(replies(&bench, &group).await, [(ReplyStatus::Sent, None)]);
}

#[tokio::test]
async fn the_bot_does_not_answer_itself() {
    let (mut bench, group) = answering().await;
    let bot = bench.line.bot().user_id;
    let question = ask(&bench, &group);
    bench.publish_edited(&question, |event| event["source"]["userId"] = bot.into()).await;
    bench.drain(bench.assistant()).await;
    assert_eq!((bench.calls("/reply"), hits(&bench, &group).await), (0, 0));
    assert!(replies(&bench, &group).await.is_empty());
    // Others are answered, also while LINE does not tell who the bot is.
    bench.restart().await;
    bench.line.fail_next(Target::Info, 1, Fault::Status { status: 500, retry_after: None });
    bench.publish(&ask(&bench, &group)).await;
    bench.drain(bench.assistant()).await;
    assert_eq!((bench.calls("/reply"), hits(&bench, &group).await), (1, 1));
}

#[tokio::test]
async fn a_rule_rests_for_its_cooldown() {
    let (bench, group) = answering().await;
    configure(&bench, &group, |config| config.qa.cooldown_seconds = 60).await;
    for (wait, said) in [(0, 1), (59, 1), (1, 2), (30, 2)] {
        bench.clock.advance(Duration::from_secs(wait));
        bench.publish(&ask(&bench, &group)).await;
        bench.drain(bench.assistant()).await;
        assert_eq!(bench.said(&group.id).len(), said, "after {wait} s more");
    }
    let rules = bench.store.assistant().rules(&group.channel()).await.unwrap().value.items;
    assert_eq!((rules[0].hit_count, rules[0].suppressed_count), (4, 2));
}

#[tokio::test]
async fn an_event_of_a_bot_that_is_not_configured_is_tried_later_and_then_put_aside() {
    let (bench, group) = answering().await;
    bench.publish_for("other", &ask(&bench, &group)).await;
    for pause in [1, 2, 4] {
        assert_eq!(bench.drain(bench.assistant()).await, 1);
        assert_eq!(bench.drain(bench.assistant()).await, 0);
        bench.clock.advance(Duration::from_secs(pause));
    }
    assert!(bench.dead_letters().await.is_empty());
    assert_eq!(bench.drain(bench.assistant()).await, 1);
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert_eq!((letter.attempts, letter.consumer.as_str()), (ATTEMPTS, "assistant"));
    assert_eq!(letter.reason, "no bot named \"other\" is configured");
    assert!(replies(&bench, &group).await.is_empty(), "the right to reply was not used up");
}

#[tokio::test]
async fn a_changed_rule_answers_the_next_message() {
    let (bench, group) = answering().await;
    bench.publish(&ask(&bench, &group)).await;
    bench.drain(bench.assistant()).await;
    let by = group.ann.as_str().into();
    let (id, now) = (RuleId::new("qa_1_hours"), bench.clock.now());
    let remove = RuleChange::Remove(&id);
    bench.store.assistant().change_rule(&group.channel(), remove, None, &by, now).await.unwrap();
    bench.assistants.changed(&group.channel(), &bench.bus).await;
    add_rule(&bench, &group, "wifi", "ask me").await;
    bench.publish(&ask(&bench, &group)).await;
    bench.publish(&bench.say(&group.id, &group.bob, "wifi")).await;
    bench.drain(bench.assistant()).await;
    assert_eq!(bench.said(&group.id), ["9-18", "ask me"]);
}

#[tokio::test]
async fn a_reply_is_never_dated_before_its_question() {
    let (bench, group) = answering().await;
    let ahead = bench.clock.now().plus(Duration::from_secs(10));
    let asked = bench.say(&group.id, &group.bob, "hours");
    // The platform's clock is ahead of ours.
    bench.publish_edited(&asked, |event| event["timestamp"] = json!(ahead.millis())).await;
    bench.drain(bench.assistant()).await;
    let messages = bench.messages(&group.channel()).await;
    let sent: Vec<_> = messages.iter().map(|message| (message.is_bot, message.sent_at)).collect();
    assert_eq!(sent, [(false, ahead), (true, ahead.plus(Duration::from_millis(1)))]);
}

#[tokio::test]
async fn nothing_is_said_where_another_program_has_the_chat() {
    let (bench, group) = answering().await;
    let asked = bench.say(&group.id, &group.bob, "hours");
    bench.publish_edited(&asked, |event| event["mode"] = json!("standby")).await;
    bench.drain(bench.assistant()).await;
    assert!(bench.said(&group.id).is_empty());
    assert_eq!(bench.calls("/reply"), 0);
    assert_eq!(bench.backlog(StageName::Assistant).await, 0);
}
