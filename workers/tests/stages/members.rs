//! Members: who is where and what they are called, in whatever order it is heard.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::event::{ChannelKind, ChannelRef};
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Action, Event, Fault, Target};
use chatkeep_store::{ChannelStatus, GapReason, MemberStatus};
use chatkeep_workers::StageName;
use chatkeep_workers::members::{MissingNames, QuietGroups, QuietMembers};
use chatkeep_workers::periodic::PeriodicJob as _;
use proptest::test_runner::TestRunner;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, Group, shuffled_twice};
use super::faults::deaths;

/// Returns what the stage knows of a channel, as text: status, and each member with their status.
async fn snapshot(bench: &Bench, group: &Group) -> String {
    let channel = bench.store.channels().channel(&group.channel()).await.unwrap().unwrap();
    let (status, count) = (channel.status, channel.member_count);
    let mut members = Vec::new();
    for user in bench.line.users() {
        let user = user.user_id.as_str().into();
        if let Some(member) = bench.store.members().member(&group.channel(), &user).await.unwrap() {
            let (joined, left) = (member.joined_at, member.left_at);
            members.push(format!("{user} {:?} {joined} {left:?}", member.status));
        }
    }
    format!("{status:?}, {count} people: {members:#?}")
}

/// Returns two people who join and leave, one of whom comes back, and the bot that is removed and
/// invited again, a second apart.
fn story(bench: &Bench, group: &Group) -> Vec<Event> {
    let [kim, lee] = ["Kim", "Lee"].map(|name| bench.line.add_user(name, None).user_id);
    let (chat, both) = (group.id.clone(), vec![kim.clone(), lee]);
    let actions = [
        Action::MembersJoin { chat: chat.clone(), users: both.clone() },
        Action::MembersLeave { chat: chat.clone(), users: both },
        Action::MembersJoin { chat: chat.clone(), users: vec![kim] },
        Action::BotLeaves { chat: chat.clone() },
        Action::BotJoins { chat },
    ];
    let mut events = Vec::new();
    for action in actions {
        bench.clock.advance(Duration::from_secs(1));
        events.extend(bench.line.build(action).unwrap());
    }
    events.extend(bench.say(&group.id, &group.ann, "welcome back"));
    events
}

async fn told_in_order() -> String {
    let (bench, group) = Bench::with_group().await;
    bench.publish(&story(&bench, &group)).await;
    bench.drain(bench.members()).await;
    let told = snapshot(&bench, &group).await;
    assert!(told.starts_with("Active, 3 people") && told.matches("Left").count() == 1, "{told}");
    told
}

#[tokio::test]
async fn any_order_and_repetition_ends_the_same() {
    let expected = told_in_order().await;
    let mut random = TestRunner::deterministic();
    for _ in 0..6 {
        let (bench, group) = Bench::with_group().await;
        let events = story(&bench, &group);
        for part in shuffled_twice(events, &mut random).chunks(3) {
            bench.publish(part).await;
            bench.drain(bench.members()).await;
        }
        assert_eq!(snapshot(&bench, &group).await, expected);
    }
}

#[tokio::test]
async fn wherever_a_process_dies_everybody_is_where_they_are() {
    let expected = told_in_order().await;
    for death in deaths() {
        let (mut bench, group) = Bench::with_group().await;
        bench.publish(&story(&bench, &group)).await;
        bench.die(bench.members(), death).await;
        bench.drain(bench.members()).await;
        assert_eq!(snapshot(&bench, &group).await, expected, "{death:?}");
        assert_eq!(bench.backlog(StageName::Members).await, 0);
        assert!(bench.dead_letters().await.is_empty());
    }
}

#[tokio::test]
async fn a_bot_that_was_removed_leaves_a_disabled_channel() {
    let (bench, group) = Bench::with_group().await;
    let leaves = Action::BotLeaves { chat: group.id.clone() };
    bench.clock.advance(Duration::from_secs(1));
    bench.publish(&bench.line.build(leaves).unwrap()).await;
    bench.drain(bench.members()).await;
    let channel = bench.store.channels().channel(&group.channel()).await.unwrap().unwrap();
    assert_eq!(channel.status, ChannelStatus::Disabled);
    // Somebody who says something proves that the bot is back, although its join was lost.
    bench.clock.advance(Duration::from_secs(1));
    bench.line.build(Action::BotJoins { chat: group.id.clone() }).unwrap();
    bench.publish(&bench.say(&group.id, &group.bob, "you again")).await;
    bench.drain(bench.members()).await;
    let channel = bench.store.channels().channel(&group.channel()).await.unwrap().unwrap();
    assert_eq!(channel.status, ChannelStatus::Active);
}

