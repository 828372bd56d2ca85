//! Webhooks: made and changed by clicking, tested, their log with filters, their secret shown once.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::role::Scope;
use chatkeep_core::signing;
use chatkeep_i18n::Language;
use chatkeep_store::{NewWebhook, OutboxEventKind, WebhookChange, WebhookMade, WebhookMaker};
use reqwest::StatusCode;

use super::super::assistant::field;
use super::super::{GROUP, START, Scene};
use super::{WEBHOOKS, between, link, shown};
use crate::harness::wait::until;
use crate::hooks::sink::{Reply, Sink};
use crate::stack::DEADLINE;
use crate::store::at;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_of_webhooks_are_refused_in_every_language() {
    let scene = Scene::new().await;
    let cases = [
        ("", "defect-empty"),
        ("nonsense", "defect-no-address"),
        ("http://example.com/", "defect-not-https"),
        ("https://me:pw@example.com/", "defect-credentials"),
        ("https://192.168.1.1/hook", "defect-private"),
    ];
    for language in Language::ALL {
        let header = [("accept-language", language.tag())];
        for (url, key) in cases {
            let form = [
                ("csrf", "csrf-Uowner"),
                ("url", url),
                ("event", "member.left"),
                ("reach", "all"),
                ("description", "kept"),
            ];
            let page = scene.post("/console/account/webhooks/new", "Uowner", &form, &header).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{key}");
            assert!(page.body.contains(&language.text(key)), "{key} {language:?}: {}", page.body);
            let kept = ["value=\"kept\"", "value=\"member.left\" checked"];
            assert!(kept.iter().all(|kept| page.body.contains(kept)), "{key}: {}", page.body);
        }
    }
    let none = [("url", "https://example.com/"), ("reach", "all")];
    let page = scene.submit("/console/account/webhooks/new", &none).await;
    assert!(page.body.contains("Please choose at least one event."), "{}", page.body);
    assert!(scene.open(WEBHOOKS).await.body.contains("No webhooks yet"));
}

/// Of two pages with a webhook's form, the second one is told what the first one saved.
async fn the_second_of_two_pages_is_told(scene: &Scene, webhook: &str, url: &str) {
    let edit = format!("{webhook}/edit");
    let form = async || field(&scene.open(&edit).await.body, "version").to_owned();
    let (first, second) = (form().await, form().await);
    let texts = |text, version| {
        [("url", url), ("event", "member.left"), ("reach", "all"), ("description", text), version]
    };
    scene.done(&edit, &texts("the first", ("version", &first))).await;
    let stale = scene.submit(&edit, &texts("the second", ("version", &second))).await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", stale.body);
    assert!(stale.body.contains("Somebody else changed this in the meantime."), "{}", stale.body);
    let present = between(&stale.body, "What is there now", "</section>");
    assert!(present.contains("the first") && !present.contains("the second"), "{present}");
    assert!(stale.body.contains("value=\"the second\""), "{}", stale.body);
    // Whether it is on is no part of the form.
    scene.done(webhook, &[("action", "off")]).await;
    scene.done(webhook, &[("action", "on")]).await;
    let version = field(&stale.body, "version").to_owned();
    scene.done(&edit, &texts("the second", ("version", &version))).await;
}

