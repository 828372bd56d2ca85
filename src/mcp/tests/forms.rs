//! The two forms of a result: what the structured one has, the text says, too.

use chatkeep_view::sanitize::quoted;
use serde_json::{Value, json};

use super::scene::{self, OTHER};
use super::{ANN, BO, GROUP, ToolBench};

/// Returns the values of a structured result that its text lacks, each with its place.
fn untold(value: &Value, place: &str, text: &str) -> Vec<String> {
    let told = match value {
        Value::Object(members) => {
            let each = members.iter();
            let each = each.flat_map(|(name, one)| untold(one, &format!("{place}/{name}"), text));
            return each.collect();
        }
        Value::Array(items) => {
            return items.iter().flat_map(|item| untold(item, place, text)).collect();
        }
        // Those that are true have words of their own; see below.
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => text.contains(&number.to_string()),
        Value::String(words) => is_told(words, place, text),
    };
    if told { Vec::new() } else { vec![format!("{place}: {value}")] }
}

fn is_told(words: &str, place: &str, text: &str) -> bool {
    // Whoever is told of a file is told that there is one.
    if place == "/status" && words == "stored" {
        return true;
    }
    // Lines stand below their days.
    let parts = place.ends_with("/time").then(|| (words.get(..10), words.get(11..19)));
    if let Some((Some(day), Some(clock))) = parts {
        return text.contains(day) && text.contains(clock);
    }
    text.contains(words) || text.contains(&quoted(words))
}

async fn filled() -> ToolBench {
    let bench = ToolBench::searching().await;
    scene::fill(&bench).await;
    bench
}

#[tokio::test]
async fn the_text_says_what_the_structured_result_has() {
    let bench = filled().await;
    let link = |id: &str| format!("{}/c/{GROUP}/m/{id}", super::BASE);
    for (tool, arguments) in [
        ("list_channels", json!({})),
        ("list_channels", json!({"recent": true})),
        ("get_messages", json!({"channelId": GROUP})),
        ("get_messages", json!({"channelId": "family \"a\"", "date": "2026-05-01", "limit": 3})),
        ("get_messages", json!({"channelId": OTHER, "around": "o1", "senderId": "猫さん"})),
        ("search_messages", json!({"query": "lunch"})),
        ("search_messages", json!({"query": "lunch OR since:friday", "from": "2026-05-01"})),
        ("search_messages", json!({"query": "lunch from:Ann from:Nobody", "limit": 2})),
        ("get_context", json!({"message": "m3", "before": 2, "after": 30})),
        ("get_context", json!({"message": "m2"})),
        ("get_overview", json!({})),
        ("get_overview", json!({"channelId": GROUP, "days": 31})),
        ("get_members", json!({"channelId": GROUP, "limit": 1})),
        ("get_members", json!({"channelId": GROUP})),
        ("get_media", json!({"message": link("f1")})),
        ("verify_citation", json!({"url": link("m3"), "quoted": "first text"})),
        ("verify_citation", json!({"url": "m4"})),
        ("verify_citation", json!({"url": "nothing"})),
    ] {
        let answer = bench.call(tool, arguments.clone()).await;
        let untold = untold(&answer.given, "", &answer.text);
        assert!(untold.is_empty(), "{tool} {arguments}: {untold:#?} in {}", answer.text);
    }
}

#[tokio::test]
async fn each_message_has_a_line_with_all_that_its_row_says() {
    let bench = filled().await;
    let asked = json!({"channelId": GROUP, "limit": 100});
    let answer = bench.call("get_messages", asked).await;
    let rows = answer.given["messages"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let url = row["url"].as_str().unwrap();
        let lines: Vec<_> = answer.text.lines().filter(|line| line.ends_with(url)).collect();
        let [line] = lines.as_slice() else { panic!("{lines:?} of {url}") };
        let is = |member: &str| row[member] == true;
        assert_eq!(line.contains("[unsent]"), is("unsent"), "{line}");
        assert_eq!(line.contains("(edited)"), is("edited"), "{line}");
        assert_eq!(line.contains("(bot)"), is("bot"), "{line}");
        assert_eq!(line.contains("(quotes "), row["replyTo"].is_string(), "{line}");
        assert_eq!(line.contains("characters more"), row["cut"].is_u64(), "{line}");
        assert_eq!(row["text"].is_null(), is("unsent") || row["type"] == "image", "{row}");
        let kind = match (row["type"].as_str(), row["mediaStatus"].as_str()) {
            (Some(kind), Some(status)) => format!(" [{kind}, {status}] "),
            (Some(kind), None) => format!(" [{kind}] "),
            (None, _) => format!(" {} ", row["from"].as_str().unwrap()),
        };
        assert!(line.contains(&kind), "{kind} in {line}");
    }
}

