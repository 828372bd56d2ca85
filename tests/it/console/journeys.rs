//! Journeys through the console in a real browser: on a phone and on a desktop, in every language,
//! with and without script, and without anything that the accessibility checker objects to.

use std::collections::HashSet;

use chatkeep_i18n::Language;
use serde_json::{Value, json};

use super::rules::send;
use super::{GROUP, PLAIN, START, Scene, secret};
use crate::harness::browser::Browser;
use crate::harness::process::Program;
use crate::harness::wait::until;
use crate::harness::{ports, scratch};
use crate::stack::DEADLINE;
use crate::store::{at, edited, said};

pub(crate) const PHONE: (u32, u32) = (390, 844);
pub(crate) const DESKTOP: (u32, u32) = (1280, 800);
/// The narrowest window in which nobody should have to scroll in two directions.
const NARROW: (u32, u32) = (320, 568);

/// Selector of all of a page.
const WHOLE: &str = "html";
/// Script for the distance of the conversation's end from its lower edge, in pixels.
const FROM_END: &str = "const box = document.querySelector('#scroller').getBoundingClientRect();
    const last = document.querySelector('#messages').lastElementChild.getBoundingClientRect();
    return Math.round(last.bottom - box.bottom)";
/// Script that puts connections for news, and pauses before them, into the hands of a test.
const CONNECTIONS: &str = "window.sources = []; window.pauses = []; window.fetched = 0;
    const fetchOne = window.fetch;
    window.fetch = (...all) => { window.fetched += 1; return fetchOne(...all); };
    window.EventSource = class extends EventTarget {
        static CLOSED = 2;
        readyState = 0;
        constructor(url) { super(); this.url = url; window.sources.push(this); }
    };
    const pause = window.setTimeout;
    window.setTimeout = (what, time, ...more) =>
        time === 30000 ? window.pauses.push(what) : pause(what, time, ...more);";
const COUNT: &str = "return document.querySelectorAll('#messages .row').length";

/// Opens a browser that is signed in as the owner.
pub(super) async fn browser(scene: &Scene) -> Browser {
    browser_as(scene, "Uowner").await
}

/// Opens a browser that is signed in as that person.
pub(super) async fn browser_as(scene: &Scene, user: &str) -> Browser {
    let browser = Browser::start().await;
    browser.open(&scene.url("/console/sign-in")).await;
    browser.plant("chatkeep_session", &secret(user)).await;
    browser
}

/// Opens the conversation as its owner, with [`CONNECTIONS`].
async fn with_connections(scene: &Scene) -> Browser {
    let browser = browser(scene).await;
    let script = json!({ "source": CONNECTIONS });
    browser.command("Page.addScriptToEvaluateOnNewDocument", script).await;
    browser.open(&scene.url(&format!("/c/{GROUP}"))).await;
    shows(&browser, "return window.sources.length", &json!(1)).await;
    browser
}

pub(super) async fn number(browser: &Browser, script: &str) -> i64 {
    let value = browser.script(script).await;
    value.as_i64().unwrap_or_else(|| panic!("{script}: {value}"))
}

pub(super) async fn shows(browser: &Browser, script: &str, expected: &Value) {
    until(&format!("{script} to be {expected}"), DEADLINE, async || {
        browser.script(script).await == *expected
    })
    .await;
}

/// Asserts that the open page fits a phone, a desktop and a window of 320 pixels, which is what a
/// desktop magnified by 400 % has, and that nobody is shut out on either. The window has its size
/// again then.
pub(super) async fn is_fine(browser: &Browser, what: &str) {
    is_fine_with(browser, WHOLE, &[PHONE, DESKTOP], what).await;
}

/// Asserts the same in a look of [`in_every_language`], which are of both sizes in both colour
/// schemes: the accessibility checker looks at each page in all four, each time at the look's size.
pub(crate) async fn is_fine_in_look(browser: &Browser, what: &str) {
    is_fine_with(browser, WHOLE, &[size(browser).await], what).await;
}

/// Opens the menu of the open page in a look, and asserts the same of it.
pub(super) async fn menu_is_fine_in_look(browser: &Browser, what: &str) {
    browser.script("document.querySelector('.menu summary').click()").await;
    is_fine_with(browser, ".menu", &[size(browser).await], &format!("the menu of {what}")).await;
}

/// Returns the size of the window.
async fn size(browser: &Browser) -> (u32, u32) {
    let size = browser.script("return [innerWidth, innerHeight]").await;
    serde_json::from_value(size).unwrap()
}

