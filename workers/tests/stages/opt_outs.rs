//! People who opted out: nothing of them is stored by any stage, in whatever order it comes and
//! wherever a process dies, and what is missing is counted once.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::id::UserId;
use chatkeep_core::message::MessageType;
use chatkeep_core::time::{Clock as _, SharedClock, Timestamp};
use chatkeep_emulator::{Action, Event, Media, Post, Text};
use chatkeep_store::{Gap, OptOutChange, StoredMessage};
use chatkeep_workers::StageName;
use chatkeep_workers::dead_letters::DeadLetterCleaner;
use chatkeep_workers::media::MediaOrigin;
use proptest::strategy::{Just, Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Map, json};

use super::assistant::answering;
use super::backup::with_group;
use super::bench::{Bench, Group, message};
use super::faults::deaths;

/// Part of everything that must not be stored.
const SECRET: &str = "xq7secret";
/// Messages of Ann's that are missing in the [`story`].
const MISSED: i64 = 4;

/// Events of a run, and the messages that others must still find.
struct Story {
    events: Vec<Event>,
    kept: usize,
}

impl Bench {
    pub(crate) async fn opt(&self, user: &str, channel: Option<&Group>, out: bool) {
        self.clock.advance(Duration::from_secs(1));
        let (user, channel): (UserId, _) = (user.into(), channel.map(Group::channel));
        let members = self.store.members();
        let done = members.set_opted_out(&user, channel.as_ref(), out, || self.clock.now());
        assert_eq!(done.await.unwrap(), OptOutChange::Done);
        self.clock.advance(Duration::from_secs(1));
    }

    async fn opted_out(&self, group: &Group) -> Vec<Gap> {
        let mut gaps = self.store.messages().gaps(&group.channel(), None, None).await.unwrap();
        gaps.retain(|gap| gap.reason.name() == "opted_out");
        gaps
    }

    /// Returns the names of the store's and the media store's files that contain the secret.
    fn leaks(&self) -> Vec<String> {
        let mut folders = vec![self.folder.path().to_owned()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if !name.starts_with("bus") {
                    // The bus alone holds what came, until every stage is done with it.
                    let bytes = std::fs::read(&path).unwrap();
                    let secret = SECRET.as_bytes();
                    if bytes.windows(secret.len()).any(|part| part == secret) {
                        found.push(name);
                    }
                }
            }
        }
        found
    }

    async fn drain_all(&self) {
        self.drain(self.members()).await;
        self.drain(self.assistant()).await;
        self.drain(self.backup()).await;
        self.drain(self.media(MediaOrigin::Platform)).await;
    }
}

/// Ann opts out after her first messages, one of them edited, and says, sends and edits things; Bob
/// quotes and mentions her; she is kept again at the end, and edits once more.
async fn story(bench: &Bench, group: &Group) -> Story {
    let (chat, ann, bob) = (group.id.as_str(), group.ann.as_str(), group.bob.as_str());
    let before = bench.say(chat, ann, "before");
    let edited = bench.say(chat, ann, "at first");
    let second = bench.edit(&edited, "at second");
    let regretted = bench.say(chat, ann, "regretted");
    bench.opt(ann, Some(group), true).await;
    let said = bench.say(chat, ann, format!("{SECRET} said"));
    let file = Post::File(Media::new("text/plain", SECRET), format!("{SECRET}.txt"));
    let odd = Action::Unknown {
        chat: chat.to_owned(),
        user: Some(ann.to_owned()),
        kind: "greatNewFeature".to_owned(),
        fields: Map::from_iter([("note".to_owned(), json!(SECRET))]),
    };
    let new_type = Map::from_iter([("note".to_owned(), json!(SECRET))]);
    let quoting = Text {
        text: "really?".to_owned(),
        quoted: Some(message(&said).into_string()),
        ..Text::default()
    };
    let unsent = bench.say(chat, ann, format!("{SECRET} unsent"));
    let mut events = [
        bench.edit(&before, &format!("{SECRET} edited")),
        bench.edit(&edited, &format!("{SECRET} edited")),
        second,
        bench.post(chat, ann, file),
        bench.post(chat, ann, Post::Unknown("hologram".to_owned(), new_type)),
        bench.line.build(odd).unwrap(),
        bench.post(chat, bob, Post::Text(quoting)),
        bench.unsend(&regretted),
        bench.unsend(&unsent),
    ]
    .concat();
    bench.opt(ann, Some(group), false).await;
    // The message was not stored, so what it says now is not, either.
    events.extend(bench.edit(&said, &format!("{SECRET} edited later")));
    events.extend(bench.say(chat, ann, "back"));
    events.extend(bench.edit(&edited, "in the end"));
    events.extend([before, regretted, said, unsent, edited].concat());
    Story { events, kept: 5 }
}

