//! The program killed at random moments: no acknowledged event is lost, nothing is counted twice,
//! nobody gets the same reply twice.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_core::message::Content;
use chatkeep_emulator::{Action, Emulator, Event, Media, Post, User};
use chatkeep_store::MessageFilter;
use serde_json::Value;

use super::conversation::{emulator, group};
use super::on_both;
use super::shuffle::keep_earlier_texts;
use super::state_snapshot::StateSnapshot;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(killed_again_and_again_while_messages_come);

/// Number of messages and kills, at moments that nobody thought of: the death of a process between
/// any two steps of a stage is tested in `workers/tests/stages/`. For more:
/// `CHATKEEP_CRASH=20000,500 cargo test --release --test it crash`.
const USUAL: (usize, usize) = (1_200, 12);
/// Number of messages per question.
const QUESTIONS: usize = 25;
/// Number of messages per picture.
const PICTURES: usize = 20;

#[expect(clippy::disallowed_methods, reason = "how much to test is no setting of the program")]
fn size() -> (usize, usize) {
    let Ok(size) = std::env::var("CHATKEEP_CRASH") else { return USUAL };
    let (messages, kills) = size.split_once(',').unwrap();
    (messages.parse().unwrap(), kills.parse().unwrap())
}

async fn killed_again_and_again_while_messages_come(parts: Parts) {
    let (messages, kills) = size();
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    keep_earlier_texts(&stack, channel).await;
    let sender = tokio::spawn(send_all(stack.line.clone(), channel.to_owned(), people, messages));
    let mut moment = 12_345_u64;
    for _ in 0..kills {
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        // A random moment of its work, not of the clock: on a busy machine it would not have begun.
        let worked = Duration::from_millis(15 + (moment >> 33) % 150);
        let process = &stack.process;
        let end = process.processor_time() + worked;
        until("it is time for the kill", DEADLINE, async || {
            process.processor_time() >= end || sender.is_finished()
        })
        .await;
        stack.crash().await;
    }
    let sent = sender.await.unwrap();
    // Messages leased by a dead process come back late, and the more often the fewer at a time.
    stack.drained_within(DEADLINE * (2 + u32::try_from(kills / 50).unwrap())).await;
    let dead = stack.ground.command(&stack.line, &["dead", "list"]).await;
    assert_eq!(dead.lines().count(), 1, "crashes are nobody's fault:\n{dead}");

    let all = stack.messages(channel).await;
    nothing_lost_or_doubled(&sent, &all);
    everything_happened(messages, &all);
    earlier_texts_are_kept(&stack, channel, messages / PICTURES).await;
    let picture = StateSnapshot::of(&stack, channel).await;
    picture.assert_counted(&all);
    stack.is_well().await;
    let questions = i64::try_from(messages / QUESTIONS).unwrap();
    assert_eq!(picture.hits("ask me"), questions, "every match is counted exactly once");
    assert!(stack.line.violations().is_empty(), "{:?}", stack.line.violations());
    let answered = answered_once(&stack.line, channel);
    println!("{parts:?}: {answered} of {questions} questions answered over {kills} kills");
}

/// Sends every message until it is accepted, ten at a time; returns their ids.
async fn send_all(
    line: Emulator,
    channel: String,
    people: Vec<User>,
    messages: usize,
) -> BTreeSet<String> {
    let mut sent = BTreeSet::new();
    for first in (0..messages).step_by(10) {
        // Created just before it is sent, so that questions can still get a reply.
        let one = |n: usize| events_of(&line, &channel, &people[n % people.len()].user_id, n);
        let events: Vec<_> = (first..first + 10).flat_map(one).collect();
        sent.extend(events.iter().filter_map(|event| event.message_id.clone()));
        let webhooks = events.into_iter().map(|event| line.webhook(vec![event])).collect();
        for delivery in line.deliver_all(webhooks, 10).await {
            assert!(delivery.accepted, "{delivery:?}");
        }
    }
    sent
}

/// Returns the events of one person: mostly a message, now and then an unsend or an edit.
fn events_of(line: &Emulator, channel: &str, user: &str, n: usize) -> Vec<Event> {
    let post = match n {
        n if n % QUESTIONS == 0 => Post::Text("wifi".into()),
        n if matches!(n % PICTURES, 1 | 3) => Post::Image(Media::new("image/png", format!("p{n}"))),
        n => Post::Text(format!("m{n}").into()),
    };
    let said = Action::Send { chat: channel.to_owned(), user: user.to_owned(), post };
    let mut events = line.build(said).unwrap();
    let message = events[0].message_id.clone().unwrap();
    if matches!(n % PICTURES, 3 | 7) {
        events.extend(line.build(Action::Unsend { message }).unwrap());
    } else if n % PICTURES == 9 {
        let text = format!("edited {n}").into();
        events.extend(line.build(Action::Edit { message, text }).unwrap());
    }
    events
}

/// Checks that pictures are stored, edits made, and retracted content is gone.
fn everything_happened(messages: usize, all: &[Value]) {
    let share = messages / PICTURES;
    let images: Vec<_> = all.iter().filter(|message| message["type"] == "image").collect();
    let of = |status: &str| images.iter().filter(|image| image["mediaStatus"] == status).count();
    assert_eq!((images.len(), of("stored"), of("erased")), (2 * share, share, share));
    let unsent = all.iter().filter(|message| !message["unsentAt"].is_null()).count();
    assert_eq!(unsent, 2 * share);
    let edited = |text: &str| text.starts_with("edited ");
    let edited = all.iter().filter(|message| message["content"].as_str().is_some_and(edited));
    assert_eq!(edited.count(), share);
}

/// Checks that each of so many edited messages has what it said before, once.
async fn earlier_texts_are_kept(stack: &Stack, channel: &str, edited: usize) {
    let (store, channel) = (stack.ground.store().await, channel.into());
    let filter = MessageFilter { limit: u32::MAX, ..MessageFilter::default() };
    let mut messages = store.messages().list(&channel, &filter).await.unwrap().messages;
    store.messages().add_earlier_texts(&channel, &mut messages).await.unwrap();
    store.close().await;
    messages.retain(|message| message.edited_at.is_some());
    assert_eq!(messages.len(), edited);
    for message in messages {
        let words = |content: Option<Content>| content.and_then(|content| content.legible());
        let now = words(message.content.clone()).unwrap();
        let earlier = message.earlier_texts.as_slice().iter().map(|text| words(text.parsed()));
        let expected = now.replace("edited ", "m");
        assert_eq!(earlier.collect::<Vec<_>>(), [Some(expected)], "{now}");
    }
}

fn nothing_lost_or_doubled(sent: &BTreeSet<String>, all: &[Value]) {
    let kept: Vec<_> = all.iter().filter(|m| m["isBot"] == false).collect();
    let ids: BTreeSet<_> = kept.iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), kept.len(), "a message is kept twice");
    let lost: Vec<_> = sent.difference(&ids).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), sent.len());
}

/// Returns the number of events with a reply, none of them with two.
fn answered_once(line: &Emulator, channel: &str) -> usize {
    let mut answered = BTreeSet::new();
    for entry in line.transcript(channel) {
        if let Some(event) = entry.answers.clone() {
            assert!(answered.insert(event), "answered twice: {entry:?}");
        }
    }
    answered.len()
}
