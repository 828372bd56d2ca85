//! The notifier: retries by the clock, the meaning of responses, and endpoints that hold up nobody.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::id::WebhookId;
use chatkeep_core::role::Scope;
use chatkeep_core::signing;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Action, Fault, Target};
use chatkeep_store::{
    DeliveryFilter, DeliveryStatus, DisabledReason, EventRef, NewWebhook, OutboxEventKind,
    StoreError, Webhook, WebhookChange, WebhookChanged, WebhookDelivery, WebhookMade, WebhookMaker,
};
use chatkeep_workers::notifier::{Bodies, Notifier, NotifierSettings};
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, Group, skip, until};
use super::sink::{Reply, Sink};

/// Renders ids only: bodies are the program's.
#[derive(Debug)]
struct Plain;

impl Bodies for Plain {
    async fn body(&self, told: &EventRef, _: &Bounds) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(Some(serde_json::to_vec(&serde_json::json!({"subject": told.subject}))?))
    }
}

fn settings() -> NotifierSettings {
    NotifierSettings {
        parallel: 64,
        parallel_each: 4,
        timeout: Duration::from_secs(15),
        retries: vec![Duration::from_secs(5), Duration::from_mins(5), Duration::from_mins(30)],
        give_up: Duration::from_hours(5 * 24),
        keep: Duration::from_hours(30 * 24),
        tell_owners: true,
    }
}

/// Returns an enabled webhook of all events of all channels.
fn everything(url: &str) -> WebhookChange<'_> {
    WebhookChange {
        url,
        description: "",
        events: &OutboxEventKind::ALL,
        channels: None,
        enabled: true,
    }
}

/// A group whose messages are told to a sink.
struct Scene {
    bench: Bench,
    group: Group,
    sink: Sink,
}

impl Scene {
    async fn new() -> Self {
        let (bench, group) = Bench::with_group().await;
        // A webhook made now hears nothing of what was before.
        bench.clock.advance(Duration::from_secs(1));
        Self { bench, group, sink: Sink::start().await }
    }

    fn notifier(&self, settings: NotifierSettings) -> Arc<Notifier<Plain>> {
        self.notifier_to(settings, true)
    }

    fn notifier_to(&self, settings: NotifierSettings, allow_private: bool) -> Arc<Notifier<Plain>> {
        Arc::new(Notifier {
            store: self.bench.store.clone(),
            bodies: Plain,
            http: GuardedClient::new(allow_private).unwrap(),
            bots: self.bench.bots.clone(),
            clock: Arc::clone(&self.bench.clock) as SharedClock,
            settings,
        })
    }

    /// Makes everything that is due; returns the number of deliveries.
    async fn drain(&self) -> usize {
        self.notifier(settings()).drain().await.unwrap()
    }

    /// Ann creates a webhook to that path of the sink.
    async fn hook(&self, path: &str) -> WebhookId {
        self.hook_of(&self.group.ann, path).await
    }

    async fn hook_of(&self, user: &str, path: &str) -> WebhookId {
        let id = WebhookId::from(format!("wh_{user}{}", path.replace('/', "_")));
        let url = self.sink.url(path);
        let change = everything(&url);
        let (user, secret) = (user.into(), signing::secret([1; 32]));
        let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
        let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
        let made =
            self.bench.store.webhooks().add_webhook(&new, self.bench.clock.now()).await.unwrap();
        assert_eq!(made, WebhookMade::Done);
        id
    }

    /// Ann changes a webhook with a credential of these bounds.
    async fn narrow(&self, id: &WebhookId, bounds: &Bounds) {
        let ann = self.group.ann.as_str().into();
        let url = self.webhook(id).await.url;
        // An event that is within any bounds; attempts of earlier ones are still due.
        let change = WebhookChange { events: &[OutboxEventKind::BackupPaused], ..everything(&url) };
        let maker = WebhookMaker { key: None, bounds };
        let (webhooks, now) = (self.bench.store.webhooks(), self.bench.clock.now());
        let changed = webhooks.change_webhook(&ann, id, change, maker, now).await;
        assert!(matches!(changed.unwrap(), WebhookChanged::Done));
    }

    async fn webhook(&self, id: &WebhookId) -> Webhook {
        let ann = self.group.ann.as_str().into();
        self.bench.store.webhooks().webhook(&ann, id).await.unwrap().unwrap()
    }

    /// Stores that many further messages.
    async fn say(&self, count: usize) {
        let say = |n| self.bench.say(&self.group.id, &self.group.bob, format!("message {n}"));
        self.bench.publish(&(0..count).flat_map(say).collect::<Vec<_>>()).await;
        self.bench.drain(self.bench.backup()).await;
    }

    async fn log(&self, hook: &WebhookId) -> Vec<WebhookDelivery> {
        let bounds = Bounds::full();
        let all = DeliveryFilter::within(&bounds);
        self.bench.store.webhooks().webhook_deliveries(hook, all, 1_000).await.unwrap()
    }

