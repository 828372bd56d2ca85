//! Snapshots beside a dump of PostgreSQL: files and erasures.

use crate::pipeline::conversation::{emulator, group};
use crate::stack::{Parts, Stack, TestEnv};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_erasures_are_restored_beside_a_database() {
    let mut ground = TestEnv::new(Parts::Servers).await;
    let target = ground.folder.path().join("snapshots").display().to_string();
    let blobs = ground.folder.path().join("blobs");
    ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", target));
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let media = chatkeep_emulator::Media::new("application/pdf", vec![3; 9_000]);
    let post = chatkeep_emulator::Post::File(media, "a.pdf".to_owned());
    stack.line.post_message(chat, user, post).await.unwrap();
    let regret = stack.line.say(chat, user, "a regret").await.unwrap();
    stack.kept(chat, 2).await;
    stack.drained().await;
    let created = stack.ground.said(&stack.line, &["snapshot", "create"]).await;
    assert!(created.contains("make a dump of PostgreSQL beside it"), "{created}");
    let restore = ["snapshot", "restore", "latest"];
    let mut refused = stack.ground.program(&stack.line, &restore).start();
    assert_eq!(refused.finish().await.code(), Some(1));
    let said = refused.stderr().join("\n");
    assert!(said.contains("1 processes use this database: stop them first"), "{said}");

    // What the dump has from before the message was taken back.
    let id = regret.message_id().unwrap();
    let before = format!("SELECT content FROM messages WHERE message_id = '{id}'");
    let database = stack.ground.database.as_ref().unwrap();
    assert!(database.query(&before).await.contains("a regret"));
    stack.line.unsend(id).await.unwrap();
    stack.drained().await;
    stack.ground.command(&stack.line, &["snapshot", "create"]).await;
    assert!(stack.process.terminate().await.success());
    std::fs::remove_dir_all(&blobs).unwrap();
    let said = stack.ground.said(&stack.line, &restore).await;
    assert!(said.contains("1 files"), "{said}");
    let doctor = stack.ground.said(&stack.line, &["doctor", "--deep"]).await;
    assert!(doctor.starts_with("no differences"), "{doctor}");
}
