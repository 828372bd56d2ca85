//! The OpenAPI document: the input of client generators changes only on purpose.

use std::collections::BTreeSet;

use serde_json::{Value, json};

#[test]
fn the_document_is_the_committed_one() {
    let document = chatkeep_api::openapi().to_pretty_json().unwrap();
    insta::assert_snapshot!("openapi", document);
}

#[test]
fn every_route_is_documented_and_named_once() {
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
    let routes = chatkeep_api::catalogue();
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
fn generators_lose_no_operation_and_find_every_part() {
    fn tags<'a>(section: &'a Value, of: &str) -> BTreeSet<&'a str> {
        let items = section[of].as_object().unwrap().values();
        let operations = items.flat_map(|item| item.as_object().unwrap().values());
        operations
            .flat_map(|one| one["tags"].as_array().unwrap())
            .map(|tag| tag.as_str().unwrap())
            .collect()
    }
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
    let (called, sent) = (tags(&document, "paths"), tags(&document, "webhooks"));
    // A file for each tag and section: the second would be written over the first.
    assert_eq!(called.intersection(&sent).count(), 0, "{called:?} {sent:?}");
    let declared = document["tags"].as_array().unwrap().iter();
    let declared: BTreeSet<_> = declared.map(|tag| tag["name"].as_str().unwrap()).collect();
    assert_eq!(called.union(&sent).copied().collect::<BTreeSet<_>>(), declared);
    for item in document["webhooks"].as_object().unwrap().values() {
        assert_eq!(item["post"]["security"], json!([]), "{item}");
    }
    let operation = |path: &str, method: &str| {
        document["paths"][format!("/api/channels/{{channelId}}/backup/{path}")][method].clone()
    };
    for path in ["export", "exports/{exportId}/document"] {
        let content = operation(path, "get")["responses"]["200"]["content"].clone();
        let lines = &content["application/x-ndjson"]["schema"];
        assert_eq!(lines["format"], "binary", "{path}: {content}");
    }
    for (path, method) in [("exports", "post"), ("messages", "delete")] {
        let headers = &operation(path, method)["responses"]["202"]["headers"];
        assert!(headers["Location"].is_object(), "{path}: {headers}");
    }
}

#[test]
fn each_error_response_is_described_once() {
    const PREFIX: &str = "#/components/responses/";
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
    let described: BTreeSet<&str> = {
        let responses = document["components"]["responses"].as_object().unwrap();
        responses.keys().map(String::as_str).collect()
    };
    let mut referenced = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let name = response["$ref"].as_str().and_then(|name| name.strip_prefix(PREFIX));
                assert_eq!(name.is_some(), status.as_str() >= "304", "{path} {status}");
                referenced.extend(name);
            }
        }
    }
    assert_eq!(referenced, described);
}

#[test]
fn texts_are_for_readers_of_the_api_alone() {
    const INTERNAL: [&str; 9] = [
        "docs/architecture",
        "specification",
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
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
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
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
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
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
    for (name, form) in document["components"]["schemas"].as_object().unwrap() {
        let field = &form["properties"][name.to_lowercase()];
        assert_ne!(field["type"], "array", "{name}");
    }
}

/// Calls `visit` with every property of every form, by its path in the document.
fn properties(path: &str, value: &Value, visit: &mut impl FnMut(String, &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                // What stands there is data.
                if name == "example" || name == "examples" {
                    continue;
                }
                if name == "properties" {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        visit(format!("{path}.{name}"), property);
                    }
                }
                properties(&format!("{path}/{name}"), value, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| properties(path, item, visit)),
        _ => {}
    }
}

#[test]
fn every_property_form_scope_and_parameter_is_described() {
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
    let described =
        |value: &Value| value["description"].as_str().is_some_and(|text| text.len() > 4);
    let (mut count, mut without) = (0, Vec::new());
    properties("", &document, &mut |path, property| {
        count += 1;
        if !described(property) {
            without.push(path);
        }
    });
    assert!(count > 300, "{count}");
    for (name, form) in document["components"]["schemas"].as_object().unwrap() {
        if !described(form) {
            without.push(name.clone());
        }
    }
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if !described(parameter) {
                    without.push(format!("{path} {}", parameter["name"]));
                }
            }
        }
    }
    assert_eq!(without, [""; 0]);
    let texts = [
        &document["components"]["schemas"]["Scope"]["description"],
        &document["components"]["securitySchemes"]["key"]["description"],
    ];
    for scope in chatkeep_core::role::Scope::ALL {
        let line = format!("- `{}`: {}", scope.name(), scope.meaning());
        assert!(texts.iter().all(|text| text.as_str().unwrap().contains(&line)), "{line}");
    }
}

#[test]
fn what_the_page_fills_in_does_no_harm() {
    let document = serde_json::to_value(chatkeep_api::openapi()).unwrap();
    let mut bodies = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                // The page sends every parameter that has an example.
                let filled = !parameter["example"].is_null();
                let optional = parameter["required"] != true;
                let safer = parameter["name"] == "dryRun" && parameter["example"] == true;
                assert_eq!(filled, !optional || safer, "{method} {path} {}", parameter["name"]);
            }
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            bodies += usize::from(!body.is_null());
            let text = body.to_string();
            assert!(!text.contains("\"string\"") && !text.contains("\"text\":\"text\""), "{text}");
            match name {
                // Switches nothing on and makes the bot say nothing.
                "update_assistant_config" => {
                    assert!(!text.contains("true"), "{text}");
                    assert_eq!(body["assistant"]["qa"]["noMatchReply"], Value::Null);
                }
                // Removes nothing.
                "set_backup_config" => assert_eq!(body, &json!({"retentionDays": null})),
                // Answers to nothing that people say.
                "create_rule" | "update_rule" => {
                    assert_eq!(body["keywords"], json!(["chatkeep test"]));
                }
                // Gives nobody more rights.
                "set_member_role" => assert_eq!(body["role"], "member"),
                // Sends nothing to anybody.
                "create_webhook" => assert_eq!(body["enabled"], false),
                "update_webhook" => assert!(body["url"].is_null() && body["events"].is_null()),
                _ => {}
            }
        }
    }
    assert!(bodies > 14, "{bodies}");
}
