//! A disk with media files that is not mounted, or was replaced: no file is given up, and none is
//! deleted once it is back.

use std::fs;
use std::path::{Path, PathBuf};

use chatkeep_emulator::{Media, Post};

use super::{Ended, doctor};
use crate::harness::files::{below, holding};
use crate::harness::http;
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Contents of the files that people sent.
const FILES: [&[u8]; 3] = [b"the plans", b"the minutes", b"the accounts"];

/// Group with three stored files, whose service has ended.
struct Scene {
    stack: Stack,
    channel: String,
    /// Ids of the messages with the files.
    messages: Vec<String>,
    /// Folder of the files.
    media: PathBuf,
}

impl Scene {
    async fn new(parts: Parts) -> Self {
        let mut ground = TestEnv::new(parts).await;
        let media = ground.folder.path().canonicalize().unwrap().join("media");
        ground.settings.push(("CHATKEEP_BLOBS", media.display().to_string()));
        let mut stack = Stack::on(ground, emulator().await).await;
        let (chat, people) = group(&mut stack).await;
        let mut messages = Vec::new();
        for content in FILES {
            let file = Media::new("application/pdf", content.to_vec());
            let post = Post::File(file, "notes.pdf".to_owned());
            let sender = &people[1].user_id;
            let told = stack.line.post_message(&chat.chat_id, sender, post).await.unwrap();
            messages.push(told.message_id().unwrap().to_owned());
        }
        let mut scene = Self { stack, channel: chat.chat_id, messages, media };
        scene.have("stored").await;
        scene.stack.drained().await;
        scene.stop().await;
        scene
    }

    /// Waits until every file has that status.
    async fn have(&self, status: &str) {
        for id in &self.messages {
            let path = format!("/channels/{}/backup/messages/{id}", self.channel);
            let has = async || {
                let (code, message) = self.stack.call(reqwest::Method::GET, &path, None).await;
                code.is_success() && message["mediaStatus"] == status
            };
            until(&format!("{id} is {status}"), DEADLINE, has).await;
        }
    }

    async fn start(&mut self) {
        self.stack.process = self.stack.ground.serve(&self.stack.line).await;
    }

    async fn stop(&mut self) {
        assert!(self.stack.process.terminate().await.success());
    }

    /// Leaves an empty folder, as where a disk is not mounted. Returns where the files are.
    fn unmount(&self) -> PathBuf {
        let away = self.media.with_extension("away");
        fs::rename(&self.media, &away).unwrap();
        fs::create_dir(&self.media).unwrap();
        away
    }

    async fn run(&self, args: &[&str]) -> Ended {
        let mut process = self.stack.ground.program(&self.stack.line, args).start();
        let code = process.finish().await.code();
        Ended { code, printed: process.stdout(), said: process.stderr().join("\n") }
    }

    /// Waits until the service has looked for orphaned files.
    async fn swept(&self) {
        let line = r#"chatkeep_job_runs_total{name="orphan_sweep"} "#;
        let swept = async || self.stack.metrics().await.lines().any(|one| one.starts_with(line));
        until("orphans are swept", DEADLINE, swept).await;
    }

    fn has_all_files(&self) -> bool {
        FILES.iter().all(|content| holding(&self.media, content).len() == 1)
    }

    async fn recorded(&self) -> Option<String> {
        let store = self.stack.ground.store().await;
        let recorded = store.media().recorded_identity().await.unwrap();
        store.close().await;
        recorded
    }
}

/// Returns the identity of the media store in a folder.
fn identity(folder: &Path) -> String {
    fs::read_to_string(folder.join("media-store.id")).unwrap()
}

async fn nothing_works_without_the_files(parts: Parts) {
    let mut scene = Scene::new(parts).await;
    let id = identity(&scene.media);
    assert_eq!(scene.recorded().await.as_ref(), Some(&id));
    let away = scene.unmount();
    let (folder, place) = (scene.media.display(), scene.stack.ground.folder.path());
    let export = place.join("export.zip").display().to_string();
    let target = place.join("snapshots").display().to_string();
    let commands: [(&[&str], i32); 6] = [
        (&["doctor"], 2),
        (&["doctor", "--repair"], 2),
        (&["doctor", "--repair", "--deep", "--channel", &scene.channel], 2),
        (&["export", "--channel", &scene.channel, "--out", &export], 2),
        (&["snapshot", "create", "--target", &target], 1),
        (&["serve"], 2),
    ];
    for (args, code) in commands {
        let refused = scene.run(args).await;
        refused.is(code);
        let store = format!("{folder} does not seem to have the files of this database");
        assert!(refused.said.contains(&store), "{args:?}: {}", refused.said);
        let named = format!("it has no media-store.id, and that of the files is {id}. Mount it");
        assert!(refused.said.contains(&named), "{args:?}: {}", refused.said);
        assert!(refused.said.contains("chatkeep doctor --new-media-store"), "{}", refused.said);
    }
    assert_eq!(below(&scene.media), [] as [PathBuf; 0], "nothing is written there");

    // Another disk.
    fs::write(scene.media.join("media-store.id"), "another").unwrap();
    let refused = scene.run(&["serve"]).await;
    refused.is(2);
    let named = format!("its media-store.id is another, and that of the files is {id}");
    assert!(refused.said.contains(&named), "{}", refused.said);
    fs::remove_dir_all(&scene.media).unwrap();

    fs::rename(away, &scene.media).unwrap();
    scene.start().await;
    scene.swept().await;
    scene.have("stored").await;
    assert!(scene.has_all_files());
    scene.stack.is_well().await;

    // A database of an earlier version records the media store that it is started with.
    scene.stop().await;
    scene.stack.ground.sql("UPDATE deployment SET media_store = NULL").await;
    let away = scene.unmount();
    doctor(&scene.stack, &["--repair"]).await.is(2);
    fs::remove_dir(&scene.media).unwrap();
    fs::rename(away, &scene.media).unwrap();
    scene.start().await;
    assert_eq!(scene.recorded().await, Some(id));
}

