//! Exports in the background, in a browser: begun, ready, saved, deleted; for their owner alone.

use reqwest::StatusCode;

use super::permissions::{asks_who_it_is, is_hidden};
use super::{GROUP, Scene};
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Begins an export of a person; returns the page of their exports.
async fn begun(scene: &Scene, user: &str, form: &[(&str, &str)]) -> String {
    let token = format!("csrf-{user}");
    let form = [&[("csrf", token.as_str())], form].concat();
    let begun = scene.post(&format!("/c/{GROUP}/export"), user, &form, &[]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    assert_eq!(begun.location(), format!("/c/{GROUP}/exports"));
    begun.location().to_owned()
}

/// Returns the path of the first document once it is ready.
async fn ready(scene: &Scene, list: &str, user: &str) -> String {
    let mut path = String::new();
    until("the export is ready", DEADLINE, async || {
        let page = scene.page(list, Some(user), "en").await;
        assert_eq!(page.status, StatusCode::OK);
        let document = page.body.split('"').find(|part| part.ends_with("/document"));
        assert_eq!(
            document.is_none(),
            page.body.contains("http-equiv=\"refresh\""),
            "{}",
            page.body
        );
        document.unwrap_or_default().clone_into(&mut path);
        !path.is_empty()
    })
    .await;
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_prepared_saved_and_deleted() {
    let scene = Scene::new().await;
    let list = begun(&scene, "Umember", &[("format", "csv"), ("from", "2024-01-01")]).await;
    let path = ready(&scene, &list, "Umember").await;
    let page = scene.page(&list, Some("Umember"), "en").await.body;
    assert!(page.contains("Table") && page.contains("Available until"), "{page}");
    let file = scene.page(&path, Some("Umember"), "en").await;
    assert_eq!(file.status, StatusCode::OK);
    assert_eq!(file.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(file.headers["accept-ranges"], "bytes");
    assert_eq!(file.headers["x-content-type-options"], "nosniff");
    let streamed = format!("/c/{GROUP}/export/file?format=csv&from=2024-01-01");
    assert_eq!(file.body, scene.page(&streamed, Some("Umember"), "en").await.body);
    let id = path.split('/').rev().nth(1).unwrap();
    let form = [("csrf", "csrf-Umember"), ("export", id)];
    let deleted = scene.post(&list, "Umember", &form, &[]).await;
    assert_eq!(deleted.status, StatusCode::SEE_OTHER);
    // A second press of the button is no error.
    assert_eq!(scene.post(&list, "Umember", &form, &[]).await.status, StatusCode::SEE_OTHER);
    let page = scene.page(&list, Some("Umember"), "en").await.body;
    assert!(page.contains("No prepared exports yet"), "{page}");
    let wrong = [("csrf", "csrf-Umember"), ("from", "2024-03-05"), ("to", "2024-03-01")];
    let refused = scene.post(&format!("/c/{GROUP}/export"), "Umember", &wrong, &[]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.body.contains("The last day is before the first day"), "{}", refused.body);
    let unknown = [("csrf", "csrf-Umember"), ("format", "exe")];
    let refused = scene.post(&format!("/c/{GROUP}/export"), "Umember", &unknown, &[]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let page = scene.page(&list, Some("Umember"), "en").await.body;
    assert!(page.contains("No prepared exports yet"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_for_its_owner_alone() {
    let scene = Scene::new().await;
    let list = begun(&scene, "Umember", &[("format", "html")]).await;
    let path = ready(&scene, &list, "Umember").await;
    asks_who_it_is(&scene, &path).await;
    for user in ["Ustranger", "Uguest", "Uleft"] {
        is_hidden(&scene, &path, user).await;
    }
    for user in ["Uadmin", "Uowner"] {
        assert_eq!(scene.page(&path, Some(user), "en").await.status, StatusCode::NOT_FOUND);
        let others = scene.page(&list, Some(user), "en").await.body;
        assert!(others.contains("No prepared exports yet"), "{user}: {others}");
    }
    let form = [("csrf", "csrf-Uowner"), ("export", path.split('/').rev().nth(1).unwrap())];
    scene.post(&list, "Uowner", &form, &[]).await;
    let kept = scene.page(&path, Some("Umember"), "en").await;
    assert_eq!(kept.status, StatusCode::OK, "nobody else deletes it");
    assert!(kept.body.contains("<article "), "{}", kept.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_that_was_given_up_says_why() {
    let scene = Scene::new().await;
    let list = begun(&scene, "Umember", &[("format", "csv")]).await;
    ready(&scene, &list, "Umember").await;
    for (state, text) in [
        ("interruptions = 5", "so it stopped trying"),
        ("interruptions = 0", "It could not be prepared"),
    ] {
        scene.stack.sql(format!("UPDATE exports SET status = 'failed', {state}")).await;
        let page = scene.page(&list, Some("Umember"), "en").await.body;
        assert!(page.contains(text), "{page}");
    }
}
