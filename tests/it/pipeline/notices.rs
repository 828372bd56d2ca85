//! A quota fills up, and its user is notified in their own chat with the bot, once for each step.

use chatkeep_emulator::Entry;
use serde_json::json;

use super::conversation::{emulator, group};
use super::on_both;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(a_user_hears_once_that_their_quota_fills_up);

const QUOTA: i64 = 524_288_000;

/// Charges a channel and its user that many bytes, as if messages of that size were stored.
pub(crate) async fn fill(stack: &Stack, channel: &str, user: &str, bytes: i64) {
    let sql = format!(
        "UPDATE channels SET bytes = {bytes} WHERE channel_id = '{channel}';
         UPDATE subscriptions SET bytes_at_subscribe = 0 WHERE channel_id = '{channel}';
         UPDATE users SET used_bytes = {bytes} WHERE user_id = '{user}'"
    );
    stack.sql(sql).await;
}

pub(crate) fn told(stack: &Stack, user: &str) -> Vec<String> {
    let transcript = stack.line.transcript(user);
    transcript.into_iter().filter(Entry::is_bot).filter_map(|entry| entry.text).collect()
}

async fn a_user_hears_once_that_their_quota_fills_up(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (channel, user) = (group.chat_id.as_str(), people[0].user_id.as_str());
    stack.line.follow(user).await.unwrap();
    stack.line.set_language(user, "zh-TW");
    stack.known(user).await;

    let hears = async |stack: &Stack, count: usize, what: &str| {
        until(&format!("hears {what}"), DEADLINE, async || told(stack, user).len() == count).await;
        let heard = told(stack, user);
        assert!(heard[count - 1].contains(what), "{what}: {heard:?}");
    };
    let mut count = 0;
    for (part, what) in [(80, "80%"), (90, "90%"), (100, "已滿")] {
        stack.drained().await;
        fill(&stack, channel, user, QUOTA / 100 * part - 5).await;
        stack.line.say(channel, user, format!("this crosses {part}")).await.unwrap();
        count += 1;
        hears(&stack, count, what).await;
        stack.line.say(channel, user, "and this does not").await.unwrap();
    }
    let detail = stack.get(&format!("/channels/{channel}")).await;
    assert_eq!(detail["config"]["backup"]["paused"], true);
    stack.crash().await;
    stack.ground.command(&stack.line, &["user", "set-plan", user, "standard"]).await;
    hears(&stack, 4, "已恢復備份").await;

    // Users who switched notices off get none; a redelivered event sends none.
    assert_eq!(stack.get("/me/notices").await, json!({"usage": true}));
    assert_eq!(stack.put("/me/notices", json!({"usage": false})).await, json!({"usage": false}));
    stack.ground.command(&stack.line, &["user", "set-plan", user, "free"]).await;
    until("the notice is settled", DEADLINE, async || {
        stack.metrics().await.contains("chatkeep_usage_notices_total{result=\"not_wanted\"} 1")
    })
    .await;
    assert_eq!(told(&stack, user).len(), 4);
    assert!(stack.line.violations().is_empty(), "{:?}", stack.line.violations());
}
