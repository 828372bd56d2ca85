//! Values that no database stores: each is refused by name, never as an internal error.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::config::Database;
use chatkeep_store::{DatabaseFault, Store};
use serde_json::json;

use super::{Rest, send, under};
use crate::harness::postgres::Postgres;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_database_keeps_is_refused_by_name() {
    let database = Postgres::database().await;
    let rest = Rest::on(&[("CHATKEEP_DATABASE", &database.url())], async |folder| {
        Store::open(&Database::Postgres(database.url().into()), folder, 2).await.unwrap()
    })
    .await;
    let lists = [
        ("channels", "/channels".to_owned()),
        ("keys", "/keys".to_owned()),
        ("subscriptions", "/subscriptions".to_owned()),
        ("webhooks", "/webhooks".to_owned()),
        ("saved_searches", "/saved-searches".to_owned()),
        ("events", "/events".to_owned()),
        ("members", under("/members")),
        ("messages", under("/backup/messages")),
        ("media", under("/backup/media")),
    ];
    for (name, path) in &lists {
        // Every form that a key has, under the binding of its list and under others.
        for key in [json!("a\0b"), json!([1, "a\0b"]), json!(["1", "a\0b"]), json!([["a\0", 1], 2])]
        {
            let cursor = json!({"f": name, "k": key}).to_string();
            let cursor = URL_SAFE_NO_PAD.encode(cursor);
            let answer = send(rest.get(&format!("{path}?cursor={cursor}"))).await;
            assert_eq!(answer.refused(400, "invalid_request")["field"], "cursor", "{path} {key}");
        }
        let answer = send(rest.get(&format!("{path}?cursor=a%00b"))).await;
        assert_eq!(answer.refused(400, "invalid_request")["field"], "cursor", "{path}");
    }
    let senders = under("/backup/messages?senderId=a%00b");
    let answer = send(rest.get(&senders)).await;
    assert_eq!(answer.refused(400, "invalid_request")["field"], "senderId");
    for id in ["a\0b", "a\nb", "", &"x".repeat(101), "group", "C", "c1", "C é", "Telegram:1"] {
        let key = json!({"name": "n", "scopes": ["read:messages"], "channelIds": [id]});
        let answer = send(rest.post("/keys", &key)).await;
        assert_eq!(answer.refused(400, "invalid_request")["field"], "/channelIds/0", "{id:?}");
        let hook = json!({"url": "https://example.org/", "events": ["message.received"],
                          "channelIds": [id]});
        let answer = send(rest.post("/webhooks", &hook)).await;
        assert_eq!(answer.refused(400, "invalid_request")["field"], "/channelIds/0", "{id:?}");
    }
    let rule = json!({"keywords": ["hours"], "answer": "9\0-5"});
    let rules = under("/assistant/qa");
    for (path, body, field) in [
        ("/keys", json!({"name": "a\0b", "scopes": ["read:messages"]}), "/name"),
        ("/saved-searches", json!({"name": "n", "query": "a\0b"}), "/query"),
        (&rules, rule, "/answer"),
    ] {
        let answer = send(rest.post(path, &body)).await;
        let refused = answer.refused(400, "invalid_request");
        assert_eq!(refused["field"], field, "{path}");
        assert!(refused["error"].as_str().unwrap().ends_with("contains U+0000"), "{refused}");
    }
    for path in ["/webhooks/a%00b", "/keys/a%00b", "/saved-searches/a%00b"] {
        let answer = send(rest.delete(path)).await;
        assert_eq!(answer.status.as_u16(), 404, "{path}");
    }
}

/// Values that pass the validation are classified in the store.
#[tokio::test]
async fn the_store_tells_what_it_never_takes() {
    let database = Postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let url = Database::Postgres(database.url().into());
    let store = Store::open(&url, folder.path(), 2).await.unwrap();
    let refused = store.oauth().oauth_client("a\0b").await.unwrap_err();
    assert_eq!(refused.fault(), DatabaseFault::Refused, "{refused:?}");
    assert!(!refused.refusal().contains("a\0b"));
    store.close().await;
    let away = store.ready().await.unwrap_err();
    assert_eq!(away.fault(), DatabaseFault::Unavailable, "{away:?}");
}
