//! Webhooks and their deliveries: each event to each endpoint once, leased fairly; recorded by the
//! last holder of the lease.

mod bounds;
mod secrets;
mod settled;
mod since;

use std::collections::BTreeSet;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, UserId, WebhookId};
use chatkeep_core::plan::Plan;
use chatkeep_core::signing;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    Attempt, DeliveryFilter, DeliveryStatus, DisabledReason, LeaseRoom, LeasedDelivery, NewWebhook,
    Next, OutboxEventKind, PresenceEvidenceKind, UnstoredReason, WEBHOOKS_OF_USER, Webhook,
    WebhookChange, WebhookChanged, WebhookDelivery, WebhookMade, WebhookMaker,
};
use secrecy::ExposeSecret as _;

use super::{Fixture, answered, at, edited, item, on_both, said, unsent};
use crate::harness::wait::{DEADLINE, until};

on_both!(
    a_webhook_is_made_changed_and_deleted,
    what_happens_becomes_deliveries_once,
    only_what_is_wanted_and_may_be_read,
    usage_is_told_to_its_user_alone,
    each_webhook_gets_its_share,
    a_lease_ends_and_the_last_claim_decides,
    a_rejoined_owner_is_looked_at_when_it_is_delivered,
    many_takers_never_take_the_same,
    an_answer_waits_for_the_first_attempt_of_what_it_answers,
    what_is_not_kept_is_delivered_without_content,
    long_pauses_stay_and_those_of_a_wrong_clock_end,
);

const LEASE: i64 = 45_000;

impl Fixture {
    async fn hook(
        &self,
        id: &str,
        user: &str,
        events: &[OutboxEventKind],
        channels: Option<&[&str]>,
    ) {
        let channels: Option<Vec<ChannelId>> =
            channels.map(|only| only.iter().map(|id| ChannelId::from(*id)).collect());
        let change = WebhookChange { channels: channels.as_deref(), ..wants(events) };
        let (id, user) = (WebhookId::from(id), UserId::from(user));
        let secret = signing::secret([1; 32]);
        let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
        let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
        assert_eq!(
            self.store.webhooks().add_webhook(&new, at(5)).await.unwrap(),
            WebhookMade::Done
        );
    }

    /// Creates deliveries until there are as many: on PostgreSQL a transaction that runs anywhere
    /// in the server holds back rows committed after it began.
    async fn fanned_out(&self, webhook: &str, count: usize, now: i64) -> Vec<WebhookDelivery> {
        let mut all = Vec::new();
        until(&format!("{count} deliveries"), DEADLINE, async || {
            while self.store.webhooks().fan_out_webhooks(at(now)).await.unwrap().is_some() {}
            all = self.log(webhook, None).await;
            all.len() >= count
        })
        .await;
        assert_eq!(all.len(), count, "{all:?}");
        all
    }

    async fn log(&self, webhook: &str, status: Option<DeliveryStatus>) -> Vec<WebhookDelivery> {
        let bounds = Bounds::full();
        let filter = DeliveryFilter { status, ..DeliveryFilter::within(&bounds) };
        self.store.webhooks().webhook_deliveries(&webhook.into(), filter, 1_000).await.unwrap()
    }

    /// Changes a webhook by a session with those bounds.
    async fn change(
        &self,
        id: &str,
        change: WebhookChange<'_>,
        bounds: &Bounds,
        now: i64,
    ) -> WebhookChanged {
        let maker = WebhookMaker { key: None, bounds };
        let known = self.webhook_of_u1(id).await;
        self.store.webhooks().change_webhook(&known, change, maker, at(now)).await.unwrap()
    }

    async fn lease(&self, room: LeaseRoom, now: i64) -> Vec<LeasedDelivery> {
        self.store.webhooks().lease_deliveries(room, at(now + LEASE), at(now)).await.unwrap()
    }

