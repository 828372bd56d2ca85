//! Content of a conversation beside its messages: changes of what is on screen, exports, pictures of
//! people, and refusals for those who are too fast.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use chatkeep_core::id::UserId;
use chatkeep_core::profile::Profile;
use chatkeep_emulator::Media;
use chatkeep_i18n::Language;
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, COOKIE, VARY};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;

use super::journeys::{DESKTOP, PHONE, browser, is_fine, number, shows};
use super::{GROUP, Page, START, Scene, answer, secret};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, edited, unsent};

/// Accepted types of a browser that opens a page.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

impl Scene {
    /// Opens a page as a browser does.
    async fn browse(&self, method: Method, path: &str, language: &str) -> Page {
        let cookie = format!("chatkeep_session={}", secret("Uowner"));
        let request = self.http.request(method, self.url(path));
        let request = request.header(ACCEPT, BROWSER).header(ACCEPT_LANGUAGE, language);
        answer(request.header(COOKIE, cookie)).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_changed_messages_are_for_those_who_may_read_them() {
    let scene = Scene::new().await;
    let path = format!("/c/{GROUP}/rows?id=p003&id=edited&id=nothing&id=p001");
    let rows = scene.page(&path, Some("Umember"), "en").await;
    assert_eq!(rows.status, StatusCode::OK);
    let shown: Vec<_> = rows.body.split("<li id=\"").skip(1).collect();
    let names: Vec<_> = shown.iter().map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(names, ["m-p001", "m-p003", "m-edited"]);
    assert_eq!(scene.page(&path, Some("Uguest"), "en").await.status, StatusCode::NOT_FOUND);
    let ids: Vec<_> = (0..101).map(|nth| format!("id=x{nth}")).collect();
    let many = format!("/c/{GROUP}/rows?{}", ids.join("&"));
    assert_eq!(scene.page(&many, Some("Umember"), "en").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_messages_on_screen_appear_by_themselves() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    // In the middle of the conversation: what follows is not loaded.
    browser.open(&scene.url(&format!("/c/{GROUP}?around=p060"))).await;
    let seen =
        "const row = document.querySelector('#m-p060'); row.scrollIntoView({block: 'center'});
        window.seen = row; window.seenAt = row.getBoundingClientRect().top; return row.id";
    browser.script(seen).await;
    let long = "a much longer text than before ".repeat(20);
    let change = async |change| scene.store.messages().ingest(&[change], at(START)).await.unwrap();
    // The connection is made when the first change arrives.
    let says =
        |id: &str| format!("return document.querySelector('#m-{id} .bubble').innerText.trim()");
    let mut time = START + 5 * 86_400_000;
    until("an edit above", DEADLINE, async || {
        time += 1;
        change(edited(GROUP, "p040", time, &long)).await;
        browser.script(&says("p040")).await == long.trim()
    })
    .await;
    let moved =
        "return Math.round(Math.abs(window.seen.getBoundingClientRect().top - window.seenAt))";
    assert!(number(&browser, moved).await <= 2, "what is in sight jumped");
    let mark = "return document.querySelector('#m-p040 .meta span').textContent";
    assert_eq!(browser.script(mark).await, "edited");
    change(unsent(GROUP, "p061", time)).await;
    shows(&browser, &says("p061"), &json!("This message was unsent")).await;
    is_fine(&browser, "a conversation with changes").await;

    // An unsent message also goes from where it is quoted.
    browser.open(&scene.url(&format!("/c/{GROUP}?around=quoting"))).await;
    let quote = "return document.querySelector('.quote').innerText";
    assert!(browser.script(quote).await.as_str().unwrap().contains("example.org"));
    change(unsent(GROUP, "link", time)).await;
    until("the quote is gone", DEADLINE, async || {
        !browser.script(quote).await.as_str().unwrap().contains("example.org")
    })
    .await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_before_the_chosen_message_is_in_sight() {
    const AFTER: &str = "let row = document.querySelector('#messages .gap');
        while (row && !row.id.startsWith('m-')) row = row.nextElementSibling;
        return row?.id.slice(2)";
    const GAP: &str = "const gap = document.querySelector('#messages .gap');
        const top = document.querySelector('#scroller').getBoundingClientRect().top;
        return Math.round(gap.getBoundingClientRect().top - top)";
    const MESSAGE: &str = "const row = document.querySelector('.row.target');
        return Math.round(innerHeight - row.getBoundingClientRect().bottom)";
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    for (width, height) in [PHONE, DESKTOP] {
        browser.resize(width, height).await;
        browser.open(&scene.url(&format!("/c/{GROUP}?around=thai"))).await;
        let id = browser.script(AFTER).await;
        let id = id.as_str().unwrap();
        browser.open(&scene.url(&format!("/c/{GROUP}?around={id}#m-{id}"))).await;
        assert!(number(&browser, GAP).await >= 0, "the gap is cut off at {width}");
        assert!(number(&browser, MESSAGE).await >= 0, "the message is out of sight at {width}");
    }
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_says_what_is_wrong_and_how_much_there_is() {
    let scene = Scene::new().await;
    let file = format!("/c/{GROUP}/export/file");
    let all = scene.open(&format!("{file}?format=csv&from=&to=")).await;
    let lines = csv_records(&all.body);
    assert_eq!(all.headers["x-message-count"].to_str().unwrap(), (lines - 1).to_string());
    let disposition = all.headers["content-disposition"].to_str().unwrap();
    assert_eq!(disposition, "attachment; filename=\"messages.csv\"");
    let day = scene.open(&format!("{file}?format=jsonl&from=2024-03-01&to=2024-03-01")).await;
    assert_eq!(
        (day.headers["x-message-count"].to_str().unwrap(), day.body.lines().count()),
        ("65", 65)
    );
    let page = scene.open(&format!("{file}?format=html")).await;
    assert!(page.headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
    for (query, field) in [
        ("format=csv&from=2024-03-05&to=2024-03-01", "The last day is before the first day."),
        ("format=csv&from=2024-02-30&to=", "Please enter a valid date."),
    ] {
        let wrong = scene.page(&format!("{file}?{query}"), Some("Uowner"), "en").await;
        assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
        assert!(wrong.body.contains(field) && wrong.body.contains("aria-invalid"), "{query}");
        // What was chosen stays.
        assert!(wrong.body.contains("value=\"csv\" checked"), "{}", wrong.body);
    }
    for unknown in ["format=exe", "format=", "format=csv&format=html"] {
        let wrong = scene.page(&format!("{file}?{unknown}"), Some("Uowner"), "en").await;
        assert_eq!(wrong.status, StatusCode::BAD_REQUEST, "{unknown}");
    }
    let guest = scene.page(&format!("{file}?format=csv"), Some("Uguest"), "en").await;
    assert_eq!(guest.status, StatusCode::NOT_FOUND);
}

fn csv_records(text: &str) -> usize {
    let mut quoted = false;
    let ends = text.chars().filter(|character| {
        quoted ^= *character == '"';
        *character == '\n' && !quoted
    });
    ends.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_shows_that_it_works_and_ends() {
    let scene = Scene::new().await;
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    for format in ["html", "csv", "jsonl"] {
        browser.open(&scene.url(&format!("/c/{GROUP}/export?format={format}"))).await;
        is_fine(&browser, "the form of an export").await;
        browser.script("document.querySelector('#export .main').click()").await;
        shows(&browser, "return document.querySelector('[data-do=save]').hidden", &json!(false))
            .await;
        let told = browser.script("return document.querySelector('.told').textContent").await;
        assert!(told.as_str().unwrap().starts_with("Done. Messages: 144 ("), "{format}: {told}");
        is_fine(&browser, "a finished export").await;
        let name = browser.script("return document.querySelector('[data-do=save]').download").await;
        assert_eq!(name, format!("週末讀書會 Readers.{format}"));
    }
    // One that breaks off says so; the form is there again, with what was chosen.
    browser.script("window.fetch = async () => { throw new TypeError('broken'); }").await;
    browser.script("document.querySelector('[data-do=again]').click()").await;
    browser.script("document.querySelector('#export .main').click()").await;
    let failed = "return document.querySelector('[data-when=failed]').hidden";
    shows(&browser, failed, &json!(false)).await;
    is_fine(&browser, "a failed export").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_pages_in_the_language_of_the_visitor() {
    let limit = [("PER_MINUTE", "1"), ("BURST", "7")];
    let [minute, burst] = limit.map(|(_, value)| value.to_owned());
    let settings =
        [("CHATKEEP_RATE_LIMIT_PER_MINUTE", minute), ("CHATKEEP_RATE_LIMIT_BURST", burst)];
    let scene = Scene::with(&settings).await;
    for (method, path, status, text) in [
        (Method::GET, format!("/c/{GROUP}/nothing"), StatusCode::NOT_FOUND, "Page not found"),
        (Method::GET, "/console/nothing".to_owned(), StatusCode::NOT_FOUND, "Page not found"),
        (Method::GET, "/consle".to_owned(), StatusCode::NOT_FOUND, "Page not found"),
        (Method::POST, "/console".to_owned(), StatusCode::METHOD_NOT_ALLOWED, "Page not found"),
        (Method::POST, "/console/sign-out".to_owned(), StatusCode::BAD_REQUEST, "does not work"),
    ] {
        let page = scene.browse(method, &path, "en").await;
        assert!(page.body.contains(text), "{path}: {}", page.body);
        assert!(page.body.starts_with("<!doctype html>"), "{path}");
        assert_eq!(page.status, status, "{path}");
        assert!(page.headers["content-security-policy"].to_str().unwrap().contains("script-src"));
    }
    // Programs get what they always got.
    let nothing = scene.page(&format!("/c/{GROUP}/nothing"), Some("Uowner"), "en").await;
    assert!(nothing.body.starts_with('{'), "{}", nothing.body);

    // Pictures of a page take nothing from the pages.
    let file = format!("/api/v1/channels/{GROUP}/backup/media/photo?preview=true");
    for _ in 0..20 {
        for path in [&file, &format!("/c/{GROUP}/picture")] {
            let picture = scene.page(path, Some("Umember"), "en").await;
            assert_ne!(picture.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
        }
    }
    let page = scene.page(&format!("/c/{GROUP}"), Some("Umember"), "en").await;
    assert_eq!(page.status, StatusCode::OK);
    let mut refused = None;
    for _ in 0..10 {
        let page = scene.browse(Method::GET, "/console", "zh-TW").await;
        if page.status == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(page);
            break;
        }
    }
    let refused = refused.expect("no limit");
    assert!(
        refused.body.contains("請稍候") && refused.body.contains("秒後再試"),
        "{}",
        refused.body
    );
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(refused.headers["x-ratelimit-limit"], "7");
}

/// Gives a person a picture at that address.
async fn give_picture(scene: &Scene, user: &str, address: &str) {
    let profile = Profile {
        display_name: user.to_owned(),
        picture_url: Some(address.to_owned()),
        language: None,
    };
    let profiles = BTreeMap::from([(UserId::from(user), Some(profile))]);
    scene.store.members().save_profiles(&profiles, at(START)).await.unwrap();
}

fn png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(600, 600).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Serves pictures on a host that is not the platform's; returns it, and how often it was asked.
async fn elsewhere() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let (count, picture) = (Arc::clone(&asked), png());
    let router = Router::new().fallback(async move || {
        count.fetch_add(1, Ordering::SeqCst);
        ([(CONTENT_TYPE, "image/png")], picture)
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_of_people_come_from_here_alone() {
    let scene = Scene::new().await;
    let address = scene.stack.line.add_picture(Media::new("text/html", png()));
    give_picture(&scene, "Umember", &address).await;
    let page = scene.open(&format!("/c/{GROUP}?around=thai")).await.body;
    for page in [&page, &scene.open(&format!("/c/{GROUP}/people")).await.body] {
        assert!(!page.contains(&address), "the page names the platform's address");
    }
    for rest in ["people", "people/Umember"] {
        let page = scene.open(&format!("/c/{GROUP}/{rest}")).await.body;
        let picture = format!("<img src=\"/c/{GROUP}/people/Umember/picture?v=");
        assert_eq!(page.matches(&picture).count(), 1, "{rest}: {page}");
    }
    let start = page.find(&format!("/c/{GROUP}/people/Umember/picture?v=")).expect("no picture");
    let path = page[start..].split('"').next().unwrap().to_owned();
    let ask = async |path: &str, user: Option<&str>| {
        let mut request = scene.http.get(scene.url(path));
        if let Some(user) = user {
            request = request.header(COOKIE, format!("chatkeep_session={}", secret(user)));
        }
        request.send().await.unwrap()
    };
    for round in ["fetched", "kept"] {
        let picture = ask(&path, Some("Uowner")).await;
        assert_eq!(picture.status(), StatusCode::OK, "{round}");
        assert_eq!(picture.headers()["content-type"], "image/jpeg");
        assert_eq!(picture.headers()["cache-control"], "private, max-age=86400, immutable");
        assert_eq!(picture.headers()["x-content-type-options"], "nosniff");
        let picture = image::load_from_memory(&picture.bytes().await.unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (192, 192), "{round}");
        // Not fetched again.
        if round == "fetched" {
            scene.stack.line.shutdown().await;
        }
    }
    let other = path.replace("?v=", "?v=other");
    assert_eq!(ask(&other, Some("Uowner")).await.headers()["cache-control"], "private, no-cache");
    for user in ["Uguest", "Uleft", "Ustranger"] {
        assert_eq!(ask(&path, Some(user)).await.status(), StatusCode::NOT_FOUND, "{user}");
    }
    assert_eq!(ask(&path, None).await.status(), StatusCode::SEE_OTHER);
    // Whoever is not in the group has no picture here.
    give_picture(&scene, "Ustranger", &address).await;
    for person in ["Ustranger", "Unobody"] {
        let path = format!("/c/{GROUP}/people/{person}/picture");
        assert_eq!(ask(&path, Some("Uowner")).await.status(), StatusCode::NOT_FOUND, "{person}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_that_are_none_are_initials() {
    let scene = Scene::new().await;
    let line = &scene.stack.line;
    let (foreign, asked) = elsewhere().await;
    let host = line.api_base().replace("http://", "");
    let bad = [
        line.add_picture(Media::new("image/png", "<script>alert(1)</script>")),
        format!("{}/pictures/77", line.api_base()),
        "https://203.0.113.9/picture.png".to_owned(),
        format!("http://{foreign}/picture.png"),
        format!("http://{host}@{foreign}/picture.png"),
        format!("https://{foreign}/picture.png"),
    ];
    for address in bad {
        give_picture(&scene, "Umember", &address).await;
        let path = format!("/c/{GROUP}/people/Umember/picture");
        let picture = scene.page(&path, Some("Uowner"), "en").await;
        assert_eq!(picture.status, StatusCode::NOT_FOUND, "{address}");
        assert_eq!(picture.headers["cache-control"], "private, max-age=600");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0, "another host was asked");
    let answer = scene.http.get(format!("http://{foreign}/picture.png")).send().await.unwrap();
    assert_eq!((answer.status(), asked.load(Ordering::SeqCst)), (StatusCode::OK, 1));
    let browser = browser(&scene).await;
    browser.resize(PHONE.0, PHONE.1).await;
    browser.open(&scene.url(&format!("/c/{GROUP}?around=thai"))).await;
    is_fine(&browser, "a person whose picture is missing").await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_for_reading_links_to_the_messages_own_pages() {
    let base = "https://chat.example.org";
    let scene = Scene::with(&[("CHATKEEP_API_BASE_URL", base.to_owned())]).await;
    let key = super::pages::key(&scene).await;
    let path = format!("/api/v1/channels/{GROUP}/backup/export?format=html");
    let http = crate::harness::http::client(DEADLINE);
    let page = http.get(scene.url(&path)).bearer_auth(&key).send().await.unwrap();
    let page = page.text().await.unwrap();
    assert!(page.contains(&format!("href=\"{base}/c/{GROUP}/m/edited\"")), "{page}");
    assert!(!page.contains("href=\"#m-edited\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_for_reading_is_in_the_language_of_its_reader() {
    let scene = Scene::new().await;
    let key = super::pages::key(&scene).await;
    let http = crate::harness::http::client(DEADLINE);
    let by_key = scene.url(&format!("/api/v1/channels/{GROUP}/backup/export?format=html"));
    for language in Language::ALL {
        let tag = language.tag();
        let file = format!("/c/{GROUP}/export/file?format=html");
        let console = scene.page(&file, Some("Uowner"), tag).await.body;
        let api = http.get(&by_key).bearer_auth(&key).header(ACCEPT_LANGUAGE, tag);
        let api = api.send().await.unwrap();
        assert_eq!(api.headers()[VARY], "accept-language");
        let api = api.text().await.unwrap();
        let own = scene.page("/console/my-data/file?format=html", Some("Umember"), tag).await.body;
        for page in [&console, &api, &own] {
            assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{page}");
            let zone = language.format("page-zone", &[("zone", "UTC".into())]);
            assert!(page.contains(&zone), "{zone}: {page}");
        }
        for key in ["page-without-files", "message-unsent", "mark-edited", "sender-unknown"] {
            let text = language.text(key);
            assert!(console.contains(&text) && api.contains(&text), "{text}: {console}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_photo_that_an_imported_text_does_not_have_is_told_as_such() {
    let scene = Scene::new().await;
    let pages = [
        format!("/c/{GROUP}"),
        format!("/c/{GROUP}/media"),
        format!("/c/{GROUP}/export/file?format=html"),
    ];
    let (expired, left_out) = ("Expired before it could be saved", "Not in the imported text");
    for path in &pages {
        let page = scene.open(path).await.body;
        assert!(page.contains(expired) && !page.contains(left_out), "{path}: {page}");
    }
    scene.stack.sql("UPDATE media SET reason = 'not_in_export'".to_owned()).await;
    for path in &pages {
        let page = scene.open(path).await.body;
        assert!(page.contains(left_out) && !page.contains(expired), "{path}: {page}");
    }
}
