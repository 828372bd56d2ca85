//! Every error on every path has the common form: of routes, of unknown paths, of unsupported
//! methods, on every surface.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Rest, send};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Method, path, status and code.
const ERRORS: [(Method, &str, u16, &str); 24] = [
    (Method::DELETE, "/", 405, "method_not_allowed"),
    (Method::GET, "/nope", 404, "not_found"),
    (Method::DELETE, "/nope", 404, "not_found"),
    (Method::GET, "/api", 404, "not_found"),
    (Method::GET, "/api/", 404, "not_found"),
    (Method::GET, "/api/nope", 404, "not_found"),
    (Method::GET, "/api/v1", 404, "not_found"),
    (Method::GET, "/api/v1/", 404, "not_found"),
    (Method::GET, "/api/v2/me", 404, "unknown_api_version"),
    (Method::GET, "/v1/me", 404, "not_found"),
    (Method::GET, "/auth/nope", 404, "not_found"),
    (Method::PUT, "/auth/login", 405, "method_not_allowed"),
    (Method::GET, "/auth/login?nope=1", 404, "not_found"),
    (Method::GET, "/oauth/nope", 404, "not_found"),
    (Method::GET, "/.well-known/nope", 404, "not_found"),
    (Method::POST, "/webhook/nope", 404, "not_found"),
    (Method::GET, "/webhook/line", 405, "method_not_allowed"),
    (Method::POST, "/webhook/line", 401, "invalid_signature"),
    (Method::POST, "/webhook/line/nope", 404, "not_found"),
    (Method::PUT, "/healthz", 405, "method_not_allowed"),
    (Method::POST, "/readyz", 405, "method_not_allowed"),
    (Method::POST, "/openapi.json", 405, "method_not_allowed"),
    (Method::GET, "/docs/nope.js", 404, "not_found"),
    (Method::GET, "/mcp/nope", 404, "not_found"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_error_on_every_path_has_one_form() {
    let rest = Rest::start(&[]).await;
    for (method, path, status, code) in ERRORS {
        let url = format!("http://{}{path}", rest.stack.ground.address);
        let ask = |method: Method| send(rest.http.request(method, &url));
        let answer = ask(method.clone()).await;
        let body = answer.refused(status, code);
        assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{path}: {body}");
        assert_eq!(body.as_object().unwrap().len(), 3, "{path}: {body}");
        assert_eq!(answer.header("x-api-version"), "v1", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("allow").is_empty(), status != 405, "{path}");
        if method == Method::GET && status == 404 {
            let head = ask(Method::HEAD).await;
            assert_eq!((head.status, head.body.len()), (answer.status, 0), "{path}");
            assert_eq!(head.header("content-type"), "application/json", "{path}");
        }
    }
    // Responses of a healthy service are unchanged.
    let healthy = send(rest.outside("/healthz").header("x-request-id", "mine")).await;
    assert_eq!((healthy.status.as_u16(), &healthy.body[..]), (200, &b"ok\n"[..]));
    assert_eq!(healthy.header("x-request-id"), "mine");
    let mut ready = Value::Null;
    until("the search index has caught up", DEADLINE, async || {
        ready = send(rest.outside("/readyz")).await.ok();
        ready["search"] == "ok"
    })
    .await;
    let expected =
        json!({"bus": "ok", "store": "ok", "disk": "ok", "search": "ok", "problems": []});
    assert_eq!(ready, expected);
}
