//! The program killed at random moments: nothing acknowledged is lost, nothing is counted twice,
//! nobody gets the same answer twice.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep::demo::emulator::{Action, Emulator, Post, User};
use serde_json::Value;

use super::conversation::{emulator, group};
use super::on_both;
use super::picture::Picture;
use crate::stack::{Parts, Stack};

on_both!(killed_fifty_times_during_five_thousand_messages);

const MESSAGES: usize = 5_000;
const KILLS: u64 = 50;
/// One message in so many asks something.
const QUESTIONS: usize = 25;

async fn killed_fifty_times_during_five_thousand_messages(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    let sender = tokio::spawn(send_all(stack.line.clone(), channel.to_owned(), people));
    let mut moment = 12_345_u64;
    for _ in 0..KILLS {
        moment = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        // The moment itself is what is random here; nothing is waited for.
        tokio::time::sleep(Duration::from_millis(30 + (moment >> 33) % 300)).await;
        stack.crash().await;
    }
    let sent = sender.await.unwrap();
    stack.drained().await;
    let dead = stack.ground.command(&stack.line, &["dead", "list"]).await;
    assert_eq!(dead.lines().count(), 1, "crashes are nobody's fault:\n{dead}");

    let all = stack.messages(channel).await;
    nothing_lost_or_doubled(&sent, &all);
    let picture = Picture::of(&stack, channel).await;
    picture.assert_counted(&all);
    let questions = i64::try_from(MESSAGES / QUESTIONS).unwrap();
    assert_eq!(picture.hits("ask me"), questions, "every match is counted exactly once");
    assert!(stack.line.violations().is_empty(), "{:?}", stack.line.violations());
    let answered = answered_once(&stack.line, channel);
    println!("{parts:?}: {answered} of {questions} questions answered over {KILLS} kills");
}

/// Sends every message until it is accepted, ten at a time; their ids.
async fn send_all(line: Emulator, channel: String, people: Vec<User>) -> BTreeSet<String> {
    let mut sent = BTreeSet::new();
    for first in (0..MESSAGES).step_by(10) {
        // Built just before it is sent, so that questions can still be answered.
        let batch = (first..first + 10).map(|n| {
            let text = if n % QUESTIONS == 0 { "wifi".to_owned() } else { format!("m{n}") };
            let user = people[n % people.len()].user_id.clone();
            let post = Post::Text(text.into());
            let said = Action::Send { chat: channel.clone(), user, post };
            line.build(said).unwrap().remove(0)
        });
        let events: Vec<_> = batch.collect();
        sent.extend(events.iter().filter_map(|event| event.message_id.clone()));
        let webhooks = events.into_iter().map(|event| line.webhook(vec![event])).collect();
        for delivery in line.deliver_all(webhooks, 10).await {
            assert!(delivery.accepted, "{delivery:?}");
        }
    }
    sent
}

fn nothing_lost_or_doubled(sent: &BTreeSet<String>, all: &[Value]) {
    let kept: Vec<_> = all.iter().filter(|m| m["isBot"] == false).collect();
    let ids: BTreeSet<_> = kept.iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), kept.len(), "a message is kept twice");
    let lost: Vec<_> = sent.difference(&ids).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), sent.len());
}

/// How many events were answered, none of them twice.
fn answered_once(line: &Emulator, channel: &str) -> usize {
    let mut answered = BTreeSet::new();
    for entry in line.transcript(channel) {
        if let Some(event) = entry.answers.clone() {
            assert!(answered.insert(event), "answered twice: {entry:?}");
        }
    }
    answered.len()
}
