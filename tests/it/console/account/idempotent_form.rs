//! Forms that make something: sent once more, as by reloading the page, they make nothing more.

use futures_util::future::join_all;
use reqwest::StatusCode;

use super::super::assistant::field;
use super::super::rules::{RULES, rules};
use super::super::{Page, Scene};
use super::{KEYS, READING, WEBHOOKS, link, shown};

/// Asserts that a form was known, and returns the page that it leads to.
async fn known(scene: &Scene, answer: Page, done: &str) -> String {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    assert!(answer.location().contains(&format!("done={done}")), "{}", answer.location());
    scene.open(answer.location()).await.body
}

/// Returns a form with the id that a page gives its own.
async fn with_id<'f>(
    scene: &Scene,
    path: &str,
    form: &[(&'f str, &'f str)],
) -> Vec<(&'f str, String)> {
    let page = scene.open(path).await.body;
    let id = field(&page, "form").to_owned();
    assert_eq!(id.len(), 32, "{page}");
    let form = form.iter().map(|(name, value)| (*name, (*value).to_owned()));
    form.chain([("form", id)]).collect()
}

async fn submit(scene: &Scene, path: &str, form: &[(&str, String)]) -> Page {
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    scene.submit(path, &form).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_made_and_replaced_once() {
    let scene = Scene::new().await;
    let new = format!("{KEYS}/new");
    let mut form = with_id(&scene, &new, &READING).await;
    // What is refused is not remembered.
    form[0].1 = String::new();
    for _ in 0..2 {
        let refused = submit(&scene, &new, &form).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.body);
    }
    form[0].1 = "My model".to_owned();
    let secret = shown(&submit(&scene, &new, &form).await);
    let list = known(&scene, submit(&scene, &new, &form).await, "shown-before").await;
    assert_eq!(list.matches("/replace\"").count(), 1, "{list}");
    assert!(list.contains("If you did not save it, replace it."), "{list}");
    assert!(!list.contains(&secret), "{list}");
    // Another key from the page that the browser went back to.
    form[0].1 = "Another".to_owned();
    shown(&submit(&scene, &new, &form).await);
    // The same form of another page is another key.
    let again = with_id(&scene, &new, &READING).await;
    shown(&submit(&scene, &new, &again).await);
    let list = scene.open(KEYS).await.body;
    assert_eq!(list.matches("/replace\"").count(), 3, "{list}");

    let replace = link(&list, KEYS, "/replace");
    let form = with_id(&scene, &replace, &[("overlap", "0")]).await;
    let next = shown(&submit(&scene, &replace, &form).await);
    let list = known(&scene, submit(&scene, &replace, &form).await, "shown-before").await;
    assert!(list.contains(&format!("ck_…{}", &next[next.len() - 4..])), "{list}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_and_its_secret_are_made_once() {
    let scene = Scene::new().await;
    let new = format!("{WEBHOOKS}/new");
    let form = [("url", "https://example.com/"), ("event", "member.left"), ("reach", "all")];
    let form = with_id(&scene, &new, &form).await;
    shown(&submit(&scene, &new, &form).await);
    let list = known(&scene, submit(&scene, &new, &form).await, "shown-before").await;
    assert_eq!(list.matches("<span class=\"first\">").count(), 1, "{list}");
    let webhook = link(&list, &format!("{WEBHOOKS}/"), "");
    let secret = format!("{webhook}/secret");
    let form = with_id(&scene, &secret, &[("overlap", "3600")]).await;
    let next = shown(&submit(&scene, &secret, &form).await);
    let page = known(&scene, submit(&scene, &secret, &form).await, "shown-before").await;
    assert!(page.contains(&format!("whsec_…{}", &next[next.len() - 4..])), "{page}");
    assert!(page.contains("(UTC)"), "the zone of the old secret's end: {page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_added_once() {
    let scene = Scene::new().await;
    let new = format!("{RULES}/new");
    let mut form = with_id(&scene, &new, &[("keywords", "wifi"), ("answer", "1234")]).await;
    let added = submit(&scene, &new, &form).await;
    known(&scene, added, "added").await;
    let list = known(&scene, submit(&scene, &new, &form).await, "added-before").await;
    assert!(list.contains("Nothing was added twice."), "{list}");
    assert_eq!(rules(&scene).await.len(), 1);
    form[0].1 = "hours".to_owned();
    known(&scene, submit(&scene, &new, &form).await, "added").await;
    assert_eq!(rules(&scene).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_equal_forms_at_the_same_moment_one_adds_and_the_others_are_told() {
    let scene = Scene::new().await;
    let new = format!("{RULES}/new");
    for round in 1..=3 {
        let keyword = format!("wifi {round}");
        let form = [("keywords", keyword.as_str()), ("answer", "1234")];
        let form = with_id(&scene, &new, &form).await;
        let answers = join_all((0..6).map(|_| submit(&scene, &new, &form))).await;
        let led = |done: &str| {
            let leads = |answer: &Page| {
                answer.status == StatusCode::SEE_OTHER
                    && answer.location().split('#').next().unwrap().ends_with(done)
            };
            answers.iter().filter(|answer| leads(answer)).count()
        };
        assert_eq!((led("done=added"), led("done=added-before")), (1, 5));
        assert_eq!(rules(&scene).await.len(), round);
    }
}
