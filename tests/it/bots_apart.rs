//! Bots of one deployment that do not trust each other: events signed by one about another's
//! channels change and reveal nothing.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::bots::{Help, Two};
use crate::harness::wait::until;
use crate::pipeline::on_both;
use crate::pipeline::state_snapshot::StateSnapshot;
use crate::stack::{DEADLINE, Parts, SECRET, Stack};

on_both!(
    what_another_bot_signs_changes_nothing,
    an_event_id_is_no_claim_on_another_bots_events,
    a_channel_is_taken_over_once_its_bot_left,
    chats_of_one_person_with_two_bots_stay_apart,
    a_bot_that_is_gone_gives_its_channels_by_a_command,
);

impl Two {
    /// Sends events signed by one of the bots: 200 whatever they are about.
    async fn signed(&self, (bot, secret): (&str, &str), events: Vec<Value>) {
        let body = json!({"destination": "U-bot", "events": events}).to_string();
        let (status, _) = self.post(&format!("/webhook/line/{bot}"), &body, secret).await;
        assert_eq!(status, StatusCode::OK);
    }

    /// Waits for that many ignored events of the bot; one that is delivered again counts again.
    async fn ignored(&self, bot: &str, count: usize) {
        let name = format!("chatkeep_foreign_events_total{{bot=\"{bot}\"}} ");
        until(&format!("{name}{count}"), DEADLINE, async || {
            let metrics = self.stack.metrics().await;
            let mut counts = metrics.lines().filter_map(|line| line.strip_prefix(&name));
            counts.any(|ignored| ignored.parse::<usize>().is_ok_and(|ignored| ignored >= count))
        })
        .await;
        self.stack.drained().await;
    }
}

const HELP: (&str, &str) = ("help", Help::SECRET);
const SHOP: (&str, &str) = ("shop", SECRET);

/// Returns an event in a group by that person, just now.
fn event(chat: &str, user: &str, id: &str, fields: &Value) -> Value {
    source(&json!({"type": "group", "groupId": chat, "userId": user}), id, fields)
}

fn source(source: &Value, id: &str, fields: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut event = json!({
        "webhookEventId": id, "timestamp": u64::try_from(now.as_millis()).unwrap(),
        "mode": "active", "replyToken": format!("token-{id}"), "source": source,
    });
    let fields = fields.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(fields);
    event
}

fn says(id: &str, text: &str) -> Value {
    json!({"type": "message", "message": {"id": id, "type": "text", "text": text}})
}

/// Returns true if the present user may read a channel.
async fn reads(stack: &Stack, channel: &str) -> bool {
    let path = format!("/channels/{channel}/backup/messages");
    stack.call(Method::GET, &path, None).await.0 == StatusCode::OK
}

async fn what_another_bot_signs_changes_nothing(parts: Parts) {
    let mut two = Two::start(parts).await;
    let line = two.stack.line.clone();
    let (chat, people) = two.shop_group.clone();
    let (chat, owner) = (chat.chat_id.as_str(), people[0].user_id.as_str());
    two.stack.use_key(&two.keys[0].clone());
    let kept = line.say(chat, &people[1].user_id, "the plan").await.unwrap();
    let kept = kept.message_id().unwrap().to_owned();
    two.stack.kept(chat, 1).await;
    two.stack.drained().await;
    let before = StateSnapshot::of(&two.stack, chat).await;

    let attacker = "Uattacker";
    let forged = [
        says("m1", "hours"),
        json!({"type": "join"}),
        json!({"type": "memberJoined", "joined": {"members": [{"type": "user", "userId": attacker}]}}),
        json!({"type": "memberLeft", "left": {"members": [{"type": "user", "userId": owner}]}}),
        json!({"type": "unsend", "unsend": {"messageId": kept}}),
        json!({"type": "messageEdited", "message": {"id": kept, "type": "text", "text": "x"}}),
        json!({"type": "leave"}),
        json!({"type": "greatNewFeature"}),
        json!({"type": "join"}),
        says("m2", "rules"),
    ];
    let events = forged.iter().enumerate();
    let mut events: Vec<_> =
        events.map(|(n, fields)| event(chat, attacker, &format!("F{n}"), fields)).collect();
    // At one time, at which a leave comes last: behind it, a join would have them held for longer.
    let time = events[0]["timestamp"].clone();
    for event in &mut events {
        event["timestamp"] = time.clone();
    }
    two.signed(HELP, events.clone()).await;
    two.ignored("help", events.len()).await;
    // Others that look like a redelivery of the shop's own.
    let again: Vec<_> = events.into_iter().rev().collect();
    two.signed(HELP, again).await;
    two.stack.drained().await;

    assert_eq!(StateSnapshot::of(&two.stack, chat).await, before);
    let detail = two.stack.get(&format!("/channels/{chat}")).await;
    assert_eq!((&detail["meta"]["bot"], &detail["role"]), (&json!("shop"), &json!("owner")));
    let listed = two.stack.get("/channels").await;
    assert_eq!(listed["channels"][0]["status"], "active");
    assert!(line.violations().is_empty(), "{:?}", line.violations());
    assert!(two.help.violations().is_empty(), "it replied: {:?}", two.help.violations());
    // The channel is unaffected.
    line.say(chat, owner, "hours").await.unwrap();
    two.stack.kept(chat, 3).await;
    two.stack.act_as(attacker).await;
    assert!(!reads(&two.stack, chat).await);
    two.stack.is_well().await;
}

