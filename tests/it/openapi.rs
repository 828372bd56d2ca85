//! The OpenAPI document: the input of client generators changes only on purpose.

use std::collections::BTreeSet;

use serde_json::{Value, json};

#[test]
fn the_document_is_the_committed_one() {
    let document = chatkeep::api::openapi().to_pretty_json().unwrap();
    insta::assert_snapshot!("openapi", document);
}

#[test]
fn every_route_is_documented_and_named_once() {
    let document = serde_json::to_value(chatkeep::api::openapi()).unwrap();
    let routes = chatkeep::api::catalogue();
    let mut names = BTreeSet::new();
    for route in &routes {
        let method = route.method.as_str().to_lowercase();
        let operation = &document["paths"][format!("/api{}", route.path)][&method];
        assert_eq!(operation["operationId"], route.id, "{method} {}", route.path);
        assert!(operation["summary"].is_string() && operation["tags"].is_array());
        for name in route.path.split(['{', '}']).skip(1).step_by(2) {
            let documented =
                |parameter: &Value| parameter["in"] == "path" && parameter["name"] == name;
            assert!(operation["parameters"].as_array().unwrap().iter().any(documented), "{name}");
        }
        assert!(names.insert(route.id), "{} twice", route.id);
    }
    let operations: usize =
        document["paths"].as_object().unwrap().values().map(|p| p.as_object().unwrap().len()).sum();
    assert_eq!(operations, routes.len());
}

#[test]
fn texts_are_for_readers_of_the_api_alone() {
    const INTERNAL: [&str; 9] = [
        "specification",
        "contract section",
        "::",
        "`None`",
        "Some(",
        "[`",
        "Option<",
        "Vec<",
        "crate",
    ];
    fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(text) if name == "description" || name == "summary" => {
                            found.push(text);
                        }
                        _ => texts(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            _ => {}
        }
    }
    let document = serde_json::to_value(chatkeep::api::openapi()).unwrap();
    let mut found = Vec::new();
    texts(&document, &mut found);
    assert!(found.len() > 300, "{}", found.len());
    for text in found {
        let internal = INTERNAL.iter().find(|word| text.contains(**word));
        assert_eq!(internal, None, "{text:?}");
    }
}

#[test]
fn what_is_not_known_is_null_and_there() {
    let document = serde_json::to_value(chatkeep::api::openapi()).unwrap();
    let schemas = &document["components"]["schemas"];
    for (form, field) in [
        ("Me", "pictureUrl"),
        ("Member", "displayName"),
        ("ChannelMeta", "picture"),
        ("ChannelItem", "name"),
        ("Message", "fileSize"),
        ("Sender", "pictureUrl"),
        ("QaConfig", "noMatchReply"),
    ] {
        let known = &schemas[form];
        assert!(known["required"].as_array().unwrap().contains(&json!(field)), "{form}.{field}");
        let types = known["properties"][field]["type"].as_array();
        assert!(types.is_some_and(|types| types.contains(&json!("null"))), "{form}.{field}");
    }
    // Optional members of a request stay optional.
    assert_eq!(schemas["QaPatch"]["required"], Value::Null);
    assert!(schemas["QaPatch"]["properties"]["effectiveMode"].is_object());
}

#[test]
fn no_form_is_named_like_a_list_in_it() {
    // Generators name the variable that holds it like the list.
    let document = serde_json::to_value(chatkeep::api::openapi()).unwrap();
    for (name, form) in document["components"]["schemas"].as_object().unwrap() {
        let field = &form["properties"][name.to_lowercase()];
        assert_ne!(field["type"], "array", "{name}");
    }
}
