//! The gate: what another bot signs about a channel ends before any stage, except while the channel
//! may be about to become its own.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_workers::gate::{Gate, Gated};
use chatkeep_workers::{Runner, Stage, StageName};
use serde_json::{Value, json};

use super::bench::{Bench, Group};

/// Number of a bot's events that are held at most.
const MAX_HELD: u64 = 60;
/// Seconds between the deliveries of an event that is held.
const REDELIVERIES: [u64; 3] = [1, 2, 4];

impl Bench {
    /// Returns a stage behind a gate that knows these bots.
    pub(super) fn gated<S>(&self, stage: S, bots: &[&str]) -> Runner<Gated<S>>
    where
        Gated<S>: Stage,
    {
        self.runner(self.behind_gate(stage, bots))
    }

    /// Returns a stage behind a gate that knows these bots, without a runner.
    fn behind_gate<S>(&self, stage: S, bots: &[&str]) -> Gated<S> {
        let clock = Arc::clone(&self.clock) as SharedClock;
        let bots = bots.iter().map(|bot| (*bot).to_owned()).collect();
        let gate = Gate::new(self.store.clone(), clock, self.health.clone(), bots);
        Gated::new(stage, gate)
    }

    /// Puts an event in a group on the bus that some bot received.
    async fn forge(&self, bot: &str, group: &Group, id: &str, fields: Value) {
        let mut event = json!({
            "webhookEventId": id, "timestamp": self.clock.now().millis(), "mode": "active",
            "source": {"type": "group", "groupId": group.id, "userId": group.bob},
        });
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let body = json!({"destination": "U1", "events": [event]});
        self.publish_raw(bot, &body.to_string()).await;
    }
}

fn text(id: &str) -> Value {
    json!({"type": "message", "message": {"id": id, "type": "text", "text": "forged"}})
}

async fn drain<S: Stage>(runner: &Runner<S>) -> usize {
    runner.drain().await.unwrap()
}

/// Drains until an event that was held at the last drain has been delivered and held long enough.
async fn drain_held<S: Stage>(bench: &Bench, runner: &Runner<S>) -> usize {
    let mut deliveries = 0;
    for seconds in REDELIVERIES {
        bench.clock.advance(Duration::from_secs(seconds));
        deliveries = drain(runner).await;
    }
    deliveries
}

#[tokio::test]
async fn what_another_bot_signs_is_held_once_and_then_ends() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    bench.forge("other", &group, "F1", text("900001")).await;
    let own = bench.say(&group.id, &group.bob, "our own");
    bench.publish(&own).await;
    bench
        .forge(
            "other",
            &group,
            "F2",
            json!({"type": "unsend", "unsend": {"messageId": own[0].message_id}}),
        )
        .await;
    assert_eq!(drain(&backup).await, 3);
    assert_eq!(bench.backlog(StageName::Backup).await, 2, "perhaps its bot is about to own it");
    assert_eq!(drain_held(&bench, &backup).await, 2);
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    let kept = bench.messages(&group.channel()).await;
    assert!(kept.len() == 1 && kept[0].unsent_at.is_none(), "{kept:?}");
    assert!(bench.dead_letters().await.is_empty(), "that was no failure");
    // Delivered again it is known, and not held any more.
    bench.forge("other", &group, "F1", text("900001")).await;
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
}

#[tokio::test]
async fn a_bot_that_joined_is_waited_for_until_the_owners_leave_is_known() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    bench.clock.advance(Duration::from_secs(1));
    let leave_at = bench.clock.now().millis();
    bench.clock.advance(Duration::from_secs(1));
    bench.forge("other", &group, "J1", json!({"type": "join"})).await;
    bench.forge("other", &group, "M1", text("900001")).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(1));
    drain(&backup).await;
    assert_eq!(bench.counted(&group.channel()).await.1, 0);
    assert!(bench.backlog(StageName::Backup).await > 0, "the owner may have left");
    bench.forge("main", &group, "L1", json!({"type": "leave", "timestamp": leave_at})).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(2));
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    assert_eq!(bench.counted(&group.channel()).await.1, 1);
    assert_eq!(
        bench.store.channels().channel(&group.channel()).await.unwrap().unwrap().bot,
        "other"
    );
}

