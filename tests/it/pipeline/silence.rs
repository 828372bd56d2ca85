//! Cases in which the bot must be silent or may write unprompted, and the outcome of a reply that
//! is too late.

use std::time::Duration;

use chatkeep_emulator::{Action, Emulator, Entry, MentionTarget, Post, Text};
use serde_json::json;

use super::conversation::{emulator, group};
use super::on_both;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

on_both!(
    no_match_replies_only_to_whoever_means_the_bot,
    a_late_reply_is_pushed_only_where_that_is_on,
);

/// Returns the bot's messages in a chat, in order.
fn said(line: &Emulator, chat: &str) -> Vec<String> {
    let bot = line.transcript(chat).into_iter().filter(Entry::is_bot);
    bot.filter_map(|entry| entry.text).collect()
}

async fn no_match_replies_only_to_whoever_means_the_bot(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat) = (stack.line.clone(), group.chat_id.as_str());
    let user = people[1].user_id.as_str();
    let config = format!("/channels/{chat}/assistant/config");
    let qa = json!({"noMatchReply": "I do not know", "noMatchScope": "addressed"});
    stack.put(&config, json!({"assistant": {"qa": qa}})).await;

    line.say(chat, user, "just talking").await.unwrap();
    stack.drained().await;
    assert!(said(&line, chat).is_empty());
    let mention = Text::from("@Chatkeep what now").mentioning("@Chatkeep", MentionTarget::Bot);
    line.say(chat, user, mention).await.unwrap();
    stack.drained().await;
    assert_eq!(said(&line, chat), ["I do not know"]);
    let own = line.transcript(chat).into_iter().find(Entry::is_bot).unwrap();
    let quote = Text::from("why?").quoting(own.message_id.unwrap());
    line.say(chat, user, quote).await.unwrap();
    stack.drained().await;
    assert_eq!(said(&line, chat).len(), 2);

    line.set_standby(true);
    line.say(chat, user, "hours").await.unwrap();
    stack.drained().await;
    assert_eq!(said(&line, chat).len(), 2, "another bot answers now");
    line.set_standby(false);
    stack.put(&config, json!({"assistant": {"qa": {"noMatchScope": "always"}}})).await;
    line.say(chat, user, "just talking").await.unwrap();
    stack.drained().await;
    assert_eq!(said(&line, chat).len(), 3);
    stack.put(&config, json!({"assistant": {"enabled": false}})).await;
    line.say(chat, user, "hours").await.unwrap();
    stack.drained().await;
    assert_eq!(said(&line, chat).len(), 3);
    assert!(line.violations().is_empty(), "{:?}", line.violations());
}

async fn a_late_reply_is_pushed_only_where_that_is_on(parts: Parts) {
    for fallback in [false, true] {
        let mut ground = TestEnv::new(parts).await;
        ground.settings = vec![
            ("CHATKEEP_REPLY_DEADLINE_SECONDS", "1".to_owned()),
            ("CHATKEEP_REPLY_PUSH_FALLBACK", fallback.to_string()),
        ];
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let (line, chat) = (stack.line.clone(), group.chat_id.as_str());
        let late = Action::Send {
            chat: chat.to_owned(),
            user: people[1].user_id.clone(),
            post: Post::Text("hours".into()),
        };
        let events = line.build(late).unwrap();
        let sent = line.now();
        let limit = i64::try_from(Duration::from_millis(1_100).as_millis()).unwrap();
        until("the deadline has passed", DEADLINE, async || line.now() > sent + limit).await;
        for _ in 0..2 {
            let webhook = line.webhook(events.clone());
            assert!(line.deliver(webhook).await.accepted);
        }
        stack.drained().await;
        let expected: &[&str] = if fallback { &["9-18"] } else { &[] };
        assert_eq!(said(&line, chat), expected);
        let rules = stack.get(&format!("/channels/{chat}/assistant/qa")).await;
        assert_eq!(rules["items"][0]["hitCount"], 1, "the match counts, answered or not");
        assert!(line.violations().is_empty(), "{:?}", line.violations());
    }
}
