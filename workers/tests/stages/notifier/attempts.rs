//! Attempts: their times, the meaning of responses, signatures, bounds.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::role::Scope;
use chatkeep_core::signing;
use chatkeep_core::time::Clock as _;
use chatkeep_emulator::{Action, Fault, Target};
use chatkeep_store::{DeliveryFailure, DeliveryStatus, DisabledReason, LeasedDelivery};
use chatkeep_workers::notifier::Bodies;

use super::super::bench::{skip, until};
use super::super::sink::Reply;
use super::{Scene, settings};

#[tokio::test]
async fn it_is_tried_as_planned_under_one_id_and_given_up() {
    let scene = Scene::new().await;
    let hook = scene.hook("/down").await;
    scene.sink.status("/down", 500);
    scene.say(1).await;
    for (nth, pause) in (1..).zip([5, 300, 1_800]) {
        assert_eq!(scene.drain().await, 1);
        let delivery = scene.only(&hook).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, nth));
        let told = (delivery.http_status, delivery.error, delivery.answer.as_deref());
        assert_eq!(told, (Some(500), Some(DeliveryFailure::Status), Some("noted")));
        let wait = scene.wait(&hook).await;
        assert!((pause..=pause + pause / 10).contains(&wait), "{wait} after {pause}");
        let due = delivery.due_at.unwrap().since(scene.bench.clock.now());
        scene.bench.clock.advance(due.saturating_sub(Duration::from_millis(1)));
        assert_eq!(scene.drain().await, 0, "not before its time");
        scene.bench.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(scene.drain().await, 1);
    let delivery = scene.only(&hook).await;
    assert_eq!((delivery.status, delivery.due_at), (DeliveryStatus::Failed, None));
    let received = scene.sink.at("/down");
    assert!(received.len() == 4 && received.iter().all(|one| one.id() == delivery.event.id));
    let times: BTreeSet<_> = received.iter().map(|one| &one.headers["webhook-timestamp"]).collect();
    assert_eq!(times.len(), 4, "each attempt says when it was made");
    // Repeated on request, under the same id.
    scene.sink.status("/down", 204);
    let now = scene.bench.clock.now();
    scene.bench.store.webhooks().redeliver(&hook, delivery.number, now).await.unwrap();
    assert_eq!(scene.drain().await, 1);
    let delivery = scene.only(&hook).await;
    assert_eq!((delivery.status, delivery.error), (DeliveryStatus::Delivered, None));
    assert_eq!(scene.sink.at("/down")[4].id(), delivery.event.id);
}

/// Renders nothing.
struct Unrendered {
    transient: bool,
}

/// Error of [`Unrendered`].
#[derive(Debug, thiserror::Error)]
#[error("there is no body")]
struct NoBody {
    transient: bool,
}

impl Bodies for Unrendered {
    type Error = NoBody;

    async fn body(&self, _: &LeasedDelivery) -> Result<Option<Vec<u8>>, NoBody> {
        Err(NoBody { transient: self.transient })
    }

    fn is_transient(error: &NoBody) -> bool {
        error.transient
    }
}

#[tokio::test]
async fn what_cannot_be_rendered_is_given_up_and_says_nothing_of_the_endpoint() {
    let scene = Scene::new().await;
    let hook = scene.hook("/well").await;
    scene.say(1).await;
    let drain = async |transient| {
        let notifier = scene.notifier_of(Unrendered { transient }, settings(), true);
        notifier.drain().await.unwrap()
    };
    // The store is away: no attempt was made.
    assert_eq!(drain(true).await, 1);
    let delivery = scene.only(&hook).await;
    let told = (delivery.status, delivery.attempts, delivery.error);
    assert_eq!(told, (DeliveryStatus::Pending, 0, None));
    for nth in 1..=4 {
        let due = scene.only(&hook).await.due_at.unwrap();
        scene.bench.clock.advance(due.since(scene.bench.clock.now()));
        assert_eq!(drain(false).await, 1);
        let delivery = scene.only(&hook).await;
        let status = if nth < 4 { DeliveryStatus::Pending } else { DeliveryStatus::Failed };
        let told = (delivery.status, delivery.attempts, delivery.error, delivery.took_ms);
        assert_eq!(told, (status, nth, Some(DeliveryFailure::NotRendered), None));
    }
    let webhook = scene.webhook(&hook).await;
    assert_eq!((webhook.enabled, webhook.failing_since), (true, None));
    assert_eq!(scene.sink.at("/well").len(), 0);
}

