//! Delivery as such: retries, the meaning of responses, isolation of slow endpoints.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_core::time::{Clock as _, Timestamp};
use chatkeep_store::{DeliveryStatus, DisabledReason, PresenceEvidenceKind};
use chatkeep_workers::notifier::NotifierSettings;
use tokio_util::sync::CancellationToken;

use super::sink::Reply;
use super::{Bench, secret, settings, verify};
use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{Fixture, item, on_both};

on_both!(
    it_is_tried_as_planned_under_one_id_and_given_up,
    a_wish_to_wait_is_granted,
    answers_mean_what_they_say,
    who_fails_for_five_days_is_disabled,
    a_dead_one_delays_none_of_a_hundred,
    who_left_is_told_nothing_more,
    many_notifiers_tell_everything_once,
    who_stops_leaves_what_it_did_not_begin,
    private_addresses_are_not_called,
    every_attempt_is_signed,
);

fn seconds(from: Timestamp, to: Option<Timestamp>) -> u64 {
    to.unwrap().since(from).as_secs()
}

async fn it_is_tried_as_planned_under_one_id_and_given_up(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    let hook = bench.hook("U1", "/down").await;
    bench.sink.status("/down", 500);
    bench.say(1).await;
    bench.start(settings(), true);
    for (nth, pause) in (1..).zip([5, 300, 1_800]) {
        let delivery = bench.tried(&hook, nth).await;
        assert_eq!((delivery.status, delivery.http_status), (DeliveryStatus::Pending, Some(500)));
        assert_eq!(
            (delivery.error.as_deref(), delivery.answer.as_deref()),
            (Some("status"), Some("noted"))
        );
        let wait = seconds(bench.clock.now(), delivery.due_at);
        assert!((pause..=pause + pause / 10).contains(&wait), "{wait} after {pause}");
        bench.clock.advance(delivery.due_at.unwrap().since(bench.clock.now()));
    }
    let delivery = bench.tried(&hook, 4).await;
    assert_eq!((delivery.status, delivery.due_at), (DeliveryStatus::Failed, None));
    let received = bench.sink.at("/down");
    assert_eq!(received.len(), 4);
    assert!(received.iter().all(|one| one.id() == delivery.event.id));
    let times: BTreeSet<_> = received.iter().map(|one| &one.headers["webhook-timestamp"]).collect();
    assert_eq!(times.len(), 4, "each attempt says when it was made");
    // Repeated on request: the same id.
    bench.sink.status("/down", 204);
    let now = bench.clock.now();
    bench.fixture.store.webhooks().redeliver(&hook, delivery.number, now).await.unwrap();
    let delivery = bench.tried(&hook, 1).await;
    assert_eq!((delivery.status, delivery.error), (DeliveryStatus::Delivered, None));
    assert_eq!(bench.sink.at("/down")[4].id(), delivery.event.id);
    bench.end().await;
}

async fn a_wish_to_wait_is_granted(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    let hook = bench.hook("U1", "/busy").await;
    bench.sink.answer("/busy", Reply::Status(429, Some(("retry-after", "600".to_owned()))));
    bench.say(1).await;
    bench.start(settings(), true);
    let delivery = bench.tried(&hook, 1).await;
    assert_eq!(seconds(bench.clock.now(), delivery.due_at), 600);
    // New events wait, too; then everything comes.
    bench.say(1).await;
    until("the second is there", DEADLINE, async || bench.log(&hook).await.len() == 2).await;
    bench.sink.status("/busy", 200);
    bench.clock.advance(Duration::from_secs(599));
    bench.fixture.group("C2", &["U9"]).await;
    bench.hook("U1", "/other").await;
    bench.say(1).await;
    until("another webhook is told", DEADLINE, async || bench.sink.at("/other").len() == 1).await;
    assert_eq!(bench.sink.at("/busy").len(), 1);
    bench.clock.advance(Duration::from_secs(1));
    until("all arrived", DEADLINE, async || bench.sink.at("/busy").len() == 4).await;
    bench.end().await;
}

