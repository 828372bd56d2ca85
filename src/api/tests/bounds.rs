//! The bounds of the OpenAPI document are those of the services: two places that must agree.

use serde_json::{Value, json};

use super::fixture::{ApiFixture, filled_in};
use super::schemas::{ReadDocument, ReadOperation};

/// Bounds that are not tried: repeated events count once, and so many rules take long.
const LEFT_OUT: [(&str, &str); 2] = [("/events", "maxItems"), ("/rules", "maxItems")];
/// Places where a text of the right length is not enough.
const NOT_ANY_TEXT: [&str; 2] = ["/url", "/timeZone"];

/// A bound, with values on both of its sides.
struct ReadBound {
    pointer: String,
    within: Value,
    beyond: Value,
}

/// Returns the body that an operation accepts, in which one value is replaced.
fn base_of(operation: &ReadOperation<'_>, pointer: &str) -> Value {
    match operation.id {
        "backtest_rules" => {
            let rule = json!({
                "id": "draft_1", "keywords": ["word"], "question": "?", "answer": "Yes",
                "notFor": ["other"],
            });
            json!({"mode": "fuzzy", "rules": [rule]})
        }
        // The text has two names, of which only one may be given.
        "set_welcome" if pointer == "/message" => json!({}),
        "set_welcome" => json!({"messages": [{"type": "text", "content": "Welcome"}]}),
        _ => operation.body().unwrap()["example"].clone(),
    }
}

/// Collects the bounds below a schema.
fn bounds(
    (document, operation): (&ReadDocument, &ReadOperation<'_>),
    schema: &Value,
    pointer: &str,
    found: &mut Vec<ReadBound>,
) {
    let schema = document.resolved(schema);
    let mut add = |name: &str, make: &dyn Fn(i64) -> Value, step: i64| {
        let left_out = LEFT_OUT.contains(&(pointer, name));
        if let Some(bound) = schema[name].as_i64().filter(|_| !left_out) {
            let (within, beyond) = (make(bound), make(bound + step));
            found.push(ReadBound { pointer: pointer.to_owned(), within, beyond });
        }
    };
    let text = |count: i64| json!("C".repeat(usize::try_from(count).unwrap()));
    let base = base_of(operation, pointer);
    let item = document.resolved(&schema["items"]);
    let items = |count: i64| -> Value {
        (0..count).map(|number| item_of(item, &base, pointer, number)).collect()
    };
    let number = |value: i64| json!(value);
    add("minLength", &text, -1);
    add("maxLength", &text, 1);
    add("minItems", &items, -1);
    add("maxItems", &items, 1);
    add("minimum", &number, -1);
    add("maximum", &number, 1);
    for key in ["oneOf", "anyOf"] {
        for choice in schema[key].as_array().into_iter().flatten() {
            bounds((document, operation), choice, pointer, found);
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if property["readOnly"] != true {
            bounds((document, operation), property, &format!("{pointer}/{name}"), found);
        }
    }
    if schema["items"].is_object() {
        bounds((document, operation), &schema["items"], &format!("{pointer}/0"), found);
    }
}

/// Returns an item of a list: texts differ, because repeated ones count once.
fn item_of(item: &Value, base: &Value, list: &str, number: i64) -> Value {
    match (&item["enum"][0], item["type"].as_str()) {
        (Value::Null, Some("string")) => json!(format!("C{number:04}")),
        (Value::Null, _) => base.pointer(&format!("{list}/0")).unwrap().clone(),
        (first, _) => first.clone(),
    }
}

/// Replaces the value at a place, and makes what leads there.
fn put(place: &mut Value, path: &[&str], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *place = value;
        return;
    };
    let is_list = *name == "0";
    if is_list && place.as_array().is_none_or(Vec::is_empty) {
        *place = json!([null]);
    } else if !is_list && !place.is_object() {
        *place = json!({});
    }
    let inner = if is_list { &mut place[0] } else { &mut place[*name] };
    put(inner, rest, value);
}

/// Returns the body of an operation with another value at a place.
fn body_with(operation: &ReadOperation<'_>, pointer: &str, value: &Value) -> Value {
    let mut body = base_of(operation, pointer);
    let path: Vec<_> = pointer.split('/').skip(1).collect();
    put(&mut body, &path, value.clone());
    body
}

#[tokio::test]
async fn what_is_beyond_a_documented_bound_is_refused_and_what_is_at_it_is_not() {
    let (fixture, document) = (ApiFixture::new().await, ReadDocument::new());
    let ids = fixture.objects().await;
    let operations = document.operations();
    let mut tried = Vec::new();
    for operation in &operations {
        let Some(body) = operation.body() else { continue };
        let path = filled_in(operation.path, &ids);
        let mut found = Vec::new();
        bounds((&document, operation), &body["schema"], "", &mut found);
        for bound in found {
            let body = body_with(operation, &bound.pointer, &bound.beyond);
            let answer = fixture.ask(&operation.method, &path, &body).await;
            let expected = (400, "invalid_request".to_owned(), bound.pointer.clone());
            assert_eq!(answer.error(), expected, "{} {:?}", operation.id, answer.body);
            tried.push((operation, path.clone(), bound));
        }
    }
    assert!(tried.len() > 60, "{}", tried.len());
    // Afterwards: these change what the others need.
    for (operation, path, ReadBound { pointer, within, .. }) in tried {
        if NOT_ANY_TEXT.contains(&&*pointer) {
            continue;
        }
        let body = body_with(operation, &pointer, &within);
        let answer = fixture.ask(&operation.method, &path, &body).await;
        let (status, _, field) = answer.error();
        assert_ne!((status, field), (400, pointer), "{} {:?}", operation.id, answer.body);
    }
}

#[tokio::test]
async fn lengths_are_counted_in_characters_whatever_their_bytes() {
    let fixture = ApiFixture::new().await;
    // Composed as it is compared: a letter with its accent is one.
    for character in ["早", "👍", "e\u{301}", "ｶ"] {
        for (count, status) in [(100, 201), (101, 400)] {
            let body = json!({"name": character.repeat(count), "query": "q"});
            let answer = fixture.ask("POST", "/api/saved-searches", &body).await;
            assert_eq!(answer.status, status, "{count} times {character}");
        }
    }
    for blank in [" ", "\u{3000}", "\t\r\n", "\u{200b}"] {
        let body = json!({"keywords": [blank], "answer": "a"});
        let answer = fixture.ask("POST", "/api/channels/C1/assistant/qa", &body).await;
        let expected = (400, "invalid_request".to_owned(), "/keywords/0".to_owned());
        assert_eq!(answer.error(), expected, "{blank:?}");
    }
}
