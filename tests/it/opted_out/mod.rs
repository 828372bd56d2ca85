//! Opting out through the whole program, nothing kept, exported or shown: random conversations of
//! people who opted out, take their words back, are erased, or come back, and none of that on any
//! surface, while the words of others are all there.

mod surfaces;
mod talk;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_store::{NewKey, NewSession, SignedIn, Store};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::talk::{Act, FATES, Fate, Talk};
use crate::harness::wait::until;
use crate::harness::{files, http, scratch};
use crate::hooks::sink::Sink;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};
use crate::store::unbounded_key;

/// Part of everything that is kept by nobody and told to nobody.
const NEVER: &str = "xq7never";
/// Part of everything that is kept until it is taken back or erased.
const GONE: &str = "xq8gone";
/// Part of everything that stays, unless a script takes it back.
const SHOWN: &str = "ok7shown";
/// Number of conversations on SQLite, each with its own random script.
const SEEDS: usize = 12;
/// Number of deeds of a conversation.
const LENGTH: usize = 30;

/// The program with its conversations.
struct World {
    stack: Stack,
    sink: Sink,
    talks: Vec<Talk>,
    /// Folder of the snapshots.
    snapshots: TempDir,
    /// Snapshots of SQLite, the first from before anything is taken back or erased.
    made: Vec<String>,
}

impl World {
    async fn new(parts: Parts, seeds: usize) -> Self {
        let mut ground = TestEnv::new(parts).await;
        ground.settings.push(("CHATKEEP_WEBHOOKS_ALLOW_PRIVATE", "true".to_owned()));
        ground.settings.push(("CHATKEEP_LOG_FILTER", "debug".to_owned()));
        let snapshots = scratch::folder("snapshots-");
        let target = snapshots.path().display().to_string();
        ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", target));
        let stack = Stack::on(ground, emulator().await).await;
        let sink = Sink::start().await;
        let mut world = Self { stack, sink, talks: Vec::new(), snapshots, made: Vec::new() };
        for seed in 0..seeds {
            let talk = world.begin(seed).await;
            world.talks.push(talk);
        }
        world
    }

    /// Begins a conversation: half of those who opt out do so of all channels.
    async fn begin(&mut self, seed: usize) -> Talk {
        let (chat, mut people) = group(&mut self.stack).await;
        let channel = chat.chat_id;
        let more = ["Erased", "Back"].map(|name| self.stack.line.add_user(name, None));
        let ids = more.each_ref().map(|user| user.user_id.as_str());
        self.stack.line.members_join(&channel, &ids).await.unwrap();
        people.extend(more);
        let store = self.stack.ground.store().await;
        let now = SystemClock.now();
        let session = format!("session-{seed}");
        let secret = secret(seed);
        let session = NewSession { id: &session.into(), secret: &secret, csrf: "csrf" };
        let owner = UserId::from(people[0].user_id.as_str());
        let person = SignedIn { user: &owner, display_name: None, picture_url: None };
        store.sessions().sign_in(&person, &session, now).await.unwrap();
        let events = json!([
            "message.received",
            "message.edited",
            "message.unsent",
            "file.uploaded",
            "member.joined",
            "member.left"
        ]);
        let webhook = json!({"url": self.sink.url("/all"), "events": events});
        self.stack.post("/webhooks", webhook).await;
        let (news, url) = (Arc::default(), self.url(&format!("/c/{channel}/news")));
        let reader = tokio::spawn(follow(url, cookie(seed), Arc::clone(&news)));
        let talk = Talk {
            seed,
            key: self.stack.key().to_owned(),
            people,
            words: 0,
            last: vec![None; FATES.len()],
            taken_back: Vec::new(),
            gone: Vec::new(),
            earlier: Vec::new(),
            stay: HashSet::new(),
            missing: 0,
            news,
            reader,
            channel,
        };
        for fate in [Fate::OptedOut, Fate::Returned] {
            set_opted_out(&store, &talk, fate, true).await;
        }
        let (channel, keeps) = (ChannelId::from(talk.channel.as_str()), talk.keeps_earlier_texts());
        store.channels().set_earlier_texts(&channel, keeps, &owner, now).await.unwrap();
        store.close().await;
        talk
    }

    /// Lets everybody act as the script of their conversation says, and then takes back and erases.
    async fn play(&mut self) {
        let acts = prop::sample::select(vec![
            Act::Say,
            Act::Ask,
            Act::Quote,
            Act::Mention,
            Act::Edit,
            Act::Unsend,
            Act::File,
            Act::Place,
            Act::NewType,
            Act::Broken,
        ]);
        let script = prop::collection::vec((0..FATES.len(), acts), LENGTH);
        let mut random = TestRunner::deterministic();
        let mut talks = std::mem::take(&mut self.talks);
        let store = self.stack.ground.store().await;
        for talk in &mut talks {
            let script = script.new_tree(&mut random).unwrap().current();
            let (before, after) = script.split_at(LENGTH / 2);
            for one in before {
                talk.act(&self.stack, *one, false).await;
            }
            set_opted_out(&store, talk, Fate::Returned, false).await;
            for one in after {
                talk.act(&self.stack, *one, true).await;
            }
        }
        store.close().await;
        self.talks = talks;
        self.stack.drained().await;
        self.snapshot().await;
        self.take_back().await;
    }

