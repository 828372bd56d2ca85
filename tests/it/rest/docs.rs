//! The documentation: every route is in it, and the page to browse it works in a browser.

use std::collections::BTreeSet;

use chatkeep_api::{Need, catalogue};
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
    call_after_a_reload(&browser).await;
    let own = format!("http://{}/", rest.stack.ground.address);
    let loaded = "return performance.getEntriesByType('resource').map((entry) => entry.name)";
    let loaded = browser.script(loaded).await;
    let elsewhere = loaded.as_array().unwrap().iter().filter_map(Value::as_str);
    let elsewhere: Vec<_> =
        elsewhere.filter(|url| !url.starts_with(&own) && !url.starts_with("data:")).collect();
    assert_eq!(elsewhere, [""; 0], "nothing is asked of anybody else");
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

/// Gives the page a key as a reader does, loads it again, and calls a route with it.
async fn call_after_a_reload(browser: &Browser) {
    let title = browser.script("return document.title").await;
    assert_eq!(title, "chatkeep: the API");
    browser.script("document.querySelector('.btn.authorize').click()").await;
    let typed = "const field = document.querySelector('.auth-container input');
        if (!field) { return false }
        const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
        value.set.call(field, 'ck_owner');
        field.dispatchEvent(new Event('input', { bubbles: true }));
        document.querySelector('.auth-btn-wrapper .authorize').click();
        return true";
    until("the key is typed", DEADLINE, async || browser.script(typed).await == json!(true)).await;
    browser.follow("location.reload()").await;
    let block = "const block = document.querySelector('[id$=get_me]');";
    let open = format!(
        "{block} if (!block) {{ return false }}
         if (!block.querySelector('.execute')) {{
             block.querySelector('.opblock-summary-control').click(); return false
         }}
         block.querySelector('.execute').click(); return true"
    );
    until("the route is called", DEADLINE, async || browser.script(&open).await == json!(true))
        .await;
    let status = "const cells = document.querySelectorAll('.live-responses-table td');
        const shown = [...cells].map((cell) => cell.textContent.trim());
        return shown.find((text) => /^[0-9]{3}/.test(text)) ?? ''";
    let mut shown = Value::Null;
    until("there is an answer", DEADLINE, async || {
        shown = browser.script(status).await;
        shown != ""
    })
    .await;
    assert!(shown.as_str().unwrap().starts_with("200"), "{shown}");
    let address = browser.script("return location.href").await;
    assert!(!address.as_str().unwrap().contains("ck_"), "{address}");
}
