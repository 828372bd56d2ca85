//! An earlier build and this one side by side, as while processes are replaced one by one: the
//! earlier one runs on the schema that this one makes under it.

use std::collections::BTreeMap;
use std::path::Path;

use chatkeep_core::config::Database;
use chatkeep_store::Store;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::ports;
use crate::harness::process::Process;
use crate::harness::wait::until;
use crate::harness::{http, scratch};
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Number of rounds of talk in each part of the replacement.
const ROUNDS: usize = 20;
/// Schema from which on a build knows earlier texts and exports in the background.
const EXPORTS: i64 = 42;

/// Replacement of a process of the earlier build by one of this one.
struct Replacement {
    stack: Stack,
    channel: String,
    people: Vec<String>,
    /// Texts of messages that have to be stored, by id.
    said: BTreeMap<String, String>,
    questions: usize,
    /// Data folder of the earlier process.
    folder: Option<TempDir>,
}

impl Replacement {
    /// Starts the earlier build with a subscribed group and a rule. Everything is done by the
    /// earlier build: opening the store from here would migrate it.
    async fn start(earlier: &str) -> Self {
        let mut ground = TestEnv::bare(Parts::Servers).await;
        ground.binary = earlier.to_owned();
        let blobs = ground.folder.path().join("blobs").display().to_string();
        ground.settings.push(("CHATKEEP_BLOBS", blobs));
        let mut stack = Stack::on(ground, emulator().await).await;
        let people = ["Ann", "Bo"].map(|name| stack.line.add_user(name, None).user_id).to_vec();
        let members: Vec<_> = people.iter().map(String::as_str).collect();
        let channel = stack.line.add_group("Moving", None, &members).chat_id;
        stack.line.bot_joins(&channel).await.unwrap();
        stack.line.say(&channel, &people[0], "hello").await.unwrap();
        stack.ground.command(&stack.line, &["user", "add", &people[0]]).await;
        let create = ["key", "create", "--user", people[0].as_str()];
        let printed = stack.ground.command(&stack.line, &create).await;
        let key = printed.split_whitespace().find(|word| word.starts_with("ck_"));
        stack.use_key(key.unwrap_or_else(|| panic!("no key in {printed}")));
        stack.known(&channel).await;
        stack.drained().await;
        stack.post(&format!("/channels/{channel}/backup/subscribe"), json!({})).await;
        let rule = json!({"keywords": ["hours"], "question": "", "answer": "9-18"});
        stack.post(&format!("/channels/{channel}/assistant/qa"), rule).await;
        Self { stack, channel, people, said: BTreeMap::new(), questions: 0, folder: None }
    }

    /// Talks for some rounds: messages, questions, edits, and what is taken back.
    async fn talk(&mut self, part: &str) {
        for round in 0..ROUNDS {
            let (line, channel) = (&self.stack.line, &self.channel);
            let person = &self.people[round % 2];
            let text = format!("{part} {round}");
            let id = |told: chatkeep_emulator::Delivered| told.message_id().unwrap().to_owned();
            let said = id(line.say(channel, person, text.as_str()).await.unwrap());
            let regret = id(line.say(channel, person, "taken back").await.unwrap());
            line.unsend(&regret).await.unwrap();
            let edited = format!("{text}, edited");
            line.edit(&said, edited.as_str()).await.unwrap();
            let question = id(line.say(channel, person, "hours").await.unwrap());
            self.said.insert(said, edited);
            self.said.insert(question, "hours".to_owned());
            self.questions += 1;
        }
    }

    /// Starts another process beside, of this build; calls of the API go to it from now on.
    async fn beside(&mut self) -> Process {
        let ground = &mut self.stack.ground;
        env!("CARGO_BIN_EXE_chatkeep").clone_into(&mut ground.binary);
        (ground.address, ground.metrics) = (ports::free(), ports::free());
        self.folder = Some(std::mem::replace(&mut ground.folder, scratch::folder("beside-")));
        ground.serve(&self.stack.line).await
    }

    /// Waits until every message is stored as it was last seen by people, and answered once.
    async fn nothing_is_lost(&self, when: &str) {
        let what = format!("everything is stored and answered {when}");
        until(&what, 2 * DEADLINE, async || {
            let stored = self.stack.messages(&self.channel).await;
            let content = |message: &Value| {
                let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
                (text("id"), text("content"))
            };
            let by_id: BTreeMap<_, _> = stored.iter().map(content).collect();
            let kept = self.said.iter().all(|(id, text)| by_id.get(id) == Some(text));
            let answers = by_id.values().filter(|text| *text == "9-18").count();
            let regrets = by_id.values().any(|text| text == "taken back");
            assert_eq!(by_id.len(), stored.len(), "a message is there twice");
            assert!(answers <= self.questions, "a question was answered twice");
            kept && !regrets && answers == self.questions
        })
        .await;
        self.stack.drained().await;
    }

    /// Returns the document of an export once it is completed.
    async fn document(&self, path: &str) -> Option<String> {
        let url = format!("http://{}/api{path}", self.stack.ground.address);
        let asked = http::client(DEADLINE).get(url).bearer_auth(self.stack.key()).send().await;
        let answer = asked.unwrap();
        // One that goes out of date while it is sent breaks off.
        if answer.status().is_success() { answer.text().await.ok() } else { None }
    }

