//! The LINE client against an emulated LINE that fails: which calls are retried, which never are,
//! when the circuit is open, and the assistant's handling of it.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, ReplyToken};
use chatkeep_core::http;
use chatkeep_core::id::UserId;
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_core::time::{ManualClock, SharedClock, Timestamp};
use chatkeep_emulator::{Action, Emulator, Entry, Fault, Post, Target};
use chatkeep_platform::line::{LineApi, LineClient};
use chatkeep_platform::{Bots, MediaPart, Platform as _, PlatformError, SharedPlatform};
use chatkeep_store::{ReplyRecord, Store};

use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TOKEN, TestEnv};

const KEY: &str = "123e4567-e89b-12d3-a456-426614174000";
const DOWN: Fault = Fault::Status { status: 500, retry_after: None };

/// A client of an emulator, with a clock of its own, and a group with a person in it.
struct Scene {
    line: Emulator,
    client: LineClient,
    clock: Arc<ManualClock>,
    group: ChannelRef,
    person: UserId,
}

impl Scene {
    async fn new() -> Self {
        let line = emulator().await;
        let person = line.add_user("Ann", None).user_id;
        let group = line.add_group("Group", None, &[&person]).chat_id;
        line.bot_joins(&group).await.unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_323_045_678)));
        let client = client(&line, &(clock.clone() as SharedClock));
        let group = ChannelRef { id: group.into(), kind: ChannelKind::Group };
        Self { line, client, clock, group, person: person.into() }
    }

    async fn profile(&self) -> &'static str {
        let answer = self.client.profile(&self.group, &self.person).await;
        answer.map_or_else(|error| error.code(), |_| "ok")
    }

    async fn profiles(&self, times: usize) -> Vec<&'static str> {
        let mut answers = Vec::new();
        for _ in 0..times {
            answers.push(self.profile().await);
        }
        answers
    }

    /// Returns the number of calls to the emulator with this in their path.
    fn calls(&self, path: &str) -> usize {
        self.line.calls().iter().filter(|call| call.path.contains(path)).count()
    }

    async fn push(&self, text: &str, key: &str) -> Result<usize, PlatformError> {
        let texts = [text.to_owned()];
        self.client.push(&self.group, &texts, key).await.map(|ids| ids.len())
    }

    fn said(&self) -> Vec<String> {
        said(&self.line, self.group.id.as_str())
    }
}

fn client(line: &Emulator, clock: &SharedClock) -> LineClient {
    let api = LineApi {
        bot: "main".to_owned(),
        api_base: line.api_base(),
        data_api_base: line.api_base(),
        access_token: TOKEN.to_owned().into(),
    };
    let (calls, files) = (http::client().unwrap(), http::download_client().unwrap());
    LineClient::new(api, calls, files, clock)
}

/// Returns the bot's messages in a chat, in order.
fn said(line: &Emulator, chat: &str) -> Vec<String> {
    let bot = line.transcript(chat).into_iter().filter(Entry::is_bot);
    bot.filter_map(|entry| entry.text).collect()
}

#[tokio::test]
async fn a_push_is_tried_again_under_one_key_and_arrives_once() {
    let scene = Scene::new().await;
    for fault in [Fault::CutBefore, Fault::CutAfter, DOWN] {
        scene.line.fail_next(Target::Push, 1, fault);
    }
    assert_eq!(scene.push("hello", KEY).await.unwrap(), 1, "the id of what was sent is known");
    assert_eq!((scene.calls("/push"), scene.said()), (4, vec!["hello".to_owned()]));

    let again = Bots::new([("main".to_owned(), Arc::new(scene.client.clone()) as SharedPlatform)]);
    let texts = ["hello".to_owned()];
    again.push("main", &scene.group, &texts, KEY).await.unwrap();
    assert_eq!(scene.said(), ["hello"], "another process pushes the same");
    assert!(scene.line.violations().is_empty(), "{:?}", scene.line.violations());
}

#[tokio::test]
async fn a_push_is_given_up_after_some_tries_or_at_a_refusal() {
    let scene = Scene::new().await;
    scene.line.fail_next(Target::Push, 4, DOWN);
    assert_eq!(scene.push("hello", KEY).await.unwrap_err().code(), "unknown_outcome");
    assert_eq!(scene.calls("/push"), 4);
    for (fault, code) in [
        (Fault::Status { status: 401, retry_after: None }, "unauthorized"),
        (Fault::MonthlyLimit, "quota"),
        (Fault::Status { status: 429, retry_after: Some(3_600) }, "rate_limited"),
    ] {
        let before = scene.calls("/push");
        scene.line.fail_next(Target::Push, 1, fault);
        assert_eq!(scene.push("hello", KEY).await.unwrap_err().code(), code);
        assert_eq!(scene.calls("/push"), before + 1, "{code}");
    }
    assert!(scene.said().is_empty());
}

