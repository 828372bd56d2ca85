//! People who opted out, through the whole program: random conversations, and none of their words,
//! files or names on any surface, while those of others are all there.

use std::path::Path;

use chatkeep::api::catalogue;
use chatkeep_core::config::Database;
use chatkeep_core::id::{SessionId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_emulator::{Location, Media, MentionTarget, Post, Text, User};
use chatkeep_store::{NewKey, NewSession, SignedIn, Store};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::harness::http;
use crate::harness::wait::until;
use crate::hooks::sink::Sink;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Part of everything of theirs.
const SECRET: &str = "xq7secret";
/// Part of everything of others'.
const SHOWN: &str = "ok7shown";
/// Secret of a session of the owner's.
const SESSION: &str = "secret-of-the-owner-0123456789012345678901234567890123456789";

/// What somebody does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Say,
    Quote,
    Mention,
    Edit,
    Unsend,
    File,
    Place,
    NewType,
}

/// A conversation under way.
struct Conversation {
    stack: Stack,
    channel: String,
    people: Vec<User>,
    /// Number of words so far.
    words: usize,
    /// Last message of each person.
    last: Vec<Option<String>>,
    /// Messages of others that stay.
    stay: usize,
    /// Messages that are missing.
    missing: i64,
}

impl Conversation {
    /// Lets a person act; the second and the third opted out.
    async fn act(&mut self, who: usize, act: Act) {
        let out = who > 0;
        self.words += 1;
        let mark = if out { SECRET } else { SHOWN };
        let word = format!("{mark}{}", self.words);
        let other = self.last[(who + 1) % 3].clone();
        let own = self.last[who].clone();
        let (line, user) = (&self.stack.line, self.people[who].user_id.as_str());
        let post = match (act, own, other) {
            (Act::Edit, Some(own), _) => {
                line.edit(&own, word.as_str()).await.unwrap();
                return;
            }
            (Act::Unsend, Some(own), _) => {
                line.unsend(&own).await.unwrap();
                self.last[who] = None;
                self.stay -= usize::from(!out);
                return;
            }
            (Act::Quote, _, Some(other)) => Post::Text(Text::from(word).quoting(other)),
            (Act::Mention, ..) => {
                let target = MentionTarget::User(self.people[(who + 1) % 3].user_id.clone());
                Post::Text(Text::from(format!("{word} @you")).mentioning("@you", target))
            }
            (Act::File, ..) => {
                Post::File(Media::new("text/plain", word.clone()), format!("{word}.txt"))
            }
            (Act::Place, ..) => {
                let (title, address) = (Some(word), None);
                Post::Location(Location { title, address, latitude: 1.0, longitude: 2.0 })
            }
            (Act::NewType, ..) => {
                let fields = Map::from_iter([("note".to_owned(), json!(word))]);
                Post::Unknown("hologram".to_owned(), fields)
            }
            _ => Post::Text(Text::from(word)),
        };
        let is_text = matches!(post, Post::Text(_));
        let told = self.stack.line.post_message(&self.channel, user, post).await.unwrap();
        // Only texts can be edited.
        self.last[who] = told.message_id().filter(|_| is_text).map(str::to_owned);
        if out {
            self.missing += 1;
        } else {
            self.stay += 1;
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.stack.ground.address)
    }

    /// Returns the body of a response, whatever its status.
    async fn read(&self, path: &str) -> String {
        let client = http::client(DEADLINE);
        let request = client.get(self.url(path)).bearer_auth(self.stack.key());
        request.send().await.unwrap().text().await.unwrap()
    }

