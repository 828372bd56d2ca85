//! Structured results and the output schemas of their tools: clients refuse a result that is not valid,
//! and the model gets nothing. Every call of the tests of this folder is checked.

use chatkeep_core::profile::Profile;
use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, message};
use crate::store::at;

/// Checks a structured result against the output schema of its tool.
#[track_caller]
pub(super) fn check(tool: &str, result: &Value) {
    let schema = chatkeep_mcp::output_schema(tool).unwrap();
    if let Err(why) = valid(&schema, result) {
        panic!("{tool}: {why}\n{result}");
    }
}

/// Checks a value against the part of JSON Schema that the tools use; an unknown keyword is a mistake.
/// The crate `jsonschema` would bring second versions of crates that are here.
fn valid(schema: &Value, value: &Value) -> Result<(), String> {
    let Value::Object(keywords) = schema else { panic!("no schema: {schema}") };
    let told = |why: String| Err(format!("{why}: {value} by {schema}"));
    for (keyword, operand) in keywords {
        let fits = match keyword.as_str() {
            "description" | "default" => true,
            "type" => is_of(operand.as_str().unwrap(), value),
            "enum" => operand.as_array().unwrap().contains(value),
            "const" => operand == value,
            "minimum" => value.as_f64() >= operand.as_f64(),
            "maximum" => value.as_f64() <= operand.as_f64(),
            "anyOf" => operand.as_array().unwrap().iter().any(|one| valid(one, value).is_ok()),
            "required" => operand
                .as_array()
                .unwrap()
                .iter()
                .all(|name| value.get(name.as_str().unwrap()).is_some()),
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    valid(operand, item)?;
                }
                true
            }
            "properties" => {
                for (name, schema) in operand.as_object().unwrap() {
                    value.get(name).map_or(Ok(()), |member| valid(schema, member))?;
                }
                true
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let is_more = |name: &str| known.is_none_or(|known| !known.contains_key(name));
                let more = value.as_object().into_iter().flatten();
                let mut more = more.filter(|(name, _)| is_more(name)).map(|(_, member)| member);
                match operand {
                    Value::Bool(allowed) => *allowed || more.next().is_none(),
                    schema => {
                        more.try_for_each(|member| valid(schema, member))?;
                        true
                    }
                }
            }
            other => panic!("unknown keyword {other} in {schema}"),
        };
        if !fits {
            return told(format!("{keyword} does not hold"));
        }
    }
    Ok(())
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn what_is_not_valid_is_told() {
    let rows = json!({"type": "array", "items": {"type": "object"}});
    let schema = json!({"type": "object", "properties": {"hints": rows}, "required": ["hints"]});
    assert!(valid(&schema, &json!({"hints": [{}]})).is_ok());
    for wrong in [json!({"hints": ["a"]}), json!({}), json!([]), json!({"hints": null})] {
        assert!(valid(&schema, &wrong).is_err(), "{wrong}");
    }
    let table = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    assert!(valid(&table, &json!({"a": 1})).is_ok() && valid(&table, &json!({"a": "b"})).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_with_all_that_it_may_tell_is_valid() {
    let models = Models::start(&[]).await;
    models.channel("C2", &[ANN]).await;
    models.set_zone(CHANNEL, "Asia/Taipei").await;
    models.set_zone("C2", "Asia/Tokyo").await;
    let profile = Profile { display_name: "Bo Li".to_owned(), picture_url: None, language: None };
    let names = [(BO.into(), Some(profile))].into();
    models.store.members().save_profiles(&names, at(3)).await.unwrap();
    let batch = [
        message("m1", ANN, "2026-01-02T03:04:05Z", "needle of the first"),
        message("m2", BO, "2026-01-02T03:05:05Z", "needle of the second"),
    ];
    models.keep_findable(&batch, "needle", 2).await;
    let query = "needle OR thread since:2026-01-01 @me after:2026-01-01";
    let found = models.call("search_messages", json!({"query": query, "limit": 1})).await;
    let given = found.given();
    assert_eq!(given["hints"].as_array().unwrap().len(), 4, "{given}");
    for member in ["related", "interpreted", "nextCursor"] {
        assert!(!given[member].is_null(), "{member}: {given}");
    }
    let nobody =
        models.call("search_messages", json!({"query": "needle AND x from:\"Bo Lo\""})).await;
    for member in ["unknownNames", "didYouMean", "hints"] {
        assert!(!nobody.given()[member].is_null(), "{member}: {}", nobody.given());
    }
}
