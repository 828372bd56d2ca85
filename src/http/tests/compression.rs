//! Compression: what is worth it, and that nothing is lost by it.

use std::io::{Read as _, Write as _};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, Response, header};
use axum::routing::get;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::{answered, text};
use crate::{LARGE, LargeResponses, Packed, served};

/// Returns a surface that answers a body of that type and size.
fn surface(kind: &'static str, bytes: usize) -> Router {
    let handler = move || async move {
        ([(header::CONTENT_TYPE, kind), (header::ETAG, "\"own\"")], "ab日".repeat(bytes / 5))
    };
    served(Router::new().route("/", get(handler)), LargeResponses::default(), &[])
}

async fn asked(router: &Router, accept: &[&str]) -> Response<Bytes> {
    let request = accept
        .iter()
        .fold(Request::get("/"), |request, line| request.header("accept-encoding", *line));
    answered(router, request.body(Body::empty()).unwrap()).await
}

fn unpacked(body: &Bytes) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
    plain
}

#[tokio::test]
async fn long_texts_are_compressed_and_files_and_events_are_not() {
    for (kind, bytes, is_packed) in [
        ("application/json", 5_000, true),
        ("text/html; charset=utf-8", 5_000, true),
        ("text/csv; charset=utf-8", 5_000, true),
        ("application/json", 500, false),
        ("image/png", 5_000, false),
        ("video/mp4", 5_000, false),
        ("audio/mpeg", 5_000, false),
        ("application/zip", 5_000, false),
        ("application/octet-stream", 5_000, false),
        ("text/event-stream", 5_000, false),
    ] {
        let router = surface(kind, bytes);
        let answer = asked(&router, &["gzip"]).await;
        let coding = text(answer.headers(), "content-encoding");
        assert_eq!(coding == "gzip", is_packed, "{kind} {bytes}");
        assert_eq!(coding.is_empty(), !is_packed, "{kind} {bytes}");
        let plain = if is_packed { unpacked(answer.body()) } else { answer.body().to_vec() };
        assert_eq!(plain, asked(&router, &[]).await.body().to_vec(), "{kind} {bytes}");
    }
}

#[tokio::test]
async fn a_caller_gets_gzip_or_nothing() {
    let router = surface("application/json", 5_000);
    for (accept, is_packed) in [
        (&["br, gzip;q=0.1"][..], true),
        (&["deflate", "x-gzip"], true),
        (&["*"], true),
        (&["identity;q=0, gzip"], true),
        (&["br, deflate, zstd"], false),
        (&["gzip;q=0, *;q=1"], false),
        // It is answered all the same: a refusal would hide what was done.
        (&["identity;q=0"], false),
        (&["identity;q=0, *;q=0"], false),
    ] {
        let answer = asked(&router, accept).await;
        let expected = if is_packed { "gzip" } else { "" };
        assert_eq!(text(answer.headers(), "content-encoding"), expected, "{accept:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_packed_already_is_sent_as_it_is_or_unpacked() {
    let plain = "ab日".repeat(200_000).into_bytes();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&plain).unwrap();
    let gzip: &'static [u8] = encoder.finish().unwrap().leak();
    let kind = [(header::CONTENT_TYPE, "text/javascript")];
    let handler = move |headers: HeaderMap| async move { (kind, Packed { gzip, headers }) };
    let router = Router::new().route("/", get(handler));
    let router = served(router, LargeResponses::default(), &[]);
    let packed = asked(&router, &["br, gzip"]).await;
    assert_eq!(text(packed.headers(), "content-encoding"), "gzip");
    assert_eq!(packed.body(), gzip);
    let unpacked = asked(&router, &["br"]).await;
    assert_eq!(text(unpacked.headers(), "content-encoding"), "");
    assert_eq!(*unpacked.body(), plain);
    for answer in [packed, unpacked] {
        assert_eq!(text(answer.headers(), "vary"), "accept-encoding");
    }
}

#[tokio::test]
async fn what_can_be_resumed_is_sent_as_it_is() {
    let handler = || async {
        let headers = [(header::CONTENT_TYPE, "text/csv"), (header::ACCEPT_RANGES, "bytes")];
        (headers, "line\n".repeat(1_000))
    };
    let router = Router::new().route("/", get(handler));
    let router = served(router, LargeResponses::default(), &[]);
    let answer = asked(&router, &["gzip"]).await;
    assert_eq!(text(answer.headers(), "content-encoding"), "");
    assert_eq!(answer.body().len(), 5_000);
}

#[tokio::test]
async fn a_large_answer_is_the_same_as_a_small_one() {
    for bytes in [LARGE / 2, LARGE * 2] {
        let router = surface("application/json", bytes);
        let plain = asked(&router, &[]).await;
        assert_eq!(text(plain.headers(), "content-encoding"), "");
        let packed = asked(&router, &["gzip"]).await;
        assert_eq!(text(packed.headers(), "content-encoding"), "gzip", "{bytes}");
        assert!(text(packed.headers(), "vary").contains("accept-encoding"), "{bytes}");
        assert_eq!(unpacked(packed.body()), plain.body().to_vec(), "{bytes}");
        assert_eq!(plain.body().len(), bytes / 5 * 5, "{bytes}");
        for answer in [&plain, &packed] {
            let length = text(answer.headers(), "content-length");
            let own = answer.body().len().to_string();
            assert!(length.is_empty() || length == own, "{bytes}: {length}, not {own}");
        }
    }
    let large = asked(&surface("application/json", LARGE * 2), &["gzip"]).await;
    let length = text(large.headers(), "content-length");
    assert_eq!(length, large.body().len().to_string(), "its size is known");
}
