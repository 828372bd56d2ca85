//! Pagination: a whole channel by cursors, whatever its messages are like, in results within the
//! budget.

use serde_json::{Value, json};

use super::{ANN, BO, CHANNEL, Models, message};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Size of a result of about ten thousand tokens in these tests' languages, in bytes.
const MOST: usize = 36_000;

async fn filled(count: usize, text: impl Fn(usize) -> String) -> Models {
    let models = Models::start(&[]).await;
    let batch: Vec<_> = (0..count)
        .map(|n| {
            let user = if n % 3 == 0 { ANN } else { BO };
            // Some at the same moment.
            let time = format!("2026-01-02T03:{:02}:{:02}Z", n / 120, n / 2 % 60);
            message(&format!("m{n:04}"), user, &time, &text(n))
        })
        .collect();
    models.keep(&batch).await;
    models
}

/// Returns every row of a tool by its cursors, and the number of results it took.
async fn walk(models: &Models, tool: &str, rows: &str, arguments: &Value) -> (Vec<Value>, usize) {
    let (mut all, mut arguments, mut calls) = (Vec::new(), arguments.clone(), 0);
    loop {
        let answer = models.call(tool, arguments.clone()).await;
        let size = serde_json::to_string(answer.result()).unwrap().len();
        assert!(size < MOST, "{size} bytes");
        let given = answer.given();
        for row in given[rows].as_array().unwrap() {
            let from = row["from"].as_str().unwrap();
            assert!(given["people"][from]["userId"].is_string(), "{from} is in the table");
            let line = format!(" {from} ");
            assert!(answer.text().contains(&line), "{from} is in the text");
            all.push(row.clone());
        }
        calls += 1;
        match given["nextCursor"].as_str() {
            Some(cursor) => {
                assert!(answer.text().contains(cursor), "the text leads on, too");
                arguments["cursor"] = json!(cursor);
            }
            None => return (all, calls),
        }
    }
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// Clients cut what is long: they keep the cursor and what says that rows are missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_fields_come_before_the_rows() {
    let models = filled(3, |n| format!("text {n}")).await;
    for (tool, arguments, rows) in [
        ("list_channels", json!({}), "channels"),
        ("get_members", json!({"channelId": CHANNEL, "limit": 1}), "members"),
        ("get_messages", json!({"channelId": CHANNEL, "limit": 1}), "messages"),
        ("search_messages", json!({"query": "text"}), "hits"),
    ] {
        let answer = models.call(tool, arguments).await;
        let fields: Vec<_> = answer.given().as_object().unwrap().keys().cloned().collect();
        assert_eq!((&*fields[0], fields.last().unwrap()), ("note", &rows.to_owned()), "{tool}");
        let place = |name: &str| fields.iter().position(|field| field == name).unwrap();
        for lists in ["people", "gaps"].into_iter().filter(|name| fields.contains(&(*name).into()))
        {
            for short in ["nextCursor", "truncated"] {
                assert!(place(short) < place(lists), "{tool}: {fields:?}");
            }
        }
    }
    let context = models.call("get_context", json!({"message": "m0001"})).await;
    let fields: Vec<_> = context.given().as_object().unwrap().keys().cloned().collect();
    let first = ["note", "channelId", "messageId", "timeZone", "truncated", "moreBefore"];
    assert_eq!(fields[..first.len()], first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_channel_is_read_by_cursors() {
    let models = filled(333, |n| format!("text {n}")).await;
    let expected: Vec<_> = (0..333).rev().map(|n| format!("m{n:04}")).collect();
    for (limit, most) in [(100, 6), (20, 17), (7, 48)] {
        let arguments = json!({"channelId": CHANNEL, "limit": limit});
        let (rows, calls) = walk(&models, "get_messages", "messages", &arguments).await;
        assert_eq!(ids(&rows), expected, "{limit}");
        assert!(calls <= most, "{calls} calls of {limit} rows");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_are_cut_and_go_on() {
    let long = |n: usize| format!("{n} {}", "日本語".repeat(500));
    let models = filled(60, long).await;
    let arguments = json!({"channelId": CHANNEL, "limit": 60});
    let answer = models.call("get_messages", arguments.clone()).await;
    let given = answer.given();
    let shown = given["messages"].as_array().unwrap();
    assert!(shown.len() < 60 && given["truncated"] == true, "{} rows", shown.len());
    let (rows, calls) = walk(&models, "get_messages", "messages", &arguments).await;
    let expected: Vec<_> = (0..60).rev().map(|n| format!("m{n:04}")).collect();
    assert_eq!(ids(&rows), expected, "in {calls} answers");
    for row in &rows {
        let text = row["text"].as_str().unwrap();
        assert!(text.ends_with('…') && text.chars().count() == 401, "{text}");
        assert!(row["cut"].as_u64().unwrap() > 1_000, "{row}");
    }
    // The mark says how to get the whole.
    assert!(answer.text().contains("characters more: get_context]"), "{}", answer.text());
    let asked = json!({"message": rows[0]["id"], "before": 0, "after": 0});
    let whole = models.call("get_context", asked).await;
    assert_eq!(whole.given()["messages"][0]["id"], rows[0]["id"]);
    assert_eq!(whole.given()["messages"][0]["text"], long(59));
    assert_eq!(whole.given()["truncated"], false);
    let newest = models.call("get_messages", json!({"channelId": CHANNEL, "limit": 1})).await;
    assert_eq!(newest.given()["messages"][0]["text"], long(59));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_is_too_long_is_read_on() {
    let long = |n: usize| format!("{n} {}", "日本語".repeat(4_000));
    let models = filled(1, long).await;
    let (mut read, mut from) = (String::new(), 0);
    loop {
        let asked = json!({"message": "m0000", "before": 0, "after": 0, "textFrom": from});
        let answer = models.call("get_context", asked).await;
        let row = &answer.given()["messages"][0];
        let text = row["text"].as_str().unwrap();
        read += text.trim_matches('…');
        let Some(left) = row.get("cut") else { break };
        from = long(0).chars().count() - usize::try_from(left.as_u64().unwrap()).unwrap();
        let hint = format!("[{left} characters more: get_context with textFrom {from}]");
        assert!(answer.text().contains(&hint), "{}", answer.text());
    }
    assert_eq!(read, long(0));
    assert_eq!(from, 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_goes_through_all_it_finds() {
    let long = |n: usize| format!("{} needle {n} {}", "前".repeat(300), "後".repeat(300));
    let models = filled(90, long).await;
    models.stack.ground.command(&models.stack.line, &["reindex"]).await;
    until("all are found", DEADLINE, async || {
        models.call("search_messages", json!({"query": "needle"})).await.given()["total"] == 90
    })
    .await;
    let arguments = json!({"query": "needle", "limit": 100, "channelId": CHANNEL});
    let first = models.call("search_messages", arguments.clone()).await;
    assert_eq!(first.given()["truncated"], true);
    let (rows, calls) = walk(&models, "search_messages", "hits", &arguments).await;
    assert!(calls > 1);
    let mut found = ids(&rows);
    found.sort_unstable();
    assert_eq!(found, (0..90).map(|n| format!("m{n:04}")).collect::<Vec<_>>());
    for row in &rows {
        assert!(row["text"].as_str().unwrap().contains("needle"), "{row}");
        assert!(row["cut"].as_u64().unwrap() > 300, "{row}");
    }
    // Cost of twenty ordinary hits.
    let models = filled(40, |n| format!("needle {n}: shall we meet at noon at the station?")).await;
    models.stack.ground.command(&models.stack.line, &["reindex"]).await;
    let asked = json!({"query": "needle"});
    until("all are found", DEADLINE, async || {
        models.call("search_messages", asked.clone()).await.given()["total"] == 40
    })
    .await;
    let answer = models.call("search_messages", asked).await;
    assert_eq!(answer.given()["hits"].as_array().unwrap().len(), 20);
    let structured = answer.given().to_string().len();
    let (text, whole) = (answer.text().len(), answer.body.to_string().len());
    println!("20 hits: {structured} bytes structured, {text} bytes of text, {whole} in all");
    // Each hit has its link in both forms.
    assert!(whole < 9_000, "{whole}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_and_channels_go_on_by_cursors() {
    let models = Models::start(&[]).await;
    let people: Vec<_> = (0..45).map(|n| format!("U{n:03}")).collect();
    let mut there = vec![ANN];
    there.extend(people.iter().map(String::as_str));
    models.channel("Cmany", &there).await;
    for n in 0..60 {
        models.channel(&format!("Cof{n:03}"), &[ANN]).await;
    }
    for (tool, rows, mut arguments, expected) in [
        ("get_members", "members", json!({"channelId": "Cmany"}), 46),
        ("list_channels", "channels", json!({}), 62),
    ] {
        let (mut seen, mut calls) = (Vec::new(), 0);
        loop {
            let answer = models.call(tool, arguments.clone()).await;
            let given = answer.given();
            let id = if rows == "members" { "userId" } else { "channelId" };
            seen.extend(super::texts(&given[rows], id));
            calls += 1;
            let Some(cursor) = given["nextCursor"].as_str() else { break };
            arguments["cursor"] = json!(cursor);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), expected, "{tool} in {calls} calls");
        assert!(calls > 1, "{tool}");
    }
}
