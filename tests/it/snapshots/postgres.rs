//! Snapshots beside a dump of PostgreSQL: files and erasures.

use std::fs;
use std::path::PathBuf;

use chatkeep_core::config::Database;
use chatkeep_emulator::{Chat, Media, Post, User};
use chatkeep_store::Store;
use reqwest::{Method, StatusCode};

use super::DEADLINE;
use super::surviving::name;
use crate::harness::files::{below, holding};
use crate::harness::postgres::{Postgres, TestDb};
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{Parts, Stack, TestEnv};

/// Subscribed group with a service on servers, and a folder for its snapshots.
struct ServerScene {
    stack: Stack,
    group: Chat,
    people: Vec<User>,
    blobs: PathBuf,
}

impl ServerScene {
    async fn new() -> Self {
        let mut ground = TestEnv::new(Parts::Servers).await;
        let target = ground.folder.path().join("snapshots").display().to_string();
        let blobs = ground.folder.path().join("blobs");
        ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", target));
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        Self { stack, group, people, blobs }
    }

    async fn send(&self, content: &[u8]) {
        let (chat, user) = (&self.group.chat_id, &self.people[1].user_id);
        let media = Media::new("application/pdf", content.to_vec());
        let post = Post::File(media, "a.pdf".to_owned());
        self.stack.line.post_message(chat, user, post).await.unwrap();
        self.stack.drained().await;
    }

    async fn say(&self, text: &str) -> String {
        let (chat, user) = (&self.group.chat_id, &self.people[1].user_id);
        let told = self.stack.line.say(chat, user, text).await.unwrap();
        self.stack.drained().await;
        told.message_id().unwrap().to_owned()
    }

    fn database(&self) -> &TestDb {
        self.stack.ground.database.as_ref().unwrap()
    }

    /// Ends the service, and loads a dump into a new database, which is that of the settings from
    /// then on.
    async fn load(&mut self, dump: &[u8]) {
        assert!(self.stack.process.terminate().await.success());
        let database = Postgres::database().await;
        database.load(dump).await;
        self.stack.ground.database = Some(database);
    }

    /// Returns the stored content of a message, `none` for NULL.
    async fn content(&self, id: &str) -> String {
        let content = format!(
            "SELECT COALESCE(MAX(content), 'none') FROM messages WHERE message_id = '{id}'"
        );
        self.database().query(&content).await
    }

    async fn count(&self) -> String {
        self.database().query("SELECT COUNT(*) FROM messages").await
    }

    /// Waits until one message with that word is found.
    async fn finds(&self, word: &str) {
        let path = format!("/channels/{}/backup/search?q={word}", self.group.chat_id);
        // While the index is built, a search is refused.
        let call = async || self.stack.call(Method::GET, &path, None).await;
        let found = async || matches!(call().await, (StatusCode::OK, page) if page["total"] == 1);
        until(word, DEADLINE, found).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_erasures_are_restored_beside_a_dump() {
    let mut scene = ServerScene::new().await;
    scene.send(&[3; 9_000]).await;
    let regret = scene.say("a regret").await;
    let kept = scene.say("a promise").await;
    let dump = scene.database().dump().await;
    let count = scene.count().await;
    let created = scene.stack.ground.said(&scene.stack.line, &["snapshot", "create"]).await;
    assert!(created.contains("make a dump of PostgreSQL beside it"), "{created}");
    let restore = ["snapshot", "restore", "latest"];
    let mut refused = scene.stack.ground.program(&scene.stack.line, &restore).start();
    assert_eq!(refused.finish().await.code(), Some(1));
    let said = refused.stderr().join("\n");
    assert!(said.contains("1 processes use this database: stop them first"), "{said}");

    // Taken back and said after the dump.
    scene.stack.line.unsend(&regret).await.unwrap();
    scene.say("too late for the dump").await;
    scene.stack.ground.command(&scene.stack.line, &["snapshot", "create"]).await;
    scene.load(&dump).await;
    assert!(scene.content(&regret).await.contains("a regret"), "the dump is of before");
    fs::remove_dir_all(&scene.blobs).unwrap();
    let said = scene.stack.ground.said(&scene.stack.line, &restore).await;
    assert!(said.contains("1 files"), "{said}");
    assert!(said.contains("1 erasures made after this snapshot were repeated"), "{said}");
    assert_eq!(scene.count().await, count);
    assert_eq!(scene.content(&regret).await, "none");
    assert!(scene.content(&kept).await.contains("a promise"));
    assert_eq!(holding(&scene.blobs, &[3; 9_000]).len(), 1);
    // The search index is that of the former database; a service would rebuild it.
    fs::remove_dir_all(scene.stack.ground.folder.path().join("index")).unwrap();
    let doctor = scene.stack.ground.said(&scene.stack.line, &["doctor", "--deep"]).await;
    assert!(doctor.contains("no differences"), "{doctor}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_surviving_media_store_may_know_more_than_the_dump() {
    let mut scene = ServerScene::new().await;
    let lost = &b"gone before the snapshot"[..];
    scene.send(b"in the dump").await;
    scene.send(lost).await;
    fs::remove_file(holding(&scene.blobs, lost).pop().unwrap()).unwrap();
    let dump = scene.database().dump().await;
    scene.stack.ground.command(&scene.stack.line, &["snapshot", "create"]).await;
    let later = &b"after the dump"[..];
    scene.send(later).await;
    scene.load(&dump).await;
    let restore = ["snapshot", "restore", "latest"];
    let said = scene.stack.ground.said(&scene.stack.line, &restore).await;
    assert!(said.contains("1 files are not in the snapshot"), "{said}");
    assert_eq!(holding(&scene.blobs, later).len(), 1, "{:?}", below(&scene.blobs));
    let url = Database::Postgres(scene.database().url().into());
    let store = Store::open(&url, &scene.blobs, 1).await.unwrap();
    let names = [name(later)].into();
    let unheld = store.audits().unreferenced_blobs(&names).await.unwrap();
    assert_eq!(unheld, names, "it is not marked for the sweep");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_found_is_what_the_dump_has() {
    let mut scene = ServerScene::new().await;
    let id = scene.say("an alpaca").await;
    scene.finds("alpaca").await;
    let recorded = "SELECT COUNT(bus_handled_until) FROM deployment";
    let is_recorded = async || scene.database().query(recorded).await == "1";
    until("the state of the bus is recorded", DEADLINE, is_recorded).await;
    let dump = scene.database().dump().await;
    scene.stack.ground.command(&scene.stack.line, &["snapshot", "create"]).await;
    // The search index of this process knows it, and lies beside the database.
    scene.stack.line.edit(&id, "a zebra").await.unwrap();
    scene.finds("zebra").await;
    scene.load(&dump).await;
    scene.stack.ground.command(&scene.stack.line, &["snapshot", "restore", "latest"]).await;
    scene.stack.process = scene.stack.ground.serve(&scene.stack.line).await;
    scene.finds("alpaca").await;
    // That the edit is missing is told, however short a time has passed.
    let path = format!("/channels/{}/backup/coverage", scene.group.chat_id);
    let outages = async || {
        let coverage = scene.stack.get(&path).await;
        let gaps = coverage["gaps"].as_array().unwrap();
        gaps.iter().filter(|gap| gap["reason"] == "outage").count()
    };
    until("the outage is told once", DEADLINE, async || outages().await == 1).await;
}
