//! Outcomes of deliveries: recorded, listed, repeated, purged.

use std::collections::BTreeSet;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{UserId, WebhookId};
use chatkeep_core::message::MessageChange;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    Attempt, DeliveryFilter, DeliveryStatus, DisabledReason, LeaseRoom, Next, NoticeOutcome,
    OutboxEventKind, WebhookChange, WebhookChanged, WebhookDelivery,
};

use super::super::{Fixture, at, delete_before, edited, erase_person, on_both, said, unsent};
use super::{DEADLINE, LEASE, attempt, prepared, room, wants};
use crate::harness::wait::until;

on_both!(
    answers_go_with_their_messages,
    what_is_not_stored_leaves_deliveries_when_it_is_retracted,
    a_delivery_that_cannot_be_read_holds_up_no_other,
    who_fails_for_long_or_is_gone_is_disabled,
    who_asks_for_a_pause_gets_it,
    only_what_may_be_leased_from_who_works_is_due,
    what_an_address_did_says_nothing_about_the_next,
    the_log_is_listed_repeated_and_purged,
    more_failed_deliveries_than_a_batch_has_are_repeated,
);

async fn answers_go_with_their_messages(fixture: Fixture) {
    prepared(&fixture).await;
    let messages = ["unsent", "edited", "deleted", "erased", "in time", "kept"];
    for (n, id) in (0..).zip(messages) {
        let time = if id == "deleted" { 10 } else { 100 + n };
        let mut message = said("C1", id, time, "what was said");
        if let MessageChange::Received(received) = &mut message.change {
            received.sender = Some(if id == "erased" { "U2" } else { "U1" }.into());
        }
        fixture.keep(&[message], 200).await;
    }
    fixture.fanned_out("wh_1", messages.len(), 300).await;
    let taken = fixture.lease(room(99, 99), 300).await;
    let (late, early): (Vec<_>, Vec<_>) =
        taken.into_iter().partition(|d| d.event.subject.as_deref() == Some("in time"));
    let early: Vec<_> = early.iter().map(|d| attempt(d, Next::Delivered, 300)).collect();
    fixture.settle(&early, 0, 301).await;
    let answered = async || {
        let log = fixture.log("wh_1", None).await;
        let kept = log.into_iter().filter(|d| d.answer.is_some()).filter_map(|d| d.event.subject);
        kept.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(answered().await, "deleted edited erased kept unsent");
    fixture.keep(&[unsent("C1", "unsent", 400), unsent("C1", "in time", 400)], 401).await;
    fixture.keep(&[edited("C1", "edited", 400, "other")], 402).await;
    delete_before(&fixture.store, &"C1".into(), at(50), at(403)).await;
    erase_person(&fixture.store, &"C1".into(), &"U2".into(), at(500), at(501)).await;
    // One that was under way while its message was retracted.
    fixture.settle(&[attempt(&late[0], Next::Delivered, 300)], 0, 502).await;
    assert_eq!(answered().await, "kept");
    let left = "SELECT COUNT(*) FROM webhook_deliveries WHERE answer IS NOT NULL";
    assert_eq!(fixture.value(left).await, "1");
}

async fn what_is_not_stored_leaves_deliveries_when_it_is_retracted(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    for (id, sender) in [("unsent", "U1"), ("erased", "U2"), ("other", "U1")] {
        let mut message = said("C2", id, 10, "x");
        if let MessageChange::Received(received) = &mut message.change {
            received.sender = Some(sender.into());
        }
        fixture.keep(&[message], 20).await;
    }
    fixture.fanned_out("wh_1", 3, 21).await;
    fixture.keep(&[unsent("C2", "unsent", 30)], 31).await;
    erase_person(&fixture.store, &"C2".into(), &"U2".into(), at(40), at(41)).await;
    let left = "SELECT subject_id FROM webhook_deliveries WHERE unstored IS NOT NULL";
    assert_eq!(fixture.value(left).await, "other");
    // That they are gone is told all the same.
    let all = fixture.fanned_out("wh_1", 5, 50).await;
    let is_told = |delivery: &&WebhookDelivery| delivery.event.unstored.is_some();
    let told: BTreeSet<_> = all.iter().filter(is_told).map(|d| d.event.subject.clone()).collect();
    let ids = ["erased", "other", "unsent"].map(|id| Some(id.to_owned()));
    assert_eq!(told, BTreeSet::from(ids));
}

async fn a_delivery_that_cannot_be_read_holds_up_no_other(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C1", "b", 11, "x")], 20).await;
    fixture.fanned_out("wh_1", 2, 21).await;
    // As a later version may write it.
    let strange = "UPDATE webhook_deliveries SET unstored = '[]' WHERE subject_id = 'a'";
    fixture.run(strange).await;
    let subjects = async |now| {
        let taken = fixture.lease(room(10, 10), now).await;
        taken.into_iter().filter_map(|delivery| delivery.event.subject).collect::<Vec<_>>()
    };
    assert_eq!(subjects(22).await, ["b"]);
    assert!(subjects(23).await.is_empty());
    fixture.run("UPDATE webhook_deliveries SET unstored = NULL").await;
    assert_eq!(subjects(22 + LEASE).await, ["a", "b"]);
}

async fn who_fails_for_long_or_is_gone_is_disabled(fixture: Fixture) {
    const DAY: i64 = 86_400_000;
    prepared(&fixture).await;
    fixture.hook("wh_2", "U1", &OutboxEventKind::ALL, None).await;
    fixture.hook("wh_other", "U2", &OutboxEventKind::ALL, None).await;
    let many: Vec<_> = (0..9).map(|n| said("C1", &format!("m{n}"), 10, "x")).collect();
    fixture.keep(&many, 12).await;
    fixture.fanned_out("wh_1", 9, 20).await;
    let (user, id) = (UserId::from("U1"), WebhookId::from("wh_1"));
    let fail = async |day: i64, next: Next| {
        let now = day * DAY;
        let taken = fixture.lease(LeaseRoom { failing: 9, ..room(99, 1) }, now).await;
        let one = taken.iter().find(|d| d.webhook == id).unwrap();
        fixture.settle(&[attempt(one, next, now)], now - 5 * DAY, now).await
    };
    let failing =
        async || fixture.store.webhooks().webhook(&user, &id).await.unwrap().unwrap().failing_since;
    assert!(fail(1, Next::Retry(at(99 * DAY))).await.is_empty());
    assert_eq!(failing().await, Some(at(DAY)));
    assert!(fail(2, Next::Delivered).await.is_empty());
    assert_eq!(failing().await, None, "a success is a new beginning");
    assert!(fail(3, Next::Failed).await.is_empty());
    assert!(fail(7, Next::Failed).await.is_empty());
    assert_eq!(failing().await, Some(at(3 * DAY)));
    assert_eq!(fail(8, Next::Retry(at(99 * DAY))).await, [DisabledReason::Failing]);
    let webhook = fixture.store.webhooks().webhook(&user, &id).await.unwrap().unwrap();
    assert!(!webhook.enabled);
    assert_eq!(webhook.disabled, Some((DisabledReason::Failing, at(8 * DAY))));
    assert!(fixture.lease(room(99, 9), 9 * DAY).await.iter().all(|d| d.webhook != id));

    // The owner's other webhook gets the event, and the owner; nobody else.
    let last = async |webhook: &str| {
        until("the end is told", DEADLINE, async || {
            while fixture.store.webhooks().fan_out_webhooks(at(8 * DAY)).await.unwrap().is_some() {}
            fixture.log(webhook, None).await.len() == 10
        })
        .await;
        fixture.log(webhook, None).await.remove(0).event
    };
    let told = last("wh_2").await;
    assert_eq!(told.kind, Some(OutboxEventKind::EndpointDisabled));
    assert_eq!((told.subject.as_deref(), told.detail.as_deref()), (Some("U1"), Some("wh_1")));
    assert_eq!(fixture.log("wh_other", None).await.len(), 9);
    assert_eq!(fixture.log("wh_1", None).await.len(), 9);
    let pending = fixture.store.webhooks().pending_webhook_notices(None, 10).await.unwrap();
    assert_eq!(
        (pending.len(), pending[0].id.as_str(), pending[0].chat.is_none()),
        (1, "wh_1", true)
    );
    assert!(
        fixture
            .store
            .webhooks()
            .settle_webhook_notice(&pending[0], NoticeOutcome::NoChat, at(1))
            .await
            .unwrap()
    );
    assert!(
        !fixture
            .store
            .webhooks()
            .settle_webhook_notice(&pending[0], NoticeOutcome::Sent, at(2))
            .await
            .unwrap()
    );
    assert!(fixture.store.webhooks().pending_webhook_notices(None, 10).await.unwrap().is_empty());

    // Enabled again it begins anew; and 410 ends it at once.
    let on = wants(&OutboxEventKind::ALL);
    let changed = fixture.change(id.as_str(), on, &Bounds::full(), 9 * DAY).await;
    assert_eq!(changed, WebhookChanged::Done);
    let webhook = fixture.store.webhooks().webhook(&user, &id).await.unwrap().unwrap();
    assert_eq!((webhook.disabled, webhook.failing_since), (None, None));
    assert!(fail(100, Next::Failed).await.is_empty());
    assert_eq!(fail(101, Next::Gone).await, [DisabledReason::Gone]);
    assert_eq!(
        fixture.store.webhooks().pending_webhook_notices(None, 10).await.unwrap()[0].reason,
        DisabledReason::Gone
    );
}

async fn who_asks_for_a_pause_gets_it(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C1", "b", 11, "y")], 12).await;
    fixture.fanned_out("wh_1", 2, 20).await;
    let taken = fixture.lease(room(9, 1), 20).await;
    let until: Timestamp = at(60_000);
    let busy = Attempt { not_until: Some(until), ..attempt(&taken[0], Next::Retry(until), 21) };
    fixture.settle(&[busy], 0, 22).await;
    assert!(fixture.lease(room(9, 4), 59_999).await.is_empty(), "the other one waits, too");
    assert_eq!(fixture.queue(0, 59_999).await, (2, 0, None), "neither is late");
    let log = fixture.log("wh_1", None).await;
    assert!(log.len() == 2 && log.iter().all(|d| d.due_at == Some(until)), "{log:?}");
    assert_eq!(fixture.queue(0, 60_000).await, (2, 2, Some(60_000)), "from the end of the pause");
    assert_eq!(fixture.lease(room(9, 4), 60_000).await.len(), 2);
}

async fn only_what_may_be_leased_from_who_works_is_due(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.hook("wh_2", "U2", &OutboxEventKind::ALL, None).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C1", "b", 11, "y")], 12).await;
    for webhook in ["wh_1", "wh_2"] {
        fixture.fanned_out(webhook, 2, 20).await;
    }
    let taken = fixture.lease(room(9, 1), 20).await;
    let first = taken.iter().find(|d| d.webhook.as_str() == "wh_1").unwrap();
    fixture.settle(&[attempt(first, Next::Retry(at(30)), 21)], 0, 22).await;
    // One of the other webhook is under way.
    assert_eq!(fixture.queue(20, 40).await, (4, 3, Some(20)), "it has just begun to fail");
    assert_eq!(fixture.queue(21, 40).await, (4, 1, Some(20)), "it has been failing for a while");
    fixture.run("UPDATE webhooks SET ends_at = 50 WHERE webhook_id = 'wh_2'").await;
    assert_eq!(fixture.queue(21, 49).await, (4, 1, Some(20)));
    assert_eq!(fixture.queue(21, 50).await, (4, 0, None), "the other one has ended");
}

async fn what_an_address_did_says_nothing_about_the_next(fixture: Fixture) {
    prepared(&fixture).await;
    let many: Vec<_> = (0..3).map(|n| said("C1", &format!("m{n}"), 10, "x")).collect();
    fixture.keep(&many, 12).await;
    fixture.fanned_out("wh_1", 3, 20).await;
    let taken = fixture.lease(room(9, 3), 20).await;
    assert_eq!(taken.len(), 3);
    let moved = WebhookChange { url: "https://new.example.org/", ..wants(&OutboxEventKind::ALL) };
    assert_eq!(fixture.change("wh_1", moved, &Bounds::full(), 21).await, WebhookChanged::Done);
    let state = async || {
        let webhook = fixture.webhook_of_u1("wh_1").await;
        (webhook.enabled, webhook.failing_since)
    };
    // The attempts that were under way.
    let until = at(60_000);
    let busy = Attempt { not_until: Some(until), ..attempt(&taken[0], Next::Retry(until), 21) };
    let gone = attempt(&taken[1], Next::Gone, 21);
    assert!(fixture.settle(&[busy, gone], 0, 22).await.is_empty());
    assert_eq!(state().await, (true, None));
    fixture.keep(&[said("C1", "next", 30, "x")], 31).await;
    fixture.fanned_out("wh_1", 4, 32).await;
    let next = fixture.lease(room(9, 3), 32).await.remove(0);
    assert_eq!(next.url, "https://new.example.org/", "nothing holds it up");
    assert!(fixture.settle(&[attempt(&next, Next::Failed, 33)], 0, 33).await.is_empty());
    assert!(fixture.settle(&[attempt(&taken[2], Next::Delivered, 34)], 0, 34).await.is_empty());
    assert_eq!(state().await, (true, Some(at(33))), "the new one fails still");
}

async fn the_log_is_listed_repeated_and_purged(fixture: Fixture) {
    prepared(&fixture).await;
    let id = WebhookId::from("wh_1");
    for n in 0..5 {
        fixture.keep(&[said("C1", &format!("m{n}"), 10, "x")], 12).await;
        fixture.fanned_out("wh_1", n + 1, 20 + i64::try_from(n).unwrap()).await;
    }
    let store = &fixture.store;
    let full = Bounds::full();
    let filter = DeliveryFilter::within(&full);
    let page = store.webhooks().webhook_deliveries(&id, filter, 2).await.unwrap();
    let filter = DeliveryFilter { before: Some(page[1].number), ..filter };
    let next = store.webhooks().webhook_deliveries(&id, filter, 9).await.unwrap();
    let numbers: Vec<_> = page.iter().chain(&next).map(|d| d.number).collect();
    assert!(numbers.len() == 5 && numbers.is_sorted_by(|a, b| a > b));
    let all = DeliveryFilter::within(&full);
    for (filter, count) in [
        (DeliveryFilter { event: Some("message.received"), ..all }, 5),
        (DeliveryFilter { event: Some("member.left"), ..all }, 0),
        (DeliveryFilter { from: Some(at(22)), ..all }, 3),
        (DeliveryFilter { to: Some(at(22)), ..all }, 2),
        (DeliveryFilter { from: Some(at(21)), to: Some(at(23)), ..all }, 2),
    ] {
        let found = store.webhooks().webhook_deliveries(&id, filter, 9).await.unwrap();
        assert_eq!(found.len(), count, "{filter:?}");
    }
    let taken = fixture.lease(room(9, 9), 100).await;
    let outcomes = [Next::Delivered, Next::Failed, Next::Failed, Next::Dropped, Next::Failed];
    let attempts: Vec<_> =
        taken.iter().zip(outcomes).map(|(d, next)| attempt(d, next, 100)).collect();
    fixture.settle(&attempts, 0, 101).await;
    assert_eq!(fixture.log("wh_1", Some(DeliveryStatus::Failed)).await.len(), 3);
    assert_eq!(store.webhooks().redeliver_since(&id, &full, at(22), at(200)).await.unwrap(), 2);
    assert_eq!(
        store.webhooks().redeliver_since(&"wh_none".into(), &full, at(0), at(9)).await.unwrap(),
        0
    );
    store.webhooks().redeliver(&id, taken[0].number, at(201)).await.unwrap();
    let pending = fixture.log("wh_1", Some(DeliveryStatus::Pending)).await;
    assert!(pending.len() == 3 && pending.iter().all(|d| d.attempts == 0));
    let again = fixture.lease(room(9, 9), 300).await;
    assert_eq!(
        again[0].event.id,
        taken.iter().find(|d| d.number == again[0].number).unwrap().event.id
    );
    store.webhooks().redeliver(&id, again[0].number, at(301)).await.unwrap();
    assert!(fixture.lease(room(9, 9), 302).await.is_empty(), "what is under way is left alone");

    let test = store.webhooks().test_webhook(&id, "evt_test_1", at(400)).await.unwrap().unwrap();
    let test = store.webhooks().webhook_delivery(&id, test, &full).await.unwrap().unwrap();
    assert_eq!((test.event.kind, test.event.detail.as_deref()), (None, Some("wh_1")));
    assert!(
        store
            .webhooks()
            .webhook_delivery(&"wh_2".into(), test.number, &full)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.webhooks().test_webhook(&"wh_none".into(), "e", at(1)).await.unwrap(), None);
    assert_eq!(store.webhooks().purge_webhook_deliveries(at(22)).await.unwrap(), 2);
    assert_eq!(store.webhooks().purge_webhook_deliveries(at(22)).await.unwrap(), 0);
    assert!(store.webhooks().drop_webhook(&"U1".into(), &id).await.unwrap());
    assert_eq!(fixture.value("SELECT COUNT(*) FROM webhook_deliveries").await, "0");
}

async fn more_failed_deliveries_than_a_batch_has_are_repeated(fixture: Fixture) {
    prepared(&fixture).await;
    fixture
        .run(
            "WITH RECURSIVE numbers (n) AS (
                 SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)
             INSERT INTO webhook_deliveries (webhook_id, event_id, type, at, created_at, status)
             SELECT 'wh_1', 'evt_' || n, 'webhook.test', 20, 20 + n % 2, 'failed' FROM numbers",
        )
        .await;
    let (webhooks, full) = (fixture.store.webhooks(), Bounds::full());
    let again = webhooks.redeliver_since(&"wh_1".into(), &full, at(21), at(30)).await.unwrap();
    assert_eq!(again, 1_250);
    let due = "SELECT COUNT(*) FROM webhook_deliveries WHERE status = 'pending' AND due_at = 30";
    assert_eq!(fixture.value(due).await, "1250");
    let again = webhooks.redeliver_since(&"wh_1".into(), &full, at(0), at(31)).await.unwrap();
    assert_eq!(again, 1_250, "the others");
}
