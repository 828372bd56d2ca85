//! Events that PostgreSQL refuses: each goes to the dead letters by itself, with its reason, and
//! delays nobody. `workers/tests/stages/backup.rs` shows it on SQLite. And an event that NATS refuses,
//! which not even reaches them.

use serde_json::{Value, json};

use super::conversation::{emulator, group};
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

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

/// Maximum size of a webhook's body, and of a message of a NATS server as it comes.
const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nats_can_never_take_costs_nothing_else_of_its_webhook() {
    let mut ground = TestEnv::new(Parts::Servers).await;
    let limit = (2 * MEBIBYTE).to_string();
    ground.settings.push(("CHATKEEP_INGRESS_MAX_BODY_BYTES", limit));
    let mut stack = Stack::on(ground, emulator().await).await;
    let warned = stack.process.line("ingress.max_body_bytes").await;
    assert!(warned.contains("WARN") && warned.contains("max_payload"), "{warned}");
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let large = "L".repeat(128);
    let body = |text: &str| {
        let neighbour = said("01HN", chat, user, "920002", "good").replace("\n            ", "");
        let events = [said(&large, chat, user, "920001", text), neighbour].join(",");
        format!(r#"{{"events":[{events}]}}"#)
    };
    let whole = body(&"x".repeat(MEBIBYTE - body("").len()));
    assert_eq!(whole.len(), MEBIBYTE);
    assert_eq!(stack.line.post(stack.line.sign_raw(whole)).await, Some(200));
    let lost = stack.process.line("event lost").await;
    assert!(lost.contains("WARN") && lost.contains(&large) && lost.contains("bytes="), "{lost}");
    until("its neighbour is kept", DEADLINE, async || texts(&stack, chat).await == ["good"]).await;
    assert_eq!(dead_letters(&stack).await.len(), 0);
    let (metrics, logged) = (stack.metrics().await, stack.process.stderr());
    let counts = |line: &str| {
        line.starts_with("chatkeep_ingress_lost_events_total{bot=") && line.ends_with("} 1")
    };
    assert!(metrics.lines().any(counts), "{metrics}");
    assert!(!logged.iter().any(|line| line.contains("is unavailable")), "{logged:#?}");
    assert!(stack.ready().await);
}
