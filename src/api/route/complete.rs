//! Required fields in response schemas: unknown values are null, and their keys are always present.
//! One place sets this for every response.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use super::Routes;

/// Fields of responses that may be absent: the location of an error, earlier texts of a message, and
/// fields of an event that its type does not have.
const OPTIONAL: [(&str, &[&str]); 3] = [
    ("Message", &["earlierTexts"]),
    ("Error", &["field", "retryAfter"]),
    (
        "EventData",
        &[
            "channelId",
            "message",
            "member",
            "userId",
            "percentage",
            "import",
            "search",
            "webhookId",
        ],
    ),
];

/// Makes every field of a response's schema required, except those that may be absent.
pub(crate) fn complete(name: &str, schema: &mut RefOr<Schema>) {
    let known = OPTIONAL.iter().find(|(form, _)| *form == name);
    let optional = known.map_or(&[][..], |(_, fields)| fields);
    require(schema, optional);
}

fn require(schema: &mut RefOr<Schema>, optional: &[&str]) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let always = object.properties.keys().filter(|name| !optional.contains(&name.as_str()));
            object.required = always.cloned().collect();
        }
        RefOr::T(Schema::AllOf(all)) => {
            for part in &mut all.items {
                require(part, optional);
            }
        }
        _ => {}
    }
}

/// Returns the names of the schemas that responses consist of.
pub(super) fn of_answers(
    routes: &Routes,
    schemas: &BTreeMap<String, RefOr<Schema>>,
) -> BTreeSet<String> {
    let answers = routes.all().iter().flat_map(|route| &route.describe.answers);
    let roots =
        answers.flat_map(|answer| &answer.content).filter_map(|(_, schema)| schema.as_ref());
    let mut open: Vec<String> = roots.flat_map(references).collect();
    open.push("Error".to_owned());
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if let Some(schema) = schemas.get(&name)
            && found.insert(name)
        {
            open.extend(references(schema));
        }
    }
    found
}

/// Returns the names of the schemas that a schema references.
fn references(schema: &RefOr<Schema>) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![serde_json::to_value(schema).unwrap_or_default()];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                let to = object.get("$ref").and_then(Value::as_str);
                found.extend(to.and_then(|to| to.rsplit('/').next()).map(str::to_owned));
                open.extend(object.into_iter().map(|(_, value)| value));
            }
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
    found
}