    async fn settle(&self, attempts: &[Attempt], give_up: i64, now: i64) -> Vec<DisabledReason> {
        let disabled =
            self.store.webhooks().settle_webhooks(attempts, at(give_up), at(now)).await.unwrap();
        disabled.into_iter().map(|(_, reason)| reason).collect()
    }

    /// Returns the numbers of unfinished and of due deliveries, and the time at which the first of
    /// these became due.
    async fn queue(&self, failing_before: i64, now: i64) -> (i64, i64, Option<i64>) {
        let webhooks = self.store.webhooks();
        let queue = webhooks.webhook_queue(at(failing_before), at(now)).await.unwrap();
        (queue.waiting, queue.due, queue.oldest_due.map(Timestamp::millis))
    }
}

fn wants(events: &[OutboxEventKind]) -> WebhookChange<'_> {
    WebhookChange {
        url: "https://example.org/",
        description: "",
        events,
        channels: None,
        enabled: true,
    }
}

fn room(total: usize, each: usize) -> LeaseRoom {
    LeaseRoom { total, failing: total / 2, each, per_failed: each, failing_before: at(i64::MIN) }
}

fn attempt(delivery: &LeasedDelivery, next: Next, time: i64) -> Attempt {
    Attempt {
        delivery: delivery.clone(),
        at: at(time),
        took_ms: Some(3),
        http_status: Some(200),
        error: None,
        answer: Some("what was said".to_owned()),
        request_bytes: Some(10),
        not_until: None,
        next,
    }
}

async fn prepared(fixture: &Fixture) {
    fixture.group("C1", &["U1", "U2"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    fixture.hook("wh_1", "U1", &OutboxEventKind::ALL, None).await;
}

async fn a_webhook_is_made_changed_and_deleted(fixture: Fixture) {
    prepared(&fixture).await;
    let (store, user, id) = (&fixture.store, UserId::from("U1"), WebhookId::from("wh_1"));
    let webhook = store.webhooks().webhook(&user, &id).await.unwrap().unwrap();
    assert!(webhook.enabled && webhook.channels.is_none());
    assert_eq!(webhook.events.len(), OutboxEventKind::ALL.len());
    assert_eq!((webhook.old_until, webhook.failing_since), (None, None));
    let secret = signing::secret([1; 32]);
    assert!(secret.expose_secret().ends_with(&webhook.mask) && webhook.mask.len() == 4);
    assert!(!format!("{webhook:?}").contains(secret.expose_secret()));
    assert!(store.webhooks().webhook(&"U2".into(), &id).await.unwrap().is_none(), "another user's");

    let channels = ["C1".into()];
    let change = WebhookChange {
        url: "https://example.org/2",
        description: "two",
        channels: Some(&channels),
        enabled: false,
        ..wants(&[OutboxEventKind::MemberLeft])
    };
    let full = Bounds::full();
    let maker = WebhookMaker { key: None, bounds: &full };
    let other = Webhook { user: "U2".into(), ..webhook.clone() };
    let changed = store.webhooks().change_webhook(&other, change, maker, at(9)).await.unwrap();
    assert_eq!(changed, WebhookChanged::NoWebhook);
    let changed = store.webhooks().change_webhook(&webhook, change, maker, at(9)).await.unwrap();
    assert_eq!(changed, WebhookChanged::Done);
    // It is no longer as this caller knows it.
    let late = WebhookChange { description: "three", ..change };
    let changed = store.webhooks().change_webhook(&webhook, late, maker, at(10)).await.unwrap();
    assert_eq!(changed, WebhookChanged::Stale);
    let webhook = store.webhooks().webhook(&user, &id).await.unwrap().unwrap();
    assert_eq!((webhook.url.as_str(), webhook.description.as_str()), (change.url, "two"));
    assert_eq!(webhook.events, [OutboxEventKind::MemberLeft]);
    assert_eq!(webhook.channels.as_deref(), Some(&channels[..]));
    assert_eq!((webhook.enabled, webhook.updated_at, webhook.created_at), (false, at(9), at(5)));

    let new = signing::secret([2; 32]);
    for n in 1..WEBHOOKS_OF_USER {
        fixture.hook(&format!("wh_more{n:02}"), "U1", &OutboxEventKind::ALL, None).await;
    }
    assert_eq!(store.webhooks().list(&user).await.unwrap().len(), WEBHOOKS_OF_USER);
    let more = NewWebhook { id: &"wh_too_many".into(), user: &user, secret: &new, change, maker };
    assert_eq!(store.webhooks().add_webhook(&more, at(5)).await.unwrap(), WebhookMade::TooMany);
    assert!(!store.webhooks().drop_webhook(&"U2".into(), &id).await.unwrap());
    assert!(store.webhooks().drop_webhook(&user, &id).await.unwrap());
    assert!(!store.webhooks().drop_webhook(&user, &id).await.unwrap());
}

async fn long_pauses_stay_and_those_of_a_wrong_clock_end(fixture: Fixture) {
    const DAY: i64 = 86_400_000;
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 10, "x")], 12).await;
    fixture.fanned_out("wh_1", 1, 20).await;
    for (due, reset) in [(DAY * 11 / 10, 0), (DAY * 77 / 10, 0), (100 * DAY, 1)] {
        fixture.run(&format!("UPDATE webhook_deliveries SET due_at = {due}")).await;
        assert_eq!(fixture.store.jobs().reset_future_times(at(20)).await.unwrap(), reset);
    }
    assert_eq!(fixture.log("wh_1", None).await[0].due_at, Some(at(20)));
}

