//! Journeys through exports in the background in a real browser: begun with one tap, followed without
//! a reload, saved, out of date, and all of it by keyboard alone.

use std::fs;

use serde_json::{Value, json};

use super::journeys::{
    PHONE, browser_as, fits_and_is_accessible, in_every_language, is_fine, is_fine_in_look, number,
    shows,
};
use super::{GROUP, START, Scene, secret, sign_in};
use crate::harness::browser::{Browser, Key};
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, edited};

const PREPARE: &str = "main [formmethod=post]";
const CARDS: &str = "return document.querySelectorAll('.cards > li').length";
const TEXT: &str = "return document.querySelector('.cards p:not(.soft)')?.textContent";
const DOWNLOADS: &str = "return document.querySelectorAll('.cards a.main').length";
const SAID: &str = "return document.querySelector('body > [role=status]')?.textContent";
/// Makes workers wait with every export that is begun from now on.
const HOLD: &str = "CREATE TRIGGER hold AFTER INSERT ON exports BEGIN
    UPDATE exports SET claimed_until = 9000000000000 WHERE id = NEW.id; END";
const RELEASE: &str = "DROP TRIGGER hold; UPDATE exports SET done = 0, claimed_until = 0";

fn form() -> String {
    format!("/c/{GROUP}/export")
}

fn list() -> String {
    format!("/c/{GROUP}/exports")
}

