//! Requests that are not the platform's, or not for this bot, or no webhook.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use futures_util::stream;

use super::*;

/// Returns a body that comes in parts of this size, without its length being known.
fn in_parts(body: &str, size: usize) -> Body {
    let parts: Vec<_> =
        body.as_bytes().chunks(size).map(|part| Ok::<_, Infallible>(part.to_vec())).collect();
    Body::from_stream(stream::iter(parts))
}

/// Returns a signed connection check of exactly this size.
fn padded(bytes: usize) -> String {
    let (start, end) = (r#"{"events":[],"x":""#, r#""}"#);
    format!("{start}{}{end}", "y".repeat(bytes - start.len() - end.len()))
}

#[tokio::test]
async fn a_change_of_any_byte_breaks_the_signature() {
    let body = body_of([r#"{"webhookEventId":"A","text":"早安"}"#]);
    let fixture = Fixture::new(1_000).await;
    let signature = signed(SECRET, &body);
    for place in 0..body.len() {
        let mut changed = body.clone().into_bytes();
        changed[place] ^= 1;
        let answer = fixture.send("/webhook/line/main", &signature, changed.into()).await;
        assert_eq!(answer.0, StatusCode::UNAUTHORIZED, "{place}");
        assert_eq!(answer.1["code"], "invalid_signature", "{place}");
    }
    for changed in [format!("{body}\n"), format!(" {body}"), body[1..].to_owned(), String::new()] {
        let answer = fixture.send("/webhook/line/main", &signature, changed.clone().into()).await;
        assert_eq!(answer.0, StatusCode::UNAUTHORIZED, "{changed}");
    }
    assert_eq!(fixture.waiting().await, 0);
    assert_eq!(fixture.deliver(&body).await.0, StatusCode::OK);
    fixture.end().await;
}

#[tokio::test]
async fn a_webhook_is_for_the_bot_whose_secret_signed_it() {
    let fixture = Fixture::new(100).await;
    let body = body_with("E", 1);
    for (path, secret, status) in [
        ("/webhook/line/main", SECRET, StatusCode::OK),
        ("/webhook/line/main", OTHER[0], StatusCode::UNAUTHORIZED),
        ("/webhook/line/other", OTHER[0], StatusCode::OK),
        ("/webhook/line/other", OTHER[1], StatusCode::OK),
        ("/webhook/line/other", SECRET, StatusCode::UNAUTHORIZED),
    ] {
        let answer = fixture.send(path, &signed(secret, &body), body.clone().into()).await;
        assert_eq!(answer.0, status, "{path} signed with {secret}");
    }
    // The replacement is complete: the running ingress forgets the former secret.
    assert!(fixture.other.replace_secrets(&[OTHER[0].to_owned().into()]));
    for (secret, status) in [(OTHER[0], StatusCode::OK), (OTHER[1], StatusCode::UNAUTHORIZED)] {
        let signature = signed(secret, &body);
        let answer = fixture.send("/webhook/line/other", &signature, body.clone().into()).await;
        assert_eq!(answer.0, status, "{secret}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_path_without_a_bot_of_that_name_is_not_found_however_often() {
    let fixture = Fixture::new(1).await;
    let body = body_with("E", 1);
    for path in ["/webhook/line/Main", "/webhook/line/mai", "/webhook/line/other2"] {
        for secret in [SECRET, OTHER[0]] {
            let answer = fixture.send(path, &signed(secret, &body), body.clone().into()).await;
            assert_eq!((answer.0, &answer.1["code"]), (StatusCode::NOT_FOUND, &"not_found".into()));
        }
    }
    let several = fixture.send("/webhook/line", &signed(SECRET, &body), body.clone().into()).await;
    assert_eq!(several.0, StatusCode::NOT_FOUND, "it does not say whose it is");
    let sentence = several.1["error"].as_str().unwrap();
    assert!(sentence.ends_with("/webhook/line/main, /webhook/line/other"), "{sentence}");
    assert_eq!(fixture.waiting().await, 0);
    // They used up nothing of the budget for garbage.
    let wrong = fixture.send("/webhook/line/main", &signed("x", &body), body.into()).await;
    assert_eq!(wrong.0, StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

#[tokio::test]
async fn the_body_is_read_only_with_what_may_be_a_signature() {
    let fixture = Fixture::new(100).await;
    let (right, wrong) = (signed(SECRET, "{}"), signed("x", ""));
    let unpadded = right.replace('=', "");
    let cases =
        [("", false), ("AAAA", false), (&right[1..], false), (&*unpadded, false), (&*wrong, true)];
    for (signature, may_be) in cases {
        let was_read = Arc::new(AtomicBool::new(false));
        let reader = Arc::clone(&was_read);
        let body = Body::from_stream(stream::poll_fn(move |_| {
            reader.store(true, Ordering::SeqCst);
            Poll::Ready(None::<Result<Vec<u8>, Infallible>>)
        }));
        let answer = fixture.send("/webhook/line/main", signature, body).await;
        assert_eq!(answer.0, StatusCode::UNAUTHORIZED, "{signature}");
        assert_eq!(was_read.load(Ordering::SeqCst), may_be, "{signature}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_body_may_have_the_largest_size_and_not_a_byte_more() {
    let fixture = Fixture::new(1).await;
    for (bytes, status) in
        [(MAX_BODY, StatusCode::OK), (MAX_BODY + 1, StatusCode::PAYLOAD_TOO_LARGE)]
    {
        let body = padded(bytes);
        assert_eq!(body.len(), bytes);
        assert_eq!(fixture.deliver(&body).await.0, status, "{bytes}");
        let signature = signed(SECRET, &body);
        let parts = in_parts(&body, 1_000);
        assert_eq!(
            fixture.send("/webhook/line/main", &signature, parts).await.0,
            status,
            "{bytes}"
        );
    }
    let large = fixture.deliver(&padded(2 * MAX_BODY)).await;
    assert_eq!(large.1["code"], "body_too_large");
    fixture.end().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_nobodys() {
    let fixture = Fixture::new(1).await;
    let body = body_with("E", 1);
    let half = body.as_bytes()[..body.len() / 2].to_vec();
    let parts = stream::iter([Ok(half), Err(io::Error::other("cut"))]);
    let signature = signed(SECRET, &body);
    let answer = fixture.send("/webhook/line/main", &signature, Body::from_stream(parts)).await;
    assert_eq!((answer.0, &answer.1["code"]), (StatusCode::BAD_REQUEST, &"invalid_request".into()));
    assert!(!WebhookResponse::BrokenOff.is_signed(), "the log would name the platform");
    // It used up nothing of the budget for garbage.
    let wrong = fixture.send("/webhook/line/main", &signed("x", &body), body.into()).await;
    assert_eq!(wrong.0, StatusCode::UNAUTHORIZED);
    assert_eq!(fixture.waiting().await, 0);
    fixture.end().await;
}

#[tokio::test]
async fn what_is_signed_and_no_webhook_costs_nothing_of_the_budget() {
    let fixture = Fixture::new(1).await;
    for body in ["[]", "{\"events\":[", "\"events\"", "{\"events\":{}}"] {
        let (status, answer) = fixture.deliver(body).await;
        assert_eq!((status, &answer["code"]), (StatusCode::BAD_REQUEST, &"invalid_body".into()));
        assert_eq!(answer["error"], "The body is not a webhook of LINE", "{body}");
    }
    let send =
        async |signature: &str| fixture.send("/webhook/line/main", signature, "{}".into()).await.0;
    let wrong = signed("x", "{}");
    assert_eq!(send(&wrong).await, StatusCode::UNAUTHORIZED);
    assert_eq!(send(&wrong).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(send("").await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(send(&signed(SECRET, "{}")).await, StatusCode::OK, "the platform is never limited");
    fixture.clock.advance(Duration::from_mins(1));
    assert_eq!(send("").await, StatusCode::UNAUTHORIZED);
    fixture.end().await;
}