/// Of two pages that save the same version at once, one does, and the other one is told.
async fn one_of_two_at_once_is_saved(scene: &Scene, webhook: &str, url: &str) {
    let edit = format!("{webhook}/edit");
    for round in 0..5 {
        let version = field(&scene.open(&edit).await.body, "version").to_owned();
        let save = async |text: String| {
            let rest = [("reach", "all"), ("description", &*text), ("version", &*version)];
            let form = [&[("url", url), ("event", "member.left")], &rest[..]].concat();
            scene.submit(&edit, &form).await.status
        };
        let (one, other) = (save(format!("one {round}")), save(format!("other {round}")));
        let (one, other) = tokio::join!(one, other);
        let mut answers = [one, other];
        answers.sort();
        assert_eq!(answers, [StatusCode::SEE_OTHER, StatusCode::UNPROCESSABLE_ENTITY]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_is_made_tested_and_looked_after() {
    let scene = Scene::with(&[("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned())]).await;
    let sink = Sink::start().await;
    sink.answer("/hook", Reply::Echo);
    let url = sink.url("/hook");
    let form =
        [("url", &*url), ("description", "My program"), ("event", "member.left"), ("reach", "all")];
    let made = shown(&scene.submit("/console/account/webhooks/new", &form).await);
    assert!(made.starts_with("whsec_"), "{made}");
    let list = scene.open(WEBHOOKS).await.body;
    assert!(list.contains("My program") && !list.contains(&made));
    let webhook = link(&list, &format!("{WEBHOOKS}/"), "");

    // A test event, its delivery, and once more.
    let page = scene.done(&webhook, &[("action", "test")]).await.body;
    assert!(page.contains("It is being sent."), "{page}");
    until("the test event", DEADLINE, async || sink.at("/hook").len() == 1).await;
    until("its delivery", DEADLINE, async || {
        scene.open(&format!("{webhook}?status=delivered")).await.body.contains("HTTP 200")
    })
    .await;
    let log = scene.open(&webhook).await.body;
    let delivery = link(&log, &format!("{webhook}/deliveries/"), "");
    let page = scene.open(&delivery).await.body;
    for text in ["HTTP 200", "webhook.test", "Delivered", sink.at("/hook")[0].id()] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let again = scene.done(&delivery, &[]).await.body;
    assert!(again.contains("It is being sent."));
    until("the second delivery", DEADLINE, async || sink.at("/hook").len() == 2).await;

    // Filters.
    for (query, found) in [
        ("event=webhook.test", true),
        ("event=member.left", false),
        ("status=failed", false),
        ("from=2024-01-01&to=2099-01-01", true),
        ("from=2099-01-01", false),
        ("to=2024-01-01", false),
    ] {
        let page = scene.open(&format!("{webhook}?{query}")).await.body;
        assert_eq!(page.contains("/deliveries/"), found, "{query}");
        assert_eq!(page.contains("Nothing matches these filters."), !found, "{query}");
    }

    // Off: nothing can be sent; on again.
    let off = scene.done(&webhook, &[("action", "off")]).await.body;
    assert!(off.contains("value=\"on\"") && !off.contains("value=\"test\""), "{off}");
    for (path, form) in [(&webhook, &[("action", "test")][..]), (&delivery, &[][..])] {
        let refused = scene.submit(path, form).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        assert!(refused.body.contains("This webhook is turned off. Turn it on first."), "{path}");
    }
    scene.done(&webhook, &[("action", "on")]).await;

    // Its properties, and its secret.
    let edit = format!("{webhook}/edit");
    assert!(scene.open(&edit).await.body.contains("value=\"member.left\" checked"));
    let form = [("url", &*url), ("event", "member.joined"), ("reach", "chosen"), ("chat", GROUP)];
    let saved = scene.done(&edit, &form).await.body;
    let details = between(&saved, "<dl class=\"details\"", "</dl>");
    assert!(saved.contains("Saved.") && details.contains("Somebody joined a chat"), "{saved}");
    assert!(!details.contains("Somebody left a chat"), "{details}");
    assert!(saved.contains("週末讀書會"), "{saved}");
    the_second_of_two_pages_is_told(&scene, &webhook, &url).await;
    one_of_two_at_once_is_saved(&scene, &webhook, &url).await;
    let next = shown(&scene.submit(&format!("{webhook}/secret"), &[("overlap", "3600")]).await);
    assert_ne!(next, made);
    let refused = scene.submit(&format!("{webhook}/secret"), &[("overlap", "3600")]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("only two can be at the same time"), "{}", refused.body);

    // Gone, after a question.
    let delete = format!("{webhook}/delete");
    assert!(scene.open(&delete).await.body.contains("Delete this webhook?"));
    scene.submit(&delete, &[]).await;
    assert_eq!(scene.page(&webhook, Some("Uowner"), "en").await.status, StatusCode::OK);
    let list = scene.done(&delete, &[("confirmed", "yes")]).await.body;
    assert!(list.contains("No webhooks yet"), "{list}");
    let log = scene.log();
    assert!(!log.contains(&made) && !log.contains(&next), "the log has a secret");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bounds_of_the_key_that_made_a_webhook_are_told_and_kept() {
    let scene = Scene::new().await;
    let (id, user, secret) = ("wh_1".into(), "Uowner".into(), signing::secret([1; 32]));
    let change = WebhookChange {
        url: "https://example.com/",
        description: "",
        events: &[OutboxEventKind::MemberLeft],
        channels: None,
        enabled: true,
    };
    let bounds = Bounds {
        scopes: vec![Scope::ReadMembers],
        channels: Some(vec![GROUP.into()]),
        not_before: Some(at(START)),
        expires_at: Some(at(4_102_444_800_000)),
        pseudonyms: None,
    };
    let maker = WebhookMaker { key: None, bounds: &bounds };
    let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
    assert_eq!(scene.store.webhooks().add_webhook(&new, at(1)).await.unwrap(), WebhookMade::Done);
    let (path, edit) = (format!("{WEBHOOKS}/wh_1"), format!("{WEBHOOKS}/wh_1/edit"));
    let (card, form) = (scene.open(&path).await.body, scene.open(&edit).await.body);
    for page in [&card, &form] {
        for text in ["limited by the key that made it", "messages since", "works until"] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
    assert!(card.contains("週末讀書會") && !card.contains("All my chats"), "{card}");
    assert!(form.contains("value=\"member.left\" checked"), "{form}");
    assert!(!form.contains("value=\"message.received\"") && !form.contains("value=\"usage."));
    for language in Language::ALL {
        let header = [("accept-language", language.tag())];
        let form = [
            ("csrf", "csrf-Uowner"),
            ("url", "https://example.com/typed"),
            ("event", "message.received"),
            ("reach", "all"),
        ];
        let page = scene.post(&edit, "Uowner", &form, &header).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{language:?}");
        for text in [&*language.text("form-beyond-bounds"), "https://example.com/typed"] {
            assert!(page.body.contains(text), "{text}: {}", page.body);
        }
    }
}
