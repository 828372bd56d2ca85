//! Saved searches over REST: their life, refusals, and the bounds of a narrow key.

use serde_json::{Value, json};
use url::form_urlencoded;

use super::{CHANNEL, Rest, send, texts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_saved_search_lives() {
    let rest = Rest::start(&[]).await;
    let body = json!({"name": "Lunch 午餐", "query": "lunch from:\"Ann Lee\" -type:image"});
    let made = send(rest.post("/saved-searches", &body)).await.ok();
    let id = made["savedSearchId"].as_str().unwrap();
    assert!(id.starts_with("ss_"), "{made}");
    assert_eq!((&made["name"], &made["query"]), (&body["name"], &body["query"]));
    assert_eq!((&made["channelIds"], &made["enabled"]), (&Value::Null, &json!(true)));
    let one = format!("/saved-searches/{id}");
    assert_eq!(send(rest.get(&one)).await.ok(), made);
    assert_eq!(send(rest.put(&one, &made)).await.ok(), made, "what was read can be sent back");
    let change = json!({"channelIds": [CHANNEL], "enabled": false, "query": "tea"});
    let changed = send(rest.put(&one, &change)).await.ok();
    assert_eq!((&changed["name"], &changed["query"]), (&body["name"], &json!("tea")));
    assert_eq!((&changed["channelIds"], &changed["enabled"]), (&json!([CHANNEL]), &json!(false)));
    // Of two changes at once neither is lost.
    for round in 0..5 {
        let (name, query) = (format!("name {round}"), format!("query{round}"));
        let (named, changed) = (json!({"name": name}), json!({"query": query}));
        let (named, changed) =
            tokio::join!(send(rest.put(&one, &named)), send(rest.put(&one, &changed)));
        named.ok();
        changed.ok();
        let both = send(rest.get(&one)).await.ok();
        assert_eq!((&both["name"], &both["query"]), (&json!(name), &json!(query)));
    }
    let other = json!({"name": "x", "query": "y"});
    let other = send(rest.post("/saved-searches", &other)).await.ok();
    let list = send(rest.get("/saved-searches?limit=1")).await.ok();
    assert_eq!(texts(&list["savedSearches"], "savedSearchId"), [id]);
    let next = format!("/saved-searches?limit=1&cursor={}", list["nextCursor"].as_str().unwrap());
    let list = send(rest.get(&next)).await.ok();
    let other = other["savedSearchId"].as_str().unwrap();
    assert_eq!(texts(&list["savedSearches"], "savedSearchId"), [other]);
    assert_eq!(list["nextCursor"], Value::Null);

    // Another person's does not exist.
    let url = format!("http://{}/api{one}", rest.stack.ground.address);
    send(rest.http.get(url).bearer_auth("ck_member")).await.refused(404, "not_found");
    send(rest.delete(&one)).await.ok();
    send(rest.get(&one)).await.refused(404, "not_found");
    send(rest.delete(&one)).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_query_is_refused_as_a_search_refuses_it() {
    let rest = Rest::start(&[]).await;
    for query in [
        "type:song",
        "\"open",
        "from:",
        "-before:2026-01-01",
        "\u{200b}",
        "x after:2026-01-02 before:2026-01-01",
    ] {
        let refused = send(rest.post("/saved-searches", &json!({"name": "n", "query": query})));
        let refused = refused.await.refused(400, "invalid_request");
        let encoded: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let searched = send(rest.get(&format!("/search?q={encoded}"))).await;
        let searched = searched.refused(400, "invalid_request");
        assert_eq!((&refused["field"], &searched["field"]), (&json!("/query"), &json!("q")));
        assert_eq!(refused["error"], searched["error"], "{query}");
    }
    let long = "x".repeat(201);
    for (body, field) in [
        (json!({"name": "n", "query": " "}), "/query"),
        (json!({"name": "n", "query": long}), "/query"),
        (json!({"name": " ", "query": "q"}), "/name"),
        (json!({"name": "n", "query": "q", "channelIds": ["nowhere"]}), "/channelIds/0"),
        (json!({"name": "n", "query": "q", "more": 1}), "/more"),
    ] {
        let refused = send(rest.post("/saved-searches", &body)).await;
        assert_eq!(refused.refused(400, "invalid_request")["field"], field, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_at_most_a_hundred() {
    let rest = Rest::start(&[]).await;
    let body = json!({"name": "n", "query": "q"});
    for _ in 0..100 {
        send(rest.post("/saved-searches", &body)).await.ok();
    }
    let refused = send(rest.post("/saved-searches", &body)).await.refused(409, "conflict");
    assert_eq!(refused["error"], "A user can have at most 100 saved searches: delete one first");
}
