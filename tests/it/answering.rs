//! The command line for replies and search, as its users type it.

use std::fs;

use chatkeep_emulator::Emulator;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::process::Program;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(messages_are_found_from_the_command_line, the_index_is_built_anew_while_it_is_used);

const RULES: &str = r#"{
    "updatedAt": "2026-01-02T03:04:05.678Z", "updatedBy": "U1",
    "items": [
        {"id": "hours", "keywords": ["營業時間", "opening hours"], "question": "", "answer": "9-18",
         "createdAt": "2026-01-02T03:04:05.678Z", "createdBy": "U1", "hitCount": 3},
        {"id": "wifi", "keywords": ["wifi password"], "answer": "ask the desk",
         "notFor": ["change the wifi password"]}
    ]
}"#;

/// Returns rule and score for each message.
async fn attempt(mode: &[&str], messages: &str) -> Vec<(Value, f64)> {
    let folder = scratch::folder("qa-");
    let (rules, file) = (folder.path().join("rules.json"), folder.path().join("messages"));
    fs::write(&rules, RULES).unwrap();
    fs::write(&file, messages).unwrap();
    let mut run = Program::chatkeep()
        .env("CHATKEEP_DATA", folder.path())
        .args(["qa", "try", "--rules", rules.to_str().unwrap()])
        .args(["--messages", file.to_str().unwrap(), "--mode"])
        .args(mode.iter().copied())
        .start();
    let status = run.finish().await;
    assert!(status.success(), "{}", run.stderr().join("\n"));
    let line = |line: &String| {
        let said: Value = serde_json::from_str(line).unwrap();
        assert!(said["text"].is_string() && said["candidates"].is_array(), "{said}");
        (said["ruleId"].clone(), said["score"].as_f64().unwrap())
    };
    run.stdout().iter().map(line).collect()
}

