//! The official conformance suite against the running program, in the two newest revisions.
//! Expected failures are listed in `tests/mcp/expected-failures.yaml`, each with its reason; the
//! suite itself fails on any other failure, and on any of these that passes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HeaderValue, TRANSFER_ENCODING};
use axum::response::Response;
use serde_json::Value;
use tokio::net::TcpListener;

use super::{Models, REVISIONS};
use crate::harness::process::Program;
use crate::harness::scratch;

pub(super) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp");

/// Timeout; the suite takes ten seconds on an idle machine.
const TIMEOUT: Duration = Duration::from_mins(4);

/// Proxy that adds the key, for which the suite has no option, and changes nothing else.
#[derive(Clone)]
struct Keyed {
    http: reqwest::Client,
    address: String,
}

async fn forward(State(keyed): State<Keyed>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let url = format!("http://{}{}", keyed.address, parts.uri);
    let mut headers = parts.headers;
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer ck_ann"));
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let request = keyed.http.request(parts.method, url).headers(headers).body(body);
    let answer = request.send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    let headers = response.headers_mut().unwrap();
    headers.clone_from(answer.headers());
    // It is forwarded in one piece.
    headers.remove(TRANSFER_ENCODING);
    response.body(Body::from(answer.bytes().await.unwrap())).unwrap()
}

/// Returns the address of `/mcp` for callers that cannot send a key.
async fn keyed(models: &Models) -> String {
    let address = models.stack.ground.address.to_string();
    let keyed = Keyed { http: models.http.clone(), address };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().fallback(forward).with_state(keyed);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// Returns the suite's failed checks, expected ones among them.
fn failures_in(results: &Path) -> String {
    let mut failures = String::new();
    for scenario in results.read_dir().unwrap() {
        let checks = scenario.unwrap().path().join("checks.json");
        let Ok(checks) = std::fs::read_to_string(&checks) else { continue };
        let checks: Vec<Value> = serde_json::from_str(&checks).unwrap();
        for check in checks.iter().filter(|check| check["status"] == "FAILURE") {
            let _ = writeln!(failures, "{}: {}", check["id"], check["errorMessage"]);
        }
    }
    failures
}

#[test]
fn every_expected_failure_has_a_reason() {
    let list = std::fs::read_to_string(format!("{FOLDER}/expected-failures.yaml")).unwrap();
    let entries: Vec<_> = list.lines().filter(|line| line.starts_with("  - ")).collect();
    assert!(!entries.is_empty());
    for entry in entries {
        let (check, reason) = entry.split_once(" # ").unwrap_or_else(|| panic!("why? {entry}"));
        assert!(check.contains(':') && reason.len() > 10, "one check, and why: {entry}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_suite_finds_what_is_expected() {
    let models = Models::start(&[]).await;
    let url = keyed(&models).await;
    for revision in &REVISIONS[1..] {
        let results = scratch::folder("conformance-");
        let suite =
            format!("{FOLDER}/node_modules/@modelcontextprotocol/conformance/dist/index.js");
        let failures = format!("{FOLDER}/expected-failures.yaml");
        let mut run = Program::new(&format!("{FOLDER}/node_modules/.bin/node"))
            .args([&suite, "server", "--url", &url, "--requirements", revision])
            .args(["--expected-failures", &failures, "-o", results.path().to_str().unwrap()])
            .env("HOME", results.path())
            .folder(results.path())
            .start();
        let status = run.finish_within(TIMEOUT).await;
        let said = run.stdout().into_iter().chain(run.stderr()).collect::<Vec<_>>().join("\n");
        let failed = failures_in(results.path());
        assert!(status.success(), "{revision}: {status}; tests/run installs it\n{said}\n{failed}");
        let summary = said.split_once("SUMMARY").map_or(&*said, |(_, summary)| summary);
        assert!(summary.contains("✓ tools-list") && summary.contains("✓ dns-rebinding-protection"));
        println!("{revision} {summary}");
    }
}