    /// Returns every response of every route that reads.
    async fn rest(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        let ids: Vec<_> = self.stack.messages(&self.channel).await;
        let ids: Vec<_> = ids.iter().map(|message| message["id"].as_str().unwrap()).collect();
        for route in catalogue().iter().filter(|route| route.method == Method::GET) {
            let query = match route.id {
                "search" | "search_channel" => format!("?q={SECRET}"),
                "export_messages" => "?format=html".to_owned(),
                "list_members" => "?role=guest".to_owned(),
                _ => String::new(),
            };
            let path = format!("/api{}{query}", route.path).replace("{channelId}", &self.channel);
            if path.contains("{messageId}") {
                for id in &ids {
                    let path = path.replace("{messageId}", id);
                    shown.push((path.clone(), self.read(&path).await));
                }
            } else if !path.contains('{') {
                shown.push((path.clone(), self.read(&path).await));
            }
        }
        for format in ["jsonl", "csv"] {
            let path = format!("/api/channels/{}/backup/export?format={format}", self.channel);
            shown.push((path.clone(), self.read(&path).await));
        }
        shown
    }

    async fn tools(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        for (tool, arguments) in [
            ("list_channels", json!({})),
            ("get_messages", json!({"channelId": self.channel, "limit": 100})),
            ("search_messages", json!({"query": SECRET})),
            ("get_members", json!({"channelId": self.channel})),
        ] {
            let call = json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            });
            let request = http::client(DEADLINE).post(self.url("/mcp")).json(&call);
            let request = request
                .bearer_auth(self.stack.key())
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2025-11-25");
            let text = request.send().await.unwrap().text().await.unwrap();
            // The argument is not repeated where nothing is found.
            shown.push((tool.to_owned(), text));
        }
        shown
    }

    /// Returns the pages of the console, as the owner sees them.
    async fn pages(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        for rest in ["/console", "/c/{c}", "/c/{c}/media", "/c/{c}/search?q=ok7shown1"] {
            let path = rest.replace("{c}", &self.channel);
            let request = http::client(DEADLINE).get(self.url(&path));
            let request = request.header("cookie", format!("chatkeep_session={SESSION}"));
            let page = request.send().await.unwrap();
            assert!(page.status().is_success(), "{path}: {}", page.status());
            shown.push((path, page.text().await.unwrap()));
        }
        shown
    }
}

/// Returns the files that contain the secret, except those of the bus: it holds what came until
/// every stage is done with it.
fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if !name.starts_with("bus.db")
            && std::fs::read(&path).is_ok_and(|bytes| contains(&bytes))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

fn contains(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes())
}