#[tokio::test]
async fn a_host_that_is_down_is_left_alone_until_one_call_succeeds() {
    let scene = Scene::new().await;
    scene.line.fail_next(Target::Profile, 6, DOWN);
    assert_eq!(scene.profiles(5).await, ["unknown_outcome"; 5]);
    assert_eq!(scene.profiles(3).await, ["unavailable"; 3]);
    assert_eq!(scene.calls("/member/"), 5, "no call was made");
    let error = scene.client.summary(&scene.group).await.unwrap_err();
    assert_eq!(error.code(), "unavailable", "the host counts, not the endpoint");
    let message = "1".into();
    let error = scene.client.content(&message, MediaPart::Original).await.unwrap_err();
    assert_eq!(error.code(), "not_found", "files come from another host");

    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.profiles(2).await, ["unknown_outcome", "unavailable"], "one call tries");
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.profile().await, "unavailable", "the pause has grown");
    scene.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.profiles(3).await, ["ok"; 3]);
    assert_eq!(scene.calls("/member/"), 9);
}

#[tokio::test]
async fn refusals_leave_the_circuit_closed() {
    let scene = Scene::new().await;
    for status in [400, 401, 403, 404, 429] {
        scene.line.fail_next(Target::Profile, 4, DOWN);
        scene.line.fail_next(Target::Profile, 1, Fault::Status { status, retry_after: None });
        let answers = scene.profiles(5).await;
        assert!(!answers.contains(&"unavailable"), "{status}: {answers:?}");
    }
    assert_eq!(scene.profile().await, "ok");
}

#[tokio::test]
async fn a_platform_that_cannot_be_reached_opens_it_too() {
    let scene = Scene::new().await;
    scene.line.shutdown().await;
    until("it is down", DEADLINE, async || {
        matches!(scene.profile().await, "unreachable" | "unavailable")
    })
    .await;
    until("it is left alone", DEADLINE, async || scene.profile().await == "unavailable").await;
}

#[tokio::test]
async fn many_callers_find_out_together() {
    let scene = Scene::new().await;
    scene.line.fail_next(Target::Profile, 1_000, DOWN);
    let all = futures_util::future::join_all((0..40).map(|_| scene.profile())).await;
    assert_eq!(scene.profile().await, "unavailable");
    let before = scene.calls("/member/");
    assert_eq!(all.iter().filter(|code| **code == "unknown_outcome").count(), before);
    scene.line.clear_faults();
    scene.clock.advance(Duration::from_secs(1));
    let all = futures_util::future::join_all((0..40).map(|_| scene.profile())).await;
    assert!(all.contains(&"ok") && all.contains(&"unavailable"), "{all:?}");
    assert_eq!(scene.profile().await, "ok");
}

#[tokio::test]
async fn an_endpoint_pauses_for_as_long_as_it_is_asked_to() {
    let scene = Scene::new().await;
    let slow = Fault::Status { status: 429, retry_after: Some(7) };
    scene.line.fail_next(Target::Profile, 1, slow);
    assert_eq!(scene.profiles(3).await, ["rate_limited"; 3]);
    assert_eq!(scene.calls("/member/"), 1, "no call was made");
    scene.clock.advance(Duration::from_secs(5));
    let error = scene.client.profile(&scene.group, &scene.person).await.unwrap_err();
    let left = error.not_now().unwrap();
    assert_eq!(left, Some(Duration::from_secs(2)), "what is left of it is told");
    assert!(scene.client.summary(&scene.group).await.is_ok(), "others go on");
    scene.clock.advance(Duration::from_secs(2));
    assert_eq!(scene.profile().await, "ok");
}

#[tokio::test]
async fn a_reply_is_one_call_without_a_key() {
    let scene = Scene::new().await;
    for fault in [Fault::CutBefore, Fault::CutAfter, Fault::StatusAfter { status: 500 }] {
        let send = Action::Send {
            chat: scene.group.id.to_string(),
            user: scene.person.to_string(),
            post: Post::Text("?".into()),
        };
        let events = scene.line.build(send).unwrap();
        let token = ReplyToken::new(events[0].reply_token.clone().unwrap());
        let before = scene.calls("/reply");
        scene.line.fail_next(Target::Reply, 1, fault);
        let error = scene.client.reply(&token, &["!".to_owned()]).await.unwrap_err();
        assert_eq!((error.code(), error.not_now()), ("unknown_outcome", None));
        assert_eq!(scene.calls("/reply"), before + 1);
    }
    assert_eq!(scene.said(), ["!", "!"]);
    assert!(scene.line.violations().is_empty(), "{:?}", scene.line.violations());
}

