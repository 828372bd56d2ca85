//! The OpenAPI document agrees with itself: what a generator of clients relies on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::schemas::{ReadDocument, ReadOperation};

/// Collects the references in a value.
fn references<'d>(value: &'d Value, found: &mut BTreeSet<&'d str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Returns the responses of an operation, with their statuses.
fn responses<'d>(operation: &ReadOperation<'d>) -> Vec<(&'d str, &'d Value)> {
    let all = operation.form["responses"].as_object().unwrap();
    all.iter().map(|(status, response)| (status.as_str(), response)).collect()
}

#[test]
fn references_lead_to_components_and_each_of_these_is_used() {
    let document = ReadDocument::new();
    let mut found = BTreeSet::new();
    references(&document.0, &mut found);
    let mut known = BTreeSet::new();
    for kind in ["schemas", "responses", "headers"] {
        let names = document.0["components"][kind].as_object().unwrap().keys();
        known.extend(names.map(|name| format!("#/components/{kind}/{name}")));
    }
    let known: BTreeSet<_> = known.iter().map(String::as_str).collect();
    assert!(known.len() > 50, "{}", known.len());
    assert_eq!(found, known);
}

#[test]
fn paths_and_parameters_agree() {
    for operation in ReadDocument::new().operations() {
        let template = operation.path.split('/').filter_map(|part| {
            let name = part.strip_prefix('{')?;
            name.strip_suffix('}')
        });
        let in_path: BTreeSet<_> = template.collect();
        let described: BTreeSet<_> = operation.parameters("path").into_iter().collect();
        assert_eq!(in_path, described, "{}", operation.id);
        let mut seen = BTreeSet::new();
        for parameter in operation.form["parameters"].as_array().into_iter().flatten() {
            let name = (parameter["in"].as_str().unwrap(), parameter["name"].as_str().unwrap());
            assert!(seen.insert(name), "{}: {name:?} twice", operation.id);
            if name.0 == "path" {
                assert_eq!(parameter["required"], true, "{}: {name:?}", operation.id);
            }
        }
    }
}

#[test]
fn every_operation_tells_the_refusals_that_its_input_brings() {
    for operation in ReadDocument::new().operations() {
        let headers = operation.parameters("header");
        let mut expected = BTreeSet::from(["400", "401", "403", "406", "429", "500", "503"]);
        if operation.body().is_some() {
            expected.extend(["413", "415"]);
        }
        if headers.contains(&"If-Match") {
            expected.insert("412");
        }
        if headers.contains(&"Idempotency-Key") {
            expected.extend(["409", "422"]);
        }
        if headers.contains(&"If-None-Match") {
            expected.insert("304");
        }
        if headers.contains(&"Range") {
            expected.extend(["206", "416"]);
        }
        // Whose channel it is nobody is told; of everything else, whether it is there.
        let names = operation.parameters("path");
        if names.iter().any(|name| !["channelId", "userId"].contains(name)) {
            expected.insert("404");
        }
        let told: BTreeSet<_> = responses(&operation).iter().map(|(status, _)| *status).collect();
        let missing: Vec<_> = expected.difference(&told).collect();
        assert!(missing.is_empty(), "{}: {missing:?}", operation.id);
        assert_eq!(headers.contains(&"Idempotency-Key"), operation.method == "POST");
        assert_eq!(told.contains("415"), operation.body().is_some(), "{}", operation.id);
    }
}

#[test]
fn headers_of_successes_go_with_their_operations() {
    for operation in ReadDocument::new().operations() {
        let pages = operation.parameters("query").contains(&"cursor");
        for (status, response) in responses(&operation) {
            if !status.starts_with('2') {
                continue;
            }
            let has = |name: &str| response["headers"][name].is_object();
            let at = format!("{} {status}", operation.id);
            assert_eq!(has("Link"), pages, "{at}");
            assert_eq!(has("Idempotent-Replayed"), operation.method == "POST", "{at}");
            for name in ["X-Request-Id", "X-API-Version", "X-RateLimit-Remaining"] {
                assert!(has(name), "{at}: {name}");
            }
            // The version that the next change names.
            let versioned = operation.parameters("header").contains(&"If-Match");
            if versioned && operation.method == "PUT" {
                assert!(has("ETag"), "{at}");
            }
        }
    }
}

#[test]
fn links_lead_to_operations_and_fill_in_their_parameters() {
    let document = ReadDocument::new();
    let operations = document.operations();
    let by_id: BTreeMap<_, _> = operations.iter().map(|one| (one.id, one)).collect();
    let mut links = 0;
    for operation in &operations {
        for (_, response) in responses(operation) {
            for (name, link) in response["links"].as_object().into_iter().flatten() {
                let to = by_id[link["operationId"].as_str().unwrap()];
                let parameters = link["parameters"].as_object().unwrap();
                let given: BTreeSet<_> = parameters.keys().map(String::as_str).collect();
                let needed: BTreeSet<_> = to.parameters("path").into_iter().collect();
                assert!(given.is_superset(&needed), "{} {name}: {given:?}", operation.id);
                let known = [to.parameters("path"), to.parameters("query")].concat();
                assert!(given.iter().all(|one| known.contains(one)), "{} {name}", operation.id);
                links += 1;
            }
        }
    }
    assert!(links > 5, "{links}");
}

#[test]
fn examples_have_the_form_that_is_documented() {
    let document = ReadDocument::new();
    let mut count = 0;
    let mut check = |schema: &Value, example: &Value, at: &str| {
        let faults = document.faults(schema, example);
        assert!(faults.is_empty(), "{at}: {faults:?}");
        count += 1;
    };
    for operation in document.operations() {
        for parameter in operation.form["parameters"].as_array().into_iter().flatten() {
            let at = format!("{} {}", operation.id, parameter["name"]);
            let schema = &parameter["schema"];
            let examples = schema["examples"].as_array().into_iter().flatten();
            for example in examples.chain(parameter.get("example")) {
                check(schema, example, &at);
            }
        }
        if let Some(body) = operation.body() {
            check(&body["schema"], &body["example"], operation.id);
        }
        for (status, response) in responses(&operation) {
            let json = &document.resolved(response)["content"]["application/json"];
            if json.is_object() {
                check(&json["schema"], &json["example"], &format!("{} {status}", operation.id));
            }
        }
    }
    for (name, methods) in document.0["webhooks"].as_object().unwrap() {
        let json = &methods["post"]["requestBody"]["content"]["application/json"];
        check(&json["schema"], &json["example"], name);
    }
    assert!(count > 300, "{count}");
}
