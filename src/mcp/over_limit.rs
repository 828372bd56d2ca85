//! Calls of tools over the rate limit. Clients show a model what a tool answers, and of an error of HTTP
//! no more than that there was one: so a call over the limit is answered with a result that says when
//! to call again.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::{CallToolRequestMethod, CallToolResult, ConstString as _, ContentBlock};
use serde_json::{Value, json};

use super::server::{count, server_info};
use super::{PATH, SLASHED, tools, wire};

/// Maximum size in bytes of a call that is read over the limit.
const MAX_CALL: usize = 64 * 1024;

/// Returns the answer to a request of a known caller over the rate limit, who may go on in so many
/// seconds; `None` for what is no call of a tool.
pub async fn over_limit(request: Request, seconds: u64) -> Option<Response> {
    let (parts, body) = request.into_parts();
    if !is_for_tools(&parts) {
        return None;
    }
    let call = call(&parts, body).await?;
    let name = call.name.as_deref().and_then(tools::find).map_or("unknown", |tool| tool.name);
    count(name, "limited");
    let mut result = CallToolResult::error(vec![ContentBlock::text(sentence(seconds))]);
    result.meta = call.is_self_contained.then(server_info).flatten();
    if !call.is_self_contained {
        result.result_type = None;
    }
    let body = axum::Json(json!({"jsonrpc": "2.0", "id": call.id, "result": result}));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, seconds.into());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(response)
}

fn sentence(seconds: u64) -> String {
    let seconds = if seconds == 1 { "1 second".to_owned() } else { format!("{seconds} seconds") };
    format!(
        "Rate limit exceeded: nothing was read. Wait {seconds}, then call again, with fewer calls at \
         once; larger pages (limit) need fewer of them."
    )
}

/// Returns true for a request that may be a call, by its head. A browser's session is none of a
/// model's client.
fn is_for_tools(parts: &Parts) -> bool {
    parts.method == Method::POST
        && [PATH, SLASHED].contains(&parts.uri.path())
        && parts.headers.contains_key(header::AUTHORIZATION)
}

/// Call of a tool.
struct LimitedCall {
    id: Value,
    name: Option<String>,
    /// True in a revision without handshake.
    is_self_contained: bool,
}

async fn call(parts: &Parts, body: Body) -> Option<LimitedCall> {
    let bytes = to_bytes(body, MAX_CALL).await.ok()?;
    let revision = wire::revision(&parts.headers);
    let id = wire::check(&bytes, revision.as_deref()).ok().filter(|id| !id.is_null())?;
    let message: Value = serde_json::from_slice(&bytes).ok()?;
    (message["method"] == CallToolRequestMethod::VALUE).then(|| LimitedCall {
        id,
        name: message["params"]["name"].as_str().map(str::to_owned),
        is_self_contained: wire::is_self_contained(revision.as_deref(), &message),
    })
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use futures_util::FutureExt as _;

    use super::*;

    fn answered(path: &str, revision: &str, body: &Value) -> Option<(Response, Value)> {
        let request = Request::post(path)
            .header("authorization", "Bearer ck_a")
            .header("mcp-protocol-version", revision)
            .body(Body::from(body.to_string()))
            .unwrap();
        let mut response = over_limit(request, 7).now_or_never().unwrap()?;
        let body = std::mem::take(response.body_mut());
        let body = to_bytes(body, MAX_CALL).now_or_never().unwrap().unwrap();
        Some((response, serde_json::from_slice(&body).unwrap()))
    }

    #[test]
    fn a_call_is_answered_with_the_time_to_wait() {
        let params = json!({"name": "list_channels", "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params});
        for (revision, is_new) in [("2025-11-25", false), ("2026-07-28", true)] {
            for path in [PATH, SLASHED] {
                let (response, body) = answered(path, revision, &call).unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                assert_eq!(response.headers()["retry-after"], "7");
                let result = &body["result"];
                assert_eq!((&body["id"], &result["isError"]), (&json!("a"), &json!(true)));
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(text.contains("Wait 7 seconds"), "{text}");
                assert_eq!(result["resultType"] == "complete", is_new, "{result}");
                assert_eq!(result["_meta"].is_object(), is_new, "{result}");
            }
        }
        assert!(answered("/api/me", "2025-11-25", &call).is_none());
    }

    #[test]
    fn what_is_no_call_is_none() {
        let ping = |id: Value| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        assert!(answered(PATH, "2025-11-25", &ping(json!(1))).is_none());
        for broken in [json!([]), ping(Value::Null), json!({"method": "tools/call", "id": 1})] {
            assert!(answered(PATH, "2025-11-25", &broken).is_none(), "{broken}");
        }
        let anonymous = Request::post(PATH).body(Body::empty()).unwrap();
        assert!(over_limit(anonymous, 1).now_or_never().unwrap().is_none());
    }
}