async fn what_happens_becomes_deliveries_once(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 10, "x"), said("C1", "b", 11, "y")], 12).await;
    fixture.keep(&[edited("C1", "a", 13, "z"), unsent("C1", "b", 14)], 15).await;
    let log = fixture.fanned_out("wh_1", 4, 20).await;
    let told: Vec<_> =
        log.iter().rev().map(|d| (d.event.kind.unwrap().name(), d.event.at)).collect();
    let expected = [
        ("message.received", at(10)),
        ("message.received", at(11)),
        ("message.edited", at(13)),
        ("message.unsent", at(14)),
    ];
    assert_eq!(told, expected);
    assert!(log.iter().all(|d| d.status == DeliveryStatus::Pending && d.due_at == Some(at(20))));
    let ids: BTreeSet<_> = log.iter().map(|delivery| delivery.event.id.clone()).collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| id.starts_with("evt_")));
    // A position that is read once more creates nothing twice.
    fixture.run("UPDATE webhook_outbox_position SET tx = 0, seq = 0").await;
    fixture.keep(&[said("C1", "c", 16, "x")], 17).await;
    fixture.fanned_out("wh_1", 5, 21).await;
}

async fn only_what_is_wanted_and_may_be_read(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1", "U3"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    fixture.hook("wh_edits", "U1", &[OutboxEventKind::MessageEdited], None).await;
    fixture.hook("wh_c2", "U1", &OutboxEventKind::ALL, Some(&["C2", "C_other"])).await;
    fixture.hook("wh_u2", "U2", &OutboxEventKind::ALL, None).await;
    fixture.hook("wh_off", "U1", &OutboxEventKind::ALL, None).await;
    let off = WebhookChange { enabled: false, ..wants(&OutboxEventKind::ALL) };
    let user = UserId::from("U1");
    let full = Bounds::full();
    assert_eq!(fixture.change("wh_off", off, &full, 6).await, WebhookChanged::Done);
    let since = NewWebhook {
        id: &"wh_since".into(),
        user: &user,
        secret: &signing::secret([1; 32]),
        change: wants(&OutboxEventKind::ALL),
        maker: WebhookMaker {
            key: None,
            bounds: &Bounds { not_before: Some(at(11)), ..Bounds::full() },
        },
    };
    assert_eq!(
        fixture.store.webhooks().add_webhook(&since, at(5)).await.unwrap(),
        WebhookMade::Done
    );
    fixture.keep(&[said("C1", "a", 10, "x"), said("C2", "b", 11, "y")], 12).await;
    fixture.keep(&[edited("C1", "a", 13, "z")], 14).await;
    let subjects = async |webhook: &str, count: usize| {
        let log = fixture.fanned_out(webhook, count, 20).await;
        log.into_iter().rev().map(|d| d.event.subject.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(subjects("wh_1", 3).await, ["a", "b", "a"]);
    assert_eq!(subjects("wh_edits", 1).await, ["a"]);
    assert_eq!(subjects("wh_c2", 1).await, ["b"]);
    assert_eq!(subjects("wh_u2", 2).await, ["a", "a"]);
    assert_eq!(subjects("wh_since", 2).await, ["b", "a"]);
    assert!(fixture.log("wh_off", None).await.is_empty());
    // Enabled again it gets the events logged from then on.
    fixture.keep(&[said("C1", "late", 28, "x")], 29).await;
    let on = wants(&OutboxEventKind::ALL);
    assert_eq!(fixture.change("wh_off", on, &full, 30).await, WebhookChanged::Done);
    fixture.keep(&[said("C1", "new", 31, "x")], 31).await;
    assert_eq!(subjects("wh_off", 1).await, ["new"]);
}

async fn usage_is_told_to_its_user_alone(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.hook("wh_2", "U2", &OutboxEventKind::ALL, None).await;
    let short = Plan::Free.quota() / 100 * 90 - 10;
    fixture.preload("C1", "U1", short).await;
    fixture.keep(&[super::sized("C1", "a", 10, 60)], 11).await;
    let mine = fixture.fanned_out("wh_1", 2, 20).await;
    let usage = mine.iter().find(|d| d.event.kind == Some(OutboxEventKind::UsageCritical)).unwrap();
    assert_eq!((usage.event.channel.as_ref(), usage.event.subject.as_deref()), (None, Some("U1")));
    let theirs = fixture.fanned_out("wh_2", 1, 20).await;
    assert_eq!(theirs[0].event.kind, Some(OutboxEventKind::MessageReceived));
}

async fn each_webhook_gets_its_share(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.hook("wh_2", "U2", &OutboxEventKind::ALL, None).await;
    let many: Vec<_> = (0..30).map(|n| said("C1", &format!("m{n}"), 10 + n, "x")).collect();
    fixture.keep(&many, 50).await;
    fixture.fanned_out("wh_1", 30, 60).await;
    fixture.fanned_out("wh_2", 30, 60).await;
    let of = |taken: &[LeasedDelivery], id: &str| {
        taken.iter().filter(|d| d.webhook.as_str() == id).count()
    };
    let first = fixture.lease(room(100, 4), 60).await;
    assert_eq!((of(&first, "wh_1"), of(&first, "wh_2")), (4, 4));
    assert_eq!(first[0].secrets.len(), 1);
    assert!(fixture.lease(room(100, 4), 60).await.is_empty(), "each has four under way");
    assert_eq!(fixture.queue(i64::MIN, 60).await, (60, 52, Some(60)));
    let done: Vec<_> = first
        .iter()
        .filter(|d| d.webhook.as_str() == "wh_1")
        .map(|d| attempt(d, Next::Delivered, 60))
        .collect();
    assert!(fixture.settle(&done, 0, 61).await.is_empty());
    let second = fixture.lease(room(3, 4), 62).await;
    assert_eq!((of(&second, "wh_1"), of(&second, "wh_2")), (3, 0), "no more than there is room");
    let again: BTreeSet<_> = first.iter().chain(&second).map(|d| d.number).collect();
    assert_eq!(again.len(), 11, "nothing is taken twice");
    // A failing endpoint gets less, and after a while one at a time, of another share.
    let failed =
        first.iter().filter(|d| d.webhook.as_str() == "wh_2").map(|d| attempt(d, Next::Failed, 63));
    fixture.settle(&failed.collect::<Vec<_>>(), 0, 63).await;
    let unwell = fixture.lease(LeaseRoom { per_failed: 2, ..room(100, 4) }, 70).await;
    assert_eq!((of(&unwell, "wh_1"), of(&unwell, "wh_2")), (1, 2));
    // Returned deliveries are due at once.
    fixture.store.webhooks().return_deliveries(&unwell, at(71)).await.unwrap();
    let failing = LeaseRoom { failing_before: at(70), ..room(100, 4) };
    assert_eq!(of(&fixture.lease(failing, 71).await, "wh_2"), 1);
    let none = LeaseRoom { failing: 0, ..failing };
    assert_eq!(of(&fixture.lease(none, 71 + LEASE).await, "wh_2"), 0);
}

async fn a_lease_ends_and_the_last_claim_decides(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.keep(&[said("C1", "a", 10, "x")], 12).await;
    fixture.fanned_out("wh_1", 1, 20).await;
    let first = fixture.lease(room(9, 4), 20).await;
    assert!(fixture.lease(room(9, 4), 20 + LEASE - 1).await.is_empty());
    let second = fixture.lease(room(9, 4), 20 + LEASE).await;
    fixture.store.webhooks().return_deliveries(&first, at(25)).await.unwrap();
    assert!(
        fixture.lease(room(9, 4), 26 + LEASE).await.is_empty(),
        "it is not the first's any more"
    );
    assert_eq!(
        (first[0].number, first[0].event.id.clone()),
        (second[0].number, second[0].event.id.clone())
    );
    fixture.settle(&[attempt(&first[0], Next::Failed, 30)], 0, 31).await;
    assert_eq!(fixture.log("wh_1", None).await[0].status, DeliveryStatus::Pending, "too late");
    fixture.settle(&[attempt(&second[0], Next::Retry(at(99_000)), 40)], 0, 41).await;
    let waiting = fixture.log("wh_1", None).await.remove(0);
    assert_eq!((waiting.attempts, waiting.due_at), (1, Some(at(99_000))));
    assert!(fixture.lease(room(9, 4), 98_999).await.is_empty());
    let third = fixture.lease(room(9, 4), 99_000).await;
    assert_eq!(third[0].attempts, 1);
    assert_eq!(fixture.store.webhooks().release_deliveries(at(99_001)).await.unwrap(), 1);
    let fourth = fixture.lease(room(9, 4), 99_002).await;
    fixture.settle(&[attempt(&fourth[0], Next::Delivered, 99_003)], 0, 99_004).await;
    let done = fixture.log("wh_1", Some(DeliveryStatus::Delivered)).await.remove(0);
    assert_eq!((done.attempts, done.due_at, done.http_status), (2, None, Some(200)));
    assert!(fixture.lease(room(9, 4), i64::MAX / 2).await.is_empty());
}

async fn a_rejoined_owner_is_looked_at_when_it_is_delivered(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.hook("wh_c1", "U1", &OutboxEventKind::ALL, Some(&["C1"])).await;
    fixture.keep(&[said("C1", "a", 10, "x")], 12).await;
    fixture.fanned_out("wh_1", 1, 20).await;
    let taken = fixture.lease(room(9, 4), 20).await;
    assert!(taken.len() == 2 && taken.iter().all(|delivery| delivery.may_read));
    fixture
        .store
        .members()
        .record_presence(&[item("C1", 30, PresenceEvidenceKind::Left("U1".into()))], at(30))
        .await
        .unwrap();
    let channels = ["C2".into()];
    let elsewhere = WebhookChange { channels: Some(&channels), ..wants(&OutboxEventKind::ALL) };
    let taken = fixture.lease(room(9, 4), 20 + LEASE).await;
    assert!(taken.len() == 2 && taken.iter().all(|delivery| !delivery.may_read), "they left");
    fixture
        .store
        .members()
        .record_presence(&[item("C1", 40, PresenceEvidenceKind::Joined("U1".into()))], at(40))
        .await
        .unwrap();
    let changed = fixture.change("wh_c1", elsewhere, &Bounds::full(), 41).await;
    assert_eq!(changed, WebhookChanged::Done);
    let taken = fixture.lease(room(9, 4), 20 + 2 * LEASE).await;
    let may = |id: &str| taken.iter().find(|d| d.webhook.as_str() == id).unwrap().may_read;
    assert_eq!((may("wh_1"), may("wh_c1")), (true, false));
}

async fn many_takers_never_take_the_same(fixture: Fixture) {
    const COUNT: usize = 200;
    prepared(&fixture).await;
    let many: Vec<_> = (0..COUNT).map(|n| said("C1", &format!("m{n}"), 10, "x")).collect();
    fixture.keep(&many, 12).await;
    fixture.fanned_out("wh_1", COUNT, 20).await;
    let takers = (0..4).map(|_| {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            let mut numbers = Vec::new();
            loop {
                let taken = store
                    .webhooks()
                    .lease_deliveries(room(7, COUNT), at(LEASE), at(20))
                    .await
                    .unwrap();
                if taken.is_empty() {
                    return numbers;
                }
                numbers.extend(taken.iter().map(|delivery| delivery.number));
            }
        })
    });
    let mut numbers = Vec::new();
    for taker in takers.collect::<Vec<_>>() {
        numbers.extend(taker.await.unwrap());
    }
    // A claimer that saw only others' claims may have gone; the rest is still due.
    loop {
        let taken = fixture.lease(room(7, COUNT), 20).await;
        if taken.is_empty() {
            break;
        }
        numbers.extend(taken.iter().map(|delivery| delivery.number));
    }
    let distinct: BTreeSet<_> = numbers.iter().collect();
    assert_eq!((numbers.len(), distinct.len()), (COUNT, COUNT));
}

