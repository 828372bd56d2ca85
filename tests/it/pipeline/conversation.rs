//! A scripted conversation: joins, a question, the group rules, a welcome for two, a typo, unknown
//! types, an unsend, an edit, and every webhook delivered again at the end.

use chatkeep_emulator::{
    Chat, Delivered, Emulator, Location, Media, Options, Post, Redelivery, Sticker, Text, User,
};
use serde_json::{Map, Value, json};

use super::on_both;
use super::state_snapshot::StateSnapshot;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(a_group_talks_and_everything_is_kept_and_answered_once);

/// Starts an emulator whose time stands still unless it is moved, so that ids and times are the
/// same in every run.
pub(crate) async fn emulator() -> Emulator {
    let clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(now.as_millis()).unwrap()
    };
    let mut options = Options::new(std::sync::Arc::new(clock));
    options.redelivery = Redelivery { attempts: 400, ..Redelivery::default() };
    Emulator::start(options).await.unwrap()
}

/// Sets up a group of three with the bot in it, subscribed by the first, with its assistant.
pub(crate) async fn group(stack: &mut Stack) -> (Chat, Vec<User>) {
    let people: Vec<_> = ["Ann", "明華", "สมชาย"].map(|n| stack.line.add_user(n, None)).to_vec();
    let ids: Vec<_> = people.iter().map(|user| user.user_id.as_str()).collect();
    let group = stack.line.add_group("Test 測試", None, &ids);
    let channel = group.chat_id.clone();
    stack.line.bot_joins(&channel).await.unwrap();
    stack.line.say(&channel, ids[0], "before anybody subscribed").await.unwrap();
    stack.act_as(ids[0]).await;
    stack.known(&channel).await;
    // Whoever subscribes sooner keeps that message, too.
    stack.drained().await;
    stack.post(&format!("/channels/{channel}/backup/subscribe"), json!({})).await;
    let assistant = format!("/channels/{channel}/assistant");
    let config = json!({"assistant": {
        "qa": {"keywordMatch": "contains"},
        "welcome": {"enabled": true, "message": "歡迎 {displayName} to {groupName}"},
        "rules": {"enabled": true, "triggerKeywords": ["rules", "版規"]},
    }});
    stack.put(&format!("{assistant}/config"), config).await;
    stack.put(&format!("{assistant}/rules"), json!({"content": "be kind\n別吵"})).await;
    for (keywords, answer) in [(json!(["hours", "營業時間"]), "9-18"), (json!(["wifi"]), "ask me")]
    {
        let rule = json!({"keywords": keywords, "question": "", "answer": answer});
        stack.post(&format!("{assistant}/qa"), rule).await;
    }
    (group, people)
}

/// Messages that the checks look up again.
struct Said {
    greeting: String,
    quoting: String,
    file: String,
    place: String,
    odd: String,
    regret: String,
    typo: String,
}

async fn a_group_talks_and_everything_is_kept_and_answered_once(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let channel = group.chat_id.as_str();
    let said = pubsub(&stack.line, channel, &people).await;

    // 13 messages of people less the retracted one, and 3 replies.
    changed(&stack, channel, &said).await;
    stack.kept(channel, 15).await;
    settled(&stack, channel, |member| member["status"] == "left").await;
    stack.drained().await;
    let picture = StateSnapshot::of(&stack, channel).await;
    check(&picture, &stack.messages(channel).await);
    check_messages(&picture, &said);

    again(&stack).await;
    assert_eq!(StateSnapshot::of(&stack, channel).await, picture, "redelivery changed something");
    stack.crash().await;
    again(&stack).await;
    assert_eq!(StateSnapshot::of(&stack, channel).await, picture, "a restart changed something");
    assert!(stack.line.violations().is_empty(), "{:?}", stack.line.violations());
    assert!(stack.process.terminate().await.success());
}

