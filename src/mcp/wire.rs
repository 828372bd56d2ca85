//! HTTP errors at `/mcp` as errors of JSON-RPC, also where the library beneath would respond in
//! plain text.
//!
//! Clients differ in `Accept`, so it is parsed leniently: `*/*`, absent, or JSON alone. Every
//! response is JSON, whatever else would be accepted.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_http::{RequestId, is_json, takes_json};
use chatkeep_view::sanitize;
use rmcp::model::{
    CallToolRequestMethod, ClientJsonRpcMessage, ClientRequest, CompleteRequestMethod,
    ConstString as _, DiscoverRequestMethod, ErrorCode, GetPromptRequestMethod, JsonRpcRequest,
    ListPromptsRequestMethod, ListResourceTemplatesRequestMethod, ListResourcesRequestMethod,
    ListToolsRequestMethod, ReadResourceRequestMethod,
};
use serde_json::{Value, json};

use super::MAX_BODY;

/// `Accept` that the library requires.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// Maximum size of a refusal of the library that is read, in bytes.
const MAX_REFUSAL: usize = 4 * 1024;
/// Maximum length of its text that is passed on, in characters.
const MAX_WHY: usize = 200;

/// Reason for rejecting a request.
struct RpcRefusal {
    status: StatusCode,
    code: ErrorCode,
    why: String,
    /// Id of the request, as far as it could be parsed.
    id: Value,
}

impl RpcRefusal {
    fn new(status: StatusCode, code: ErrorCode, why: impl Into<String>) -> Self {
        Self { status, code, why: why.into(), id: Value::Null }
    }

    fn of_request(status: StatusCode, why: impl Into<String>) -> Self {
        Self::new(status, ErrorCode::INVALID_REQUEST, why)
    }

    fn about(self, id: Value) -> Self {
        Self { id, ..self }
    }

    fn response(self, request_id: Option<RequestId>) -> Response {
        let request_id = request_id.map(|RequestId(id)| id);
        let body = json!({
            "jsonrpc": "2.0",
            "id": self.id,
            "error": {
                "code": self.code.0,
                "message": self.why,
                "data": {"requestId": request_id},
            },
        });
        let mut response = (self.status, axum::Json(body)).into_response();
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

/// Rejects invalid requests, and turns the library's refusals into errors of the protocol.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let request_id = request.extensions().get().cloned();
    match pass(request, next).await {
        Ok(response) => response,
        Err(refusal) => refusal.response(request_id),
    }
}

async fn pass(request: Request, next: Next) -> Result<Response, RpcRefusal> {
    let (mut parts, body) = request.into_parts();
    if parts.method != Method::POST {
        let why = "Send requests with POST: there is no stream to open and no session to end";
        return Err(RpcRefusal::of_request(StatusCode::METHOD_NOT_ALLOWED, why));
    }
    if !takes_json(&parts.headers) {
        let why = "Responses are application/json: Accept must allow it";
        return Err(RpcRefusal::of_request(StatusCode::NOT_ACCEPTABLE, why));
    }
    parts.headers.insert(header::ACCEPT, BOTH);
    if !is_json(&parts.headers) {
        let why = "Content-Type must be application/json";
        return Err(RpcRefusal::of_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let bytes = to_bytes(body, MAX_BODY).await.map_err(|_| {
        let why = format!("The request is longer than {MAX_BODY} bytes");
        RpcRefusal::of_request(StatusCode::PAYLOAD_TOO_LARGE, why)
    })?;
    let id = check(&bytes)?;
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    match plain_refusal(response).await {
        Ok(response) => Ok(response),
        Err(refusal) => Err(refusal.about(id)),
    }
}

/// Checks that the body is one JSON-RPC message; returns its id.
fn check(bytes: &Bytes) -> Result<Value, RpcRefusal> {
    let bad = StatusCode::BAD_REQUEST;
    let message: Value = serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let why = format!("Parse error: not JSON at line {line}, column {column}");
        RpcRefusal::new(bad, ErrorCode::PARSE_ERROR, why)
    })?;
    let Value::Object(members) = &message else {
        let why = "The body must be one JSON-RPC message, an object; batches are not supported";
        return Err(RpcRefusal::of_request(bad, why));
    };
    let id = members.get("id").cloned().unwrap_or_default();
    let is_id = id.is_string() || id.is_i64() || id.is_u64();
    let id = if is_id { id } else { Value::Null };
    let wrong = |why: &str| Err(RpcRefusal::of_request(bad, why).about(id.clone()));
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("jsonrpc must be \"2.0\"");
    }
    if members.contains_key("id") && id.is_null() {
        return wrong("id must be a text or a whole number");
    }
    let answers = members.contains_key("result") || members.contains_key("error");
    if !answers && !members.get("method").is_some_and(Value::is_string) {
        return wrong("method is missing or not a text");
    }
    if members.get("params").is_some_and(|params| !params.is_object()) {
        return wrong("params must be an object");
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        Ok(message) if is_understood(&message) => Ok(id),
        _ => {
            let why = "Invalid params for the method: one is missing, or is not of its type";
            Err(RpcRefusal::new(StatusCode::OK, ErrorCode::INVALID_PARAMS, why).about(id))
        }
    }
}