/// Starts a program that replies within a second or pushes, with a group, and its store opened
/// beside it.
async fn pushing() -> (Stack, String, String, Store) {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    ground.settings = vec![
        ("CHATKEEP_REPLY_DEADLINE_SECONDS", "1".to_owned()),
        ("CHATKEEP_REPLY_PUSH_FALLBACK", "true".to_owned()),
    ];
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let store = Store::open(&Database::Sqlite, stack.ground.folder.path(), 2).await.unwrap();
    (stack, group.chat_id, people[1].user_id.clone(), store)
}

/// Sends the bot a question that arrives when its reply token has expired.
async fn ask_late(line: &Emulator, chat: &str, user: &str, text: &str) {
    let post = Post::Text(text.into());
    let action = Action::Send { chat: chat.to_owned(), user: user.to_owned(), post };
    let (events, sent) = (line.build(action).unwrap(), line.now());
    until("the deadline has passed", DEADLINE, async || line.now() > sent + 1_100).await;
    assert!(line.deliver(line.webhook(events)).await.accepted);
}

/// Returns the latest reply, once there are that many and it has an outcome.
async fn replied(store: &Store, chat: &str, count: usize) -> ReplyRecord {
    let mut latest = None;
    until("the reply has an end", DEADLINE, async || {
        let replies = store.assistant().replies(&chat.into(), 50).await.unwrap();
        let done = replies.len() == count && replies[0].status.name() != "sending";
        latest = replies.into_iter().next().filter(|_| done);
        latest.is_some()
    })
    .await;
    latest.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_assistants_push_survives_trouble_and_its_month_may_end() {
    let (stack, chat, user, store) = pushing().await;
    let line = &stack.line;
    for fault in [DOWN, Fault::CutAfter] {
        line.fail_next(Target::Push, 1, fault);
    }
    ask_late(line, &chat, &user, "hours").await;
    assert_eq!(replied(&store, &chat, 1).await.status.name(), "sent");
    assert_eq!(said(line, &chat), ["9-18"]);

    line.fail_next(Target::Push, 1, Fault::MonthlyLimit);
    ask_late(line, &chat, &user, "wifi").await;
    let failed = replied(&store, &chat, 2).await;
    assert_eq!((failed.status.name(), failed.reason), ("failed", Some(ReplyFailureReason::Quota)));
    assert_eq!(said(line, &chat), ["9-18"]);
    let pushes = line.calls().iter().filter(|call| call.path.ends_with("/push")).count();
    assert_eq!(pushes, 4, "three for one, one in vain");
    let metrics = stack.metrics().await;
    for expected in [
        r#"chatkeep_platform_calls_total{bot="main",endpoint="push",result="quota"} 1"#,
        r#"chatkeep_platform_calls_total{bot="main",endpoint="push",result="unknown_outcome"} 2"#,
        r#"chatkeep_platform_circuit_open{bot="main",host="api"} 0"#,
        r#"chatkeep_platform_call_duration_seconds_count{bot="main",endpoint="push"} 4"#,
        r#"chatkeep_replies_total{bot="main",source="qa",result="quota"} 1"#,
    ] {
        assert!(metrics.contains(expected), "{expected} is not in\n{metrics}");
    }
    let told = |what: &str| {
        let line = format!("the LINE API of the bot main is {what}");
        stack.process.stderr().iter().filter(|told| told.contains(&line)).count()
    };
    until("the outage is said to be over", DEADLINE, async || told("available again") == 1).await;
    assert_eq!(told("unavailable"), 1);
    assert!(line.violations().is_empty(), "{:?}", line.violations());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_of_unknown_outcome_is_not_pushed_either() {
    let (stack, chat, user, store) = pushing().await;
    let line = &stack.line;
    line.fail_next(Target::Reply, 1, Fault::CutBefore);
    line.say(&chat, &user, "hours").await.unwrap();
    let failed = replied(&store, &chat, 1).await;
    assert_eq!(
        (failed.status.name(), failed.reason),
        ("failed", Some(ReplyFailureReason::PlatformError))
    );
    assert!(said(line, &chat).is_empty());
    assert!(!line.calls().iter().any(|call| call.path.ends_with("/push")));
}
