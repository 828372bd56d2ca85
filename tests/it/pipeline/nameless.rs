//! Welcoming people without a known name, in chats without a name: a neutral word in the channel's
//! language takes the place of the name.

use chatkeep_emulator::{Emulator, Entry, Fault, Target};
use serde_json::json;

use super::conversation::emulator;
use super::on_both;
use crate::stack::{Parts, Stack};

on_both!(nobody_is_welcomed_by_nothing);

fn said(line: &Emulator, chat: &str) -> Vec<String> {
    let bot = line.transcript(chat).into_iter().filter(Entry::is_bot);
    bot.filter_map(|entry| entry.text).collect()
}

async fn nobody_is_welcomed_by_nothing(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let line = stack.line.clone();
    let ann = line.add_user("Ann", None).user_id;
    stack.act_as(&ann).await;
    let plain = "{displayName} 🎉 {groupName}";
    let cases = [
        ("Hi {displayName} in {groupName}!", "", "Hi friend in our chat!", "Hi Kim in our chat!"),
        (
            "歡迎 {displayName} 加入 {groupName}！",
            "",
            "歡迎 新朋友 加入 本聊天室！",
            "歡迎 Kim 加入 本聊天室！",
        ),
        (plain, "ยินดีต้อนรับทุกคน", "เพื่อนใหม่ 🎉 ห้องแชตของเรา", "Kim 🎉 ห้องแชตของเรา"),
        (
            plain,
            "みなさん、なかよくしてください",
            "新メンバー 🎉 このトークルーム",
            "Kim 🎉 このトークルーム",
        ),
    ];
    for (template, rules, nobody, kim) in cases {
        let room = line.add_room(&[&ann]).chat_id;
        line.bot_joins(&room).await.unwrap();
        line.say(&room, &ann, "12345").await.unwrap();
        stack.known(&room).await;
        stack.post(&format!("/channels/{room}/backup/subscribe"), json!({})).await;
        let assistant = format!("/channels/{room}/assistant");
        stack.put(&format!("{assistant}/rules"), json!({"content": rules})).await;
        let welcome = json!({"welcome": {"enabled": true, "message": template}});
        stack.put(&format!("{assistant}/config"), json!({"assistant": welcome})).await;
        let [first, second] = ["Lee", "Kim"].map(|name| line.add_user(name, None).user_id);
        line.fail_next(Target::Profile, 1_000, Fault::Status { status: 404, retry_after: None });
        line.members_join(&room, &[&first]).await.unwrap();
        stack.drained().await;
        line.clear_faults();
        line.members_join(&room, &[&second]).await.unwrap();
        stack.drained().await;
        assert_eq!(said(&line, &room), [nobody, kim]);
    }
    assert!(line.violations().is_empty(), "{:?}", line.violations());
}