#[tokio::test]
async fn rules_are_tried_without_a_service() {
    let messages = "Opening hours?\n\n{\"text\": \"營業時間\"}\nthe opening hours please\nhello\n";
    let said = attempt(&["keyword"], messages).await;
    let rules: Vec<_> = said.iter().map(|(rule, _)| rule.clone()).collect();
    let expected = [json!("hours"), Value::Null, json!("hours"), Value::Null, Value::Null];
    assert_eq!(rules, expected, "one line a message");
    assert!((said[0].1 - 1.0).abs() < f64::EPSILON, "{said:?}");
    let contains = attempt(&["keyword", "--keyword-match", "contains"], messages).await;
    assert_eq!(contains[3].0, "hours");
    let fuzzy = attempt(&["fuzzy"], "opning huors\nwi-fi pasword\nsee you tomorrow\n").await;
    let rules: Vec<_> = fuzzy.iter().map(|(rule, _)| rule.clone()).collect();
    assert_eq!(rules, [json!("hours"), json!("wifi"), Value::Null]);
    let not_for = attempt(&["fuzzy", "--strictness", "eager"], "change the wifi pasword\n").await;
    assert_eq!(not_for[0].0, Value::Null);
    let asked = "what is the password of the wifi network?\nhaha nice\n";
    let semantic = attempt(&["semantic"], asked).await;
    assert_eq!((&semantic[0].0, &semantic[1].0), (&json!("wifi"), &Value::Null));
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let folder = scratch::folder("qa-");
    let broken = folder.path().join("rules.json");
    fs::write(&broken, "[]").unwrap();
    let no_model = folder.path().join("no.whl");
    fs::write(&no_model, "not a wheel").unwrap();
    let broken_rules = broken.to_str().unwrap();
    let strictness = ["--mode", "fuzzy", "--strictness", "lax"];
    let lax = [&["qa", "try", "--rules", broken_rules][..], &strictness[..]].concat();
    let cases: [(&[&str], i32, &str); 7] = [
        (&lax, 2, "--strictness"),
        (&["migrate"], 0, ""),
        (&["qa", "try", "--rules", broken.to_str().unwrap(), "--mode", "magic"], 2, "--mode"),
        (&["qa", "try", "--rules", broken.to_str().unwrap(), "--mode", "fuzzy"], 1, "rule list"),
        (&["qa", "try", "--rules", "/nowhere/rules.json", "--mode", "fuzzy"], 1, "cannot open"),
        (&["model", "install", "--from", no_model.to_str().unwrap()], 1, "no.whl"),
        (&["model", "remove"], 1, "no model is installed"),
    ];
    for (args, code, says) in cases {
        let data = folder.path().join("data");
        let mut run =
            Program::chatkeep().env("CHATKEEP_DATA", data).args(args.iter().copied()).start();
        let status = run.finish().await;
        let said = run.stderr().join("\n");
        assert_eq!(status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
}

async fn messages_are_found_from_the_command_line(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let chat = group.chat_id.as_str();
    for text in ["lunch at noon", "午餐 lunch?", "dinner"] {
        stack.line.say(chat, &people[0].user_id, text).await.unwrap();
    }
    let args = ["search", "lunch", "--channel", chat, "--json"];
    let found = async |line: &Emulator, args: &[&str]| {
        let said = stack.ground.command(line, args).await;
        said.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    until("both can be found", DEADLINE, async || found(&stack.line, &args).await.len() == 2).await;
    let hits: Vec<Value> = found(&stack.line, &args)
        .await
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(hits.iter().all(|hit| hit["message"]["channelId"] == *chat && hit["related"] == false));
    assert_eq!(hits[0]["highlights"].as_array().unwrap().len(), 1);
    let shown = found(&stack.line, &["search", "from:Ann 午餐", "--limit", "1"]).await;
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[1].contains("Ann") && shown[1].ends_with("午餐 lunch?"), "{shown:?}");
    let apart = found(&stack.line, &["search", "noon 午餐", "--channel", chat]).await;
    assert_eq!(apart.len(), 3, "{apart:?}");
    assert!(apart[1..].iter().all(|row| row.contains("  related  ")), "{apart:?}");
    assert!(found(&stack.line, &["search", "nothing like it", "--json"]).await.is_empty());
}

/// Returns the number of search results for that word.
async fn total(stack: &Stack, chat: &str, word: &str) -> u64 {
    let found = stack.get(&format!("/channels/{chat}/backup/search?q={word}")).await;
    found["total"].as_u64().unwrap()
}

async fn the_index_is_built_anew_while_it_is_used(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat) = (stack.line.clone(), group.chat_id.as_str());
    let say = async |text: String| line.say(chat, &people[0].user_id, text).await.unwrap();
    let found = async |count: u64| {
        until("all are found", DEADLINE, async || total(&stack, chat, "lunch").await == count)
            .await;
    };
    for number in 0..20 {
        say(format!("lunch {number}")).await;
    }
    found(20).await;
    // Searches and new messages go on meanwhile.
    let rebuild = stack.ground.said(&line, &["reindex"]);
    let meanwhile = async {
        for number in 20..40 {
            say(format!("lunch {number}")).await;
            assert!(total(&stack, chat, "lunch").await >= 20);
        }
    };
    let (told, ()) = tokio::join!(rebuild, meanwhile);
    assert!(told.contains("rebuilding the search index completed: "), "{told}");
    found(40).await;
    say("lunch 40".to_owned()).await;
    found(41).await;

    let told = stack.ground.said(&line, &["reindex", "--channel", chat]).await;
    let begin = format!("reindexing channel {chat} completed: ");
    assert!(told.contains(&begin) && told.trim().ends_with(" in 1 index"), "{told}");
    say("lunch 41".to_owned()).await;
    found(42).await;
    stack.drained().await;
    assert_eq!(total(&stack, chat, "lunch").await, 42, "nothing is there twice");
    assert!(stack.process.terminate().await.success());
    // Without a running service the command does it itself.
    let told = stack.ground.said(&line, &["reindex"]).await;
    assert!(told.contains("rebuilding the search index completed: "), "{told}");
    stack.ground.said(&line, &["reindex", "--channel", chat]).await;
    stack.process = stack.ground.serve(&line).await;
    // A process serves before its index has caught up.
    until("searches are answered", DEADLINE, async || {
        let path = format!("/channels/{chat}/backup/search?q=lunch");
        stack.call(Method::GET, &path, None).await.0 == StatusCode::OK
    })
    .await;
    assert_eq!(total(&stack, chat, "lunch").await, 42);
}
