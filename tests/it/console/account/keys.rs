//! Keys: made with scopes, chats and days by clicking, shown once, replaced and deleted.

use chatkeep_i18n::Language;
use reqwest::StatusCode;

use super::super::{GROUP, Scene};
use super::{KEYS, MCP, PAGES, READING, link, shown};
use crate::harness::http;
use crate::stack::DEADLINE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_made_by_clicking_and_shown_once() {
    let scene = Scene::new().await;
    let made = scene.submit("/console/account/keys/new", &READING).await;
    let secret = shown(&made);
    let http = http::client(DEADLINE);
    let asked = async |secret: &str, path: &str| {
        let answer = http.get(scene.url(path)).bearer_auth(secret).send().await.unwrap();
        answer.status()
    };
    let messages = format!("/api/v1/channels/{GROUP}/backup/messages");
    assert_eq!(asked(&secret, &messages).await, StatusCode::OK);
    assert_eq!(asked(&secret, "/api/webhooks").await, StatusCode::FORBIDDEN);

    let list = scene.open(KEYS).await.body;
    assert!(list.contains("My model") && list.contains("Read, search and export messages"));
    assert!(list.contains(&format!("ck_…{}", &secret[secret.len() - 4..])), "{list}");

    // A replaced key may stay valid for a while, or not at all.
    let replace = link(&list, KEYS, "/replace");
    assert!(scene.open(&replace).await.body.contains("Replace the key “My model”?"));
    let replaced = scene.submit(&replace, &[("overlap", "0")]).await;
    let next = shown(&replaced);
    assert!(replaced.body.contains("The old key no longer works."), "{}", replaced.body);
    assert_eq!(asked(&secret, &messages).await, StatusCode::UNAUTHORIZED);
    assert_eq!(asked(&next, &messages).await, StatusCode::OK);
    let too_long = scene.submit(&replace, &[("overlap", "99999999")]).await;
    assert_ne!(too_long.status, StatusCode::OK);

    // Deleting asks first.
    let list = scene.open(KEYS).await.body;
    let delete = link(&list, KEYS, "/delete");
    let question = scene.submit(&delete, &[]).await;
    assert!(question.body.contains("Delete the key “My model”?"), "{}", question.body);
    let mut list = list;
    while list.contains("/delete\"") {
        let delete = link(&list, KEYS, "/delete");
        list = scene.done(&delete, &[("confirmed", "yes")]).await.body;
        assert!(list.contains("Deleted."));
    }
    assert_eq!(asked(&next, &messages).await, StatusCode::UNAUTHORIZED);
    assert_eq!(scene.page(&delete, Some("Uowner"), "en").await.status, StatusCode::NOT_FOUND);

    for path in PAGES.into_iter().chain([MCP]) {
        let page = scene.page(path, Some("Uowner"), "en").await.body;
        assert!(!page.contains(&secret) && !page.contains(&next), "{path} shows a secret");
    }
    let log = scene.log();
    assert!(!log.contains(&secret) && !log.contains(&next), "the log has a secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_has_the_chats_and_days_that_were_chosen() {
    let scene = Scene::new().await;
    let form = [
        ("name", "Narrow <b>"),
        ("scope", "read:messages"),
        ("reach", "chosen"),
        ("chat", GROUP),
        ("since", "2024-03-02"),
        ("end", "2099-12-31"),
    ];
    let secret = shown(&scene.submit("/console/account/keys/new", &form).await);
    let list = scene.open(KEYS).await.body;
    for text in
        ["Narrow &lt;b&gt;", "週末讀書會", "messages since 2\u{a0}Mar 2024", "31\u{a0}Dec 2099"]
    {
        assert!(list.contains(text), "{text}: {list}");
    }
    let messages = format!("/api/v1/channels/{GROUP}/backup/messages?order=asc&limit=1");
    let asked = http::client(DEADLINE).get(scene.url(&messages)).bearer_auth(&secret);
    let first: serde_json::Value = asked.send().await.unwrap().json().await.unwrap();
    assert_eq!(first["messages"][0]["id"], "p065", "{first}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_key_is_said_beside_its_field_in_every_language() {
    let scene = Scene::new().await;
    let named = ("name", "名前 & <co>");
    let scope = ("scope", "read:media");
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[("name", " "), scope, ("reach", "all")], "defect-empty"),
        (&[named, ("reach", "all")], "defect-no-scope"),
        (&[named, scope, ("reach", "all"), ("end", "2020-01-01")], "defect-past"),
        (&[named, scope, ("reach", "all"), ("end", "soon")], "defect-no-day"),
        (&[named, scope, ("reach", "all"), ("since", "2026-02-31")], "defect-no-day"),
        (&[named, scope, ("reach", "chosen")], "reach-none-chosen"),
    ];
    for language in Language::ALL {
        let header = [("accept-language", language.tag())];
        for (form, key) in cases {
            let form: Vec<_> =
                [("csrf", "csrf-Uowner")].into_iter().chain(form.iter().copied()).collect();
            let page = scene.post("/console/account/keys/new", "Uowner", &form, &header).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{key}");
            assert!(page.body.contains(&language.text(key)), "{key} {language:?}: {}", page.body);
            if form.contains(&named) {
                assert!(page.body.contains("value=\"名前 &amp; &lt;co&gt;\""), "{key}: the name");
            }
            if form.contains(&scope) {
                assert!(page.body.contains("value=\"read:media\" checked"), "{key}: the scope");
            }
        }
    }
    assert!(scene.open(KEYS).await.body.contains("No keys yet"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_keys_are_on_one_page_the_newest_first_and_ended_ones_last() {
    let scene = Scene::new().await;
    shown(&scene.submit("/console/account/keys/new", &READING).await);
    let older = "
        INSERT INTO api_keys (key_id, hash, mask, user_id, name, scopes, created_at, expires_at)
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 120)
        SELECT 'key_' || n, 'hash' || n, 'mask', user_id, 'older ' || n, scopes, n,
               CASE WHEN n % 2 = 0 THEN n + 1 END
        FROM numbers, api_keys WHERE name = 'My model'";
    scene.stack.sql(older.to_owned()).await;
    let page = scene.open(KEYS).await.body;
    let names =
        ["My model", "older 119", "older 117", "older 1", "older 120", "older 118", "older 2"];
    let places = names.map(|name| page.find(&format!(">{name}<")));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}: {page}");
}
