//! Bounds of webhooks: never wider than those of the key that created them, and ended with it.

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId, UserId, WebhookId};
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::signing;
use chatkeep_store::{
    DeliveryFilter, DisabledReason, NewWebhook, Next, OutboxEventKind, Webhook, WebhookChange,
    WebhookChanged, WebhookMade, WebhookMaker,
};

use super::super::{Fixture, at, bounded_key, edited, on_both, said};
use super::{attempt, prepared, room, wants};

on_both!(
    nothing_beyond_the_bounds_becomes_a_delivery,
    a_webhook_ends_with_its_key,
    a_rotated_key_takes_its_webhooks_along,
    changing_never_widens,
    enabling_one_whose_key_has_just_expired_ends_with_the_new_key,
    deliveries_are_shown_within_bounds,
    webhooks_of_before_keep_all_that_their_owner_may,
);

impl Fixture {
    /// Creates a key of U1 with these bounds, and a webhook with it.
    async fn bound_hook(&self, name: &str, events: &[OutboxEventKind], bounds: &Bounds) {
        let (key, user) = (KeyId::from(format!("key_{name}")), UserId::from("U1"));
        let new = bounded_key(&key, key.as_str(), &user, bounds);
        assert!(self.store.keys().add_key(&new, at(4)).await.unwrap().is_some());
        let made = self.hook_of(&format!("wh_{name}"), events, Some(&key), bounds).await;
        assert_eq!(made, WebhookMade::Done);
    }

    async fn hook_of(
        &self,
        id: &str,
        events: &[OutboxEventKind],
        key: Option<&KeyId>,
        bounds: &Bounds,
    ) -> WebhookMade {
        let (id, user) = (WebhookId::from(id), UserId::from("U1"));
        let secret = signing::secret([1; 32]);
        let maker = WebhookMaker { key, bounds };
        let new =
            NewWebhook { id: &id, user: &user, secret: &secret, change: wants(events), maker };
        self.store.webhooks().add_webhook(&new, at(5)).await.unwrap()
    }

    pub(super) async fn webhook_of_u1(&self, id: &str) -> Webhook {
        self.store.webhooks().webhook(&"U1".into(), &id.into()).await.unwrap().unwrap()
    }

    async fn reason(&self, id: &str) -> Option<DisabledReason> {
        let webhook = self.webhook_of_u1(id).await;
        assert_eq!(webhook.enabled, webhook.disabled.is_none());
        webhook.disabled.map(|(reason, _)| reason)
    }
}

fn only(channels: &[&str]) -> Bounds {
    let channels = channels.iter().map(|id| ChannelId::from(*id)).collect();
    Bounds { channels: Some(channels), ..Bounds::full() }
}

async fn nothing_beyond_the_bounds_becomes_a_delivery(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    fixture.bound_hook("here", &OutboxEventKind::ALL, &only(&["C1"])).await;
    let ended = Bounds { expires_at: Some(at(15)), ..Bounds::full() };
    fixture.bound_hook("ended", &OutboxEventKind::ALL, &ended).await;
    let short = chatkeep_core::plan::Plan::Free.quota() / 100 * 90 - 10;
    fixture.preload("C1", "U1", short).await;
    fixture.keep(&[super::super::sized("C1", "a", 10, 60), said("C2", "b", 11, "y")], 12).await;
    let all = fixture.fanned_out("wh_1", 3, 20).await;
    assert!(all.iter().any(|d| d.event.kind == Some(OutboxEventKind::UsageCritical)));
    // Neither the other channel nor account-wide events; and nothing after its end.
    let here = fixture.fanned_out("wh_here", 1, 20).await;
    assert_eq!(here[0].event.subject.as_deref(), Some("a"));
    assert!(fixture.log("wh_ended", None).await.is_empty());
    let taken = fixture.lease(room(99, 99), 20).await;
    let bounds = taken.iter().find(|d| d.webhook.as_str() == "wh_here").map(|d| d.bounds.clone());
    assert_eq!(bounds, Some(only(&["C1"])));
}

