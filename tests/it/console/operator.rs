//! The page of operators about the set-up of the bots.

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, COOKIE};
use serde_json::Value;

use super::journeys::{browser, in_every_language, is_fine_in_look, menu_is_fine_in_look};
use super::{Page, Scene, secret};
use crate::harness::http;
use crate::stack::DEADLINE;

const PATH: &str = "/console/operator/line";

/// Starts the program with an operator.
async fn scene() -> Scene {
    Scene::with(&[("CHATKEEP_CONSOLE_OPERATORS", "Uowner".to_owned())]).await
}

/// Does the same, and tells the program its public address.
async fn at_its_address() -> Scene {
    let mut scene = scene().await;
    let ground = &mut scene.stack.ground;
    ground.settings.push(("CHATKEEP_API_BASE_URL", format!("http://{}", ground.address)));
    scene.stack.crash().await;
    scene
}

/// Opens a page as a browser does.
async fn opened(scene: &Scene, path: &str, user: Option<&str>) -> (StatusCode, String) {
    let mut request = http::client(DEADLINE).get(scene.url(path)).header(ACCEPT, "text/html");
    if let Some(user) = user {
        request = request.header(COOKIE, format!("chatkeep_session={}", secret(user)));
    }
    let page = request.send().await.unwrap();
    (page.status(), page.text().await.unwrap())
}

async fn set(scene: &Scene, user: &str, bot: &str) -> Page {
    let csrf = format!("csrf-{user}");
    scene.post(PATH, user, &[("csrf", &csrf), ("bot", bot)], &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_everybody_else_there_is_no_such_page() {
    let (scene, nobody) = (scene().await, Scene::new().await);
    let link = format!("href=\"{PATH}\"");
    for (scene, user) in [
        (&scene, Some("Umember")),
        (&scene, Some("Uadmin")),
        (&nobody, Some("Uowner")),
        (&nobody, None),
    ] {
        let calls = scene.stack.line.calls().len();
        let refused = opened(scene, PATH, user).await;
        assert_eq!(refused, opened(scene, "/console/operator/nothing", user).await, "{user:?}");
        assert_eq!(refused.0, StatusCode::NOT_FOUND);
        assert!(refused.1.contains("Page not found"), "{}", refused.1);
        assert_eq!(scene.stack.line.calls().len(), calls, "LINE is not asked for {user:?}");
        if let Some(user) = user {
            assert!(!scene.page("/console", Some(user), "en").await.body.contains(&link), "{user}");
            let refused = set(scene, user, "main").await;
            assert_eq!(refused.status, StatusCode::NOT_FOUND, "{user}");
        }
    }
    let signed_out = scene.page(PATH, None, "en").await;
    assert_eq!(signed_out.location(), "/console/sign-in?next=%2Fconsole%2Foperator%2Fline");
    assert!(scene.open("/console").await.body.contains(&link), "the menu leads an operator there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_what_is_wrong_and_sets_the_address() {
    let scene = at_its_address().await;
    let line = scene.stack.line.clone();
    let ours = format!("http://{}/webhook/line", scene.stack.ground.address);
    let button = "Set the webhook address";
    let fine = scene.open(PATH).await.body;
    assert!(fine.contains("a test webhook was accepted there") && !fine.contains(button), "{fine}");
    // Opening it again asks nobody: LINE makes 60 test webhooks an hour.
    let calls = line.calls().len();
    assert_eq!(scene.open(PATH).await.status, StatusCode::OK);
    assert_eq!(line.calls().len(), calls);
    line.set_webhook_url(Some("https://elsewhere.example.org/x".to_owned()));
    let again = scene.post(PATH, "Uowner", &[("csrf", "csrf-Uowner")], &[]).await;
    assert_eq!((again.status, again.location()), (StatusCode::SEE_OTHER, PATH));
    for (language, expected) in [
        (
            "en",
            format!("LINE sends webhooks to https://elsewhere.example.org/x; it must be {ours}."),
        ),
        ("zh-TW", format!("應改為 {ours}")),
        ("ja", format!("正しくは {ours} です")),
        ("th", format!("แต่ต้องเป็น {ours}")),
    ] {
        let page = scene.page(PATH, Some("Uowner"), language).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.body.contains(&expected), "{language}: {}", page.body);
    }
    let wrong = scene.open(PATH).await.body;
    assert!(wrong.contains(button) && wrong.contains(r#"<span class="tag warn">Wrong</span>"#));
    for forged in ["", "csrf-Umember"] {
        let form = [("csrf", forged), ("bot", "main")];
        let refused = scene.post(PATH, "Uowner", &form, &[]).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
    }
    assert_ne!(line.webhook_url(), Some(ours.clone()), "only an operator's own form sets it");
    assert_eq!(set(&scene, "Uowner", "nobody").await.status, StatusCode::BAD_REQUEST);
    let done = set(&scene, "Uowner", "main").await;
    assert_eq!(
        (done.status, done.location()),
        (StatusCode::SEE_OTHER, "/console/operator/line?done=saved",)
    );
    assert_eq!(line.webhook_url(), Some(ours));
    // It is right already.
    let again = set(&scene, "Uowner", "main").await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.body.contains("The webhook address was not changed."), "{}", again.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_fine_at_every_size_in_every_language() {
    let scene = at_its_address().await;
    let line = scene.stack.line.clone();
    let elsewhere = format!("https://{}.example.org/{}", "long".repeat(15), "path".repeat(30));
    line.set_webhook_url(Some(elsewhere));
    line.set_up(|account| (account.quota, account.pushed) = (Some(10), 10));
    let browser = browser(&scene).await;
    in_every_language(&browser, async |look| {
        browser.open(&scene.url(PATH)).await;
        is_fine_in_look(&browser, &format!("{PATH} {look}")).await;
        menu_is_fine_in_look(&browser, &format!("{PATH} {look}")).await;
    })
    .await;
    browser.open(&scene.url(PATH)).await;
    browser.follow_click("main form button").await;
    assert_eq!(browser.script("return document.querySelectorAll('main .done').length").await, 1);
    assert_eq!(browser.errors().await, Vec::<Value>::new());
    browser.close().await;
}
