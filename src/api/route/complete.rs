//! The forms of answers: what is not known is null, and its key is there all the same. One place
//! says so for every answer, so that no form has to repeat it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use super::Routes;

/// The fields of answers that may be missing: what an error is about, and of an event those that
/// its kind does not have.
const OPTIONAL: [(&str, &[&str]); 2] = [
    ("Error", &["field", "retryAfter"]),
    ("EventData", &["channelId", "message", "member", "userId", "percentage", "webhookId"]),
];

/// Makes every field of an answer's form required, but those that may be missing.
pub(in crate::api) fn complete(name: &str, schema: &mut RefOr<Schema>) {
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

/// The names of the forms that answers are made of.
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

/// The names of the forms that a form refers to.
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
