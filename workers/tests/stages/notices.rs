//! Usage notices: each crossing of a threshold is told once, in the user's own chat and language.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::plan::Plan;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Action, Fault, Target};
use chatkeep_workers::notices::UsageNotifier;
use chatkeep_workers::periodic::PeriodicJob as _;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, Group, bots};

/// Returns a bench whose subscriber has a chat with the bot, and reads traditional Chinese.
async fn bench() -> (Bench, Group) {
    let (bench, group) = Bench::with_group().await;
    bench.line.set_language(&group.ann, "zh-TW");
    let follow = Action::Follow { user: group.ann.clone() };
    bench.publish(&bench.line.build(follow).unwrap()).await;
    bench.drain(bench.members()).await;
    (bench, group)
}

impl Bench {
    fn notifier(&self) -> UsageNotifier {
        let clock = Arc::clone(&self.clock) as SharedClock;
        UsageNotifier { store: self.store.clone(), bots: self.bots.clone(), clock }
    }

    /// Sends the notices that are due; returns those that the user has got so far.
    async fn notify(&self, group: &Group) -> Vec<String> {
        assert!(self.notifier().run(&CancellationToken::new()).await.is_ok());
        self.said(&group.ann)
    }

    /// Fills the subscriber's quota to that percentage, and a message goes beyond it.
    async fn cross(&self, group: &Group, percent: i64) {
        let target = Plan::Free.quota() / 100 * percent - 5;
        let used = self.used(&group.ann).await;
        self.charge(&group.id, &group.ann, target - used).await;
        self.publish(&self.say(&group.id, &group.bob, format!("this crosses {percent}"))).await;
        self.drain(self.backup()).await;
    }

    /// Returns another group, whose subscriber has a chat with the bot.
    async fn other_group(&self) -> Group {
        let other = self.group().await;
        self.subscribe(&other.id, &other.ann).await;
        let follow = Action::Follow { user: other.ann.clone() };
        self.publish(&self.line.build(follow).unwrap()).await;
        self.drain(self.members()).await;
        other
    }

    /// Returns the recorded results of all notices, oldest first.
    async fn results(&self) -> String {
        self.value(
            "SELECT GROUP_CONCAT(COALESCE(outcome, 'pending')) FROM
             (SELECT outcome FROM usage_notices ORDER BY notice_id)",
        )
        .await
    }
}

#[tokio::test]
async fn each_threshold_is_told_once_and_so_is_the_way_back() {
    let (bench, group) = bench().await;
    assert!(bench.notify(&group).await.is_empty());
    for (count, (percent, words)) in (1..).zip([(80, "80%"), (90, "90%"), (100, "已滿")]) {
        bench.cross(&group, percent).await;
        let told = bench.notify(&group).await;
        assert!(told.len() == count && told[count - 1].contains(words), "{words}: {told:?}");
        // More messages, and more rounds, are no reason to tell it again.
        bench.publish(&bench.say(&group.id, &group.bob, "and this does not")).await;
        bench.drain(bench.backup()).await;
        assert_eq!(bench.notify(&group).await.len(), count);
    }
    let ann = group.ann.as_str().into();
    bench.store.accounts().set_plan(&ann, Plan::Standard, bench.clock.now()).await.unwrap();
    let told = bench.notify(&group).await;
    assert!(told.len() == 4 && told[3].contains("已恢復備份"), "{told:?}");
    bench.assert_polite();
}

#[tokio::test]
async fn several_processes_tell_it_once() {
    let (bench, group) = bench().await;
    bench.cross(&group, 80).await;
    let stop = CancellationToken::new();
    let (one, other) = (bench.notifier(), bench.notifier());
    let (first, second) = tokio::join!(one.run(&stop), other.run(&stop));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(bench.said(&group.ann).len(), 1);
    assert_eq!(bench.results().await, "sent");
    assert!(bench.calls("/push") >= 1);
}

#[tokio::test]
async fn a_process_that_dies_between_push_and_record_tells_it_once() {
    let (mut bench, group) = bench().await;
    bench.cross(&group, 80).await;
    bench
        .sql(
            "CREATE TRIGGER no_record BEFORE UPDATE ON usage_notices
         BEGIN SELECT RAISE(ABORT, 'the process is dead'); END",
        )
        .await;
    assert!(bench.notifier().run(&CancellationToken::new()).await.is_err());
    assert_eq!((bench.said(&group.ann).len(), bench.results().await.as_str()), (1, "pending"));
    bench.restart().await;
    bench.sql("DROP TRIGGER no_record").await;
    assert_eq!(bench.notify(&group).await.len(), 1, "the platform knows the retry key");
    assert_eq!((bench.calls("/push"), bench.results().await.as_str()), (2, "sent"));
}

#[tokio::test]
async fn a_platform_in_trouble_gets_the_notice_later_but_not_after_a_day() {
    for (wait, told, results) in [(1, 1, "sent"), (24, 0, "stale")] {
        let (mut bench, group) = bench().await;
        bench.cross(&group, 80).await;
        bench.line.fail_next(Target::Any, 9, Fault::Status { status: 429, retry_after: Some(60) });
        assert!(bench.notify(&group).await.is_empty());
        assert_eq!(bench.results().await, "pending");
        bench.line.clear_faults();
        bench.restart().await;
        bench.clock.advance(Duration::from_hours(wait));
        assert_eq!(bench.notify(&group).await.len(), told, "after {wait} h");
        assert_eq!(bench.results().await, results);
    }
}

