//! The documentation: every route is in it, and the page to browse it works in a browser.

use std::collections::BTreeSet;

use chatkeep::api::{Need, catalogue};
use serde_json::{Value, json};

use super::{Rest, send};
use crate::harness::browser::Browser;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_is_documented_and_the_page_lists_it() {
    let rest = Rest::start(&[]).await;
    let answer = send(rest.outside("/openapi.json")).await;
    let document = answer.ok();
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(document["openapi"].as_str().unwrap().starts_with("3."), "{}", document["openapi"]);
    for route in catalogue() {
        let method = route.method.as_str().to_lowercase();
        let base = document.pointer("/servers/0/url").and_then(Value::as_str).unwrap_or_default();
        let paths = document["paths"].as_object().unwrap();
        let known = paths
            .iter()
            .find(|(path, _)| format!("{base}{path}").ends_with(&format!("/api{}", route.path)));
        let operation = &known.unwrap_or_else(|| panic!("{} is not in it", route.path)).1[&method];
        assert_eq!(operation["operationId"], route.id);
        let summary = operation["summary"].as_str().unwrap_or_default();
        assert!(!summary.is_empty(), "{}", route.id);
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with('2')), "{}", route.id);
        let needs_key = route.need != Need::Nothing;
        assert_eq!(answers.contains_key("401"), needs_key, "{}", route.id);
    }
    let same =
        send(rest.outside("/openapi.json").header("if-none-match", answer.header("etag"))).await;
    assert_eq!(same.status.as_u16(), 304);
    assert_eq!(send(rest.outside("/docs/nothing.js")).await.status.as_u16(), 404);
    browse(&rest).await;
}

async fn browse(rest: &Rest) {
    let browser = Browser::start().await;
    browser.open(&format!("http://{}/docs", rest.stack.ground.address)).await;
    let wanted: BTreeSet<_> =
        catalogue().iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    let script = "return [...document.querySelectorAll('.opblock')].map((block) =>
        block.querySelector('.opblock-summary-method').textContent.trim() + ' ' +
        block.querySelector('.opblock-summary-path').textContent
            .replaceAll('\\u200b', '').trim().replace(/^.*[/]api(?=[/])/, ''))";
    let mut shown = BTreeSet::new();
    until("the page to list every operation", DEADLINE, async || {
        let listed = browser.script(script).await;
        let listed = listed.as_array().cloned().unwrap_or_default();
        let rows = listed.iter().filter_map(|row| row.as_str().map(str::to_owned));
        // Beside the routes the page shows the webhook events, which have no path.
        shown = rows.filter(|row| row.contains(" /")).collect();
        shown.len() >= wanted.len()
    })
    .await;
    assert_eq!(shown, wanted);
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}
