//! Consent in a real browser, which sends with each form what the page's policies say.

use axum::Router;
use axum::routing::get;
use serde_json::json;
use tokio::net::TcpListener;

use super::oauth::{Scene, parameter};
use crate::console::journeys::{in_every_language, is_fine_in_look};
use crate::harness::browser::Browser;

const TEXT: &str = "return document.body?.textContent ?? ''";

/// Starts a program that people are sent back to; returns its address.
async fn program() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let back = format!("http://{}/callback", listener.local_addr().unwrap());
    let router = Router::new().route("/callback", get(async || "You are back"));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    back
}

/// Clicks what leads to a page with that text; returns its address.
async fn click(browser: &Browser, selector: &str, expected: &str) -> String {
    browser.follow_click(selector).await;
    let text = browser.script(TEXT).await;
    assert!(text.as_str().is_some_and(|text| text.contains(expected)), "{text}");
    browser.script("return location.href").await.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_decides_in_a_real_browser() {
    let scene = Scene::new(&[]).await;
    let back = program().await;
    let client = scene.register("Helper", &back).await;
    let own = ("redirect_uri", Some(back.as_str()));
    let asking = scene.asking(&client, &[own]);
    let page = scene.page(&asking).await;
    assert_eq!(page.headers["referrer-policy"], "same-origin");

    let browser = Browser::start().await;
    browser.open(&scene.base).await;
    browser.plant("chatkeep_session", &scene.browser.cookie("chatkeep_session").unwrap()).await;
    browser.open(&asking).await;
    let denied = click(&browser, "[value=deny]", "You are back").await;
    assert_eq!(parameter(&denied, "error"), "access_denied");
    browser.open(&asking).await;
    let allowed = click(&browser, "[value=allow]", "You are back").await;
    assert!(parameter(&allowed, "code").starts_with("ckc_"), "{allowed}");

    let consents = format!("{}/oauth/consents", scene.base);
    let refused = scene.asking(&client, &[own, ("response_type", Some("token"))]);
    in_every_language(&browser, async |look| {
        for page in [&asking, &consents, &refused] {
            browser.open(page).await;
            is_fine_in_look(&browser, &format!("{page} {look}")).await;
        }
    })
    .await;
    browser.plant("chatkeep_language", "en").await;
    browser.open(&consents).await;
    let text = browser.script(TEXT).await;
    assert!(text.as_str().unwrap().contains("all chats, allowed since"), "{text}");
    assert_eq!(click(&browser, "form button", "None").await, consents);

    browser.open(&refused).await;
    let told = click(&browser, "a", "You are back").await;
    assert_eq!(parameter(&told, "error"), "unsupported_response_type");
    let errors = browser.errors().await;
    let is_other = |error: &&serde_json::Value| !error["message"].as_str().unwrap().contains("400");
    assert_eq!(json!(errors.iter().filter(is_other).collect::<Vec<_>>()), json!([]));
    browser.close().await;
}
