//! Headers of every response, and refusals of HTTP itself.

use reqwest::Method;
use serde_json::json;

use super::{OWNER, Rest, message, send, under};

const SAFETY: [(&str, &str); 5] = [
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "private, no-cache"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_carries_version_id_and_safety() {
    let rest = Rest::start(&[]).await;
    let answers = [
        send(rest.get("/me").header("x-request-id", "mine-1")).await,
        send(rest.get("/v1/me").header("x-request-id", "mine-1")).await,
        send(rest.get("/nothing").header("x-request-id", "mine-1")).await,
        send(rest.get("/v2/me").header("x-request-id", "mine-1")).await,
        send(rest.get("/me").header("x-request-id", "mine-1").bearer_auth("two keys")).await,
        send(rest.request(Method::PATCH, "/me").header("x-request-id", "mine-1")).await,
        send(rest.request(Method::OPTIONS, "/me").header("x-request-id", "mine-1")).await,
        send(rest.get("/keys?limit=0").header("x-request-id", "mine-1")).await,
    ];
    let statuses = answers.iter().map(|answer| answer.status.as_u16()).collect::<Vec<_>>();
    assert_eq!(statuses, [200, 200, 404, 404, 401, 405, 204, 400]);
    for answer in &answers {
        assert_eq!(answer.header("x-api-version"), "v1", "{answer:?}");
        assert_eq!(answer.header("x-request-id"), "mine-1");
        for (name, value) in SAFETY {
            assert_eq!(answer.header(name), value, "{answer:?}");
        }
    }
    answers[2].refused(404, "not_found");
    assert_eq!(answers[3].refused(404, "unknown_api_version")["error"], "Unknown API version");
    assert_eq!(answers[4].header("www-authenticate"), "Bearer");
    let own = [send(rest.get("/me")).await, send(rest.get("/me")).await];
    let long = send(rest.get("/me").header("x-request-id", "x".repeat(129))).await;
    for forged in ["a b", "abc status=\"200\" caller=\"key\"", "a,b", "a\tb"] {
        let answer = send(rest.get("/me").header("x-request-id", forged)).await;
        assert!(answer.header("x-request-id").chars().all(|c| c.is_ascii_alphanumeric()));
    }
    for taken in ["Root=1-67891233-abcdef012345678912345678", "00-4bf9+/=", "trace:1/2.3"] {
        let answer = send(rest.get("/me").header("x-request-id", taken)).await;
        assert_eq!(answer.header("x-request-id"), taken);
    }
    assert_ne!(own[0].header("x-request-id"), own[1].header("x-request-id"));
    assert!(!own[0].header("x-request-id").is_empty() && long.header("x-request-id").len() < 129);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_tells_what_get_tells() {
    let rest = Rest::start(&[]).await;
    rest.keep(&[message("m1", OWNER, "2026-01-02T03:04:05Z", &"long ".repeat(500))]).await;
    for path in ["/me", "/channels?limit=1", "/nothing", &under("/backup/messages")] {
        for encoding in ["identity", "gzip"] {
            let ask = |method: Method| {
                let request = rest.request(method, path).header("x-request-id", "same");
                send(request.header("accept-encoding", encoding))
            };
            let (mut get, mut head) = (ask(Method::GET).await, ask(Method::HEAD).await);
            assert!(!get.body.is_empty() && head.body.is_empty());
            for headers in [&mut get.headers, &mut head.headers] {
                headers.remove("date");
                // A body that is compressed in transit has no length yet.
                headers.remove("transfer-encoding");
            }
            assert_eq!((head.status, head.headers), (get.status, get.headers), "{path} {encoding}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn methods_and_media_types_are_checked() {
    let rest = Rest::start(&[]).await;
    for (path, allow) in [
        ("/me", "OPTIONS, GET, HEAD"),
        ("/keys", "OPTIONS, GET, HEAD, POST"),
        (&*under("/backup/subscribe"), "OPTIONS, POST, DELETE"),
    ] {
        let options = send(rest.request(Method::OPTIONS, path)).await;
        assert_eq!((options.status.as_u16(), options.header("allow")), (204, allow));
        let wrong = send(rest.request(Method::PATCH, path)).await;
        wrong.refused(405, "method_not_allowed");
        assert_eq!(wrong.header("allow"), allow);
    }
    for accept in ["text/html", "image/*, text/plain;q=0.5"] {
        send(rest.get("/me").header("accept", accept)).await.refused(406, "not_acceptable");
    }
    for accept in ["*/*", "application/*", "text/html, application/json;q=0.1"] {
        send(rest.get("/me").header("accept", accept)).await.ok();
    }
    let rules = under("/assistant/rules");
    let body = r#"{"content":"be kind"}"#;
    for (coding, status) in [("gzip", 415), ("identity, gzip", 415), ("identity", 200)] {
        let request = rest.put(&rules, &json!({"content": "be kind"}));
        let answer = send(request.header("content-encoding", coding)).await;
        assert_eq!(answer.status.as_u16(), status, "{coding}");
        if status == 415 {
            let refused = answer.refused(415, "unsupported_media_type");
            assert!(refused["error"].as_str().unwrap().contains("compressed"), "{refused}");
        }
    }
    for kind in [None, Some("text/plain"), Some("application/jsonx")] {
        let mut request = rest.request(Method::PUT, &rules).body(body);
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        send(request).await.refused(415, "unsupported_media_type");
    }
    let typed =
        rest.request(Method::PUT, &rules).header("content-type", "Application/JSON; charset=utf-8");
    send(typed.body(body)).await.ok();
    let large = json!({"content": "x".repeat(1024 * 1024)});
    send(rest.put(&rules, &large)).await.refused(413, "body_too_large");
    let once = rest.post(&under("/assistant/qa"), &large).header("idempotency-key", "k");
    send(once).await.refused(413, "body_too_large");
    let more = rest.request(Method::PUT, &rules).header("content-type", "application/json");
    send(more.body(format!("{body}{body}"))).await.refused(400, "invalid_request");
    assert_eq!(send(rest.get(&rules)).await.ok()["content"], "be kind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_are_compressed_with_a_weak_tag() {
    let rest = Rest::start(&[]).await;
    rest.keep(&[message("m1", OWNER, "2026-01-02T03:04:05Z", &"long ".repeat(900))]).await;
    let path = under("/backup/messages");
    let plain = send(rest.get(&path)).await;
    assert_eq!(plain.header("content-encoding"), "");
    assert!(plain.header("etag").starts_with('"'));
    let packed = send(rest.get(&path).header("accept-encoding", "gzip")).await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.header("vary").contains("accept-encoding"), "{packed:?}");
    assert!(packed.body.starts_with(&[0x1f, 0x8b]) && packed.body.len() < plain.body.len() / 4);
    assert_eq!(packed.header("etag"), format!("W/{}", plain.header("etag")));
    for tag in [packed.header("etag"), plain.header("etag")] {
        for encoding in ["gzip", "identity"] {
            let again = rest.get(&path).header("if-none-match", tag);
            let again = send(again.header("accept-encoding", encoding)).await;
            assert_eq!((again.status.as_u16(), again.body.len()), (304, 0));
        }
    }
    for refusing in ["gzip;q=0, *", "*;q=1, gzip;q=0.0"] {
        let plain = send(rest.get(&path).header("accept-encoding", refusing)).await;
        assert_eq!(plain.header("content-encoding"), "", "{refusing}");
    }
    let short = send(rest.get("/me").header("accept-encoding", "gzip")).await;
    assert_eq!(short.header("content-encoding"), "", "not worth it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_origins_only_where_it_is_set() {
    let (ours, other) = ("https://a.example.org", "https://b.example.org");
    for settings in [&[][..], &[("CHATKEEP_API_CORS_ORIGINS", ours)]] {
        let rest = Rest::start(settings).await;
        // No preflight: the same with and without the setting.
        let options = async |path: &str| send(rest.request(Method::OPTIONS, path)).await;
        let plain = options("/me").await;
        assert_eq!((plain.status.as_u16(), plain.header("allow")), (204, "OPTIONS, GET, HEAD"));
        options("/nothing").await.refused(404, "not_found");
        for origin in [ours, other] {
            let allowed = if settings.is_empty() || origin == other { "" } else { origin };
            let plain = send(rest.get("/me").header("origin", origin)).await;
            plain.ok();
            assert_eq!(plain.header("access-control-allow-origin"), allowed, "{origin}");
            let refused = rest.get("/me").header("origin", origin).bearer_auth("another");
            let refused = send(refused).await;
            assert_eq!(refused.status.as_u16(), 401);
            assert_eq!(refused.header("access-control-allow-origin"), allowed);
            assert_eq!(plain.header("access-control-allow-credentials"), "");
            let asked = rest
                .request(Method::OPTIONS, &under("/assistant/rules"))
                .header("origin", origin)
                .header("access-control-request-method", "PUT")
                .header("access-control-request-headers", "authorization,content-type,if-match");
            let asked = send(asked).await;
            assert!(asked.status.is_success());
            assert_eq!(asked.header("access-control-allow-origin"), allowed);
            if !allowed.is_empty() {
                assert!(asked.header("access-control-allow-methods").contains("PUT"));
                assert!(asked.header("access-control-allow-headers").contains("if-match"));
                let exposed = plain.header("access-control-expose-headers");
                assert!(exposed.contains("etag") && exposed.contains("link"), "{exposed}");
                assert!(plain.header("vary").contains("origin"));
            }
        }
    }
}