    /// Returns the only delivery of a webhook.
    async fn only(&self, hook: &WebhookId) -> WebhookDelivery {
        <[_; 1]>::try_from(self.log(hook).await).unwrap().into_iter().next().unwrap()
    }

    /// Returns the seconds until the only delivery of a webhook is due.
    async fn wait(&self, hook: &WebhookId) -> u64 {
        self.only(hook).await.due_at.unwrap().since(self.bench.clock.now()).as_secs()
    }
}

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
        let told = (delivery.http_status, delivery.error.as_deref(), delivery.answer.as_deref());
        assert_eq!(told, (Some(500), Some("status"), Some("noted")));
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
        ("/moved", found(302), DeliveryStatus::Pending, Some("redirect")),
        ("/moved/too", found(307), DeliveryStatus::Pending, Some("redirect")),
        ("/bad", Reply::Status(400), DeliveryStatus::Pending, Some("status")),
        ("/gone", Reply::Status(410), DeliveryStatus::Failed, Some("gone")),
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
        assert_eq!((delivery.status, delivery.error.as_deref()), (*status, *error), "{path}");
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
    assert_eq!(delivery.error.as_deref(), Some("timeout"));
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
    assert_eq!(
        (first.status, first.error.as_deref()),
        (DeliveryStatus::Dropped, Some("not_permitted"))
    );
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
    let dropped = (DeliveryStatus::Dropped, Some("not_permitted".to_owned()), 1);
    let delivered = (DeliveryStatus::Delivered, None, 2);
    assert_eq!(outcomes, [dropped.clone(), dropped.clone(), dropped, delivered]);
}

#[tokio::test]
async fn private_addresses_are_not_called() {
    let scene = Scene::new().await;
    let hook = scene.hook("/private").await;
    scene.say(1).await;
    scene.notifier_to(settings(), false).drain().await.unwrap();
    assert_eq!(scene.only(&hook).await.error.as_deref(), Some("forbidden_address"));
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
        let seconds = super::bench::START.millis() / 1_000 + 1 + age;
        assert_eq!(one.headers["webhook-timestamp"], seconds.to_string());
        let expected = signing::header(&secrets, one.id(), seconds, one.body.as_bytes());
        assert_eq!(Some(&one.headers["webhook-signature"]), expected.as_ref());
    }
    assert_eq!(scene.only(&hook).await.attempts, 2);
}

#[tokio::test]
async fn several_notifiers_tell_everything_once() {
    const COUNT: usize = 100;
    let scene = Scene::new().await;
    let hook = scene.hook("/all").await;
    scene.say(COUNT).await;
    let notifiers = [(); 3].map(|()| scene.notifier(settings()).drain());
    let [one, two, three] = notifiers;
    let (one, two, three) = tokio::join!(one, two, three);
    assert_eq!(one.unwrap() + two.unwrap() + three.unwrap(), COUNT);
    let received = scene.sink.at("/all");
    let ids: BTreeSet<_> = received.iter().map(|one| one.id().to_owned()).collect();
    assert_eq!((received.len(), ids.len()), (COUNT, COUNT));
    let log = scene.log(&hook).await;
    assert!(log.iter().all(|delivery| delivery.status == DeliveryStatus::Delivered));
}

#[tokio::test]
async fn a_delivery_whose_process_died_before_its_record_is_made_again_under_the_same_id() {
    let mut scene = Scene::new().await;
    let hook = scene.hook("/once").await;
    scene.say(1).await;
    let sql = "CREATE TRIGGER no_record BEFORE UPDATE ON webhook_deliveries
               WHEN NEW.status = 'delivered' BEGIN SELECT RAISE(ABORT, 'dead'); END";
    scene.bench.sql(sql).await;
    let dying = tokio::spawn(scene.notifier(settings()).drain());
    until("it is made", async || scene.sink.at("/once").len() == 1).await;
    assert_eq!(scene.drain().await, 0, "it is leased");
    dying.abort();
    assert!(dying.await.is_err());
    scene.bench.restart().await;
    scene.bench.sql("DROP TRIGGER no_record").await;
    let notifier = scene.notifier(settings());
    assert_eq!(Arc::clone(&notifier).drain().await.unwrap(), 0, "its lease has not ended");
    notifier.release_interrupted().await;
    assert_eq!(notifier.drain().await.unwrap(), 1);
    let received = scene.sink.at("/once");
    assert!(received.len() == 2 && received[0].id() == received[1].id());
    let delivery = scene.only(&hook).await;
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Delivered, 1));
}

