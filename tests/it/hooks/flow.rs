//! From the platform's event to a webhook endpoint, through the real program: every kind, as the
//! API returns it, signed; and events that are never delivered.

use chatkeep_emulator::{Entry, Media, MediaState, Post};
use reqwest::Method;
use serde_json::{Value, json};

use super::sink::{Received, Reply, Sink};
use super::verify;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

on_both!(
    every_kind_is_told_as_the_api_shows_it,
    a_crash_between_attempts_repeats_but_loses_nothing,
    who_left_or_deleted_it_is_told_nothing_more,
);

const QUOTA: i64 = 524_288_000;

/// Charges a channel and its user that many bytes, as if messages of that size were stored.
async fn fill(stack: &Stack, channel: &str, user: &str, bytes: i64) {
    let sql = format!(
        "UPDATE channels SET bytes = {bytes} WHERE channel_id = '{channel}';
         UPDATE subscriptions SET bytes_at_subscribe = 0 WHERE channel_id = '{channel}';
         UPDATE users SET used_bytes = {bytes} WHERE user_id = '{user}'"
    );
    stack.sql(sql).await;
}

/// Returns what the bot told a person in their own chat.
fn told(stack: &Stack, user: &str) -> Vec<String> {
    let transcript = stack.line.transcript(user);
    transcript.into_iter().filter(Entry::is_bot).filter_map(|entry| entry.text).collect()
}

/// The program with a group and a receiver of webhooks.
pub(crate) struct Scene {
    pub(crate) stack: Stack,
    pub(crate) sink: Sink,
    pub(crate) channel: String,
    pub(crate) people: Vec<String>,
}

