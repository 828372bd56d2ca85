//! Retention and deletion by the API: permission, responses that show it, and its effect.

use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, OWNER, Rest, at, message, now, send, texts, under};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

fn config(days: &Value) -> Value {
    json!({"retentionDays": days})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_says_how_long() {
    let mut rest = Rest::start(&[]).await;
    let (channel, owner) = (CHANNEL.into(), OWNER.into());
    rest.store
        .members()
        .set_role(&channel, &owner, &MEMBER.into(), Role::Admin, at(4))
        .await
        .unwrap();
    let path = under("/backup/config");
    let shown =
        async |rest: &Rest| send(rest.get(&under(""))).await.ok()["config"]["backup"].clone();
    assert_eq!(shown(&rest).await["retentionDays"], Value::Null);
    let put = send(rest.put(&path, &config(&json!(90)))).await.ok();
    assert_eq!(put["config"]["backup"]["retentionDays"], 90);
    for bad in [json!(0), json!(36_501), json!(-1), json!(1.5), json!("7"), json!(true)] {
        let refused = send(rest.put(&path, &config(&bad))).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(refused["field"], "/retentionDays", "{bad}");
    }
    // Each setting alone leaves the other one.
    send(rest.put(&path, &json!({"timeZone": "Asia/Taipei"}))).await.ok();
    let both = shown(&rest).await;
    assert_eq!((&both["retentionDays"], &both["timeZone"]), (&json!(90), &json!("Asia/Taipei")));
    rest.stack.use_key("ck_member");
    send(rest.put(&path, &config(&json!(1)))).await.refused(403, "permission_denied");
    send(rest.put(&path, &config(&Value::Null))).await.refused(403, "permission_denied");
    send(rest.put(&path, &json!({"timeZone": "UTC"}))).await.ok();
    rest.stack.use_key("ck_owner");
    assert_eq!(shown(&rest).await["retentionDays"], 90);
    assert_eq!(send(rest.get(&under("/backup/coverage"))).await.ok()["retentionDays"], 90);
    send(rest.put(&path, &config(&Value::Null))).await.ok();
    assert_eq!(shown(&rest).await["retentionDays"], Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_old_goes_from_store_and_search() {
    let mut rest = Rest::start(&[]).await;
    let old: Vec<_> = (0..1_200)
        .map(|n| message(&format!("old{n}"), OWNER, "2026-01-02T12:00:00Z", "an ancient word"))
        .collect();
    rest.keep(&old).await;
    let fresh = now().to_string();
    rest.keep(&[message("new", MEMBER, &fresh, "a recent word")]).await;
    let (ground, line) = (&rest.stack.ground, &rest.stack.line);
    ground.command(line, &["reindex", "--channel", CHANNEL]).await;
    let found = async |rest: &Rest| {
        let found = send(rest.get(&under("/backup/search?q=word"))).await.ok();
        found["total"].as_i64().unwrap()
    };
    until("everything is found", DEADLINE, async || found(&rest).await == 1_201).await;
    let coverage = async |rest: &Rest| send(rest.get(&under("/backup/coverage"))).await.ok();
    assert_eq!(coverage(&rest).await["removedBefore"], Value::Null);
    send(rest.put(&under("/backup/config"), &config(&json!(30)))).await.ok();
    // It runs at the start, and every few minutes.
    rest.stack.crash().await;
    until("what is old is gone", DEADLINE, async || {
        send(rest.get("/usage")).await.ok()["channels"][CHANNEL]["messageCount"] == 1
    })
    .await;
    until("and not found", DEADLINE, async || found(&rest).await == 1).await;
    assert!(coverage(&rest).await["removedBefore"].is_string());
    let (ground, line) = (&rest.stack.ground, &rest.stack.line);
    until("the metrics tell", DEADLINE, async || {
        let url = format!("http://{}/metrics", ground.metrics);
        let text = rest.http.get(url).send().await.unwrap().text().await.unwrap();
        text.contains("chatkeep_retention_deleted_total{why=\"age\"} 1200")
    })
    .await;
    let well = ground.said(line, &["doctor"]).await;
    assert!(well.starts_with("no differences"), "{well}");
}

/// Returns the program with two messages, and a key of the owner that may read the later one.
async fn two_messages() -> Rest {
    let rest = Rest::start(&[]).await;
    rest.keep(&[
        message("old", MEMBER, "2026-01-02T12:00:00Z", "x"),
        message("new", MEMBER, "2026-01-04T12:00:00Z", "y"),
    ])
    .await;
    let start = Timestamp::parse("2026-01-03T00:00:00Z").unwrap();
    rest.key("ck_since", OWNER, |key| key.not_before = Some(start)).await;
    rest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deleted_shows_in_the_coverage() {
    let mut rest = two_messages().await;
    let removed_before = async |rest: &Rest| {
        let coverage = send(rest.get(&under("/backup/coverage"))).await.ok();
        coverage["removedBefore"].clone()
    };
    assert_eq!(removed_before(&rest).await, Value::Null);
    let delete = async |rest: &Rest, before: &str, parameters: &str| {
        let path = under(&format!("/backup/messages?before={before}{parameters}"));
        send(rest.delete(&path)).await.ok()["deletedCount"].clone()
    };
    let (first, second) = ("2026-01-03T00:00:00.000Z", "2026-01-05T00:00:00.000Z");
    assert_eq!(delete(&rest, first, "&dryRun=true").await, 1);
    assert_eq!(removed_before(&rest).await, Value::Null, "nothing was deleted");
    assert_eq!(delete(&rest, first, "").await, 1);
    assert_eq!(removed_before(&rest).await, first);
    rest.stack.use_key("ck_since");
    assert_eq!(removed_before(&rest).await, Value::Null, "of what the key may not read");
    rest.stack.use_key("ck_owner");
    assert_eq!(delete(&rest, second, "").await, 1);
    rest.stack.use_key("ck_since");
    assert_eq!(removed_before(&rest).await, second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_may_not_read_everything_removes_nothing() {
    let mut rest = two_messages().await;
    rest.stack.use_key("ck_since");
    let delete = under("/backup/messages?before=2026-01-05T00:00:00Z");
    let erase = |user: &str| under(&format!("/members/{user}/data"));
    for path in [format!("{delete}&dryRun=true"), delete, erase(MEMBER), erase(OWNER)] {
        let refused = send(rest.delete(&path)).await.refused(403, "insufficient_permissions");
        assert_eq!(refused["error"], "Insufficient permissions", "{path}");
    }
    let settings = under("/backup/config");
    let shorter = send(rest.put(&settings, &config(&json!(1)))).await;
    shorter.refused(403, "insufficient_permissions");
    send(rest.put(&settings, &json!({"timeZone": "UTC"}))).await.ok();
    rest.stack.use_key("ck_owner");
    let stored = send(rest.get(&under("/backup/messages"))).await.ok();
    assert_eq!(texts(&stored["messages"], "id"), ["new", "old"]);
}