async fn answers_mean_what_they_say(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    let target = bench.sink.url("/target");
    let found = || Some(("location", target.clone()));
    let replies = [
        ("/ok", Reply::Status(204, None), "delivered", None),
        ("/endless", Reply::Endless, "delivered", None),
        ("/moved", Reply::Status(302, found()), "pending", Some("redirect")),
        ("/moved/too", Reply::Status(307, found()), "pending", Some("redirect")),
        ("/bad", Reply::Status(400, None), "pending", Some("status")),
        ("/hangs", Reply::Hang, "pending", Some("timeout")),
        ("/gone", Reply::Status(410, None), "failed", Some("gone")),
    ];
    let mut hooks = Vec::new();
    for (path, reply, ..) in &replies {
        bench.sink.answer(path, reply.clone());
        hooks.push(bench.hook("U1", path).await);
    }
    bench.say(1).await;
    bench.start(super::NotifierSettings { timeout: Duration::from_secs(1), ..settings() }, true);
    for ((path, _, status, error), hook) in replies.iter().zip(&hooks) {
        let delivery = bench.tried(hook, 1).await;
        assert_eq!(delivery.status.name(), *status, "{path}");
        assert_eq!(delivery.error.as_deref(), *error, "{path}");
        let kept = delivery.answer.map_or(0, |answer| answer.len());
        assert_eq!(kept > 1_000, *path == "/endless", "{path}");
        assert!(kept <= 4_096);
    }
    assert!(bench.sink.at("/target").is_empty(), "no redirect is followed");
    let (user, gone) = ("U1".into(), &hooks[6]);
    let webhook = bench.fixture.store.webhooks().webhook(&user, gone).await.unwrap().unwrap();
    assert_eq!(webhook.disabled.unwrap().0, DisabledReason::Gone);
    assert!(!webhook.enabled);
    bench.end().await;
}

async fn who_fails_for_five_days_is_disabled(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    let (hook, user) = (bench.hook("U1", "/down").await, "U1".into());
    bench.sink.status("/down", 500);
    bench.start(settings(), true);
    for _ in 0..5 {
        let before = bench.sink.at("/down").len();
        bench.say(1).await;
        until("it failed", DEADLINE, async || bench.sink.at("/down").len() > before).await;
        let webhook = bench.fixture.store.webhooks().webhook(&user, &hook).await.unwrap().unwrap();
        assert!(webhook.enabled);
        bench.clock.advance(Duration::from_hours(24));
    }
    until("it is disabled", DEADLINE, async || {
        let webhook = bench.fixture.store.webhooks().webhook(&user, &hook).await.unwrap().unwrap();
        webhook.disabled.is_some_and(|(reason, _)| reason == DisabledReason::Failing)
    })
    .await;
    bench.end().await;
}

async fn a_dead_one_delays_none_of_a_hundred(fixture: Fixture) {
    const USERS: usize = 10;
    const OF_EACH: usize = 10;
    const MESSAGES: usize = 20;
    let mut bench = Bench::new(fixture).await;
    let users: Vec<_> = (0..USERS).map(|n| format!("Ulive{n}")).collect();
    let names: Vec<_> = users.iter().map(String::as_str).collect();
    bench.fixture.group("C1", &names).await;
    let dead = bench.hook("U1", "/dead").await;
    bench.sink.answer("/dead", Reply::Hang);
    let mut paths = Vec::new();
    for user in &users {
        for n in 0..OF_EACH {
            let path = format!("/{user}/{n}");
            bench.hook(user, &path).await;
            paths.push(path);
        }
    }
    bench.say(MESSAGES).await;
    // It is called and does not respond for as long as the test lasts.
    bench.start(super::NotifierSettings { timeout: DEADLINE * 2, ..settings() }, true);
    until("everybody else has everything", DEADLINE, async || {
        paths.iter().all(|path| bench.sink.at(path).len() == MESSAGES)
    })
    .await;
    let waiting = bench.sink.at("/dead").len();
    assert_eq!(waiting, 4, "the dead one holds as many as it may");
    let log = bench.log(&dead).await;
    assert!(log.len() == MESSAGES && log.iter().all(|delivery| delivery.attempts == 0));
    for notifier in bench.notifiers {
        notifier.abort();
    }
}

