//! The response to a GET can be sent back: every object with a GET and a PUT, before and after its
//! first edit, the items of lists, and settings from before a downgrade.

use chatkeep_core::plan::Plan;
use chatkeep_core::role::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, OWNER, Rest, send, under};
use crate::store::at;

/// Returns every path with a GET and a PUT.
fn paths(webhook: &str, search: &str) -> Vec<String> {
    let routes = chatkeep_api::catalogue();
    let read = |path| routes.iter().any(|route| route.method == Method::GET && route.path == path);
    let written = routes.iter().filter(|route| route.method == Method::PUT && read(route.path));
    let named = written.map(|route| {
        let path = route.path.replace("{channelId}", CHANNEL).replace("{webhookId}", webhook);
        let path = path.replace("{savedSearchId}", search);
        assert!(!path.contains('{'), "{path}: say here what exists");
        path
    });
    named.collect()
}

async fn sent_back(rest: &Rest, path: &str) {
    let first = send(rest.get(path)).await;
    let put = send(rest.put(path, &first.ok())).await;
    assert_eq!(put.status.as_u16(), 200, "{path} {}", put.json());
    let second = send(rest.get(path)).await;
    assert_eq!(second.ok(), first.ok(), "{path}");
    assert_eq!(put.json(), first.json(), "{path}: PUT answers what GET does");
    assert_eq!(second.header("etag"), first.header("etag"), "{path}: that is no edit");
}

