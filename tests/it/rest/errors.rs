//! Codes of errors: those of the server itself, which no route sees, and that each code of the list
//! is expected by some test.

use std::fs;
use std::path::Path;

use chatkeep_http::ErrorCode;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Rest;
use crate::stack::DEADLINE;

/// Sends a request over a connection of its own; returns the response, which ends it.
async fn last_answer(rest: &Rest, request: &str) -> String {
    let mut stream = TcpStream::connect(rest.stack.ground.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(DEADLINE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_route_sees_is_refused_in_the_form_of_all_errors() {
    let settings =
        [("CHATKEEP_HTTP_MAX_HEAD_BYTES", "131072"), ("CHATKEEP_HTTP_HEADER_SECONDS", "1")];
    let rest = Rest::start(&settings).await;
    let long = "x".repeat(70_000);
    let many: Vec<_> = (0..200).map(|n| format!("x-{n}: x\r\n")).collect();
    let many = many.concat();
    for (request, status, code) in [
        (format!("GET /api/{long} HTTP/1.1\r\nhost: x\r\n\r\n"), "414", "uri_too_long"),
        (format!("GET /api HTTP/1.1\r\nhost: x\r\n{many}\r\n"), "431", "headers_too_large"),
        ("GET /api HTTP/1.1\r\nhost:".to_owned(), "408", "request_timeout"),
    ] {
        let answer = last_answer(&rest, &request).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["code"], code, "{body}");
    }
}

/// Adds the text of each Rust file in a folder and below it.
fn add_sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_code_is_expected_by_a_test() {
    let mut sources = Vec::new();
    add_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), &mut sources);
    let is_expected = |code: &ErrorCode| {
        let quoted = format!("\"{code}\"");
        sources.iter().any(|source| source.contains(&quoted))
    };
    let forgotten: Vec<_> = ErrorCode::ALL.iter().filter(|code| !is_expected(code)).collect();
    assert!(forgotten.is_empty(), "no test provokes {forgotten:?}");
}
