//! Saved searches through the whole program: from the platform's event to the feed and a webhook.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::wait::until;
use crate::hooks::flow::Scene;
use crate::hooks::sink::{Received, Sink};
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

on_both!(
    what_a_saved_search_tells_is_what_the_search_finds,
    a_hit_whose_first_delivery_was_dropped_is_told_once_it_is_found_again,
    a_reader_of_some_channels_is_told_of_the_searches_of_these_alone,
);

/// Returns the events of a saved search in the feed, oldest first.
async fn feed(stack: &Stack, search: &str) -> Vec<Value> {
    let (mut events, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = stack.get(&format!("/events?limit=100{cursor}")).await;
        let about = |event: &&Value| event["data"]["search"]["savedSearchId"] == search;
        events.extend(page["events"].as_array().unwrap().iter().filter(about).cloned());
        if page["hasMore"] == false {
            return events;
        }
        cursor = format!("&cursor={}", page["nextCursor"].as_str().unwrap());
    }
}

fn ids<'a>(messages: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    messages.into_iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
}

/// Waits until the feed of a saved search tells exactly what the search finds, and that is `count`
/// messages.
async fn equal(stack: &Stack, search: &str, query: &str, count: usize) {
    until(&format!("{count} messages are told and found"), DEADLINE, async || {
        let told = feed(stack, search).await;
        let page = stack.get(&format!("/search?limit=100&q={query}")).await;
        let found = page["hits"].as_array().unwrap().iter();
        let found = ids(found.filter(|hit| hit["related"] == false).map(|hit| &hit["message"]));
        let once = ids(told.iter().map(|event| &event["data"]["message"]));
        // A hit that was left out is told anew: between two pages both of its events may be there.
        once.len() == told.len() && once == found && found.len() == count
    })
    .await;
}

async fn what_a_saved_search_tells_is_what_the_search_finds(parts: Parts) {
    let mut ground = TestEnv::new(parts).await;
    ground.settings.push(("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned()));
    ground.settings.push(("CHATKEEP_API_BASE_URL", "https://chat.example.org".to_owned()));
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, ann) = (group.chat_id.as_str(), people[0].user_id.as_str());
    let body = json!({"name": "Where we eat", "query": "lunch -cancelled"});
    let made = stack.post("/saved-searches", body).await;
    let search = made["savedSearchId"].as_str().unwrap().to_owned();
    let sink = Sink::start().await;
    let hook = json!({"url": sink.url("/told"), "events": ["search.matched"]});
    stack.post("/webhooks", hook).await;

    let say = async |stack: &Stack, text: &str| {
        let told = stack.line.say(chat, ann, text).await.unwrap();
        told.message_id().unwrap().to_owned()
    };
    let first = say(&stack, "lunch at noon").await;
    let second = say(&stack, "dinner").await;
    say(&stack, "lunch cancelled").await;
    let third = say(&stack, "lunch, again").await;
    equal(&stack, &search, "lunch -cancelled", 2).await;
    until("the webhook is told", DEADLINE, async || sink.at("/told").len() == 2).await;
    let heard = sink.at("/told");
    let body = heard.iter().map(Received::json);
    let body = body.into_iter().find(|body| body["data"]["message"]["id"] == first).unwrap();
    let expected = json!({"savedSearchId": search, "name": "Where we eat"});
    assert_eq!((&body["type"], &body["data"]["search"]), (&json!("search.matched"), &expected));
    assert_eq!(body["data"]["channelId"], chat);
    let url = format!("https://chat.example.org/c/{chat}/m/{first}");
    assert_eq!(body["data"]["message"]["url"], url);

    // An edit makes a match, another unmakes one, and a retraction ends one; meanwhile the process
    // is killed.
    stack.line.edit(&second, "no, lunch").await.unwrap();
    stack.crash().await;
    stack.line.edit(&first, "supper").await.unwrap();
    stack.line.unsend(&third).await.unwrap();
    equal(&stack, &search, "lunch -cancelled", 1).await;
    until("the webhook is told", DEADLINE, async || {
        let told = sink.at("/told");
        ids(told.iter().map(|one| one.json()["data"]["message"].clone()).collect::<Vec<_>>().iter())
            .contains(&second)
    })
    .await;
    stack.line.edit(&first, "lunch after all").await.unwrap();
    equal(&stack, &search, "lunch -cancelled", 2).await;
    let metrics = stack.metrics().await;
    assert!(metrics.contains("chatkeep_saved_search_lag_seconds"), "{metrics}");
}

async fn a_reader_of_some_channels_is_told_of_the_searches_of_these_alone(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, ann) = (group.chat_id.as_str(), people[0].user_id.as_str());
    let save = async |name: &str, channels: Value| {
        let body = json!({"name": name, "query": "lunch", "channelIds": channels});
        let made = stack.post("/saved-searches", body).await;
        made["savedSearchId"].as_str().unwrap().to_owned()
    };
    let hidden = save("of all chats", Value::Null).await;
    let shown = save("of this one", json!([chat, chat])).await;
    let key = json!({"name": "narrow", "scopes": ["read:messages"], "channelIds": [chat]});
    let key = stack.post("/keys", key).await["key"].as_str().unwrap().to_owned();
    stack.line.say(chat, ann, "lunch").await.unwrap();
    for search in [&hidden, &shown] {
        until("it is told", DEADLINE, async || feed(&stack, search).await.len() == 1).await;
    }
    stack.use_key(&key);
    assert_eq!(feed(&stack, &shown).await.len(), 1);
    let told = feed(&stack, &hidden).await;
    assert!(told.is_empty(), "{told:?}");
}

