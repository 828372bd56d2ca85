//! The endpoint without a network: what reaches the tools, what is refused as the protocol says,
//! and that every answer is about the request that it answers.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{ANN, GROUP, ToolBench, caller, said};
use crate::{MAX_BODY, PATH, over_limit};

impl ToolBench {
    /// Sends a body as clients of that revision do.
    async fn post(&self, revision: &str, body: impl Into<Body>) -> (StatusCode, Value) {
        let request = Request::post(PATH)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", revision)
            .body(body.into())
            .unwrap();
        let response = self.endpoint(caller(ANN)).oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Makes a request of the protocol; returns what answers it.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.post("2025-11-25", body.to_string()).await.1
    }
}

#[tokio::test]
async fn a_call_by_the_endpoint_is_a_call_of_the_tool() {
    let bench = ToolBench::new().await;
    bench.keep(&[said("m1", ANN, "2026-05-01T08:00:00Z", "a \u{1f600} \"b\"")]).await;
    for (tool, arguments) in [
        ("list_channels", json!({"recent": true})),
        ("get_messages", json!({"channelId": GROUP})),
        ("fetch", json!({"id": "m1"})),
    ] {
        let called = bench.call(tool, arguments.clone()).await;
        let asked = bench.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let result = &asked["result"];
        assert_eq!(result["structuredContent"], called.given, "{tool}");
        assert_eq!(result["content"], called.content, "{tool}");
        assert_ne!(result["isError"], true, "{tool}");
    }
    let refused =
        bench.ask("tools/call", json!({"name": "get_messages", "arguments": {"limit": 0}})).await;
    assert_eq!(refused["result"]["isError"], true);
    assert!(refused["result"]["structuredContent"].is_null(), "{refused}");
    // Without arguments is with none.
    for params in
        [json!({"name": "list_channels"}), json!({"name": "list_channels", "arguments": {}})]
    {
        let listed = bench.ask("tools/call", params).await;
        let channels = &listed["result"]["structuredContent"]["channels"];
        assert_eq!(channels[0]["channelId"], GROUP);
    }
}

#[tokio::test]
async fn an_answer_has_the_id_of_its_request() {
    let bench = ToolBench::new().await;
    for id in
        [json!(0), json!(-5), json!(9_007_199_254_740_993_i64), json!(""), json!("日本 \"a\"")]
    {
        for (method, is_there) in [("ping", true), ("nonsense/method", false)] {
            let body = json!({"jsonrpc": "2.0", "id": id, "method": method});
            let (_, answer) = bench.post("2025-11-25", body.to_string()).await;
            assert_eq!(answer["id"], id, "{method}: {answer}");
            assert_eq!(answer["result"].is_object(), is_there, "{answer}");
            assert_eq!(answer["error"].is_object(), !is_there, "{answer}");
        }
    }
    // Nothing answers what is no request.
    let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let (status, answer) = bench.post("2025-11-25", noted.to_string()).await;
    assert_eq!((status, answer), (StatusCode::ACCEPTED, Value::Null));
}

#[tokio::test]
async fn a_list_is_one_page_and_no_cursor_is_of_it() {
    let bench = ToolBench::new().await;
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        for params in [json!({}), json!({"cursor": null}), json!({"cursor": ""})] {
            let listed = bench.ask(method, params).await;
            assert!(listed["result"].is_object(), "{method}: {listed}");
            assert!(listed["result"]["nextCursor"].is_null(), "{method}: {listed}");
        }
        let refused = bench.ask(method, json!({"cursor": "garbage"})).await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
        let why = refused["error"]["message"].as_str().unwrap();
        assert!(why.starts_with("Invalid cursor: "), "{method}: {why}");
    }
}

#[tokio::test]
async fn an_id_that_no_answer_could_have_is_told() {
    let bench = ToolBench::new().await;
    let ping = r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#;
    let (status, answer) = bench.post("2025-11-25", ping).await;
    assert_eq!((status, &answer["id"]), (StatusCode::BAD_REQUEST, &json!(u64::MAX)), "{answer}");
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let why = answer["error"]["message"].as_str().unwrap();
    assert_eq!(why, "id must be a string or a whole number from -2^63 to 2^63-1");
}