async fn an_event_id_is_no_claim_on_another_bots_events(parts: Parts) {
    use chatkeep_emulator::{Action, Post};
    let mut two = Two::start(parts).await;
    let line = two.stack.line.clone();
    // The next event of the shop, whose id the other bot knows beforehand.
    let (chat, people) = two.shop_group.clone();
    let (chat, user) = (chat.chat_id, people[1].user_id.clone());
    let post = Post::Text("hours".into());
    let events = line.build(Action::Send { chat: chat.clone(), user, post }).unwrap();
    let (help_chat, help_people) = two.help_group.clone();
    let (help_chat, help_user) = (help_chat.chat_id.as_str(), help_people[1].user_id.as_str());
    let message = events[0].message_id.clone().unwrap();
    let claims = event(help_chat, help_user, &events[0].id, &says(&message, "hours"));
    two.signed(HELP, vec![claims]).await;
    two.stack.use_key(&two.keys[1].clone());
    two.stack.kept(help_chat, 1).await;
    two.stack.drained().await;
    let webhook = line.webhook(events);
    assert!(line.deliver_all(vec![webhook], 1).await[0].accepted);
    two.stack.use_key(&two.keys[0].clone());
    two.stack.kept(&chat, 2).await;
    assert_eq!(StateSnapshot::of(&two.stack, &chat).await.bot_messages(), ["9-18"]);
}

async fn a_channel_is_taken_over_once_its_bot_left(parts: Parts) {
    let two = &mut Two::start(parts).await;
    let line = two.stack.line.clone();
    let (chat, people) = two.shop_group.clone();
    let (chat, user) = (chat.chat_id.as_str(), people[0].user_id.as_str());
    two.stack.use_key(&two.keys[0].clone());
    line.bot_leaves(chat).await.unwrap();
    // Straight behind each other: every stage has to detect that before it reads the message.
    let events = vec![
        event(chat, user, "J1", &json!({"type": "join"})),
        event(chat, user, "J2", &says("taken", "new bot")),
    ];
    two.signed(HELP, events).await;
    two.stack.kept(chat, 1).await;
    two.stack.drained().await;
    let detail = two.stack.get(&format!("/channels/{chat}")).await;
    assert_eq!(detail["meta"]["bot"], "help");
    assert_eq!(two.stack.get("/channels").await["channels"][0]["status"], "active");
    let late = event(chat, user, "J3", &says("late", "from the shop"));
    two.signed(SHOP, vec![late]).await;
    two.ignored("shop", 1).await;
    assert_eq!(two.stack.messages(chat).await.len(), 1);
    two.stack.is_well().await;
}

