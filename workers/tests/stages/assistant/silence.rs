//! Cases in which the bot must be silent, or speaks although no rule matched.

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope};
use chatkeep_emulator::{Emoji, Entry, MentionTarget, Text};

use super::super::bench::{Bench, Group};
use super::{add_rule, answering, ask, configure};

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
async fn names_in_mentions_and_of_emoji_are_no_words_of_a_message() {
    let (bench, group) = answering().await;
    let bot = |text: &str| Text::from(text).mentioning("@Chatkeep", MentionTarget::Bot);
    assert_eq!(after(&bench, &group, bot("@Chatkeep hours?")).await, 1);
    assert_eq!(after(&bench, &group, bot("Hours @Chatkeep")).await, 2);
    assert_eq!(after(&bench, &group, bot("@Chatkeep")).await, 2);
    let clock = Emoji {
        product_id: "p".to_owned(),
        emoji_id: "e".to_owned(),
        literal: "(clock)".to_owned(),
    };
    let with_emoji = |text: &str, emoji| Text { emojis: vec![emoji], ..Text::from(text) };
    assert_eq!(after(&bench, &group, with_emoji("hours(clock)", clock.clone())).await, 3);

    configure(&bench, &group, |config| config.qa.keyword_match = KeywordMatch::Contains).await;
    let somebody = || MentionTarget::User(group.ann.clone());
    let person = |text: &str| Text::from(text).mentioning("@hours Ann", somebody());
    assert_eq!(after(&bench, &group, person("thanks, @hours Ann")).await, 3);
    assert_eq!(after(&bench, &group, person("@hours Ann which hours?")).await, 4);
    let named = Emoji { literal: "(hours)".to_owned(), ..clock };
    assert_eq!(after(&bench, &group, with_emoji("good morning (hours)", named)).await, 4);
    bench.assert_polite();
}

#[tokio::test]
async fn a_quote_of_the_bot_means_it_also_where_nothing_is_stored() {
    let bench = Bench::new().await;
    let group = bench.group().await;
    add_rule(&bench, &group, "hours", "9-18").await;
    configure(&bench, &group, |config| {
        config.qa.no_match_reply = Some("I do not know".to_owned());
        config.qa.no_match_scope = NoMatchScope::Addressed;
    })
    .await;
    bench.drain(bench.assistant()).await;
    assert_eq!(after(&bench, &group, "hours").await, 1);
    assert!(bench.messages(&group.channel()).await.is_empty(), "nobody backs it up");
    let lines = bench.line.transcript(&group.id);
    let of = |is_bot| {
        let line = lines.iter().rfind(|line| line.is_bot() == is_bot && line.message_id.is_some());
        line.and_then(|line| line.message_id.clone()).unwrap()
    };
    assert_eq!(after(&bench, &group, Text::from("why?").quoting(of(false))).await, 1);
    assert_eq!(after(&bench, &group, Text::from("why?").quoting(of(true))).await, 2);
    // Nobody knows so old a reply any more.
    bench.clock.advance(std::time::Duration::from_hours(8 * 24));
    assert_eq!(after(&bench, &group, Text::from("why?").quoting(of(true))).await, 2);
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
