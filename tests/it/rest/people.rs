//! Roles by the API, guests in lists, and people whom only the platform knows.

use chatkeep_emulator::{Action, Fault, Target};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{MEMBER, OWNER, Rest, send, texts, under};
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{Parts, Stack};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_are_set_by_whom_they_may_be() {
    let mut rest = Rest::start(&[]).await;
    rest.channel(super::CHANNEL, &[OWNER, MEMBER, "Uadmin", "Uguest"]).await;
    rest.key("ck_admin", "Uadmin", |_| {}).await;
    rest.key("ck_guest", "Uguest", |_| {}).await;
    let cases = [
        ("ck_owner", "Uadmin", "admin", 200),
        ("ck_owner", "Uguest", "guest", 200),
        ("ck_owner", "Uguest", "guest", 200),
        ("ck_owner", OWNER, "member", 403),
        ("ck_owner", "Unobody", "member", 404),
        ("ck_owner", MEMBER, "owner", 400),
        ("ck_owner", MEMBER, "king", 400),
        ("ck_admin", MEMBER, "admin", 403),
        ("ck_admin", MEMBER, "guest", 403),
        ("ck_admin", OWNER, "member", 403),
        ("ck_admin", "Uguest", "admin", 403),
        ("ck_member", "Uguest", "member", 403),
        ("ck_guest", "Uguest", "member", 403),
        ("ck_admin", "Uguest", "member", 200),
        ("ck_owner", "Uguest", "guest", 200),
    ];
    for (key, user, role, status) in cases {
        rest.stack.use_key(key);
        let path = under(&format!("/members/{user}/role"));
        let answer = send(rest.put(&path, &json!({"role": role}))).await;
        assert_eq!(answer.status.as_u16(), status, "{key} {user} {role}: {}", answer.json());
        match status {
            200 => assert_eq!(answer.json(), json!({"success": true})),
            400 => assert_eq!(answer.refused(400, "invalid_request")["field"], "/role"),
            403 => assert_eq!(answer.json()["error"], "Permission denied"),
            _ => assert_eq!(answer.json()["error"], "Not found"),
        }
    }
    rest.stack.use_key("ck_owner");
    let listed = async |query: &str| {
        texts(&send(rest.get(&under(&format!("/members{query}")))).await.ok()["members"], "userId")
    };
    assert_eq!(listed("").await, [OWNER, MEMBER, "Uadmin"], "guests are left out");
    assert_eq!(listed("?role=guest").await, ["Uguest"]);
    assert_eq!(listed("?role=admin").await, ["Uadmin"]);
    assert!(listed("?role=guest&status=left").await.is_empty());
    rest.stack.use_key("ck_guest");
    send(rest.get(&under(""))).await.refused(403, "permission_denied");
}

/// Returns the number of the platform's calls about that person.
fn asked(stack: &Stack, user: &str) -> usize {
    stack.line.calls().iter().filter(|call| call.path.contains(user)).count()
}

async fn detail(stack: &Stack, channel: &str) -> (StatusCode, Value) {
    stack.call(reqwest::Method::GET, &format!("/channels/{channel}"), None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_platform_is_asked_once_about_people_nobody_saw() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    stack.drained().await;
    // In the group since before the bot joined, and silent.
    let silent = people[2].user_id.clone();
    assert_eq!(asked(&stack, &silent), 0);
    stack.act_as(&silent).await;
    let (status, body) = detail(&stack, channel).await;
    assert_eq!((status, &body["role"]), (StatusCode::OK, &json!("member")));
    assert_eq!(detail(&stack, channel).await.0, StatusCode::OK);
    assert_eq!(asked(&stack, &silent), 1);
    let members = stack.get(&format!("/channels/{channel}/members")).await;
    let found =
        members["members"].as_array().unwrap().iter().find(|m| m["userId"] == json!(silent));
    assert_eq!(found.unwrap()["displayName"], "สมชาย");

    let stranger = stack.line.add_user("Zoe", None).user_id;
    stack.act_as(&stranger).await;
    for _ in 0..3 {
        let (status, body) = detail(&stack, channel).await;
        assert_eq!((status, &body["error"]), (StatusCode::FORBIDDEN, &json!("Permission denied")));
    }
    assert_eq!(asked(&stack, &stranger), 1, "once, not at every call");
    // Nothing is requested about unknown chats.
    let before = stack.line.calls().len();
    assert_eq!(detail(&stack, "C00000000000000000000000000000none").await.0, StatusCode::FORBIDDEN);
    assert_eq!(stack.line.calls().len(), before);
    // Members as soon as an event mentions them.
    stack.line.members_join(channel, &[&stranger]).await.unwrap();
    stack.known(channel).await;
    assert!(stack.process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trouble_of_the_platform_is_no_answer() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    stack.drained().await;
    stack.act_as(&people[2].user_id).await;
    stack.line.fail_next(Target::Profile, 100, Fault::Status { status: 500, retry_after: None });
    assert_eq!(detail(&stack, &group.chat_id).await.0, StatusCode::FORBIDDEN);
    stack.line.clear_faults();
    assert_eq!(detail(&stack, &group.chat_id).await.0, StatusCode::OK, "it is asked again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_platform_that_knows_nobody_because_the_bot_is_gone_is_asked_again() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    stack.drained().await;
    let (chat, silent) = (group.chat_id.clone(), &people[2].user_id);
    stack.act_as(silent).await;
    // Neither event is received.
    stack.line.build(Action::BotLeaves { chat: chat.clone() }).unwrap();
    assert_eq!(detail(&stack, &chat).await.0, StatusCode::FORBIDDEN);
    stack.line.build(Action::BotJoins { chat: chat.clone() }).unwrap();
    let calls = stack.line.calls().len();
    assert_eq!(detail(&stack, &chat).await.0, StatusCode::FORBIDDEN);
    assert_eq!(stack.line.calls().len(), calls, "the platform was asked a moment ago");
    // Ten minutes later.
    stack.sql("UPDATE membership_checks SET checked_at = checked_at - 600000".to_owned()).await;
    assert_eq!(detail(&stack, &chat).await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_into_somebody_elses_own_chat() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let [ann, bob] = ["Ann", "Bob"].map(|name| stack.line.add_user(name, None).user_id);
    for user in [&ann, &bob] {
        stack.line.follow(user).await.unwrap();
        stack.line.say(user, user, "just between us").await.unwrap();
    }
    stack.act_as(&ann).await;
    stack.known(&ann).await;
    stack.drained().await;
    let calls = stack.line.calls().len();
    for path in ["", "/members", "/backup/messages", "/backup/coverage"] {
        let path = format!("/channels/{bob}{path}");
        let (status, body) = stack.call(reqwest::Method::GET, &path, None).await;
        assert_eq!((status, &body["error"]), (StatusCode::FORBIDDEN, &json!("Permission denied")));
    }
    let subscribe = format!("/channels/{bob}/backup/subscribe");
    let (status, _) = stack.call(reqwest::Method::POST, &subscribe, None).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(stack.line.calls().len(), calls, "the platform would have said yes to the bot");
    let channels = stack.get("/channels").await;
    assert_eq!(texts(&channels["channels"], "channelId"), [ann]);
}