async fn webhook(rest: &Rest) -> String {
    let body = json!({
        "url": "https://example.org/hook?key=1",
        "events": ["message.received", "member.left"],
        "channelIds": [CHANNEL],
        "description": "for 測試",
    });
    let made = send(rest.post("/webhooks", &body)).await.ok();
    made["webhookId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_can_be_sent_back() {
    let rest = Rest::start(&[]).await;
    let hook = webhook(&rest).await;
    let search = json!({"name": "Where we eat", "query": "lunch", "channelIds": [CHANNEL]});
    let search = send(rest.post("/saved-searches", &search)).await.ok();
    let paths = paths(&hook, search["savedSearchId"].as_str().unwrap());
    assert!(paths.len() >= 5, "{paths:?}");
    for path in &paths {
        sent_back(&rest, path).await;
    }
    let config = json!({"assistant": {
        "enabled": false,
        "qa": {"mode": "fuzzy", "noMatchReply": "hm?", "cooldownSeconds": 5},
        "welcome": {"enabled": true, "message": "hi {displayName}"},
        "rules": {"enabled": true, "triggerKeywords": ["rules"]},
        "link": {"triggerKeywords": ["dashboard"]},
    }});
    send(rest.put(&under("/assistant/config"), &config)).await.ok();
    send(rest.put(&under("/assistant/rules"), &json!({"content": "be kind\n"}))).await.ok();
    send(rest.put(&format!("/webhooks/{hook}"), &json!({"enabled": false}))).await.ok();
    send(rest.put("/me/notices", &json!({"usage": false}))).await.ok();
    assert_eq!(send(rest.get("/me/notices")).await.ok(), json!({"usage": false}));
    for path in &paths {
        sent_back(&rest, path).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_changes_that_part() {
    let rest = Rest::start(&[]).await;
    let path = format!("/webhooks/{}", webhook(&rest).await);
    let before = send(rest.get(&path)).await.ok();
    let changed = send(rest.put(&path, &json!({"description": "other"}))).await.ok();
    for field in ["url", "events", "channelIds", "enabled", "mask", "createdAt"] {
        assert_eq!(changed[field], before[field], "{field}");
    }
    assert_eq!(changed["description"], "other");
    let all = send(rest.put(&path, &json!({"channelIds": null}))).await.ok();
    assert_eq!((&all["channelIds"], &all["description"]), (&Value::Null, &json!("other")));
    for wrong in [json!({"url": null}), json!({"events": []}), json!({"webhookIds": "x"})] {
        send(rest.put(&path, &wrong)).await.refused(400, "invalid_request");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_changes_nothing() {
    let rest = Rest::start(&[]).await;
    let hook = webhook(&rest).await;
    let search = json!({"name": "Where we eat", "query": "lunch"});
    let search = send(rest.post("/saved-searches", &search)).await.ok();
    send(rest.put(&under("/assistant/welcome"), &json!({"message": "hi"}))).await.ok();
    for path in paths(&hook, search["savedSearchId"].as_str().unwrap()) {
        let first = send(rest.get(&path)).await;
        let put = send(rest.put(&path, &json!({}))).await;
        assert_eq!(put.ok(), first.ok(), "{path}");
        assert_eq!(send(rest.get(&path)).await.header("etag"), first.header("etag"), "{path}");
        if path.contains("/assistant/") {
            let stale = send(rest.put(&path, &json!({})).header("if-match", "\"other\"")).await;
            stale.refused(412, "precondition_failed");
        }
    }
    let qa = under("/assistant/qa");
    let rule =
        json!({"keywords": ["wifi"], "question": "q", "answer": "a", "notFor": ["free wifi"]});
    let before = send(rest.post(&qa, &rule)).await.ok()["items"][0].clone();
    let path = format!("{qa}/{}", before["id"].as_str().unwrap());
    let saved = async |change: Value| send(rest.put(&path, &change)).await.ok()["items"][0].clone();
    assert_eq!(saved(json!({})).await, before);
    for (field, value) in [
        ("keywords", json!(["wlan"])),
        ("question", json!("which?")),
        ("answer", json!("b")),
        ("notFor", json!([])),
    ] {
        let mut expected = saved(json!({})).await;
        expected[field] = value.clone();
        assert_eq!(saved(json!({field: value})).await, expected, "{field}");
    }
    for (wrong, field) in [
        (json!({"keywords": []}), "/keywords"),
        (json!({"answer": ""}), "/answer"),
        (json!({"answer": null}), "/answer"),
        (json!({"notFor": ["WLAN"]}), "/notFor/0"),
    ] {
        let refused = send(rest.put(&path, &wrong)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], field, "{refused}");
    }
    send(rest.put(&format!("{qa}/none"), &json!({}))).await.refused(404, "not_found");
    // A new rule needs both.
    for (partial, field) in
        [(json!({"keywords": ["k"]}), "/answer"), (json!({"answer": "a"}), "/keywords")]
    {
        let refused = send(rest.post(&qa, &partial)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], field, "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_lists_can_be_sent_back() {
    let mut rest = Rest::start(&[]).await;
    let qa = under("/assistant/qa");
    for answer in ["one", "two"] {
        let rule = json!({"keywords": [answer], "question": "", "answer": answer});
        send(rest.post(&qa, &rule)).await.ok();
    }
    let list = send(rest.get(&qa)).await;
    for item in list.ok()["items"].as_array().unwrap() {
        let path = format!("{qa}/{}", item["id"].as_str().unwrap());
        let put = send(rest.put(&path, item)).await.ok();
        assert_eq!(
            (&put["items"], &put["updatedAt"]),
            (&list.json()["items"], &list.json()["updatedAt"])
        );
    }
    assert_eq!(send(rest.get(&qa)).await.header("etag"), list.header("etag"));
    // A copy is a rule of its own.
    let copied = send(rest.post(&qa, &list.json()["items"][0])).await.ok();
    let ids = super::texts(&copied["items"], "id");
    assert_eq!((ids.len(), ids[0] == ids[2]), (3, false));
    let backtest = json!({"rules": copied["items"]});
    send(rest.post(&under("/assistant/backtest"), &backtest)).await.ok();
    let unknown = json!({"keywords": ["a"], "answer": "a", "hits": 1});
    send(rest.post(&qa, &unknown)).await.refused(400, "invalid_request");

    // Backup settings are part of a channel's details; the owner's part may stay as it is.
    send(rest.put(&under("/backup/config"), &json!({"retentionDays": 90}))).await.ok();
    let (channel, owner) = (CHANNEL.into(), OWNER.into());
    rest.store
        .members()
        .set_role(&channel, &owner, &MEMBER.into(), Role::Admin, at(4))
        .await
        .unwrap();
    rest.stack.use_key("ck_member");
    let detail = send(rest.get(&under(""))).await.ok();
    let put = send(rest.put(&under("/backup/config"), &detail["config"]["backup"])).await.ok();
    assert_eq!(put["config"]["backup"], detail["config"]["backup"]);
    assert_eq!(detail["config"]["backup"]["paused"], false);
    let used = i64::MAX / 2;
    rest.stack.sql(format!("UPDATE users SET used_bytes = {used} WHERE user_id = '{OWNER}'")).await;
    assert_eq!(send(rest.get(&under(""))).await.ok()["config"]["backup"]["paused"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_welcome_is_written_in_both_forms() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/welcome");
    let put = async |body: Value| send(rest.put(&path, &body)).await;
    let text = |content: &str| json!([{"type": "text", "content": content}]);
    assert_eq!(put(json!({"message": "a"})).await.ok()["messages"], text("a"));
    assert_eq!(put(json!({"messages": text("b")})).await.ok()["messages"], text("b"));
    let both = json!({"messages": text("c"), "message": "c"});
    assert_eq!(put(both).await.ok()["messages"], text("c"), "both are one value");
    assert_eq!(put(json!({"messages": []})).await.ok()["messages"], json!([]));
    for (wrong, field) in [
        (
            json!({"messages": [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}]}),
            "/messages",
        ),
        (json!({"messages": text(&"x".repeat(5_001))}), "/messages/0/content"),
        (json!({"messages": text("b"), "message": "c"}), "/messages"),
        (json!({"messages": [], "message": "c"}), "/messages"),
    ] {
        assert_eq!(put(wrong).await.refused(400, "invalid_request")["field"], field);
    }
    put(json!({"messages": [{"type": "image", "content": "a"}]}))
        .await
        .refused(400, "invalid_request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_from_before_a_downgrade_can_be_saved() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/config");
    let mode = |mode: &str| json!({"assistant": {"qa": {"mode": mode}}});
    let plan =
        async |plan| rest.store.accounts().set_plan(&OWNER.into(), plan, at(5)).await.unwrap();
    send(rest.put(&path, &mode("semantic"))).await.refused(403, "plan_required");
    plan(Plan::Pro).await;
    let config = send(rest.put(&path, &mode("semantic"))).await.ok();
    assert_eq!(config["assistant"]["qa"]["effectiveMode"], "semantic");
    plan(Plan::Free).await;
    let mut config = send(rest.get(&path)).await.ok();
    let qa = &config["assistant"]["qa"];
    assert_eq!((&qa["mode"], &qa["effectiveMode"]), (&json!("semantic"), &json!("fuzzy")));
    let detail = send(rest.get(&under(""))).await.ok();
    assert_eq!(detail["config"]["assistant"], config["assistant"]);
    sent_back(&rest, &path).await;
    config["assistant"]["qa"]["cooldownSeconds"] = json!(7);
    assert_eq!(send(rest.put(&path, &config)).await.ok(), config, "all else can be saved");
    let backtest = json!({"mode": "semantic"});
    send(rest.post(&under("/assistant/backtest"), &backtest)).await.ok();
    send(rest.put(&path, &mode("fuzzy"))).await.ok();
    send(rest.put(&path, &mode("semantic"))).await.refused(403, "plan_required");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_the_first_edit_the_channel_made_it() {
    let rest = Rest::start(&[]).await;
    let created = send(rest.get(&under(""))).await.ok()["meta"]["createdAt"].clone();
    assert!(created.is_string());
    let objects = [
        ("/assistant/welcome", json!({"message": "hi"})),
        ("/assistant/rules", json!({"content": "be kind"})),
        ("/assistant/qa", json!({"keywords": ["a"], "answer": "b"})),
    ];
    for (path, edit) in objects {
        let path = under(path);
        let fresh = send(rest.get(&path)).await.ok();
        assert_eq!(
            (&fresh["updatedAt"], &fresh["updatedBy"]),
            (&created, &json!("system")),
            "{path}"
        );
        let method = if path.ends_with("qa") { Method::POST } else { Method::PUT };
        let edited = send(rest.request(method, &path).json(&edit)).await.ok();
        assert_eq!(edited["updatedBy"], OWNER, "{path}");
        assert_ne!(edited["updatedAt"], created, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_known_is_null() {
    let rest = Rest::start(&[]).await;
    rest.keep(&[super::message("m1", OWNER, "2026-01-02T03:04:05Z", "one")]).await;
    let me = send(rest.get("/me")).await.ok();
    let channels = send(rest.get("/channels")).await.ok();
    let detail = send(rest.get(&under(""))).await.ok();
    let members = send(rest.get(&under("/members"))).await.ok();
    let messages = send(rest.get(&under("/backup/messages"))).await.ok();
    let message = &messages["messages"][0];
    for (object, fields) in [
        (&me, &["displayName", "pictureUrl"][..]),
        (&channels["channels"][0], &["name"][..]),
        (&detail["meta"], &["name", "picture"][..]),
        (&members["members"][0], &["displayName", "pictureUrl", "leftAt"][..]),
        (&message["sender"], &["displayName", "pictureUrl"][..]),
        (
            message,
            &["fileName", "fileSize", "mediaKey", "latitude", "quotedMessageId", "editedAt"][..],
        ),
    ] {
        for field in fields {
            assert_eq!(object.get(field), Some(&Value::Null), "{field} in {object}");
        }
    }
}
