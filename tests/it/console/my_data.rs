//! One's own data: seeing it, saving it, having it erased, and opting out of the backup.

use chatkeep_core::message::Content;
use chatkeep_store::{JobKind, NewChannelJob};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::journeys::{browser_as, in_every_language, is_fine_in_look};
use super::{GROUP, Page, Scene, now, of};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::at;

const LIST: &str = "/console/my-data";

fn chat() -> String {
    format!("{LIST}/chats/{GROUP}")
}

async fn send(scene: &Scene, path: &str, user: &str, form: &[(&str, &str)]) -> Page {
    let csrf = format!("csrf-{user}");
    let mut all = vec![("csrf", csrf.as_str())];
    all.extend(form);
    scene.post(path, user, &all, &[]).await
}

/// Stores a message of that person, of now.
async fn say(scene: &Scene, user: &str, id: &str) {
    let (sent_at, text) = (now(), Content::text(format!("said as {id}")));
    let message = of(user, id, sent_at.millis(), &text);
    scene.store.messages().ingest(&[message], sent_at).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_sees_what_is_kept_of_them_also_where_they_may_not_read() {
    let scene = Scene::new().await;
    for (user, told) in [
        ("Uowner", "48 messages"),
        ("Umember", "46 messages"),
        ("Uguest", "1 message"),
        ("Uleft", "No messages"),
        ("Uerased", "No messages"),
    ] {
        let list = scene.page(LIST, Some(user), "en").await;
        assert_eq!(list.status, StatusCode::OK, "{user}");
        assert!(
            list.body.contains("週末讀書會") && list.body.contains(told),
            "{user}: {}",
            list.body
        );
        let one = scene.page(&chat(), Some(user), "en").await;
        assert_eq!(one.status, StatusCode::OK, "{user}");
        let reads = ["Uowner", "Umember", "Uerased"].contains(&user);
        assert_eq!(one.body.contains("Open the chat"), reads, "{user}");
        assert_eq!(one.body.contains("Erase for good"), !told.starts_with("No"), "{user}");
        assert!(!one.body.contains("message number"), "numbers alone");
    }
    let nothing = scene.page(LIST, Some("Ustranger"), "en").await.body;
    assert!(nothing.contains("Nothing is kept about you") && !nothing.contains("週末讀書會"));
    let elsewhere = chat().replace(GROUP, "C0unknown");
    for (path, user) in
        [(chat(), "Ustranger"), (elsewhere, "Uowner"), (format!("{LIST}/chats/%00"), "Uowner")]
    {
        let refused = scene.page(&path, Some(user), "en").await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{user} {path}");
        assert!(!refused.body.contains("週末讀書會"));
        let refused = send(&scene, &path, user, &[("action", "out")]).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{user} {path}");
    }
    for path in [LIST.to_owned(), chat(), format!("{LIST}/file?format=json")] {
        let signed_out = scene.page(&path, None, "en").await;
        assert!(signed_out.location().starts_with("/console/sign-in?next=%2Fconsole%2Fmy-data"));
    }
    let home = scene.page("/console", Some("Umember"), "en").await.body;
    assert!(home.contains(r#"href="/console/my-data""#), "the menu leads there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opting_out_holds_until_opting_in() {
    let scene = Scene::new().await;
    let kept = async |id: &str| {
        say(&scene, "Umember", id).await;
        scene.store.messages().message(&GROUP.into(), &id.into()).await.unwrap().is_some()
    };
    for path in [chat(), LIST.to_owned()] {
        assert!(kept(&format!("before {path}")).await);
        let out = send(&scene, &path, "Umember", &[("action", "out")]).await;
        assert_eq!(out.status, StatusCode::SEE_OTHER, "{}", out.body);
        assert!(!kept(&format!("out {path}")).await, "{path}");
        let told = scene.page(&path, Some("Umember"), "en").await.body;
        assert!(told.contains("Keep my messages again"), "{path}: {told}");
        assert!(scene.page(LIST, Some("Umember"), "en").await.body.contains("Not kept"));
        let back = send(&scene, &path, "Umember", &[("action", "in")]).await;
        assert_eq!(back.status, StatusCode::SEE_OTHER);
        assert!(kept(&format!("in {path}")).await, "{path}");
    }
    // The others see how many are missing, in the conversation and in the settings.
    for path in [format!("/c/{GROUP}"), format!("/c/{GROUP}/settings")] {
        let shown = scene.open(&path).await.body;
        assert!(shown.contains("Messages of people who asked for them not to be kept"), "{path}");
    }
    // By day: two, if midnight came between them.
    let gaps = scene.store.messages().gaps(&GROUP.into(), None, None).await.unwrap();
    let missing = gaps.iter().filter(|gap| gap.reason.name() == "opted_out");
    assert_eq!(missing.map(|gap| gap.skipped.unwrap_or_default()).sum::<i64>(), 2, "{gaps:?}");
    let unknown = send(&scene, &chat(), "Umember", &[("action", "burn")]).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    let foreign = [("csrf", "csrf-Uowner"), ("action", "out")];
    for path in [chat(), LIST.to_owned()] {
        let refused = scene.post(&path, "Umember", &foreign, &[]).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasing_takes_the_name_and_is_told() {
    let scene = Scene::new().await;
    for (path, user, typed) in
        [(chat(), "Umember", "週末讀書會 readers"), (LIST.to_owned(), "Uadmin", " aiko")]
    {
        let wrong = send(&scene, &path, user, &[("action", "erase"), ("typed", "no <b>")]).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.body.contains("That is not the name"), "{}", wrong.body);
        assert!(wrong.body.contains(r#"value="no &lt;b&gt;""#), "it stays: {}", wrong.body);
        let begun = send(&scene, &path, user, &[("action", "erase"), ("typed", typed)]).await;
        assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
        let told = begun.location().to_owned();
        until("the erasure", DEADLINE, async || {
            let page = scene.page(&told, Some(user), "en").await.body;
            let list = scene.page(LIST, Some(user), "en").await.body;
            (page.contains("messages were deleted") || page.contains("are being erased"))
                && list.contains("No messages")
        })
        .await;
    }
    let of_others = scene.page(LIST, Some("Uowner"), "en").await.body;
    assert!(of_others.contains("48 messages"), "those of others stay");
    let job = format!("{}?job=job_unknown", chat());
    assert_eq!(scene.page(&job, Some("Umember"), "en").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_erasure_is_told_instead_of_what_it_erases() {
    let scene = Scene::new().await;
    let size = "<dt>Size</dt>";
    let before = scene.page(&chat(), Some("Umember"), "en").await.body;
    assert!(before.contains(size) && !before.contains("http-equiv"), "{before}");
    let (channel, by, kind) = (GROUP.into(), "Umember".into(), JobKind::Erasure("Umember".into()));
    let (channel, by, kind, sent_before) = (&channel, &by, &kind, now());
    let new = NewChannelJob { id: "job_1", channel, kind, sent_before, by, worker: Some("none") };
    let (job, _) = scene.store.jobs().begin_job(&new, now()).await.unwrap();
    let later = at(now().millis() + 86_400_000);
    scene.store.jobs().release_job(&job, "none", later).await.unwrap();
    for path in [chat(), format!("{}?job=job_1", chat())] {
        let page = scene.page(&path, Some("Umember"), "en").await.body;
        assert!(page.contains("<progress") && page.contains("http-equiv=\"refresh\""), "{page}");
        assert!(!page.contains(size) && !page.contains("Erase for good"), "{page}");
        assert!(page.contains("<dd>46</dd>"), "the number is counted anyway: {page}");
    }
    assert!(scene.page(&chat(), Some("Uowner"), "en").await.body.contains(size), "of others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_opted_out_of_all_chats_is_told_which_are_exceptions() {
    let scene = Scene::new().await;
    let list = async || scene.page(LIST, Some("Umember"), "en").await.body;
    let (all, exceptions) = ("none of your messages to be kept in any chat.", "are exceptions");
    send(&scene, LIST, "Umember", &[("action", "out")]).await;
    let page = list().await;
    assert!(page.contains(all) && !page.contains(exceptions), "{page}");
    send(&scene, &chat(), "Umember", &[("action", "in")]).await;
    let page = list().await;
    assert!(page.contains(exceptions) && !page.contains("class=\"tag\">Not kept"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_the_file_have_their_addresses() {
    // Over TLS, the cookie would have another name.
    let base = "http://localhost:8080";
    let scene = Scene::with(&[("CHATKEEP_API_BASE_URL", base.to_owned())]).await;
    let file = async |format: &str| {
        let path = format!("{LIST}/file?format={format}");
        scene.page(&path, Some("Uguest"), "en").await.body
    };
    let json: Value = serde_json::from_str(&file("json").await).unwrap();
    let address = format!("{base}/c/{GROUP}/m/hebrew");
    assert_eq!(json["channels"][0]["messages"][0]["url"], address);
    assert!(file("html").await.contains(&address));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_has_what_is_ones_own_alone() {
    let scene = Scene::new().await;
    let file = scene.page(&format!("{LIST}/file?format=json"), Some("Uguest"), "en").await;
    assert_eq!(file.headers["content-type"], "application/json");
    assert_eq!(file.headers["content-disposition"], "attachment; filename=\"my-data.json\"");
    let json: Value = serde_json::from_str(&file.body).unwrap();
    assert_eq!(json["channels"][0]["messages"].as_array().unwrap().len(), 1);
    assert_eq!(json["channels"][0]["messages"][0]["id"], "hebrew");
    let html = scene.page(&format!("{LIST}/file?format=html"), Some("Umember"), "en").await;
    assert!(html.body.contains("message number 2") && !html.body.contains("message number 3<"));
    assert!(
        !html.body.contains("an export into a folder"),
        "nobody can make one of their own data"
    );
    let wrong = scene.page(&format!("{LIST}/file?format=exe"), Some("Umember"), "en").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ones_own_data_is_fine_in_every_language() {
    let scene = Scene::new().await;
    let browser = browser_as(&scene, "Umember").await;
    for out in [false, true] {
        if out {
            send(&scene, LIST, "Umember", &[("action", "out")]).await;
            let missed = of("Umember", "missed", now().millis(), &Content::text("missed"));
            scene.store.messages().ingest(&[missed], now()).await.unwrap();
        }
        in_every_language(&browser, async |look| {
            for path in [LIST.to_owned(), chat(), format!("/c/{GROUP}")] {
                browser.open(&scene.url(&path)).await;
                is_fine_in_look(&browser, &format!("{path} {look} out: {out}")).await;
            }
        })
        .await;
    }
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}