async fn chats_of_one_person_with_two_bots_stay_apart(parts: Parts) {
    let two = &mut Two::start(parts).await;
    let line = two.stack.line.clone();
    let user = two.shop_group.1[0].user_id.clone();
    line.follow(&user).await.unwrap();
    two.stack.use_key(&two.keys[0].clone());
    two.stack.known(&user).await;
    two.stack.post(&format!("/channels/{user}/backup/subscribe"), json!({})).await;
    let own = line.say(&user, &user, "for the shop").await.unwrap();
    let own = own.message_id().unwrap().to_owned();
    two.stack.kept(&user, 1).await;

    let other = format!("{user}~help");
    let chat = json!({"type": "user", "userId": user});
    two.signed(HELP, vec![source(&chat, "O1", &json!({"type": "follow"}))]).await;
    two.stack.known(&other).await;
    two.stack.post(&format!("/channels/{other}/backup/subscribe"), json!({})).await;
    let events = [
        says("o2", "for the help desk"),
        json!({"type": "unsend", "unsend": {"messageId": own}}),
        json!({"type": "unfollow"}),
    ];
    let events = events.into_iter().enumerate();
    let events = events.map(|(n, fields)| source(&chat, &format!("P{n}"), &fields)).collect();
    two.signed(HELP, events).await;
    two.stack.kept(&other, 1).await;
    two.stack.drained().await;
    let texts = async |channel: &str| -> Vec<String> {
        let messages = two.stack.messages(channel).await;
        let text = |message: &Value| message["content"].as_str().unwrap_or("(none)").to_owned();
        messages.iter().map(text).collect()
    };
    assert_eq!(texts(&user).await, ["for the shop"]);
    assert_eq!(texts(&other).await, ["for the help desk"]);
    let listed = two.stack.get("/channels").await;
    let state = |id: &str| {
        let channels = listed["channels"].as_array().unwrap();
        let found = channels.iter().find(|channel| channel["channelId"] == *id).unwrap();
        found["status"].as_str().unwrap().to_owned()
    };
    assert_eq!((state(&user), state(&other)), ("active".into(), "disabled".into()));
    assert_eq!(two.stack.get(&format!("/channels/{other}")).await["meta"]["bot"], "help");
    // Nobody else gets access.
    two.stack.use_key(&two.keys[1].clone());
    assert!(!reads(&two.stack, &other).await && !reads(&two.stack, &user).await);
    two.stack.is_well().await;
}

async fn a_bot_that_is_gone_gives_its_channels_by_a_command(parts: Parts) {
    let two = &mut Two::start(parts).await;
    let line = two.stack.line.clone();
    let (chat, people) = two.shop_group.clone();
    let (chat, user) = (chat.chat_id.as_str(), people[0].user_id.as_str());
    two.stack.use_key(&two.keys[0].clone());
    let gone = format!(
        "UPDATE channels SET bot = 'gone' WHERE channel_id = '{chat}';
         UPDATE channel_bots SET bot = 'gone' WHERE channel_id = '{chat}'"
    );
    two.stack.sql(gone).await;
    // Until then its stages may take it for the shop's for a second.
    let url = format!("http://{}/readyz", two.stack.ground.address);
    let problem = async || {
        let ready = reqwest::get(&url).await.unwrap().json::<Value>().await.unwrap();
        ready["problems"].as_array().unwrap().first().cloned()
    };
    until("the problem is shown", DEADLINE, async || {
        line.say(chat, user, "is anybody there").await.unwrap();
        problem().await.is_some()
    })
    .await;
    let shown = problem().await.unwrap();
    assert_eq!(shown["part"], "channels:shop");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("\"gone\"") && reason.contains("chatkeep channel assign"), "{reason}");

    let ground = &two.stack.ground;
    let bots = ground.command(&line, &["channel", "bots", "--json"]).await;
    assert!(bots.contains(r#"{"bot":"gone","channels":1,"configured":false}"#), "{bots}");
    let mut wrong =
        ground.program(&line, &["channel", "assign", "--channel", chat, "--bot", "nobody"]).start();
    assert_eq!(wrong.finish().await.code(), Some(2));
    let args = ["channel", "assign", "--from", "gone", "--bot", "shop"];
    let given = ground.said(&line, &args).await;
    assert!(given.ends_with("1 channels belong to the bot shop"), "{given}");
    until("it is heard again", DEADLINE, async || {
        line.say(chat, user, "hello again").await.unwrap();
        two.stack.messages(chat).await.iter().any(|message| message["content"] == "hello again")
    })
    .await;
    until("the problem is gone", DEADLINE, async || problem().await.is_none()).await;
    let args = ["channel", "assign", "--channel", chat, "--bot", "help"];
    assert!(ground.said(&line, &args).await.ends_with("belongs to the bot help"));
}
