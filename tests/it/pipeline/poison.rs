//! Events that the database would refuse: each goes to the dead letters by itself, with its reason,
//! and delays nobody.

use serde_json::{Value, json};

use super::conversation::{emulator, group};
use super::on_both;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(what_cannot_be_an_id_is_put_aside_alone, what_the_database_refuses_is_put_aside_alone,);

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

async fn what_cannot_be_an_id_is_put_aside_alone(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let long = "9".repeat(9_000);
    let events = [
        said("01A", chat, user, "900001", "before"),
        said("01B\\u0000", chat, user, "900002", "odd event id"),
        said("01C", chat, user, &long, "long message id"),
        said("01D", chat, user, "9000\\u000004", "nul in a message id"),
        said("01E", chat, &long, "900005", "long user id"),
        said("01F", &long, user, "900006", "long group id"),
        said("01G", chat, user, "900007", "after"),
    ];
    let body = format!(r#"{{"destination":"U\u0000","events":[{}]}}"#, events.join(","));
    assert_eq!(stack.line.post(stack.line.sign_raw(body)).await, Some(200));
    let all = async |wanted: &[&str]| {
        let kept = texts(&stack, chat).await;
        wanted.iter().all(|text| kept.iter().any(|kept| kept == text))
    };
    until("the others are kept", DEADLINE, async || {
        all(&["before", "odd event id", "after"]).await
    })
    .await;
    // Each of the three stages that take events dead-letters each of the four.
    until("the four are put aside", DEADLINE, async || dead_letters(&stack).await.len() == 12)
        .await;
    let dead = dead_letters(&stack).await;
    let reasons = |consumer: &str| {
        let of = dead.iter().filter(|letter| letter["consumer"] == consumer);
        let mut reasons: Vec<_> = of.map(|l| l["reason"].as_str().unwrap().to_owned()).collect();
        reasons.sort();
        reasons
    };
    let expected = [
        "message.id is not an identifier: it contains a control character",
        "message.id is not an identifier: it is longer than 255 bytes",
        "source.groupId is not an identifier: it is longer than 255 bytes",
        "source.userId is not an identifier: it is longer than 255 bytes",
    ];
    for stage in ["backup", "members", "assistant"] {
        assert_eq!(reasons(stage), expected, "{stage}");
    }
    assert!(dead.iter().all(|letter| letter["attempts"] == 1), "{dead:?}");
    stack.drained().await;
    assert!(stack.ready().await);
}

/// Makes the database refuse a message permanently, whatever chatkeep checks before.
async fn refuse(stack: &Stack) {
    let sql = match stack.ground.database {
        Some(_) => {
            "ALTER TABLE messages ADD CONSTRAINT no_poison CHECK (content NOT LIKE '%poison%')"
        }
        None => {
            "CREATE TRIGGER no_poison BEFORE INSERT ON messages WHEN NEW.content LIKE '%poison%'
             BEGIN SELECT RAISE(ABORT, 'no poison'); END"
        }
    };
    stack.sql(sql.to_owned()).await;
}

async fn what_the_database_refuses_is_put_aside_alone(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    refuse(&stack).await;
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
        let expected = match parts {
            Parts::Embedded => "the database rejects the statement: 1811",
            Parts::Servers => "the database rejects the statement: 23514",
        };
        assert!(reason.starts_with(expected) && !reason.contains("poison "), "{reason}");
    }
    let path = format!("/channels/{chat}/assistant/rules");
    stack.put(&path, json!({"content": "still here"})).await;
    stack.drained().await;
    stack.is_well().await;
}