#[tokio::test]
async fn the_lease_of_a_dead_process_ends_by_the_clock() {
    let scene = Scene::new().await;
    scene.hook("/hangs").await;
    scene.sink.answer("/hangs", Reply::Hang);
    scene.say(1).await;
    let dying = tokio::spawn(scene.notifier(settings()).drain());
    until("it is called", async || scene.sink.at("/hangs").len() == 1).await;
    dying.abort();
    scene.sink.status("/hangs", 200);
    // Its timeout, the longest time in a queue, and a margin of 15 s each.
    scene.bench.clock.advance(Duration::from_secs(44));
    assert_eq!(scene.drain().await, 0);
    scene.bench.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.drain().await, 1);
}

#[tokio::test]
async fn an_endpoint_that_hangs_delays_no_other() {
    const ENDPOINTS: usize = 12;
    const MESSAGES: usize = 10;
    let scene = Scene::new().await;
    let dead = scene.hook("/dead").await;
    scene.sink.answer("/dead", Reply::Hang);
    let paths: Vec<_> = (0..ENDPOINTS).map(|n| format!("/live/{n}")).collect();
    for path in &paths {
        scene.hook_of(&scene.group.bob, path).await;
    }
    scene.say(MESSAGES).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(scene.notifier(settings()).run(stop.clone()));
    until("everybody else has everything", async || {
        paths.iter().all(|path| scene.sink.at(path).len() == MESSAGES)
    })
    .await;
    assert_eq!(scene.sink.at("/dead").len(), 4, "it holds as many as it may");
    assert!(scene.log(&dead).await.iter().all(|delivery| delivery.attempts == 0));
    running.abort();
}

#[tokio::test]
async fn endpoints_that_keep_failing_take_half_of_the_deliveries_at_most() {
    const FAILING: usize = 5;
    let settings = || NotifierSettings { parallel: 4, ..settings() };
    let scene = Scene::new().await;
    let dead: Vec<_> = (0..FAILING).map(|n| format!("/dead/{n}")).collect();
    for path in &dead {
        scene.sink.status(path, 500);
        scene.hook(path).await;
    }
    scene.say(1).await;
    scene.drain().await;
    // The next attempts are due, and each of these endpoints has been failing for a while.
    scene.bench.clock.advance(Duration::from_mins(2));
    for path in &dead {
        scene.sink.answer(path, Reply::Hang);
    }
    scene.hook_of(&scene.group.bob, "/live").await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(scene.notifier(settings()).run(stop.clone()));
    let called = || dead.iter().map(|path| scene.sink.at(path).len() - 1).sum::<usize>();
    until("as many as may are called", async || called() == settings().parallel / 2).await;
    // Each message needs a further claim.
    for told in 1..=3 {
        scene.say(1).await;
        until("the other endpoint has it", async || scene.sink.at("/live").len() == told).await;
        let leased = "SELECT COUNT(*) FROM webhook_deliveries d JOIN webhooks w
                      ON w.webhook_id = d.webhook_id
                      WHERE d.leased = 1 AND w.failing_since IS NOT NULL";
        let leased = scene.bench.value(leased).await;
        assert_eq!((leased, called()), ((settings().parallel / 2).to_string(), 2));
    }
    running.abort();
}

#[tokio::test]
async fn who_stops_leaves_what_it_did_not_begin() {
    const COUNT: usize = 20;
    let scene = Scene::new().await;
    scene.hook("/slow").await;
    scene.sink.answer("/slow", Reply::Hang);
    scene.say(COUNT).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(scene.notifier(settings()).run(stop.clone()));
    let leased = async || {
        let all = "SELECT COUNT(*) FROM webhook_deliveries WHERE leased = 1";
        scene.bench.value(all).await
    };
    let each = settings().parallel_each;
    until("all are taken, as many as may be under way", async || {
        scene.sink.at("/slow").len() == each && leased().await == COUNT.to_string()
    })
    .await;
    stop.cancel();
    until("what is under way times out", async || {
        skip(Duration::from_secs(1)).await;
        running.is_finished()
    })
    .await;
    assert_eq!(scene.sink.at("/slow").len(), each, "nothing was begun after the stop");
    assert_eq!(leased().await, "0");
    // The clock stands still: no lease ends, and no retry is due.
    scene.sink.status("/slow", 204);
    assert_eq!(scene.drain().await, COUNT - each);
}

#[tokio::test]
async fn a_drain_that_fails_says_so() {
    let scene = Scene::new().await;
    scene.hook("/told").await;
    for (table, what) in [("webhook_deliveries", "claims"), ("webhook_outbox_position", "fan-out")]
    {
        scene.bench.sql(&format!("ALTER TABLE {table} RENAME TO gone")).await;
        let failed = scene.notifier(settings()).drain().await;
        assert!(failed.is_err(), "{what}: {failed:?}");
        scene.bench.sql(&format!("ALTER TABLE gone RENAME TO {table}")).await;
    }
    scene.say(1).await;
    assert_eq!(scene.drain().await, 1);
}