async fn name(bench: &Bench, group: &Group, user: &str) -> Option<String> {
    let member =
        bench.store.members().member(&group.channel(), &user.into()).await.unwrap().unwrap();
    assert_eq!(member.status, MemberStatus::Active);
    member.display_name
}

#[tokio::test]
async fn names_are_fetched_once_and_again_after_a_day() {
    let (mut bench, group) = Bench::with_group().await;
    assert_eq!(name(&bench, &group, &group.ann).await.as_deref(), Some("Ann"));
    let path = format!("/member/{}", group.ann);
    let ann_says = async |bench: &Bench| {
        bench.publish(&bench.say(&group.id, &group.ann, "hello")).await;
        bench.drain(bench.members()).await;
        bench.calls(&path)
    };
    assert_eq!(ann_says(&bench).await, 1, "known");
    // Another process knows it from the database.
    bench.restart().await;
    bench.clock.advance(Duration::from_hours(23));
    assert_eq!(ann_says(&bench).await, 1);
    bench.clock.advance(Duration::from_hours(1) + Duration::from_millis(1));
    assert_eq!(ann_says(&bench).await, 2, "more than a day old");
    bench.assert_polite();
}

#[tokio::test]
async fn the_name_of_a_group_is_known_also_where_its_size_is_not() {
    for status in [403, 404, 500] {
        let bench = Bench::new().await;
        let ann = bench.line.add_user("Ann", None).user_id;
        let id = bench.line.add_group("Cooks", None, &[&ann]).chat_id;
        bench.publish(&bench.line.build(Action::BotJoins { chat: id.clone() }).unwrap()).await;
        // The summary itself is answered.
        bench.line.fail_next(Target::Info, 1, Fault::Delay(Duration::ZERO));
        bench.line.fail_next(Target::Info, 1, Fault::Status { status, retry_after: None });
        bench.drain(bench.members()).await;
        assert_eq!((bench.calls("/summary"), bench.calls("/members/count")), (1, 1));
        let channel = bench.store.channels().channel(&id.as_str().into()).await.unwrap().unwrap();
        assert_eq!(channel.name.as_deref(), Some("Cooks"), "{status}");
    }
}

#[tokio::test]
async fn a_platform_in_trouble_costs_names_and_nothing_else() {
    let (mut bench, group) = Bench::with_group().await;
    let lee = bench.line.add_user("Lee", None).user_id;
    let joins = Action::MembersJoin { chat: group.id.clone(), users: vec![lee.clone()] };
    bench.publish(&bench.line.build(joins).unwrap()).await;
    bench.line.fail_next(Target::Any, 10, Fault::Status { status: 500, retry_after: None });
    assert_eq!(bench.drain(bench.members()).await, 1, "it is not retried for a name");
    assert_eq!(name(&bench, &group, &lee).await, None);
    assert_eq!(bench.backlog(StageName::Members).await, 0);
    bench.line.clear_faults();
    // The next process asks with the next event.
    bench.restart().await;
    bench.clock.advance(Duration::from_mins(2));
    bench.publish(&bench.say(&group.id, &lee, "hello")).await;
    bench.drain(bench.members()).await;
    assert_eq!(name(&bench, &group, &lee).await.as_deref(), Some("Lee"));
    assert_eq!(bench.clock.now(), super::bench::START.plus(Duration::from_mins(2)));
}

