//! Entity tags and conditional requests, through the layers around every surface.

use std::marker::PhantomData;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{any, get, put};
use axum::{Json, Router};
use futures_util::stream;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::{answered, got, json_of, text};
use crate::{
    Digest, HttpError, IfMatch, LargeResponses, Prepared, Timed, Versioned, served,
    with_common_layers,
};

/// Returns the surface of a route.
fn surface(routes: Router) -> Router {
    with_common_layers(served(routes, LargeResponses::default(), &[]))
}

/// Returns a surface that answers every method with that.
fn answering<T: IntoResponse + Send + 'static>(
    respond: impl Fn() -> T + Clone + Send + Sync + 'static,
) -> Router {
    surface(Router::new().route("/", any(move || std::future::ready(respond()))))
}

async fn asked(
    router: &Router,
    method: Method,
    headers: &[(&'static str, &str)],
) -> Response<Bytes> {
    let mut request = Request::builder().method(method).uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    answered(router, request.body(Body::empty()).unwrap()).await
}

fn tag(answer: &Response<Bytes>) -> String {
    text(answer.headers(), "etag").to_owned()
}

#[tokio::test]
async fn a_copy_that_is_current_is_not_sent_again() {
    let router = answering(|| Json(json!({"a": 1})));
    let current = tag(&got(&router, "/").await);
    for known in [
        current.clone(),
        format!("W/{current}"),
        format!("\"x\", {current}"),
        format!("\"a,b\" ,\tW/{current}, \"y\""),
        "*".to_owned(),
    ] {
        let answer = asked(&router, Method::GET, &[("if-none-match", &known)]).await;
        assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{known}");
        assert!(answer.body().is_empty(), "{known}");
        assert_eq!(tag(&answer), current, "{known}");
        assert_eq!(text(answer.headers(), "content-type"), "", "{known}");
        let head = asked(&router, Method::HEAD, &[("if-none-match", &known)]).await;
        assert_eq!(head.status(), StatusCode::NOT_MODIFIED, "HEAD, {known}");
    }
    let bare = current.trim_matches('"');
    let cut = format!("{}\"", &current[..current.len() - 2]);
    for other in ["", "\"\"", "\"x\"", bare, &cut, "W/\"x\", \"*\""] {
        let answer = asked(&router, Method::GET, &[("if-none-match", other)]).await;
        assert_eq!((answer.status(), json_of(&answer)), (StatusCode::OK, json!({"a": 1})));
    }
}

#[tokio::test]
async fn a_current_copy_is_recognised_in_any_line() {
    let router = answering(|| Json(json!({"a": 1})));
    let current = tag(&got(&router, "/").await);
    for (lines, status) in [
        ([current.as_str(), "\"x\""], StatusCode::NOT_MODIFIED),
        (["\"x\"", current.as_str()], StatusCode::NOT_MODIFIED),
        (["\"x\"", "*"], StatusCode::NOT_MODIFIED),
        (["\"x\"", "\"y\""], StatusCode::OK),
    ] {
        let headers = lines.map(|line| ("if-none-match", line));
        let answer = asked(&router, Method::GET, &headers).await;
        assert_eq!(answer.status(), status, "{lines:?}");
    }
}

#[tokio::test]
async fn only_what_is_read_as_json_has_a_tag_of_its_content() {
    let router = answering(|| Json(json!({"a": 1})));
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let answer = asked(&router, method.clone(), &[("if-none-match", "*")]).await;
        assert_eq!((answer.status(), tag(&answer)), (StatusCode::OK, String::new()), "{method}");
    }
    let plain = answering(|| "text");
    let created = answering(|| (StatusCode::CREATED, Json(json!({}))));
    let refused = answering(|| HttpError::NotFound);
    let streamed = answering(|| {
        let pieces = ["[1", ",2]"].map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let json = [(header::CONTENT_TYPE, "application/json")];
        (json, Body::from_stream(stream::iter(pieces))).into_response()
    });
    for (router, name) in
        [(plain, "plain"), (created, "created"), (refused, "refused"), (streamed, "streamed")]
    {
        let answer = asked(&router, Method::GET, &[("if-none-match", "*")]).await;
        assert_eq!(tag(&answer), "", "{name}");
        assert_ne!(answer.status(), StatusCode::NOT_MODIFIED, "{name}");
    }
    let own = answering(|| ([(header::ETAG, "\"own\"")], Json(json!({}))));
    assert_eq!(tag(&got(&own, "/").await), "\"own\"");
}

#[tokio::test]
async fn the_tag_is_of_the_content_and_of_nothing_else() {
    let of = async |value: Value| tag(&got(&answering(move || Json(value.clone())), "/").await);
    let one = of(json!({"a": 1, "b": [2]})).await;
    assert_eq!(one, of(json!({"a": 1, "b": [2]})).await);
    for other in [json!({"b": [2], "a": 1}), json!({"a": 1, "b": [2.0]}), json!({}), json!(null)] {
        assert_ne!(one, of(other).await);
    }
    // The time of the answer is no content.
    let timed = |at: i64, content: &'static str| {
        answering(move || Timed { body: json!({"at": at}), content: json!(content) })
    };
    let (early, late) = (got(&timed(1, "x"), "/").await, got(&timed(2, "x"), "/").await);
    assert_eq!(tag(&early), tag(&late));
    assert_ne!(early.body(), late.body());
    assert_ne!(tag(&early), tag(&got(&timed(1, "y"), "/").await));
    // Nor are notes for an editor.
    let prepared = |json: &'static str| {
        answering(move || Prepared::<()> {
            version: 3,
            digest: Digest::of(&json!({"a": 1})),
            json: json.as_bytes().to_vec(),
            turn: None,
            form: PhantomData,
        })
    };
    let (bare, noted) = (prepared("{\"a\":1}"), prepared("{\"a\":1,\"warnings\":[]}"));
    assert_eq!(tag(&got(&bare, "/").await), tag(&got(&noted, "/").await));
    let same = answering(|| Versioned { version: 3, body: json!({"a": 1}) });
    assert_eq!(tag(&got(&bare, "/").await), tag(&got(&same, "/").await), "the same object");
    let next = answering(|| Versioned { version: 4, body: json!({"a": 1}) });
    assert_ne!(tag(&got(&same, "/").await), tag(&got(&next, "/").await));
    let changed = asked(&same, Method::PUT, &[]).await;
    assert_eq!(tag(&changed), tag(&got(&same, "/").await), "a change answers the new tag");
}