#[tokio::test]
async fn an_endpoint_that_asks_to_wait_gets_nothing_until_then() {
    for status in [429, 503] {
        let scene = Scene::new().await;
        let (hook, _other) = (scene.hook("/busy").await, scene.hook("/other").await);
        let busy = Reply::Header(status, "retry-after", "600".to_owned());
        scene.sink.answer("/busy", busy);
        scene.say(1).await;
        scene.drain().await;
        assert_eq!(scene.wait(&hook).await, 600);
        // New events wait, too; those of other endpoints do not.
        scene.say(1).await;
        scene.sink.status("/busy", 200);
        scene.bench.clock.advance(Duration::from_secs(599));
        scene.drain().await;
        assert_eq!((scene.sink.at("/busy").len(), scene.sink.at("/other").len()), (1, 2));
        scene.bench.clock.advance(Duration::from_secs(1));
        scene.drain().await;
        assert_eq!(scene.sink.at("/busy").len(), 3);
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_and_asks_to_wait_gets_other_events_meanwhile() {
    let scene = Scene::new().await;
    let hook = scene.hook("/down").await;
    scene.sink.answer("/down", Reply::Header(500, "retry-after", "600".to_owned()));
    scene.say(1).await;
    scene.drain().await;
    assert_eq!(scene.wait(&hook).await, 600);
    scene.sink.status("/down", 200);
    scene.say(1).await;
    scene.drain().await;
    assert_eq!(scene.sink.at("/down").len(), 2);
}

#[tokio::test]
async fn responses_mean_what_they_say() {
    let scene = Scene::new().await;
    let target = scene.sink.url("/target");
    let found = |status| Reply::Header(status, "location", target.clone());
    let replies = [
        ("/ok", Reply::Status(204), DeliveryStatus::Delivered, None),
        ("/endless", Reply::Endless, DeliveryStatus::Delivered, None),
        ("/moved", found(302), DeliveryStatus::Pending, Some(DeliveryFailure::Redirect)),
        ("/moved/too", found(307), DeliveryStatus::Pending, Some(DeliveryFailure::Redirect)),
        ("/bad", Reply::Status(400), DeliveryStatus::Pending, Some(DeliveryFailure::Status)),
        ("/gone", Reply::Status(410), DeliveryStatus::Failed, Some(DeliveryFailure::Gone)),
    ];
    let mut hooks = Vec::new();
    for (path, reply, ..) in &replies {
        scene.sink.answer(path, reply.clone());
        hooks.push(scene.hook(path).await);
    }
    scene.say(1).await;
    scene.drain().await;
    for ((path, _, status, error), hook) in replies.iter().zip(&hooks) {
        let delivery = scene.only(hook).await;
        assert_eq!((delivery.status, delivery.error), (*status, *error), "{path}");
        let kept = delivery.answer.map_or(0, |answer| answer.len());
        assert_eq!(kept > 1_000, *path == "/endless", "{path}");
        assert!(kept <= 4_096);
    }
    assert!(scene.sink.at("/target").is_empty(), "no redirect is followed");
    let gone = scene.webhook(&hooks[5]).await;
    assert_eq!((gone.enabled, gone.disabled.unwrap().0), (false, DisabledReason::Gone));
}

#[tokio::test]
async fn an_endpoint_that_does_not_respond_in_time_is_tried_again() {
    let scene = Scene::new().await;
    let hook = scene.hook("/hangs").await;
    scene.sink.answer("/hangs", Reply::Hang);
    scene.say(1).await;
    let drain = tokio::spawn(scene.notifier(settings()).drain());
    until("it is called", async || scene.sink.at("/hangs").len() == 1).await;
    until("it is given up", async || {
        skip(Duration::from_secs(1)).await;
        drain.is_finished()
    })
    .await;
    let delivery = scene.only(&hook).await;
    assert_eq!(delivery.error, Some(DeliveryFailure::Timeout));
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, 1));
}

#[tokio::test]
async fn who_fails_for_five_days_is_disabled_and_its_owner_is_told_once() {
    let scene = Scene::new().await;
    let (bench, ann) = (&scene.bench, scene.group.ann.as_str());
    let follow = Action::Follow { user: ann.to_owned() };
    bench.publish(&bench.line.build(follow).unwrap()).await;
    bench.drain(bench.members()).await;
    let hook = scene.hook("/down").await;
    scene.sink.status("/down", 500);
    let notifier = scene.notifier(settings());
    for day in 0..5 {
        scene.say(1).await;
        scene.drain().await;
        assert!(scene.webhook(&hook).await.enabled, "after {day} days");
        bench.clock.advance(Duration::from_hours(24));
    }
    notifier.notify_owners().await.unwrap();
    assert!(bench.said(ann).is_empty());
    scene.say(1).await;
    scene.drain().await;
    assert_eq!(scene.webhook(&hook).await.disabled.unwrap().0, DisabledReason::Failing);
    let calls = scene.sink.at("/down").len();
    scene.say(1).await;
    bench.clock.advance(Duration::from_hours(1));
    assert_eq!((scene.drain().await, scene.sink.at("/down").len()), (0, calls));

    // The platform fails after the push; the next round does not tell it again.
    bench.line.fail_next(Target::Push, 4, Fault::StatusAfter { status: 500 });
    let telling = tokio::spawn({
        let notifier = Arc::clone(&notifier);
        async move { notifier.notify_owners().await.unwrap() }
    });
    until("the push is given up", async || {
        skip(Duration::from_millis(100)).await;
        telling.is_finished()
    })
    .await;
    bench.line.clear_faults();
    for _ in 0..2 {
        bench.clock.advance(Duration::from_mins(2));
        notifier.notify_owners().await.unwrap();
    }
    let told = bench.said(ann);
    assert!(told.len() == 1 && told[0].contains("Nothing could be delivered"), "{told:?}");
    bench.assert_polite();
}