    /// Takes back and erases what is to be gone in the end.
    async fn take_back(&mut self) {
        let mut talks = std::mem::take(&mut self.talks);
        for talk in &mut talks {
            for id in std::mem::take(&mut talk.taken_back) {
                // Some are unsent already.
                drop(self.stack.line.unsend(&id).await);
            }
            self.stack.use_key(&talk.key);
            let erased = talk.user(Fate::Erased);
            let path = format!("/channels/{}/members/{erased}/data", talk.channel);
            let (status, body) = self.stack.call(Method::DELETE, &path, None).await;
            assert!(status.is_success(), "{status} {body}");
        }
        self.talks = talks;
        self.stack.drained().await;
    }

    /// Checks that what others said is there, and that the rest is counted.
    async fn others_are_kept(&mut self) {
        for talk in &self.talks {
            self.stack.use_key(&talk.key);
            let messages = self.stack.messages(&talk.channel).await;
            let stay = messages.iter().filter(|message| {
                let sender = message["sender"]["userId"].as_str().unwrap_or_default();
                let of_others = talk.user(Fate::Erased).as_str() != sender;
                message["unsentAt"].is_null() && message["isBot"] == json!(false) && of_others
            });
            let stay: HashSet<_> =
                stay.map(|message| message["id"].as_str().unwrap().to_owned()).collect();
            // Ann spoke before anybody subscribed, which is not kept.
            assert_eq!(stay, talk.stay, "conversation {}", talk.seed);
            let coverage = format!("/channels/{}/backup/coverage", talk.channel);
            let gaps = self.stack.get(&coverage).await["gaps"].clone();
            let gaps = gaps.as_array().unwrap().iter().filter(|gap| gap["reason"] == "opted_out");
            let missing: i64 = gaps.map(|gap| gap["skipped"].as_i64().unwrap()).sum();
            assert_eq!(missing, talk.missing, "what is missing in {} is counted", talk.seed);
        }
    }

    /// Makes a snapshot of a database that is a file, once nothing of what is not kept waits for
    /// anything.
    async fn snapshot(&mut self) {
        if self.stack.ground.database.is_some() {
            return;
        }
        self.holds_none(&[NEVER.to_owned()]).await;
        let made = self.stack.ground.command(&self.stack.line, &["snapshot", "create"]).await;
        self.made.push(made);
    }

    /// Waits until no file of the data folder holds one of these words. Files are swept periodically,
    /// and whenever the program starts: bus, database and media.
    async fn holds_none(&mut self, words: &[String]) {
        self.stack.crash().await;
        for talk in &mut self.talks {
            let url = format!("http://{}/c/{}/news", self.stack.ground.address, talk.channel);
            let news = follow(url, cookie(talk.seed), Arc::clone(&talk.news));
            std::mem::replace(&mut talk.reader, tokio::spawn(news)).abort();
        }
        self.stack.drained().await;
        until("no file holds it", DEADLINE, async || {
            leaks(self.stack.ground.folder.path(), words).is_empty()
        })
        .await;
    }

    /// Restores every snapshot, each into a folder of its own, and checks what it has, before a
    /// service is started on it and after.
    async fn restored(&mut self) {
        let words = self.all_gone();
        assert!(self.stack.process.terminate().await.success());
        for (number, made) in self.made.clone().iter().enumerate() {
            let folder = self.snapshots.path().with_extension(format!("restored-{number}"));
            let into = folder.display().to_string();
            let restore = ["snapshot", "restore", made, "--into", &into];
            self.stack.ground.command(&self.stack.line, &restore).await;
            assert_eq!(leaks(&folder, &words), Vec::<String>::new(), "{made}");
            self.stack.ground.settings.push(("CHATKEEP_DATA", into));
            self.stack.process = self.stack.ground.serve(&self.stack.line).await;
            self.stack.drained().await;
            self.others_are_kept().await;
            assert!(!leaks(&folder, &[SHOWN.to_owned()]).is_empty());
            assert!(self.stack.process.terminate().await.success());
            assert_eq!(leaks(&folder, &words), Vec::<String>::new(), "{made}");
            std::fs::remove_dir_all(folder).unwrap();
        }
        // Messages that were taken back later are in the first one until it is removed.
        let never = [NEVER.to_owned()];
        assert_eq!(leaks(self.snapshots.path(), &never), Vec::<String>::new());
    }