#[tokio::test]
async fn what_is_no_json_is_told_with_its_place() {
    let bench = ToolBench::new().await;
    let call = |query: &str| {
        let arguments = format!("{{\"channelId\":\"{GROUP}\",\"senderId\":\"{query}\"}}");
        let params = format!("{{\"name\":\"get_messages\",\"arguments\":{arguments}}}");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{params}}}")
    };
    for broken in [
        // Halves of characters are none, in any order.
        call("\\ud83d"),
        call("\\ude00\\ud83d"),
        call("a\tb"),
        call("\\x41"),
        format!("\u{feff}{}", call("me")),
        format!("{}{}", "[".repeat(200), "]".repeat(200)),
        call("me") + "{}",
    ] {
        let (status, answer) = bench.post("2025-11-25", broken.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{broken}: {answer}");
        assert_eq!(answer["error"]["code"], -32700, "{broken}: {answer}");
        let why = answer["error"]["message"].as_str().unwrap();
        assert!(why.starts_with("Parse error: not JSON at line 1, column "), "{why}");
        assert_eq!(answer["id"], Value::Null);
    }
    // Both halves together are a character, and white space around is none of it.
    for whole in [call("\\ud83d\\ude00"), format!("\r\n {} \n", call("me"))] {
        let (status, answer) = bench.post("2025-11-25", whole).await;
        assert_eq!((status, answer["id"].as_i64()), (StatusCode::OK, Some(7)), "{answer}");
    }
    let invalid: Vec<u8> =
        call("é").into_bytes().into_iter().filter(|byte| *byte != 0xc3).collect();
    let (_, answer) = bench.post("2025-11-25", invalid).await;
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
}

#[tokio::test]
async fn a_body_may_be_as_long_as_those_of_the_rest_and_no_longer() {
    let bench = ToolBench::new().await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
    let padded = |length: usize| format!("{ping}{}", " ".repeat(length - ping.len()));
    let (status, answer) = bench.post("2025-11-25", padded(MAX_BODY)).await;
    assert_eq!((status, answer["id"].as_i64()), (StatusCode::OK, Some(7)), "{answer}");
    let (status, answer) = bench.post("2025-11-25", padded(MAX_BODY + 1)).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer["error"]["message"], "The request is longer than 1048576 bytes");
}

#[tokio::test]
async fn a_revision_that_is_not_known_is_told_with_those_that_are() {
    let bench = ToolBench::new().await;
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
    for revision in ["", "2025-06-17", "2024-11-05", "2025-11"] {
        let (status, answer) = bench.post(revision, ping.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{revision}: {answer}");
        let why = answer["error"]["message"].as_str().unwrap();
        assert!(why.ends_with("known are 2025-06-18, 2025-11-25, 2026-07-28"), "{why}");
        assert_eq!(answer["id"], 7);
    }
}

/// A server that does not know the revision in the header answers 400, whatever the method is.
#[tokio::test]
async fn a_later_revision_is_refused_as_one_whatever_is_asked() {
    let bench = ToolBench::new().await;
    for revision in ["2027-01-01", "v9", "draft"] {
        for method in ["tools/list", "ping", "initialize", "some/thing"] {
            let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {}});
            let (status, answer) = bench.post(revision, body.to_string()).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{method}: {answer}");
            let why = answer["error"]["message"].as_str().unwrap();
            let told = why.contains(revision) && why.contains("2026-07-28");
            assert!(told && answer["id"] == 7, "{method}: {answer}");
        }
    }
    // So is one that the body names, too, as the protocol has it since then.
    let named = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}});
    for method in ["tools/list", "ping", "some/thing"] {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": named});
        let (status, answer) = bench.post("2027-01-01", body.to_string()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{method}: {answer}");
        assert_ne!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[tokio::test]
async fn over_the_limit_only_calls_of_known_callers_are_answered() {
    let call = |id: &Value, name: &str| {
        let params = json!({"name": name});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let ask = async |request: axum::http::request::Builder, body: String, seconds: u64| {
        let request =
            request.header("authorization", "Bearer ck_a").body(Body::from(body)).unwrap();
        let response = over_limit(request, seconds).await?;
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Some(serde_json::from_slice::<Value>(&body).unwrap())
    };
    let some = call(&json!("a"), "fetch").to_string();
    let answer = ask(Request::post(PATH), some.clone(), 1).await.unwrap();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Wait 1 second, then call again"), "{text}");
    // Of a tool that there is not the same is told.
    let unknown = call(&json!(1), "delete_everything").to_string();
    let answer = ask(Request::post(PATH), unknown, 90).await.unwrap();
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("Wait 90 seconds"));
    let padded = |length: usize| some.clone() + &" ".repeat(length - some.len());
    assert!(ask(Request::post(PATH), padded(64 * 1024), 1).await.is_some());
    for (request, body) in [
        (Request::post(PATH), padded(64 * 1024 + 1)),
        (Request::get(PATH), some.clone()),
        (Request::post("/mcp/tools"), some.clone()),
        (Request::post(PATH), call(&Value::Null, "fetch").to_string()),
        (
            Request::post(PATH),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string(),
        ),
        (Request::post(PATH), String::new()),
    ] {
        assert!(ask(request, body.clone(), 1).await.is_none(), "{body}");
    }
}