async fn an_answer_waits_for_the_first_attempt_of_what_it_answers(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C2", "U1", 5).await;
    let batch = [
        said("C1", "q1", 10, "?"),
        answered("C1", "a1", 11, "!"),
        said("C1", "q2", 12, "?"),
        answered("C1", "a2", 13, "!"),
        answered("C2", "elsewhere", 14, "!"),
    ];
    fixture.keep(&batch, 20).await;
    fixture.fanned_out("wh_1", 5, 21).await;
    let subjects = |taken: &[LeasedDelivery]| {
        let mut subjects: Vec<_> =
            taken.iter().filter_map(|one| one.event.subject.clone()).collect();
        subjects.sort();
        subjects
    };
    let first = fixture.lease(room(100, 100), 22).await;
    assert_eq!(subjects(&first), ["elsewhere", "q1", "q2"]);
    assert!(fixture.lease(room(100, 100), 23).await.is_empty(), "they are under way");
    let of = |subject: &str| {
        first.iter().find(|one| one.event.subject.as_deref() == Some(subject)).unwrap()
    };
    // The second question arrives before the first, whose attempt then fails.
    fixture.settle(&[attempt(of("q2"), Next::Delivered, 24)], 0, 24).await;
    assert!(fixture.lease(room(100, 100), 25).await.is_empty());
    fixture.settle(&[attempt(of("q1"), Next::Retry(at(5_000)), 26)], 0, 26).await;
    let next = fixture.lease(room(100, 100), 27).await;
    assert_eq!(subjects(&next), ["a1"], "one after the other");
    fixture.settle(&[attempt(&next[0], Next::Delivered, 28)], 0, 28).await;
    assert_eq!(subjects(&fixture.lease(room(100, 100), 29).await), ["a2"]);
}

async fn what_is_not_kept_is_delivered_without_content(fixture: Fixture) {
    prepared(&fixture).await;
    fixture.group("C2", &["U1"]).await;
    fixture.keep(&[said("C2", "a", 10, "x")], 20).await;
    let all = fixture.fanned_out("wh_1", 1, 21).await;
    assert_eq!(all[0].event.unstored.as_ref().unwrap().reason, UnstoredReason::NotSubscribed);
    let taken = fixture.lease(room(10, 10), 22).await;
    assert_eq!(taken[0].event, all[0].event);
}
