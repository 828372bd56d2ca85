//! Notices of owners about disabled webhooks: none of them is held up by a bot that cannot be called.

use std::sync::Arc;

use chatkeep_core::time::SharedClock;
use chatkeep_emulator::{Action, Fault, Target};

use super::super::bench::bots;
use super::{Scene, settings};

impl Scene {
    /// Creates a scene whose owner has a chat with the bot.
    async fn with_chat() -> Self {
        let scene = Self::new().await;
        let follow = Action::Follow { user: scene.group.ann.clone() };
        scene.bench.publish(&scene.bench.line.build(follow).unwrap()).await;
        scene.bench.drain(scene.bench.members()).await;
        scene
    }

    /// Ann's endpoints at these paths turn out to be gone.
    async fn end(&self, paths: &[&str]) {
        for path in paths {
            self.sink.status(path, 410);
            self.hook(path).await;
        }
        self.say(1).await;
        self.drain().await;
    }

    /// Sends the notices that are due; returns those that Ann has got so far.
    async fn notify(&self) -> Vec<String> {
        self.notifier(settings()).notify_owners().await.unwrap();
        self.bench.said(&self.group.ann)
    }
}

#[tokio::test]
async fn however_many_of_an_unknown_bot_wait_the_others_are_told_in_the_same_round() {
    let mut scene = Scene::with_chat().await;
    // With only one bot, that one would have every chat.
    let clock = Arc::clone(&scene.bench.clock) as SharedClock;
    scene.bench.bots = bots(&scene.bench.line, &clock, &["main", "help"]);
    scene.end(&["/gone"]).await;
    // Disabled at one moment, before the one of the known bot, and more than are read at once.
    let webhooks = format!(
        "INSERT INTO webhooks (webhook_id, user_id, url, description, events, enabled, secret,
                               created_at, updated_at, since, disabled_reason, disabled_at)
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 250)
         SELECT 'gone' || n, 'Ugone', 'https://example.org/', '', '[]', 0, '', 1, 1, 1, 'gone', {}
         FROM n",
        clock.now().millis() - 1
    );
    for sql in [
        "INSERT INTO users (user_id, created_at) VALUES ('Ugone', 1)",
        "INSERT INTO channels (channel_id, platform, bot, type, created_at, enabled_at)
         VALUES ('Ugone', 'line', 'gone', 'user', 1, 1)",
        webhooks.as_str(),
    ] {
        scene.bench.sql(sql).await;
    }
    assert_eq!(scene.notify().await.len(), 1);
    let waiting = "SELECT COUNT(*) FROM webhooks
                   WHERE disabled_reason IS NOT NULL AND notified_at IS NULL";
    assert_eq!(scene.bench.value(waiting).await, "250");
    assert_eq!(scene.bench.calls("/push"), 1, "an unknown bot is not called");
}

#[tokio::test]
async fn a_bot_that_is_refused_is_called_once_a_round() {
    let scene = Scene::with_chat().await;
    scene.end(&["/one", "/other"]).await;
    let line = &scene.bench.line;
    line.fail_next(Target::Any, 9, Fault::Status { status: 401, retry_after: None });
    for round in 1..=2 {
        let before = line.calls().len();
        assert!(scene.notify().await.is_empty());
        assert_eq!(line.calls().len() - before, 1, "in round {round}");
    }
    line.clear_faults();
    assert_eq!(scene.notify().await.len(), 2);
}