/// Returns true if a request of a known method has valid params. The library treats one that has
/// not as a request of an unknown method.
fn is_understood(message: &ClientJsonRpcMessage) -> bool {
    // `initialize` exists in the older revisions only: the library knows when it is unknown.
    const METHODS: [&str; 9] = [
        DiscoverRequestMethod::VALUE,
        ListToolsRequestMethod::VALUE,
        CallToolRequestMethod::VALUE,
        ListPromptsRequestMethod::VALUE,
        GetPromptRequestMethod::VALUE,
        ListResourcesRequestMethod::VALUE,
        ListResourceTemplatesRequestMethod::VALUE,
        ReadResourceRequestMethod::VALUE,
        CompleteRequestMethod::VALUE,
    ];
    match message {
        ClientJsonRpcMessage::Request(JsonRpcRequest {
            request: ClientRequest::CustomRequest(custom),
            ..
        }) => !METHODS.contains(&custom.method.as_str()),
        _ => true,
    }
}

/// Reads a plain text refusal of the library.
async fn plain_refusal(response: Response) -> Result<Response, RpcRefusal> {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return Ok(response);
    }
    if status.is_server_error() {
        let why = "Internal error of the service";
        return Err(RpcRefusal::new(status, ErrorCode::INTERNAL_ERROR, why));
    }
    let text = to_bytes(response.into_body(), MAX_REFUSAL).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let why = sanitize::cut(text.trim_start_matches("Bad Request: "), MAX_WHY).0;
    Err(RpcRefusal::of_request(status, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &'static str) -> (i32, Value) {
        let refusal = check(&Bytes::from_static(body.as_bytes())).err().unwrap();
        assert!(!refusal.why.is_empty());
        (refusal.code.0, refusal.id)
    }

    #[test]
    fn what_is_no_message_is_refused_as_the_protocol_says() {
        for body in ["", "{", "{\"jsonrpc\":", "nonsense", "{} {}"] {
            assert_eq!(refused(body), (-32700, Value::Null), "{body}");
        }
        for body in ["[]", "3", "null", "{}", "{\"jsonrpc\":\"1.0\",\"method\":\"ping\"}"] {
            assert_eq!(refused(body), (-32600, Value::Null), "{body}");
        }
        for body in [
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
        ] {
            assert_eq!(refused(body), (-32600, json!(7)), "{body}");
        }
        for odd in ["{}", "1.5", "99999999999999999999999"] {
            let ping = format!(r#"{{"jsonrpc":"2.0","id":{odd},"method":"ping"}}"#);
            assert_eq!(refused(ping.leak()), (-32600, Value::Null), "{odd}");
        }
        for params in ["{}", "{\"name\":3}", "{\"name\":\"list_channels\",\"arguments\":[]}"] {
            let call =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
            assert_eq!(refused(call.leak()), (-32602, json!(7)), "{params}");
        }
        for (method, params) in [
            ("resources/read", "{}"),
            ("resources/read", "{\"uri\":3}"),
            ("resources/list", "{\"_meta\":3}"),
            ("resources/templates/list", "{\"_meta\":3}"),
            ("completion/complete", "{}"),
            ("completion/complete", "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"a:b\"}}"),
            ("prompts/list", "{\"_meta\":3}"),
            ("tools/list", "{\"_meta\":3}"),
        ] {
            let call =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
            assert_eq!(refused(call.leak()), (-32602, json!(7)), "{method} {params}");
        }
        let ping = Bytes::from_static(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        assert_eq!(check(&ping).ok(), Some(json!("a")));
    }
}
