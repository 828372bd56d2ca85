//! Arguments of the tools and what their schemas promise of them: bounds, defaults, what may be
//! left out, and what is told where one is wrong.

use serde_json::{Value, json};

use super::{ANN, GROUP, ToolBench, caller, scene, with};
use crate::tools::DESCRIPTIONS;

/// Returns arguments with which a tool can be called.
fn least(tool: &str) -> Value {
    match tool {
        "list_channels" | "get_overview" => json!({}),
        "get_messages" | "get_members" => json!({"channelId": GROUP}),
        "search_messages" | "search" => json!({"query": "lunch"}),
        "get_context" => json!({"message": "m1"}),
        "get_media" => json!({"message": "f1"}),
        "verify_citation" => json!({"url": "m1"}),
        "fetch" => json!({"id": "m1"}),
        other => panic!("how is {other} called?"),
    }
}

/// Argument of a tool, as it is described.
struct DescribedArgument {
    tool: String,
    name: String,
    schema: Value,
    is_required: bool,
}

impl DescribedArgument {
    /// Returns the arguments of a call with that value of it.
    fn set(&self, value: &Value) -> Value {
        with(&least(&self.tool), &json!({ self.name.as_str(): value }))
    }

    fn is_text(&self) -> bool {
        self.schema["type"] == "string" && self.schema["enum"].is_null()
    }
}

/// Returns the arguments of all tools.
fn described() -> Vec<DescribedArgument> {
    let mut all = Vec::new();
    for tool in DESCRIPTIONS.iter() {
        let takes = Value::Object((*tool.input_schema).clone());
        let required = takes["required"].as_array().cloned().unwrap_or_default();
        for (name, schema) in takes["properties"].as_object().unwrap() {
            all.push(DescribedArgument {
                tool: tool.name.to_string(),
                name: name.clone(),
                schema: schema.clone(),
                is_required: required.contains(&json!(name)),
            });
        }
    }
    all
}

async fn filled() -> ToolBench {
    let bench = ToolBench::searching().await;
    scene::fill(&bench).await;
    bench
}

/// Checks what is told of a value that is refused: the name of the argument, and to call again.
#[track_caller]
fn is_told(argument: &DescribedArgument, value: &Value, told: &str) {
    let place = format!("{}.{} = {value}: {told}", argument.tool, argument.name);
    assert!(told.starts_with(&argument.name), "{place}");
    assert!(told.ends_with("call again."), "{place}");
}

#[tokio::test]
async fn the_bounds_that_a_schema_names_are_those_of_its_tool() {
    let bench = filled().await;
    let mut examined = 0;
    for argument in described() {
        for (bound, beyond) in [("minimum", -1), ("maximum", 1)] {
            let Some(edge) = argument.schema[bound].as_i64() else { continue };
            bench.call(&argument.tool, argument.set(&json!(edge))).await;
            let value = json!(edge + beyond);
            let told = bench.refusal(&argument.tool, argument.set(&value)).await;
            is_told(&argument, &value, &told);
            examined += 1;
        }
        for (bound, beyond) in [("minLength", -1), ("maxLength", 1)] {
            let Some(edge) = argument.schema[bound].as_i64() else { continue };
            let text = |length: i64| json!("日".repeat(usize::try_from(length).unwrap()));
            bench.call(&argument.tool, argument.set(&text(edge))).await;
            let value = text(edge + beyond);
            let told = bench.refusal(&argument.tool, argument.set(&value)).await;
            is_told(&argument, &value, &told);
            examined += 1;
        }
    }
    // Pages, sides, days, a place in a text, queries, a quotation.
    assert!(examined >= 15, "{examined}");
}

#[tokio::test]
async fn an_argument_with_its_default_is_as_good_as_none() {
    let bench = filled().await;
    let mut examined = Vec::new();
    for argument in described() {
        let Some(default) = argument.schema.get("default") else { continue };
        let without = bench.call(&argument.tool, least(&argument.tool)).await;
        let stated = bench.call(&argument.tool, argument.set(default)).await;
        assert_eq!(stated.given, without.given, "{}.{}", argument.tool, argument.name);
        assert_eq!(stated.text, without.text, "{}.{}", argument.tool, argument.name);
        examined.push(argument.name);
    }
    for name in ["limit", "before", "after", "recent", "preview", "textFrom"] {
        assert!(examined.iter().any(|one| one == name), "{name} in {examined:?}");
    }
}

