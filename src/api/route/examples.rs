//! Examples in the document: derived from the schemas, with values by field name from one table, so
//! that a new field or route has its example automatically.

use chatkeep_core::media_type::media_type;
use serde_json::{Map, Value, json};
use utoipa::openapi::path::{Parameter, ParameterBuilder};
use utoipa::openapi::schema::Components;
use utoipa::openapi::{RefOr, Required, Schema};

/// Values by `field`, by `Form.field` where the name alone is ambiguous, by `Form`, and by media
/// type.
const VALUES: &str = include_str!("examples.json");
/// The time of everything that the table does not name.
const TIME: &str = "2026-01-31T09:30:00.000Z";
/// Maximum depth of nested schemas.
const DEPTH: usize = 12;
/// Parameters without an example: cursors and tags cannot be made up, and a key is used once.
const WITHOUT: [&str; 5] = ["cursor", "Idempotency-Key", "If-None-Match", "If-Match", "If-Range"];

/// Optional parameters that the page fills in: without them the request does more.
const FILLED_IN: [&str; 1] = ["dryRun"];

/// Fields of answers, as `Form.field`, that most of them do not have.
const RARE: [&str; 1] = ["Message.earlierTexts"];

/// Source of examples.
pub(crate) struct Examples {
    values: Map<String, Value>,
    schemas: Map<String, Value>,
}

impl Examples {
    /// Creates it for a document with these components.
    pub(super) fn new(components: &Components) -> Self {
        let schemas = serde_json::to_value(&components.schemas).unwrap_or_default();
        let schemas = if let Value::Object(schemas) = schemas { schemas } else { Map::new() };
        Self { values: serde_json::from_str(VALUES).unwrap_or_default(), schemas }
    }

    /// Returns an example of a body of that media type; none for a file.
    pub(crate) fn body(&self, kind: &str, schema: &RefOr<Schema>) -> Option<Value> {
        let kind = media_type(kind);
        if kind == "application/json" {
            let schema = serde_json::to_value(schema).unwrap_or_default();
            return Some(self.of("", "", &schema, 0));
        }
        self.values.get(kind).cloned()
    }

    /// Returns a parameter with its example. The documentation page fills in `example` and sends
    /// it, so only parameters that a request needs, or is safer with, have one; others have it in
    /// `examples` of their schema, which is only shown.
    pub(super) fn parameter(&self, mut parameter: Parameter) -> Parameter {
        let schema = parameter.schema.as_ref().and_then(|schema| serde_json::to_value(schema).ok());
        // Headers that a handler describes itself may have an example of their own.
        let lacks_one = |schema: &Value| {
            schema["examples"].is_null() && !WITHOUT.contains(&parameter.name.as_str())
        };
        let Some(schema) = schema.filter(lacks_one) else {
            return parameter;
        };
        let example = self.of("", &parameter.name, &schema, 0);
        if parameter.required != Required::True && !FILLED_IN.contains(&parameter.name.as_str()) {
            if let Some(RefOr::T(schema)) = &mut parameter.schema {
                show(schema, example);
            }
            return parameter;
        }
        ParameterBuilder::from(parameter).example(Some(example)).build()
    }

    /// Returns the request ID of examples.
    pub(super) fn request_id(&self) -> &Value {
        self.values.get("requestId").unwrap_or(&Value::Null)
    }

    /// Returns an example of the field `name` of the schema `owner`.
    fn of(&self, owner: &str, name: &str, schema: &Value, depth: usize) -> Value {
        if let Some(value) = self.values.get(&format!("{owner}.{name}")) {
            return value.clone();
        }
        if depth > DEPTH {
            return Value::Null;
        }
        let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        let reference = choices.and_then(|all| all.iter().find_map(|one| one["$ref"].as_str()));
        let form = schema["$ref"].as_str().or(reference).and_then(|to| to.rsplit('/').next());
        let value = self.values.get(name);
        match (form, value) {
            // IDs have a schema of their own, with values by field.
            (Some(form), Some(value)) if self.is_text(form) => return value.clone(),
            // A time or an id that may be null is not there in most cases.
            (Some(form), _) if reference.is_some() && !self.is_object(form) => return Value::Null,
            (Some(form), _) => return self.form(form, depth),
            (None, Some(value)) => return value.clone(),
            (None, None) => {}
        }
        if let Some(first) = choices.and_then(|all| all.iter().find(|one| one["type"] != "null")) {
            return self.of(owner, name, first, depth + 1);
        }
        self.plain(owner, schema, depth)
    }