/// Asserts that the page fits everywhere, and that nobody is shut out of a part of it in windows of
/// these sizes.
async fn is_fine_with(browser: &Browser, part: &str, checked: &[(u32, u32)], what: &str) {
    let own = size(browser).await;
    let is_known = |size| [PHONE, DESKTOP].contains(size);
    assert!(checked.iter().all(is_known), "{what} is of another size: {checked:?}");
    for size in [PHONE, DESKTOP] {
        browser.resize(size.0, size.1).await;
        let what = format!("{what} {size:?}");
        has_large_targets(browser, &what).await;
        fits(browser, &what).await;
        if checked.contains(&size) {
            is_accessible(browser, part, &what).await;
        }
    }
    browser.resize(NARROW.0, NARROW.1).await;
    fits(browser, &format!("{what} {NARROW:?}")).await;
    browser.resize(own.0, own.1).await;
}

/// Asserts that everything that is tapped is large enough.
async fn has_large_targets(browser: &Browser, what: &str) {
    let small =
        "return [...document.querySelectorAll('button, summary, .button, nav a, input, select')]
        .map((one) => one.matches('[type=checkbox], [type=radio]') ? one.closest('label') : one)
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height > 0)
        .filter((one) => (one.closest('label.check') ?? one).getBoundingClientRect().height < 43.5)
        .map((one) => one.outerHTML)";
    assert_eq!(browser.script(small).await, json!([]), "{what} has small targets");
}

/// Asserts the same for the window as it is, but for the size of what is tapped.
pub(crate) async fn fits_and_is_accessible(browser: &Browser, what: &str) {
    fits(browser, what).await;
    is_accessible(browser, WHOLE, what).await;
}

/// Asserts that the accessibility checker objects to nothing in a part of the page.
async fn is_accessible(browser: &Browser, part: &str, what: &str) {
    let found = browser.violations(part).await;
    assert!(found.is_empty(), "{what}: {}", found.join("\n"));
}

/// Asserts that nothing is wider than the window, and that of a conversation nothing but its messages
/// scrolls.
async fn fits(browser: &Browser, what: &str) {
    let below = "return document.body.classList.contains('app')
        && document.documentElement.scrollHeight > document.documentElement.clientHeight";
    assert_eq!(browser.script(below).await, json!(false), "{what} scrolls as a whole");
    let over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    if number(browser, over).await != 0 {
        let wide = "return [...document.querySelectorAll('body *')]
            .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth)
            .map((one) => one.outerHTML.slice(0, 120))";
        panic!("{what} is too wide: {:#}", browser.script(wide).await);
    }
}

