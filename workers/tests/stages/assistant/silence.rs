//! Cases in which the bot must be silent, or speaks although no rule matched.

use chatkeep_core::assistant::NoMatchScope;
use chatkeep_emulator::{Entry, MentionTarget, Text};

use super::super::bench::{Bench, Group};
use super::{answering, ask, configure};

/// Lets the bot read a message; returns the number of its messages.
async fn after(bench: &Bench, group: &Group, text: impl Into<Text> + Send) -> usize {
    bench.publish(&bench.say(&group.id, &group.bob, text)).await;
    bench.drain(bench.backup()).await;
    bench.drain(bench.assistant()).await;
    bench.said(&group.id).len()
}

#[tokio::test]
async fn no_match_replies_only_to_whoever_means_the_bot() {
    let (bench, group) = answering().await;
    let scope = |scope| {
        configure(&bench, &group, move |config| {
            config.qa.no_match_reply = Some("I do not know".to_owned());
            config.qa.no_match_scope = scope;
        })
    };
    scope(NoMatchScope::Addressed).await;
    assert_eq!(after(&bench, &group, "just talking").await, 0);
    let mention = Text::from("@Chatkeep what now").mentioning("@Chatkeep", MentionTarget::Bot);
    assert_eq!(after(&bench, &group, mention).await, 1);
    let all = Text::from("@All what now").mentioning("@All", MentionTarget::All);
    assert_eq!(after(&bench, &group, all).await, 1);
    let lines = bench.line.transcript(&group.id);
    let own = lines.iter().find(|line| line.is_bot()).and_then(|line| line.message_id.clone());
    let other = lines.iter().find(|line| !line.is_bot() && line.message_id.is_some());
    let other = other.and_then(|line: &Entry| line.message_id.clone());
    let quoting = |id: Option<String>| Text::from("why?").quoting(id.unwrap());
    assert_eq!(after(&bench, &group, quoting(other)).await, 1, "somebody else is quoted");
    assert_eq!(after(&bench, &group, quoting(own)).await, 2);
    scope(NoMatchScope::Always).await;
    assert_eq!(after(&bench, &group, "just talking").await, 3);
    bench.assert_polite();
}

#[tokio::test]
async fn the_bot_is_silent_while_another_one_is_in_control_and_when_it_is_switched_off() {
    let (bench, group) = answering().await;
    bench.line.set_standby(true);
    assert_eq!(after(&bench, &group, "hours").await, 0);
    bench.line.set_standby(false);
    assert_eq!(after(&bench, &group, "hours").await, 1);
    configure(&bench, &group, |config| config.qa.enabled = false).await;
    assert_eq!(after(&bench, &group, "hours").await, 1);
    configure(&bench, &group, |config| {
        (config.qa.enabled, config.enabled) = (true, false);
    })
    .await;
    assert_eq!(after(&bench, &group, "hours").await, 1);
    configure(&bench, &group, |config| config.enabled = true).await;
    assert_eq!(after(&bench, &group, "hours").await, 2);
}

#[tokio::test]
async fn an_edit_or_an_unsend_is_no_question() {
    let (bench, group) = answering().await;
    let said = bench.say(&group.id, &group.bob, "huors");
    bench.publish(&said).await;
    bench.publish(&bench.edit(&said, "hours")).await;
    let regretted = ask(&bench, &group);
    bench.publish(&bench.unsend(&regretted)).await;
    bench.drain(bench.assistant()).await;
    assert!(bench.said(&group.id).is_empty());
}
