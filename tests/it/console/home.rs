//! Notices of the first page.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    OutboxEventKind, PresenceEvidenceKind, WebhookChange, WebhookMade, WebhookMaker,
};

use super::{GROUP, Scene, now};
use crate::store::{item, said};

/// Number of bytes beyond the quota of the free plan.
const FULL: i64 = 600_000_000;

/// Creates a webhook of the owner for that address.
async fn add_webhook(scene: &Scene, id: &str, url: &str) {
    let (id, user, secret) = (id.into(), "Uowner".into(), signing::secret([1; 32]));
    let events = &OutboxEventKind::ALL;
    let change = WebhookChange { url, description: "", events, channels: None, enabled: true };
    let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
    let new = chatkeep_store::NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
    assert_eq!(scene.store.webhooks().add_webhook(&new, now()).await.unwrap(), WebhookMade::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_needs_attention_is_said_with_the_way_to_it() {
    let scene = Scene::new().await;
    let shows = async |texts: &[&str]| {
        let page = scene.open("/console").await;
        for text in texts {
            assert!(page.body.contains(text), "{text}: {}", page.body);
        }
        page.body
    };
    let page = shows(&[]).await;
    assert!(!scene.open("/console/account").await.body.contains("You can free space"));
    for text in ["Paused", "is full", "no longer in this chat", "Nobody is backing up"] {
        assert!(!page.contains(text), "{text}");
    }
    let sql = async |sql: &str| scene.stack.ground.sql(sql).await;
    sql(&format!("UPDATE channels SET bytes = {FULL} WHERE channel_id = '{GROUP}'")).await;
    sql(&format!("UPDATE users SET used_bytes = {FULL} WHERE user_id = 'Uowner'")).await;
    let page = shows(&["Paused", "Full: chats marked “Paused” are not backed up."]).await;
    assert!(!page.contains("Storage is full"), "it is said once");
    let page = scene.page("/console", Some("Umember"), "en").await.body;
    assert!(page.contains("the storage of those who back up this chat is full."), "{page}");
    assert!(page.contains(&format!("href=\"/c/{GROUP}/settings\"")), "{page}");
    let settings = scene.page(&format!("/c/{GROUP}/settings"), Some("Umember"), "en").await.body;
    for text in ["Backup is paused:", "You are not backing up this chat."] {
        assert!(settings.contains(text), "{text}: {settings}");
    }
    let account = scene.open("/console/account").await.body;
    assert!(account.contains("You can free space in the settings of a chat below"), "{account}");
    assert!(account.contains(&format!("href=\"/c/{GROUP}/settings\"")), "{account}");
    let settings = scene.open(&format!("/c/{GROUP}/settings")).await.body;
    let way = r#"<a href="/console/account">Manage your storage</a>"#;
    assert!(settings.contains(way), "{settings}");

    for (id, url) in
        [("wh_failing", "https://failing.example/secret"), ("wh_off", "https://off.example/")]
    {
        add_webhook(&scene, id, url).await;
    }
    let since = now().millis() - 86_400_000;
    sql(&format!("UPDATE webhooks SET failing_since = {since}")).await;
    sql("UPDATE webhooks SET enabled = 0, disabled_reason = 'gone', disabled_at = 1
         WHERE webhook_id = 'wh_off'")
    .await;
    let page = shows(&[
        "failing.example",
        "This webhook has not accepted anything since",
        "/console/account/webhooks/wh_failing",
        "off.example",
        "This webhook was turned off.",
    ])
    .await;
    assert!(!page.contains("/secret"), "the path of an address may be a secret");

    scene.store.accounts().unsubscribe(&GROUP.into(), &"Uowner".into(), now()).await.unwrap();
    let page = shows(&["Nobody is backing up this chat."]).await;
    assert!(!page.contains("Storage is full"));
    let left = item(GROUP, now().millis(), PresenceEvidenceKind::BotLeft);
    scene.store.members().record_presence(&[left], now()).await.unwrap();
    let page = shows(&["The bot has left this chat", "The bot is no longer in this chat."]).await;
    assert!(!page.contains("Nobody is backing up"), "one reason is enough");
    let settings = async || scene.open(&format!("/c/{GROUP}/settings")).await.body;
    let page = settings().await;
    assert!(page.contains("If you back up this chat, new messages are kept as soon as"), "{page}");
    scene.store.accounts().subscribe(&GROUP.into(), &"Uowner".into(), now()).await.unwrap();
    let page = settings().await;
    assert!(
        page.contains("You are backing up this chat: new messages are kept as soon as"),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_in_the_list_are_those_of_one_clock() {
    let scene = Scene::new().await;
    let evening = Timestamp::parse("2026-01-01T20:00:00Z").unwrap();
    let there = [PresenceEvidenceKind::BotJoined, PresenceEvidenceKind::Present("Uowner".into())]
        .map(|kind| item("Ctokyo", evening.millis(), kind));
    scene.store.members().record_presence(&there, evening).await.unwrap();
    scene.store.accounts().subscribe(&"Ctokyo".into(), &"Uowner".into(), evening).await.unwrap();
    let last = said("Ctokyo", "last", evening.millis(), "good night");
    scene.store.messages().ingest(&[last], evening).await.unwrap();
    // Whoever has chats in several zones is told in which one the times are.
    let told = async || scene.open("/console").await.body.contains("Times are in UTC.");
    assert!(!told().await);
    let in_tokyo = async |channel: &str| {
        let to = "UPDATE channels SET time_zone = 'Asia/Tokyo' WHERE channel_id = ";
        scene.stack.ground.sql(&format!("{to}'{channel}'")).await;
        let page = scene.open("/console").await.body;
        let (_, time) = page.split_once(r#"<time datetime="2026-01-01T20:00:00.000Z">"#).unwrap();
        time.split(|c: char| !c.is_ascii_digit()).next().unwrap().to_owned()
    };
    assert_eq!(in_tokyo("Ctokyo").await, "1", "the other chat has the zone of the service");
    assert!(told().await);
    assert_eq!(in_tokyo(GROUP).await, "2");
    assert!(!told().await);
}
