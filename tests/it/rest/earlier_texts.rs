//! Earlier texts of edited messages by the API: who may have them kept, and where they are shown.

use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::ChannelChange;
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, OWNER, Rest, at, message, send, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{edited, unsent};

/// Time of the first message: 2026-01-02 03:04:05 UTC.
const START: i64 = 1_767_323_045_000;

fn setting(keep: &Value) -> Value {
    json!({"keepEarlierTexts": keep})
}

async fn set(rest: &Rest, keep: bool) -> super::Answer {
    send(rest.put(&under("/backup/config"), &setting(&json!(keep)))).await
}

/// Returns a message that is edited twice.
fn story(id: &str) -> [ChannelChange; 3] {
    [
        message(id, OWNER, "2026-01-02T03:04:05Z", "first"),
        edited(CHANNEL, id, START + 1_000, "second"),
        edited(CHANNEL, id, START + 2_000, "third"),
    ]
}

/// Returns its earlier texts as they are shown.
fn earlier() -> Value {
    json!([
        {"content": "first", "writtenAt": "2026-01-02T03:04:05.000Z"},
        {"content": "second", "writtenAt": "2026-01-02T03:04:06.000Z"},
    ])
}

async fn one(rest: &Rest, id: &str) -> Value {
    send(rest.get(&under(&format!("/backup/messages/{id}")))).await.ok()
}

async fn exported(rest: &Rest, format: &str) -> String {
    let answer = send(rest.get(&under(&format!("/backup/export?format={format}")))).await;
    String::from_utf8(answer.body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admins_and_the_owner_say_whether_they_are_kept() {
    let mut rest = Rest::start(&[]).await;
    let shown = async |rest: &Rest| {
        send(rest.get(&under(""))).await.ok()["config"]["backup"]["keepEarlierTexts"].clone()
    };
    assert_eq!(shown(&rest).await, false);
    rest.stack.use_key("ck_member");
    set(&rest, true).await.refused(403, "permission_denied");
    let (channel, owner) = (CHANNEL.into(), OWNER.into());
    let members = rest.store.members();
    members.set_role(&channel, &owner, &MEMBER.into(), Role::Admin, at(4)).await.unwrap();
    let path = under("/backup/config");
    for bad in [Value::Null, json!(1), json!("true")] {
        let refused = send(rest.put(&path, &setting(&bad))).await;
        assert_eq!(refused.refused(400, "invalid_request")["field"], "/keepEarlierTexts", "{bad}");
    }
    let answer = set(&rest, true).await.ok();
    let backup = &answer["config"]["backup"];
    assert_eq!(backup["keepEarlierTexts"], true);
    assert_eq!(answer, json!({"config": {"backup": backup}}), "nothing that needs another scope");
    send(rest.put(&path, &json!({"timeZone": "UTC"}))).await.ok();
    assert_eq!(shown(&rest).await, true, "each setting alone leaves the others");
    // A key that may not read all times has nothing erased that it may not read.
    let since = Timestamp::parse("2026-01-02T00:00:00Z");
    rest.key("ck_since", OWNER, |key| key.not_before = since).await;
    rest.stack.use_key("ck_since");
    set(&rest, false).await.refused(403, "insufficient_permissions");
    rest.stack.use_key("ck_member");
    assert_eq!(set(&rest, false).await.ok()["config"]["backup"]["keepEarlierTexts"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_shown_with_one_message_alone() {
    let rest = Rest::start(&[]).await;
    set(&rest, true).await.ok();
    rest.keep(&story("m1")).await;
    rest.keep(&story("m2")).await;
    rest.keep(&[unsent(CHANNEL, "m2", START + 3_000)]).await;
    let whole = one(&rest, "m1").await;
    assert_eq!((&whole["content"], &whole["earlierTexts"]), (&json!("third"), &earlier()));
    assert!(one(&rest, "m2").await.get("earlierTexts").is_none());
    let list = send(rest.get(&under("/backup/messages"))).await.ok();
    for row in list["messages"].as_array().unwrap() {
        assert!(row.get("earlierTexts").is_none(), "{row}");
    }
    assert_eq!(list["messages"][1]["bytes"], whole["bytes"], "they count there, too");
    let search = under("/backup/search?q=third");
    until("it is found", DEADLINE, async || send(rest.get(&search)).await.json()["total"] == 1)
        .await;
    let found = send(rest.get(&search)).await.ok();
    assert!(found["hits"][0]["message"].get("earlierTexts").is_none(), "{found}");
    for gone in ["first", "second"] {
        let found = send(rest.get(&under(&format!("/backup/search?q={gone}")))).await.ok();
        assert_eq!(found["total"], 0, "{gone}: they are not searched");
    }
    for (format, has) in [("jsonl", true), ("html", true), ("csv", false)] {
        assert_eq!(exported(&rest, format).await.contains("second"), has, "{format}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switching_them_off_hides_and_erases_them() {
    let mut rest = Rest::start(&[]).await;
    set(&rest, true).await.ok();
    rest.keep(&story("m1")).await;
    assert_eq!(one(&rest, "m1").await["earlierTexts"], earlier());
    let whole = one(&rest, "m1").await["bytes"].as_i64().unwrap();
    set(&rest, false).await.ok();
    assert!(one(&rest, "m1").await.get("earlierTexts").is_none());
    for format in ["jsonl", "html"] {
        assert!(!exported(&rest, format).await.contains("second"), "{format}");
    }
    // The job runs at the start, and every minute.
    rest.stack.crash().await;
    until("they are erased", DEADLINE, async || {
        one(&rest, "m1").await["bytes"].as_i64().unwrap() < whole
    })
    .await;
    let messages = rest.store.messages();
    let left = messages.find_earlier_texts(&CHANNEL.into(), None, 10).await.unwrap();
    assert!(left.0.is_empty(), "{left:?}");
    rest.stack.is_well().await;
}
