//! Backup: what is stored, in whatever order it comes, wherever its process dies, and what is not.

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::Content;
use chatkeep_core::plan::Plan;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Action, Event, Media, Post};
use chatkeep_store::Gap;
use chatkeep_workers::StageName;
use chatkeep_workers::backup::Backup;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

use super::bench::{Bench, Group, LEASE, message, shuffled_twice, until};
use super::faults::deaths;

/// Returns a message that stays, one edited twice, one unsent, a picture that stays and one unsent,
/// and an event of a type that does not exist.
pub(crate) fn story(bench: &Bench, group: &Group) -> Vec<Event> {
    let (chat, ann, bob) = (group.id.as_str(), group.ann.as_str(), group.bob.as_str());
    let picture = |bytes: &str| {
        let post = Post::Image(Media::new("image/png", bytes.to_owned()));
        bench.post(chat, ann, post)
    };
    let (edited, unsent) = (bench.say(chat, bob, "first"), bench.say(chat, ann, "secret"));
    let (kept, regretted) = (picture("kept"), picture("regretted"));
    let odd = Action::Unknown {
        chat: chat.to_owned(),
        user: None,
        kind: "greatNewFeature".to_owned(),
        fields: Map::new(),
    };
    let mut events = bench.say(chat, ann, "stays");
    events.extend([bench.edit(&edited, "second"), bench.edit(&edited, "third")].concat());
    events.extend([bench.unsend(&unsent), bench.unsend(&regretted)].concat());
    events.extend([edited, unsent, kept, regretted, bench.line.build(odd).unwrap()].concat());
    events
}

/// Returns a group whose channel keeps earlier texts, or does not.
pub(crate) async fn with_group(keeps_earlier_texts: bool) -> (Bench, Group) {
    let (bench, group) = Bench::with_group().await;
    let (ann, now) = (group.ann.as_str().into(), bench.clock.now());
    let channels = bench.store.channels();
    channels.set_earlier_texts(&group.channel(), keeps_earlier_texts, &ann, now).await.unwrap();
    (bench, group)
}

/// Returns everything that backup stores, as text.
async fn snapshot(bench: &Bench, group: &Group) -> String {
    let channel = group.channel();
    let (mut messages, counted) = (bench.messages(&channel).await, bench.counted(&channel).await);
    bench.store.messages().add_earlier_texts(&channel, &mut messages).await.unwrap();
    let (used, odd) =
        (bench.used(&group.ann).await, bench.value("SELECT COUNT(*) FROM other_events").await);
    let retractions = bench.store.messages().retractions(100).await.unwrap();
    let retracted: Vec<_> = retractions.into_iter().map(|note| note.channel).collect();
    format!("{messages:#?}\n{counted:?}, used {used}, {odd} odd, retracted {retracted:?}")
}

/// Returns what is stored of the story in the order in which it happened.
async fn told_in_order(keeps_earlier_texts: bool) -> String {
    let (bench, group) = with_group(keeps_earlier_texts).await;
    bench.publish(&story(&bench, &group)).await;
    bench.drain(bench.backup()).await;
    let told = snapshot(&bench, &group).await;
    for part in ["\"stays\"", "\"third\"", "1 odd"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("secret"), "{told}");
    for edited in ["first", "second"] {
        assert_eq!(told.contains(edited), keeps_earlier_texts, "{edited}: {told}");
    }
    told
}

#[tokio::test]
async fn any_order_and_repetition_ends_the_same() {
    let expected = [told_in_order(false).await, told_in_order(true).await];
    let mut random = TestRunner::deterministic();
    for nth in 0..8 {
        let keeps_earlier_texts = nth % 2 == 1;
        let (bench, group) = with_group(keeps_earlier_texts).await;
        let events = story(&bench, &group);
        for part in shuffled_twice(events, &mut random).chunks(5) {
            bench.publish(part).await;
            bench.drain(bench.backup()).await;
        }
        assert_eq!(snapshot(&bench, &group).await, expected[usize::from(keeps_earlier_texts)]);
        assert_eq!(bench.backlog(StageName::Backup).await, 0);
    }
}