/// Chooses a table of all days from a day on.
async fn choose(browser: &Browser) {
    let choose = "document.querySelector('[value=csv]').click();
        document.querySelector('[name=from]').value = '2024-01-01'";
    browser.script(choose).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_follows_an_export_and_saves_it() {
    let scene = Scene::new().await;
    let (browser, downloads) = (browser_as(&scene, "Umember").await, scratch::folder("saved-"));
    browser.save_into(downloads.path()).await;
    browser.resize(PHONE.0, PHONE.1).await;
    scene.stack.ground.sql(HOLD).await;
    browser.open(&scene.url(&form())).await;
    choose(&browser).await;
    let tapped = "const prevented = [], button = document.querySelector('main [formmethod=post]');
        addEventListener('submit', (event) => prevented.push(event.defaultPrevented));
        button.click(); button.click();
        return prevented";
    assert_eq!(browser.script(tapped).await, json!([false, true]), "a double tap");
    shows(&browser, "return location.pathname", &json!(list())).await;
    shows(&browser, CARDS, &json!(1)).await;

    // The page follows what happens: it is not loaded again, and the focus stays where it is.
    let mark = "window.same = true; document.querySelector('.cards button').focus()";
    browser.script(mark).await;
    assert_eq!(browser.script(TEXT).await, "Waiting to begin…");
    scene.stack.ground.sql("UPDATE exports SET done = 40, total = 144").await;
    shows(&browser, TEXT, &json!("40 of 144 messages")).await;
    let bar = "const bar = document.querySelector('.cards progress'); return bar.value / bar.max";
    assert_eq!(browser.script(bar).await, json!(40.0 / 144.0));
    assert_eq!(browser.script(SAID).await, "", "steps are not said aloud");
    scene.stack.ground.sql(RELEASE).await;
    shows(&browser, DOWNLOADS, &json!(1)).await;
    let kept = "return window.same && document.activeElement.matches('.cards button')";
    assert_eq!(browser.script(kept).await, json!(true));
    let said = browser.script(SAID).await;
    assert!(said.as_str().unwrap().starts_with("Table Messages: 144 ("), "{said}");
    is_fine(&browser, "an export that is prepared").await;

    browser.script("document.querySelector('.cards a.main').click()").await;
    let file = downloads.path().join("messages.csv");
    until("the file is saved", DEADLINE, async || file.exists()).await;
    let streamed = format!("/c/{GROUP}/export/file?format=csv&from=2024-01-01");
    let streamed = scene.page(&streamed, Some("Umember"), "en").await.body;
    assert_eq!(fs::read_to_string(&file).unwrap(), streamed);
    assert_eq!(browser.script("return location.pathname").await, json!(list()));

    // Somebody edits a message, and the page does not know it yet.
    let later = START + 5 * 86_400_000;
    scene
        .store
        .messages()
        .ingest(&[edited(GROUP, "edited", later, "five")], at(later))
        .await
        .unwrap();
    browser.follow_click(".cards a.main").await;
    let text = browser.script(TEXT).await;
    assert!(text.as_str().unwrap().contains("It is being prepared again"), "{text}");
    is_fine(&browser, "an export that is prepared again").await;
    shows(&browser, DOWNLOADS, &json!(1)).await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");

    browser.follow_click(".cards button").await;
    assert_eq!(number(&browser, CARDS).await, 0);
    is_fine(&browser, "no export").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_are_fine_in_every_state_and_language() {
    const STATES: [&str; 4] = [
        "UPDATE exports SET status = 'pending'",
        "UPDATE exports SET status = 'running', done = 99, expires_at = 9000000000000",
        "UPDATE exports SET status = 'failed', finished_at = 1, expires_at = 9000000000000",
        "UPDATE exports SET status = 'done', finished_at = 1, expires_at = 9000000000000",
    ];
    let scene = Scene::new().await;
    let browser = browser_as(&scene, "Umember").await;
    scene.stack.ground.sql(HOLD).await;
    for format in ["html", "csv"] {
        let form = [("csrf", "csrf-Umember"), ("format", format), ("from", "2024-01-01")];
        scene.post(&self::form(), "Umember", &form, &[]).await;
    }
    for state in STATES {
        scene.stack.ground.sql(state).await;
        in_every_language(&browser, async |look| {
            browser.open(&scene.url(&list())).await;
            assert_eq!(number(&browser, CARDS).await, 2);
            is_fine_in_look(&browser, &format!("{state} {look}")).await;
        })
        .await;
    }
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    // One that is gone, on a page that is older than that.
    scene.stack.ground.sql("DELETE FROM exports").await;
    browser.open(&scene.url(&list())).await;
    in_every_language(&browser, async |look| {
        browser.open(&scene.url(&format!("{}/exp_1/document", list()))).await;
        is_fine_in_look(&browser, &format!("an export that is gone {look}")).await;
    })
    .await;
    let back = browser.script("return document.querySelector('.card .button').pathname").await;
    assert_eq!(back, json!(list()));
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_prepared_without_script() {
    let scene = Scene::new().await;
    let browser = browser_as(&scene, "Umember").await;
    browser.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    browser.resize(PHONE.0, PHONE.1).await;
    scene.stack.ground.sql(HOLD).await;
    browser.open(&scene.url(&form())).await;
    choose(&browser).await;
    browser.follow_click(PREPARE).await;
    assert_eq!(browser.script(TEXT).await, "Waiting to begin…");
    scene.stack.ground.sql(RELEASE).await;
    shows(&browser, DOWNLOADS, &json!(1)).await;
    browser.close().await;
}

/// Presses Tab until an element has the focus, and asserts that everything on the way is in sight and
/// marked; the browser itself marks the parts of a date.
async fn tab_to(browser: &Browser, selector: &str) {
    let focused = format!(
        "const one = document.activeElement, box = one.getBoundingClientRect();
         const outlined = one.closest(':has(:focus-visible).choice') ?? one;
         return [one.matches('{selector}'), one === document.body
             || box.bottom > 0 && box.top < innerHeight
                 && (one.type === 'date' || getComputedStyle(outlined).outlineStyle !== 'none'), one.outerHTML.slice(0, 200)]"
    );
    for _ in 0..60 {
        browser.press(Key::Tab).await;
        let [is_it, is_marked, html]: [Value; 3] =
            serde_json::from_value(browser.script(&focused).await).unwrap();
        assert_eq!(is_marked, json!(true), "the focus is out of sight: {html}");
        if is_it == json!(true) {
            return;
        }
    }
    panic!("no way to {selector}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_prepared_and_deleted_by_keyboard_alone() {
    let scene = Scene::new().await;
    let browser = browser_as(&scene, "Umember").await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url(&format!("/c/{GROUP}"))).await;
    tab_to(&browser, ".tools a").await;
    browser.press(Key::Enter).await;
    shows(&browser, "return location.pathname", &json!(form())).await;
    tab_to(&browser, "[value=html]").await;
    browser.press(Key::Down).await;
    let chosen = "return document.querySelector('[name=format]:checked').value";
    assert_eq!(browser.script(chosen).await, "csv");
    tab_to(&browser, PREPARE).await;
    browser.press(Key::Enter).await;
    shows(&browser, "return location.pathname", &json!(list())).await;
    shows(&browser, DOWNLOADS, &json!(1)).await;
    tab_to(&browser, ".cards a.main").await;
    tab_to(&browser, ".cards button").await;
    browser.press(Key::Enter).await;
    shows(&browser, "return document.querySelector('.done')?.textContent", &json!("Deleted."))
        .await;
    fits_and_is_accessible(&browser, "after a deletion").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_choice_of_an_export_survives_the_end_of_the_session() {
    let scene = Scene::new().await;
    let browser = browser_as(&scene, "Umember").await;
    browser.open(&scene.url(&form())).await;
    choose(&browser).await;
    scene.store.sessions().end_sessions(&"Umember".into()).await.unwrap();
    browser.follow_click(PREPARE).await;
    let next = browser.script("return new URLSearchParams(location.search).get('next')").await;
    assert_eq!(next, json!(format!("{}?done=unsent", form())));
    sign_in(&scene.store, "Umember", "สมชาย", ("again", "csrf of another session")).await;
    browser.plant("chatkeep_session", &secret("Umember")).await;
    browser.open(&scene.url(next.as_str().unwrap())).await;
    shows(&browser, "return location.search", &json!("")).await;
    let typed = "return ['[name=format]:checked', '[name=from]', '[name=to]'].map((one) =>
        document.querySelector(`main ${one}`).value)";
    assert_eq!(browser.script(typed).await, json!(["csv", "2024-01-01", ""]));
    browser.follow_click(PREPARE).await;
    assert_eq!(browser.script("return location.pathname").await, json!(list()));
    browser.close().await;
}
