//! Input of handlers: bodies, queries and paths as callers write them, well or badly.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use axum::routing::{get, post};
use chatkeep_core::heavy::LIGHT;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{answered, got, json_of};
use crate::{Body as JsonBody, OptionalBody, Path, Query, with_common_layers};

const JSON: &str = "application/json";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Form {
    name: String,
    item_count: Option<u8>,
}

#[derive(Deserialize)]
struct Place {
    id: String,
    number: u8,
}

impl Form {
    fn told(&self) -> String {
        let Self { name, item_count } = self;
        format!("{name}|{item_count:?}")
    }
}

fn surface() -> Router {
    let routes = Router::new()
        .route("/body", post(|JsonBody(form): JsonBody<Form>| async move { form.told() }))
        .route("/may", post(|OptionalBody(form): OptionalBody<Form>| async move { form.told() }))
        .route("/query", get(|Query(form): Query<Form>| async move { form.told() }))
        .route(
            "/path/{id}/{number}",
            get(|Path(place): Path<Place>| async move { format!("{} {}", place.id, place.number) }),
        );
    with_common_layers(routes)
}

async fn posted(path: &str, kind: Option<&str>, body: impl Into<Body>) -> Response<Bytes> {
    let request = Request::post(path);
    let request = match kind {
        Some(kind) => request.header("content-type", kind),
        None => request,
    };
    answered(&surface(), request.body(body.into()).unwrap()).await
}

/// Returns the status, the code, the field and the sentence of an answer.
fn refusal(answer: &Response<Bytes>) -> (u16, Value) {
    let body = json_of(answer);
    (answer.status().as_u16(), json!([body["code"], body["field"], body["error"]]))
}

fn text_of(answer: &Response<Bytes>) -> &str {
    std::str::from_utf8(answer.body()).unwrap()
}

