//! Structured results and what their schemas tell of them. Every result of these tests is checked:
//! it has what is required and no member of which a model was not told.

use serde_json::{Value, json};

use crate::output_schema;
use crate::tools::DESCRIPTIONS;

/// Checks a structured result against the output schema of its tool.
#[track_caller]
pub(super) fn check(tool: &str, result: &Value) {
    let faults = faults(&output_schema(tool).unwrap(), result, tool);
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Returns what a value has against a schema, each with its place.
fn faults(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = choices.iter().any(|choice| faults(choice, value, place).is_empty());
        return if fits {
            Vec::new()
        } else {
            vec![format!("{place} is none of several: {value}")]
        };
    }
    let mut found = Vec::new();
    if schema["type"].as_str().is_some_and(|kind| !is_of(kind, value)) {
        found.push(format!("{place} is of another type: {value}"));
    }
    if schema["enum"].as_array().is_some_and(|choices| !choices.contains(value)) {
        found.push(format!("{place} is none of its values: {value}"));
    }
    for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(&schema["items"], item, &format!("{place}[{nth}]")));
    }
    if let Some(members) = value.as_object() {
        let of_rows = schema["properties"].is_null() && schema["additionalProperties"].is_null();
        for name in schema["required"].as_array().into_iter().flatten() {
            if !members.contains_key(name.as_str().unwrap()) {
                found.push(format!("{place} lacks {name}"));
            }
        }
        for (name, member) in members {
            let place = format!("{place}.{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                // Rows that are described in another list.
                _ if of_rows => {}
                (Value::Null, Value::Object(_)) => {
                    found.extend(faults(&schema["additionalProperties"], member, &place));
                }
                (Value::Null, _) => found.push(format!("{place} is not declared")),
                (declared, _) => found.extend(faults(declared, member, &place)),
            }
        }
    }
    found
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("no type of these schemas: {other}"),
    }
}

#[test]
fn what_a_schema_does_not_tell_is_found() {
    let row = json!({"type": "object", "properties": {"id": {"type": "string"}}});
    let schema = json!({
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": row},
            "next": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "table": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["next"],
    });
    let fits = json!({"next": null, "rows": [{"id": "a"}, {}], "table": {"p1": 1}});
    assert_eq!(faults(&schema, &fits, "it"), [""; 0]);
    for (value, told) in [
        (json!({}), "it lacks \"next\""),
        (json!({"next": 1}), "it.next is none of several: 1"),
        (json!({"next": "a", "rows": [{"other": 1}]}), "it.rows[0].other is not declared"),
        (json!({"next": "a", "table": {"p1": "x"}}), "it.table.p1 is of another type: \"x\""),
        (json!({"next": "a", "more": 1}), "it.more is not declared"),
    ] {
        assert_eq!(faults(&schema, &value, "it"), [told], "{value}");
    }
}

/// Providers know one type in each place, and some refuse a schema with more.
#[test]
fn every_place_of_a_schema_has_one_type() {
    fn examine(schema: &Value, place: &str) {
        assert!(!schema["type"].is_array(), "{place}: {schema}");
        assert!(schema["title"].is_null() && schema["format"].is_null(), "{place}: {schema}");
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            examine(inner, &format!("{place}.{name}"));
        }
        for inner in [&schema["items"], &schema["additionalProperties"]] {
            if inner.is_object() {
                examine(inner, place);
            }
        }
        schema["anyOf"].as_array().into_iter().flatten().for_each(|inner| examine(inner, place));
    }
    for tool in DESCRIPTIONS.iter() {
        examine(&Value::Object((*tool.input_schema).clone()), &tool.name);
        examine(&output_schema(&tool.name).unwrap(), &tool.name);
    }
    assert_eq!(output_schema("delete_everything"), None);
}