#[tokio::test]
async fn an_owner_that_has_just_been_heard_leaves_all_the_same() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    bench.publish(&bench.say(&group.id, &group.bob, "ours")).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(1));
    bench.forge("main", &group, "L1", json!({"type": "leave"})).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(1));
    bench.forge("other", &group, "J1", json!({"type": "join"})).await;
    bench.forge("other", &group, "M1", text("900001")).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(2));
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    assert_eq!(bench.counted(&group.channel()).await.1, 2);
}

#[tokio::test]
async fn a_bot_that_left_and_was_replaced_has_no_more_events() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    bench.publish(&bench.say(&group.id, &group.bob, "ours")).await;
    drain(&backup).await;
    for (bot, id, kind) in [("main", "L1", "leave"), ("other", "J1", "join")] {
        bench.clock.advance(Duration::from_millis(1));
        bench.forge(bot, &group, id, json!({"type": kind})).await;
        drain(&backup).await;
    }
    // At once: the owner of a channel is cached.
    bench.clock.advance(Duration::from_millis(1));
    bench.forge("main", &group, "M1", text("900001")).await;
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 1, "it is held");
    drain_held(&bench, &backup).await;
    assert_eq!(bench.counted(&group.channel()).await.1, 1);
}

#[tokio::test]
async fn a_message_may_overtake_the_join_of_its_bot_by_seconds() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    bench.clock.advance(Duration::from_secs(1));
    bench.forge("main", &group, "L1", json!({"type": "leave"})).await;
    bench.clock.advance(Duration::from_secs(1));
    let join_at = bench.clock.now().millis();
    bench.forge("other", &group, "M1", text("900001")).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(1));
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(2));
    drain(&backup).await;
    assert_eq!(bench.counted(&group.channel()).await.1, 0);
    bench.forge("other", &group, "J1", json!({"type": "join", "timestamp": join_at})).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(4));
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    assert_eq!(bench.counted(&group.channel()).await.1, 1);
}

/// Joins a group with another bot while the owner's leave is not known, and drains at each delivery of
/// a held message until `seconds` have passed.
async fn hold<S: Stage>(bench: &Bench, group: &Group, stage: &Runner<S>, seconds: u64) -> i64 {
    bench.clock.advance(Duration::from_secs(1));
    let leave_at = bench.clock.now().millis();
    bench.clock.advance(Duration::from_secs(1));
    bench.forge("other", group, "J1", json!({"type": "join"})).await;
    bench.forge("other", group, "M1", text("900001")).await;
    drain(stage).await;
    for _ in 0..seconds {
        bench.clock.advance(Duration::from_secs(1));
        drain(stage).await;
    }
    leave_at
}

#[tokio::test]
async fn a_hold_uses_up_no_attempts() {
    for attempts in [1, 2, 8] {
        let (bench, group) = Bench::with_group().await;
        let backup =
            bench.runner_with(bench.behind_gate(bench.backup(), &["main", "other"]), attempts);
        let leave_at = hold(&bench, &group, &backup, 50).await;
        assert!(bench.dead_letters().await.is_empty(), "with {attempts} attempts");
        bench.forge("main", &group, "L1", json!({"type": "leave", "timestamp": leave_at})).await;
        drain(&backup).await;
        // The last delivery within the minute is the sixth, after 31 s; the next one after 63 s.
        bench.clock.advance(Duration::from_secs(20));
        drain(&backup).await;
        assert_eq!(bench.backlog(StageName::Backup).await, 0);
        assert_eq!(bench.counted(&group.channel()).await.1, 1, "with {attempts} attempts");
        assert!(bench.dead_letters().await.is_empty(), "with {attempts} attempts");
    }
}

#[tokio::test]
async fn a_hold_in_one_process_is_none_in_another() {
    let (bench, group) = Bench::with_group().await;
    let runner = || bench.runner_with(bench.behind_gate(bench.backup(), &["main", "other"]), 1);
    let leave_at = hold(&bench, &group, &runner(), 40).await;
    // The process is replaced.
    let backup = runner();
    bench.clock.advance(Duration::from_secs(30));
    bench.forge("main", &group, "L1", json!({"type": "leave", "timestamp": leave_at})).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_secs(64));
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    assert_eq!(bench.counted(&group.channel()).await.1, 1);
    assert!(bench.dead_letters().await.is_empty());
}

