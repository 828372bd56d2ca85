//! The activity log of a channel: its owner sees who changed what and who read, and nobody else.

use chatkeep_core::assistant::{AssistantConfig, QaMode, RuleDraft};
use chatkeep_core::id::{ChannelId, KeyId, RuleId, UserId};
use chatkeep_core::role::{Role, Scope};
use chatkeep_store::{NewKey, ReadAction, Reader, RuleChange};
use reqwest::StatusCode;
use serde_json::json;

use super::journeys::{browser, in_every_language, is_fine_in_look};
use super::permissions::{is_for_another_role, is_hidden};
use super::{GROUP, Scene, now};
use crate::store::{at, unbounded_key};

fn path(query: &str) -> String {
    format!("/c/{GROUP}/activity-log{query}")
}

const DAY: i64 = 86_400_000;

/// Returns what a page has below its filters.
fn rows(page: &str) -> &str {
    let rows = page.split_once("</form>").map_or("", |(_, rest)| rest);
    rows.split_once("</form>").map_or(rows, |(_, rest)| rest)
}

/// Adds changes of each kind, and reads by a person and a key. Returns the time of the latest.
async fn busy(scene: &Scene) -> i64 {
    let latest = now().millis();
    let (channel, owner, store) = (ChannelId::from(GROUP), UserId::from("Uowner"), &scene.store);
    let change = |mut config: AssistantConfig, _| {
        (config.enabled, config.qa.mode) = (true, QaMode::Fuzzy);
        "歡迎 {name}，<b>請先看群規</b>".clone_into(&mut config.welcome.message);
        config.link.trigger_keywords = vec!["dashboard".to_owned(), "網頁".to_owned()];
        Ok::<_, ()>(config)
    };
    let times = latest - 2 * DAY;
    let assistant = store.assistant();
    assistant.change_assistant_config(&channel, &owner, at(times), change).await.unwrap().unwrap();
    let (id, draft) = (
        RuleId::from("qa_1"),
        RuleDraft {
            keywords: vec!["hours".to_owned(), "営業時間".to_owned()],
            question: "When are you open?".to_owned(),
            answer: "From 9:00 to 18:00".to_owned(),
            ..RuleDraft::default()
        },
    );
    let by = UserId::from("Uadmin");
    for (change, time) in [(RuleChange::Add(&id, &draft), 1), (RuleChange::Remove(&id), 2)] {
        assistant.change_rule(&channel, change, None, &by, at(times + time)).await.unwrap();
    }
    assistant.set_group_rules(&channel, "Be kind.", None, &by, at(times + 3)).await.unwrap();
    let guest = UserId::from("Uguest");
    store.members().set_role(&channel, &owner, &guest, Role::Member, at(times + 4)).await.unwrap();
    store.channels().set_retention(&channel, Some(30), &owner, at(times + 5)).await.unwrap();
    store
        .channels()
        .set_time_zone(&channel, Some("Asia/Taipei"), &by, at(times + 6))
        .await
        .unwrap();
    let id = KeyId::from("key_1");
    let key = NewKey {
        name: "Report <1>",
        scopes: &[Scope::ReadMessages],
        ..unbounded_key(&id, "ck_log", &by)
    };
    store.keys().add_key(&key, at(times)).await.unwrap();
    let reader = Reader::Key(id);
    for (reader, action, day) in [
        (&Reader::Person, ReadAction::List, 1),
        (&Reader::Person, ReadAction::List, 1),
        (&Reader::Person, ReadAction::Search, 1),
        (&reader, ReadAction::Export, 0),
    ] {
        store.activity_log().note_read(&channel, (&by, reader), action, at(latest - day * DAY));
    }
    store.activity_log().write_reads().await.unwrap();
    store.accounts().subscribe(&channel, &by, at(times + DAY)).await.unwrap();
    latest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_sees_changes_and_reads() {
    let scene = Scene::new().await;
    busy(&scene).await;
    let changes = scene.open(&path("")).await.body;
    for text in [
        "How it recognises a question",
        "Keyword",
        "Tolerant",
        "Words that show the link",
        "歡迎 {name}，&lt;b&gt;請先看群規&lt;/b&gt;",
        "dashboard, 網頁",
        "Added a rule",
        "Deleted a rule",
        "hours, 営業時間",
        "Be kind.",
        "Role of \u{2068}דנה לוי\u{2069}",
        "No access",
        "After 30 days",
        "Never",
        "Asia/Taipei",
        "Began to back up this chat",
        "Aiko",
        "林小美",
    ] {
        assert!(rows(&changes).contains(text), "{text}: {changes}");
    }
    let reads = scene.open(&path("?show=reads")).await.body;
    for text in [
        "Read messages",
        "2 times",
        "Searched messages",
        "once",
        "Key “Report &lt;1&gt;”",
        "Exported messages",
    ] {
        assert!(rows(&reads).contains(text), "{text}: {reads}");
    }
    let settings = scene.open(&format!("/c/{GROUP}/settings")).await.body;
    assert!(settings.contains(&path("")), "the settings lead there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_filtered_and_paged() {
    let scene = Scene::new().await;
    let latest = busy(&scene).await;
    // In the zone of the channel, and in UTC.
    let [day, today] = [8 * DAY / 24 - 2 * DAY, 0].map(|shift| {
        let day = at(latest + shift).to_string();
        day.split('T').next().unwrap().to_owned()
    });
    for (query, has, has_not) in [
        ("?kind=rule", "Added a rule", "Asia/Taipei"),
        ("?person=Uadmin", "Added a rule", "After 30 days"),
        (&format!("?day={day}"), "Added a rule", "Began to back up"),
        ("?show=reads&kind=export", "Report", "2 times"),
        ("?show=reads&person=Uowner", "Nothing of this kind", "Report"),
        (&format!("?show=reads&day={today}"), "Report", "2 times"),
        ("?kind=unknown&person=&day=&cursor=", "Added a rule", "Nothing of this kind"),
    ] {
        let page = scene.open(&path(query)).await.body;
        let rows = rows(&page);
        assert!(rows.contains(has) && !rows.contains(has_not), "{query}: {page}");
    }
    for query in ["?day=soon", "?day=%00", "?person=%00", "?cursor=x", "?show=all"] {
        let refused = scene.page(&path(query), Some("Uowner"), "en").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}");
    }
    let (channel, by) = (GROUP.into(), "Uadmin".into());
    for number in 0..60 {
        let text = format!("version {number}");
        let assistant = scene.store.assistant();
        assistant.set_group_rules(&channel, &text, None, &by, now()).await.unwrap();
    }
    let first = scene.open(&path("?kind=group_rules")).await.body;
    assert!(first.contains("version 59") && !first.contains("version 5<"), "{first}");
    let next = first.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let next = next.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    let second = scene.open(&next).await.body;
    assert!(second.contains("version 5<") && second.contains("Be kind."), "{next}: {second}");
    assert!(!second.contains("rel=\"next\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_sees_the_log() {
    let scene = Scene::new().await;
    for user in ["Uadmin", "Umember", "Uguest", "Uleft", "Ustranger"] {
        for query in ["", "?show=reads"] {
            match user {
                "Uadmin" | "Umember" => {
                    is_for_another_role(&scene, &path(query), user, "the owner").await;
                }
                _ => drop(is_hidden(&scene, &path(query), user).await),
            }
        }
        let settings = scene.page(&format!("/c/{GROUP}/settings"), Some(user), "en").await.body;
        assert!(!settings.contains("activity-log"), "{user}");
    }
    assert!(scene.page(&path(""), None, "en").await.location().contains("sign-in"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_fine_in_every_language() {
    let scene = Scene::new().await;
    busy(&scene).await;
    let browser = browser(&scene).await;
    in_every_language(&browser, async |look| {
        for query in ["", "?show=reads", "?kind=erasure", "?show=reads&kind=list&person=Uadmin"] {
            browser.open(&scene.url(&path(query))).await;
            is_fine_in_look(&browser, &format!("{query} {look}")).await;
        }
    })
    .await;
    assert_eq!(json!(browser.errors().await), json!([]), "the console is clean");
    browser.close().await;
}