async fn who_left_is_told_nothing_more(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    let hook = bench.hook("U1", "/down").await;
    bench.sink.status("/down", 500);
    bench.say(1).await;
    bench.start(settings(), true);
    let first = bench.tried(&hook, 1).await;
    let left = item("C1", bench.clock.now().millis(), PresenceEvidenceKind::Left("U1".into()));
    bench.fixture.store.members().record_presence(&[left], bench.clock.now()).await.unwrap();
    bench.clock.advance(first.due_at.unwrap().since(bench.clock.now()));
    until("it is dropped", DEADLINE, async || {
        let delivery = bench.log(&hook).await.pop().unwrap();
        delivery.status == DeliveryStatus::Dropped
            && delivery.error.as_deref() == Some("not_permitted")
    })
    .await;
    assert_eq!(bench.sink.at("/down").len(), 1);
    bench.end().await;
}

async fn many_notifiers_tell_everything_once(fixture: Fixture) {
    const COUNT: usize = 300;
    let mut bench = Bench::new(fixture).await;
    let hooks = [bench.hook("U1", "/a").await, bench.hook("U1", "/b").await];
    for _ in 0..3 {
        bench.start(settings(), true);
    }
    for _ in 0..10 {
        bench.say(COUNT / 10).await;
    }
    for (path, hook) in ["/a", "/b"].into_iter().zip(&hooks) {
        until("everything arrived", DEADLINE, async || {
            let log = bench.log(hook).await;
            log.len() == COUNT && log.iter().all(|d| d.status == DeliveryStatus::Delivered)
        })
        .await;
        let received = bench.sink.at(path);
        let ids: BTreeSet<_> = received.iter().map(|one| one.id().to_owned()).collect();
        assert_eq!((received.len(), ids.len()), (COUNT, COUNT));
    }
    bench.end().await;
}

async fn who_stops_leaves_what_it_did_not_begin(fixture: Fixture) {
    const COUNT: usize = 20;
    let mut bench = Bench::new(fixture).await;
    bench.hook("U1", "/slow").await;
    bench.sink.answer("/slow", Reply::Hang);
    bench.say(COUNT).await;
    let patient = NotifierSettings { timeout: Duration::from_secs(3), ..settings() };
    let each = patient.parallel_each;
    bench.start(patient, true);
    let leased = async |bench: &Bench| {
        let all = "SELECT COUNT(*) FROM webhook_deliveries WHERE leased = 1";
        bench.fixture.value(all).await
    };
    until("all are taken, as many as may be under way", DEADLINE, async || {
        bench.sink.at("/slow").len() == each && leased(&bench).await == COUNT.to_string()
    })
    .await;
    bench.stop.cancel();
    bench.notifiers.remove(0).await.unwrap();
    assert_eq!(bench.sink.at("/slow").len(), each, "nothing was begun after the stop");
    assert_eq!(leased(&bench).await, "0");
    // The clock stands still: no lease ends, and no retry is due.
    bench.stop = CancellationToken::new();
    bench.sink.status("/slow", 204);
    bench.start(settings(), true);
    until("the next one has the others", DEADLINE, async || bench.sink.at("/slow").len() == COUNT)
        .await;
    let ids: BTreeSet<_> = bench.sink.at("/slow").iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(ids.len(), COUNT);
    bench.end().await;
}

async fn private_addresses_are_not_called(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    let hook = bench.hook("U1", "/private").await;
    bench.say(1).await;
    bench.start(settings(), false);
    let delivery = bench.tried(&hook, 1).await;
    assert_eq!(delivery.error.as_deref(), Some("forbidden_address"));
    assert!(bench.sink.at("/private").is_empty());
    bench.end().await;
}

async fn every_attempt_is_signed(fixture: Fixture) {
    let mut bench = Bench::new(fixture).await;
    // The verifiers need the present time.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let start = Duration::from_millis(1_767_323_045_678);
    bench.clock.advance(now.checked_sub(start).unwrap());
    let hook = bench.hook("U1", "/signed").await;
    bench.say(3).await;
    bench.start(settings(), true);
    until("all arrived", DEADLINE, async || bench.sink.at("/signed").len() == 3).await;
    bench.stop.cancel();
    let received = bench.sink.at("/signed");
    let cases: Vec<_> = received.iter().map(|one| one.to_verify(&secret())).collect();
    verify::all(&cases).await;
    let mut forged = received[0].clone();
    forged.body.push(' ');
    let wrong = [forged.to_verify(&secret()), received[1].to_verify("whsec_AAAA")];
    verify::none(&wrong).await;
    assert_eq!(bench.log(&hook).await.len(), 3);
    bench.end().await;
}
