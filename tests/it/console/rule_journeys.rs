//! Journeys through the assistant's rules in a real browser.

use reqwest::StatusCode;
use serde_json::json;

use super::assistant::field;
use super::journeys::{
    DESKTOP, PHONE, browser, browser_as, in_every_language, is_fine, is_fine_in_look, shows,
};
use super::rules::{RULES, add, rules, send};
use super::{GROUP, Scene, sign_in};
use crate::harness::browser::Browser;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

const ROWS: &str = "return document.querySelectorAll('table.rules tbody tr').length";

/// Fills fields of the open page.
async fn fill(browser: &Browser, fields: &[(&str, &str)]) {
    for (name, value) in fields {
        let (name, value) = (json!(format!("main [name={name}]")), json!(value));
        browser.script(&format!("document.querySelector({name}).value = {value}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rules_are_fine_at_every_size_in_every_language() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    let empty = [RULES.to_owned(), format!("{RULES}/new")];
    browser.resize(PHONE.0, PHONE.1).await;
    for path in &empty {
        browser.open(&scene.url(path)).await;
        is_fine(&browser, path).await;
    }
    add(
        &scene,
        "營業時間\n幾點開門\nopening hours",
        "請問今天營業到幾點？",
        "週一到週五 9:00–18:00",
    )
    .await;
    add(&scene, "wifi", "", &"https://example.org/".repeat(20)).await;
    add(&scene, "WIFI\nรหัสไวไฟของร้านกาแฟ\nשלום", "Wi-Fi のパスワードは？", "1234\n5678\n9\n10\n11")
        .await;
    add(&scene, &"長".repeat(100), "", "x").await;
    let rule = rules(&scene).await[0].id.clone();
    let pages = [
        RULES.to_owned(),
        format!("{RULES}?q=nowhere"),
        format!("{RULES}/{rule}"),
        format!("{RULES}/import"),
        format!("/c/{GROUP}/assistant/try?text=opning%20huors"),
        format!("{RULES}/{rule}?notFor=opening%20hours%20of%20the%20museum%20downtown"),
        format!("{RULES}/nothing"),
    ];
    in_every_language(&browser, async |look| {
        for path in &pages {
            browser.open(&scene.url(path)).await;
            is_fine_in_look(&browser, &format!("{path} {look}")).await;
        }
        // A form with errors, and what an import would do.
        browser.open(&scene.url(&format!("{RULES}/new"))).await;
        browser.follow_click("main .main").await;
        shows(&browser, "return document.querySelectorAll('.wrong').length", &json!(1)).await;
        // The chips took the place of the field, and its focus.
        let focused = "return document.activeElement.matches('.chip-input #keywords')";
        shows(&browser, focused, &json!(true)).await;
        is_fine_in_look(&browser, &format!("errors {look}")).await;
        for table in ["wifi,new\nfresh,x", "wifi,\nk,a"] {
            browser.open(&scene.url(&format!("{RULES}/import"))).await;
            fill(&browser, &[("csv", table)]).await;
            browser.follow_click("main button.main").await;
            is_fine_in_look(&browser, &format!("an import {look}")).await;
        }
    })
    .await;
    let refused = |error: &serde_json::Value| {
        let message = error["message"].as_str().unwrap();
        message.contains("422") || message.contains("/rules/nothing") && message.contains("404")
    };
    let mut errors = browser.errors().await;
    errors.retain(|error| !refused(error));
    assert_eq!(json!(errors), json!([]), "the console is clean");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_typed_survives_the_end_of_the_session() {
    const FIELDS: &str = "return ['keywords', 'answer', 'question'].map((name) =>
        document.querySelector(`main [name=${name}]`).value)";
    const NOTICE: &str = "return document.querySelector('.done')?.textContent";
    let scene = Scene::new().await;
    let (sessions, owner) = (scene.store.sessions(), "Uowner".into());
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    let type_in = async || {
        browser.open(&scene.url(&format!("{RULES}/new"))).await;
        fill(&browser, &[("answer", "週一到週五\n9–18"), ("question", "幾點?")]).await;
        browser.script("document.querySelector('#keywords').value = '營業、hours'").await;
    };
    let by_script = "return new URLSearchParams(location.search).get('next')";
    // Whoever signs in next in the same tab does not get what somebody else typed.
    for reader in ["Uadmin", "Uowner"] {
        type_in().await;
        sessions.end_sessions(&owner).await.unwrap();
        browser.follow_click("main .main").await;
        let next = browser.script(by_script).await;
        assert_eq!(next, json!(format!("{RULES}/new?done=unsent")));
        sign_in(&scene.store, "Uowner", "王小明", (reader, &format!("csrf of {reader}"))).await;
        browser.plant("chatkeep_session", &super::secret(reader)).await;
        // A form by which somebody signs in, as the demo has one, is not what was typed.
        browser
            .script(
                "const form = document.createElement('form'); form.setAttribute('method', 'post');
                document.body.append(form);
                form.dispatchEvent(new Event('submit', { bubbles: true }))",
            )
            .await;
        let typed = browser.script("return sessionStorage.getItem('form')").await;
        assert!(typed.as_str().is_some_and(|form| form.contains("週一")), "{typed}");
        browser.open(&scene.url(next.as_str().unwrap())).await;
        shows(&browser, "return location.search", &json!("")).await;
        assert!(browser.script(NOTICE).await.as_str().unwrap().starts_with("You had been"));
        let expected = match reader {
            "Uowner" => ["營業\nhours", "週一到週五\n9–18", "幾點?"],
            _ => [""; 3],
        };
        assert_eq!(browser.script(FIELDS).await, json!(expected), "as {reader}");
        browser.plant("chatkeep_session", &super::secret("Uowner")).await;
    }
    is_fine(&browser, "a form with what was typed").await;
    browser.follow_click("main .main").await;
    let rule = &rules(&scene).await[0];
    assert_eq!((rule.keywords.len(), rule.answer.as_str()), (2, "週一到週五\n9–18"));
    let kept = browser.script("return sessionStorage.getItem('form')").await;
    assert_eq!(kept, json!(null), "what was saved is forgotten");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_forms_only_the_one_that_was_sent_is_filled() {
    const ACTIONS: &str = "return [...document.querySelectorAll('main [name=action]')]
        .map(({ value }) => value)";
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    let path = format!("/c/{GROUP}/settings");
    for (fields, zone) in [
        (json!([["action", "zone"], ["zone", "Asia/Tokyo"]]), "Asia/Tokyo"),
        (json!([["action", "delete"]]), ""),
    ] {
        browser.open(&scene.url(&path)).await;
        let actions = browser.script(ACTIONS).await;
        let fields = json!({ "path": path, "fields": fields });
        let keep = format!(
            "sessionStorage.setItem('form', JSON.stringify(Object.assign({fields},
                {{ person: document.querySelector('[data-person]').dataset.person }})))"
        );
        browser.script(&keep).await;
        browser.open(&scene.url(&format!("{path}?done=unsent"))).await;
        shows(&browser, "return location.search", &json!("")).await;
        assert_eq!(browser.script(ACTIONS).await, actions);
        let shown = browser.script("return document.querySelector('[name=zone]').value").await;
        assert_eq!(shown, json!(zone));
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_edited_in_its_row_with_chips() {
    let scene = Scene::new().await;
    add(&scene, "wifi", "Q", "old").await;
    add(&scene, "hours", "", "9-18").await;
    let browser = browser(&scene).await;
    for size in [PHONE, DESKTOP] {
        browser.resize(size.0, size.1).await;
        browser.open(&scene.url(RULES)).await;
        browser.script("document.querySelector('[data-edit]').click()").await;
        shows(&browser, "return document.activeElement.id", &json!("keywords")).await;
        is_fine(&browser, "a rule in its row").await;
        // Cancelled, the row is as before.
        browser.script("document.querySelector('tr [data-cancel]').click()").await;
        shows(&browser, "return document.querySelectorAll('.editing').length", &json!(0)).await;
        shows(&browser, "return document.activeElement.hasAttribute('data-edit')", &json!(true))
            .await;
    }
    browser.script("document.querySelector('[data-edit]').click()").await;
    shows(&browser, "return document.activeElement.id", &json!("keywords")).await;
    let key = |key: &str| {
        format!(
            "document.activeElement.dispatchEvent(
                new KeyboardEvent('keydown', {{key: '{key}', bubbles: true, cancelable: true}}))"
        )
    };
    let typed = |text: &str| {
        format!(
            "document.activeElement.value = '{text}';
             document.activeElement.dispatchEvent(new InputEvent('input', {{bubbles: true}}))"
        )
    };
    let field = "return document.querySelector('[name=keywords]').value";
    browser.script(&typed("密碼、")).await;
    browser.script(&typed("network")).await;
    browser.script(&key("Enter")).await;
    assert_eq!(browser.script(field).await, "wifi\n密碼\nnetwork");
    assert_eq!(
        browser
            .script("return document.querySelector('.chip-input [role=status]').textContent")
            .await,
        "Added: network"
    );
    browser.script(&key("Backspace")).await;
    assert_eq!(browser.script("return document.activeElement.value").await, "network");
    browser.script(&typed("")).await;
    browser
        .script(
            "const data = new DataTransfer(); data.setData('text', 'a\\nb b\\n\\na');
             document.activeElement.dispatchEvent(
                 new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))",
        )
        .await;
    assert_eq!(browser.script(field).await, "wifi\n密碼\na\nb b");
    browser.script("document.querySelectorAll('.chip')[2].click()").await;
    assert_eq!(browser.script(field).await, "wifi\n密碼\nb b");
    // An error stays in the row.
    fill(&browser, &[("answer", " ")]).await;
    browser.script("document.querySelector('tr form .main').click()").await;
    shows(&browser, "return document.querySelectorAll('tr .wrong').length", &json!(1)).await;
    shows(&browser, "return document.activeElement.name", &json!("answer")).await;
    is_fine(&browser, "an error in a row").await;
    fill(&browser, &[("answer", "new")]).await;
    browser.script("document.querySelector('tr form .main').click()").await;
    shows(&browser, "return document.querySelector('.done')?.textContent", &json!("Saved.")).await;
    assert!(browser.script("return location.hash").await.as_str().unwrap().starts_with("#rule-"));
    let saved = &rules(&scene).await[0];
    assert_eq!((saved.keywords.join("|"), &*saved.answer), ("wifi|密碼|b b".to_owned(), "new"));
    assert_eq!(
        json!(
            browser
                .errors()
                .await
                .iter()
                .filter(|error| { !error["message"].as_str().unwrap().contains("422") })
                .collect::<Vec<_>>()
        ),
        json!([])
    );
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_rules_is_read_and_checked_at_once() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    // In the encoding of spreadsheets in Taiwan.
    browser.plant("chatkeep_language", "zh-Hant").await;
    browser.open(&scene.url(&format!("{RULES}/import"))).await;
    browser
        .script(
            "const big5 = new Uint8Array([0xb1, 0x4b, 0xbd, 0x58, 44, 0xb5, 0xaa, 10]);
             const data = new DataTransfer(); data.items.add(new File([big5], 'rules.csv'));
             const input = document.querySelector('#file'); input.files = data.files;
             input.dispatchEvent(new Event('change', {bubbles: true}))",
        )
        .await;
    let planned = "return document.querySelector('.planned .words')?.textContent";
    shows(&browser, planned, &json!("密碼")).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_kept_in_order_without_script() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url(&format!("{RULES}/new"))).await;
    fill(&browser, &[("keywords", "wifi\n密碼"), ("answer", "")]).await;
    browser.follow_click("form.form .main").await;
    shows(&browser, "return document.querySelectorAll('.wrong').length", &json!(1)).await;
    assert_eq!(
        browser.script("return document.querySelector('[name=keywords]').value").await,
        "wifi\n密碼"
    );
    fill(&browser, &[("answer", "1234")]).await;
    browser.follow_click("form.form .main").await;
    shows(&browser, ROWS, &json!(1)).await;
    browser.follow_click("[data-edit]").await;
    fill(&browser, &[("answer", "5678")]).await;
    browser.follow_click("form.form .main").await;
    assert_eq!(rules(&scene).await[0].answer, "5678");
    browser.follow_click("[data-edit]").await;
    browser.follow_click("[value=delete]").await;
    browser.follow_click(".danger").await;
    until("the rule is deleted", DEADLINE, async || rules(&scene).await.is_empty()).await;
    shows(&browser, "return document.querySelectorAll('.empty').length", &json!(1)).await;
    browser.open(&scene.url(&format!("{RULES}/import"))).await;
    fill(&browser, &[("csv", "wifi\t1234")]).await;
    browser.follow_click("main button.main").await;
    browser.follow_click("main button.main").await;
    shows(&browser, ROWS, &json!(1)).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_sent_once_and_comes_back_as_it_was_left() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.open(&scene.url(&format!("{RULES}/new"))).await;
    fill(&browser, &[("keywords", "wifi"), ("answer", "1234")]).await;
    let twice = browser
        .script(
            "const form = document.querySelector('form[data-rule]'), prevented = [];
             addEventListener('submit', (event) => prevented.push(event.defaultPrevented));
             for (const _ of 'two') form.requestSubmit(form.querySelector('.main'));
             return prevented",
        )
        .await;
    assert_eq!(twice, json!([false, true, true]));
    shows(&browser, ROWS, &json!(1)).await;
    assert_eq!(rules(&scene).await.len(), 1);
    // Chips are what the field has.
    let chips = "return [...document.querySelectorAll('.chip')].map((chip) => chip.textContent.replace(/[^a-z]/g, '')).join()";
    browser.open(&scene.url(&format!("{RULES}/{}", rules(&scene).await[0].id))).await;
    browser
        .script(
            "const entry = document.querySelector('.chip-input input'); entry.focus();
             entry.value = 'network,'; entry.dispatchEvent(new InputEvent('input', {bubbles: true}))",
        )
        .await;
    assert_eq!(browser.script(chips).await, "wifi,network");
    // A browser fills in the field that somebody comes back to, and then shows the page.
    browser
        .script(
            "document.querySelector('[name=keywords]').value = 'wifi\\nbicycle';
             dispatchEvent(new PageTransitionEvent('pageshow'))",
        )
        .await;
    assert_eq!(browser.script(chips).await, "wifi,bicycle");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_back_to_a_saved_form_overwrites_nobody() {
    let scene = Scene::new().await;
    add(&scene, "wifi", "Which password?", "old").await;
    let path = format!("{RULES}/{}", rules(&scene).await[0].id);
    let browser = browser_as(&scene, "Uadmin").await;
    for with_script in [true, false] {
        let off = json!({ "value": !with_script });
        browser.command("Emulation.setScriptExecutionDisabled", off).await;
        browser.open(&scene.url(&path)).await;
        fill(&browser, &[("answer", "mine")]).await;
        browser.follow_click("main .main").await;
        assert_eq!(rules(&scene).await[0].answer, "mine");
        // Meanwhile somebody else saves another answer.
        change_answer(&scene, &path, "theirs").await;
        browser.follow("history.back()").await;
        assert_eq!(browser.script("return location.pathname").await, path);
        // A browser that kept the whole page shows what was typed, and is told when it saves that.
        fill(&browser, &[("question", "Which one?")]).await;
        browser.follow_click("main .main").await;
        assert_eq!(rules(&scene).await[0].answer, "theirs", "with script: {with_script}");
    }
    browser.close().await;
}

/// Saves another answer of a rule as its owner.
async fn change_answer(scene: &Scene, path: &str, answer: &str) {
    let page = scene.open(path).await.body;
    let form = [
        ("keywords", "wifi"),
        ("question", "Which password?"),
        ("answer", answer),
        ("version", field(&page, "version")),
        ("seen", field(&page, "seen")),
    ];
    let saved = send(scene, path, "Uowner", &form).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_typed_is_there_again_although_somebody_else_changed_the_rule() {
    const ANSWER: &str = "return document.querySelector('main [name=answer]').value";
    let scene = Scene::new().await;
    add(&scene, "wifi", "", "old").await;
    let path = format!("{RULES}/{}", rules(&scene).await[0].id);
    let browser = browser_as(&scene, "Uadmin").await;
    browser.open(&scene.url(&path)).await;
    fill(&browser, &[("answer", "mine")]).await;
    scene.store.sessions().end_sessions(&"Uadmin".into()).await.unwrap();
    change_answer(&scene, &path, "theirs").await;
    // Signed in again elsewhere, so that the page has a token of before.
    sign_in(&scene.store, "Uadmin", "Aiko", ("session-again", "csrf-again")).await;
    browser.follow_click("main .main").await;
    let said = browser.script("return document.querySelector('.card').textContent").await;
    assert!(said.as_str().unwrap().contains("Tap Back: the form has what you typed."), "{said}");
    browser.follow_click(".card .button").await;
    shows(&browser, ANSWER, &json!("mine")).await;
    browser.follow_click("main .main").await;
    // The digest that was sent tells that somebody else changed the rule.
    let told = browser.script("return document.querySelector('main .warn').textContent").await;
    assert!(told.as_str().unwrap().starts_with("Somebody else changed this"), "{told}");
    assert_eq!(browser.script(ANSWER).await, "mine");
    assert_eq!(rules(&scene).await[0].answer, "theirs");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comma_within_a_number_makes_no_chips() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.open(&scene.url(&format!("{RULES}/new"))).await;
    let steps = [
        ("1,", "", "1,"),
        ("1,000", "", "1,000"),
        ("1,000元,", "1,000元", ""),
        ("12,", "1,000元", "12,"),
        ("12,h", "1,000元\n12", "h"),
        ("h、", "1,000元\n12\nh", ""),
        ("a，b", "1,000元\n12\nh\na", "b"),
    ];
    for (typed, keywords, rest) in steps {
        let script = format!(
            "const entry = document.querySelector('#keywords'); entry.value = '{typed}';
             entry.dispatchEvent(new InputEvent('input', {{bubbles: true}}));
             return [document.querySelector('[name=keywords]').value, entry.value]"
        );
        assert_eq!(browser.script(&script).await, json!([keywords, rest]), "{typed}");
    }
    browser.close().await;
}