async fn pubsub(line: &Emulator, channel: &str, people: &[User]) -> Said {
    let [ann, ming, somchai] = [0, 1, 2].map(|n| people[n].user_id.as_str());
    let id = |told: Delivered| told.message_id().unwrap().to_owned();
    let greeting = id(line.say(channel, ming, "大家好").await.unwrap());
    line.say(channel, somchai, "請問營業時間？").await.unwrap();
    line.say(channel, ann, "RULES!").await.unwrap();
    line.say(channel, ann, "huors").await.unwrap();
    let quote = Text::from("that one").quoting(&greeting);
    let quoting = id(line.say(channel, ann, quote).await.unwrap());
    let [kim, lee] = ["Kim", "Lee"].map(|name| line.add_user(name, None));
    line.members_join(channel, &[&kim.user_id, &lee.user_id]).await.unwrap();
    let images = vec![Media::new("image/png", vec![1, 2]), Media::new("image/png", vec![3])];
    line.send_images(channel, ming, images).await.unwrap();
    let [file, place, sticker, odd] = posts();
    let file = id(line.post_message(channel, ming, file).await.unwrap());
    let place = id(line.post_message(channel, ming, place).await.unwrap());
    line.post_message(channel, ming, sticker).await.unwrap();
    let odd = id(line.post_message(channel, ming, odd).await.unwrap());
    line.unknown_event(channel, "greatNewFeature", Map::new()).await.unwrap();
    let regret = id(line.say(channel, ming, "I should not have said that").await.unwrap());
    line.unsend(&regret).await.unwrap();
    let typo = id(line.say(channel, ming, "teh").await.unwrap());
    line.edit(&typo, "the").await.unwrap();
    // LINE returns no names of people who have left.
    until("Lee is welcomed", DEADLINE, async || {
        let said = line.transcript(channel).into_iter().filter_map(|entry| entry.text);
        said.into_iter().any(|text| text.starts_with("歡迎"))
    })
    .await;
    line.members_leave(channel, &[&lee.user_id]).await.unwrap();
    Said { greeting, quoting, file, place, odd, regret, typo }
}

/// Returns a file, a location, a sticker, and a message of a type that does not exist.
fn posts() -> [Post; 4] {
    let file = Post::File(Media::new("application/pdf", vec![7; 9]), "規約.pdf".to_owned());
    let title = Some("台北101".to_owned());
    let place = Location { title, address: None, latitude: 25.03, longitude: 121.56 };
    let sticker = Sticker {
        package_id: "446".to_owned(),
        sticker_id: "1988".to_owned(),
        resource_type: "STATIC".to_owned(),
        keywords: vec!["hi".to_owned()],
        quoted: None,
    };
    let odd = Map::from_iter([("depth".to_owned(), json!(3))]);
    let odd = Post::Unknown("hologram".to_owned(), odd);
    [file, Post::Location(place), Post::Sticker(sticker), odd]
}

fn check_messages(picture: &StateSnapshot, said: &Said) {
    assert_eq!(picture.message(&said.quoting)["quotedMessageId"], json!(said.greeting));
    assert_eq!(picture.message(&said.file)["fileName"], "規約.pdf");
    assert_eq!(picture.message(&said.file)["mediaStatus"], "stored");
    assert_eq!(picture.message(&said.place)["latitude"], json!(25.03));
    assert_eq!(picture.message(&said.odd)["type"], "other");
    let unsent = picture.message(&said.regret);
    assert!(unsent["content"].is_null() && !unsent["unsentAt"].is_null(), "{unsent}");
    let edited = picture.message(&said.typo);
    assert!(edited["content"] == "the" && !edited["editedAt"].is_null(), "{edited}");
}

fn check(picture: &StateSnapshot, all: &[Value]) {
    picture.assert_counted(all);
    let said = ["9-18", "be kind\n別吵", "歡迎 Kim、Lee to Test 測試"];
    assert_eq!(picture.bot_messages(), said);
    assert_eq!((picture.hits("9-18"), picture.hits("ask me")), (1, 0));
    let names: Vec<_> =
        picture.members().iter().map(|m| m["displayName"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 5);
    assert!(["Ann", "明華", "สมชาย", "Kim", "Lee"].iter().all(|n| names.contains(n)), "{names:?}");
}

/// Waits until some member is as wanted: the members stage is asynchronous.
async fn settled(stack: &Stack, channel: &str, wanted: impl Fn(&Value) -> bool) {
    until("the members have settled", DEADLINE, async || {
        let listed = stack.get(&format!("/channels/{channel}/members")).await;
        listed["members"].as_array().unwrap().iter().any(&wanted)
    })
    .await;
}

/// Waits for the last changes of people to their messages: without it, the number of stored
/// messages is right for a moment when a reply is not stored yet either.
async fn changed(stack: &Stack, channel: &str, said: &Said) {
    until("an unsend and an edit have been done", DEADLINE, async || {
        let messages = stack.messages(channel).await;
        let has = |id: &str, field: &str| {
            messages.iter().any(|message| message["id"] == *id && !message[field].is_null())
        };
        has(&said.regret, "unsentAt") && has(&said.typo, "editedAt")
    })
    .await;
}

/// Delivers every webhook once more, and a last message to know when all of them are handled.
async fn again(stack: &Stack) {
    let numbers: std::collections::BTreeSet<_> =
        stack.line.deliveries().iter().map(|attempt| attempt.webhook).collect();
    for number in numbers {
        let delivery = stack.line.redeliver(number).await.unwrap();
        assert!(delivery.accepted, "{delivery:?}");
    }
    stack.drained().await;
}