/// Visits pages in each language, in both colour schemes, each at one of the sizes; [`is_fine_in_look`]
/// looks at both.
pub(crate) async fn in_every_language(browser: &Browser, mut visit: impl AsyncFnMut(&str)) {
    let looks = [(PHONE, "light"), (DESKTOP, "dark"), (PHONE, "dark"), (DESKTOP, "light")];
    for (language, (size, scheme)) in Language::ALL.into_iter().zip(looks) {
        browser.plant("chatkeep_language", language.tag()).await;
        browser.resize(size.0, size.1).await;
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.command("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        visit(&format!("{language:?} {scheme}")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_fine_at_every_size_in_every_language() {
    let scene = Scene::new().await;
    let form = [("action", "delete"), ("before", "2024-03-01"), ("confirmed", "yes")];
    let job = send(&scene, &format!("/c/{GROUP}/settings"), "Uowner", &form).await;
    let job = job.location().to_owned();
    let browser = browser(&scene).await;
    let pages = [
        "/console".to_owned(),
        format!("/c/{GROUP}"),
        format!("/c/{GROUP}?around=thai"),
        format!("/c/{GROUP}/m/edited"),
        format!("/c/{GROUP}/search?q=message&type=text&from=2024-03-01"),
        format!("/c/{GROUP}/media"),
        format!("/c/{GROUP}/people"),
        format!("/c/{GROUP}/people/Uadmin"),
        format!("/c/{GROUP}/activity"),
        format!("/c/{GROUP}/activity?period=all"),
        format!("/c/{GROUP}/settings"),
        job,
        format!("/c/{GROUP}/export"),
        format!("/c/{GROUP}/export/file?from=2024-03-05&to=2024-03-01"),
        "/c/C0unknown".to_owned(),
        "/console/sign-in?problem=other_browser".to_owned(),
    ];
    let mut menus = HashSet::new();
    in_every_language(&browser, async |look| {
        for path in &pages {
            browser.open(&scene.url(path)).await;
            is_fine_in_look(&browser, &format!("{path} {look}")).await;
            // Many pages have the same menu.
            let menu = browser.script("return document.querySelector('.menu').textContent").await;
            if menus.insert((look.to_owned(), menu.to_string())) {
                menu_is_fine_in_look(&browser, &format!("{path} {look}")).await;
            }
        }
        // What is wrong in a form, and the question before what cannot be undone.
        for (path, action, fields, shown) in [
            ("settings", "zone", "zone=Asia/Taipeh", ".wrong"),
            ("settings", "retention", "days=0", ".wrong"),
            ("settings", "delete", "before=2001-01-01", ".wrong"),
            ("people/Umember", "erase", "typed=Nobody", ".wrong"),
            ("settings", "retention", "days=30", ".danger"),
            ("settings", "delete", "before=2024-03-02", ".danger"),
        ] {
            browser.open(&scene.url(&format!("/c/{GROUP}/{path}"))).await;
            let (name, value) = fields.split_once('=').unwrap();
            let send = format!(
                "const form = document.querySelector('[name=action][value={action}]').form;
                 form.elements['{name}'].value = '{value}'; form.querySelector('button').click()"
            );
            browser.follow(&send).await;
            let count = format!("return document.querySelectorAll('main {shown}').length");
            assert_eq!(browser.script(&count).await, 1);
            is_fine_in_look(&browser, &format!("{path} with {fields} {look}")).await;
        }
    })
    .await;
    let errors = browser.errors().await;
    let wrong = |error: &&Value| {
        let message = error["message"].as_str().unwrap();
        let refused = [
            ("/c/C0unknown", "404"),
            ("/export/file?from=2024-03-05", "400"),
            ("/settings", "422"),
            ("/people/Umember", "422"),
        ];
        !refused.iter().any(|(path, status)| message.contains(path) && message.contains(status))
    };
    assert_eq!(errors.iter().filter(wrong).collect::<Vec<_>>(), Vec::<&Value>::new());
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conversation_scrolls_on_and_follows() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url("/console")).await;
    browser.follow_click(".channels a").await;
    shows(&browser, COUNT, &json!(50)).await;
    assert!(number(&browser, FROM_END).await <= 40, "it opens at the newest message");

    // Scrolling up loads what was said before, and what is in sight stays where it is.
    let above = "const row = document.querySelector('#messages .row');
        row.scrollIntoView({block: 'center'}); window.seen = row;
        window.seenAt = row.getBoundingClientRect().top; return row.id";
    browser.script(above).await;
    until("earlier messages", DEADLINE, async || number(&browser, COUNT).await > 50).await;
    let moved =
        "return Math.round(Math.abs(window.seen.getBoundingClientRect().top - window.seenAt))";
    assert!(number(&browser, moved).await <= 2, "it jumped");
    until("all messages", DEADLINE, async || {
        browser.script("document.querySelector('.talk').scrollIntoView({block: 'start'})").await;
        number(&browser, COUNT).await == PLAIN + 14
    })
    .await;
    shows(&browser, "return document.querySelectorAll('.begin').length", &json!(1)).await;
    let days = "return [...document.querySelectorAll('.day')].map((day) => day.dataset.day)";
    let expected = json!(["2024-03-01", "2024-03-02", "2024-03-03"]);
    assert_eq!(browser.script(days).await, expected);

    // Who reads further up is told of what is new and goes there with one tap.
    let fresh = [said(GROUP, "fresh", START + 3 * 86_400_000, "something new")];
    scene.store.messages().ingest(&fresh, at(START)).await.unwrap();
    shows(&browser, "return document.querySelector('#pill').hidden", &json!(false)).await;
    browser.script("document.querySelector('#pill').click()").await;
    shows(&browser, "return document.querySelector('#pill').hidden", &json!(true)).await;
    until("the end", DEADLINE, async || number(&browser, FROM_END).await <= 40).await;
    let fresh = [said(GROUP, "fresher", START + 4 * 86_400_000, "newer still")];
    scene.store.messages().ingest(&fresh, at(START)).await.unwrap();
    let last = "return document.querySelector('#messages').lastElementChild.id";
    shows(&browser, last, &json!("m-fresher")).await;
    assert!(number(&browser, FROM_END).await <= 40, "it follows");
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_messages_move_nothing_in_browsers_that_do_not_see_to_that() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url(&format!("/c/{GROUP}?around=p100"))).await;
    shows(&browser, COUNT, &json!(50)).await;
    // Its first row is the heading of a day that goes away.
    let above = "document.querySelector('#scroller').style.overflowAnchor = 'none';
        const row = document.querySelector('#messages .row');
        row.scrollIntoView({block: 'center'}); window.seen = row;
        window.seenAt = row.getBoundingClientRect().top";
    browser.script(above).await;
    until("earlier messages", DEADLINE, async || number(&browser, COUNT).await > 50).await;
    let moved =
        "return Math.round(Math.abs(window.seen.getBoundingClientRect().top - window.seenAt))";
    assert!(number(&browser, moved).await <= 2, "it jumped");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_are_fetched_when_they_are_told_also_after_a_refusal() {
    let scene = Scene::new().await;
    let browser = with_connections(&scene).await;
    let last = "return document.querySelector('#messages').lastElementChild.id";
    for (day, id) in [(3, "early"), (4, "late")] {
        let fresh = [said(GROUP, id, START + day * 86_400_000, "something new")];
        scene.store.messages().ingest(&fresh, at(START)).await.unwrap();
        let opened = "const before = window.fetched;
            window.sources.at(-1).dispatchEvent(new Event('open'));
            return window.fetched - before";
        assert_eq!(browser.script(opened).await, json!(0), "the page itself reads nothing");
        let told = format!(
            "window.sources.at(-1).dispatchEvent(
                new MessageEvent('news', {{ data: 'messages', lastEventId: '7_{day}' }}))"
        );
        browser.script(&told).await;
        shows(&browser, last, &json!(format!("m-{id}"))).await;
        let refused = "const source = window.sources.at(-1);
            source.dispatchEvent(new Event('error'));
            source.readyState = 2; source.dispatchEvent(new Event('error'));
            const [connect, ...more] = window.pauses.splice(0); connect();
            return [window.sources.length, more.length, window.sources.at(-1).url]";
        let again = format!("/c/{GROUP}/news?since=7_{day}");
        assert_eq!(browser.script(refused).await, json!([day - 1, 0, again]));
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_says_the_same_stays_when_rows_are_fetched_again() {
    let scene = Scene::new().await;
    let browser = with_connections(&scene).await;
    let edit = async |time: i64, text: &str| {
        let edit = [edited(GROUP, "link", START + 5 * 86_400_000 + time, text)];
        scene.store.messages().ingest(&edit, at(START)).await.unwrap();
    };
    let says = "return document.querySelector('#m-link .bubble').textContent.trim()";

    // Somebody listens to a message, and has the focus there, while the connection is lost.
    edit(1, "see https://example.org/1").await;
    let listen = "window.kept = document.querySelector('#m-place .bubble');
        window.kept.querySelector('a').focus();
        window.sources.at(-1).dispatchEvent(new MessageEvent('stale'))";
    browser.script(listen).await;
    shows(&browser, says, &json!("see https://example.org/1")).await;
    let kept = "return window.kept.isConnected && window.kept.contains(document.activeElement)";
    assert_eq!(browser.script(kept).await, json!(true), "it is another element now");

    // Where the focus is lost with what had it, it goes to the message's link.
    edit(2, "see https://example.org/2").await;
    let focus = "document.querySelector('#m-link .bubble a').focus();
        window.sources.at(-1).dispatchEvent(new MessageEvent('stale'))";
    browser.script(focus).await;
    shows(&browser, says, &json!("see https://example.org/2")).await;
    let focused = "return document.activeElement.closest('.meta')?.closest('.row').id";
    shows(&browser, focused, &json!("m-link")).await;

    // What cannot be fetched once, because the service is just then away, is fetched a little later.
    edit(2, "see https://example.org/3").await;
    let fails = "const fetched = window.fetch;
        let failures = 2;
        window.fetch = (...args) => failures-- > 0
            ? Promise.reject(new TypeError('the service is away')) : fetched(...args);
        const data = JSON.stringify(['link']);
        window.sources.at(-1).dispatchEvent(new MessageEvent('changed', { data }))";
    browser.script(fails).await;
    shows(&browser, says, &json!("see https://example.org/3")).await;

    // More rows than a request takes: those that were not asked for stay.
    until("all messages", DEADLINE, async || {
        browser.script("document.querySelector('.talk').scrollIntoView({block: 'start'})").await;
        number(&browser, COUNT).await == PLAIN + 14
    })
    .await;
    edit(3, "at last").await;
    let all = "const rows = [...document.querySelectorAll('#messages .row')].reverse();
        const data = JSON.stringify(rows.map((row) => decodeURIComponent(row.id.slice(2))));
        window.sources.at(-1).dispatchEvent(new MessageEvent('changed', { data }))";
    browser.script(all).await;
    shows(&browser, says, &json!("at last")).await;
    assert_eq!(number(&browser, COUNT).await, PLAIN + 14);
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_can_be_read_without_script() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url(&format!("/c/{GROUP}"))).await;
    assert!(number(&browser, FROM_END).await <= 40, "it opens at the newest message");
    let older = browser.script("return document.querySelector('[rel=prev]').href").await;
    browser.open(older.as_str().unwrap()).await;
    assert_eq!(number(&browser, COUNT).await, 50);
    let quote = "return document.querySelector('.quote').href";
    browser.open(&scene.url(&format!("/c/{GROUP}/m/quoting"))).await;
    let quoted = browser.script(quote).await;
    browser.open(quoted.as_str().unwrap()).await;
    assert_eq!(browser.script("return location.hash").await, "#m-link");
    let sight = "const row = document.querySelector('.row.target').getBoundingClientRect();
        return row.top >= 0 && row.bottom <= innerHeight";
    assert_eq!(browser.script(sight).await, json!(true), "the quoted message is in sight");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_of_the_demo_looks_as_somebody() {
    let (folder, address) = (scratch::folder("demo-"), ports::free());
    let (data, listen) = (folder.path().display().to_string(), address.to_string());
    let args = ["--data", &data, "--listen", &listen, "demo", "--sample", "small"];
    let mut demo = Program::chatkeep().args(args).start();
    demo.line("starting it again finds everything").await;
    let browser = Browser::start().await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&format!("http://{address}/console")).await;
    let people = "return [...document.querySelectorAll('.people b')].map((one) => one.textContent)";
    let expected = json!(["林小美", "Aiko", "Somchai", "Dave", "王大明"]);
    assert_eq!(browser.script(people).await, expected);
    is_fine(&browser, "the choice of a person").await;
    browser.follow("document.querySelectorAll('.people button')[1].click()").await;
    assert_eq!(browser.script("return document.querySelectorAll('.channels a').length").await, 1);
    browser.follow_click(".channels a").await;
    let photos = "return [...document.querySelectorAll('.photo img')]
        .filter((photo) => photo.complete && photo.naturalWidth > 0).length";
    shows(&browser, photos, &json!(2)).await;
    is_fine(&browser, "the demo's conversation").await;

    // The viewer: by tap, by keys, and back to where it was opened.
    browser.script("document.querySelector('a[data-photo]').click()").await;
    let full = "const picture = document.querySelector('#viewer[open] img');
        return picture !== null && picture.complete && picture.naturalWidth === 640";
    shows(&browser, full, &json!(true)).await;
    is_fine(&browser, "the viewer").await;
    let source = "return document.querySelector('#viewer img').src";
    let first = browser.script(source).await;
    let key = |key: &str| {
        format!(
            "document.querySelector('#viewer').dispatchEvent(
                new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))"
        )
    };
    browser.script(&key("ArrowRight")).await;
    assert_ne!(browser.script(source).await, first);
    browser.script(&key("ArrowLeft")).await;
    assert_eq!(browser.script(source).await, first);
    browser.script("document.querySelector('[data-do=close]').click()").await;
    let focused = "return document.activeElement.hasAttribute('data-photo')";
    shows(&browser, focused, &json!(true)).await;

    // Without a place to go to, the console is it and not the chat beside it.
    let path = browser.script("return location.pathname").await;
    browser.open(&format!("http://{address}/console/sign-in")).await;
    assert_eq!(browser.script("return location.pathname").await, "/console");
    browser.open(&format!("http://{address}{}", path.as_str().unwrap())).await;

    // Somebody who is not in the group does not see it.
    let group = browser.script("return location.pathname").await;
    browser.open(&format!("http://{address}/demo/look-as")).await;
    browser.follow("document.querySelectorAll('.people button')[4].click()").await;
    assert_eq!(browser.script("return document.querySelectorAll('.empty').length").await, 1);
    browser.open(&format!("http://{address}{}", group.as_str().unwrap())).await;
    let heading = "return document.querySelector('h1').textContent";
    assert_eq!(browser.script(heading).await, "Not available");
    browser.close().await;
    demo.terminate().await;
}
