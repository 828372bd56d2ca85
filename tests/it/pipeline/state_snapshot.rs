//! Snapshot of everything stored by a conversation, without the parts that must differ from run to
//! run (times of storing, ids that depend on the order of replies).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::stack::Stack;

/// Stored rows and counters of a channel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateSnapshot {
    messages: BTreeMap<String, Value>,
    bot_messages: Vec<String>,
    members: Vec<Value>,
    bytes: Value,
    count: Value,
    hits: Vec<(String, Value)>,
}

impl StateSnapshot {
    pub(crate) async fn of(stack: &Stack, channel: &str) -> Self {
        let (mut messages, mut bot_messages) = (BTreeMap::new(), Vec::new());
        for mut message in stack.messages(channel).await {
            if message["isBot"] == json!(true) {
                bot_messages.push(message["content"].as_str().unwrap_or_default().to_owned());
                continue;
            }
            message.as_object_mut().unwrap().remove("backedUpAt");
            messages.insert(message["id"].as_str().unwrap().to_owned(), message);
        }
        bot_messages.sort();
        let listed = stack.get(&format!("/channels/{channel}/members")).await;
        let members = listed["members"].as_array().unwrap().iter().map(|member| {
            let mut member = member.clone();
            member.as_object_mut().unwrap().remove("updatedAt");
            member
        });
        let usage = stack.get("/usage").await["channels"][channel].clone();
        let rules = stack.get(&format!("/channels/{channel}/assistant/qa")).await;
        let hits =
            rules["items"].as_array().unwrap().iter().map(|rule| {
                (rule["answer"].as_str().unwrap().to_owned(), rule["hitCount"].clone())
            });
        Self {
            messages,
            bot_messages,
            members: members.collect(),
            bytes: usage["bytes"].clone(),
            count: usage["messageCount"].clone(),
            hits: hits.collect(),
        }
    }

    /// Checks the counters against the messages themselves.
    pub(crate) fn assert_counted(&self, all: &[Value]) {
        let kept: Vec<_> = all.iter().filter(|message| message["unsentAt"].is_null()).collect();
        let bytes: i64 = kept.iter().map(|message| message["bytes"].as_i64().unwrap()).sum();
        assert_eq!(
            (self.bytes.as_i64(), self.count.as_u64()),
            (Some(bytes), Some(kept.len() as u64))
        );
    }

    pub(crate) fn bot_messages(&self) -> &[String] {
        &self.bot_messages
    }

    pub(crate) fn message(&self, id: &str) -> &Value {
        &self.messages[id]
    }

    pub(crate) fn hits(&self, answer: &str) -> i64 {
        let rule = self.hits.iter().find(|(text, _)| text == answer);
        rule.and_then(|(_, hits)| hits.as_i64()).unwrap()
    }

    pub(crate) fn members(&self) -> &[Value] {
        &self.members
    }
}
