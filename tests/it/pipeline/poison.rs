//! Events that PostgreSQL refuses: each goes to the dead letters by itself, with its reason, and
//! delays nobody. `workers/tests/stages/backup.rs` shows it on SQLite.

use serde_json::{Value, json};

use super::conversation::{emulator, group};
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

/// Returns a text message; `id` and `event` are written into the JSON as they are.
fn said(event: &str, chat: &str, user: &str, id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"message","webhookEventId":"{event}","timestamp":1767323045678,"mode":"active",
            "source":{{"type":"group","groupId":"{chat}","userId":"{user}"}},
            "message":{{"id":"{id}","type":"text","text":"{text}"}}}}"#
    )
}

async fn dead_letters(stack: &Stack) -> Vec<Value> {
    let list = stack.ground.command(&stack.line, &["dead", "list", "--json"]).await;
    list.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn texts(stack: &Stack, chat: &str) -> Vec<String> {
    let kept = stack.messages(chat).await;
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    kept.iter().map(text).collect()
}

/// Makes the database refuse a message permanently, whatever chatkeep checks before.
const REFUSE: &str =
    "ALTER TABLE messages ADD CONSTRAINT no_poison CHECK (content NOT LIKE '%poison%')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_database_refuses_is_put_aside_alone() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    stack.sql(REFUSE.to_owned()).await;
    let events: Vec<_> = (0..40)
        .map(|n| {
            let text = if n % 20 == 7 { "poison" } else { "good" };
            said(&format!("01H{n}"), chat, user, &format!("91{n:04}"), &format!("{text} {n}"))
        })
        .collect();
    let body = format!(r#"{{"destination":"U1","events":[{}]}}"#, events.join(","));
    assert_eq!(stack.line.post(stack.line.sign_raw(body)).await, Some(200));
    until("the good ones are kept", DEADLINE, async || {
        texts(&stack, chat).await.iter().filter(|text| text.starts_with("good")).count() == 38
    })
    .await;
    until("two are put aside", DEADLINE, async || dead_letters(&stack).await.len() == 2).await;
    for letter in dead_letters(&stack).await {
        assert_eq!(letter["consumer"], "backup");
        assert_eq!(letter["attempts"], 1, "it is not tried again and again");
        let reason = letter["reason"].as_str().unwrap();
        let expected = "the database rejects the statement: 23514";
        assert!(reason.starts_with(expected) && !reason.contains("poison "), "{reason}");
    }
    let path = format!("/channels/{chat}/assistant/rules");
    stack.put(&path, json!({"content": "still here"})).await;
    stack.drained().await;
    stack.is_well().await;
}