impl Scene {
    pub(crate) async fn new(parts: Parts, settings: &[(&'static str, &str)]) -> Self {
        let mut ground = TestEnv::new(parts).await;
        ground.settings.push(("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned()));
        ground.settings.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let people = people.into_iter().map(|person| person.user_id).collect();
        Self { stack, sink: Sink::start().await, channel: group.chat_id, people }
    }

    /// Creates a webhook to that path of the sink; returns its id and its secret.
    pub(crate) async fn hook(&self, path: &str, events: &[&str]) -> (String, String) {
        let body = json!({"url": self.sink.url(path), "events": events});
        let made = self.stack.post("/webhooks", body).await;
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        (text("webhookId"), text("secret"))
    }

    pub(crate) async fn say(&self, text: &str) -> String {
        let told = self.stack.line.say(&self.channel, &self.people[0], text).await.unwrap();
        told.message_id().unwrap().to_owned()
    }

    /// Waits for that kind about that message or person.
    async fn heard(&self, path: &str, kind: &str, subject: &str) -> Received {
        let mut found = None;
        until(&format!("{kind} of {subject}"), DEADLINE, async || {
            let about = |one: &Received| {
                let body = one.json();
                body["type"] == kind && subject_of(&body["data"]) == subject
            };
            found = self.sink.at(path).into_iter().rfind(about);
            found.is_some()
        })
        .await;
        found.unwrap()
    }

    /// Checks that the API returns the same now.
    async fn as_told_by_the_api(&self, received: &Received) {
        let mut cursor = String::new();
        loop {
            let page = self.stack.get(&format!("/events?limit=100{cursor}")).await;
            let events = page["events"].as_array().unwrap();
            if let Some(event) = events.iter().find(|event| event["id"] == received.id()) {
                let mut event = event.clone();
                event.as_object_mut().unwrap().remove("id");
                assert_eq!(received.json(), event);
                return;
            }
            assert_eq!(page["hasMore"], true, "{} is not told", received.id());
            cursor = format!("&cursor={}", page["nextCursor"].as_str().unwrap());
        }
    }

    async fn pubsub(&self) -> String {
        let (line, channel) = (&self.stack.line, self.channel.as_str());
        let first = self.say("good morning").await;
        let heard = self.heard("/all", "message.received", &first).await;
        assert_eq!(heard.json()["data"]["message"]["content"], "good morning");
        self.as_told_by_the_api(&heard).await;
        line.edit(&first, "good evening").await.unwrap();
        let heard = self.heard("/all", "message.edited", &first).await;
        self.as_told_by_the_api(&heard).await;
        let second = self.say("I should not say this").await;
        self.heard("/all", "message.received", &second).await;
        line.unsend(&second).await.unwrap();
        let heard = self.heard("/all", "message.unsent", &second).await;
        assert!(heard.json()["data"]["message"]["content"].is_null());
        self.as_told_by_the_api(&heard).await;
        let search = json!({"name": "Tea", "query": "tea"});
        self.stack.post("/saved-searches", search).await;
        let third = self.say("tea is ready").await;
        let heard = self.heard("/all", "search.matched", &third).await;
        assert_eq!(heard.json()["data"]["search"]["name"], "Tea");
        self.as_told_by_the_api(&heard).await;
        let kim = line.add_user("Kim", None).user_id;
        line.members_join(channel, &[&kim]).await.unwrap();
        self.heard("/all", "member.joined", &kim).await;
        line.members_leave(channel, &[&kim]).await.unwrap();
        let heard = self.heard("/all", "member.left", &kim).await;
        self.as_told_by_the_api(&heard).await;
        for (state, kind) in
            [(MediaState::Ready, "file.uploaded"), (MediaState::Failed, "media.failed")]
        {
            let media = Media { state, ..Media::new("application/pdf", b"%PDF-1.4 x".to_vec()) };
            let post = Post::File(media, "a.pdf".to_owned());
            let told = line.post_message(channel, &self.people[0], post).await.unwrap();
            let heard = self.heard("/all", kind, told.message_id().unwrap()).await;
            self.as_told_by_the_api(&heard).await;
        }
        second
    }

    /// Imports a text, and undoes that.
    async fn import(&self) {
        let (ground, line) = (&self.stack.ground, &self.stack.line);
        let file = ground.folder.path().join("chat.txt");
        std::fs::write(&file, include_str!("../transfer/line_en.txt")).unwrap();
        let (file, channel) = (file.display().to_string(), self.channel.as_str());
        let import = ["import", &file, "--channel", channel, "--time-zone", "UTC"];
        ground.command(line, &import).await;
        let heard = self.heard("/all", "import.added", "").await;
        assert_eq!(heard.json()["data"]["import"]["from"], "2024-01-05T09:31:00.000Z");
        self.as_told_by_the_api(&heard).await;
        ground.command(line, &["import", "undo", "1"]).await;
        let heard = self.heard("/all", "import.undone", "").await;
        self.as_told_by_the_api(&heard).await;
    }

    async fn fill_up(&self) {
        let (line, user) = (&self.stack.line, self.people[0].as_str());
        for (part, kind) in [(80, "usage.warning"), (90, "usage.critical"), (100, "usage.exceeded")]
        {
            self.stack.drained().await;
            fill(&self.stack, &self.channel, user, QUOTA / 100 * part - 5).await;
            self.say(&format!("this crosses {part}")).await;
            self.heard("/all", kind, user).await;
        }
        self.say("this is not kept").await;
        self.heard("/all", "backup.paused", "").await;
        self.stack.ground.command(line, &["user", "set-plan", user, "standard"]).await;
        self.heard("/all", "backup.resumed", "").await;
    }
}

fn subject_of(data: &Value) -> &str {
    let known = [&data["message"]["id"], &data["member"]["userId"], &data["webhookId"]];
    let mut known = known.into_iter().chain([&data["userId"]]);
    known.find_map(Value::as_str).unwrap_or_default()
}

async fn every_kind_is_told_as_the_api_shows_it(parts: Parts) {
    let retry = ("CHATKEEP_MEDIA_MAX_ATTEMPTS", "1");
    let mut scene = Scene::new(parts, &[retry]).await;
    let owner = scene.people[0].clone();
    scene.stack.line.follow(&owner).await.unwrap();
    scene.stack.known(&owner).await;
    let catalogue = scene.stack.get("/webhooks/events").await;
    let kinds = catalogue["events"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|kind| kind["type"].as_str().unwrap()).collect();
    let (id, secret) = scene.hook("/all", &kinds).await;
    scene.sink.answer("/all", Reply::Echo);
    let unsent = scene.pubsub().await;
    scene.import().await;
    scene.fill_up().await;

    // A receiver that responds 410: its owner is notified by the other webhook, and in their chat.
    let (gone, _) = scene.hook("/gone", &["message.received"]).await;
    scene.sink.status("/gone", 410);
    scene.say("is anybody there").await;
    scene.heard("/all", "endpoint.disabled", &gone).await;
    let state = scene.stack.get(&format!("/webhooks/{gone}")).await;
    assert_eq!((&state["enabled"], &state["disabledReason"]), (&json!(false), &json!("gone")));
    until("the owner is told", DEADLINE, async || {
        told(&scene.stack, &owner).iter().any(|text| text.contains("webhook"))
    })
    .await;

    scene.rotated(&id, &secret).await;
    let received = scene.sink.at("/all");
    let heard: Vec<_> = received.iter().map(|one| one.json()["type"].clone()).collect();
    for kind in &kinds {
        assert!(heard.contains(&json!(kind)), "{kind} was not told");
    }
    let cases: Vec<_> = received.iter().map(|one| one.to_verify(&secret)).collect();
    verify::all(&cases).await;
    nothing_unsent_is_kept(&scene.stack, &id, &unsent).await;
    let metrics = scene.stack.metrics().await;
    for name in
        ["attempts_total{outcome=\"delivered\"}", "duration_seconds_count", "queue", "lag_seconds"]
    {
        assert!(metrics.contains(&format!("chatkeep_delivery_{name}")), "{name} is not measured");
    }
    assert!(scene.stack.process.terminate().await.success());
    let printed =
        scene.stack.process.stderr().join("\n") + &scene.stack.process.stdout().join("\n");
    assert!(!printed.contains(&secret["whsec_".len()..]), "no secret is logged");
}

impl Scene {
    /// While two secrets are valid, each of them verifies.
    async fn rotated(&self, id: &str, old: &str) {
        let rotate = format!("/webhooks/{id}/rotate-secret");
        let made = self.stack.post(&rotate, json!({"overlapSeconds": 600})).await;
        let new = made["secret"].as_str().unwrap();
        assert_ne!(new, old);
        let test = self.stack.post(&format!("/webhooks/{id}/test"), json!({})).await;
        assert_eq!(test["type"], "webhook.test");
        let heard = self.heard("/all", "webhook.test", id).await;
        assert_eq!(heard.id(), test["eventId"]);
        assert_eq!(heard.headers["webhook-signature"].split(' ').count(), 2);
        verify::all(&[heard.to_verify(old), heard.to_verify(new)]).await;
    }
}

/// The receiver echoes its requests, and the log stores responses; but not this one.
async fn nothing_unsent_is_kept(stack: &Stack, hook: &str, message: &str) {
    let mut cursor = String::new();
    let mut seen = 0;
    loop {
        let page = stack.get(&format!("/webhooks/{hook}/deliveries?limit=100{cursor}")).await;
        assert!(!page.to_string().contains("I should not say this"));
        for delivery in page["deliveries"].as_array().unwrap() {
            let path =
                format!("/webhooks/{hook}/deliveries/{}", delivery["deliveryId"].as_str().unwrap());
            let one = stack.get(&path).await;
            assert!(!one.to_string().contains("I should not say this"));
            seen += usize::from(one["request"]["data"]["message"]["id"] == message);
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, 2, "it is told as received and as taken back");
}

async fn a_crash_between_attempts_repeats_but_loses_nothing(parts: Parts) {
    let settings = [
        ("CHATKEEP_WEBHOOKS_RETRY_SECONDS", "1, 1, 1, 1, 1"),
        ("CHATKEEP_WEBHOOKS_TIMEOUT_SECONDS", "5"),
    ];
    let mut scene = Scene::new(parts, &settings).await;
    scene.hook("/all", &["message.received"]).await;
    scene.sink.status("/all", 500);
    let first = scene.say("between attempts").await;
    scene.heard("/all", "message.received", &first).await;
    scene.stack.crash().await;
    scene.sink.answer("/all", Reply::Hang);
    let second = scene.say("while it is told").await;
    let held = scene.heard("/all", "message.received", &second).await;
    scene.stack.crash().await;
    scene.sink.status("/all", 200);
    for message in [&first, &second] {
        until("it arrived after all", DEADLINE, async || {
            let all = scene.sink.at("/all").into_iter();
            all.filter(|one| one.taken).any(|one| subject_of(&one.json()["data"]) == *message)
        })
        .await;
    }
    let all = scene.sink.at("/all");
    for message in [&first, &second] {
        let tries = all.iter().filter(|one| subject_of(&one.json()["data"]) == *message);
        let ids: std::collections::BTreeSet<_> = tries.clone().map(Received::id).collect();
        assert_eq!((ids.len(), tries.count() > 1), (1, true), "one id for all attempts");
    }
    assert!(all.iter().any(|one| one.taken && one.id() == held.id()));
}

async fn who_left_or_deleted_it_is_told_nothing_more(parts: Parts) {
    let mut scene = Scene::new(parts, &[]).await;
    let (line, channel) = (scene.stack.line.clone(), scene.channel.clone());
    scene.hook("/left", &["message.received", "member.left"]).await;
    let owner = scene.people[1].clone();
    scene.stack.act_as(&owner).await;
    scene.stack.known(&channel).await;
    let (deleted, _) = scene.hook("/deleted", &["message.received"]).await;
    scene.hook("/stays", &["message.received", "member.left"]).await;
    let before = scene.say("everybody hears this").await;
    for path in ["/left", "/deleted", "/stays"] {
        scene.heard(path, "message.received", &before).await;
    }
    let (status, _) = scene.stack.call(Method::DELETE, &format!("/webhooks/{deleted}"), None).await;
    assert!(status.is_success());
    let gone = scene.people[0].clone();
    // Another user subscribes to the channel.
    scene.stack.post(&format!("/channels/{channel}/backup/subscribe"), json!({})).await;
    line.members_leave(&channel, &[&gone]).await.unwrap();
    scene.heard("/stays", "member.left", &gone).await;
    let told = line.say(&channel, &owner, "only one hears this").await.unwrap();
    scene.heard("/stays", "message.received", told.message_id().unwrap()).await;
    let last = line.say(&channel, &owner, "and this").await.unwrap();
    scene.heard("/stays", "message.received", last.message_id().unwrap()).await;
    assert_eq!(scene.sink.at("/deleted").len(), 1);
    let heard: Vec<_> = scene.sink.at("/left").iter().map(Received::json).collect();
    assert!(heard.iter().all(|body| body["type"] == "message.received"), "{heard:?}");
    assert_eq!(heard.len(), 1, "{heard:?}");
}
