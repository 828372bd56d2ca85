//! Permissions of pages: every page against everybody, and pages that tell nothing.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::bounds::Bounds;
use chatkeep_core::signing;
use chatkeep_store::{
    ActivityFilter, NewWebhook, OutboxEventKind, ReadAction, Reader, WebhookChange, WebhookMade,
    WebhookMaker,
};
use reqwest::StatusCode;

use super::routes::routes;
use super::{GROUP, Page, START, Scene, now, sign_in};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::at;

/// Pages of a channel.
const PAGES: [&str; 15] = [
    "",
    "?around=p003",
    "/m/p003",
    "/m/nothing",
    "/search?q=message",
    "/media",
    "/people",
    "/activity",
    "/activity?period=all",
    "/people/Umember",
    "/settings",
    "/export",
    "/export/file?format=csv",
    "/exports",
    "/rows?id=p003",
];
/// Addresses that its pages fetch.
const FILES: [&str; 3] = ["/news", "/picture", "/people/Umember/picture"];

/// Asserts that a page of the group is to that person the same as one of a channel that does not
/// exist, and returns it.
pub(super) async fn is_hidden(scene: &Scene, path: &str, user: &str) -> Page {
    let refused = scene.page(path, Some(user), "en").await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND, "{user} {path}");
    let elsewhere = GROUP.replace("console", "unknown");
    let unknown = scene.page(&path.replace(GROUP, &elsewhere), Some(user), "en").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{user} {path}");
    // But for its id.
    assert_eq!(refused.body, unknown.body.replace(&elsewhere, GROUP), "{user} {path}");
    for secret in ["讀書會", "number"] {
        assert!(!refused.body.contains(secret), "{user} {path}: {secret}");
    }
    refused
}

