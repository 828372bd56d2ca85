//! The OpenAPI document as a program reads it, and checks of values against its schemas.

use serde_json::{Map, Value};

/// The document.
pub(super) struct ReadDocument(pub(super) Value);

/// An operation of the document.
pub(super) struct ReadOperation<'d> {
    pub(super) id: &'d str,
    pub(super) path: &'d str,
    /// In capital letters.
    pub(super) method: String,
    pub(super) form: &'d Value,
}

impl ReadOperation<'_> {
    /// Returns the names of its parameters of a kind: `path`, `query` or `header`.
    pub(super) fn parameters(&self, kind: &str) -> Vec<&str> {
        let all = self.form["parameters"].as_array().into_iter().flatten();
        all.filter(|one| one["in"] == kind).filter_map(|one| one["name"].as_str()).collect()
    }

    /// Returns its JSON body, with schema and example, if it takes one.
    pub(super) fn body(&self) -> Option<&Value> {
        self.form.pointer("/requestBody/content/application~1json")
    }
}

impl ReadDocument {
    pub(super) fn new() -> Self {
        Self(serde_json::to_value(crate::openapi()).unwrap())
    }

    /// Returns all operations under `/api`.
    pub(super) fn operations(&self) -> Vec<ReadOperation<'_>> {
        let mut found = Vec::new();
        for (path, methods) in self.0["paths"].as_object().unwrap() {
            for (method, form) in methods.as_object().unwrap() {
                let id = form["operationId"].as_str().unwrap();
                found.push(ReadOperation { id, path, method: method.to_uppercase(), form });
            }
        }
        found
    }

    /// Returns the object that a reference leads to, or the value itself.
    pub(super) fn resolved<'d>(&'d self, value: &'d Value) -> &'d Value {
        let mut value = value;
        while let Some(to) = value["$ref"].as_str() {
            value = self.0.pointer(to.trim_start_matches('#')).expect(to);
        }
        value
    }

    /// Returns what is wrong with a value; nothing when the schema allows it. Patterns are not
    /// looked at.
    pub(super) fn faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(schema, value, "", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        self.check_form(schema, value, at, faults);
        let (mut known, mut open) = (Map::new(), false);
        self.collect_properties(schema, &mut known, &mut open);
        if let Value::Object(members) = value
            && !known.is_empty()
            && !open
        {
            let unknown = members.keys().filter(|name| !known.contains_key(*name));
            faults.extend(unknown.map(|name| format!("{at}/{name} is not documented")));
        }
    }

    /// Adds the properties of a schema and of its parts; `open` becomes true if it allows others.
    fn collect_properties(&self, schema: &Value, known: &mut Map<String, Value>, open: &mut bool) {
        let schema = self.resolved(schema);
        known.extend(schema["properties"].as_object().cloned().unwrap_or_default());
        *open |= schema["additionalProperties"].is_object();
        for part in ["allOf", "oneOf", "anyOf"] {
            for part in schema[part].as_array().into_iter().flatten() {
                self.collect_properties(part, known, open);
            }
        }
    }

    fn check_form(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let schema = self.resolved(schema);
        for key in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[key].as_array()
                && !choices.iter().any(|choice| self.faults(choice, value).is_empty())
            {
                faults.push(format!("{at}: {value} is none of {key}"));
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.check_form(part, value, at, faults);
        }
        if !has_type(&schema["type"], value) {
            faults.push(format!("{at}: {value} is no {}", schema["type"]));
            return;
        }
        if let Some(values) = schema["enum"].as_array()
            && !values.contains(value)
        {
            faults.push(format!("{at}: {value} is none of {values:?}"));
        }
        if let Some(why) = bound_of(schema, value) {
            faults.push(format!("{at}: {value}: {why}"));
        }
        self.check_members(schema, value, at, faults);
    }

    fn check_members(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(&schema["items"], item, &format!("{at}/{index}"), faults);
        }
        let Value::Object(members) = value else { return };
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !members.contains_key(name) {
                faults.push(format!("{at}/{name} is missing"));
            }
        }
        for (name, member) in members {
            let property = match &schema["properties"][name] {
                Value::Null => &schema["additionalProperties"],
                property => property,
            };
            if property.is_object() {
                self.check(property, member, &format!("{at}/{name}"), faults);
            }
        }
    }
}

/// Returns true for a value of a type, or of one of several.
fn has_type(kind: &Value, value: &Value) -> bool {
    match kind {
        Value::String(kind) => match kind.as_str() {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            _ => value.is_object(),
        },
        Value::Array(kinds) => kinds.iter().any(|kind| has_type(kind, value)),
        _ => true,
    }
}

/// Returns the bound that a value is beyond, or the format that it does not have.
fn bound_of(schema: &Value, value: &Value) -> Option<String> {
    let beyond = |size: f64, least: &str, most: &str| {
        let under = schema[least].as_f64().is_some_and(|bound| size < bound);
        let over = schema[most].as_f64().is_some_and(|bound| size > bound);
        (under || over).then(|| format!("{least} {}, {most} {}", schema[least], schema[most]))
    };
    let counted = |count: usize| f64::from(u32::try_from(count).unwrap());
    match value {
        Value::Number(number) => beyond(number.as_f64()?, "minimum", "maximum"),
        Value::Array(items) => beyond(counted(items.len()), "minItems", "maxItems"),
        Value::String(text) => beyond(counted(text.chars().count()), "minLength", "maxLength")
            .or_else(|| {
                let (length, form) = match schema["format"].as_str()? {
                    "date-time" => (24, "0000-00-00T00:00:00.000Z"),
                    "date" => (10, "0000-00-00"),
                    _ => return None,
                };
                let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
                let shape: String = text.chars().map(digits).collect();
                (shape != form).then(|| format!("not of the form {form} of {length} characters"))
            }),
        _ => None,
    }
}
