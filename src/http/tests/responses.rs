//! Headers of every response: its id, its version, headers for browsers, and the way to the next
//! page.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, header};
use axum::routing::{any, get};
use axum::{Extension, Router};
use proptest::collection::vec;
use proptest::prelude::*;
use tokio::runtime::Builder;
use url::form_urlencoded;

use super::{answered, got, json_of, text};
use crate::{NextPage, with_common_layers};

fn plain() -> Router {
    with_common_layers(Router::new().route("/", get(|| async { "plain" })))
}

fn asked(id: HeaderValue, path: &str) -> Request<Body> {
    Request::get(path).header("x-request-id", id).body(Body::empty()).unwrap()
}

/// Returns true for an id that the service made.
fn is_made(id: &str) -> bool {
    id.len() == 20 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[tokio::test]
async fn an_id_of_the_caller_is_taken_if_it_is_one_word_of_plain_characters() {
    let router = plain();
    for byte in 0..=u8::MAX {
        let Ok(id) = HeaderValue::from_bytes(&[b'a', byte, b'z']) else { continue };
        let is_plain = byte.is_ascii_alphanumeric() || b"._:/+=-".contains(&byte);
        let answer = answered(&router, asked(id.clone(), "/")).await;
        let told = &answer.headers()["x-request-id"];
        assert_eq!(*told == id, is_plain, "{byte:#x}");
        assert!(is_plain || is_made(told.to_str().unwrap()), "{told:?}");
    }
}

#[tokio::test]
async fn an_id_of_the_caller_has_at_most_128_characters() {
    let router = plain();
    for (length, is_taken) in [(0, false), (1, true), (128, true), (129, false)] {
        let id = "i".repeat(length);
        let answer = answered(&router, asked(id.parse().unwrap(), "/")).await;
        assert_eq!(text(answer.headers(), "x-request-id") == id, is_taken, "{length}");
    }
    let refused = answered(&router, asked("mine:1".parse().unwrap(), "/nowhere")).await;
    assert_eq!(json_of(&refused)["requestId"], "mine:1", "errors repeat it");
    let ids = [got(&router, "/").await, got(&router, "/").await];
    let ids = ids.map(|answer| text(answer.headers(), "x-request-id").to_owned());
    assert!(ids[0] != ids[1] && ids.iter().all(|id| is_made(id)), "{ids:?}");
}

#[tokio::test]
async fn a_page_may_send_its_forms_and_a_file_tells_nobody_where_it_came_from() {
    let html = || (header::CONTENT_TYPE, "text/html; charset=utf-8");
    let saved = || (header::CONTENT_DISPOSITION, "attachment; filename=\"a.html\"");
    let own = [(header::CACHE_CONTROL, "no-store"), (header::REFERRER_POLICY, "origin")];
    let router = Router::new()
        .route("/page", get(move || async move { ([html()], "<p>") }))
        .route("/saved", get(move || async move { ([html(), saved()], "<p>") }))
        .route("/own", get(move || async move { (own, [("x-api-version", "v9")], "x") }))
        .route("/plain", get(|| async { "x" }));
    let router = with_common_layers(router);
    for (path, referrer, cache) in [
        ("/page", "same-origin", "private, no-cache"),
        ("/saved", "no-referrer", "private, no-cache"),
        ("/own", "origin", "no-store"),
        ("/plain", "no-referrer", "private, no-cache"),
        ("/nowhere", "no-referrer", "private, no-cache"),
    ] {
        let answer = got(&router, path).await;
        assert_eq!(text(answer.headers(), "referrer-policy"), referrer, "{path}");
        assert_eq!(text(answer.headers(), "cache-control"), cache, "{path}");
        assert_eq!(text(answer.headers(), "x-api-version"), "v1", "{path}");
        assert_eq!(text(answer.headers(), "x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn head_is_handled_as_get_without_a_range() {
    let seen = |method: Method, headers: HeaderMap| async move {
        let seen = format!("{method} {}", headers.contains_key(header::RANGE));
        ([("x-seen", seen)], "body")
    };
    let router = with_common_layers(Router::new().route("/", any(seen)));
    let mut lengths = Vec::new();
    for (method, expected) in
        [(Method::GET, "GET true"), (Method::HEAD, "GET false"), (Method::POST, "POST true")]
    {
        let request = Request::builder().method(method).uri("/").header("range", "bytes=0-1");
        let answer = answered(&router, request.body(Body::empty()).unwrap()).await;
        assert_eq!(text(answer.headers(), "x-seen"), expected);
        lengths.push(text(answer.headers(), "content-length").to_owned());
    }
    assert_eq!(lengths[0], lengths[1], "the length is that of GET");
}

#[tokio::test]
async fn a_compressed_body_has_a_weak_tag() {
    let tagged = |tag: &'static str, packed: bool| {
        let coding = packed.then_some([(header::CONTENT_ENCODING, "gzip")]);
        let handler = move || async move { ([(header::ETAG, tag)], coding, "x") };
        with_common_layers(Router::new().route("/", get(handler)))
    };
    for (tag, packed, expected) in [
        ("\"a\"", true, "W/\"a\""),
        ("\"a\"", false, "\"a\""),
        ("W/\"a\"", true, "W/\"a\""),
        ("\"\"", true, "W/\"\""),
    ] {
        let answer = got(&tagged(tag, packed), "/").await;
        assert_eq!(text(answer.headers(), "etag"), expected, "{tag} {packed}");
    }
}

/// Returns the address in the `Link` of a list with that query, whose next page has that cursor.
fn linked(query: &str, cursor: &str) -> String {
    let next = NextPage(cursor.to_owned());
    let handler = move || std::future::ready(Extension(next.clone()));
    let router = with_common_layers(Router::new().route("/{folder}/list", get(handler)));
    let runtime = Builder::new_current_thread().build().unwrap();
    let answer = runtime.block_on(got(&router, &format!("/a%20b/list{query}")));
    let link = text(answer.headers(), "link");
    link.strip_prefix('<').and_then(|rest| rest.strip_suffix(">; rel=\"next\"")).unwrap().to_owned()
}

#[test]
fn a_link_replaces_the_cursor_wherever_it_stands() {
    for (query, expected) in [
        ("", "?cursor=next"),
        ("?", "?cursor=next"),
        ("?limit=2", "?limit=2&cursor=next"),
        ("?cursor=old&limit=2", "?limit=2&cursor=next"),
        ("?a=1&cursor=old&b=%E6%97%A5&cursor=older", "?a=1&b=%E6%97%A5&cursor=next"),
        ("?%63ursor=old", "?cursor=next"),
        ("?Cursor=other", "?Cursor=other&cursor=next"),
        ("?q=a+b%26c%3D%22d%3E", "?q=a+b%26c%3D%22d%3E&cursor=next"),
    ] {
        assert_eq!(linked(query, "next"), format!("/a%20b/list{expected}"), "{query}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_link_has_every_other_parameter_as_it_was(
        pairs in vec((".{0,6}", ".{0,6}"), 0..5),
        cursor in "[A-Za-z0-9_=&+-]{1,40}",
    ) {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let query = query.extend_pairs(&pairs).finish();
        let link = linked(&format!("?{query}"), &cursor);
        let (path, query) = link.split_once('?').unwrap();
        prop_assert_eq!(path, "/a%20b/list");
        let kept = pairs.into_iter().filter(|(name, _)| name != "cursor");
        let expected: Vec<_> = kept.chain([("cursor".to_owned(), cursor)]).collect();
        let found: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        prop_assert_eq!(found, expected);
    }
}
