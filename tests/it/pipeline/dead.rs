//! Events that no stage can handle end in the dead letters, and can be shown, retried and dropped.

use super::conversation::emulator;
use super::on_both;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(a_poisonous_event_is_kept_aside);

async fn a_poisonous_event_is_kept_aside(parts: Parts) {
    let stack = Stack::start(parts, emulator().await).await;
    let line = &stack.line;
    // An event that is no object can be routed but not read by any stage.
    let body = r#"{"destination":"U1","events":[["not","an","event"]]}"#;
    assert_eq!(line.post(line.sign_raw(body)).await, Some(200));
    let list = async || stack.ground.command(line, &["dead", "list", "--json"]).await;
    until("every stage gave up", DEADLINE, async || list().await.lines().count() == 3).await;
    let letters = list().await;
    let letter: serde_json::Value = serde_json::from_str(letters.lines().next().unwrap()).unwrap();
    let id = letter["id"].as_str().unwrap();
    let shown = stack.ground.command(line, &["dead", "show", id]).await;
    assert!(shown.contains(r#"["not","an","event"]"#), "{shown}");

    stack.ground.command(line, &["dead", "retry", id]).await;
    until("it was given up again", DEADLINE, async || {
        let now = list().await;
        now.lines().count() == 3 && !now.contains(&format!("\"id\":\"{id}\""))
    })
    .await;
    stack.ground.command(line, &["dead", "drop", "all"]).await;
    assert_eq!(list().await, "");
}