    /// Has a message edited and unsent that has an earlier text and is in an export: both follow,
    /// whichever process receives it and whichever is asked.
    async fn exports_follow(&self, when: &str) {
        let backup = format!("/channels/{}/backup", self.channel);
        self.stack.put(&format!("{backup}/config"), json!({"keepEarlierTexts": true})).await;
        let (was, is) = (format!("as it was, {when}"), format!("as it is, {when}"));
        let said = self.stack.line.say(&self.channel, &self.people[0], was.as_str()).await.unwrap();
        let id = said.message_id().unwrap();
        let message = format!("{backup}/messages/{id}");
        let content = async || {
            let (_, message) = self.stack.call(Method::GET, &message, None).await;
            message["content"].as_str().unwrap_or_default().to_owned()
        };
        until("the message is stored", DEADLINE, async || content().await == was).await;
        let export = json!({"format": "jsonl"});
        let export = self.stack.post(&format!("{backup}/exports"), export).await;
        let document = format!("{backup}/exports/{}/document", export["id"].as_str().unwrap());
        let has = async |text: &str| {
            self.document(&document).await.map(|document| document.contains(text))
        };
        until("the export is completed", DEADLINE, async || has(&was).await == Some(true)).await;
        self.stack.line.edit(id, is.as_str()).await.unwrap();
        until("the edit is stored", DEADLINE, async || content().await == is).await;
        assert_ne!(has(&is).await, Some(false), "{when}: it is sent as it was");
        until("it is written again", DEADLINE, async || has(&is).await == Some(true)).await;
        let shown = self.stack.get(&message).await;
        assert_eq!(shown["earlierTexts"][0]["content"], was, "{when}");
        self.stack.line.unsend(id).await.unwrap();
        until("the unsend is stored", DEADLINE, async || content().await.is_empty()).await;
        for text in [&was, &is] {
            assert_ne!(has(text).await, Some(true), "{when}: what was unsent is sent");
        }
        until("it is written without", DEADLINE, async || has(&is).await == Some(false)).await;
    }

    fn sends_to(&self, address: std::net::SocketAddr) {
        self.stack.line.set_webhook_url(Some(format!("http://{address}/webhook/line")));
    }
}

/// Returns how many events the stages of a process have handled.
async fn handled(metrics: std::net::SocketAddr) -> f64 {
    let answer = http::client(DEADLINE).get(format!("http://{metrics}/metrics")).send().await;
    let text = answer.unwrap().text().await.unwrap();
    let counts = text.lines().filter(|line| line.starts_with("chatkeep_events_total{"));
    counts.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Returns the schema of a database, found and known.
async fn schema(url: &str) -> (i64, i64) {
    let url = Database::Postgres(url.to_owned().into());
    let state = Store::schema_state(&url, Path::new("")).await.unwrap();
    (state.found.unwrap(), state.known)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a program of an earlier commit: tests/updates/beside"]
async fn processes_of_an_earlier_build_are_replaced_one_by_one() {
    let earlier = std::env::var("CHATKEEP_TEST_EARLIER").unwrap();
    let mut moving = Replacement::start(&earlier).await;
    let url = moving.stack.ground.database.as_ref().unwrap().url();
    let (address, metrics) = (moving.stack.ground.address, moving.stack.ground.metrics);
    let (before, known) = schema(&url).await;
    eprintln!("the earlier build made schema {before}; this one knows {known}");
    moving.talk("before").await;

    // What the earlier build has in hand by now, it stores into the new schema.
    let beside = moving.beside().await;
    assert_eq!(schema(&url).await, (known, known));
    let after = handled(metrics).await;
    moving.talk("both, received by the earlier build").await;
    moving.sends_to(moving.stack.ground.address);
    moving.talk("both, received by this build").await;
    moving.nothing_is_lost("by both").await;
    if before >= EXPORTS {
        moving.exports_follow("received by this build").await;
        moving.sends_to(address);
        moving.exports_follow("received by the earlier build").await;
        moving.sends_to(moving.stack.ground.address);
    }
    let (old, new) = (handled(metrics).await - after, handled(moving.stack.ground.metrics).await);
    eprintln!("events on the new schema: {old} by the earlier build, {new} by this one");
    assert!(old > 0.0 && new > 0.0, "one of them did nothing: {old}, {new}");

    // The same through the API of the earlier build, which goes on to take changes.
    let own = std::mem::replace(&mut moving.stack.ground.address, address);
    moving.nothing_is_lost("for the earlier build").await;
    let rule = json!({"keywords": ["late"], "question": "", "answer": "yes"});
    let rules = format!("/channels/{}/assistant/qa", moving.channel);
    moving.stack.post(&rules, rule).await;
    let seen = moving.stack.messages(&moving.channel).await;
    moving.stack.ground.address = own;
    assert_eq!(seen.len(), moving.stack.messages(&moving.channel).await.len());

    moving.stack.process.terminate().await;
    let log = moving.stack.process.stderr().join("\n");
    assert!(!log.contains(" ERROR "), "the earlier build logged an error:\n{log}");
    moving.stack.process = beside;
    moving.talk("after").await;
    moving.nothing_is_lost("after the replacement").await;
    moving.exports_follow("after the replacement").await;
    let letters = moving.stack.ground.command(&moving.stack.line, &["dead", "list"]).await;
    assert!(!letters.contains("event.") && !letters.contains("job."), "{letters}");
    moving.stack.is_well().await;
    assert!(moving.stack.line.violations().is_empty(), "{:?}", moving.stack.line.violations());
}