async fn a_new_media_store_is_taken_on_request(parts: Parts) {
    let mut scene = Scene::new(parts).await;
    let old = scene.unmount();
    let taken = doctor(&scene.stack, &["--new-media-store", "--repair"]).await;
    taken.is(0);
    let place = scene.media.display();
    let told = format!("{place} is the media store of this database from now on");
    assert!(taken.said.contains(&told), "{}", taken.said);
    let lost = taken.printed.iter().filter(|line| line.ends_with("no such file (repaired)"));
    assert_eq!(lost.count(), FILES.len(), "{:?}", taken.printed);
    let new = identity(&scene.media);
    assert_ne!(new, identity(&old));
    assert_eq!(scene.recorded().await, Some(new));
    scene.start().await;
    scene.have("failed").await;
    scene.swept().await;
    scene.stop().await;

    // Copied without their identity, the old files are held by their records, and found again.
    for file in below(&old).into_iter().filter(|file| !file.ends_with("media-store.id")) {
        let copy = scene.media.join(file.strip_prefix(&old).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&file, &copy).unwrap();
    }
    scene.start().await;
    scene.swept().await;
    assert!(scene.has_all_files());
    let found = doctor(&scene.stack, &[]).await;
    found.is(1);
    let again = found.printed.iter().filter(|line| line.contains("media file: recorded: lost, "));
    assert_eq!(again.count(), FILES.len(), "{:?}", found.printed);
    doctor(&scene.stack, &["--repair"]).await.is(0);
    scene.have("stored").await;
    scene.stack.is_well().await;
    scene.stop().await;
    scene.start().await;
    scene.swept().await;
    assert!(scene.has_all_files());
}

async fn files_of_another_database_are_not_deleted(parts: Parts) {
    let scene = Scene::new(parts).await;
    let mut new = TestEnv::new(parts).await;
    new.settings.push(("CHATKEEP_BLOBS", scene.media.display().to_string()));
    let run = async |args: &[&str], code: i32| {
        let mut process = new.program(&scene.stack.line, args).start();
        let ended = process.finish().await.code();
        let said = process.stderr().join("\n");
        assert_eq!(ended, Some(code), "{args:?}: {said}");
        said
    };
    let own = {
        let store = scene.stack.ground.store().await;
        let own = store.processes().store_id().await.unwrap();
        store.close().await;
        own
    };
    run(&["migrate"], 0).await;
    // Databases of tests are copies of one.
    new.sql("UPDATE deployment SET store_id = 'another'").await;
    for args in [&["serve"][..], &["doctor", "--repair"]] {
        let said = run(args, 2).await;
        let named = format!("belongs to another database: its media-store.owner is {own}");
        assert!(said.contains(&named), "{said}");
    }
    // The service of an earlier version took it over.
    fs::remove_file(scene.media.join("media-store.owner")).unwrap();
    let identity = identity(&scene.media);
    new.sql(&format!("UPDATE deployment SET media_store = '{identity}'")).await;
    let mut service = new.serve(&scene.stack.line).await;
    let warned = "this database knows none of them";
    assert!(service.stderr().iter().any(|line| line.contains(warned)));
    assert!(service.terminate().await.success());
    let said = run(&["doctor", "--repair"], 2).await;
    assert!(said.contains("files that this database does not know are left"), "{said}");
    assert!(scene.has_all_files());

    // On request it is that of the new one, and nobody else's.
    run(&["doctor", "--new-media-store"], 1).await;
    let refused = scene.run(&["serve"]).await;
    refused.is(2);
    assert!(refused.said.contains("belongs to another database"), "{}", refused.said);
    assert!(scene.has_all_files());
}

on_both!(
    nothing_works_without_the_files,
    a_new_media_store_is_taken_on_request,
    files_of_another_database_are_not_deleted
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_media_store_that_answers_late_is_told() {
    let scene = Scene::new(Parts::Embedded).await;
    let mut s3 = S3::start();
    s3.kill();
    let (mut program, address) = scene.stack.further(&["serve"]);
    for (name, value) in s3.environment() {
        program = program.env(name, value);
    }
    let mut process = program.start();
    process.ready(address, "/readyz").await;
    s3.restart();
    let client = http::client(DEADLINE);
    until("it is told", DEADLINE, async || {
        let answer = client.get(format!("http://{address}/readyz")).send().await.unwrap();
        answer.text().await.unwrap().contains("does not seem to have the files of this database")
    })
    .await;
    assert!(process.terminate().await.success());
    assert_eq!(scene.recorded().await, Some(identity(&scene.media)));
    assert_eq!(
        below(s3.folder()).iter().filter(|file| file.ends_with("media-store.id")).count(),
        0
    );
}