#[tokio::test]
async fn wherever_a_process_dies_nothing_is_lost_or_counted_twice() {
    let expected = told_in_order(true).await;
    for death in deaths() {
        let (mut bench, group) = with_group(true).await;
        bench.publish(&story(&bench, &group)).await;
        bench.die(bench.backup(), death).await;
        bench.drain(bench.backup()).await;
        assert_eq!(snapshot(&bench, &group).await, expected, "{death:?}");
        assert_eq!(bench.backlog(StageName::Backup).await, 0, "{death:?}");
        assert_eq!(bench.backlog(StageName::Media).await, 2, "{death:?}: a job for each picture");
        assert!(bench.dead_letters().await.is_empty());
    }
}

#[tokio::test]
async fn earlier_texts_are_kept_in_any_order_where_the_channel_keeps_them_until_the_unsend() {
    for keep in [false, true] {
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]] {
            let (bench, group) = Bench::with_group().await;
            let (channel, ann) = (group.channel(), group.ann.as_str().into());
            let now = bench.clock.now();
            bench.store.channels().set_earlier_texts(&channel, keep, &ann, now).await.unwrap();
            let said = bench.say(&group.id, &group.bob, "first");
            let edits = [bench.edit(&said, "second"), bench.edit(&said, "third")];
            let events = [&said, &edits[0], &edits[1]];
            for nth in order {
                bench.publish(events[nth]).await;
                bench.drain(bench.backup()).await;
            }
            let read = async || {
                let mut messages = bench.messages(&channel).await;
                let store = bench.store.messages();
                store.add_earlier_texts(&channel, &mut messages).await.unwrap();
                messages
            };
            let [message] = &read().await[..] else { panic!("one message") };
            let current = message.content.as_ref().and_then(Content::legible);
            assert_eq!(current.as_deref(), Some("third"), "{order:?}");
            let earlier = message.earlier_texts.as_slice().iter();
            let texts: Vec<_> = earlier.map(|text| text.parsed().unwrap().legible()).collect();
            let expected = if keep { &["first", "second"][..] } else { &[] };
            let expected: Vec<_> = expected.iter().map(|text| Some((*text).to_owned())).collect();
            assert_eq!(texts, expected, "{order:?}");
            let at = message.earlier_texts.as_slice().first().map(|text| text.at);
            assert_eq!(at, keep.then_some(message.sent_at));
            assert_eq!(bench.counted(&channel).await, (message.bytes, 1));

            bench.publish(&bench.unsend(&said)).await;
            bench.publish(&edits[0]).await;
            bench.drain(bench.backup()).await;
            let [message] = &read().await[..] else { panic!("one message") };
            assert!(message.earlier_texts.is_empty() && message.content.is_none(), "{message:?}");
            assert_eq!(bench.counted(&channel).await, (0, 0));
            let left = "SELECT COUNT(*) FROM messages WHERE earlier_texts IS NOT NULL";
            assert_eq!(bench.value(left).await, "0");
        }
    }
}

#[tokio::test]
async fn an_edit_to_something_unknown_leaves_no_text_that_was_taken_back() {
    for edit_comes_first in [false, true] {
        let (bench, group) = Bench::with_group().await;
        let said = bench.say(&group.id, &group.bob, "taken back");
        if !edit_comes_first {
            bench.publish(&said).await;
            bench.drain(bench.backup()).await;
        }
        let poll = |event: &mut Value| event["message"]["type"] = json!("poll");
        bench.publish_edited(&bench.edit(&said, "voted"), poll).await;
        bench.publish(&said).await;
        bench.drain(bench.backup()).await;
        let [message] = &bench.messages(&group.channel()).await[..] else { panic!("one message") };
        let content = message.content.as_ref().unwrap();
        assert!(matches!(content, Content::Other { raw } if raw.contains("poll")), "{content:?}");
        assert_eq!(content.searchable(), None);
        assert!(message.edited_at.is_some());
    }
}

#[tokio::test]
async fn a_job_that_was_not_published_is_published_when_the_message_comes_again() {
    let (mut bench, group) = Bench::with_group().await;
    let picture = Post::Image(Media::new("image/png", "picture"));
    bench.publish(&bench.post(&group.id, &group.bob, picture)).await;
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let closed = EmbeddedBus::open(folder.path(), BusLimits::default(), clock).await.unwrap();
    let closed = Bus::Embedded(closed);
    closed.close().await;
    let runner = bench.runner(Backup { bus: closed, ..bench.backup() });
    let dying = tokio::spawn(async move { runner.drain().await });
    let stored = async || bench.messages(&group.channel()).await.len() == 1;
    until("the message is stored", stored).await;
    assert_eq!(bench.backlog(StageName::Backup).await, 1, "it is held until its job is published");
    dying.abort();
    bench.restart().await;
    assert_eq!(bench.backlog(StageName::Media).await, 0);
    bench.drain(bench.backup()).await;
    assert_eq!(bench.backlog(StageName::Media).await, 1);
    assert_eq!(bench.counted(&group.channel()).await.1, 1);
}

