//! The history of the sample groups: what there is to see, and that all counters are right.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Demo, panes, scratch};

impl Demo {
    /// Reads from the API as the person whose key the page has.
    async fn read(&self, path: &str) -> Value {
        let url = format!("{}/api/{path}", self.base);
        let answer = self.http.get(url).bearer_auth(self.key()).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }

    /// Reads all messages of a group.
    async fn messages(&self, group: &str) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("channels/{group}/backup/messages?limit=100{cursor}");
            let mut page = self.read(&path).await;
            all.append(page["messages"].as_array_mut().unwrap());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return all,
            }
        }
    }

    /// Reads the page's state of the group of that number.
    async fn group(&self, number: usize) -> Value {
        let id = self.state["groups"][number]["id"].as_str().unwrap();
        let url = format!("{}/demo/state?group={id}", self.base);
        self.http.get(url).send().await.unwrap().json().await.unwrap()
    }
}

/// Asserts that the groups have what their histories promise; returns their messages.
async fn a_year_is_there(demo: &Demo) -> i64 {
    let (mut messages, mut reasons, mut kinds) = (0, BTreeSet::new(), BTreeSet::new());
    let mut marks = BTreeSet::new();
    for number in 1..5 {
        let state = demo.group(number).await;
        let group = state["groupId"].as_str().unwrap();
        let count = state["usage"]["messages"].as_i64().unwrap();
        assert!(count > 300, "{count} messages of {}", state["groupName"]);
        messages += count;
        let all = demo.messages(group).await;
        kinds.extend(all.iter().map(|message| message["type"].as_str().unwrap().to_owned()));
        assert!(all.iter().any(|message| message["isBot"] == true), "nobody was answered");
        for mark in ["editedAt", "unsentAt", "quotedMessageId"] {
            marks.extend(all.iter().any(|message| !message[mark].is_null()).then_some(mark));
        }
        let gaps = demo.read(&format!("channels/{group}/backup/coverage")).await;
        for gap in gaps["gaps"].as_array().unwrap() {
            reasons.insert(gap["reason"].as_str().unwrap().to_owned());
        }
    }
    assert!(messages > 2_000, "{messages}");
    for kind in ["text", "image", "sticker", "file", "location"] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
    assert_eq!(marks.len(), 3, "only {marks:?}");
    assert!(reasons.contains("quota") && reasons.contains("bot_removed"), "{reasons:?}");
    let near = demo.group(1).await["usage"]["percentage"].as_f64().unwrap();
    assert!((80.0..100.0).contains(&near), "{near} %");
    messages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_year_of_several_groups_is_there_and_counted_and_seen_in_two_panes() {
    // A start that was through before it was killed shows nothing: a new folder is another chance.
    let folder = loop {
        let folder = scratch::folder("demo-");
        if Demo::interrupted(&folder).await {
            break folder;
        }
    };
    let demo = Demo::with(&folder, "full").await;
    let messages = a_year_is_there(&demo).await;
    panes::follow_each_other(&demo).await;
    demo.stop().await;
    let (fine, said) = Demo::doctor(&folder).await;
    assert!(fine, "{said:?}");

    // A second start adds nothing.
    let demo = Demo::with(&folder, "full").await;
    assert_eq!(a_year_is_there(&demo).await, messages);
    demo.stop().await;
}
