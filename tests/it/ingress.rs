//! The ingress as LINE (and whoever pretends to be LINE) meets it.

use chatkeep::demo::emulator::{Signed, signature};
use reqwest::StatusCode;

use crate::harness::http;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, SECRET, Stack};

/// Bodies of old senders and of the future: no event id, no context, odd ids, unknown types,
/// fields of unexpected types.
const LENIENT: [&str; 9] = [
    r#"{"events":[{"type":"follow","timestamp":1462629479859,"source":{"type":"user","userId":"u1"},"replyToken":"r"}]}"#,
    r#"{"destination":"xxxxxxxxxx","events":[{"type":"hoge","foo":{"bar":"baz"},"mode":"active"}]}"#,
    r#"{"events":[{"type":"message","source":{"type":"unknown"},"message":{"id":"1","type":"unknown","unknown":"blah"}}]}"#,
    r#"{"events":[{"type":"message","source":{"type":"group","groupId":"Ca56f94637c..."},"message":{"id":"2","type":"sticker"}}]}"#,
    r#"{"events":[{"type":"beacon","beacon":{"hwid":"d41d8cd98f","type":"enter"},"source":{"type":"user","userId":"U2"}}]}"#,
    r#"{"events":[{"type":"accountLink","link":{"result":"ok","nonce":"n"},"timestamp":"soon"}]}"#,
    r#"{"events":[{"type":"memberJoined","source":{"type":"group","groupId":"C3"},"joined":{"members":[{"type":"user"}]}}]}"#,
    r#"{"events":[{"type":"message","webhookEventId":"E1","message":{"id":"3","type":"image"}},{"type":"message","webhookEventId":"E1","message":{"id":"4","type":"image"}}]}"#,
    r#"{"events":[{"type":"message","source":{"type":"user","userId":"U4"},"message":{"id":"5","type":"text","text":"nul \u0000 and \ud83d\ude00"}}]}"#,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_line_signs_is_taken_and_nothing_else() {
    let stack = Stack::start(Parts::Embedded, emulator().await).await;
    let line = &stack.line;
    assert_eq!(line.connection_check().await.status, Some(200));
    for body in LENIENT {
        assert_eq!(line.post(line.sign_raw(body)).await, Some(200), "{body}");
    }
    stack.drained().await;
    let dead = stack.ground.command(line, &["dead", "list", "--json"]).await;
    assert_eq!(dead, "", "every one of them can be handled");

    let good = signature(SECRET, LENIENT[0].as_bytes());
    for wrong in [None, Some(""), Some("AAAA"), Some(&good[1..]), Some("Ünsigned")] {
        assert_eq!(line.post_raw(LENIENT[0], wrong).await, Some(401), "{wrong:?}");
    }
    let other = Signed { body: format!("{} ", LENIENT[0]).into(), signature: good };
    assert_eq!(line.post(other).await, Some(401));
    for broken in ["", "[]", "{", "{\"events\":3}", "null"] {
        assert_eq!(line.post(line.sign_raw(broken)).await, Some(400), "{broken}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_have_a_limit_and_the_route_a_method() {
    let stack = Stack::start(Parts::Embedded, emulator().await).await;
    let large = format!("{{\"events\":[],\"x\":\"{}\"}}", "y".repeat(1024 * 1024));
    assert_eq!(stack.line.post(stack.line.sign_raw(large)).await, Some(413));
    let url = format!("http://{}/webhook/line", stack.ground.address);
    let got = http::client(DEADLINE).get(url).send().await.unwrap();
    assert_eq!(got.status(), StatusCode::METHOD_NOT_ALLOWED);
}