/// Models write null, and some an empty text, for what they leave out.
#[tokio::test]
async fn what_is_null_or_empty_is_left_out() {
    let bench = filled().await;
    for argument in described() {
        let name = format!("{}.{}", argument.tool, argument.name);
        if argument.is_required {
            let told = bench.refusal(&argument.tool, argument.set(&Value::Null)).await;
            assert_eq!(told, format!("{} is missing. Correct it and call again.", argument.name));
            continue;
        }
        let without = bench.call(&argument.tool, least(&argument.tool)).await;
        let empty = [json!(""), json!(" \u{3000}\n")];
        let empty = empty.into_iter().filter(|_| argument.is_text());
        for value in empty.chain([Value::Null]) {
            let answer = bench.call(&argument.tool, argument.set(&value)).await;
            assert_eq!(answer.given, without.given, "{name} = {value}");
        }
    }
}

#[tokio::test]
async fn every_value_of_a_choice_is_taken_and_no_other() {
    let bench = filled().await;
    let mut examined = Vec::new();
    for argument in described() {
        let Some(choices) = argument.schema["enum"].as_array() else { continue };
        for choice in choices {
            bench.call(&argument.tool, argument.set(choice)).await;
        }
        for other in ["any", "Newest", "ASC "] {
            let value = json!(other);
            let told = bench.refusal(&argument.tool, argument.set(&value)).await;
            is_told(&argument, &value, &told);
            let named = |choice: &Value| told.contains(choice.as_str().unwrap());
            assert!(choices.iter().all(named), "{told}");
        }
        examined.push(argument.name);
    }
    assert_eq!(examined, ["order", "sort", "status"]);
}

#[tokio::test]
async fn a_value_of_another_type_is_told_by_the_name_of_its_argument() {
    let bench = filled().await;
    for argument in described() {
        let others = match argument.schema["type"].as_str().unwrap() {
            "string" => vec![json!(7), json!(true), json!(["a"]), json!({"a": "b"})],
            "integer" => vec![json!("3"), json!(1.5), json!(true), json!(-1), json!([3])],
            "boolean" => vec![json!("true"), json!(1), json!([])],
            other => panic!("{}: {other}", argument.name),
        };
        for value in others {
            let told = bench.refusal(&argument.tool, argument.set(&value)).await;
            is_told(&argument, &value, &told);
        }
        // The same number in another form.
        if argument.schema["type"] == "integer" {
            bench.call(&argument.tool, argument.set(&json!(3.0))).await;
        }
    }
}

#[tokio::test]
async fn an_argument_that_there_is_not_is_told_with_those_that_there_are() {
    let bench = ToolBench::new().await;
    for tool in DESCRIPTIONS.iter() {
        let wrong = with(&least(&tool.name), &json!({"channel_id": "C1"}));
        let told = bench.refusal(&tool.name, wrong).await;
        let (first, rest) = told.split_once(": allowed are ").unwrap();
        assert_eq!(first, "channel_id is unknown", "{}", tool.name);
        let listed = rest.strip_suffix(". Correct it and call again.").unwrap();
        let mut listed: Vec<_> = listed.split(", ").collect();
        let takes = Value::Object((*tool.input_schema).clone());
        let mut known: Vec<_> = takes["properties"].as_object().unwrap().keys().collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known, "{}", tool.name);
    }
}

/// Whatever a model writes, it gets an answer or is told what to do; the service does not fail.
#[tokio::test]
async fn nothing_that_is_written_into_a_text_breaks_a_tool() {
    let bench = filled().await;
    let odd = [
        "\u{0}",
        "a\u{0}b",
        "\u{202e}\u{e0041}\u{200b}",
        "👩‍👩‍👧‍👦",
        "%00%ff/../",
        "/c/%00/m/1",
        "chatkeep://channel/a/message/b/file",
        "https://",
        "http://[::1",
        "9999-12-31T23:59:59.999-23:59",
        "2026-02-30",
        "-1",
        "from:\"",
        "\"unclosed -",
        "' OR 1=1 --",
        "eyJmIjoiYSIsImsiOjd9",
        "{\"a\":1}",
    ];
    for argument in described().iter().filter(|argument| argument.is_text()) {
        for text in odd {
            let place = format!("{}.{} = {text:?}", argument.tool, argument.name);
            let arguments = argument.set(&json!(text));
            let Err(failure) = bench.try_call(caller(ANN), &argument.tool, arguments).await else {
                continue;
            };
            assert!(["invalid", "denied"].contains(&failure.result), "{place}: {failure:?}");
            assert!(failure.text.ends_with(['.', '?']), "{place}: {failure:?}");
            let is_hidden = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{e0000}'..);
            assert!(!failure.text.contains(is_hidden), "{place}: {failure:?}");
        }
    }
}