async fn a_webhook_ends_with_its_key(fixture: Fixture) {
    prepared(&fixture).await;
    let ends = Bounds { expires_at: Some(at(50)), ..Bounds::full() };
    for (name, bounds) in [
        ("expires", &ends),
        ("deleted", &Bounds::full()),
        ("lost", &Bounds::full()),
        ("stays", &Bounds::full()),
    ] {
        fixture.bound_hook(name, &OutboxEventKind::ALL, bounds).await;
    }
    fixture.keep(&[said("C1", "a", 10, "x")], 12).await;
    fixture.fanned_out("wh_expires", 1, 20).await;
    assert!(fixture.store.webhooks().end_webhooks(at(49)).await.unwrap().is_empty());
    // At its end nothing is delivered any more, also before the expired keys are purged.
    let due = fixture.lease(room(99, 99), 50).await;
    assert!(due.iter().all(|d| d.webhook.as_str() != "wh_expires"));
    assert!(fixture.store.keys().drop_key(&"key_deleted".into(), at(40)).await.unwrap());
    assert_eq!(fixture.reason("wh_deleted").await, Some(DisabledReason::KeyEnded));
    fixture.run("DELETE FROM api_keys WHERE key_id = 'key_lost'").await;
    let ended = fixture.store.webhooks().end_webhooks(at(50)).await.unwrap();
    let ended: std::collections::BTreeSet<_> = ended.iter().map(WebhookId::as_str).collect();
    assert_eq!(ended.into_iter().collect::<Vec<_>>(), ["wh_expires", "wh_lost"]);
    for id in ["wh_expires", "wh_lost"] {
        assert_eq!(fixture.reason(id).await, Some(DisabledReason::KeyEnded), "{id}");
    }
    for id in ["wh_stays", "wh_1"] {
        assert_eq!(fixture.reason(id).await, None, "{id}");
    }
    let pending = fixture.store.webhooks().pending_webhook_notices(None, 10).await.unwrap();
    assert_eq!(pending.len(), 3, "their owner is told in their chat");
    assert!(pending.iter().all(|webhook| webhook.reason == DisabledReason::KeyEnded));
    // Page by page, also among those of one moment, though none of them is settled.
    let (mut paged, mut after) = (Vec::new(), None);
    let webhooks = fixture.store.webhooks();
    while let Some(last) = webhooks.pending_webhook_notices(after.as_ref(), 1).await.unwrap().pop()
    {
        paged.push((last.at, last.id.to_string()));
        after = Some((last.at, last.id));
    }
    let expected = [(40, "wh_deleted"), (50, "wh_expires"), (50, "wh_lost")];
    assert_eq!(paged, expected.map(|(time, id)| (at(time), id.to_owned())));
    let told = "SELECT COUNT(*) FROM outbox_events WHERE type = 'endpoint.disabled'";
    assert_eq!(fixture.value(told).await, "3");
    // A deleted key creates and changes nothing.
    let (gone, full) = (KeyId::from("key_deleted"), Bounds::full());
    let made = fixture.hook_of("wh_late", &OutboxEventKind::ALL, Some(&gone), &full).await;
    assert_eq!(made, WebhookMade::KeyEnded);
    let maker = WebhookMaker { key: Some(&gone), bounds: &full };
    let change = wants(&OutboxEventKind::ALL);
    let changed = fixture
        .store
        .webhooks()
        .change_webhook(&fixture.webhook_of_u1("wh_1").await, change, maker, at(60))
        .await;
    assert_eq!(changed.unwrap(), WebhookChanged::KeyEnded);
    // Enabled again by its owner it is theirs.
    let changed = fixture.change("wh_expires", wants(&OutboxEventKind::ALL), &full, 70).await;
    assert_eq!(changed, WebhookChanged::Done);
    assert!(fixture.store.webhooks().end_webhooks(at(80)).await.unwrap().is_empty());
    assert_eq!(fixture.reason("wh_expires").await, None);
}

