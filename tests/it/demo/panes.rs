//! The chat and the console side by side, on a desktop and on a phone.

use serde_json::{Value, json};

use super::{DEADLINE, Demo, scratch, until};
use crate::console::journeys::{DESKTOP, PHONE, fits_and_is_accessible};
use crate::harness::browser::Browser;

/// Script for the name of the person whom the console in the frame is signed in as.
const CONSOLE_PERSON: &str = "return document.querySelector('#console')
    .contentDocument?.querySelector('.menu .who')?.textContent ?? ''";
/// Script for the heading of the console in the frame.
const CONSOLE_BAR: &str = "return document.querySelector('#console')
    .contentDocument?.querySelector('header')?.textContent ?? ''";

async fn shows(browser: &Browser, script: &str, text: &str) {
    until(&format!("{script} to show {text:?}"), DEADLINE, async || {
        browser.script(script).await.as_str().is_some_and(|shown| shown.contains(text))
    })
    .await;
}

/// Chooses an option of a list as a person does.
async fn select(browser: &Browser, list: &str, nth: usize) {
    let script = format!(
        "const list = document.querySelector('{list}'); list.selectedIndex = {nth};
         list.dispatchEvent(new Event('change'))"
    );
    browser.script(&script).await;
}

async fn is_visible(browser: &Browser, what: &str) -> bool {
    let script = format!("return document.querySelector('{what}').checkVisibility()");
    browser.script(&script).await == json!(true)
}

/// Asserts that the console follows the chat and the chat the console, on a desktop.
pub(super) async fn follow_each_other(demo: &Demo) {
    let browser = Browser::start().await;
    browser.resize(DESKTOP.0, DESKTOP.1).await;
    browser.open(&format!("{}/demo", demo.base)).await;
    shows(&browser, CONSOLE_PERSON, "林小美").await;
    assert!(is_visible(&browser, "#chat").await && is_visible(&browser, "#console").await);
    fits_and_is_accessible(&browser, "the page").await;

    // Another person looks at the same group.
    select(&browser, "#person", 1).await;
    shows(&browser, CONSOLE_PERSON, "Aiko").await;
    // Another group is opened in both.
    select(&browser, "#groups", 2).await;
    shows(&browser, CONSOLE_BAR, "Dragons").await;
    shows(&browser, CONSOLE_PERSON, "Dave").await;
    shows(&browser, "return document.querySelector('#members').textContent", "ليلى").await;
    // The console leads to a group, and the chat goes there.
    let home = "document.querySelector('#console').contentWindow.location = '/console'";
    browser.script(home).await;
    let links = "return document.querySelector('#console').contentDocument
        .querySelector('.channels a[href*=\"/c/\"]')?.getAttribute('href') ?? ''";
    shows(&browser, links, "/c/").await;
    let chats = "const frame = document.querySelector('#console').contentDocument;
        frame.querySelectorAll('.channels a')[0].click(); return ''";
    browser.script(chats).await;
    until("both to show one group", DEADLINE, async || {
        let both =
            "const path = document.querySelector('#console').contentWindow.location.pathname;
            return path === '/c/' + document.querySelector('#groups').value";
        browser.script(both).await == json!(true)
    })
    .await;
    assert_eq!(json!(browser.errors().await), json!([]), "the browser reports nothing");

    // A deployment's pages are in nobody's frame, and these in their own page's alone.
    let page = demo.http.get(format!("{}/demo/look-as", demo.base)).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.ends_with("frame-ancestors 'self'"), "{policy}");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_shows_one_pane_at_a_time_in_every_language() {
    let folder = scratch::folder("demo-");
    let demo = Demo::start(&folder).await;
    let browser = Browser::start().await;
    browser.resize(PHONE.0, PHONE.1).await;
    for (tag, join) in [("en", "joins"), ("zh-Hant", "加入"), ("ja", "参加"), ("th", "เข้าร่วม")]
    {
        browser.open(&format!("{}/demo?lang={tag}", demo.base)).await;
        shows(&browser, "return document.documentElement.lang", tag).await;
        shows(&browser, "return document.querySelector('#join').textContent", join).await;
        shows(&browser, CONSOLE_PERSON, "林小美").await;
        for pane in ["chat", "console", "behind"] {
            let tab = format!("document.querySelector('nav button[value={pane}]').click()");
            browser.script(&tab).await;
            for other in ["chat", "console", "behind"] {
                let visible = is_visible(&browser, &format!("#{other}")).await;
                assert_eq!(visible, other == pane, "{other} beside {pane}");
            }
            fits_and_is_accessible(&browser, &format!("{pane} in {tag}")).await;
        }
    }
    let texts = demo.http.get(format!("{}/demo/texts", demo.base));
    let texts = texts.header("accept-language", "th").send().await.unwrap();
    let texts: Value = texts.json().await.unwrap();
    assert_eq!(texts["send"], "ส่ง");
    browser.close().await;
    demo.stop().await;
}