fn told(messages: &[StoredMessage]) -> String {
    format!("{messages:#?}")
}

/// Returns everything that is stored of the story, as text.
async fn snapshot(bench: &Bench, group: &Group) -> String {
    let channel = group.channel();
    let (mut messages, counted) = (bench.messages(&channel).await, bench.counted(&channel).await);
    bench.store.messages().add_earlier_texts(&channel, &mut messages).await.unwrap();
    let strays = bench
        .value("SELECT COUNT(*) FROM messages WHERE content IS NOT NULL AND sent_at IS NULL")
        .await;
    let odd = bench.value("SELECT COUNT(*) FROM other_events").await;
    let gaps = bench.opted_out(group).await;
    format!("{}\n{counted:?}, {strays} strays, {odd} odd, {gaps:?}", told(&messages))
}

async fn in_order() -> String {
    let (bench, group) = with_group(true).await;
    let Story { events, kept } = story(&bench, &group).await;
    bench.publish(&events).await;
    bench.drain_all().await;
    let messages = bench.messages(&group.channel()).await;
    assert_eq!(messages.len(), kept, "{}", told(&messages));
    let told = snapshot(&bench, &group).await;
    assert!(told.contains("\"before\"") && told.contains("\"really?\""), "{told}");
    assert!(told.contains("\"back\"") && !told.contains(SECRET), "{told}");
    for text in ["at first", "at second", "in the end"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    let [gap] = &bench.opted_out(&group).await[..] else { panic!("{told}") };
    assert_eq!(gap.skipped, Some(MISSED));
    assert_eq!(gap.from, Timestamp::from_millis(1_767_312_000_000), "the day, not the moment");
    told
}

#[tokio::test]
async fn any_order_and_repetition_ends_the_same() {
    let expected = in_order().await;
    let mut random = TestRunner::deterministic();
    for _ in 0..6 {
        let (bench, group) = with_group(true).await;
        let events = story(&bench, &group).await.events;
        let twice = Just([events.clone(), events].concat()).prop_shuffle();
        for part in twice.new_tree(&mut random).unwrap().current().chunks(5) {
            bench.publish(part).await;
            bench.drain_all().await;
        }
        assert_eq!(snapshot(&bench, &group).await, expected);
        assert_eq!(bench.backlog(StageName::Media).await, 0);
        // An edit of a message is stored until it is known that the message is not.
        bench.store.checkpoint_wal().await.unwrap();
        assert_eq!(bench.leaks(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn wherever_a_process_dies_nothing_is_stored_and_each_is_counted_once() {
    let expected = in_order().await;
    for death in deaths() {
        let (mut bench, group) = with_group(true).await;
        let events = story(&bench, &group).await.events;
        bench.publish(&events).await;
        bench.die(bench.backup(), death).await;
        bench.drain_all().await;
        assert_eq!(snapshot(&bench, &group).await, expected, "{death:?}");
        assert!(bench.dead_letters().await.is_empty());
        bench.store.checkpoint_wal().await.unwrap();
        assert_eq!(bench.leaks(), Vec::<String>::new(), "{death:?}");
    }
}

#[tokio::test]
async fn nobody_hears_of_those_who_opted_out_of_everything() {
    let (bench, group) = Bench::with_group().await;
    let kim = bench.line.add_user(&format!("{SECRET} Kim"), None).user_id;
    let told = "SELECT COUNT(*) FROM outbox_events";
    let before = bench.value(told).await;
    bench.opt(&kim, None, true).await;
    let (chat, users) = (group.id.clone(), vec![kim.clone()]);
    let mut events =
        bench.line.build(Action::MembersJoin { chat: chat.clone(), users: users.clone() }).unwrap();
    events.extend(bench.say(&group.id, &kim, SECRET));
    bench.publish(&events).await;
    bench.drain_all().await;
    let member =
        bench.store.members().member(&group.channel(), &kim.as_str().into()).await.unwrap();
    let member = member.expect("access is decided by membership");
    assert_eq!(member.display_name, None);
    events = bench.line.build(Action::MembersLeave { chat, users }).unwrap();
    bench.publish(&events).await;
    bench.drain_all().await;
    assert_eq!(bench.value(told).await, before);
    bench.store.checkpoint_wal().await.unwrap();
    assert_eq!(bench.leaks(), Vec::<String>::new());
}

#[tokio::test]
async fn without_a_subscription_no_event_tells_of_them() {
    let bench = Bench::new().await;
    let group = bench.group().await;
    bench.opt(&group.ann, None, true).await;
    let said = [
        bench.say(&group.id, &group.ann, SECRET),
        bench.say(&group.id, &group.bob, "of Bob it is said that something came"),
    ];
    bench.publish(&said.concat()).await;
    bench.drain(bench.backup()).await;
    let told = "SELECT COUNT(*) FROM outbox_events WHERE unstored LIKE";
    assert_eq!(bench.value(&format!("{told} '%{}%'", group.ann)).await, "1", "her hello before");
    assert_eq!(bench.value(&format!("{told} '%{}%'", group.bob)).await, "2", "hello, and this");
    assert!(bench.opted_out(&group).await.is_empty(), "the whole time is a gap");
}

#[tokio::test]
async fn dead_letters_of_theirs_are_dropped() {
    let (bench, group) = Bench::with_group().await;
    bench.opt(&group.ann, Some(&group), true).await;
    // It cannot be decoded, so that no stage knows whose it is.
    let bad = |id: &str, user: &str| {
        format!(
            r#"{{"destination":"U1","events":[{{"type":"message","webhookEventId":"{id}",
                "timestamp":{},"mode":"active",
                "source":{{"type":"group","groupId":"{}","userId":"{user}"}},
                "message":{{"id":"{}","type":"text","text":"{SECRET}"}}}}]}}"#,
            bench.clock.now().millis(),
            group.id,
            "9".repeat(9_000),
        )
    };
    bench.publish_raw("main", &bad("01A", &group.ann)).await;
    bench.publish_raw("main", &bad("01B", &group.bob)).await;
    bench.drain(bench.backup()).await;
    assert_eq!(bench.dead_letters().await.len(), 2);
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let mut cleaner = DeadLetterCleaner::new(bench.store.clone(), bench.bus.clone(), clock);
    assert_eq!(cleaner.clear().await, Ok(1));
    let [left] = &bench.dead_letters().await[..] else { panic!("Bob's") };
    assert!(String::from_utf8_lossy(&left.payload).contains(&group.bob));
}

#[tokio::test]
async fn the_bot_answers_them_and_keeps_its_own_words_alone() {
    let (bench, group) = answering().await;
    bench.opt(&group.ann, Some(&group), true).await;
    bench.publish(&bench.say(&group.id, &group.ann, "hours")).await;
    bench.drain_all().await;
    assert_eq!(bench.said(&group.id), ["9-18"]);
    let messages = bench.messages(&group.channel()).await;
    assert_eq!(
        messages.iter().map(|one| (one.is_bot, one.kind)).collect::<Vec<_>>(),
        [(true, MessageType::Text)]
    );
    let [gap] = &bench.opted_out(&group).await[..] else { panic!("one gap") };
    assert_eq!(gap.skipped, Some(1));
}
