//! Snapshots: made while the service runs, checked, restored; damaged, encrypted, pruned, killed.

mod damage;
mod kills;
mod postgres;
mod restore;
mod schedule;
mod surviving;
mod unmounted;

use std::path::{Path, PathBuf};

use chatkeep_emulator::{Chat, Media, Post, User};
use serde_json::Value;

use crate::harness::process::Program;
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Subscribed group with a service, and a place for its snapshots.
struct Scene {
    stack: Stack,
    group: Chat,
    people: Vec<User>,
    /// Server of the place, where that is a bucket.
    s3: Option<S3>,
}

impl Scene {
    /// Starts a service whose snapshots go to a folder.
    async fn new(settings: &[(&'static str, String)]) -> Self {
        Self::with(None, settings).await
    }

    /// Starts a service whose snapshots go to a bucket. Files of messages stay in the data folder.
    async fn in_bucket() -> Self {
        let s3 = S3::start();
        let settings: Vec<_> = s3
            .environment()
            .into_iter()
            .map(|(name, value)| match name {
                "CHATKEEP_BLOBS" => ("CHATKEEP_SNAPSHOT_TARGET", format!("{value}/snapshots")),
                name => (name, value),
            })
            .collect();
        Self::with(Some(s3), &settings).await
    }

    async fn with(s3: Option<S3>, settings: &[(&'static str, String)]) -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        if s3.is_none() {
            let target = ground.folder.path().with_extension("snapshots").display().to_string();
            ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", target));
        }
        ground.settings.extend_from_slice(settings);
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        Self { stack, group, people, s3 }
    }

    /// Returns the folder of the snapshots.
    fn target(&self) -> PathBuf {
        self.stack.ground.folder.path().with_extension("snapshots")
    }

    /// Says something, and returns its id once it is stored.
    async fn say(&self, text: &str) -> String {
        let (chat, user) = (&self.group.chat_id, &self.people[1].user_id);
        let told = self.stack.line.say(chat, user, text).await.unwrap();
        let id = told.message_id().unwrap().to_owned();
        until("it is stored", DEADLINE, async || self.message(&id).await.is_some()).await;
        id
    }

    /// Sends a file, and returns the id of its message once the file is stored.
    async fn send(&self, content: &[u8]) -> String {
        let (chat, user) = (&self.group.chat_id, &self.people[1].user_id);
        let media = Media::new("application/pdf", content.to_vec());
        let post = Post::File(media, "notes.pdf".to_owned());
        let told = self.stack.line.post_message(chat, user, post).await.unwrap();
        let id = told.message_id().unwrap().to_owned();
        let stored = async || {
            self.message(&id).await.is_some_and(|message| message["mediaStatus"] == "stored")
        };
        until("the file is stored", DEADLINE, stored).await;
        id
    }

    async fn message(&self, id: &str) -> Option<Value> {
        let path = format!("/channels/{}/backup/messages/{id}", self.group.chat_id);
        let (status, body) = self.stack.call(reqwest::Method::GET, &path, None).await;
        status.is_success().then_some(body)
    }

    /// Returns the events of the feed after a cursor, or all of them, and the cursor after them.
    async fn events(&self, after: Option<&str>) -> (Vec<Value>, String) {
        let (mut events, mut cursor) = (Vec::new(), after.map(str::to_owned));
        loop {
            let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let page = self.stack.get(&format!("/events?limit=100{after}")).await;
            events.extend(page["events"].as_array().unwrap().iter().cloned());
            let next = page["nextCursor"].as_str().unwrap().to_owned();
            if page["hasMore"] == false {
                return (events, next);
            }
            cursor = Some(next);
        }
    }

    /// Takes a message back, and waits until it is erased.
    async fn unsend(&self, id: &str) {
        self.stack.line.unsend(id).await.unwrap();
        let gone =
            async || self.message(id).await.is_none_or(|message| !message["unsentAt"].is_null());
        until("it is erased", DEADLINE, gone).await;
    }

    /// Makes a snapshot, and returns its id.
    async fn snapshot(&self) -> String {
        self.stack.ground.command(&self.stack.line, &["snapshot", "create"]).await
    }

    /// Returns the program with these arguments, not started yet.
    fn program(&self, args: &[&str]) -> Program {
        self.stack.ground.program(&self.stack.line, args)
    }

    /// Runs a command, and returns its exit code with all it said.
    async fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut process = self.program(args).start();
        let code = process.finish().await.code();
        (code, [process.stdout(), process.stderr()].concat().join("\n"))
    }

    /// Restores a snapshot into a new folder, and returns what was said.
    async fn restore(&self, id: &str, into: &Path, more: &[&str]) -> String {
        let into = into.display().to_string();
        let args: Vec<_> =
            ["snapshot", "restore", id, "--into", &into].iter().chain(more).copied().collect();
        let (code, said) = self.run(&args).await;
        assert_eq!(code, Some(0), "{said}");
        said
    }

    /// Ends the service, and starts it again.
    async fn restart(&mut self) {
        assert!(self.stack.process.terminate().await.success());
        self.stack.process = self.stack.ground.serve(&self.stack.line).await;
    }

    /// Ends the service, and starts it on another data folder.
    async fn move_to(mut self, folder: &Path) -> Self {
        let data = folder.display().to_string();
        self.stack.ground.settings.push(("CHATKEEP_DATA", data));
        self.restart().await;
        self
    }

    /// Returns a path for a restoration.
    fn new_folder(&self, name: &str) -> PathBuf {
        self.stack.ground.folder.path().with_extension(name)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // They lie beside the folder of the test.
        let folder = self.stack.ground.folder.path();
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else { return };
        let name = name.to_string_lossy().into_owned();
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let beside = entry.file_name().to_string_lossy().starts_with(&format!("{name}."));
            if beside {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}