/// Returns the cursor at the end of the feed.
async fn end_of_feed(stack: &Stack) -> String {
    let mut cursor = String::new();
    loop {
        let page = stack.get(&format!("/events?limit=100{cursor}")).await;
        let next = page["nextCursor"].as_str().unwrap();
        if page["hasMore"] == false {
            return next.to_owned();
        }
        cursor = format!("&cursor={next}");
    }
}

async fn a_hit_whose_first_delivery_was_dropped_is_told_once_it_is_found_again(parts: Parts) {
    let scene = Scene::new(parts, &[("CHATKEEP_WEBHOOKS_RETRY_SECONDS", "2, 2, 2, 2, 2")]).await;
    let Scene { stack, sink, .. } = &scene;
    let body = json!({"name": "Where we eat", "query": "lunch"});
    let search = stack.post("/saved-searches", body).await["savedSearchId"].clone();
    let search = search.as_str().unwrap();
    sink.status("/told", 500);
    let (hook, _) = scene.hook("/told", &["search.matched"]).await;
    let message = scene.say("lunch").await;
    until("the endpoint fails", DEADLINE, async || !sink.at("/told").is_empty()).await;
    stack.line.edit(&message, "supper").await.unwrap();
    until("the delivery is dropped", DEADLINE, async || {
        let log = stack.get(&format!("/webhooks/{hook}/deliveries")).await;
        log["deliveries"][0]["status"] == "dropped"
    })
    .await;
    // A reader of the feed has passed it, too.
    assert!(feed(stack, search).await.is_empty());
    let end = end_of_feed(stack).await;
    sink.status("/told", 200);
    stack.line.edit(&message, "lunch after all").await.unwrap();
    until("the webhook is told", DEADLINE, async || {
        sink.at("/told")
            .iter()
            .any(|one| one.taken && one.json()["data"]["message"]["id"] == message)
    })
    .await;
    let page = stack.get(&format!("/events?cursor={end}")).await;
    let events = page["events"].as_array().unwrap().iter();
    let told: Vec<_> = events.filter(|event| event["type"] == "search.matched").collect();
    assert_eq!(told.len(), 1, "{page}");
    assert_eq!(told[0]["data"]["message"]["id"], message);
    // One event tells of it to those who read everything.
    equal(stack, search, "lunch", 1).await;
}
