//! Settings of a channel's backup.

use chatkeep_store::PresenceEvidenceKind;
use reqwest::StatusCode;

use super::{GROUP, Page, START, Scene, now};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{at, edited, item};

/// Name of the chat on a page that asks.
const CHAT: &str = "<p class=\"soft\"><bdi lang=\"\">週末讀書會 ";

fn path() -> String {
    format!("/c/{GROUP}/settings")
}

async fn send(scene: &Scene, user: &str, form: &[(&str, &str)]) -> Page {
    super::rules::send(scene, &path(), user, form).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_sees_what_is_kept_and_changes_what_is_theirs() {
    let scene = Scene::new().await;
    for (user, zone, retention) in
        [("Umember", false, false), ("Uadmin", true, false), ("Uowner", true, true)]
    {
        let page = scene.page(&path(), Some(user), "en").await.body;
        for text in ["Backup paused: storage full", "132 messages were not backed up"] {
            assert!(page.contains(text), "{user}: {text}");
        }
        assert_eq!(page.contains(r#"name="zone""#), zone, "{user}");
        assert_eq!(page.contains(r#"name="days""#), retention, "{user}");
        assert_eq!(page.contains(r#"name="before""#), retention, "{user}");
    }
    for (user, form, status) in [
        ("Umember", [("action", "zone"), ("zone", "Asia/Tokyo")], StatusCode::FORBIDDEN),
        ("Uadmin", [("action", "retention"), ("days", "30")], StatusCode::FORBIDDEN),
        ("Uadmin", [("action", "delete"), ("before", "2024-03-02")], StatusCode::FORBIDDEN),
        ("Uguest", [("action", "subscribe"), ("zone", "")], StatusCode::NOT_FOUND),
        ("Uguest", [("action", "zone"), ("zone", "Asia/Tokyo")], StatusCode::NOT_FOUND),
    ] {
        assert_eq!(send(&scene, user, &form).await.status, status, "{user}");
    }
    let unknown = send(&scene, "Uowner", &[("action", "burn")]).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_begin_at_once_and_end_after_a_question() {
    let scene = Scene::new().await;
    let begun = send(&scene, "Umember", &[("action", "subscribe")]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER);
    let page = scene.page(&path(), Some("Umember"), "en").await.body;
    assert!(page.contains("You are backing up this chat"));
    let asked = send(&scene, "Umember", &[("action", "unsubscribe")]).await;
    assert!(asked.status == StatusCode::OK && asked.body.contains("Stop backing up this chat?"));
    assert!(asked.body.contains(CHAT), "{}", asked.body);
    assert!(asked.body.contains(r#"name="confirmed" value="yes""#), "{}", asked.body);
    let page = scene.page(&path(), Some("Umember"), "en").await.body;
    assert!(page.contains("You are backing up this chat"), "asking changes nothing");
    let ended = [("action", "unsubscribe"), ("confirmed", "yes")];
    assert_eq!(send(&scene, "Umember", &ended).await.status, StatusCode::SEE_OTHER);
    let page = scene.page(&path(), Some("Umember"), "en").await.body;
    assert!(page.contains("You are not backing up this chat"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_values_are_said_beside_their_field() {
    let scene = Scene::new().await;
    for (form, said) in [
        ([("action", "zone"), ("zone", "Asia/Taipeh")], "This time zone is not known"),
        ([("action", "retention"), ("days", "soon")], "a whole number from 1 to 36500"),
        ([("action", "retention"), ("days", "0")], "a whole number from 1 to 36500"),
        ([("action", "retention"), ("days", "99999999999")], "a whole number from 1 to 36500"),
        ([("action", "delete"), ("before", "yesterday")], "Please choose a date."),
        ([("action", "delete"), ("before", "2001-01-01")], "no messages from before that date"),
    ] {
        let refused = send(&scene, "Uowner", &form).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{form:?}");
        assert!(refused.body.contains(said), "{form:?}: {}", refused.body);
        assert!(refused.body.contains(r#"aria-invalid="true""#), "{form:?}");
        assert!(refused.body.contains(&format!(r#"value="{}""#, form[1].1)), "{form:?} is kept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_fails_is_no_wrong_value() {
    let scene = Scene::new().await;
    scene.stack.sql("ALTER TABLE messages RENAME TO gone".to_owned()).await;
    for form in [
        [("action", "retention"), ("days", "30")],
        [("action", "delete"), ("before", "2024-03-02")],
    ] {
        let failed = send(&scene, "Uowner", &form).await;
        assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR, "{form:?}: {}", failed.body);
    }
    scene.stack.sql("ALTER TABLE gone RENAME TO messages".to_owned()).await;
    scene.open(&path()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_zone_moves_days_and_retention_asks_first() {
    let scene = Scene::new().await;
    let saved = send(&scene, "Uadmin", &[("action", "zone"), ("zone", "Pacific/Kiritimati")]).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER);
    let zone = "name=\"zone\" list=\"zones\" value=\"Pacific/Kiritimati\"";
    assert!(scene.open(&path()).await.body.contains(zone));
    let days = [("action", "retention"), ("days", "30")];
    let asked = send(&scene, "Uowner", &days).await;
    assert!(asked.body.contains("Delete old messages automatically?"), "{}", asked.body);
    assert!(asked.body.contains("messages are that old"), "{}", asked.body);
    assert!(asked.body.contains(CHAT), "{}", asked.body);
    let retention = async || scene.store.channels().retention(&GROUP.into()).await.unwrap().0;
    assert_eq!(retention().await, None, "asking changes nothing");
    let confirmed = [days[0], days[1], ("confirmed", "yes")];
    assert_eq!(send(&scene, "Uowner", &confirmed).await.status, StatusCode::SEE_OTHER);
    assert_eq!(retention().await, Some(30));
    let never = [("action", "retention"), ("days", "")];
    assert_eq!(send(&scene, "Uowner", &never).await.status, StatusCode::SEE_OTHER);
    assert_eq!(retention().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_texts_are_kept_by_admins_and_erased_after_a_question() {
    let scene = Scene::new().await;
    let kept = async || {
        let channel = scene.store.channels().channel(&GROUP.into()).await.unwrap();
        channel.unwrap().keeps_earlier_texts
    };
    let (on, off) = ([("action", "earlier"), ("earlier", "yes")], [("action", "earlier")]);
    assert_eq!(send(&scene, "Umember", &on).await.status, StatusCode::FORBIDDEN);
    let member = scene.page(&path(), Some("Umember"), "en").await.body;
    assert!(!member.contains(r#"name="earlier""#) && !kept().await);
    assert_eq!(send(&scene, "Uadmin", &on).await.status, StatusCode::SEE_OTHER);
    let page = scene.page(&path(), Some("Uadmin"), "en").await.body;
    let checked = r#"<input type="checkbox" name="earlier" value="yes" checked>"#;
    assert!(kept().await && page.contains(checked), "{page}");

    let (time, texts) = (START + 3 * 86_400_000, ["the <b>fourth</b>", "the fifth"]);
    let edits =
        texts.map(|text| edited(GROUP, "edited", time + i64::try_from(text.len()).unwrap(), text));
    scene.store.messages().ingest(&edits, at(time)).await.unwrap();
    let message = format!("/c/{GROUP}/m/edited");
    let shown = scene.open(&message).await.body;
    for part in ["Earlier texts", "the fifth", "four o&#39;clock"] {
        let part = part.replace("&#39;", "'");
        let escaped = part.replace('\'', "&#39;");
        assert!(shown.contains(&part) || shown.contains(&escaped), "{part}: {shown}");
    }
    assert!(!shown.contains("three o"), "replaced before it was switched on");
    assert!(!shown.contains("<b>fourth</b>"), "{shown}");

    let asked = send(&scene, "Uadmin", &off).await;
    assert!(asked.body.contains("Stop keeping earlier texts?"), "{}", asked.body);
    assert!(asked.body.contains(CHAT), "{}", asked.body);
    assert!(kept().await, "asking changes nothing");
    let confirmed = [off[0], ("confirmed", "yes")];
    assert_eq!(send(&scene, "Uadmin", &confirmed).await.status, StatusCode::SEE_OTHER);
    let shown = scene.open(&message).await.body;
    assert!(!kept().await && !shown.contains("Earlier texts"), "{shown}");
    let log = scene.open(&format!("/c/{GROUP}/activity-log")).await.body;
    assert!(log.contains("Earlier texts"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_messages_are_deleted_after_their_number_was_shown() {
    let scene = Scene::new().await;
    let form = [("action", "delete"), ("before", "2024-03-02")];
    let asked = send(&scene, "Uowner", &form).await;
    let told = "65 messages from before 2\u{a0}Mar 2024";
    assert!(asked.body.contains(told) && asked.body.contains(CHAT), "{}", asked.body);
    let begun = send(&scene, "Uowner", &[form[0], form[1], ("confirmed", "yes")]).await;
    assert_eq!(begun.status, StatusCode::SEE_OTHER, "{}", begun.body);
    let job = begun.location().to_owned();
    until("the deletion", DEADLINE, async || {
        scene.open(&job).await.body.contains("65 messages were deleted")
    })
    .await;
    let gone = scene.page(&format!("/c/{GROUP}/m/p003"), Some("Uowner"), "en").await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_becomes_the_owner_is_told_before_and_after() {
    let scene = Scene::new().await;
    let own = async |user: &str| {
        let page = scene.page(&format!("/c/{GROUP}/people/{user}"), Some(user), "en").await;
        page.body.contains("You are the owner.")
    };
    assert!(own("Uowner").await && !own("Umember").await);
    let settings = async |user: &str| scene.page(&path(), Some(user), "en").await.body;
    let ownerless = "Whoever backs it up first becomes its owner";
    assert!(!settings("Umember").await.contains(ownerless));
    let begun = send(&scene, "Uadmin", &[("action", "subscribe")]).await;
    assert!(begun.location().ends_with("?done=saved"), "{}", begun.location());
    // The owner leaves.
    let left = item(GROUP, now().millis(), PresenceEvidenceKind::Left("Uowner".into()));
    scene.store.members().record_presence(&[left], now()).await.unwrap();
    assert!(settings("Umember").await.contains(ownerless));
    let admin = settings("Uadmin").await;
    assert!(admin.contains("Become the owner") && !admin.contains(ownerless), "{admin}");
    let account = scene.store.accounts();
    for user in ["Uowner", "Uadmin"] {
        account.unsubscribe(&GROUP.into(), &user.into(), now()).await.unwrap();
    }
    let chat = scene.page(&format!("/c/{GROUP}"), Some("Umember"), "en").await.body;
    assert!(chat.contains("Nobody is backing up this chat") && chat.contains(ownerless), "{chat}");
    let begun = send(&scene, "Umember", &[("action", "subscribe")]).await;
    assert!(begun.location().ends_with("?done=owner"), "{}", begun.location());
    let page = scene.page(begun.location(), Some("Umember"), "en").await.body;
    assert!(page.contains("you are its owner now") && !page.contains(ownerless), "{page}");
    assert!(own("Umember").await);
}