#[tokio::test]
async fn a_slow_platform_costs_names_and_nothing_else() {
    let (bench, group) = Bench::with_group().await;
    let people: Vec<_> =
        (0..40).map(|number| bench.line.add_user(&format!("Lee {number}"), None).user_id).collect();
    let named = async || {
        let mut named = 0;
        for lee in &people {
            named += usize::from(name(&bench, &group, lee).await.is_some());
        }
        named
    };
    let joins = Action::MembersJoin { chat: group.id.clone(), users: people.clone() };
    bench.publish(&bench.line.build(joins).unwrap()).await;
    let never = Fault::Delay(Duration::from_hours(1));
    bench.line.fail_next(Target::Profile, 1_000, never.clone());
    // Far below the timeout of a call: calls that failed by it would open the circuit, and nobody
    // would have a name in the end.
    let members = bench.members().with_names_within(Duration::from_millis(200));
    assert_eq!(bench.drain(members).await, 1, "it is not retried for names");
    assert_eq!(named().await, 0);
    bench.line.clear_faults();
    bench.line.fail_next(Target::Profile, 1, never);
    let says = people.iter().flat_map(|lee| bench.say(&group.id, lee, "hello"));
    bench.publish(&says.collect::<Vec<_>>()).await;
    bench.drain(bench.members().with_names_within(Duration::from_secs(2))).await;
    assert_eq!(bench.backlog(StageName::Members).await, 0);
    assert!(bench.dead_letters().await.is_empty());
    let in_time = named().await;
    assert!((1..people.len()).contains(&in_time), "{in_time}: one is slow, and holds up nobody");
    // The others are asked about with their next messages.
    bench.line.clear_faults();
    let says = people.iter().flat_map(|lee| bench.say(&group.id, lee, "hello"));
    bench.publish(&says.collect::<Vec<_>>()).await;
    bench.drain(bench.members()).await;
    assert_eq!(named().await, people.len());
}

#[tokio::test]
async fn names_that_could_not_be_had_are_fetched_later_without_any_event() {
    let (bench, group) = Bench::with_group().await;
    let [lee, kim, eve] = ["Lee", "Kim", "Eve"].map(|name| bench.line.add_user(name, None).user_id);
    let (chat, users) = (group.id.clone(), vec![lee.clone(), kim.clone(), eve.clone()]);
    bench.publish(&bench.line.build(Action::MembersJoin { chat, users }).unwrap()).await;
    bench.line.fail_next(Target::Any, 10, Fault::Status { status: 500, retry_after: None });
    bench.drain(bench.members()).await;
    bench.line.clear_faults();
    assert_eq!(name(&bench, &group, &lee).await, None);
    // Kim does not want to be kept, and Eve has left.
    bench.opt(&kim, Some(&group), true).await;
    bench.clock.advance(Duration::from_mins(2));
    let (chat, users) = (group.id.clone(), vec![eve.clone()]);
    bench.publish(&bench.line.build(Action::MembersLeave { chat, users }).unwrap()).await;
    bench.drain(bench.members()).await;
    let calls = [&lee, &kim, &eve].map(|user| bench.calls(&format!("/member/{user}")));

    let clock = Arc::clone(&bench.clock) as SharedClock;
    let job = MissingNames::new(bench.store.clone(), bench.bots.clone(), clock);
    for _ in 0..2 {
        job.run(&CancellationToken::new()).await.unwrap();
        assert_eq!(name(&bench, &group, &lee).await.as_deref(), Some("Lee"));
    }
    let later = [&lee, &kim, &eve].map(|user| bench.calls(&format!("/member/{user}")));
    assert_eq!(later, [calls[0] + 1, calls[1], calls[2]]);
}

#[tokio::test]
async fn so_are_those_of_chats() {
    let bench = Bench::new().await;
    bench.line.fail_next(Target::Any, 100, Fault::Status { status: 500, retry_after: None });
    let group = bench.group().await;
    bench.line.clear_faults();
    let name = async || {
        let channel = bench.store.channels().channel(&group.channel()).await.unwrap().unwrap();
        channel.name
    };
    assert_eq!(name().await, None);
    bench.clock.advance(Duration::from_mins(2));
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let job = MissingNames::new(bench.store.clone(), bench.bots.clone(), clock);
    job.run(&CancellationToken::new()).await.unwrap();
    assert_eq!(name().await.as_deref(), Some("Cooks"));
    let calls = bench.calls("/summary");
    job.run(&CancellationToken::new()).await.unwrap();
    assert_eq!(bench.calls("/summary"), calls, "it has a name");
}

