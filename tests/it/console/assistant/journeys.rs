//! Journeys through the assistant's settings in a real browser.

use serde_json::json;

use super::super::GROUP;
use super::super::journeys::{PHONE, browser, in_every_language, is_fine, is_fine_in_look, shows};
use super::{finished, path, scene};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_are_fine_at_every_size_in_every_language() {
    let scene = scene().await;
    let browser = browser(&scene).await;
    for rest in ["/switch?mode=fuzzy", "/unanswered"] {
        finished(&scene, rest).await;
    }
    let pages =
        ["", "/switch", "/switch?mode=fuzzy", "/unanswered", "/unanswered?days=7", "/texts"];
    let pages = pages.into_iter().chain(["/unanswered/rule?keyword=where+is+it"]);
    let pages: Vec<_> = pages.map(path).collect();
    in_every_language(&browser, async |look| {
        for path in &pages {
            browser.open(&scene.url(path)).await;
            is_fine_in_look(&browser, &format!("{path} {look}")).await;
        }
    })
    .await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_finds_a_mode_and_writes_a_welcome() {
    let scene = scene().await;
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    // With script the preview follows what is typed.
    browser.open(&scene.url(&path("/texts"))).await;
    let typed = "const text = document.querySelector('#welcome'); text.value = 'Hi {displayName}!';
        text.dispatchEvent(new Event('input', {bubbles: true}))";
    browser.script(typed).await;
    let preview = "return document.querySelector('#preview-text')?.textContent";
    shows(&browser, preview, &json!("Hi 林小美!")).await;
    is_fine(&browser, "the preview").await;

    // Everything works without script.
    browser.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    browser.open(&scene.url(&path("/texts"))).await;
    let type_in = "document.querySelector('#welcome').value = 'Hello {displayName}'";
    browser.script(type_in).await;
    let press = |selector: &str| format!("document.querySelector(\"{selector}\").click()");
    browser.script(&press("[data-preview-button]")).await;
    shows(&browser, preview, &json!("Hello 林小美")).await;
    browser.script(&press("[name=welcome]")).await;
    browser.script(&press("button.main")).await;
    let done = "return document.querySelector('.done')?.textContent";
    shows(&browser, done, &json!("Saved.")).await;
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!((config.welcome.enabled, &*config.welcome.message), (true, "Hello {displayName}"));

    browser.open(&scene.url(&path(""))).await;
    browser.script(&press("input[value=fuzzy]")).await;
    browser.script(&press("button[value=compare]")).await;
    let tiles = "return document.querySelectorAll('.figures.four a').length";
    shows(&browser, tiles, &json!(4)).await;
    browser.script(&press("form.switch button.main")).await;
    shows(&browser, done, &json!("Saved.")).await;
    let chosen = "return document.querySelector('[name=mode]:checked').value";
    assert_eq!(browser.script(chosen).await, json!("fuzzy"));
    browser.close().await;
}
