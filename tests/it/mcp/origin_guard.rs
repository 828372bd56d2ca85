//! Access: keys, the response without one, hosts and origins, the rate limit.

use reqwest::StatusCode;
use reqwest::header::{HOST, HeaderValue, ORIGIN};
use serde_json::{Value, json};

use super::{Models, NEWEST, REVISIONS, send};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_no_key_is_told_how_to_get_in() {
    let base = "https://chat.example.org";
    let models = Models::start(&[("CHATKEEP_API_BASE_URL", base)]).await;
    let request = || models.request(NEWEST, "tools/list", json!({}));
    let keyless = send(request()).await;
    assert_eq!(keyless.status, StatusCode::UNAUTHORIZED);
    assert_eq!(keyless.body["code"], "invalid_api_key");
    let document = format!("{base}/.well-known/oauth-protected-resource/mcp");
    let scopes = "scope=\"read:messages read:members read:media\"";
    let challenge = format!("Bearer resource_metadata=\"{document}\", {scopes}");
    assert_eq!(keyless.header("www-authenticate"), challenge);
    let wrong = send(request().bearer_auth("ck_wrong")).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    let challenge = wrong.header("www-authenticate");
    assert!(challenge.starts_with("Bearer error=\"invalid_token\", resource_metadata="));
    // REST's stays as it was.
    let rest = format!("http://{}/api/me", models.stack.ground.address);
    assert_eq!(send(models.http.get(rest)).await.header("www-authenticate"), "Bearer");
    for path in ["", "/mcp"] {
        let well_known = "/.well-known/oauth-protected-resource";
        let url = format!("http://{}{well_known}{path}", models.stack.ground.address);
        let answer = send(models.http.get(url)).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.body["resource"], format!("{base}/mcp"));
        assert_eq!(answer.body["bearer_methods_supported"], json!(["header"]));
        assert_eq!(
            answer.body["scopes_supported"],
            json!(["read:messages", "read:members", "read:media"])
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_names_and_pages_are_refused() {
    let settings = [
        ("CHATKEEP_API_BASE_URL", "https://chat.example.org"),
        ("CHATKEEP_API_CORS_ORIGINS", "https://console.example.org"),
    ];
    let models = Models::start(&settings).await;
    let ask = async |host: Option<&str>, origin: Option<&str>| {
        let request = models.request(NEWEST, "tools/list", json!({})).bearer_auth("ck_ann");
        let mut request = request.build().unwrap();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
            }
        }
        let answer = models.http.execute(request).await.unwrap();
        (answer.status(), answer.json::<Value>().await.unwrap()["code"].take())
    };
    for host in ["chat.example.org", "localhost:8080", "127.0.0.1"] {
        assert_eq!(ask(Some(host), None).await.0, StatusCode::OK, "{host}");
    }
    for host in ["evil.example", "chat.example.org.evil.example", "169.254.169.254"] {
        let refused = ask(Some(host), None).await;
        assert_eq!(refused, (StatusCode::FORBIDDEN, json!("host_not_allowed")), "{host}");
    }
    for origin in
        ["https://chat.example.org", "https://console.example.org", "http://localhost:6274"]
    {
        assert_eq!(ask(None, Some(origin)).await.0, StatusCode::OK, "{origin}");
    }
    for origin in ["https://evil.example", "null", "http://chat.example.org"] {
        let refused = ask(None, Some(origin)).await;
        assert_eq!(refused, (StatusCode::FORBIDDEN, json!("origin_not_allowed")), "{origin}");
    }
    // A browser's preflight request.
    let asked = models
        .http
        .request(reqwest::Method::OPTIONS, models.url())
        .header("origin", "https://console.example.org")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,mcp-method,mcp-protocol-version");
    let answer = send(asked).await;
    assert_eq!(answer.header("access-control-allow-origin"), "https://console.example.org");
    for name in ["authorization", "mcp-protocol-version", "mcp-method", "mcp-name"] {
        assert!(answer.header("access-control-allow-headers").contains(name), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_rest_share_one_limit() {
    let settings = [("CHATKEEP_RATE_LIMIT_PER_MINUTE", "1"), ("CHATKEEP_RATE_LIMIT_BURST", "6")];
    let models = Models::start(&settings).await;
    let rest = format!("http://{}/api/channels", models.stack.ground.address);
    for left in [4, 2, 0] {
        let answer = models.call("list_channels", json!({})).await;
        assert_eq!(answer.header("x-ratelimit-remaining"), (left + 1).to_string());
        let answer = send(models.http.get(&rest).bearer_auth("ck_ann")).await;
        assert_eq!(answer.header("x-ratelimit-remaining"), left.to_string());
    }
    // A model is shown what a tool answers, and not an error of HTTP.
    for revision in REVISIONS {
        let call = json!({"name": "list_channels", "arguments": {}});
        let refused = models.ask(revision, "tools/call", call).await;
        let seconds: u64 = refused.header("retry-after").parse().unwrap();
        assert!(
            refused.refusal().contains(&format!("Wait {seconds} seconds")),
            "{}",
            refused.text()
        );
        assert_eq!(refused.header("x-ratelimit-remaining"), "0");
        assert_eq!(refused.body["id"], 7);
    }
    let refused = models.ask(NEWEST, "tools/list", json!({})).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.body["code"], "rate_limited");
    let seconds: u64 = refused.header("retry-after").parse().unwrap();
    assert_eq!(refused.body["retryAfter"], seconds);
    assert!(models.call_as("ck_bo", "list_channels", json!({})).await.given().is_object());
}
