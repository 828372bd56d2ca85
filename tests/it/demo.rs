//! The demo page in a real browser: a person types, the bot replies, everything moves.

use serde_json::json;

use crate::harness::browser::Browser;
use crate::harness::process::Program;
use crate::harness::wait::until;
use crate::harness::{http, ports, scratch};
use crate::stack::DEADLINE;

/// Script for the number of messages on the page with a text.
const SAYING: &str = "return [...document.querySelectorAll('#messages .says')]
    .filter((says) => says.textContent.includes('WHAT')).length.toString()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_chats_on_the_page() {
    let (folder, address) = (scratch::folder("demo-"), ports::free());
    let (data, listen) = (folder.path().display().to_string(), address.to_string());
    let args = ["--data", &data, "--listen", &listen, "demo"];
    let mut demo = Program::chatkeep().args(args).start();
    demo.line("starting it again finds everything").await;
    let browser = Browser::start().await;
    browser.open(&format!("http://{address}/")).await;
    shows(&browser, &SAYING.replace("WHAT", "picture"), "2").await;
    shows(&browser, &SAYING.replace("WHAT", "9:00–18:00"), "1").await;

    let say = "document.querySelector('#text').value = '請問營業時間？';
               document.querySelector('#say').requestSubmit();";
    browser.script(say).await;
    shows(&browser, &SAYING.replace("WHAT", "9:00–18:00"), "2").await;
    browser.script("document.querySelector('#join').click()").await;
    shows(&browser, &SAYING.replace("WHAT", "歡迎"), "1").await;
    shows(&browser, "return document.querySelector('#members').textContent", "Yuki").await;
    shows(&browser, "return document.querySelector('#stages').textContent", "published").await;
    shows(&browser, "return document.querySelector('#usage').textContent", "messages").await;
    let unsend = "[...document.querySelectorAll('#messages .says button')].at(-1).click()";
    browser.script(unsend).await;
    let gone = "return document.querySelectorAll('#messages .gone').length.toString()";
    shows(&browser, gone, "1").await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    let state = http::client(DEADLINE).get(format!("http://{address}/demo/state"));
    let rebound = state.try_clone().unwrap().header("host", "evil.example");
    assert_eq!(rebound.send().await.unwrap().status(), 421, "under another name");
    let foreign = state.try_clone().unwrap().header("origin", "https://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403, "for another page");
    assert_eq!(state.send().await.unwrap().status(), 200);
    browser.close().await;
    assert!(demo.terminate().await.success());
    // All of its data, pictures included, is in its own folder.
    let own = folder.path().join("demo").display().to_string();
    let mut doctor = Program::chatkeep().args(["--data", &own, "doctor"]).start();
    assert!(doctor.finish().await.success(), "{:?}", doctor.stdout());
}

async fn shows(browser: &Browser, script: &str, text: &str) {
    until(&format!("the page to show {text:?}"), DEADLINE, async || {
        browser.script(script).await.as_str().is_some_and(|shown| shown.contains(text))
    })
    .await;
}