async fn begin(sink: &Sink) -> Conversation {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    ground.settings.push(("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned()));
    ground.settings.push(("CHATKEEP_LOG_FILTER", "debug".to_owned()));
    let mut stack = Stack::on(ground, emulator().await).await;
    let (chat, people) = group(&mut stack).await;
    let store = Store::open(&Database::Sqlite, stack.ground.folder.path(), 1).await.unwrap();
    let now = SystemClock.now();
    // They do it themselves, with keys of theirs.
    let owner = stack.key().to_owned();
    for person in &people[1..] {
        stack.act_as(&person.user_id).await;
        let path = format!("/me/channels/{}/backup", chat.chat_id);
        until("the person is known", DEADLINE, async || {
            stack.call(Method::PUT, &path, Some(json!({"kept": false}))).await.0.is_success()
        })
        .await;
    }
    stack.use_key(&owner);
    let session = NewSession { id: &SessionId::new("s"), secret: SESSION, csrf: "csrf" };
    let user = UserId::from(people[0].user_id.as_str());
    let person = SignedIn { user: &user, display_name: None, picture_url: None };
    store.sessions().sign_in(&person, &session, now).await.unwrap();
    store.close().await;
    let events = json!([
        "message.received",
        "message.edited",
        "message.unsent",
        "file.uploaded",
        "member.joined",
        "member.left"
    ]);
    stack.post("/webhooks", json!({"url": sink.url("/all"), "events": events})).await;
    let channel = chat.chat_id;
    Conversation { stack, channel, people, words: 0, last: vec![None; 3], stay: 0, missing: 0 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_theirs_is_on_any_surface() {
    let acts = prop::sample::select(vec![
        Act::Say,
        Act::Quote,
        Act::Mention,
        Act::Edit,
        Act::Unsend,
        Act::File,
        Act::Place,
        Act::NewType,
    ]);
    let script = prop::collection::vec((0..3_usize, acts), 60);
    let mut random = TestRunner::deterministic();
    let sink = Sink::start().await;
    let mut talk = begin(&sink).await;
    for (who, act) in script.new_tree(&mut random).unwrap().current() {
        talk.act(who, act).await;
    }
    talk.stack.drained().await;
    let messages = talk.stack.messages(&talk.channel).await;
    let stay = messages.iter().filter(|m| m["unsentAt"].is_null() && m["isBot"] == json!(false));
    assert_eq!(stay.count(), talk.stay, "those of others are there");
    let coverage = format!("/channels/{}/backup/coverage", talk.channel);
    let gaps = talk.stack.get(&coverage).await["gaps"].clone();
    let gaps = gaps.as_array().unwrap().iter().filter(|gap| gap["reason"] == "opted_out");
    let missing: i64 = gaps.map(|gap| gap["skipped"].as_i64().unwrap()).sum();
    assert_eq!(missing, talk.missing, "what is missing is counted");

    until("the webhook has heard", DEADLINE, async || sink.at("/all").len() >= talk.stay).await;
    let mut shown = [talk.rest().await, talk.tools().await, talk.pages().await].concat();
    let heard = sink.at("/all").into_iter().map(|one| ("webhook".to_owned(), one.body));
    shown.extend(heard);
    shown.push(("logs".to_owned(), talk.stack.process.stderr().join("\n")));
    shown.push(("stdout".to_owned(), talk.stack.process.stdout().join("\n")));
    let dead = talk.stack.ground.command(&talk.stack.line, &["dead", "list"]).await;
    shown.push(("dead letters".to_owned(), dead));
    assert!(shown.iter().any(|(_, text)| text.contains(SHOWN)), "the surfaces are read");
    for (surface, text) in &shown {
        let searched = surface.contains(SECRET) || surface.contains("search");
        let count = text.matches(SECRET).count();
        assert!(
            count == 0 || (searched && !text.contains(&format!("{SECRET}1"))),
            "{surface}: {text}"
        );
    }
    assert!(talk.stack.process.terminate().await.success());
    assert_eq!(leaks(talk.stack.ground.folder.path()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opting_out_takes_membership_and_the_scope() {
    let sink = Sink::start().await;
    let mut talk = begin(&sink).await;
    let path = format!("/me/channels/{}/backup", talk.channel);
    let stranger = talk.stack.line.add_user("Stranger", None).user_id;
    talk.stack.act_as(&stranger).await;
    let (status, body) = talk.stack.call(Method::PUT, &path, Some(json!({"kept": false}))).await;
    assert_eq!((status.as_u16(), &body["error"]), (403, &Value::from("Permission denied")));
    let member = talk.people[1].user_id.clone();
    talk.stack.act_as(&member).await;
    assert_eq!(talk.stack.put(&path, json!({"kept": true})).await, json!({"kept": true}));
    let store = Store::open(&Database::Sqlite, talk.stack.ground.folder.path(), 1).await.unwrap();
    let (id, user) = ("key_reads".into(), UserId::from(member.as_str()));
    let key = NewKey {
        id: &id,
        secret: "ck_reads",
        user: &user,
        name: "reads",
        scopes: &[Scope::ReadMessages],
        channels: None,
        not_before: None,
        expires_at: None,
    };
    assert!(store.keys().add_key(&key, SystemClock.now()).await.unwrap());
    talk.stack.use_key("ck_reads");
    let (status, _) = talk.stack.call(Method::PUT, &path, Some(json!({"kept": false}))).await;
    assert_eq!(status.as_u16(), 403);
}
