//! The word that makes the bot reply with the address of the channel's page.

use std::time::Duration;

use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_store::{ReplySource, ReplyStatus};
use chatkeep_workers::assistant::{Assistant, ReplyPolicy};

use super::super::bench::{Bench, Group};
use super::super::faults::deaths;
use super::{answering, configure, failed, replies};

const ADDRESS: &str = "https://chat.example.org";

/// Returns a bench with a group that has the words.
async fn linking(cooldown_seconds: u32) -> (Bench, Group) {
    let (mut bench, group) = answering().await;
    with_address(&mut bench);
    configure(&bench, &group, move |config| {
        config.qa.cooldown_seconds = cooldown_seconds;
        config.link.enabled = true;
        config.link.trigger_keywords = vec!["連結".to_owned(), "dashboard".to_owned()];
    })
    .await;
    (bench, group)
}

fn with_address(bench: &mut Bench) {
    bench.assistants =
        bench.assistants.clone().with_links(|channel| Some(format!("{ADDRESS}/c/{channel}")));
}

/// Says a text and lets the assistant read it; returns what the bot has said.
async fn after(bench: &Bench, group: &Group, text: &str) -> Vec<String> {
    bench.publish(&bench.say(&group.id, &group.bob, text)).await;
    bench.drain(bench.assistant()).await;
    bench.said(&group.id)
}

#[tokio::test]
async fn a_word_is_answered_with_the_link_once_wherever_a_process_dies() {
    for death in deaths() {
        let (mut bench, group) = linking(0).await;
        let ask = || bench.say(&group.id, &group.bob, "Dashboard?");
        bench.publish(&[ask(), ask()].concat()).await;
        bench.die(bench.assistant(), death).await;
        with_address(&mut bench);
        bench.drain(bench.assistant()).await;
        let link = format!("{ADDRESS}/c/{}", group.id);
        assert_eq!(bench.said(&group.id), [link.as_str(), link.as_str()], "{death:?}");
        let given = bench.store.assistant().replies(&group.channel(), 10).await.unwrap();
        let given: Vec<_> = given.iter().map(|reply| (reply.source, reply.status)).collect();
        assert_eq!(given, [(ReplySource::Link, ReplyStatus::Sent); 2]);
        assert_eq!((bench.calls("/reply"), bench.calls("/push")), (2, 0));
        bench.assert_polite();
    }
}

#[tokio::test]
async fn the_link_stays_silent_during_the_cooldown() {
    let (bench, group) = linking(60).await;
    assert_eq!(after(&bench, &group, "連結").await.len(), 1);
    bench.clock.advance(Duration::from_secs(59));
    assert_eq!(after(&bench, &group, "dashboard").await.len(), 1);
    let suppressed = (ReplyStatus::Suppressed, None);
    assert_eq!(replies(&bench, &group).await[0], suppressed);
    // A rule has a cooldown of its own.
    assert_eq!(after(&bench, &group, "hours").await.len(), 2);
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(after(&bench, &group, "dashboard").await.len(), 3);
    bench.assert_polite();
}

#[tokio::test]
async fn without_a_public_address_or_switched_off_the_bot_says_nothing() {
    let (mut bench, group) = linking(0).await;
    configure(&bench, &group, |config| config.link.enabled = false).await;
    assert!(after(&bench, &group, "dashboard").await.is_empty());
    configure(&bench, &group, |config| config.link.enabled = true).await;
    bench.restart().await;
    assert!(after(&bench, &group, "dashboard").await.is_empty());
    // Rules are asked all the same.
    assert_eq!(after(&bench, &group, "hours").await, ["9-18"]);
}

#[tokio::test]
async fn the_link_is_never_pushed() {
    let (bench, group) = linking(0).await;
    bench.publish(&bench.say(&group.id, &group.bob, "dashboard")).await;
    bench.clock.advance(Duration::from_secs(61));
    let policy = ReplyPolicy {
        deadline: Duration::from_mins(5),
        push_max_age: Some(Duration::from_mins(10)),
    };
    bench.drain(Assistant { policy, ..bench.assistant() }).await;
    assert_eq!(replies(&bench, &group).await, [failed(ReplyFailureReason::ExpiredToken)]);
    assert_eq!(bench.calls("/push"), 0);
}