async fn a_rotated_key_takes_its_webhooks_along(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.bound_hook("old", &OutboxEventKind::ALL, &Bounds::full()).await;
    let (user, next) = (UserId::from("U1"), KeyId::from("key_next"));
    let pair = (&next, "key_next");
    fixture.store.keys().rotate_key(&user, &"key_old".into(), pair, at(30), at(20)).await.unwrap();
    assert_eq!(fixture.webhook_of_u1("wh_old").await.key, Some(next.clone()));
    // The old key's overlap ends, and the webhook stays; it goes with the new one.
    assert!(fixture.store.webhooks().end_webhooks(at(40)).await.unwrap().is_empty());
    assert!(fixture.store.keys().drop_key_of(&user, &"key_old".into(), at(41)).await.unwrap());
    assert_eq!(fixture.reason("wh_old").await, None);
    assert!(fixture.store.keys().drop_key_of(&user, &next, at(42)).await.unwrap());
    assert_eq!(fixture.reason("wh_old").await, Some(DisabledReason::KeyEnded));
}

async fn changing_never_widens(fixture: Fixture) {
    prepared(&fixture).await;
    let narrow = Bounds {
        scopes: vec![Scope::ReadMembers, Scope::ManageWebhooks],
        not_before: Some(at(7)),
        expires_at: Some(at(900)),
        pseudonyms: Some(PseudonymKey::new([5; 32])),
        ..only(&["C1"])
    };
    fixture.bound_hook("narrow", &[OutboxEventKind::MemberLeft], &narrow).await;
    for beyond in [OutboxEventKind::MessageReceived, OutboxEventKind::UsageWarning] {
        let changed = fixture.change("wh_narrow", wants(&[beyond]), &Bounds::full(), 10).await;
        assert_eq!(changed, WebhookChanged::BeyondEvents, "{beyond:?}");
    }
    let change = wants(&[OutboxEventKind::MemberJoined]);
    let (here, there) = (ChannelId::from("C1"), ChannelId::from("C2"));
    for beyond in [vec![there.clone()], vec![here.clone(), there]] {
        let change = WebhookChange { channels: Some(&beyond), ..change };
        let changed = fixture.change("wh_narrow", change, &Bounds::full(), 11).await;
        assert_eq!(changed, WebhookChanged::BeyondChannels, "{beyond:?}");
    }
    let changed = fixture.change("wh_narrow", change, &Bounds::full(), 11).await;
    assert_eq!(changed, WebhookChanged::Done);
    let all = fixture.webhook_of_u1("wh_narrow").await.channels;
    assert_eq!(all, Some(vec![here]), "all are those that it may know");
    assert_eq!(fixture.webhook_of_u1("wh_narrow").await.bounds, narrow);
    assert_eq!(fixture.webhook_of_u1("wh_narrow").await.key, Some("key_narrow".into()));
    // A narrower one narrows it.
    let narrower = Bounds { not_before: Some(at(9)), ..narrow.clone() };
    fixture.change("wh_narrow", change, &narrower, 12).await;
    fixture.change("wh_narrow", change, &Bounds::full(), 13).await;
    assert_eq!(fixture.webhook_of_u1("wh_narrow").await.bounds, narrower);
    // Another key that changes it binds its end to its own.
    fixture.bound_hook("other", &[OutboxEventKind::MemberLeft], &Bounds::full()).await;
    let (other, full) = (KeyId::from("key_other"), Bounds::full());
    let maker = WebhookMaker { key: Some(&other), bounds: &full };
    let changed = fixture
        .store
        .webhooks()
        .change_webhook(&fixture.webhook_of_u1("wh_narrow").await, change, maker, at(14))
        .await;
    assert_eq!(changed.unwrap(), WebhookChanged::Done);
    assert_eq!(fixture.webhook_of_u1("wh_narrow").await.bounds, narrower);
    assert!(fixture.store.keys().drop_key(&other, at(15)).await.unwrap());
    assert_eq!(fixture.reason("wh_narrow").await, Some(DisabledReason::KeyEnded));
}