#[tokio::test]
async fn of_five_thousand_messages_the_one_that_is_refused_is_put_aside_alone_and_can_be_retried() {
    const COUNT: usize = 5_000;
    let (bench, group) = Bench::with_group().await;
    bench
        .sql(
            "CREATE TRIGGER no_poison BEFORE INSERT ON messages WHEN NEW.content LIKE '%poison%'
             BEGIN SELECT RAISE(ABORT, 'no poison'); END",
        )
        .await;
    let text = |n| if n == 3_333 { "poison".to_owned() } else { format!("message {n}") };
    let events: Vec<_> =
        (0..COUNT).flat_map(|n| bench.say(&group.id, &group.bob, text(n))).collect();
    bench.publish(&events).await;
    bench.drain(bench.backup()).await;
    let stored = async || bench.counted(&group.channel()).await.1;
    assert_eq!(stored().await, 4_999);
    assert_eq!(bench.backlog(StageName::Backup).await, 0, "nothing waits");
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    assert_eq!((letter.consumer.as_str(), letter.attempts), ("backup", 1));
    assert_eq!(letter.reason, "the database rejects the statement: 1811");

    // Retried while it is refused, it comes back; later it is stored.
    assert!(bench.bus.retry_dead_letter(&letter.id).await.unwrap());
    bench.drain(bench.backup()).await;
    let [letter] = &bench.dead_letters().await[..] else { panic!("one letter") };
    bench.sql("DROP TRIGGER no_poison").await;
    assert!(bench.bus.retry_dead_letter(&letter.id).await.unwrap());
    bench.drain(bench.backup()).await;
    assert_eq!(stored().await, 5_000);
    assert!(bench.dead_letters().await.is_empty());
}

#[tokio::test]
async fn what_cannot_be_an_event_is_put_aside_without_its_words() {
    let (bench, group) = Bench::with_group().await;
    let said = |id: &str, user: &str, text: &str| {
        let source = format!(r#"{{"type":"group","groupId":"{}","userId":"{user}"}}"#, group.id);
        format!(
            r#"{{"type":"message","webhookEventId":"01{text}","timestamp":1767323045678,
                "mode":"active","source":{source},
                "message":{{"id":"{id}","type":"text","text":"{text}"}}}}"#
        )
    };
    let (long, bob) = ("9".repeat(9_000), group.bob.as_str());
    let events = [
        said("900001", bob, "before"),
        said(&long, bob, "secretA"),
        said("9000\\u000004", bob, "secretB"),
        said("900005", &long, "secretC"),
        r#"["secretD"]"#.to_owned(),
        said("900007", bob, "after"),
    ];
    let body = format!(r#"{{"destination":"U1","events":[{}]}}"#, events.join(","));
    bench.publish_raw("main", &body).await;
    bench.drain(bench.backup()).await;
    let mut reasons: Vec<_> = bench.dead_letters().await.into_iter().map(|l| l.reason).collect();
    reasons.sort();
    assert!(!reasons.concat().contains("secret"), "{reasons:?}");
    assert_eq!(
        reasons[..3],
        [
            "message.id is not an identifier: it contains a control character",
            "message.id is not an identifier: it is longer than 255 bytes",
            "source.userId is not an identifier: it is longer than 255 bytes",
        ]
    );
    assert!(reasons.len() == 4 && reasons[3].starts_with("unreadable envelope"), "{reasons:?}");
    assert_eq!(bench.counted(&group.channel()).await.1, 2);
}

/// Returns the gaps of a channel for lack of room.
async fn gaps(bench: &Bench, channel: &ChannelId) -> Vec<Gap> {
    let mut gaps = bench.store.messages().gaps(channel, None, None).await.unwrap();
    gaps.retain(|gap| gap.reason.name() == "quota");
    gaps
}