#[tokio::test]
async fn nobody_is_waited_for_longer_than_a_minute() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    bench.clock.advance(Duration::from_secs(1));
    bench.forge("other", &group, "J1", json!({"type": "join"})).await;
    bench.forge("other", &group, "M1", text("900001")).await;
    drain(&backup).await;
    bench.clock.advance(Duration::from_mins(1));
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0, "the owner is still there");
    assert_eq!(bench.counted(&group.channel()).await.1, 0);
    assert!(bench.dead_letters().await.is_empty());
    assert_eq!(
        bench.store.channels().channel(&group.channel()).await.unwrap().unwrap().bot,
        "main"
    );
}

#[tokio::test]
async fn a_bot_has_so_many_events_held_and_no_more() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    for n in 0..MAX_HELD + 5 {
        bench.forge("other", &group, &format!("F{n}"), text(&format!("9{n:05}"))).await;
    }
    drain(&backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, MAX_HELD, "the others are ignored at once");
    drain_held(&bench, &backup).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 0);
    assert_eq!(bench.counted(&group.channel()).await.1, 0);
}

#[tokio::test]
async fn the_number_of_held_events_is_of_a_minute() {
    let (bench, group) = Bench::with_group().await;
    let backup = bench.gated(bench.backup(), &["main", "other"]);
    for n in 0..MAX_HELD + 5 {
        bench.clock.advance(Duration::from_secs(30));
        drain(&backup).await;
        bench.forge("other", &group, &format!("F{n}"), text(&format!("9{n:05}"))).await;
        drain(&backup).await;
        assert!(bench.backlog(StageName::Backup).await > 0, "event {n} is held");
    }
}

#[tokio::test]
async fn events_about_channels_of_a_bot_that_is_gone_are_a_problem_until_somebody_decides() {
    let (bench, group) = Bench::with_group().await;
    let second = bench.group().await;
    let members = bench.gated(bench.members(), &["other"]);
    drain(&members).await;
    let ignored = async |group: &Group, id: &str| {
        bench.forge("other", group, id, text(&format!("9{id}"))).await;
        drain(&members).await;
        drain_held(&bench, &members).await;
    };
    assert!(bench.health.problems().is_empty());
    ignored(&group, "F1").await;
    ignored(&second, "F2").await;
    let problems = bench.health.problems();
    assert!(problems.len() == 1 && problems[0].part == "channels:other", "{problems:?}");
    assert!(problems[0].reason.contains("\"main\", which is not configured"), "{problems:?}");
    let now = bench.clock.now();
    assert!(bench.store.channels().assign_channel(&second.channel(), "other", now).await.unwrap());
    ignored(&second, "F3").await;
    assert_eq!(bench.health.problems().len(), 1, "the first one is ignored still");
    assert!(bench.store.channels().assign_channel(&group.channel(), "other", now).await.unwrap());
    ignored(&group, "F4").await;
    assert!(bench.health.problems().is_empty(), "the channels are its own now");
}

#[tokio::test]
async fn a_channel_that_another_bot_gets_is_no_problem_any_more() {
    for leaves in [false, true] {
        let (bench, group) = Bench::with_group().await;
        let members = bench.gated(bench.members(), &["other", "third"]);
        drain(&members).await;
        let ignored = async |id: &str, event: Value| {
            bench.forge("other", &group, id, event).await;
            drain(&members).await;
            drain_held(&bench, &members).await;
        };
        ignored("F1", text("91")).await;
        assert_eq!(bench.health.problems().len(), 1);
        if leaves {
            ignored("F2", json!({"type": "leave"})).await;
        } else {
            let (channel, now) = (group.channel(), bench.clock.now());
            assert!(bench.store.channels().assign_channel(&channel, "third", now).await.unwrap());
            ignored("F2", text("92")).await;
        }
        assert!(bench.health.problems().is_empty(), "{leaves}: {:?}", bench.health.problems());
    }
}
