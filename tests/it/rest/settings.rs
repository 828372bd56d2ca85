//! `ETag` and `If-Match`.

use serde_json::{Value, json};

use super::{OWNER, Rest, message, send, under};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_content_has_the_same_tag() {
    let rest = Rest::start(&[]).await;
    rest.keep(&[message("m1", OWNER, "2026-01-02T03:04:05Z", "one")]).await;
    let paths = [
        "/me".to_owned(),
        // Contains the time of the request, which is no content.
        "/usage".to_owned(),
        "/channels".to_owned(),
        under(""),
        under("/members"),
        under("/backup/messages"),
        under("/backup/messages/m1"),
        under("/backup/coverage"),
        under("/assistant/config"),
    ];
    let mut tags = Vec::new();
    for path in &paths {
        let first = send(rest.get(path)).await;
        first.ok();
        let tag = first.header("etag").to_owned();
        assert!(tag.len() > 10 && tag.starts_with('"') && tag.ends_with('"'), "{path}: {tag}");
        assert_eq!(send(rest.get(path)).await.header("etag"), tag, "{path}");
        for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
            let again = send(rest.get(path).header("if-none-match", &known)).await;
            assert_eq!((again.status.as_u16(), again.body.len()), (304, 0), "{path} {known}");
            assert_eq!((again.header("etag"), again.header("x-api-version")), (&*tag, "v1"));
            assert_eq!(again.header("content-type"), "");
        }
        let other = send(rest.get(path).header("if-none-match", "\"x\"")).await;
        assert_eq!(other.status.as_u16(), 200);
        tags.push(tag);
    }
    assert_eq!(tags.iter().collect::<std::collections::BTreeSet<_>>().len(), tags.len());
    rest.keep(&[message("m2", OWNER, "2026-01-02T03:04:06Z", "two")]).await;
    for (path, changed) in [("/usage", true), (&under("/backup/messages"), true), ("/me", false)] {
        let index = paths.iter().position(|known| known == path).unwrap();
        let again = send(rest.get(path).header("if-none-match", &tags[index])).await;
        assert_eq!(again.status.as_u16(), if changed { 200 } else { 304 }, "{path}");
    }
    let refused = send(rest.get("/nothing")).await;
    assert_eq!(refused.header("etag"), "", "an error has none");
}

/// Path, a change, and the pointer to its result.
type Object = (String, fn(u32) -> Value, &'static str);

fn objects() -> [Object; 3] {
    [
        (
            under("/assistant/config"),
            |n| json!({"assistant": {"qa": {"cooldownSeconds": n}}}),
            "/assistant/qa/cooldownSeconds",
        ),
        (under("/assistant/welcome"), |n| json!({"message": n.to_string()}), "/messages/0/content"),
        (under("/assistant/rules"), |n| json!({"content": n.to_string()}), "/content"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_not_overwritten_unread() {
    let rest = Rest::start(&[]).await;
    for (path, body, place) in objects() {
        let shown = async || {
            let shown = send(rest.get(&path)).await.ok();
            shown.pointer(place).map(|v| v.to_string().trim_matches('"').to_owned())
        };
        let tag = send(rest.get(&path)).await.header("etag").to_owned();
        let first = send(rest.put(&path, &body(1)).header("if-match", &tag)).await;
        first.ok();
        let fresh = first.header("etag").to_owned();
        assert_eq!(send(rest.get(&path)).await.header("etag"), fresh, "{path}");
        for stale in [&tag, "\"v0-x\"", "\"other\""] {
            let stale = send(rest.put(&path, &body(2)).header("if-match", stale)).await;
            stale.refused(412, "precondition_failed");
        }
        assert_eq!(shown().await.as_deref(), Some("1"), "{path}");
        let lists = format!("\"other\", {fresh}");
        send(rest.put(&path, &body(3)).header("if-match", lists)).await.ok();
        send(rest.put(&path, &body(4)).header("if-match", &fresh))
            .await
            .refused(412, "precondition_failed");
        send(rest.put(&path, &body(5)).header("if-match", "*")).await.ok();
        send(rest.put(&path, &body(6))).await.ok();
        assert_eq!(shown().await.as_deref(), Some("6"), "{path}");
        // Of two who read the same, one writes.
        let tag = send(rest.get(&path)).await.header("etag").to_owned();
        let (one, two) = tokio::join!(
            send(rest.put(&path, &body(7)).header("if-match", &tag)),
            send(rest.put(&path, &body(8)).header("if-match", &tag)),
        );
        let mut both = [one.status.as_u16(), two.status.as_u16()];
        both.sort_unstable();
        assert_eq!(both, [200, 412], "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_not_overwritten_unread() {
    let rest = Rest::start(&[]).await;
    let path = under("/assistant/qa");
    let rule = |answer: &str| json!({"keywords": ["k"], "question": "", "answer": answer});
    let tag = async || send(rest.get(&path)).await.header("etag").to_owned();
    let empty = tag().await;
    let added = send(rest.post(&path, &rule("a")).header("if-match", &empty)).await;
    let id = added.ok()["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(added.header("etag"), tag().await);
    let one = format!("{path}/{id}");
    send(rest.post(&path, &rule("b")).header("if-match", &empty))
        .await
        .refused(412, "precondition_failed");
    send(rest.put(&one, &rule("b")).header("if-match", &empty))
        .await
        .refused(412, "precondition_failed");
    send(rest.delete(&one).header("if-match", &empty)).await.refused(412, "precondition_failed");
    assert_eq!(texts(&send(rest.get(&path)).await.ok()["items"]), ["a"]);
    let replaced = send(rest.put(&one, &rule("b")).header("if-match", tag().await)).await;
    assert_eq!(texts(&replaced.ok()["items"]), ["b"]);
    send(rest.delete(&one).header("if-match", replaced.header("etag"))).await.ok();
    assert_ne!(tag().await, empty, "as empty as before, but another version");
    send(rest.delete(&one).header("if-match", "*")).await.refused(404, "not_found");
}

fn texts(items: &Value) -> Vec<String> {
    super::texts(items, "answer")
}
