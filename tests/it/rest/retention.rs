//! Retention by the API: permission to set it, responses that show it, and its effect.

use chatkeep_core::role::Role;
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, OWNER, Rest, at, message, now, send, under};
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