/// Returns a settings object of that version, whose PUT answers the versions that it may replace.
fn settings(version: i64) -> Router {
    let show = move || std::future::ready(Versioned { version, body: json!({"a": 1}) });
    let told = |IfMatch(versions): IfMatch| async move { format!("{versions:?}") };
    surface(Router::new().route("/", get(show)).route("/change", put(told)))
}

async fn changed(router: &Router, lines: &[&str]) -> Response<Bytes> {
    let mut request = Request::put("/change");
    for line in lines {
        request = request.header("if-match", *line);
    }
    answered(router, request.body(Body::empty()).unwrap()).await
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_change_may_name_the_version_that_was_read(version in 1..=i64::MAX) {
        let runtime = Builder::new_current_thread().build().unwrap();
        let router = settings(version);
        let told = runtime.block_on(async {
            let read = tag(&got(&router, "/").await);
            changed(&router, &[&format!("\"other\", W/{read}")]).await
        });
        let expected = format!("Some([{version}])");
        prop_assert_eq!(told.body(), expected.as_bytes());
    }
}

#[tokio::test]
async fn the_versions_of_several_lines_are_one_list() {
    let router = settings(1);
    for (lines, expected) in [
        (&[][..], "None"),
        (&["*"], "None"),
        (&["\"v1-a\"", "\"v2-b\",\"v2-b\""], "Some([1, 2, 2])"),
        (&["\"v-1-a\"", "\"v1\"", "\"va-b\"", "\"V3-a\""], "Some([])"),
        (&["\"v99999999999999999999-a\""], "Some([])"),
    ] {
        assert_eq!(changed(&router, lines).await.body(), expected, "{lines:?}");
    }
    for lines in [&["*", "\"v1-a\""][..], &["\"v1-a\"", ""], &["v1-a"], &["\"v1-a"], &["\"a b\""]] {
        let refused = changed(&router, lines).await;
        let body = json_of(&refused);
        assert_eq!((refused.status().as_u16(), &body["field"]), (400, &json!("If-Match")));
    }
}
