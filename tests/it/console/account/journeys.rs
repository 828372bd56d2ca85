//! Journeys through the account in a real browser: at both sizes, in every language, with and
//! without script.

use chatkeep_i18n::Language;
use serde_json::{Value, json};

use super::super::journeys::{DESKTOP, PHONE, browser, in_every_language, is_fine_in_look, shows};
use super::super::{GROUP, Scene};
use super::{consent, shown};

const NEW_KEY: &str = "/console/account/keys/new";
const NEW_WEBHOOK: &str = "/console/account/webhooks/new";

/// Fills the account of the owner; returns the paths of its pages.
async fn filled(scene: &Scene) -> Vec<String> {
    let name = "A program with quite a long name, as people give them";
    for form in [
        vec![("name", name), ("scope", "read:messages"), ("scope", "read:media"), ("reach", "all")],
        vec![("name", "讀書會助手"), ("scope", "read:members"), ("reach", "all")],
    ] {
        shown(&scene.submit(NEW_KEY, &form).await);
    }
    let url = "https://example.com/a/very/long/path/that/has/no/spaces/and/must/break/somewhere";
    let form =
        [("url", url), ("event", "member.left"), ("event", "message.sent"), ("reach", "all")];
    shown(&scene.submit(NEW_WEBHOOK, &form).await);
    consent(scene).await;
    let list = scene.open("/console/account/webhooks").await.body;
    let id = list.split("href=\"/console/account/webhooks/").skip(1);
    let id = id.map(|rest| rest.split('"').next().unwrap()).find(|id| *id != "new").unwrap();
    let webhook = format!("/console/account/webhooks/{id}");
    let tested = scene.submit(&webhook, &[("action", "test")]).await;
    let log = scene.open(tested.location()).await.body;
    let delivery = log.split("/deliveries/").nth(1).unwrap().split('"').next().unwrap();
    let delivery = format!("{webhook}/deliveries/{delivery}");
    let keys = scene.open("/console/account/keys").await.body;
    let key = keys.split("/console/account/keys/").find(|part| part.contains("/replace")).unwrap();
    let key = format!("/console/account/keys/{}", key.split('"').next().unwrap());
    let fixed = [
        "/console/account",
        "/console/account/keys",
        NEW_KEY,
        "/console/account/webhooks",
        NEW_WEBHOOK,
        "/console/account/mcp",
        "/console/account/mcp/grant1/end",
        "/console/account/sessions",
        "/console/account/keys/unknown/delete",
    ];
    let made = [
        key.replace("/replace", "/delete"),
        key,
        format!("{webhook}/edit"),
        format!("{webhook}/secret"),
        format!("{webhook}?status=failed"),
        webhook,
        delivery,
    ];
    fixed.into_iter().map(str::to_owned).chain(made).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_of_the_account_is_fine_at_every_size_in_every_language() {
    let scene = Scene::new().await;
    let pages = filled(&scene).await;
    let browser = browser(&scene).await;
    in_every_language(&browser, async |look| {
        for path in &pages {
            browser.open(&scene.url(path)).await;
            let open =
                "for (const one of document.querySelectorAll('main details')) one.open = true";
            browser.script(open).await;
            is_fine_in_look(&browser, &format!("{path} {look}")).await;
        }
        // Forms with errors.
        for path in [NEW_KEY, NEW_WEBHOOK] {
            browser.open(&scene.url(path)).await;
            browser.follow_click(".form button.main").await;
            shows(&browser, "return document.querySelectorAll('.wrong').length > 0", &json!(true))
                .await;
            is_fine_in_look(&browser, &format!("{path} with errors {look}")).await;
        }
    })
    .await;
    let errors = browser.errors().await;
    let refused = |error: &&Value| {
        let message = error["message"].as_str().unwrap();
        !message.contains("404") && !message.contains("422")
    };
    assert_eq!(errors.iter().filter(refused).collect::<Vec<_>>(), Vec::<&Value>::new());
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_made_and_deleted_without_script() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url("/console")).await;
    browser.follow_click(".sheet a[href=\"/console/account\"]").await;
    shows(&browser, "return location.pathname", &json!("/console/account")).await;
    browser.follow_click(".tabs a[href=\"/console/account/keys\"]").await;
    shows(&browser, "return location.pathname", &json!("/console/account/keys")).await;
    browser.follow_click("a[href=\"/console/account/keys/new\"]").await;
    shows(&browser, "return document.querySelectorAll('.form').length", &json!(1)).await;
    browser.script("document.querySelector('[name=name]').value = 'Without script'").await;
    let scope = "document.querySelector('[name=scope][value=\"read:messages\"]').click()";
    browser.script(scope).await;
    browser.follow_click(".form button.main").await;
    let secret = "return document.querySelector('#secret')?.textContent.slice(0, 3)";
    shows(&browser, secret, &json!("ck_")).await;
    let buttons =
        "return [...document.querySelectorAll('[data-copy]')].filter((one) => !one.hidden).length";
    assert_eq!(browser.script(buttons).await, json!(0), "a button that does nothing");
    browser.follow_click("main .button.main").await;
    shows(&browser, "return document.querySelectorAll('.cards li').length", &json!(1)).await;
    browser.follow_click(".cards a[href$=\"/delete\"]").await;
    shows(&browser, "return document.querySelectorAll('button.danger').length", &json!(1)).await;
    browser.follow_click("button.danger").await;
    shows(&browser, "return document.querySelectorAll('.empty').length", &json!(1)).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_copied_with_one_tap() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    let origin = scene.url("").trim_end_matches('/').to_owned();
    let permissions =
        json!({"origin": origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.command("Browser.grantPermissions", permissions).await;
    browser.resize(DESKTOP.0, DESKTOP.1).await;
    browser.open(&scene.url("/console/account/keys/new?for=reading")).await;
    browser.script("document.querySelector('[name=name]').value = 'Copied'").await;
    browser.follow_click(".form button.main").await;
    shows(&browser, "return document.querySelector('[data-copy]')?.hidden ?? true", &json!(false))
        .await;
    browser.script("document.querySelector('[data-copy]').click()").await;
    shows(&browser, "return document.querySelector('[data-copy]').textContent", &json!("Copied"))
        .await;
    browser.close().await;
}

/// Script that returns the numbers of the months that stand on more than one line.
const BROKEN: &str = "return [...document.querySelectorAll('.months tbody th')].flatMap((cell) => {
    const text = cell.firstChild;
    return [...text.data.matchAll(/[0-9]+/g)].filter(({ 0: { length }, index }) => {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + length);
        return range.getClientRects().length > 1;
    }).map(([number]) => number);
})";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_stay_whole_and_the_menu_stays_in_the_window_where_text_is_large() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.resize(320, 568).await;
    let names = ["2026年11月", "Nov 2026", "2026年11月", "พ.ย. 2569"];
    for (language, month) in Language::ALL.into_iter().zip(names) {
        browser.plant("chatkeep_language", language.tag()).await;
        browser.open(&scene.url("/console/account")).await;
        let table = format!(
            "document.querySelector('main .page').innerHTML = `<section class=\"section\">
                <table class=\"shares months\"><tbody><tr><th scope=\"row\">{month}</th>
                <td><span class=\"bar-of\"><progress max=\"100\" value=\"40\"></progress>
                <span>123.4 MB</span></span></td></tr></tbody></table></section>`"
        );
        browser.script(&table).await;
        assert_eq!(browser.script(BROKEN).await, json!([]), "{language:?}");
    }
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url("/console")).await;
    let opened = "document.documentElement.style.fontSize = '200%';
        document.querySelector('.menu summary').click()";
    browser.script(opened).await;
    let edges = "const { left, right } = document.querySelector('.sheet').getBoundingClientRect();
        const bar = document.querySelector('.bar');
        return [left >= 0, right <= bar.clientWidth, bar.scrollWidth <= bar.clientWidth]";
    assert_eq!(browser.script(edges).await, json!([true, true, true]));
    // A photo or video is as wide as its bubble at most.
    browser.resize(320, 568).await;
    browser.open(&scene.url(&format!("/c/{GROUP}"))).await;
    let cropped = "const bubble = document.querySelector('.row:not(.mine) .bubble');
        bubble.innerHTML = '<div class=\"film\"><video></video></div>';
        const right = (one) => one.getBoundingClientRect().right;
        return right(bubble.querySelector('video')) > right(bubble) + .5";
    assert_eq!(browser.script(cropped).await, false);
    browser.close().await;
}
