//! The modes in a group: near questions get a reply, others do not, and semantic lasts as long as
//! the owner's plan.

use chatkeep_emulator::{Emulator, Entry};
use serde_json::json;

use super::conversation::{emulator, group};
use super::on_both;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(a_group_is_answered_as_its_mode_says);

fn said(line: &Emulator, chat: &str) -> Vec<String> {
    let bot = line.transcript(chat).into_iter().filter(Entry::is_bot);
    bot.filter_map(|entry| entry.text).collect()
}

/// Waits until the assistant works in that mode: a plan is changed by another process.
async fn works(stack: &Stack, assistant: &str, mode: &str) {
    until("the mode has changed", DEADLINE, async || {
        let tried = stack.post(&format!("{assistant}/try"), json!({"text": "hello"})).await;
        tried["mode"] == mode
    })
    .await;
}

async fn a_group_is_answered_as_its_mode_says(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat) = (stack.line.clone(), group.chat_id.as_str());
    let (owner, user) = (people[0].user_id.as_str(), people[1].user_id.as_str());
    let assistant = format!("/channels/{chat}/assistant");
    let config = format!("{assistant}/config");
    let rule = json!({"keywords": ["how do I reset my password"], "answer": "press forgot"});
    stack.post(&format!("{assistant}/qa"), rule).await;
    let say = async |text: &str| {
        line.say(chat, user, text).await.unwrap();
        stack.drained().await;
        said(&line, chat)
    };
    assert!(say("opening huors").await.is_empty(), "word for word only");

    stack.put(&config, json!({"assistant": {"qa": {"mode": "fuzzy"}}})).await;
    assert_eq!(say("how do I rest my pasword").await, ["press forgot"]);
    assert_eq!(say("see you tomorrow").await.len(), 1);

    stack.ground.command(&line, &["user", "set-plan", owner, "pro"]).await;
    stack.put(&config, json!({"assistant": {"qa": {"mode": "semantic"}}})).await;
    works(&stack, &assistant, "semantic").await;
    let meant = "I forgot my password, how can I get a new one?";
    assert_eq!(say(meant).await, ["press forgot", "press forgot"]);
    assert_eq!(say("see you tomorrow").await.len(), 2);

    stack.ground.command(&line, &["user", "set-plan", owner, "free"]).await;
    works(&stack, &assistant, "fuzzy").await;
    assert_eq!(say("how do I rest my pasword").await.len(), 3);
    let rules = stack.get(&format!("{assistant}/qa")).await;
    assert_eq!(rules["items"][2]["hitCount"], 3);
    assert!(line.violations().is_empty(), "{:?}", line.violations());
}