#[tokio::test]
async fn whom_the_platform_does_not_know_is_not_asked_for_again_and_again() {
    let (bench, group) = Bench::with_group().await;
    let stranger = bench.line.add_user("Kim", None).user_id;
    let joins = Action::MembersJoin { chat: group.id.clone(), users: vec![stranger.clone()] };
    let events = bench.line.build(joins).unwrap();
    bench.line.fail_next(Target::Profile, 1, Fault::Status { status: 404, retry_after: None });
    bench.publish(&[events.clone(), events].concat()).await;
    bench.drain(bench.members()).await;
    bench.publish(&bench.say(&group.id, &stranger, "hello")).await;
    bench.drain(bench.members()).await;
    assert_eq!(name(&bench, &group, &stranger).await, None);
    assert_eq!(bench.calls(&format!("/member/{stranger}")), 1);
}

#[tokio::test]
async fn a_leave_proves_nobody_present() {
    let (bench, group) = Bench::with_group().await;
    let leaves = |user: &str| {
        bench.clock.advance(Duration::from_secs(1));
        let (chat, users) = (group.id.clone(), vec![user.to_owned()]);
        bench.line.build(Action::MembersLeave { chat, users }).unwrap()
    };
    bench.publish(&leaves(&group.ann)).await;
    // As if Ann, who is gone, had removed Bob.
    let removed = leaves(&group.bob);
    bench.publish_edited(&removed, |event| event["source"]["userId"] = json!(group.ann)).await;
    bench.drain(bench.members()).await;
    for user in [&group.ann, &group.bob] {
        let user = user.as_str().into();
        let member = bench.store.members().member(&group.channel(), &user).await.unwrap().unwrap();
        assert_eq!(member.status, MemberStatus::Left, "{user}");
    }
}

/// Asks about groups from which nothing came for more than a day.
async fn ask_about_quiet_groups(bench: &Bench) {
    bench.clock.advance(Duration::from_hours(25));
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let job = QuietGroups::new(bench.store.clone(), bench.bots.clone(), clock);
    job.run(&CancellationToken::new()).await.unwrap();
}

async fn status(bench: &Bench, group: &Group) -> ChannelStatus {
    bench.store.channels().channel(&group.channel()).await.unwrap().unwrap().status
}

#[tokio::test]
async fn a_bot_that_was_removed_without_an_event_is_noticed() {
    let (bench, group) = Bench::with_group().await;
    let other = bench.group().await;
    let last = bench.store.channels().channel(&group.channel()).await.unwrap().unwrap();
    bench.line.build(Action::BotLeaves { chat: group.id.clone() }).unwrap();
    ask_about_quiet_groups(&bench).await;
    assert_eq!(status(&bench, &group).await, ChannelStatus::Disabled);
    assert_eq!(status(&bench, &other).await, ChannelStatus::Active);
    let coverage = bench.store.messages().coverage(&group.channel(), None).await.unwrap();
    let gap = coverage.gaps.last().unwrap();
    assert_eq!((gap.reason, gap.to), (GapReason::BotRemoved, None));
    assert!(
        gap.from >= last.enabled_at && gap.from < bench.clock.now().minus(Duration::from_hours(24))
    );
    let calls = bench.calls("/summary");
    ask_about_quiet_groups(&bench).await;
    assert_eq!(bench.calls("/summary"), calls + 1, "about the other one");
    // It is invited again, and the join is not received either.
    bench.line.build(Action::BotJoins { chat: group.id.clone() }).unwrap();
    bench.publish(&bench.say(&group.id, &group.ann, "hello again")).await;
    bench.drain(bench.members()).await;
    assert_eq!(status(&bench, &group).await, ChannelStatus::Active);
}

#[tokio::test]
async fn a_bot_that_is_known_nowhere_has_not_left_everything() {
    let (bench, group) = Bench::with_group().await;
    let other = bench.group().await;
    for group in [&group, &other] {
        bench.line.build(Action::BotLeaves { chat: group.id.clone() }).unwrap();
    }
    ask_about_quiet_groups(&bench).await;
    for group in [&group, &other] {
        assert_eq!(status(&bench, group).await, ChannelStatus::Active);
    }
}

#[tokio::test]
async fn a_quiet_group_is_called_what_it_is_called_now() {
    let (bench, group) = Bench::with_group().await;
    bench.line.rename_group(&group.id, "Bakers");
    ask_about_quiet_groups(&bench).await;
    let channel = bench.store.channels().channel(&group.channel()).await.unwrap().unwrap();
    assert_eq!(channel.name.as_deref(), Some("Bakers"));
}

