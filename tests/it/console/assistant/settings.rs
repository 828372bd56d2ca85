//! The assistant's settings and texts: forms, versions, the preview, permissions.

use super::super::permissions::{asks_who_it_is, is_for_another_role, is_hidden};
use super::super::rules::SAME_ORIGIN;
use super::super::{GROUP, Scene, now, secret};
use super::{field, path, scene};
use chatkeep_core::assistant::{AssistantConfig, Strictness};
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_store::{
    Claim, Exchange, NewSession, PresenceEvidenceKind, ReplyFailure, ReplyIntent, ReplySource,
    SignedIn,
};
use reqwest::StatusCode;
use serde_json::json;

use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::item;

/// Fields of the overview's form.
const OVERVIEW: [(&str, &str); 9] = [
    ("csrf", "csrf-Uowner"),
    ("enabled", "yes"),
    ("qa", "yes"),
    ("rules", "yes"),
    ("mode", "keyword"),
    ("match", "contains"),
    ("scope", "addressed"),
    ("cooldown", "60"),
    ("strictness", "careful"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_were_not_given_are_told_with_their_reasons() {
    let scene = scene().await;
    let told = "replies could not be sent in the last 30 days";
    assert!(!scene.open(&path("")).await.body.contains(told));
    for (event, reason) in [
        ("e1", ReplyFailureReason::ExpiredToken),
        ("e2", ReplyFailureReason::Quota),
        ("e3", ReplyFailureReason::Quota),
    ] {
        let event = event.into();
        let intent = ReplyIntent {
            event: &event,
            channel: &GROUP.into(),
            source: ReplySource::NoMatch,
            rule: None,
            message: None,
            cooldown_ms: 0,
            at: now(),
        };
        let store = scene.store.assistant();
        assert_eq!(store.claim_reply(&intent, now()).await.unwrap(), Claim::Granted);
        let failed = Err(ReplyFailure { reason, at: now() });
        store.finish_reply(&event, failed, Exchange::default(), now()).await.unwrap();
    }
    let page = scene.open(&path("")).await.body;
    let heading = format!("3 {told}:");
    for sentence in [heading.as_str(), "1 – too late", "2 – the messages of the LINE plan"] {
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_edit_the_second_is_told() {
    let scene = scene().await;
    let page = scene.open(&path("")).await.body;
    let version = field(&page, "version").to_owned();
    let mut admin = OVERVIEW.to_vec();
    (admin[0].1, admin[7].1, admin[8].1) = ("csrf-Uadmin", "300", "eager");
    admin.retain(|(name, _)| *name != "qa");
    admin.push(("version", &version));
    let saved = scene.post(&path(""), "Uadmin", &admin, &SAME_ORIGIN).await;
    assert_eq!(saved.location(), path("?done=saved"));
    assert!(scene.open(saved.location()).await.body.contains("Saved."));
    let mut owner = OVERVIEW.to_vec();
    owner.push(("version", &version));
    let stale = scene.post(&path(""), "Uowner", &owner, &SAME_ORIGIN).await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.body.contains("Somebody else changed this"), "{}", stale.body);
    // What was typed is kept, and what is there now stands beside it.
    assert!(stale.body.contains("name=\"qa\" value=\"yes\" checked"), "{}", stale.body);
    assert!(stale.body.contains("value=\"60\" selected"), "{}", stale.body);
    for present in ["Now: off", "Now: 5 minutes", "Now: Eager"] {
        assert!(stale.body.contains(present), "{present}: {}", stale.body);
    }
    let present = field(&stale.body, "version").to_owned();
    owner.pop();
    owner.push(("version", &present));
    let saved = scene.post(&path(""), "Uowner", &owner, &SAME_ORIGIN).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert!(config.qa.enabled && config.qa.cooldown_seconds == 60);
    assert_eq!(config.qa.strictness, Strictness::Careful);
    // The page of an earlier version has no such choice.
    let mut earlier = owner.clone();
    earlier.retain(|(name, _)| !matches!(*name, "strictness" | "version"));
    let present = field(&scene.open(&path("")).await.body, "version").to_owned();
    earlier.push(("version", &present));
    let saved = scene.post(&path(""), "Uowner", &earlier, &SAME_ORIGIN).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
    let config = scene.store.assistant().assistant_config(&GROUP.into()).await.unwrap();
    assert_eq!(config.qa.strictness, Strictness::Careful);
    // Looking first saves nothing.
    owner.push(("do", "compare"));
    owner[4].1 = "fuzzy";
    let compare = scene.post(&path(""), "Uowner", &owner, &SAME_ORIGIN).await;
    let compared = path("/switch?mode=fuzzy&match=contains&strictness=careful&overview=version%3D");
    assert!(compare.location().starts_with(&compared), "{}", compare.location());
    let forged = scene.post(&path(""), "Uowner", &owner[1..], &SAME_ORIGIN).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_on_and_sends_nothing_is_told() {
    let scene = scene().await;
    let (channel, owner) = (GROUP.into(), "Uowner".into());
    let store = scene.store.assistant();
    let change = |mut config: AssistantConfig, _| {
        (config.welcome.enabled, config.link.enabled) = (true, true);
        config.link.trigger_keywords = vec!["link".to_owned()];
        Ok::<_, ()>(config)
    };
    store.change_assistant_config(&channel, &owner, now(), change).await.unwrap().unwrap();
    let told = "The welcome is on, but it has no text";
    let other = "but no word shows it";
    let pages = async || [scene.open(&path("")).await.body, scene.open(&path("/texts")).await.body];
    let [overview, texts] = pages().await;
    assert!(overview.contains(told) && !overview.contains(other), "{overview}");
    let link = format!("so nobody is greeted. <a href=\"{}\">Texts</a>", path("/texts"));
    assert!(overview.contains(&link), "{overview}");
    assert!(texts.contains("so nobody is greeted.</p>"), "{texts}");

    let change = |mut config: AssistantConfig, _| {
        config.welcome.message = "Hello".to_owned();
        config.link.trigger_keywords.clear();
        Ok::<_, ()>(config)
    };
    store.change_assistant_config(&channel, &owner, now(), change).await.unwrap().unwrap();
    for page in pages().await {
        assert!(!page.contains(told) && page.contains(other), "{page}");
    }
    let left = [item(GROUP, now().millis() + 60_000, PresenceEvidenceKind::BotLeft)];
    scene.store.members().record_presence(&left, now()).await.unwrap();
    for page in pages().await {
        assert!(page.contains("so it answers nobody") && !page.contains(other), "{page}");
    }
}

/// Fields of the form of texts, as somebody fills them in.
fn texts<'a>(version: &'a str, rules_version: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("csrf", "csrf-Uowner"),
        ("version", version),
        ("rules_version", rules_version),
        ("welcome", "yes"),
        ("welcome_text", "Hi {displayName}\r\nin {groupName}"),
        ("rules", "yes"),
        ("rules_text", "Be kind & <b>calm</b>"),
        ("rules_words", "rules\r\n\r\n 版規 "),
        ("no_match", "Sorry?"),
        ("link_words", "dashboard"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_saved_and_refused_ones_are_kept() {
    let scene = scene().await;
    let page = scene.open(&path("/texts")).await.body;
    assert!(page.contains("api.base_url"), "without an address there is no link: {page}");
    let versions = ["version", "rules_version"].map(|name| field(&page, name).to_owned());
    let mut form = texts(&versions[0], &versions[1]);
    let long = "x".repeat(101);
    let words = format!("fine\n{long}");
    form[7].1 = &words;
    let wrong = scene.post(&path("/texts"), "Uowner", &form, &SAME_ORIGIN).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let beside = wrong.body.find("id=\"rules-words-wrong\"").unwrap();
    assert!(wrong.body[beside..].contains("This is too long: up to 100 characters."));
    for typed in [&*long, "Hi {displayName}\nin {groupName}", "Be kind &amp; &lt;b&gt;", "Sorry?"] {
        assert!(wrong.body.contains(typed), "{typed}: {}", wrong.body);
    }
    assert!(!wrong.body.contains("Saved now:"), "nobody else changed anything");
    let saved = scene
        .post(&path("/texts"), "Uowner", &texts(&versions[0], &versions[1]), &SAME_ORIGIN)
        .await;
    assert_eq!(saved.location(), path("/texts?done=saved"), "{}", saved.body);
    let (group, assistant) = (GROUP.into(), scene.store.assistant());
    let config = assistant.assistant_config(&group).await.unwrap();
    assert_eq!(config.welcome.message, "Hi {displayName}\nin {groupName}");
    assert_eq!(config.rules.trigger_keywords, ["rules", "版規"]);
    assert_eq!(config.qa.no_match_reply.as_deref(), Some("Sorry?"));
    assert_eq!(config.link.trigger_keywords, ["dashboard"]);
    assert!(config.welcome.enabled && !config.link.enabled);
    let kind = assistant.group_rules(&group).await.unwrap().value.text;
    assert_eq!(kind, "Be kind & <b>calm</b>");
    // The second of two is told, whichever text it was.
    let mut late = texts(&versions[0], &versions[1]);
    (late[4].1, late[9].1) = ("Welcome", "link");
    let stale = scene.post(&path("/texts"), "Uowner", &late, &SAME_ORIGIN).await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.body.contains("Somebody else changed this") && stale.body.contains(">Welcome<"));
    assert!(stale.body.contains("Saved now:") && stale.body.contains("dashboard"));
    assert_eq!(assistant.assistant_config(&group).await.unwrap(), config);
    let mut fresh = late;
    let versions = ["version", "rules_version"].map(|name| field(&stale.body, name).to_owned());
    (fresh[1].1, fresh[2].1) = (&versions[0], &versions[1]);
    let saved = scene.post(&path("/texts"), "Uowner", &fresh, &SAME_ORIGIN).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.body);
}

/// Returns the text of the preview of a page, as it is read.
fn previewed(page: &str) -> Option<String> {
    let text = page.split("id=\"preview-text\">").nth(1)?.split("</p>").next()?;
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&#39;", "'"), ("&quot;", "\""), ("&amp;", "&")];
    Some(escapes.iter().fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_is_what_the_bot_says() {
    let mut scene = Scene::new().await;
    let line = &scene.stack.line;
    let [ann, kim] = ["Ann <3", "Kim"].map(|name| line.add_user(name, None).user_id);
    let group = line.add_group("讀書會 & Friends", None, &[&ann]).chat_id;
    line.bot_joins(&group).await.unwrap();
    line.say(&group, &ann, "hello").await.unwrap();
    scene.stack.act_as(&ann).await;
    scene.stack.known(&group).await;
    scene.stack.post(&format!("/channels/{group}/backup/subscribe"), json!({})).await;
    // Ann looks at the page as she would be welcomed.
    let (session, token) = (format!("session-{ann}").into(), format!("csrf-{ann}"));
    let (secret, user) = (secret(&ann), ann.as_str().into());
    let session = NewSession { id: &session, secret: &secret, csrf: &token };
    let person = SignedIn { user: &user, display_name: Some("Kim"), picture_url: None };
    scene.store.sessions().sign_in(&person, &session, now()).await.unwrap();
    let at = format!("/c/{group}/assistant/texts");
    let templates =
        ["{displayName}, welcome to {groupName}! {other} {displayName}", "歡迎 {displayName}"];
    for template in templates {
        let form = [("csrf", &*token), ("welcome_text", template), ("do", "preview")];
        let page = scene.post(&at, &ann, &form, &SAME_ORIGIN).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let preview = previewed(&page.body).unwrap_or_else(|| panic!("{}", page.body));
        let config = json!({"assistant": {"welcome": {"enabled": true, "message": template}}});
        scene.stack.put(&format!("/channels/{group}/assistant/config"), config).await;
        let line = &scene.stack.line;
        line.members_join(&group, &[&kim]).await.unwrap();
        until(&format!("the welcome {preview:?}"), DEADLINE, async || {
            let said = line.transcript(&group).into_iter().filter_map(|entry| entry.text);
            said.into_iter().any(|text| text == preview)
        })
        .await;
        line.members_leave(&group, &[&kim]).await.unwrap();
    }
    let form = [("csrf", &*token), ("welcome_text", "  "), ("do", "preview")];
    let empty = scene.post(&at, &ann, &form, &SAME_ORIGIN).await;
    assert!(empty.body.contains("Write a text to see it here."), "{}", empty.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admins_open_the_pages() {
    let scene = scene().await;
    let pages = ["", "/switch", "/switch?mode=fuzzy", "/unanswered", "/unanswered/rule", "/texts"];
    for rest in pages {
        let path = path(rest);
        for user in ["Ustranger", "Uguest", "Uleft"] {
            is_hidden(&scene, &path, user).await;
        }
        is_for_another_role(&scene, &path, "Umember", "admins or the owner").await;
        for user in ["Uadmin", "Uowner"] {
            let shown = scene.page(&path, Some(user), "en").await;
            assert_eq!(shown.status, StatusCode::OK, "{user} {path}");
        }
        asks_who_it_is(&scene, &path).await;
    }
    let form = [("csrf", "csrf-Umember"), ("version", "0"), ("mode", "fuzzy"), ("match", "exact")];
    let mut overview = OVERVIEW.to_vec();
    overview[0].1 = "csrf-Umember";
    overview.push(("version", "0"));
    let mut all = texts("0", "0");
    all[0].1 = "csrf-Umember";
    for (rest, form) in [("", &overview[..]), ("/switch", &form), ("/texts", &all)] {
        let refused = scene.post(&path(rest), "Umember", form, &SAME_ORIGIN).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{rest}");
    }
}
