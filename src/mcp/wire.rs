//! HTTP errors at `/mcp` as errors of JSON-RPC, also where the library beneath would respond in
//! plain text.
//!
//! Clients differ in `Accept`, so it is parsed leniently: `*/*`, absent, or JSON alone. Every
//! response is JSON, whatever else would be accepted.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chatkeep_http::{RequestId, is_json, takes_json};
use chatkeep_view::sanitize;
use rmcp::model::{
    CallToolRequestMethod, ClientJsonRpcMessage, ClientRequest, CompleteRequestMethod,
    ConstString as _, DiscoverRequestMethod, ErrorCode, GetPromptRequestMethod,
    InitializeResultMethod, JsonRpcRequest, ListPromptsRequestMethod,
    ListResourceTemplatesRequestMethod, ListResourcesRequestMethod, ListToolsRequestMethod,
    PingRequestMethod, ProtocolVersion, ReadResourceRequestMethod,
};
use rmcp::transport::common::http_header::HEADER_MCP_PROTOCOL_VERSION;
use serde_json::{Value, json};

use super::MAX_BODY;
use super::server::{VERSIONS, has_no_handshake, is_supported};

/// `Accept` that the library requires.
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// Maximum size of a refusal of the library that is read, in bytes.
const MAX_REFUSAL: usize = 4 * 1024;
/// Maximum length of its text that is passed on, in characters.
const MAX_WHY: usize = 200;

/// Reason for rejecting a request.
pub(super) struct RpcRefusal {
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
        Ok(response) => with_request_id(response, request_id.as_ref()).await,
        Err(refusal) => refusal.response(request_id),
    }
}

/// Adds the id of the request to an error of the protocol that the library made.
async fn with_request_id(response: Response, request_id: Option<&RequestId>) -> Response {
    let Some(RequestId(id)) = request_id.filter(|_| response.status().is_client_error()) else {
        return response;
    };
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut message: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let Some(error) = message.get_mut("error").and_then(Value::as_object_mut) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    let data = error.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = json!({});
    }
    if let Some(data) = data.as_object_mut() {
        data.insert("requestId".to_owned(), id.as_str().into());
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(message.to_string()))
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
    let revision = revision(&parts.headers);
    let id = check(&bytes, revision.as_deref())?;
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    match plain_refusal(response).await {
        Ok(response) => Ok(response),
        Err(refusal) => Err(refusal.about(id)),
    }
}

/// Returns the revision in the header of a request.
pub(super) fn revision(headers: &HeaderMap) -> Option<String> {
    let header = headers.get(HEADER_MCP_PROTOCOL_VERSION);
    header.map(|header| String::from_utf8_lossy(header.as_bytes()).into_owned())
}

/// Returns true for a revision in the header that this service refuses itself. One that the library
/// does not know either, the library refuses, as the protocol says, if the body names a revision,
/// too.
fn is_unsupported(revision: &str, message: &Value) -> bool {
    let mut known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let is_known = known.any(|version| version.as_str() == revision);
    !is_supported(revision) && (is_known || named_revision(message).is_none())
}

/// Creates the refusal of a revision.
fn unsupported(revision: &str) -> RpcRefusal {
    let (revision, _) = sanitize::cut(revision, MAX_WHY);
    let known = VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>().join(", ");
    let why = format!("Unsupported MCP-Protocol-Version {revision}: known are {known}");
    RpcRefusal::of_request(StatusCode::BAD_REQUEST, why)
}

/// Returns the revision that the body of a request names.
fn named_revision(message: &Value) -> Option<&str> {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str()
}

/// Returns true for a request of a revision without handshake, by its header or else by its body.
pub(super) fn is_self_contained(revision: Option<&str>, message: &Value) -> bool {
    revision.or_else(|| named_revision(message)).is_some_and(has_no_handshake)
}

/// Checks that the body is one JSON-RPC message of a revision that there is, by its header or else
/// by the body, and of a method of that revision; returns its id.
pub(super) fn check(bytes: &Bytes, revision: Option<&str>) -> Result<Value, RpcRefusal> {
    let (message, id) = parse(bytes)?;
    if let Some(revision) = revision.filter(|given| is_unsupported(given, &message)) {
        return Err(unsupported(revision).about(id));
    }
    let named = revision.or_else(|| named_revision(&message));
    if named.is_some_and(|named| !is_supported(named)) {
        // The library refuses it, whatever the method is.
        return Ok(id);
    }
    let is_new = is_self_contained(revision, &message);
    let method = message["method"].as_str();
    if let Some(method) = method.filter(|method| !id.is_null() && !is_method(method, is_new)) {
        let (method, _) = sanitize::cut(method, 80);
        let why = format!("There is no method {method} here, or not in this revision");
        let status = if is_new { StatusCode::NOT_FOUND } else { StatusCode::OK };
        return Err(RpcRefusal::new(status, ErrorCode::METHOD_NOT_FOUND, why).about(id));
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(bytes) {
        Ok(message) if is_understood(&message) => Ok(id),
        _ => {
            let why = wrong_params(method.unwrap_or_default(), &message["params"]);
            Err(RpcRefusal::new(StatusCode::OK, ErrorCode::INVALID_PARAMS, why).about(id))
        }
    }
}

/// Parses the body as one JSON-RPC message; returns it with its id, null for one that has none.
fn parse(bytes: &Bytes) -> Result<(Value, Value), RpcRefusal> {
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
    let is_told = id.is_string() || id.is_i64() || id.is_u64();
    let id = if is_told { id } else { Value::Null };
    let wrong = |why: &str| Err(RpcRefusal::of_request(bad, why).about(id.clone()));
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("jsonrpc must be \"2.0\"");
    }
    // The library has ids of 64 bits with a sign.
    if members.contains_key("id") && !(id.is_string() || id.is_i64()) {
        return wrong("id must be a string or a whole number from -2^63 to 2^63-1");
    }
    let answers = members.contains_key("result") || members.contains_key("error");
    if !answers && !members.get("method").is_some_and(Value::is_string) {
        return wrong("method is missing or not a string");
    }
    if members.get("params").is_some_and(|params| !params.is_object()) {
        return wrong("params must be an object");
    }
    Ok((message, id))
}

