//! The REST surface: permissions, refusals and their form.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::pipeline::conversation::{emulator, group};
use crate::stack::{Parts, Stack};

/// A group with an owner (who subscribed), a plain member and a stranger, each with a key.
struct ApiFixture {
    stack: Stack,
    channel: String,
    owner: String,
    member: String,
    stranger: String,
}

async fn cast() -> ApiFixture {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let owner = stack.key().to_owned();
    stack.line.say(&group.chat_id, &people[1].user_id, "here I am").await.unwrap();
    stack.drained().await;
    stack.act_as(&people[1].user_id).await;
    let member = stack.key().to_owned();
    stack.act_as("U00000000000000000000000000stranger").await;
    let stranger = stack.key().to_owned();
    ApiFixture { stack, channel: group.chat_id, owner, member, stranger }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_channel_route_asks_for_its_role() {
    let mut cast = cast().await;
    let channel = format!("/channels/{}", cast.channel);
    let (reads, settings) = (
        ["", "/members", "/backup/messages", "/backup/messages/none"],
        ["/assistant/config", "/assistant/qa", "/assistant/welcome", "/assistant/rules"],
    );
    // Refused, or (where the caller may) successful; the unknown message is the one 404.
    let expect = |route: &str, allowed: bool| match (allowed, route) {
        (false, _) => StatusCode::FORBIDDEN,
        (true, "/backup/messages/none") => StatusCode::NOT_FOUND,
        (true, _) => StatusCode::OK,
    };
    for (key, may_read, may_set) in [
        (cast.owner.clone(), true, true),
        (cast.member.clone(), true, false),
        (cast.stranger.clone(), false, false),
    ] {
        cast.stack.use_key(&key);
        let cases = reads.map(|r| (r, may_read)).into_iter().chain(settings.map(|r| (r, may_set)));
        for (route, allowed) in cases {
            let (status, body) =
                cast.stack.call(Method::GET, &format!("{channel}{route}"), None).await;
            assert_eq!(status, expect(route, allowed), "{route}: {body}");
            if !allowed {
                assert_eq!(body["error"], "Permission denied");
            }
            let unknown =
                cast.stack.call(Method::GET, &format!("/channels/Cnone{route}"), None).await;
            assert_eq!(unknown.0, StatusCode::FORBIDDEN, "existence is not told: {route}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_checked_and_have_scopes() {
    let mut cast = cast().await;
    for wrong in ["", "ck_wrong", "Bearer"] {
        cast.stack.use_key(wrong);
        let (status, body) = cast.stack.call(Method::GET, "/me", None).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert_eq!(body["error"], "Invalid or missing API key");
        assert!(body["requestId"].is_string() && body["code"] == "invalid_api_key");
    }
    cast.stack.use_key(&cast.owner);
    let user = cast.stack.get("/me").await["userId"].as_str().unwrap().to_owned();
    let narrow = ["key", "create", "--user", &user, "--scope", "read:members"];
    let narrow = cast.stack.ground.command(&cast.stack.line, &narrow).await;
    cast.stack.use_key(&narrow);
    cast.stack.get(&format!("/channels/{}", cast.channel)).await;
    let path = format!("/channels/{}/backup/messages", cast.channel);
    let (status, body) = cast.stack.call(Method::GET, &path, None).await;
    assert_eq!(
        (status, &body["error"]),
        (StatusCode::FORBIDDEN, &json!("Insufficient permissions"))
    );

    let ending = ["key", "create", "--user", &user, "--expires", "2100-01-01T00:00:00Z"];
    let expired = cast.stack.ground.command(&cast.stack.line, &ending).await;
    cast.stack.sql("UPDATE api_keys SET expires_at = 1 WHERE expires_at IS NOT NULL".into()).await;
    cast.stack.use_key(&expired);
    assert_eq!(cast.stack.call(Method::GET, "/me", None).await.0, StatusCode::UNAUTHORIZED);
    let listed = ["key", "list", "--user", &user, "--json"];
    let listed = cast.stack.ground.command(&cast.stack.line, &listed).await;
    assert!(
        !listed.contains(&narrow) && !listed.contains(&cast.owner),
        "keys are never shown again"
    );
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = first["keyId"].as_str().unwrap();
    cast.stack.ground.command(&cast.stack.line, &["key", "revoke", id]).await;
    cast.stack.use_key(&cast.owner);
    assert_eq!(cast.stack.call(Method::GET, "/me", None).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_refused_with_its_field_and_changes_nothing() {
    let mut cast = cast().await;
    cast.stack.use_key(&cast.owner);
    let assistant = format!("/channels/{}/assistant", cast.channel);
    let before = cast.stack.get(&format!("{assistant}/config")).await;
    let rule = |keywords: Value, answer: &str| json!({"keywords": keywords, "answer": answer});
    let long = "長".repeat(5_001);
    let cases = [
        (Method::POST, "/qa", rule(json!([]), "a"), "/keywords"),
        (Method::POST, "/qa", rule(json!(["k"]), ""), "/answer"),
        (Method::POST, "/qa", rule(json!(["k"]), &long), "/answer"),
        (Method::POST, "/qa", rule(json!(["k".repeat(101)]), "a"), "/keywords/0"),
        (Method::POST, "/qa", rule(json!(["  "]), "a"), "/keywords/0"),
        (Method::POST, "/qa", rule(json!("k"), "a"), "/keywords"),
        (
            Method::PUT,
            "/config",
            json!({"assistant": {"qa": {"mode": "magic"}}}),
            "/assistant/qa/mode",
        ),
        (Method::PUT, "/config", json!({"assistant": {"cheese": true}}), "/assistant/cheese"),
        (Method::PUT, "/rules", json!({"content": long}), "/content"),
    ];
    for (method, route, body, field) in cases {
        let path = format!("{assistant}{route}");
        let (status, answer) = cast.stack.call(method, &path, Some(body.clone())).await;
        assert_eq!(
            (status, &answer["field"]),
            (StatusCode::BAD_REQUEST, &json!(field)),
            "{body} {answer}"
        );
    }
    let semantic = json!({"assistant": {"qa": {"mode": "semantic"}}});
    let (status, answer) =
        cast.stack.call(Method::PUT, &format!("{assistant}/config"), Some(semantic)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(answer["error"], "Semantic mode requires the pro plan");
    assert_eq!(cast.stack.get(&format!("{assistant}/config")).await, before);
    let missing = format!("{assistant}/qa/qa_0_none");
    let (status, _) = cast.stack.call(Method::DELETE, &missing, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let messages = format!("/channels/{}/backup/messages", cast.channel);
    for query in [
        "limit=0",
        "limit=101",
        "limit=x",
        "cursor=zzz",
        "order=up",
        "type=poem",
        "from=now",
        "x=1",
    ] {
        let (status, answer) =
            cast.stack.call(Method::GET, &format!("{messages}?{query}"), None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_versions_and_methods_that_are_not_there() {
    let mut cast = cast().await;
    cast.stack.use_key(&cast.owner);
    let cases = [
        (Method::GET, "/v2/me", StatusCode::NOT_FOUND, "Unknown API version"),
        (Method::GET, "/v1/nothing", StatusCode::NOT_FOUND, "Not found"),
        (Method::GET, "/nothing", StatusCode::NOT_FOUND, "Not found"),
        (
            Method::POST,
            "/me",
            StatusCode::METHOD_NOT_ALLOWED,
            "The route does not support this method",
        ),
    ];
    for (method, path, status, error) in cases {
        let (got, body) = cast.stack.call(method, path, None).await;
        assert_eq!((got, &body["error"]), (status, &json!(error)), "{path}");
    }
    assert_eq!(cast.stack.get("/v1/me").await, cast.stack.get("/me").await);
}
