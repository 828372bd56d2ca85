//! Journey of an admin who has earlier texts kept, reads them, and has them erased, in a real browser.

use serde_json::{Value, json};

use super::journeys::{PHONE, browser_as, in_every_language, is_fine, is_fine_in_look, shows};
use super::{GROUP, START, Scene};
use crate::harness::browser::{Browser, Key};
use crate::store::{at, edited};

const DONE: &str = "return document.querySelector('.done')?.textContent";
const EARLIER: &str = "return [...document.querySelectorAll('.earlier .says')]
    .map((says) => says.textContent)";
/// Opens the setting, and returns whether the switch is on.
async fn setting(browser: &Browser, scene: &Scene) -> Value {
    browser.open(&scene.url(&format!("/c/{GROUP}/settings"))).await;
    browser.script("return document.querySelector('[name=earlier]').checked").await
}

/// Turns the switch with the keyboard, and saves it.
async fn turn(browser: &Browser) {
    browser.script("document.querySelector('[name=earlier]').focus()").await;
    browser.press(Key::Space).await;
    browser.follow_click("form:has([name=earlier]) button").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_has_earlier_texts_kept_and_erased() {
    let scene = Scene::new().await;
    let browser = browser_as(&scene, "Uadmin").await;
    browser.resize(PHONE.0, PHONE.1).await;
    assert_eq!(setting(&browser, &scene).await, json!(false));
    turn(&browser).await;
    assert_eq!(browser.script(DONE).await, "Saved.");
    assert_eq!(setting(&browser, &scene).await, json!(true));

    let time = START + 3 * 86_400_000;
    let long = "ข้อความยาวมากที่ไม่มีช่องว่าง".repeat(12);
    let texts = ["five o'clock", long.as_str(), "https://example.org/".repeat(9).leak(), "שש"];
    let edits = (0..).zip(texts).map(|(nth, text)| edited(GROUP, "edited", time + nth, text));
    scene.store.messages().ingest(&edits.collect::<Vec<_>>(), at(time)).await.unwrap();
    let message = scene.url(&format!("/c/{GROUP}/m/edited"));
    in_every_language(&browser, async |look| {
        browser.open(&message).await;
        let expected = json!(["four o'clock", texts[0], texts[1], texts[2]]);
        assert_eq!(browser.script(EARLIER).await, expected, "{look}");
        is_fine_in_look(&browser, &format!("earlier texts {look}")).await;
    })
    .await;

    browser.plant("chatkeep_language", "en").await;
    setting(&browser, &scene).await;
    turn(&browser).await;
    let question = "return document.querySelector('h1:not(header *)')?.textContent";
    assert_eq!(browser.script(question).await, "Stop keeping earlier texts?");
    is_fine(&browser, "the question").await;
    // Whoever thinks better of it finds everything as it was.
    browser.follow_click("main a.button").await;
    let checked = "return document.querySelector('[name=earlier]').checked";
    assert_eq!(browser.script(checked).await, json!(true));
    turn(&browser).await;
    browser.follow_click("main .danger").await;
    assert_eq!(browser.script(DONE).await, "Saved.");
    browser.open(&message).await;
    assert_eq!(browser.script(EARLIER).await, json!([]));
    shows(&browser, "return document.querySelectorAll('#earlier').length", &json!(0)).await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}