async fn enabling_one_whose_key_has_just_expired_ends_with_the_new_key(fixture: Fixture) {
    prepared(&fixture).await;
    let short = Bounds { expires_at: Some(at(20)), ..Bounds::full() };
    fixture.bound_hook("short", &[OutboxEventKind::MemberLeft], &short).await;
    let (change, longer) = (wants(&[OutboxEventKind::MemberLeft]), Some(at(900)));
    let longer = Bounds { expires_at: longer, ..Bounds::full() };
    assert_eq!(fixture.change("wh_short", change, &longer, 19).await, WebhookChanged::Done);
    assert_eq!(fixture.webhook_of_u1("wh_short").await.bounds.expires_at, short.expires_at);
    assert_eq!(fixture.change("wh_short", change, &longer, 20).await, WebhookChanged::Done);
    assert_eq!(fixture.webhook_of_u1("wh_short").await.bounds.expires_at, longer.expires_at);
    assert!(fixture.store.webhooks().end_webhooks(at(30)).await.unwrap().is_empty());
}

async fn deliveries_are_shown_within_bounds(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C2", "b", 11, "y")], 12).await;
    fixture.keep(&[edited("C1", "a", 13, "z")], 14).await;
    fixture.fanned_out("wh_1", 3, 20).await;
    let id = WebhookId::from("wh_1");
    fixture.store.webhooks().test_webhook(&id, "evt_test", at(21)).await.unwrap();
    let taken = fixture.lease(room(99, 99), 22).await;
    let failed: Vec<_> = taken.iter().map(|d| attempt(d, Next::Failed, 22)).collect();
    fixture.settle(&failed, 0, 23).await;
    let messages = vec![Scope::ReadMessages];
    for (bounds, shown, again) in [
        (Bounds::full(), 4, 4),
        (only(&["C1"]), 3, 3),
        (only(&["C2"]), 2, 2),
        (only(&[]), 1, 1),
        (Bounds { scopes: messages.clone(), ..Bounds::full() }, 4, 4),
        (Bounds { scopes: vec![Scope::ReadMembers], ..Bounds::full() }, 1, 1),
        (Bounds { not_before: Some(at(11)), ..Bounds::full() }, 3, 3),
        (Bounds { not_before: Some(at(12)), scopes: messages, ..only(&["C1"]) }, 2, 2),
    ] {
        let filter = DeliveryFilter::within(&bounds);
        let list = fixture.store.webhooks().webhook_deliveries(&id, filter, 10).await.unwrap();
        assert_eq!(list.len(), shown, "{bounds:?}");
        for delivery in fixture.log("wh_1", None).await {
            let one = fixture
                .store
                .webhooks()
                .webhook_delivery(&id, delivery.number, &bounds)
                .await
                .unwrap();
            let listed = list.iter().any(|listed| listed.number == delivery.number);
            assert_eq!(one.is_some(), listed, "{bounds:?} {:?}", delivery.event);
        }
        fixture.run("UPDATE webhook_deliveries SET status = 'failed', due_at = NULL").await;
        let count =
            fixture.store.webhooks().redeliver_since(&id, &bounds, at(0), at(30)).await.unwrap();
        assert_eq!(count, again, "{bounds:?}");
    }
}

async fn webhooks_of_before_keep_all_that_their_owner_may(fixture: Fixture) {
    prepared(&fixture).await;
    // A table filled before there were bounds: the columns get their defaults.
    fixture
        .run(
            "INSERT INTO webhooks (webhook_id, user_id, url, description, events, channel_ids,
                 not_before, enabled, secret, created_at, updated_at, since)
             SELECT 'wh_before', user_id, url, description, events, channel_ids, 7, 1, secret,
                 created_at, updated_at, since
             FROM webhooks WHERE webhook_id = 'wh_1'",
        )
        .await;
    let webhook = fixture.webhook_of_u1("wh_before").await;
    let expected = Bounds { not_before: Some(at(7)), ..Bounds::full() };
    assert_eq!((webhook.key.clone(), webhook.bounds.clone()), (None, expected));
    fixture.keep(&[said("C1", "a", 10, "x")], 12).await;
    fixture.fanned_out("wh_before", 1, 20).await;
    assert!(fixture.store.webhooks().end_webhooks(at(i64::MAX)).await.unwrap().is_empty());
}
