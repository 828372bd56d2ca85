//! Errors name the problem in plain words and its location.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{arguments, body, nullable, query};
use crate::ServiceError;

/// A body; it does not say that it refuses what it does not know.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct Form {
    name: String,
    is_on: Option<bool>,
    count: Option<u8>,
    mode: Option<Mode>,
    words: Vec<String>,
    inner: Option<Inner>,
    #[serde(deserialize_with = "nullable")]
    ends: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Inner {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Item {
    text: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Keyword,
    Fuzzy,
}

/// Field and sentence of a refusal.
#[track_caller]
fn refused<T: std::fmt::Debug>(read: Result<T, ServiceError>) -> (String, String) {
    match read {
        Err(ServiceError::Invalid { field: Some(field), why, .. }) => {
            (field.text().into_owned(), why)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_wrong_with_a_body_is_said_with_its_place() {
    let nested = |items: Value| json!({"inner": {"items": items}});
    for (given, field, sentence) in [
        (json!({"name": 3}), "/name", "name must be a string"),
        (json!({"isOn": "yes"}), "/isOn", "isOn must be true or false"),
        (json!({"isOn": null}), "/isOn", "isOn must not be null"),
        (json!({"name": null}), "/name", "name must not be null"),
        (json!({"inner": null}), "/inner", "inner must not be null"),
        (json!({"count": 256}), "/count", "count must be a whole number from 0 to 255"),
        (json!({"count": -1}), "/count", "count must be a whole number from 0 to 255"),
        (json!({"count": 1.5}), "/count", "count must be a whole number from 0 to 255"),
        (json!({"mode": "magic"}), "/mode", "mode must be one of keyword, fuzzy"),
        (json!({"mode": {"keyword": 1}}), "/mode", "mode must be one of keyword, fuzzy"),
        (json!({"words": "one"}), "/words", "words must be a list"),
        (json!({"words": ["one", 2]}), "/words/1", "words[1] must be a string"),
        (json!({"words": ["one", "t\0wo"]}), "/words/1", "words[1] contains U+0000"),
        (
            nested(json!([{"text": "\0"}])),
            "/inner/items/0/text",
            "inner.items[0].text contains U+0000",
        ),
        (json!({"inner": []}), "/inner", "inner must be an object"),
        (json!({"inner": {}}), "/inner/items", "inner.items is missing"),
        (
            nested(json!([{"text": "a"}, {}])),
            "/inner/items/1/text",
            "inner.items[1].text is missing",
        ),
        (
            nested(json!([{"text": "a", "txet": "b"}])),
            "/inner/items/0/txet",
            "inner.items[0].txet is unknown: allowed are text",
        ),
        (json!([1]), "", "The body must be an object"),
        (json!(null), "", "The body must not be null"),
    ] {
        let read = body::<Form>(given.to_string().as_bytes());
        assert_eq!(refused(read), (field.to_owned(), sentence.to_owned()), "{given}");
    }
}

#[test]
fn what_is_no_json_is_said_so() {
    for (given, sentence) in [
        ("", "The body is missing"),
        ("{\"name\":", "The body ends before the JSON is complete"),
        ("{\"name\" 1}", "The body is not valid JSON: error at line 1, column 9"),
        ("{} {}", "The body is not valid JSON: error at line 1, column 4"),
    ] {
        assert_eq!(refused(body::<Form>(given.as_bytes())), (String::new(), sentence.to_owned()));
    }
    let twice = refused(body::<Form>(br#"{"name":"a","name":"b"}"#));
    assert_eq!(twice, ("/name".to_owned(), "name is given more than once".to_owned()));
}

#[test]
fn null_is_taken_where_it_means_something() {
    assert_eq!(body::<Form>(br#"{"ends":null}"#).unwrap(), Form::default());
    assert_eq!(body::<Form>(br#"{"ends":"x"}"#).unwrap().ends.as_deref(), Some("x"));
    assert_eq!(refused(body::<Form>(br#"{"ends":1}"#)).1, "ends must be a string");
    // Models write it for what they leave out.
    let bare: Form = arguments(json!({"isOn": null, "mode": null})).unwrap();
    assert_eq!(bare, Form::default());
    // Other readers take it, too.
    assert_eq!(serde_json::from_str::<Form>(r#"{"ends":null}"#).unwrap(), Form::default());
}

#[test]
fn a_query_is_read_as_what_it_says() {
    let read: Form = query("isOn=true&count=7&mode=fuzzy&name=a%20b").unwrap();
    assert_eq!((read.is_on, read.count, read.mode), (Some(true), Some(7), Some(Mode::Fuzzy)));
    assert_eq!(read.name, "a b");
    for (given, field, sentence) in [
        ("isOn=1", "isOn", "isOn must be true or false"),
        ("count=x", "count", "count must be a whole number from 0 to 255"),
        ("mode=", "mode", "mode must be one of keyword, fuzzy"),
        ("name=", "name", "name must not be empty"),
        ("name=a%00", "name", "name contains U+0000"),
        ("name=a&name=b", "name", "name is given more than once"),
    ] {
        let refused = refused(query::<Form>(given));
        assert_eq!(refused, (field.to_owned(), sentence.to_owned()), "{given}");
    }
    let (field, why) = refused(query::<Form>("nmae=a"));
    assert!(field == "nmae" && why.starts_with("nmae is unknown: allowed are name, isOn"));
}
