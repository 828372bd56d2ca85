//! The demo's group, driven as its page drives it.

use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection};

use super::Demo;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_stays_and_nobody_joins_twice() {
    let folder = scratch::folder("demo-");
    let mut demo = Demo::start(&folder).await;
    let owner = demo.state["ownerId"].as_str().unwrap().to_owned();
    let (status, refused) = demo.act(&json!({"kind": "leave", "userId": owner})).await;
    assert_eq!(status, 409);
    let said = refused["error"].as_str().unwrap();
    assert!(said.contains("林小美") && said.contains("cannot leave"), "{said}");

    let mut joined = Vec::new();
    for _ in 0..6 {
        let next = demo.names("outside")[0].clone();
        assert_eq!(demo.act(&json!({"kind": "join"})).await.0, 200, "{next}");
        demo.look().await;
        assert!(demo.names("people").contains(&next), "{next} joined");
        joined.push(next);
    }
    let different: std::collections::BTreeSet<_> = joined.iter().collect();
    assert_eq!(different.len(), joined.len(), "{joined:?}");
    let (status, refused) = demo.act(&json!({"kind": "join"})).await;
    assert_eq!(status, 409);
    assert!(
        refused["error"].as_str().unwrap().contains("everybody is already in the group"),
        "{refused}"
    );

    let somchai = demo.person(2).to_owned();
    assert_eq!(demo.act(&json!({"kind": "leave", "userId": somchai})).await.0, 200);
    demo.look().await;
    assert_eq!(demo.names("outside"), ["Somchai"]);
    assert_eq!(demo.act(&json!({"kind": "join"})).await.0, 200, "who left may join again");
    demo.look().await;
    assert_eq!(demo.names("outside"), [""; 0]);
    demo.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_start_goes_on_where_the_first_one_ended() {
    let folder = scratch::folder("demo-");
    let mut demo = Demo::start(&folder).await;
    let curls: Vec<_> = demo.process.stdout().into_iter().filter(|l| l.contains("curl")).collect();
    assert_eq!(curls.len(), 4);
    assert!(curls.iter().all(|line| line.trim_start().starts_with("curl -w '\\n' ")), "{curls:?}");
    let key = demo.key().to_owned();
    assert!(curls.iter().all(|line| line.contains(&key)), "{curls:?}");

    let dave = demo.person(3).to_owned();
    demo.say(1, "before the restart").await;
    let said = demo.message("the message", |m| m["content"] == "before the restart").await;
    assert_eq!(demo.act(&json!({"kind": "leave", "userId": dave})).await.0, 200);
    assert_eq!(demo.act(&json!({"kind": "join"})).await.0, 200);
    let mut members = Value::Null;
    until("the members to be known", DEADLINE, async || {
        members = demo.get("members?limit=100").await["members"].take();
        let status = |id: &str| {
            let known = members.as_array().into_iter().flatten();
            known.filter(|m| m["userId"] == id).map(|m| m["status"].clone()).next()
        };
        status(&dave) == Some(json!("left")) && members.as_array().is_some_and(|m| m.len() == 5)
    })
    .await;
    demo.look().await;
    let (people, outside) = (demo.names("people"), demo.names("outside"));
    demo.stop().await;

    let demo = Demo::start(&folder).await;
    assert_eq!(demo.key(), key, "the same key");
    assert_eq!(demo.names("people"), people);
    assert_eq!(demo.names("outside"), outside);
    // What was said before can be quoted and unsent.
    let id = said["id"].as_str().unwrap();
    let quote = json!({"kind": "say", "userId": demo.person(0), "text": "indeed", "quoted": id});
    assert_eq!(demo.act(&quote).await.0, 200);
    demo.message("the quote", |m| m["quotedMessageId"] == id).await;
    assert_eq!(demo.act(&json!({"kind": "unsend", "messageId": id})).await.0, 200);
    demo.message("it to be unsent", |m| m["id"] == id && !m["unsentAt"].is_null()).await;
    demo.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_who_left_in_an_earlier_version_comes_back() {
    let folder = scratch::folder("demo-");
    let demo = Demo::start(&folder).await;
    let owner = demo.state["ownerId"].as_str().unwrap().to_owned();
    demo.stop().await;
    let file = format!("sqlite://{}", folder.path().join("demo/chatkeep.db").display());
    let mut store = SqliteConnection::connect(&file).await.unwrap();
    let leave = "UPDATE members SET left_at = last_seen_at + 1 WHERE user_id = $1";
    let left = sqlx::query(leave).bind(&owner).execute(&mut store).await.unwrap();
    assert_eq!(left.rows_affected(), 1);
    store.close().await.unwrap();

    let demo = Demo::start(&folder).await;
    assert!(demo.names("people").contains(&"林小美".to_owned()), "{:?}", demo.state);
    let members = demo.get("members?role=owner").await;
    assert_eq!(members["members"][0]["userId"], owner.as_str(), "{members}");
    demo.say(0, "I am back").await;
    demo.message("it to be kept", |m| m["content"] == "I am back").await;
    demo.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn semantic_answers_come_with_the_plan() {
    let folder = scratch::folder("demo-");
    let demo = Demo::start(&folder).await;
    let group = demo.state["groupId"].as_str().unwrap();
    let url = format!("{}/api/channels/{group}/assistant/config", demo.base);
    let semantic = json!({"assistant": {"qa": {"mode": "semantic"}}});
    let switch = || demo.http.put(&url).bearer_auth(demo.key()).json(&semantic).send();
    assert_eq!(switch().await.unwrap().status(), 403, "on the plan free");
    // An answer to the next message shows that there was none to this one.
    demo.say(3, "What time do you open?").await;
    demo.say(3, "address").await;
    let address = |m: &Value| m["isBot"] == true && is_text(m, "Xinyi");
    let second = demo.message("the second answer", address).await;
    let page = demo.get("backup/messages?limit=20").await;
    let answers = page["messages"].as_array().unwrap().iter().filter(|m| m["isBot"] == true);
    assert_eq!(answers.filter(|m| is_text(m, "9:00")).count(), 1, "only that of the history");

    assert_eq!(demo.act(&json!({"kind": "plan", "plan": "pro"})).await.0, 200);
    assert!(switch().await.unwrap().status().is_success(), "on the plan pro");
    assert_eq!(demo.get("assistant/config").await["assistant"]["qa"]["effectiveMode"], "semantic");
    demo.say(3, "What time do you open?").await;
    let since = second["timestamp"].as_str().unwrap().to_owned();
    let later = |m: &Value| m["timestamp"].as_str().is_some_and(|at| *at > *since);
    demo.message("the answer", |m| m["isBot"] == true && is_text(m, "9:00") && later(m)).await;
    demo.stop().await;
}

fn is_text(message: &Value, part: &str) -> bool {
    message["content"].as_str().is_some_and(|text| text.contains(part))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_do_reaches_the_backup() {
    let folder = scratch::folder("demo-");
    let demo = Demo::start(&folder).await;
    let person = demo.person(1).to_owned();
    let act = async |action: Value| {
        let (status, done) = demo.act(&action).await;
        assert_eq!((status, &done["sent"]), (200, &json!(true)), "{action}: {done}");
        done["done"].clone()
    };
    let sticker = json!({"kind": "sticker", "userId": person, "word": "thanks"});
    assert_eq!(act(sticker).await, "sticker-sent");
    demo.message("the sticker", |m| m["type"] == "sticker").await;
    assert_eq!(act(json!({"kind": "place", "userId": person})).await, "place-sent");
    let place = demo.message("the place", |m| m["type"] == "location").await;
    assert!(place.to_string().contains("Daan Park"), "{place}");
    demo.say(1, "before @Nobody").await;
    let said = demo.message("the text", |m| m["content"] == "before @Nobody").await;
    let stored = async || {
        let page = demo.get("backup/messages?limit=100").await;
        page["messages"].as_array().unwrap().len()
    };
    let count = stored().await;
    assert!(count < 100, "all of them are on the page");
    assert_eq!(act(json!({"kind": "redeliver"})).await, "redelivered");
    let edit = json!({"kind": "edit", "messageId": said["id"], "text": "after"});
    assert_eq!(act(edit).await, "edited");
    demo.message("the edit", |m| m["content"] == "after").await;
    assert_eq!(act(json!({"kind": "unsend", "messageId": said["id"]})).await, "unsent");
    demo.message("the unsend", |m| m["id"] == said["id"] && m["content"].is_null()).await;
    assert_eq!(stored().await, count, "nothing twice");
    let (status, refused) =
        demo.act(&json!({"kind": "place", "userId": person, "group": "C0"})).await;
    assert_eq!((status, &refused["code"]), (404, &json!("not_found")));
    demo.stop().await;
}
