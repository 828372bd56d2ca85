//! The demo page in a real browser: a person types, the bot answers, everything moves.

use serde_json::{Value, json};

use super::{DEADLINE, Demo, scratch, until};
use crate::harness::browser::Browser;

/// Script for the number of messages on the page with a text.
const SAYING: &str = "return [...document.querySelectorAll('#messages .says')]
    .filter((says) => says.textContent.includes('WHAT')).length.toString()";
/// Script for the number of photos shown in full.
const PHOTOS: &str = "return [...document.querySelectorAll('#messages .photo img')]
    .filter((photo) => photo.complete && photo.naturalWidth === 640).length.toString()";
/// Script that checks that the newest message is visible, and nothing overflows the page.
const AT_END: &str = "const box = document.querySelector('#messages');
    const last = box.lastElementChild.getBoundingClientRect();
    return (last.bottom <= box.getBoundingClientRect().bottom + 1 && last.height > 0).toString()";
const WIDTH: &str = "return document.documentElement.scrollWidth.toString()";

async fn say(browser: &Browser, text: &str) {
    let script = format!(
        "document.querySelector('#text').value = '{text}';
         document.querySelector('#say').requestSubmit();"
    );
    browser.script(&script).await;
}

async fn shows(browser: &Browser, script: &str, text: &str) {
    until(&format!("the page to show {text:?}"), DEADLINE, async || {
        browser.script(script).await.as_str().is_some_and(|shown| shown.contains(text))
    })
    .await;
}

async fn click(browser: &Browser, what: &str) {
    browser.script(&format!("document.querySelector('{what}').click()")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_chats_on_the_page() {
    let folder = scratch::folder("demo-");
    let demo = Demo::start(&folder).await;
    let browser = Browser::start().await;
    browser.open(&format!("{}/", demo.base)).await;
    shows(&browser, PHOTOS, "2").await;
    shows(&browser, &SAYING.replace("WHAT", "9:00–18:00"), "1").await;
    shows(&browser, AT_END, "true").await;

    say(&browser, "請問營業時間？").await;
    shows(&browser, &SAYING.replace("WHAT", "9:00–18:00"), "2").await;
    shows(&browser, AT_END, "true").await;
    sides(&browser).await;
    click(&browser, "#image").await;
    shows(&browser, PHOTOS, "3").await;
    click(&browser, "#join").await;
    shows(&browser, &SAYING.replace("WHAT", "歡迎"), "1").await;
    shows(&browser, "return document.querySelector('#members').textContent", "王大明").await;
    shows(&browser, "return document.querySelector('#messages').textContent", "王大明 joined the")
        .await;
    shows(&browser, "return document.querySelector('#stages').textContent", "published").await;
    shows(&browser, "return document.querySelector('#usage').textContent", "messages").await;
    // The owner cannot leave; anybody else can, and unsends only what is theirs.
    shows(&browser, "return document.querySelector('#leave').disabled.toString()", "true").await;
    shows(&browser, "return document.querySelector('#phone').textContent", "cannot leave").await;
    let foreign = "return document.querySelectorAll('.row:not(.mine) .unsend').length.toString()";
    assert_eq!(browser.script(foreign).await, "0");
    browser.script("[...document.querySelectorAll('.mine .unsend')].at(-1).click()").await;
    let gone = "return document.querySelector('#messages .gone')?.textContent ?? ''";
    shows(&browser, gone, "You unsent a message").await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    strangers(&demo).await;
    browser.close().await;
    demo.stop().await;
    // Everything of it, pictures included, is in its own folder.
    let (fine, said) = Demo::doctor(&folder).await;
    assert!(fine, "{said:?}");
}

/// The person's own messages are green and on the right, everybody else's on the left.
async fn sides(browser: &Browser) {
    let sides = browser
        .script(
            "const box = document.querySelector('#messages').getBoundingClientRect();
             const of = (which) => {
               const says = [...document.querySelectorAll(which + ' span.says')].at(-1);
               const place = says.getBoundingClientRect();
               const right = place.left - box.left > box.right - place.right;
               return [right, getComputedStyle(says).backgroundColor];
             };
             return [of('.row.mine'), of('.row.bot')];",
        )
        .await;
    assert_eq!(sides, json!([[true, "rgb(141, 224, 85)"], [false, "rgb(255, 255, 255)"]]));
}

/// Only this machine's own page is answered.
async fn strangers(demo: &Demo) {
    let state = demo.http.get(format!("{}/demo/state", demo.base));
    let rebound = state.try_clone().unwrap().header("host", "evil.example");
    assert_eq!(rebound.send().await.unwrap().status(), 421, "under another name");
    let foreign = state.header("origin", "https://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403, "for another page");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_fits_a_phone_and_follows_the_chat() {
    let folder = scratch::folder("demo-");
    let demo = Demo::start(&folder).await;
    let browser = Browser::start().await;
    browser.resize(390, 844).await;
    browser.open(&format!("{}/demo", demo.base)).await;
    shows(&browser, PHOTOS, "2").await;
    shows(&browser, AT_END, "true").await;
    assert_eq!(browser.script(WIDTH).await, "390", "the chat fits");
    demo.say(1, "somebody else says this").await;
    shows(&browser, &SAYING.replace("WHAT", "somebody else"), "1").await;
    shows(&browser, AT_END, "true").await;

    // Who reads further up is left there and told of what is new.
    let pill = "return document.querySelector('#pill').hidden.toString()";
    let scroll = "const box = document.querySelector('#messages'); box.scrollTop = 0;
                  return box.dispatchEvent(new Event('scroll')).toString()";
    browser.script(scroll).await;
    demo.say(2, "and this").await;
    shows(&browser, pill, "false").await;
    let top = "return document.querySelector('#messages').scrollTop.toString()";
    assert_eq!(browser.script(top).await, "0");
    click(&browser, "#pill").await;
    shows(&browser, AT_END, "true").await;
    shows(&browser, pill, "true").await;

    quoting(&browser).await;
    click(&browser, "nav button[value=behind]").await;
    assert_eq!(browser.script(WIDTH).await, "390", "what lies behind fits");
    semantic(&browser).await;
    click(&browser, "nav button[value=chat]").await;
    shows(&browser, AT_END, "true").await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
    demo.stop().await;
}

async fn quoting(browser: &Browser) {
    browser.script("[...document.querySelectorAll('.quoting')].at(-1).click()").await;
    shows(browser, "return document.querySelector('#quoted').textContent", "and this").await;
    say(browser, "I agree").await;
    let quotes = "return [...document.querySelectorAll('.mine .quote')].at(-1)?.textContent ?? ''";
    shows(browser, quotes, "Somchaiand this").await;
}

async fn semantic(browser: &Browser) {
    let locked = "return document.querySelector('[value=semantic]').disabled.toString()";
    shows(browser, locked, "true").await;
    click(browser, "[value=pro]").await;
    shows(browser, locked, "false").await;
    click(browser, "[value=semantic]").await;
    shows(browser, "return document.querySelector('#means').textContent", "mean the same").await;
    let tries = browser.script("return document.querySelector('#try').textContent").await;
    assert!(Value::as_str(&tries).unwrap().contains("What time do you open?"), "{tries}");
}