/// Returns what is wrong with the params of a method.
fn wrong_params(method: &str, params: &Value) -> &'static str {
    let is_call = method == CallToolRequestMethod::VALUE;
    match &params["arguments"] {
        _ if is_call && !params["name"].is_string() => {
            "Invalid params: name must be the name of a tool, a string"
        }
        Value::String(_) if is_call => {
            "Invalid params: arguments must be an object, not JSON in a string"
        }
        Value::Object(_) | Value::Null => {
            "Invalid params for the method: one is missing, or is not of its type"
        }
        _ if is_call => "Invalid params: arguments must be an object",
        _ => "Invalid params for the method: one is missing, or is not of its type",
    }
}

/// Returns true for a method of the revisions without handshake, or of those with one.
fn is_method(method: &str, is_new: bool) -> bool {
    const METHODS: [&str; 8] = [
        ListToolsRequestMethod::VALUE,
        CallToolRequestMethod::VALUE,
        ListPromptsRequestMethod::VALUE,
        GetPromptRequestMethod::VALUE,
        ListResourcesRequestMethod::VALUE,
        ListResourceTemplatesRequestMethod::VALUE,
        ReadResourceRequestMethod::VALUE,
        CompleteRequestMethod::VALUE,
    ];
    let own: &[&str] = if is_new {
        &[DiscoverRequestMethod::VALUE]
    } else {
        &[InitializeResultMethod::VALUE, PingRequestMethod::VALUE]
    };
    METHODS.contains(&method) || own.contains(&method)
}

/// Returns true if a request has valid params: the library treats one that has not as a request of
/// an unknown method.
const fn is_understood(message: &ClientJsonRpcMessage) -> bool {
    !matches!(
        message,
        ClientJsonRpcMessage::Request(JsonRpcRequest {
            request: ClientRequest::CustomRequest(_),
            ..
        })
    )
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
        let refusal = check(&Bytes::from_static(body.as_bytes()), None).err().unwrap();
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
        let beyond = r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#;
        assert_eq!(refused(beyond), (-32600, json!(9_223_372_036_854_775_808_u64)));
        for edge in [i64::MAX, i64::MIN] {
            let ping = format!(r#"{{"jsonrpc":"2.0","id":{edge},"method":"ping"}}"#);
            assert_eq!(check(&Bytes::from(ping), None).ok(), Some(json!(edge)));
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
        for (params, why) in [
            (json!({}), "name must be"),
            (json!({"name": "a", "arguments": "{}"}), "not JSON in a string"),
            (json!({"name": "a", "arguments": []}), "must be an object"),
            (json!({"name": "a", "_meta": 3}), "one is missing"),
        ] {
            assert!(wrong_params("tools/call", &params).contains(why), "{params}");
        }
        let ping = Bytes::from_static(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        assert_eq!(check(&ping, None).ok(), Some(json!("a")));
    }

    #[test]
    fn only_a_known_revision_is_one_without_handshake() {
        let key = "io.modelcontextprotocol/protocolVersion";
        let named = |revision: &str| json!({"params": {"_meta": {key: revision}}});
        assert!(is_self_contained(Some("2026-07-28"), &Value::Null));
        assert!(is_self_contained(None, &named("2026-07-28")));
        for other in ["2025-11-25", "2027-01-01", "v9", "draft", ""] {
            assert!(!is_self_contained(Some(other), &named("2026-07-28")), "{other}");
            assert!(!is_self_contained(None, &named(other)), "{other}");
        }
    }

    #[test]
    fn each_revision_has_its_methods() {
        let asked = |method: &str, revision: Option<&str>| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
            check(&Bytes::from(body), revision).map_err(|refusal| refusal.code.0).err()
        };
        for revision in [None, Some("2025-06-18"), Some("2025-11-25")] {
            assert_eq!(asked("server/discover", revision), Some(-32601), "{revision:?}");
            assert_eq!(asked("resources/subscribe", revision), Some(-32601), "{revision:?}");
            assert_eq!(asked("ping", revision), None, "{revision:?}");
            assert_eq!(asked("initialize", revision), Some(-32602), "{revision:?}");
        }
        assert_ne!(asked("server/discover", Some("2026-07-28")), Some(-32601));
        assert_eq!(asked("ping", Some("2026-07-28")), Some(-32601));
        // One that there is not is told before anything about the method.
        for unknown in ["2027-01-01", "2024-11-05", "v9", ""] {
            for method in ["ping", "server/discover", "initialize", "nonsense"] {
                assert_eq!(asked(method, Some(unknown)), Some(-32600), "{unknown} {method}");
            }
        }
        let noted = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/foo"}"#);
        assert_eq!(check(&noted, None).ok(), Some(Value::Null));
    }
}
