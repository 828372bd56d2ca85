//! Welcome of new members, with and without known names.

use chatkeep_core::time::Clock as _;
use chatkeep_emulator::{Action, Fault, Target};

use super::super::bench::{Bench, Group};
use super::super::faults::deaths;
use super::{add_rule, configure};

async fn welcoming(template: &str) -> (Bench, Group) {
    let (bench, group) = Bench::with_group().await;
    welcome(&bench, &group, template).await;
    (bench, group)
}

async fn welcome(bench: &Bench, group: &Group, template: &str) {
    let template = template.to_owned();
    configure(bench, group, move |config| {
        (config.welcome.enabled, config.welcome.message) = (true, template.clone());
    })
    .await;
    bench.drain(bench.assistant()).await;
}

async fn join(bench: &Bench, chat: &str, names: &[&str]) {
    let users = names.iter().map(|name| bench.line.add_user(name, None).user_id).collect();
    let joins = Action::MembersJoin { chat: chat.to_owned(), users };
    bench.publish(&bench.line.build(joins).unwrap()).await;
}

/// Creates a room, which has no name, with one person who has said nothing in any language.
async fn nameless(bench: &Bench) -> Group {
    let ann = bench.line.add_user("Ann", None).user_id;
    let id = bench.line.add_room(&[&ann]).chat_id;
    bench.publish(&bench.line.build(Action::BotJoins { chat: id.clone() }).unwrap()).await;
    bench.publish(&bench.say(&id, &ann, "12345")).await;
    bench.drain(bench.members()).await;
    Group { id, ann, bob: String::new() }
}

#[tokio::test]
async fn those_who_join_together_are_welcomed_together_and_once() {
    for death in deaths() {
        let (mut bench, group) = welcoming("歡迎 {displayName} to {groupName}").await;
        join(&bench, &group.id, &["Kim", "Lee"]).await;
        join(&bench, &group.id, &["Mia"]).await;
        bench.die(bench.assistant(), death).await;
        bench.drain(bench.assistant()).await;
        let mut said = bench.said(&group.id);
        said.sort();
        assert_eq!(said, ["歡迎 Kim、Lee to Cooks", "歡迎 Mia to Cooks"], "{death:?}");
        // They are known from the welcome on, whether or not the members stage has come so far.
        for user in bench.line.users() {
            let user = user.user_id.as_str().into();
            assert!(bench.store.members().member(&group.channel(), &user).await.unwrap().is_some());
        }
        bench.assert_polite();
    }
}

#[tokio::test]
async fn those_who_opted_out_are_welcomed_without_their_names() {
    let (bench, group) = welcoming("Hi {displayName}").await;
    let users = ["Kim", "Lee"].map(|name| bench.line.add_user(name, None).user_id);
    let (members, now) = (bench.store.members(), bench.clock.now());
    members.set_opted_out(&users[0].as_str().into(), None, true, || now).await.unwrap();
    let joins = Action::MembersJoin { chat: group.id.clone(), users: users.to_vec() };
    bench.publish(&bench.line.build(joins).unwrap()).await;
    bench.drain(bench.assistant()).await;
    assert_eq!(bench.said(&group.id), ["Hi Lee, friend"]);
}

#[tokio::test]
async fn nobody_is_welcomed_by_nothing() {
    let plain = "{displayName} 🎉 {groupName}";
    let cases = [
        ("Hi {displayName} in {groupName}!", "", "Hi friend in our chat!", "Hi Kim in our chat!"),
        (
            "歡迎 {displayName} 加入 {groupName}！",
            "",
            "歡迎 新朋友 加入 本聊天室！",
            "歡迎 Kim 加入 本聊天室！",
        ),
        (plain, "ยินดีต้อนรับทุกคน", "เพื่อนใหม่ 🎉 ห้องแชทของเรา", "Kim 🎉 ห้องแชทของเรา"),
        (
            plain,
            "みなさん、なかよくしてください",
            "新メンバー 🎉 このトークルーム",
            "Kim 🎉 このトークルーム",
        ),
    ];
    let bench = Bench::new().await;
    for (template, rules, nobody, kim) in cases {
        let group = nameless(&bench).await;
        let (by, now) = (group.ann.as_str().into(), bench.clock.now());
        let channel = group.channel();
        bench.store.assistant().set_group_rules(&channel, rules, None, &by, now).await.unwrap();
        welcome(&bench, &group, template).await;
        bench.line.fail_next(Target::Profile, 9, Fault::Status { status: 404, retry_after: None });
        join(&bench, &group.id, &["Lee"]).await;
        bench.drain(bench.assistant()).await;
        bench.line.clear_faults();
        join(&bench, &group.id, &["Kim"]).await;
        bench.drain(bench.assistant()).await;
        assert_eq!(bench.said(&group.id), [nobody, kim]);
    }
    bench.assert_polite();
}

#[tokio::test]
async fn the_language_is_that_of_the_rules_or_else_of_what_was_said_lately() {
    let bench = Bench::new().await;
    let group = nameless(&bench).await;
    let (subscriber, now) = (group.ann.as_str().into(), bench.clock.now());
    bench.store.accounts().subscribe(&group.channel(), &subscriber, now).await.unwrap();
    bench.publish(&bench.say(&group.id, &group.ann, "大家晚安，明天見")).await;
    bench.drain(bench.backup()).await;
    bench.drain(bench.assistant()).await;
    bench.line.fail_next(Target::Profile, 9, Fault::Status { status: 404, retry_after: None });
    let welcomed = async || {
        join(&bench, &group.id, &["Lee"]).await;
        bench.drain(bench.assistant()).await;
        bench.said(&group.id).pop().unwrap()
    };
    welcome(&bench, &group, "{displayName} 🎉").await;
    assert_eq!(welcomed().await, "新朋友 🎉");
    add_rule(&bench, &group, "123", "ที่จอดรถอยู่ด้านหลังค่ะ").await;
    assert_eq!(welcomed().await, "เพื่อนใหม่ 🎉");
    bench.assert_polite();
}