    /// Returns true when a schema is a text of any kind.
    fn is_text(&self, form: &str) -> bool {
        let text = |form: &Value| form["type"] == "string" && form["enum"].is_null();
        self.schemas.get(form).is_some_and(text)
    }

    fn is_object(&self, form: &str) -> bool {
        let object = |form: &Value| form["type"] == "object" || form["allOf"].is_array();
        self.schemas.get(form).is_some_and(object)
    }

    /// Returns an example of a schema of the document.
    fn form(&self, name: &str, depth: usize) -> Value {
        if let Some(value) = self.values.get(name) {
            return value.clone();
        }
        let Some(schema) = self.schemas.get(name) else {
            return Value::Null;
        };
        match schema["allOf"].as_array() {
            Some(parts) => {
                let mut whole = Map::new();
                for part in parts {
                    if let Value::Object(part) = self.part(name, part, depth) {
                        whole.extend(part);
                    }
                }
                whole.into()
            }
            None => self.plain(name, schema, depth),
        }
    }

    fn part(&self, owner: &str, schema: &Value, depth: usize) -> Value {
        match schema["$ref"].as_str() {
            Some(to) => self.form(to.rsplit('/').next().unwrap_or_default(), depth + 1),
            None => self.plain(owner, schema, depth + 1),
        }
    }

    /// Returns an example of a value without an entry in the table.
    fn plain(&self, owner: &str, schema: &Value, depth: usize) -> Value {
        if let Some(choices) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
            return choices.first().map_or(Value::Null, |first| self.part(owner, first, depth));
        }
        if let Some(values) = schema["enum"].as_array() {
            return values.first().cloned().unwrap_or_default();
        }
        // Nullable fields are null, except for switches, which a request may only omit.
        let switch =
            schema["type"].as_array().is_some_and(|types| types.contains(&"boolean".into()));
        match schema["type"].as_str().or(switch.then_some("boolean")) {
            Some("object") => self.object(owner, schema, depth),
            Some("array") => json!([self.of(owner, "", &schema["items"], depth + 1)]),
            Some("string") => match schema["format"].as_str() {
                Some("date-time") => TIME.into(),
                Some("date") => TIME[..10].into(),
                _ => "text".into(),
            },
            Some("integer" | "number") => {
                if schema["minimum"].is_null() {
                    json!(0)
                } else {
                    schema["minimum"].clone()
                }
            }
            Some("boolean") => true.into(),
            _ => Value::Null,
        }
    }

    fn object(&self, owner: &str, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            // A field without a type is read-only and accepted for round trips.
            let ignored = field.as_object().is_none_or(|form| {
                !["type", "$ref", "oneOf", "anyOf", "allOf"]
                    .iter()
                    .any(|key| form.contains_key(*key))
            });
            if !ignored && !RARE.contains(&format!("{owner}.{name}").as_str()) {
                object.insert(name.clone(), self.of(owner, name, field, depth + 1));
            }
        }
        if schema["additionalProperties"].is_object() {
            let id = self.values.get("channelId").and_then(Value::as_str).unwrap_or_default();
            let value = self.of(owner, "", &schema["additionalProperties"], depth + 1);
            object.insert(id.to_owned(), value);
        }
        object.into()
    }
}

/// Adds an example to a schema.
fn show(schema: &mut Schema, example: Value) {
    match schema {
        Schema::Object(object) => object.examples.push(example),
        Schema::Array(array) => array.examples.push(example),
        Schema::OneOf(one) => one.examples.push(example),
        _ => {}
    }
}
