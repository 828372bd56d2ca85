//! Journeys through the assistant's settings in a real browser.

use chatkeep_core::assistant::Strictness;
use serde_json::json;

use super::super::GROUP;
use super::super::journeys::{
    PHONE, browser, browser_as, in_every_language, is_fine, is_fine_in_look, shows,
};
use super::{finished, path, scene};
use crate::harness::browser::Key;

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
    browser.follow_click("[data-preview-button]").await;
    assert_eq!(browser.script(preview).await, "Hello 林小美");
    browser.script("document.querySelector('[name=welcome]').click()").await;
    browser.follow_click("button.main").await;
    let done = "return document.querySelector('.done')?.textContent";
    assert_eq!(browser.script(done).await, "Saved.");
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!((config.welcome.enabled, &*config.welcome.message), (true, "Hello {displayName}"));

    browser.open(&scene.url(&path(""))).await;
    browser.script("document.querySelector('input[value=fuzzy]').click()").await;
    browser.follow_click("button[value=compare]").await;
    let tiles = "return document.querySelectorAll('.figures.four a').length";
    assert_eq!(browser.script(tiles).await, 4);
    browser.follow_click("form.switch button.main").await;
    assert_eq!(browser.script(done).await, "Saved.");
    let chosen = "return document.querySelector('[name=mode]:checked').value";
    assert_eq!(browser.script(chosen).await, json!("fuzzy"));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_sets_how_sure_an_answer_has_to_be_and_what_a_rule_is_not_for() {
    const CHOSEN: &str = "return document.querySelector('[name=strictness]:checked').value";
    let scene = scene().await;
    let browser = browser_as(&scene, "Uadmin").await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url(&path(""))).await;
    assert_eq!(browser.script(CHOSEN).await, "balanced");
    browser.script("document.querySelector('[name=strictness]:checked').focus()").await;
    browser.press(Key::Down).await;
    assert_eq!(browser.script(CHOSEN).await, "eager");
    // What it would have answered comes first, with what was chosen.
    browser.follow_click("button[value=compare]").await;
    let compared = "return document.querySelector('[name=strictness]').value";
    assert_eq!(browser.script(compared).await, "eager");
    let tiles = "return document.querySelectorAll('.figures.four a').length";
    shows(&browser, tiles, &json!(4)).await;
    is_fine(&browser, "a comparison of strictness").await;
    browser.follow_click("form.switch button.main").await;
    let done = "return document.querySelector('.done')?.textContent";
    assert_eq!(browser.script(done).await, "Saved.");
    assert_eq!(browser.script(CHOSEN).await, "eager");
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!(config.qa.strictness, Strictness::Eager);

    // From a trial to the rule that is not for that text.
    let said = "the wifi password please";
    browser.open(&scene.url(&path("/try"))).await;
    browser.script(&format!("document.querySelector('main textarea').value = '{said}'")).await;
    browser.follow_click("main .main").await;
    is_fine(&browser, "a trial").await;
    browser.follow_click(".near .hint a").await;
    let not_for = "return document.querySelector('#not-for').value";
    assert_eq!(browser.script(not_for).await, said);
    is_fine(&browser, "a rule that is not for a text").await;
    browser.follow_click("main .main").await;
    assert_eq!(browser.script(done).await, "Saved.");
    let rules = scene.store.assistant().rules(&GROUP.into()).await.unwrap().value.items;
    assert!(rules.iter().any(|rule| rule.not_for == [said]), "{rules:?}");
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}