/// Lets a person be signed in, and asks about members from whom nothing came for more than a day.
async fn ask_about_quiet_members(bench: &Bench, users: &[&str]) {
    for user in users {
        let session = format!(
            "INSERT INTO sessions (hash, session_id, user_id, csrf, created_at, seen_at)
             VALUES ('{user}', '{user}', '{user}', '', 1, 1) ON CONFLICT DO NOTHING"
        );
        bench.sql(&session).await;
    }
    bench.clock.advance(Duration::from_hours(25));
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let job = QuietMembers::new(bench.store.clone(), bench.bots.clone(), clock);
    job.run(&CancellationToken::new()).await.unwrap();
}

async fn member_status(bench: &Bench, group: &Group, user: &str) -> MemberStatus {
    let member = bench.store.members().member(&group.channel(), &user.into()).await.unwrap();
    member.unwrap().status
}

#[tokio::test]
async fn who_left_without_an_event_and_can_read_is_noticed() {
    let (bench, group) = Bench::with_group().await;
    let users = vec![group.bob.clone()];
    bench.line.build(Action::MembersLeave { chat: group.id.clone(), users }).unwrap();
    ask_about_quiet_members(&bench, &[&group.ann]).await;
    assert_eq!(member_status(&bench, &group, &group.bob).await, MemberStatus::Active, "not asked");
    ask_about_quiet_members(&bench, &[&group.ann, &group.bob]).await;
    assert_eq!(member_status(&bench, &group, &group.ann).await, MemberStatus::Active);
    assert_eq!(member_status(&bench, &group, &group.bob).await, MemberStatus::Left);
    let calls = bench.calls("/member/");
    let clock = Arc::clone(&bench.clock) as SharedClock;
    let job = QuietMembers::new(bench.store.clone(), bench.bots.clone(), clock);
    job.run(&CancellationToken::new()).await.unwrap();
    assert_eq!(bench.calls("/member/"), calls, "Ann was asked about a moment ago");
    // Whoever writes again is there.
    let (chat, users) = (group.id.clone(), vec![group.bob.clone()]);
    bench.line.build(Action::MembersJoin { chat, users }).unwrap();
    bench.publish(&bench.say(&group.id, &group.bob, "back")).await;
    bench.drain(bench.members()).await;
    assert_eq!(member_status(&bench, &group, &group.bob).await, MemberStatus::Active);
}

#[tokio::test]
async fn nobody_has_left_where_the_bot_is_not_or_knows_nobody() {
    let (bench, group) = Bench::with_group().await;
    let everybody = [group.ann.as_str(), group.bob.as_str()];
    let users = everybody.map(str::to_owned).to_vec();
    bench.line.build(Action::MembersLeave { chat: group.id.clone(), users }).unwrap();
    ask_about_quiet_members(&bench, &everybody).await;
    bench.line.build(Action::BotLeaves { chat: group.id.clone() }).unwrap();
    ask_about_quiet_members(&bench, &everybody[..1]).await;
    for user in everybody {
        assert_eq!(member_status(&bench, &group, user).await, MemberStatus::Active, "{user}");
    }
}

#[tokio::test]
async fn nobody_has_left_a_group_from_which_the_bot_was_removed_a_moment_ago() {
    let (bench, group) = Bench::with_group().await;
    let other = bench.group().await;
    // The group is cached, and the platform knows somebody elsewhere.
    let channel = ChannelRef { id: group.channel(), kind: ChannelKind::Group };
    let cached = bench.bots.get("main").unwrap().summary(&channel).await.unwrap();
    assert!(cached.is_some());
    bench.line.build(Action::BotLeaves { chat: group.id.clone() }).unwrap();
    let path = format!("/{}/summary", group.id);
    let calls = bench.calls(&path);
    ask_about_quiet_members(&bench, &[&group.ann, &group.bob, &other.ann]).await;
    for user in [&group.ann, &group.bob] {
        assert_eq!(member_status(&bench, &group, user).await, MemberStatus::Active, "{user}");
    }
    assert_eq!(bench.calls(&path), calls + 1, "once for both");
}
