//! Events in any order, each of them twice: the same store, counters and replies.

use chatkeep_emulator::{Action, Emulator, Event, Media, Post};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use reqwest::Method;
use serde_json::{Value, json};

use super::conversation::{emulator, group};
use super::on_both;
use super::state_snapshot::StateSnapshot;
use crate::stack::{Parts, Stack};

on_both!(any_order_and_repetition_ends_the_same);

/// Number of orders on each way to run.
const ORDERS: usize = 6;

async fn any_order_and_repetition_ends_the_same(parts: Parts) {
    let mut runner = TestRunner::deterministic();
    let mut stack = Stack::start(parts, emulator().await).await;
    let (first, people) = group(&mut stack).await;
    let users: Vec<_> = people.iter().map(|person| person.user_id.clone()).collect();
    for user in &users {
        stack.line.say(&first.chat_id, user, "here").await.unwrap();
    }
    stack.drained().await;
    keep_earlier_texts(&stack, &first.chat_id).await;
    for round in 0..ORDERS {
        // Each order is run in the same group, with people who are new to it.
        let before = StateSnapshot::of(&stack, &first.chat_id).await;
        let events = outbox_events(&stack.line, &first.chat_id, &users, round);
        let twice: Vec<_> = events.iter().chain(&events).cloned().collect();
        let shuffled = proptest::strategy::Just(twice).prop_shuffle();
        let order = shuffled.new_tree(&mut runner).unwrap().current();
        deliver(&stack, order).await;
        let after = StateSnapshot::of(&stack, &first.chat_id).await;
        let all = stack.messages(&first.chat_id).await;
        after.assert_counted(&all);
        expect_round(&before, &after, &events);
        expect_earlier_texts(&stack, &first.chat_id, &all, round).await;
    }
    stack.is_well().await;
    assert!(stack.line.violations().is_empty(), "{:?}", stack.line.violations());
}

/// Has a group keep earlier texts of edited messages.
pub(super) async fn keep_earlier_texts(stack: &Stack, channel: &str) {
    let (path, setting) =
        (format!("/channels/{channel}/backup/config"), json!({"keepEarlierTexts": true}));
    let (status, body) = stack.call(Method::PUT, &path, Some(setting)).await;
    assert!(status.is_success(), "{body}");
}

/// Checks the earlier texts of the message of that round that was edited twice.
async fn expect_earlier_texts(stack: &Stack, channel: &str, all: &[Value], round: usize) {
    let edited = all.iter().find(|message| message["content"] == format!("third {round}"));
    let id = edited.unwrap()["id"].as_str().unwrap();
    let message = stack.get(&format!("/channels/{channel}/backup/messages/{id}")).await;
    let texts = message["earlierTexts"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.map(|text| text["content"].as_str().unwrap()).collect();
    assert_eq!(texts, [format!("first {round}"), format!("second {round}")]);
}

/// Returns a message that stays, one edited twice, one unsent, a picture that stays and one unsent,
/// two questions, a join and a leave.
fn outbox_events(line: &Emulator, chat: &str, users: &[String], round: usize) -> Vec<Event> {
    let chat = chat.to_owned();
    let build = |action: Action| line.build(action).unwrap();
    let say = |user: usize, text: String| {
        let post = Post::Text(text.into());
        build(Action::Send { chat: chat.clone(), user: users[user].clone(), post })
    };
    let mut events = say(0, format!("stays {round}"));
    let edited = say(1, format!("first {round}"));
    let unsent = say(2, format!("secret {round}"));
    let message = |events: &[Event]| events[0].message_id.clone().unwrap();
    let edit = |text: &str| {
        let text = format!("{text} {round}").into();
        build(Action::Edit { message: message(&edited), text })
    };
    // Each text must have a later time than the one before.
    let wait = || {
        let before = line.now();
        while line.now() == before {
            std::hint::spin_loop();
        }
    };
    wait();
    events.extend(edit("second"));
    wait();
    events.extend(edit("third"));
    events.extend(build(Action::Unsend { message: message(&unsent) }));
    events.extend(edited);
    events.extend(unsent);
    let picture = |bytes: String| {
        let post = Post::Image(Media::new("image/png", bytes));
        build(Action::Send { chat: chat.clone(), user: users[0].clone(), post })
    };
    let regretted = picture(format!("regretted {round}"));
    events.extend(build(Action::Unsend { message: message(&regretted) }));
    events.extend(regretted);
    events.extend(picture(format!("picture {round}")));
    events.extend(say(1, "hours".to_owned()));
    events.extend(say(2, "rules".to_owned()));
    let newcomer = line.add_user(&format!("New {round}"), None).user_id;
    let joins = Action::MembersJoin { chat: chat.clone(), users: vec![newcomer.clone()] };
    events.extend(build(joins));
    let leaves = Action::MembersLeave { chat: chat.clone(), users: vec![newcomer] };
    events.extend(build(leaves));
    events
}

async fn deliver(stack: &Stack, events: Vec<Event>) {
    let webhooks = events.into_iter().map(|event| stack.line.webhook(vec![event])).collect();
    for delivery in stack.line.deliver_all(webhooks, 4).await {
        assert!(delivery.accepted, "{delivery:?}");
    }
    stack.drained().await;
}

/// Checks for five further messages that count, one that does not, three replies, one person who
/// left.
fn expect_round(before: &StateSnapshot, after: &StateSnapshot, events: &[Event]) {
    assert_eq!(after.bot_messages().len(), before.bot_messages().len() + 3);
    assert_eq!(after.hits("9-18"), before.hits("9-18") + 1);
    assert_eq!(after.members().len(), before.members().len() + 1);
    let left = |picture: &StateSnapshot| {
        picture.members().iter().filter(|member| member["status"] == "left").count()
    };
    assert_eq!(left(after), left(before) + 1);
    let texts: Vec<_> = events
        .iter()
        .filter_map(|event| event.message_id.as_deref())
        .map(|id| after.message(id)["content"].as_str().unwrap_or("(unsent)").to_owned())
        .collect();
    assert!(texts.iter().any(|text| text.starts_with("third")), "{texts:?}");
    assert!(!texts.iter().any(|text| text.starts_with("secret")), "{texts:?}");
    let images = events.iter().filter(|event| event.json["message"]["type"] == "image");
    let states: Vec<_> = images
        .filter_map(|event| event.message_id.as_deref())
        .map(|id| after.message(id)["mediaStatus"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(states, ["erased", "stored"]);
}