#[tokio::test]
async fn what_is_left_out_is_told_in_both_forms() {
    let bench = filled().await;
    for (tool, arguments, member, told) in [
        ("get_context", json!({"message": "m2", "before": 0}), "moreBefore", "has older messages"),
        ("get_context", json!({"message": "m2", "after": 0}), "moreAfter", "newer messages"),
        (
            "get_messages",
            json!({"channelId": GROUP, "senderId": ANN}),
            "truncated",
            "characters more: get_context]",
        ),
        ("search_messages", json!({"query": "long"}), "truncated", "characters more: get_context]"),
    ] {
        let answer = bench.call(tool, arguments.clone()).await;
        assert_eq!(answer.given[member], true, "{tool} {arguments}");
        assert!(answer.text.contains(told), "{tool} {arguments}: {}", answer.text);
    }
    let whole = bench.call("get_context", json!({"message": "m5", "before": 0, "after": 0})).await;
    assert_eq!(whole.given["messages"][0]["text"], scene::long_text());
    assert_eq!(whole.given["truncated"], false);
    assert!(!whole.text.contains("characters more"), "{}", whole.text);
}

/// Clients show the one or the other: a number in one of them must be that of the other.
#[tokio::test]
async fn an_overview_counts_what_its_lists_have() {
    let bench = filled().await;
    let answer = bench.call("get_overview", json!({"channelId": GROUP})).await;
    let (given, totals) = (&answer.given, &answer.given["totals"]);
    // The one that was taken back counts no more.
    assert_eq!(totals["messages"], 11);
    let sum = |list: &Value| -> i64 {
        list.as_array().unwrap().iter().map(|row| row["messages"].as_i64().unwrap()).sum()
    };
    assert_eq!(sum(&given["byPerson"]), 11);
    let by_type = given["byType"].as_object().unwrap();
    assert_eq!(by_type.values().map(|count| count.as_i64().unwrap()).sum::<i64>(), 11);
    for (list, total) in [("edited", 1), ("unsent", 1), ("links", 1), ("files", 1)] {
        assert_eq!(given[list].as_array().unwrap().len(), total, "{list}");
    }
    assert_eq!((&totals["hosts"], &given["links"][0]["host"]), (&json!(1), &json!("maps.example")));
    assert_eq!(given["people"].as_object().unwrap().len(), 2, "{}", given["people"]);
    let of = |user: &str| {
        let people = given["people"].as_object().unwrap();
        let key = people.iter().find(|(_, person)| person["userId"] == user).unwrap().0;
        let rows = given["byPerson"].as_array().unwrap();
        rows.iter().find(|row| row["from"] == *key).unwrap()["messages"].clone()
    };
    assert_eq!((of(ANN), of(BO)), (json!(5), json!(5)));
}

#[tokio::test]
async fn a_name_of_several_lines_takes_one() {
    let bench = filled().await;
    let answer = bench.call("get_messages", json!({"channelId": GROUP})).await;
    let people: Vec<_> = answer.text.lines().filter(|line| line.starts_with("People: ")).collect();
    let [people] = people.as_slice() else { panic!("{people:?}") };
    assert!(people.contains(&format!("\"Bo (the \\\"second\\\")\" ({BO})")), "{people}");
    let listed = bench.call("list_channels", json!({})).await;
    assert!(listed.text.contains("\"العائلة x\" group"), "{}", listed.text);
    let members = bench.call("get_members", json!({"channelId": OTHER})).await;
    assert!(members.text.contains("\"猫さん\" member"), "{}", members.text);
}
