//! A store that is away between a reply and its record.

use std::time::Duration;

use chatkeep_emulator::{Fault, Target};
use chatkeep_store::ReplyStatus;
use chatkeep_workers::StageName;
use sqlx::Connection as _;
use tokio::time::Instant;

use super::super::bench::{skip, until};
use super::{answering, ask, replies};

/// Duration of the platform's answer, half of the time that a caller waits for it.
const ANSWER: Duration = Duration::from_secs(5);
/// Outage that is longer than a stage has for a call.
const OUTAGE: Duration = Duration::from_mins(5);

/// Lets everything go on that only waits for its turn.
async fn go_on() {
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_reply_that_was_given_is_recorded_however_long_the_store_is_away() {
    let (bench, group) = answering().await;
    bench.publish(&ask(&bench, &group)).await;
    bench.line.fail_next(Target::Reply, 1, Fault::Delay(ANSWER));
    let assistant = bench.assistant();
    let tasks = assistant.tasks.clone();
    let runner = bench.runner(assistant);
    let running = tokio::spawn(async move { runner.drain().await });
    until("it has replied", async || !bench.said(&group.id).is_empty()).await;
    let lock = bench.lock().await;
    skip(ANSWER).await;
    until("the platform has answered", async || bench.calls("/reply") == 1).await;
    go_on().await;
    let since = Instant::now();
    until("the call of the stage is over", async || {
        skip(Duration::from_secs(10)).await;
        since.elapsed() > OUTAGE
    })
    .await;
    assert_eq!(replies(&bench, &group).await, [(ReplyStatus::Sending, None)]);
    assert!(!tasks.is_empty(), "a process that stops waits for it");

    lock.close().await.unwrap();
    tasks.close();
    tasks.wait().await;
    assert_eq!(replies(&bench, &group).await, [(ReplyStatus::Sent, None)]);
    let kept = bench.messages(&group.channel()).await;
    let own: Vec<_> = kept.iter().map(|message| message.is_bot).collect();
    assert_eq!(own, [false, true], "the bot's message is stored after the question");
    until("the event is handled", async || {
        skip(Duration::from_secs(1)).await;
        running.is_finished()
    })
    .await;
    assert_eq!(running.await.unwrap().unwrap(), 1, "it was never delivered again");
    assert_eq!((bench.calls("/reply"), bench.said(&group.id).len()), (1, 1));
    assert_eq!(bench.backlog(StageName::Assistant).await, 0);
    assert!(bench.dead_letters().await.is_empty());
    bench.assert_polite();
}