/// Asserts that a page of the group tells somebody who reads the group that it is for another role,
/// and leads to the conversation.
pub(super) async fn is_for_another_role(scene: &Scene, path: &str, user: &str, whose: &str) {
    let refused = scene.page(path, Some(user), "en").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{user} {path}");
    let back = format!(r#"<a class="button" href="/c/{GROUP}">"#);
    for part in [
        "Your role cannot open this page",
        &format!("Only {whose} of this chat can open this"),
        &back,
    ] {
        assert!(refused.body.contains(part), "{user} {path}: {part}: {}", refused.body);
    }
    assert!(!refused.body.contains("does not exist"), "{user} {path}: {}", refused.body);
}

/// Asserts that somebody who is not signed in is led from a page to the sign-in, and back.
pub(super) async fn asks_who_it_is(scene: &Scene, path: &str) {
    let signed_out = scene.page(path, None, "en").await;
    assert_eq!(signed_out.status, StatusCode::SEE_OTHER, "{path}");
    assert!(signed_out.location().starts_with("/console/sign-in?next=%2Fc%2FC0"), "{path}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_members_read_the_pages_of_a_channel() {
    let scene = Scene::new().await;
    for rest in PAGES.into_iter().chain(FILES) {
        let path = format!("/c/{GROUP}{rest}");
        asks_who_it_is(&scene, &path).await;
        for user in ["Ustranger", "Uguest", "Uleft"] {
            is_hidden(&scene, &path, user).await;
        }
    }
    for user in ["Umember", "Uadmin", "Uowner"] {
        for rest in PAGES {
            let path = format!("/c/{GROUP}{rest}");
            let shown = scene.page(&path, Some(user), "en").await;
            let missing = rest == "/m/nothing";
            let expected = if missing { StatusCode::NOT_FOUND } else { StatusCode::OK };
            assert_eq!(shown.status, expected, "{user} {path}");
            assert!(!missing || shown.body.contains("Message not found"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_for_whom_it_is_and_leads_back_to_this_service() {
    let scene = Scene::new().await;
    let form = [("action", "delete"), ("before", "2024-03-02"), ("confirmed", "yes")];
    let form = [&[("csrf", "csrf-Uowner")], &form[..]].concat();
    let begun = scene.post(&format!("/c/{GROUP}/settings"), "Uowner", &form, &[]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    let path = begun.location().split('?').next().unwrap();
    assert!(path.starts_with(&format!("/c/{GROUP}/jobs/job_")), "{path}");
    asks_who_it_is(&scene, path).await;
    for user in ["Ustranger", "Uguest", "Uleft", "Umember", "Uadmin"] {
        is_hidden(&scene, path, user).await;
        is_hidden(&scene, &format!("/c/{GROUP}/jobs/job_none"), user).await;
    }
    let none = scene.page(&format!("/c/{GROUP}/jobs/job_none"), Some("Uowner"), "en").await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    assert!(none.body.contains("Page not found"), "{}", none.body);
    let settings = format!("/c/{GROUP}/settings");
    let leads_to =
        |page: &str, to: &str| page.contains(&format!("<a class=\"button\" href=\"{to}\""));
    let back = scene.open(&format!("{path}?back={settings}")).await.body;
    assert!(leads_to(&back, &settings), "{back}");
    for back in ["https://evil.example", "//evil.example", "/%5Cevil.example", "/%09/evil", "x", ""]
    {
        let page = scene.open(&format!("{path}?back={back}")).await.body;
        assert!(leads_to(&page, &format!("/c/{GROUP}")), "{back}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_of_a_channel_is_in_one_of_the_lists() {
    for route in routes().into_iter().filter(|route| route.opens) {
        let Some(rest) = route.pattern.strip_prefix("/c/{channel}") else { continue };
        // Pages of the assistant, of jobs, of exports and of the activity log have lists of their own.
        if ["/assistant", "/jobs", "/exports/", "/activity-log"]
            .iter()
            .any(|own| rest.starts_with(own))
        {
            continue;
        }
        let path = route.path();
        let known = PAGES.into_iter().chain(FILES).map(|rest| format!("/c/{GROUP}{rest}"));
        let mut known = known.map(|path| path.split('?').next().unwrap().to_owned());
        assert!(known.any(|known| known == path), "{path} is for nobody in particular");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn home_lists_the_channels_of_its_visitor() {
    let scene = Scene::new().await;
    for user in ["Umember", "Uadmin", "Uowner"] {
        let home = scene.page("/console", Some(user), "en").await;
        assert!(home.status == StatusCode::OK && home.body.contains("週末讀書會"), "{user}");
    }
    for user in ["Ustranger", "Uguest", "Uleft"] {
        let home = scene.page("/console", Some(user), "en").await;
        assert_eq!(home.status, StatusCode::OK);
        assert!(home.body.contains("No chats yet") && !home.body.contains("週末讀書會"), "{user}");
    }
    // Signed in at a provider that knows nothing of the platform.
    sign_in(&scene.store, "corp:ann", "Ann", ("session-corp", "csrf-corp")).await;
    let home = scene.page("/console", Some("corp:ann"), "en").await;
    assert!(home.body.contains("corp:ann") && home.body.contains("not a LINE user ID"));
    let home = scene.page("/console", None, "en").await;
    assert_eq!(home.location(), "/console/sign-in?next=%2Fconsole");
    assert_eq!(scene.page("/", None, "en").await.location(), "/console");
}

/// Actions that each page is in the activity log with. A job, a rule, a key and a consent are not
/// there.
const READS: [(&str, &[ReadAction]); 51] = [
    ("/console", &[ReadAction::List]),
    ("/c/{}", &[ReadAction::List]),
    ("/c/{}?around=p003", &[ReadAction::List]),
    ("/c/{}/rows?id=p003", &[ReadAction::List]),
    ("/c/{}/m/p003", &[ReadAction::Open, ReadAction::List]),
    ("/c/{}/search?q=message", &[ReadAction::Search]),
    ("/c/{}/media", &[ReadAction::Media]),
    ("/c/{}/export/file?format=csv", &[ReadAction::Export]),
    ("/c/{}/assistant/unanswered", &[ReadAction::History]),
    ("/c/{}/assistant/switch?mode=fuzzy", &[ReadAction::History]),
    // Numbers alone.
    ("/c/{}/assistant", &[]),
    ("/c/{}/settings", &[]),
    ("/c/{}/export", &[]),
    ("/c/{}/exports", &[]),
    // There is none of that id.
    ("/c/{}/exports/exp_1/document", &[]),
    // Names.
    ("/c/{}/people", &[]),
    ("/c/{}/people/Umember", &[]),
    ("/c/{}/activity-log", &[]),
    // What is the visitor's own.
    ("/console/my-data", &[]),
    ("/console/my-data/file?format=json", &[]),
    ("/console/my-data/chats/{}", &[]),
    // That there is news, not what.
    ("/c/{}/news", &[]),
    // How much is written, and the progress of what is erased.
    ("/c/{}/activity", &[]),
    ("/c/{}/jobs/job_1", &[]),
    // Pictures that the platform shows of people and groups.
    ("/c/{}/picture", &[]),
    ("/c/{}/people/Umember/picture", &[]),
    // What admins wrote for the assistant, and a text that is tried.
    ("/c/{}/assistant/texts", &[]),
    ("/c/{}/assistant/rules", &[]),
    ("/c/{}/assistant/rules.csv", &[]),
    ("/c/{}/assistant/rules/new", &[]),
    ("/c/{}/assistant/rules/import", &[]),
    ("/c/{}/assistant/rules/qa_1_a", &[]),
    ("/c/{}/assistant/unanswered/rule?text=when", &[]),
    ("/c/{}/assistant/try?text=when", &[]),
    // The account, and the service.
    ("/console/sign-in", &[]),
    ("/console/operator/line", &[]),
    ("/console/account", &[]),
    ("/console/account/keys", &[]),
    ("/console/account/keys/new", &[]),
    ("/console/account/keys/key_1/replace", &[]),
    ("/console/account/keys/key_1/delete", &[]),
    ("/console/account/webhooks", &[]),
    ("/console/account/webhooks/new", &[]),
    ("/console/account/webhooks/wh_1", &[]),
    ("/console/account/webhooks/wh_1/edit", &[]),
    ("/console/account/webhooks/wh_1/secret", &[]),
    ("/console/account/webhooks/wh_1/delete", &[]),
    // What would be sent has the message in it.
    ("/console/account/webhooks/wh_1/deliveries/dlv_1", &[ReadAction::Open]),
    ("/console/account/mcp", &[]),
    ("/console/account/mcp/grant_1/end", &[]),
    ("/console/account/sessions", &[]),
];

#[test]
fn every_page_says_how_it_is_in_the_activity_log() {
    let known = READS.iter().map(|(page, _)| page.split('?').next().unwrap().replace("{}", GROUP));
    let known: BTreeSet<_> = known.collect();
    let opens = routes().into_iter().filter(|route| route.opens && route.pattern != "/");
    let unknown: Vec<_> =
        opens.map(|route| route.path()).filter(|path| !known.contains(path)).collect();
    assert_eq!(unknown, Vec::<String>::new(), "add to READS what these record");
}

/// Creates a webhook of the owner with a delivery about a message.
async fn delivery(scene: &Scene) {
    let (id, user, secret) = ("wh_1".into(), "Uowner".into(), signing::secret([1; 32]));
    let change = WebhookChange {
        url: "https://example.com/",
        description: "",
        events: &[OutboxEventKind::MessageReceived],
        channels: None,
        enabled: true,
    };
    let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
    let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
    assert_eq!(scene.store.webhooks().add_webhook(&new, at(1)).await.unwrap(), WebhookMade::Done);
    let delivered = format!(
        "INSERT INTO webhook_deliveries
             (webhook_id, event_id, type, at, channel_id, subject_id, created_at, status)
         VALUES ('wh_1', 'evt_1', 'message.received', {START}, '{GROUP}', 'p003', {}, 'delivered')",
        now().millis()
    );
    scene.stack.ground.sql(&delivered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_that_shows_messages_is_in_the_activity_log() {
    let scene = Scene::new().await;
    delivery(&scene).await;
    let mut expected: BTreeMap<&str, i64> = BTreeMap::new();
    for (page, actions) in READS {
        let path = page.replace("{}", GROUP);
        if path.ends_with("/news") {
            // It goes on for minutes.
            scene.begin(&path, "Uowner").await;
        } else {
            let status = scene.page(&path, Some("Uowner"), "en").await.status;
            let missing = status == StatusCode::NOT_FOUND || status.is_redirection();
            let is_shown = status == StatusCode::OK || actions.is_empty() && missing;
            assert!(is_shown, "{path}: {status}");
        }
        for action in actions {
            *expected.entry(action.name()).or_default() += 1;
        }
        scene.page(&path, Some("Uguest"), "en").await;
    }
    let all = ActivityFilter::default();
    until("the reads are written", DEADLINE, async || {
        let reads = scene.store.activity_log().reads(&GROUP.into(), &all, None, 100).await.unwrap();
        let reads = reads.into_iter().inspect(|read| {
            assert_eq!((read.by.user.as_str(), &read.reader), ("Uowner", &Reader::Person));
        });
        let mut found: BTreeMap<&str, i64> = BTreeMap::new();
        for read in reads {
            *found.entry(read.action.name()).or_default() += read.requests;
        }
        found == expected
    })
    .await;
}