#[tokio::test]
async fn a_full_quota_pauses_backup_until_there_is_room() {
    let (bench, group) = Bench::with_group().await;
    let say = async |text: &str| {
        bench.clock.advance(Duration::from_hours(1));
        let said = bench.say(&group.id, &group.bob, text);
        bench.publish(&said).await;
        bench.drain(bench.backup()).await;
        bench.store.messages().message(&group.channel(), &message(&said)).await.unwrap().is_some()
    };
    bench.charge(&group.id, &group.ann, Plan::Free.quota() - 10).await;
    assert!(say("this one crosses the quota").await);
    let mut paused_at = bench.clock.now();
    for n in 0..3 {
        assert!(!say("this one is skipped").await);
        if n == 0 {
            paused_at = bench.clock.now();
        }
    }
    let paused = gaps(&bench, &group.channel()).await;
    let [Gap { from, to: None, skipped: Some(3), .. }] = &paused[..] else { panic!("{paused:?}") };
    assert_eq!(*from, paused_at);
    bench.clock.advance(Duration::from_hours(24 * 40));
    assert!(!say("time alone gives no room").await);
    let resumed_at = bench.clock.now();
    let ann = group.ann.as_str().into();
    assert!(bench.store.accounts().set_plan(&ann, Plan::Standard, resumed_at).await.unwrap());
    assert!(say("there is room again").await);
    let [gap] = &gaps(&bench, &group.channel()).await[..] else { panic!("one gap") };
    assert_eq!((gap.to, gap.skipped), (Some(resumed_at), Some(4)));
}

#[tokio::test]
async fn what_is_skipped_beside_a_retraction_that_makes_room_belongs_to_the_open_gap() {
    let (bench, group) = Bench::with_group().await;
    let large = bench.say(&group.id, &group.bob, "x".repeat(500));
    bench.publish(&large).await;
    bench.drain(bench.backup()).await;
    let left = Plan::Free.quota() - bench.used(&group.ann).await;
    bench.charge(&group.id, &group.ann, left).await;
    bench.clock.advance(Duration::from_hours(1));
    let paused_at = bench.clock.now();
    // The first message is taken alone; the others are one call.
    let mut events = bench.say(&group.id, &group.bob, "this one is skipped");
    bench.clock.advance(Duration::from_secs(1));
    events.extend(bench.say(&group.id, &group.bob, "and this one"));
    events.extend(bench.unsend(&large));
    bench.publish(&events).await;
    bench.drain(bench.backup()).await;
    let all = gaps(&bench, &group.channel()).await;
    let [gap] = &all[..] else { panic!("one gap: {all:?}") };
    let resumed_at = Some(bench.clock.now());
    assert_eq!((gap.from, gap.to, gap.skipped), (paused_at, resumed_at, Some(2)));
}

#[tokio::test]
async fn nothing_is_stored_without_a_subscription_nor_after_its_end() {
    let bench = Bench::new().await;
    let group = bench.group().await;
    let channel = group.channel();
    assert_eq!(bench.counted(&channel).await, (0, 0));
    bench.subscribe(&group.id, &group.ann).await;
    bench.publish(&bench.say(&group.id, &group.bob, "now")).await;
    bench.drain(bench.backup()).await;
    assert_eq!(bench.counted(&channel).await.1, 1);
    let ann = group.ann.as_str().into();
    bench.clock.advance(Duration::from_secs(1));
    assert!(bench.store.accounts().unsubscribe(&channel, &ann, bench.clock.now()).await.unwrap());
    bench.publish(&bench.say(&group.id, &group.bob, "not any more")).await;
    bench.drain(bench.backup()).await;
    assert_eq!(bench.counted(&channel).await.1, 1, "what was stored stays");
}

#[tokio::test]
async fn a_message_whose_lease_was_lost_is_stored_once_by_whoever_comes_last() {
    let (bench, group) = Bench::with_group().await;
    bench.publish(&bench.say(&group.id, &group.bob, "once")).await;
    // One process takes it and stalls for longer than its lease.
    let mut stalled = bench.bus.consume(&StageName::Backup.consumer(LEASE)).await.unwrap();
    let [late] = <[_; 1]>::try_from(stalled.fetch(10, Duration::ZERO).await.unwrap()).unwrap();
    assert_eq!(bench.drain(bench.backup()).await, 0, "it is leased");
    super::bench::skip(LEASE).await;
    assert_eq!(bench.drain(bench.backup()).await, 1);
    // What the stalled one says now counts for nothing.
    late.dead_letter("too late").await.unwrap();
    assert!(bench.dead_letters().await.is_empty());
    assert_eq!(bench.drain(bench.backup()).await, 0);
    assert_eq!(bench.counted(&group.channel()).await.1, 1);
}
