//! The examples of the document look like what the API really answers.

use serde_json::Value;

use super::fixture::{ApiFixture, filled_in};
use super::schemas::ReadDocument;

/// Returns the form of an id: what comes before its first underscore, and the number of these.
fn form(id: &Value) -> (String, usize) {
    let id = id.as_str().unwrap_or_default();
    let (prefix, _) = id.split_once('_').unwrap_or_default();
    (prefix.to_owned(), id.matches('_').count())
}

/// Collects the names of the values that are the word for a text of which the table knows nothing.
fn fillers(value: &Value, name: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| fillers(value, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| fillers(item, name, found)),
        // A type of messages.
        Value::String(text) if text == "text" && name != "type" => found.push(name.to_owned()),
        _ => {}
    }
}

#[test]
fn no_example_is_a_filler() {
    let document = ReadDocument::new();
    let mut found = Vec::new();
    for operation in document.operations() {
        for parameter in operation.form["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            fillers(&parameter["example"], name, &mut found);
            fillers(&parameter["schema"]["examples"], name, &mut found);
        }
        if let Some(body) = operation.body() {
            fillers(&body["example"], operation.id, &mut found);
        }
        for response in operation.form["responses"].as_object().unwrap().values() {
            let json = &document.resolved(response)["content"]["application/json"];
            fillers(&json["example"], operation.id, &mut found);
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test]
async fn ids_of_examples_look_like_real_ones() {
    let (fixture, document) = (ApiFixture::new().await, ReadDocument::new());
    let ids = fixture.objects().await;
    let mut faults = Vec::new();
    for operation in document.operations() {
        let path = filled_in(operation.path, &ids);
        let names = match operation.id {
            "get_export" => &["/id"][..],
            "get_saved_search" => &["/savedSearchId"],
            "get_webhook" => &["/webhookId"],
            "list_deliveries" => &["/deliveries/0/deliveryId", "/deliveries/0/eventId"],
            "list_keys" => &["/keys/1/keyId"],
            "list_rules" => &["/items/0/id"],
            "list_events" => &["/events/0/id"],
            _ => continue,
        };
        let real = fixture.read(&path).await.json();
        let json = &operation.form["responses"]["200"]["content"]["application/json"];
        for name in names {
            let known = real.pointer(name).unwrap_or(&Value::Null);
            let shown = json["example"].pointer(&name.replace("/1/", "/0/")).unwrap();
            if form(known) != form(shown) {
                faults.push(format!("{} {name}: {shown}, really {known}", operation.id));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
