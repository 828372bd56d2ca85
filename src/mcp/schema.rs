//! Schemas of the tools' input and output, as short as they can be: models read them before every
//! conversation.

use std::sync::Arc;

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use rmcp::schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the input schema of a tool.
pub(super) fn of_arguments<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the output schema of a tool.
pub(super) fn of_output<T: JsonSchema>() -> Arc<JsonObject> {
    let mut schema = schema::<T>(SchemaSettings::draft2020_12().for_serialize());
    if let Some(Value::Object(properties)) = Arc::make_mut(&mut schema).get_mut("properties") {
        properties.values_mut().for_each(|property| bare_rows(property, false));
        once(properties);
    }
    schema
}

/// Describes rows that several lists of a result have in the first of them only.
fn once(properties: &mut JsonObject) {
    let mut seen = Vec::new();
    let lists = properties.values_mut().filter_map(|property| property.get_mut("items"));
    // What is no row, such as a text, is short already.
    for rows in lists.filter(|rows| rows["type"] == "object") {
        if seen.contains(rows) {
            *rows = serde_json::json!({"type": "object"});
        } else {
            seen.push(rows.clone());
        }
    }
}

/// Reduces the rows of an output schema to names and types: results explain the rest, and a model
/// reads these schemas before every conversation.
fn bare_rows(schema: &mut Value, in_row: bool) {
    let Value::Object(object) = schema else {
        return;
    };
    object.shift_remove("minimum");
    if in_row {
        object.shift_remove("description");
        object.shift_remove("required");
    }
    for property in
        object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
    {
        bare_rows(property.1, true);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            bare_rows(inner, true);
        }
    }
}

/// Returns a schema as short as possible: models read it before every call.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten(&mut schema);
    let mut object = schema.as_object().cloned().unwrap_or_default();
    // The tool has a description of its own.
    object.shift_remove("description");
    Arc::new(object)
}

/// Removes parts without meaning for a model: names of Rust types, widths of numbers, and null for
/// optional members.
fn shorten(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    object.shift_remove("title");
    object.shift_remove("format");
    if object.get("default").is_some_and(Value::is_null) {
        object.shift_remove("default");
    }
    if let Some(text) = object.get_mut("description")
        && let Some(lines) = text.as_str()
    {
        *text = lines.replace('\n', " ").into();
    }
    if let Some(Value::Array(types)) = object.get("type") {
        // Some providers know only one type in each place.
        let types = types.iter().map(|one| serde_json::json!({ "type": one })).collect();
        object.shift_remove("type");
        object.insert("anyOf".to_owned(), Value::Array(types));
    }
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, property) in
        object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
    {
        shorten(property);
        if !required.iter().any(|one| one.as_str() == Some(name)) {
            never_null(property);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            shorten(inner);
        }
    }
}

fn never_null(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    if let Some(Value::Array(choices)) = object.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(choices)) = object.get("anyOf") {
        let mut left = choices.iter().filter(|choice| choice["type"] != "null");
        if let (Some(Value::Object(only)), None) = (left.next().cloned(), left.next()) {
            object.shift_remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
            shorten(schema);
        }
    }
}
