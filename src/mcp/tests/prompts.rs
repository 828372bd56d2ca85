//! Prompts: whatever people type, the request that is made of it has its lines and no others, and
//! the call that it names is one that the tool takes.

use proptest::prelude::*;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::prompts;
use crate::tools::DESCRIPTIONS;

/// Returns the text of a prompt.
fn rendered(name: &str, arguments: &Value) -> Result<String, String> {
    let arguments: Option<JsonObject> = arguments.as_object().cloned();
    let result = prompts::get(name, arguments).map_err(|error| error.message.to_string())?;
    let result = serde_json::to_value(result).unwrap();
    Ok(result["messages"][0]["content"]["text"].as_str().unwrap().to_owned())
}

/// Returns the arguments of the call that a prompt names.
fn call(text: &str) -> Value {
    let (_, rest) = text.split_once("get_overview with ").unwrap();
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    values.next().unwrap().unwrap()
}

/// Returns texts as people and clients may write them.
fn typed() -> impl Strategy<Value = String> {
    "[a-zA-Z \"\\\\{}\n\r\t日本語👍\u{202e}\u{2028}\u{0}]{1,60}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_prompt_has_its_own_lines_alone(channel in typed(), topic in typed()) {
        for (name, bare, given) in [
            ("catch_up", json!({}), json!({"channel": channel})),
            ("find_decision", json!({"topic": "x"}), json!({"topic": topic, "channel": channel})),
        ] {
            let bare = rendered(name, &bare).unwrap();
            // Nothing is left of some of them.
            let Ok(text) = rendered(name, &given) else {
                prop_assert!(name == "find_decision");
                continue;
            };
            prop_assert_eq!(text.lines().count(), bare.lines().count(), "{}", text);
            let is_hidden = |c: char| {
                c != '\n' && (c.is_control() || matches!(c, '\u{202e}' | '\u{2028}'))
            };
            prop_assert!(!text.contains(is_hidden), "{text:?}");
        }
    }

    #[test]
    fn the_call_of_a_prompt_has_what_was_given(
        channel in "[a-zA-Z\"\\\\日本語👍]{1,60}",
        days in 1..32_u32,
    ) {
        let text = rendered("catch_up", &json!({"channel": channel, "days": days.to_string()}));
        prop_assert_eq!(call(&text.unwrap()), json!({"channelId": channel, "days": days}));
    }
}

#[test]
fn the_calls_of_prompts_are_those_of_tools() {
    let of = |name: &str| {
        let tool = DESCRIPTIONS.iter().find(|tool| tool.name == name).unwrap();
        tool.input_schema["properties"].as_object().unwrap().clone()
    };
    let takes = of("get_overview");
    for arguments in [
        json!({}),
        json!({"channel": "Family", "days": "31"}),
        json!({"channel": "https://chat.example.org/c/C1", "since": "2026-01-31T08:00"}),
    ] {
        let call = call(&rendered("catch_up", &arguments).unwrap());
        assert!(call.as_object().unwrap().keys().all(|name| takes.contains_key(name)), "{call}");
    }
    // Every tool that a prompt names is there.
    let texts = [
        rendered("catch_up", &json!({})).unwrap(),
        rendered("find_decision", &json!({"topic": "x", "channel": "y"})).unwrap(),
    ];
    for text in texts {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let named: Vec<_> = words.filter(|word| word.contains('_')).collect();
        assert!(named.len() > 2, "{named:?}");
        for name in named {
            assert!(DESCRIPTIONS.iter().any(|tool| tool.name == name), "{name}");
        }
    }
}

#[test]
fn a_number_of_days_and_a_time_are_checked_before_they_are_sent() {
    for (arguments, why) in [
        (json!({"days": "0"}), "days must be a whole number from 1 to 31"),
        (json!({"days": "32"}), "days must be a whole number from 1 to 31"),
        (json!({"days": "1.5"}), "days must be a whole number from 1 to 31"),
        (json!({"days": "-1"}), "days must be a whole number from 1 to 31"),
        (json!({"days": "七"}), "days must be a whole number from 1 to 31"),
        (json!({"since": "2026-02-29"}), "since must be a day such as 2026-01-31, or a time"),
        (json!({"since": "last week"}), "since must be a day such as"),
        (json!({"channel": ["a"]}), "channel must be a string"),
        (json!({"channel": null}), "channel must be a string"),
        (json!({"channel": "日".repeat(501)}), "channel is longer than 500 characters"),
        (json!({"Channel": "x"}), "Channel is unknown: allowed are channel, days, since"),
    ] {
        let told = rendered("catch_up", &arguments).unwrap_err();
        assert!(told.starts_with(why), "{arguments}: {told}");
    }
    for arguments in [
        json!({"days": " 7 ", "since": " "}),
        json!({"channel": "日".repeat(500)}),
        json!({"since": "2028-02-29"}),
        json!({"since": "2026-05-01 08:00"}),
    ] {
        rendered("catch_up", &arguments).unwrap();
    }
    for blank in ["", " ", "\u{3000}\n"] {
        assert_eq!(
            rendered("find_decision", &json!({"topic": blank})).unwrap_err(),
            "topic is missing"
        );
    }
    let unknown = rendered(&"x".repeat(500), &json!({})).unwrap_err();
    assert_eq!(unknown, format!("Unknown prompt: {}…", "x".repeat(80)));
}
