//! The keys API, and the bounds of keys.

use chatkeep_core::role::Scope;
use chatkeep_store::NewKey;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{CHANNEL, MEMBER, OWNER, Rest, channel_id, message, send, texts, under};
use crate::store::unbounded_key;

impl Rest {
    /// Sends a GET with another key.
    pub(super) fn with(&self, key: &str, path: &str) -> RequestBuilder {
        self.by(Method::GET, key, path)
    }

    fn by(&self, method: Method, key: &str, path: &str) -> RequestBuilder {
        let url = format!("http://{}/api{path}", self.stack.ground.address);
        self.http.request(method, url).bearer_auth(key)
    }

    async fn status(&self, key: &str, path: &str) -> u16 {
        send(self.with(key, path)).await.status.as_u16()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_made_shown_once_rotated_and_deleted() {
    let rest = Rest::start(&[]).await;
    let body = json!({
        "name": "for the script", "scopes": ["read:messages", "manage:keys", "read:messages"],
        "channelIds": [CHANNEL], "notBefore": "2026-01-01T00:00:00Z",
        "expiresAt": "2126-01-01T00:00:00.000Z",
    });
    let made = send(rest.post("/keys", &body)).await;
    assert_eq!(made.status.as_u16(), 201);
    let made = made.json();
    let key = text(&made["key"]);
    assert!(key.len() == 43 && key.starts_with("ck_"), "{made}");
    assert_eq!((text(&made["mask"]), text(&made["name"])), (&key[39..], "for the script"));
    assert_eq!(made["scopes"], json!(["read:messages", "manage:keys"]));
    assert_eq!(made["channelIds"], json!([CHANNEL]));
    assert_eq!(made["notBefore"], "2026-01-01T00:00:00.000Z");
    assert_eq!(made["expiresAt"], "2126-01-01T00:00:00.000Z");
    assert_eq!(rest.status(key, "/me").await, 200);

    let listed = send(rest.get("/keys")).await;
    let all = String::from_utf8(listed.body.clone()).unwrap();
    assert!(!all.contains(key) && !all.contains("ck_owner"), "never again");
    let listed = listed.ok();
    let found = listed["keys"].as_array().unwrap().iter().find(|k| k["keyId"] == made["keyId"]);
    let found = found.unwrap();
    assert!(found["lastUsedAt"].is_string(), "{found}");
    let mut same = made.clone();
    for only_once in ["key", "previousUntil"] {
        same.as_object_mut().unwrap().remove(only_once);
    }
    assert_eq!(same.get("lastUsedAt"), Some(&Value::Null), "unknown is null, and there");
    same["lastUsedAt"] = found["lastUsedAt"].clone();
    assert_eq!(*found, same);

    let path = format!("/keys/{}/rotate", text(&made["keyId"]));
    let untyped = rest.request(Method::POST, &path).body("{}");
    send(untyped).await.refused(415, "unsupported_media_type");
    // Without a body everything has its default.
    let rotated = send(rest.request(Method::POST, &path)).await;
    assert_eq!(rotated.status.as_u16(), 201);
    let rotated = rotated.json();
    let second = text(&rotated["key"]);
    assert!(rotated["previousUntil"].is_string() && second != key);
    for field in ["name", "scopes", "channelIds", "notBefore", "expiresAt", "lastUsedAt"] {
        assert_eq!(rotated.get(field), made.get(field), "{field}");
    }
    assert_eq!((rest.status(key, "/me").await, rest.status(second, "/me").await), (200, 200));
    // Whoever did not get the answer learns that there is a successor, which does not end.
    send(rest.request(Method::POST, &path)).await.refused(409, "conflict");
    let path = format!("/keys/{}/rotate", text(&rotated["keyId"]));
    let third = send(rest.post(&path, &json!({"overlapSeconds": 0}))).await.ok();
    let third_key = text(&third["key"]);
    assert_eq!((rest.status(second, "/me").await, rest.status(third_key, "/me").await), (401, 200));
    send(rest.post(&path, &json!({}))).await.refused(404, "not_found");

    let path = format!("/keys/{}", text(&third["keyId"]));
    // Another person's key does not exist.
    send(rest.by(Method::DELETE, "ck_member", &path)).await.refused(404, "not_found");
    let foreign = rest.by(Method::POST, "ck_member", &format!("{path}/rotate"));
    send(foreign.json(&json!({}))).await.refused(404, "not_found");
    assert_eq!(rest.status(third_key, "/me").await, 200);
    assert_eq!(send(rest.delete(&path)).await.ok(), json!({"success": true}));
    assert_eq!(rest.status(third_key, "/me").await, 401);
    send(rest.delete(&path)).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_keys_are_refused_with_their_field() {
    let rest = Rest::start(&[]).await;
    let scopes = json!(["read:messages"]);
    let cases = [
        (json!({"name": " ", "scopes": scopes}), "/name"),
        (json!({"name": "n".repeat(101), "scopes": scopes}), "/name"),
        (json!({"name": "n", "scopes": []}), "/scopes"),
        (json!({"name": "n", "scopes": ["read:everything"]}), "/scopes/0"),
        (json!({"name": "n", "scopes": scopes, "expiresAt": "2020-01-01T00:00:00Z"}), "/expiresAt"),
        (json!({"name": "n", "scopes": scopes, "expiresAt": "tomorrow"}), "/expiresAt"),
        (
            json!({"name": "n", "scopes": scopes, "expiresAt": "+262142-12-31T23:59:59Z"}),
            "/expiresAt",
        ),
        (
            json!({"name": "n", "scopes": scopes, "expiresAt": "+262142-12-31T23:59:59-23:59"}),
            "/expiresAt",
        ),
        (json!({"name": "n", "scopes": scopes, "expiresAt": "+262142-12-31"}), "/expiresAt"),
        (
            json!({"name": "n", "scopes": scopes, "notBefore": "-262143-01-01T00:00:00Z"}),
            "/notBefore",
        ),
        (json!({"name": "n", "scopes": scopes, "channelIds": [""]}), "/channelIds/0"),
        (json!({"name": "n", "scopes": scopes, "channelIds": vec!["C"; 1_001]}), "/channelIds"),
        (json!({"name": "n", "scopes": scopes, "cheese": 1}), "/cheese"),
    ];
    for (body, field) in cases {
        let refused = send(rest.post("/keys", &body)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], field, "{body}");
    }
    // Times as everywhere, in the service's zone.
    let body = json!({"name": "n", "scopes": scopes, "notBefore": "2026-01-02", "expiresAt": "2999-01-01T00:00"});
    let made = send(rest.post("/keys", &body)).await.ok();
    assert_eq!(made["notBefore"], "2026-01-02T00:00:00.000Z", "{made}");
    assert_eq!(made["expiresAt"], "2999-01-01T00:00:00.000Z");
    let made = made["keyId"].as_str().unwrap();
    send(rest.delete(&format!("/keys/{made}"))).await.ok();
    let rotate = "/keys/key_of_owner/rotate";
    for seconds in [json!(2_592_001), json!(-1), json!("soon")] {
        let body = json!({"overlapSeconds": seconds});
        let refused = send(rest.post(rotate, &body)).await.refused(400, "invalid_request");
        assert_eq!(refused["field"], "/overlapSeconds");
    }
    let listed = send(rest.get("/keys")).await.ok();
    assert_eq!(listed["keys"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_an_old_version_let_end_beyond_the_calendar_is_listed() {
    let rest = Rest::start(&[]).await;
    // "+262142-12-31T23:59:59-23:59".
    let far = super::at(8_210_266_963_139_000);
    rest.key("ck_far", OWNER, |key| key.expires_at = Some(far)).await;
    let listed = send(rest.get("/keys")).await.ok();
    let ends: Vec<_> = listed["keys"].as_array().unwrap().iter().map(|k| &k["expiresAt"]).collect();
    assert!(ends.contains(&&json!("9999-12-31T23:59:59.999Z")), "{listed}");
    assert_eq!(rest.status("ck_far", "/me").await, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_never_reaches_further_than_its_maker() {
    let rest = Rest::start(&[]).await;
    let (here, start) = ([channel_id(CHANNEL)], super::at(1_700_000_000_000));
    let narrow = [Scope::ManageKeys, Scope::ReadMessages];
    rest.key("ck_narrow", OWNER, |key| key.scopes = &[Scope::ManageKeys, Scope::ReadMessages])
        .await;
    let create =
        async |key: &str, body: Value| send(rest.by(Method::POST, key, "/keys").json(&body)).await;
    for scope in Scope::ALL {
        let made = create("ck_narrow", json!({"name": "n", "scopes": [scope.name()]})).await;
        if narrow.contains(&scope) {
            made.ok();
        } else {
            let refused = made.refused(403, "insufficient_permissions");
            assert_eq!(refused["error"], "Insufficient permissions");
        }
    }
    let id = rest.store.keys().key("ck_owner").await.unwrap().unwrap().id;
    // It could take over a key with more permissions.
    let rotate = rest.by(Method::POST, "ck_narrow", &format!("/keys/{id}/rotate"));
    send(rotate.json(&json!({}))).await.refused(403, "insufficient_permissions");
    let own = rest.by(Method::POST, "ck_narrow", "/keys/key_of_narrow/rotate");
    let own = send(own.json(&json!({}))).await.ok();
    assert_eq!(own["scopes"], json!(["manage:keys", "read:messages"]));

    let (id_of_bound, owner) = ("key_bound".into(), OWNER.into());
    let bound = NewKey {
        channels: Some(&here),
        not_before: Some(start),
        ..unbounded_key(&id_of_bound, "ck_bound", &owner)
    };
    rest.store.keys().add_key(&bound, super::at(1)).await.unwrap();
    let made = create("ck_bound", json!({"name": "n", "scopes": ["read:messages"]})).await.ok();
    assert_eq!(made["channelIds"], json!([CHANNEL]), "bound like its maker");
    assert_eq!(made["notBefore"], start.to_string());
    let elsewhere = json!({"name": "n", "scopes": ["read:messages"], "channelIds": ["Cother"]});
    create("ck_bound", elsewhere).await.refused(403, "insufficient_permissions");
    for (asked, given) in [
        ("2020-01-01T00:00:00.000Z", start.to_string()),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z".to_owned()),
    ] {
        let body = json!({"name": "n", "scopes": ["read:messages"], "notBefore": asked});
        assert_eq!(create("ck_bound", body).await.ok()["notBefore"], given);
    }
    let rotate = rest.by(Method::POST, "ck_bound", &format!("/keys/{id}/rotate"));
    send(rotate.json(&json!({}))).await.refused(403, "insufficient_permissions");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bound_key_shows_its_channels_only() {
    let rest = Rest::start(&[]).await;
    rest.channel("Cother", &[OWNER]).await;
    let here = json!({"name": "n", "scopes": ["read:messages", "read:members", "write:backup"],
                      "channelIds": [CHANNEL, "Cnone"]});
    let made = send(rest.post("/keys", &here)).await.ok();
    let key = text(&made["key"]);
    for (path, list) in [("/channels", "channels"), ("/subscriptions", "subscriptions")] {
        assert_eq!(texts(&send(rest.get(path)).await.ok()[list], "channelId").len(), 2);
        assert_eq!(texts(&send(rest.with(key, path)).await.ok()[list], "channelId"), [CHANNEL]);
    }
    assert_eq!(rest.status(key, &under("")).await, 200);
    for path in ["/channels/Cother", "/channels/Cother/backup/messages", "/channels/Cnone"] {
        send(rest.with(key, path)).await.refused(403, "permission_denied");
    }
    let events = send(rest.with(key, "/events")).await.ok();
    let all = events["events"].as_array().unwrap();
    assert!(all.iter().all(|event| event["data"]["channelId"] == CHANNEL), "{events}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_older_than_not_before_is_shown_anywhere() {
    let rest = Rest::start(&[]).await;
    rest.keep(&[
        message("old", MEMBER, "2026-01-01T23:59:59.999Z", "hidden"),
        message("edge", MEMBER, "2026-01-02T00:00:00.000Z", "shown"),
        message("new", MEMBER, "2026-01-03T00:00:00Z", "shown"),
    ])
    .await;
    // Edited later: still a message from before.
    let later = super::Timestamp::parse("2026-01-04T00:00:00Z").unwrap().millis();
    rest.keep(&[crate::store::edited(CHANNEL, "old", later, "hidden too")]).await;
    let body =
        json!({"name": "n", "scopes": ["read:messages"], "notBefore": "2026-01-02T00:00:00Z"});
    let made = send(rest.post("/keys", &body)).await.ok();
    let key = text(&made["key"]);
    let list = under("/backup/messages");
    for query in [
        "",
        "?order=asc",
        "?from=2025-01-01T00:00:00Z",
        "?around=2026-01-01T12:00:00Z",
        "?around=edge",
        &format!("?senderId={MEMBER}"),
        "?type=text",
    ] {
        let path = format!("{list}{query}");
        let mut ids = texts(&send(rest.with(key, &path)).await.ok()["messages"], "id");
        ids.sort();
        assert_eq!(ids, ["edge", "new"], "{query}");
        let whole = texts(&send(rest.get(&path)).await.ok()["messages"], "id");
        assert_eq!(whole.len(), 3, "{query}");
    }
    let day = send(rest.with(key, &format!("{list}?date=2026-01-01"))).await.ok();
    assert_eq!(day["messages"], json!([]));
    for path in [format!("{list}/old"), format!("{list}?around=old")] {
        send(rest.with(key, &path)).await.refused(404, "not_found");
        send(rest.get(&path)).await.ok();
    }
    let events = send(rest.with(key, "/events")).await;
    assert!(!String::from_utf8(events.body.clone()).unwrap().contains("hidden"));
    let told = events.ok();
    let told: Vec<_> = told["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| text(&e["data"]["message"]["id"]))
        .collect();
    assert_eq!(told, ["edge", "new"]);
}