#[tokio::test]
async fn who_has_no_chat_or_wants_none_is_not_told() {
    let (bench, group) = Bench::with_group().await;
    bench.cross(&group, 80).await;
    assert!(bench.notify(&group).await.is_empty());
    assert_eq!(bench.results().await, "no_chat");

    let (bench, group) = self::bench().await;
    let ann = group.ann.as_str().into();
    assert!(bench.store.accounts().set_notices_enabled(&ann, false).await.unwrap());
    bench.cross(&group, 80).await;
    bench.cross(&group, 90).await;
    assert!(bench.notify(&group).await.is_empty());
    assert_eq!(bench.results().await, "overtaken,not_wanted");
    assert_eq!(bench.calls("/push"), 0);
}

#[tokio::test]
async fn who_came_back_to_what_they_heard_last_hears_nothing() {
    let (bench, group) = bench().await;
    bench.cross(&group, 80).await;
    assert_eq!(bench.notify(&group).await.len(), 1);
    // There is room for a moment, before anybody could be told.
    let ann = group.ann.as_str().into();
    for plan in [Plan::Standard, Plan::Free] {
        bench.store.accounts().set_plan(&ann, plan, bench.clock.now()).await.unwrap();
    }
    assert_eq!(bench.notify(&group).await.len(), 1);
    assert_eq!(bench.results().await, "sent,overtaken,nothing_new");
    bench.store.accounts().set_plan(&ann, Plan::Pro, bench.clock.now()).await.unwrap();
    assert_eq!(bench.notify(&group).await.len(), 2, "there is room again");
}

#[tokio::test]
async fn a_notice_that_cannot_be_recorded_holds_up_nobody() {
    let (bench, group) = bench().await;
    let other = bench.other_group().await;
    for group in [&group, &other] {
        bench.cross(group, 80).await;
    }
    let refuse = format!(
        "CREATE TRIGGER refuse BEFORE UPDATE ON usage_notices WHEN OLD.user_id = '{}'
         BEGIN SELECT RAISE(ABORT, 'refused'); END",
        group.ann
    );
    bench.sql(&refuse).await;
    bench.notifier().run(&CancellationToken::new()).await.unwrap_err();
    assert_eq!(bench.said(&other.ann).len(), 1);
    assert_eq!(bench.results().await, "pending,sent");
}

#[tokio::test]
async fn however_many_of_an_unknown_bot_wait_the_others_are_told_in_the_same_round() {
    let (mut bench, group) = bench().await;
    // With only one bot, that one would have every chat.
    let clock = Arc::clone(&bench.clock) as SharedClock;
    bench.bots = bots(&bench.line, &clock, &["main", "help"]);
    // Before the notice of the known bot, and more than are read at once.
    let notices = format!(
        "INSERT INTO usage_notices (user_id, status, created_at)
         SELECT user_id, 'WARNING', {} FROM users WHERE user_id LIKE 'Ugone%'",
        bench.clock.now().millis()
    );
    for sql in [
        "INSERT INTO users (user_id, created_at)
         WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 250)
         SELECT 'Ugone' || n, 1 FROM n",
        "INSERT INTO channels (channel_id, platform, bot, type, created_at, enabled_at)
         SELECT user_id, 'line', 'gone', 'user', 1, 1 FROM users WHERE user_id LIKE 'Ugone%'",
        notices.as_str(),
    ] {
        bench.sql(sql).await;
    }
    bench.cross(&group, 80).await;
    assert_eq!(bench.notify(&group).await.len(), 1);
    let waiting = "SELECT COUNT(*) FROM usage_notices WHERE notified_at IS NULL";
    assert_eq!(bench.value(waiting).await, "250");
    assert_eq!(bench.calls("/push"), 1, "an unknown bot is not called");
    // After a day nobody is told any more.
    bench.clock.advance(Duration::from_hours(24));
    assert_eq!(bench.notify(&group).await.len(), 1);
    assert_eq!(bench.value(waiting).await, "0");
}

#[tokio::test]
async fn a_bot_that_is_refused_is_called_once_a_round() {
    let (bench, group) = bench().await;
    let other = bench.other_group().await;
    for group in [&group, &other] {
        bench.cross(group, 80).await;
    }
    bench.line.fail_next(Target::Any, 9, Fault::Status { status: 401, retry_after: None });
    for round in 1..=2 {
        let before = bench.line.calls().len();
        assert!(bench.notify(&group).await.is_empty());
        assert_eq!(bench.line.calls().len() - before, 1, "in round {round}");
    }
    assert_eq!(bench.results().await, "pending,pending");
    bench.line.clear_faults();
    assert_eq!((bench.notify(&group).await.len(), bench.said(&other.ann).len()), (1, 1));
    assert_eq!(bench.results().await, "sent,sent");
}