#[tokio::test]
async fn a_success_ends_the_days_of_failure() {
    let scene = Scene::new().await;
    let hook = scene.hook("/shaky").await;
    for status in [500, 500, 500, 200, 500, 500, 500] {
        scene.sink.status("/shaky", status);
        scene.say(1).await;
        scene.drain().await;
        scene.bench.clock.advance(Duration::from_hours(40));
    }
    assert!(scene.webhook(&hook).await.enabled, "never five days in a row");
}

#[tokio::test]
async fn who_left_is_told_nothing_more() {
    let scene = Scene::new().await;
    let hook = scene.hook("/down").await;
    scene.sink.status("/down", 500);
    scene.say(1).await;
    scene.drain().await;
    scene.bench.clock.advance(Duration::from_secs(6));
    let leaves =
        Action::MembersLeave { chat: scene.group.id.clone(), users: vec![scene.group.ann.clone()] };
    scene.bench.publish(&scene.bench.line.build(leaves).unwrap()).await;
    scene.bench.drain(scene.bench.members()).await;
    scene.drain().await;
    let log = scene.log(&hook).await;
    let first = log.last().unwrap();
    let dropped = (DeliveryStatus::Dropped, Some(DeliveryFailure::NotPermitted));
    assert_eq!((first.status, first.error), dropped);
    assert_eq!(scene.sink.at("/down").len(), 1);
}

#[tokio::test]
async fn an_attempt_is_within_the_bounds_that_the_webhook_has_by_then() {
    let scene = Scene::new().await;
    let now = scene.bench.clock.now();
    let narrower = [
        Bounds { scopes: vec![Scope::ReadMembers], ..Bounds::full() },
        Bounds { channels: Some(vec!["elsewhere".into()]), ..Bounds::full() },
        Bounds { not_before: Some(now.plus(Duration::from_hours(1))), ..Bounds::full() },
    ];
    let wide = Bounds {
        channels: Some(vec![scene.group.channel()]),
        not_before: Some(now),
        ..Bounds::full()
    };
    let bounds: Vec<_> = narrower.into_iter().chain([wide]).collect();
    let paths: Vec<_> = (0..bounds.len()).map(|nth| format!("/hook/{nth}")).collect();
    let mut hooks = Vec::new();
    for path in &paths {
        scene.sink.status(path, 500);
        hooks.push(scene.hook(path).await);
    }
    scene.say(1).await;
    scene.drain().await;
    for ((path, hook), bounds) in paths.iter().zip(&hooks).zip(&bounds) {
        scene.sink.status(path, 200);
        scene.narrow(hook, bounds).await;
    }
    scene.bench.clock.advance(Duration::from_secs(6));
    assert_eq!(scene.drain().await, bounds.len());
    let mut outcomes = Vec::new();
    for (path, hook) in paths.iter().zip(&hooks) {
        let delivery = scene.only(hook).await;
        outcomes.push((delivery.status, delivery.error, scene.sink.at(path).len()));
    }
    let dropped = (DeliveryStatus::Dropped, Some(DeliveryFailure::NotPermitted), 1);
    let delivered = (DeliveryStatus::Delivered, None, 2);
    assert_eq!(outcomes, [dropped, dropped, dropped, delivered]);
}

#[tokio::test]
async fn private_addresses_are_not_called() {
    let scene = Scene::new().await;
    let hook = scene.hook("/private").await;
    scene.say(1).await;
    scene.notifier_to(settings(), false).drain().await.unwrap();
    assert_eq!(scene.only(&hook).await.error, Some(DeliveryFailure::ForbiddenAddress));
    assert!(scene.sink.at("/private").is_empty());
}

#[tokio::test]
async fn every_attempt_is_signed_for_its_own_time() {
    let scene = Scene::new().await;
    let hook = scene.hook("/signed").await;
    scene.sink.status("/signed", 500);
    scene.say(1).await;
    scene.drain().await;
    scene.bench.clock.advance(Duration::from_secs(6));
    scene.drain().await;
    let secrets = [signing::secret([1; 32])];
    for (one, age) in scene.sink.at("/signed").iter().zip([0, 6]) {
        let seconds = super::super::bench::START.millis() / 1_000 + 1 + age;
        assert_eq!(one.headers["webhook-timestamp"], seconds.to_string());
        let expected = signing::header(&secrets, one.id(), seconds, one.body.as_bytes());
        assert_eq!(Some(&one.headers["webhook-signature"]), expected.as_ref());
    }
    assert_eq!(scene.only(&hook).await.attempts, 2);
}