    fn all_gone(&self) -> Vec<String> {
        let gone = self.talks.iter().flat_map(|talk| talk.gone.iter().cloned());
        gone.chain([NEVER.to_owned(), GONE.to_owned()]).collect()
    }
}

/// Returns the secret of the session of a conversation's owner.
fn secret(seed: usize) -> String {
    format!("secret-of-the-owner-{seed:02}-0123456789012345678901234567890123456789")
}

fn cookie(seed: usize) -> String {
    format!("chatkeep_session={}", secret(seed))
}

/// Gathers what a page is told while it is open.
async fn follow(url: String, cookie: String, news: Arc<Mutex<String>>) {
    let request = http::client(DEADLINE * 10).get(url).header("cookie", cookie);
    let Ok(mut answer) = request.send().await else { return };
    while let Ok(Some(chunk)) = answer.chunk().await {
        news.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk));
    }
}

/// Opts a person of a conversation out, or in again, and waits until no message is of that moment.
async fn set_opted_out(store: &Store, talk: &Talk, fate: Fate, opted_out: bool) {
    let (user, channel) = (talk.user(fate), ChannelId::from(talk.channel.as_str()));
    let only = talk.seed.is_multiple_of(2).then_some(&channel);
    let before = SystemClock.now();
    while SystemClock.now() == before {
        tokio::task::yield_now().await;
    }
    let now = SystemClock.now();
    store.members().set_opted_out(&user, only, opted_out, || now).await.unwrap();
}

/// Returns the files that contain one of these words.
fn leaks(folder: &Path, words: &[String]) -> Vec<String> {
    let found = files::holding_any(folder, words).into_iter();
    found.map(|(path, word)| format!("{}: {}", words[word], path.display())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_to_be_kept_is_on_no_surface_and_in_no_file() {
    let mut world = World::new(Parts::Embedded, SEEDS).await;
    world.play().await;
    world.others_are_kept().await;
    world.nothing_is_shown().await;
    world.holds_none(&world.all_gone()).await;
    assert!(!leaks(world.stack.ground.folder.path(), &[SHOWN.to_owned()]).is_empty());
    world.stack.is_well().await;
    world.snapshot().await;
    world.restored().await;
    for talk in &world.talks {
        talk.reader.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_to_be_kept_is_in_no_row_and_on_no_surface() {
    let mut world = World::new(Parts::Servers, 4).await;
    world.play().await;
    world.others_are_kept().await;
    world.nothing_is_shown().await;
    let database = world.stack.ground.database.as_ref().unwrap();
    let tables =
        database.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").await;
    let tables: Vec<_> = tables.lines().collect();
    assert!(tables.contains(&"messages"), "{tables:?}");
    let held = async |table: &str, words: &[String]| {
        let words = words.join("'), ('");
        let held = format!(
            "SELECT DISTINCT word FROM {table}, (VALUES ('{words}')) AS words (word)
             WHERE strpos({table}::text, word) > 0"
        );
        database.query(&held).await
    };
    let gone = world.all_gone();
    for table in &tables {
        assert_eq!(held(table, &gone).await, "", "in {table}");
    }
    assert_eq!(held("messages", &[NEVER.to_owned(), SHOWN.to_owned()]).await, SHOWN);
    for talk in &world.talks {
        talk.reader.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opting_out_takes_membership_and_the_scope() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (chat, people) = group(&mut stack).await;
    let path = format!("/me/channels/{}/backup", chat.chat_id);
    let stranger = stack.line.add_user("Stranger", None).user_id;
    stack.act_as(&stranger).await;
    let (status, body) = stack.call(Method::PUT, &path, Some(json!({"kept": false}))).await;
    assert_eq!((status.as_u16(), &body["error"]), (403, &Value::from("Permission denied")));
    let member = people[1].user_id.clone();
    stack.act_as(&member).await;
    for kept in [false, true] {
        let own = json!({"kept": kept});
        until("the person is known", DEADLINE, async || {
            stack.call(Method::PUT, &path, Some(own.clone())).await == (StatusCode::OK, own.clone())
        })
        .await;
    }
    let store = stack.ground.store().await;
    let (id, user) = ("key_reads".into(), UserId::from(member.as_str()));
    let scopes = &[Scope::ReadMessages];
    let key = NewKey { scopes, ..unbounded_key(&id, "ck_reads", &user) };
    assert!(store.keys().add_key(&key, SystemClock.now()).await.unwrap().is_some());
    stack.use_key("ck_reads");
    let (status, _) = stack.call(Method::PUT, &path, Some(json!({"kept": false}))).await;
    assert_eq!(status.as_u16(), 403);
}