#[tokio::test]
async fn texts_of_all_scripts_come_as_they_were_written() {
    for (body, expected) in [
        (r#"{"name":"王小明 🧑‍🧑‍🧒‍🧒 e\u0301 \ud83d\ude00"}"#, "王小明 🧑‍🧑‍🧒‍🧒 e\u{301} 😀|None"),
        (r#"{"name":"ｆｕｌｌ　ｗｉｄｔｈ\r\n\tกำลัง"}"#, "ｆｕｌｌ　ｗｉｄｔｈ\r\n\tกำลัง|None"),
        (r#"{"n\u0061me":"שלום \u202e.","item\u0043ount":255}"#, "שלום \u{202e}.|Some(255)"),
        (" \r\n{ } \t", "|None"),
    ] {
        let answer = posted("/body", Some(JSON), body).await;
        assert_eq!((answer.status().as_u16(), text_of(&answer)), (200, expected), "{body}");
    }
}

/// Returns bodies that are refused.
fn bad_bodies() -> Vec<Vec<u8>> {
    let deep = "[".repeat(100_000);
    let texts = [
        "",
        " \r\n ",
        "{",
        "{\"name\":\"a",
        "{} {}",
        "{'name':'a'}",
        "{\"name\":\"a\",}",
        "// {}\n{}",
        "\u{feff}{}",
        "NaN",
        "null",
        "[]",
        "\"text\"",
        &deep,
        r#"{"name":"\ud83d"}"#,
        r#"{"name":"\ude00\ud83d"}"#,
        r#"{"name":"\u0000"}"#,
        r#"{"name":"a","name":"a"}"#,
        r#"{"name":"a","n\u0061me":"b"}"#,
        r#"{"name":null}"#,
        r#"{"name":["a"]}"#,
        r#"{"name":"a","Name":"b"}"#,
        r#"{"item_count":1}"#,
        r#"{"itemCount":256}"#,
        r#"{"itemCount":-1}"#,
        r#"{"itemCount":1.5}"#,
        r#"{"itemCount":1e400}"#,
        r#"{"itemCount":"1"}"#,
        r#"{"\u0000":1}"#,
    ];
    let mut bodies: Vec<_> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    bodies.push(b"{\"name\":\"\xe6\x97\"}".to_vec());
    bodies.push(b"{\"name\":\"\x07\"}".to_vec());
    bodies
}

#[tokio::test]
async fn what_is_no_body_of_the_form_is_the_callers_mistake() {
    for body in bad_bodies() {
        let answer = posted("/body", Some(JSON), body.clone()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let (status, told) = refusal(&answer);
        assert_eq!((status, &told[0]), (400, &json!("invalid_request")), "{shown}");
        assert!(told[1].is_string() && told[2].is_string(), "{shown}: {told}");
        // A large one is read on another thread, and by the same rules.
        let large = [&body[..], &b" ".repeat(LIGHT)].concat();
        let again = posted("/body", Some(JSON), large).await;
        assert_eq!(refusal(&again), (status, told), "{shown}");
    }
}

#[tokio::test]
async fn the_place_of_a_mistake_is_named() {
    for (body, field, sentence) in [
        (r#"{"name":"\u0000"}"#, "/name", "name contains U+0000"),
        (r#"{"name":"a","n\u0061me":"b"}"#, "/name", "name is given more than once"),
        (r#"{"itemCount":256}"#, "/itemCount", "itemCount must be a whole number from 0 to 255"),
        (r#"{"a/b~c":1}"#, "/a~1b~0c", "a/b~c is unknown: allowed are name, itemCount"),
        ("[]", "", "The body must be an object"),
    ] {
        let told = refusal(&posted("/body", Some(JSON), body).await);
        assert_eq!(told, (400, json!(["invalid_request", field, sentence])), "{body}");
    }
}

#[tokio::test]
async fn a_body_is_json_by_its_type_and_in_no_other_coding() {
    for (kind, is_json) in [
        (Some("application/json"), true),
        (Some("Application/JSON ; charset=\"utf-8\""), true),
        (Some("application/json;"), true),
        (Some("application/json-patch+json"), false),
        (Some("application/problem+json"), false),
        (Some("text/json"), false),
        (Some("application/json, text/plain"), false),
        (Some("application/x-www-form-urlencoded"), false),
        (Some(""), false),
        (None, false),
    ] {
        let answer = posted("/body", kind, "{}").await;
        let status = if is_json { 200 } else { 415 };
        assert_eq!(answer.status().as_u16(), status, "{kind:?}");
    }
    for (codings, status) in [
        (&["identity"][..], 200),
        (&["IDENTITY", "identity"], 200),
        (&["gzip"], 415),
        (&["identity", "gzip"], 415),
        (&["identity, br"], 415),
    ] {
        let request = Request::post("/body").header("content-type", JSON);
        let request = codings
            .iter()
            .fold(request, |request, coding| request.header("content-encoding", *coding));
        let answer = answered(&surface(), request.body("{}".into()).unwrap()).await;
        assert_eq!(answer.status().as_u16(), status, "{codings:?}");
    }
}

#[tokio::test]
async fn a_body_that_may_be_left_out_has_its_defaults_then_and_no_other_type() {
    for (kind, body, status) in [
        (None, "", 200),
        (Some("text/plain"), "", 200),
        (Some("multipart/form-data; boundary=x"), " \r\n\t", 200),
        (Some(JSON), "", 200),
        (Some(JSON), "{}", 200),
        (None, "{}", 415),
        (Some("text/plain"), "{}", 415),
        (Some(JSON), "null", 400),
        (Some(JSON), "[]", 400),
        (Some(JSON), "{\"nope\":1}", 400),
    ] {
        let answer = posted("/may", kind, body).await;
        assert_eq!(answer.status().as_u16(), status, "{kind:?} {body}");
        assert!(status != 200 || text_of(&answer) == "|None", "{kind:?} {body}");
    }
}

#[tokio::test]
async fn a_query_is_decoded_once_and_checked_as_a_body_is() {
    for (query, expected) in [
        ("", "|None"),
        ("&&", "|None"),
        ("name=%E6%97%A5+%26%2B", "日 &+|None"),
        ("n%61me=a%2525&&itemCount=%31%32", "a%25|Some(12)"),
        ("name=%F0%9F%A7%91%E2%80%8D%F0%9F%A7%92", "🧑\u{200d}🧒|None"),
        ("itemCount=0", "|Some(0)"),
    ] {
        let answer = got(&surface(), &format!("/query?{query}")).await;
        assert_eq!((answer.status().as_u16(), text_of(&answer)), (200, expected), "{query}");
    }
    for (query, field) in [
        ("name=", "name"),
        ("name", "name"),
        ("name=a%00b", "name"),
        ("name=a&name=a", "name"),
        ("itemCount=256", "itemCount"),
        ("itemCount=+7", "itemCount"),
        ("itemCount=07", "itemCount"),
        ("itemCount=%D9%A7", "itemCount"),
        ("itemCount=7&itemcount=7", "itemcount"),
        ("name=a&=b", ""),
    ] {
        let (status, told) = refusal(&got(&surface(), &format!("/query?{query}")).await);
        assert_eq!((status, &told[1]), (400, &json!(field)), "{query}: {told}");
    }
}

#[tokio::test]
async fn a_path_that_names_nothing_is_unknown() {
    for (path, expected) in [
        ("/path/a/7", "a 7"),
        ("/path/%E6%97%A5%2F1/255", "日/1 255"),
        ("/path/a+b%20c/0", "a+b c 0"),
        ("/path/%2E%2E/1", ".. 1"),
    ] {
        let answer = got(&surface(), path).await;
        assert_eq!((answer.status().as_u16(), text_of(&answer)), (200, expected), "{path}");
    }
    for path in [
        "/path/a/256",
        "/path/a/x",
        "/path/a/-1",
        "/path/%ff/1",
        "/path/a%00/1",
        "/path/a/1%00",
        "/path/a",
        "/path/a/1/",
    ] {
        let (status, told) = refusal(&got(&surface(), path).await);
        assert_eq!((status, &told[0]), (404, &json!("not_found")), "{path}");
    }
}
