//! `chatkeep doctor` beside a running service: its output, its exit code, its repairs.

mod media_store;

use std::sync::Arc;

use chatkeep_core::time::SystemClock;
use chatkeep_workers::replica::Replica;
use serde_json::Value;

use crate::harness::files::below;
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack};

/// Exit code, output and side output.
struct Ended {
    code: Option<i32>,
    printed: Vec<String>,
    said: String,
}

async fn doctor(stack: &Stack, args: &[&str]) -> Ended {
    let args: Vec<_> = ["doctor"].iter().chain(args).copied().collect();
    let mut process = stack.ground.program(&stack.line, &args).start();
    let code = process.finish().await.code();
    Ended { code, printed: process.stdout(), said: process.stderr().join("\n") }
}

impl Ended {
    #[track_caller]
    fn is(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.printed.join("\n"), self.said);
    }

    /// Returns the summary of `--json`, which is the last line.
    fn summary(&self) -> Value {
        serde_json::from_str(self.printed.last().unwrap()).unwrap()
    }
}

/// Starts a group with some messages, all of them stored and indexed.
async fn talking(parts: Parts) -> (Stack, String) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let (chat, people) = group(&mut stack).await;
    for n in 0..12 {
        let text = format!("number {n} of a long pubsub");
        stack.line.say(&chat.chat_id, &people[n % 3].user_id, &text).await.unwrap();
    }
    stack.kept(&chat.chat_id, 12).await;
    stack.drained().await;
    (stack, chat.chat_id)
}

async fn differences_are_told_and_set_right(parts: Parts) {
    let (stack, channel) = talking(parts).await;
    let well = doctor(&stack, &["--deep"]).await;
    well.is(0);
    assert!(well.said.starts_with("no differences: 1 channels, "), "{}", well.said);
    assert!(well.said.ends_with(" messages in the index"), "{}", well.said);

    stack.ground.sql("UPDATE channels SET message_count = message_count + 1").await;
    let found = doctor(&stack, &[]).await;
    found.is(1);
    let line = format!("{channel}: messages of the channel: recorded: 13; true: 12");
    assert_eq!(found.printed[0], line);
    assert!(found.said.contains("1 different: "), "{}", found.said);
    assert!(found.said.ends_with("1 difference remains"), "{}", found.said);
    let found = doctor(&stack, &["--json", "--channel", &channel]).await;
    found.is(1);
    let line: Value = serde_json::from_str(&found.printed[0]).unwrap();
    assert_eq!((&line["check"], &line["truth"]), (&"channel_messages".into(), &"12".into()));
    assert_eq!((&line["place"], &line["repaired"]), (&channel.as_str().into(), &false.into()));
    assert_eq!(found.summary()["differences"], 1);

    let repaired = doctor(&stack, &["--repair", "--json"]).await;
    repaired.is(0);
    assert_eq!(
        (&repaired.summary()["differences"], &repaired.summary()["repaired"]),
        (&1.into(), &1.into())
    );
    doctor(&stack, &[]).await.is(0);
}

async fn a_running_service_sets_its_index_right(parts: Parts) {
    let (stack, channel) = talking(parts).await;
    // Behind the service's back: the index still has it.
    stack.ground.sql("DELETE FROM messages WHERE content LIKE '%number 3 of%'").await;
    let found = doctor(&stack, &[]).await;
    found.is(1);
    let index = format!("{channel} ");
    let of_index = |line: &&String| line.starts_with(&index) && line.contains("1 not kept");
    assert_eq!(found.printed.iter().filter(of_index).count(), 1, "{:?}", found.printed);
    doctor(&stack, &["--repair"]).await.is(0);
    until("the service has done it", DEADLINE, async || doctor(&stack, &[]).await.code == Some(0))
        .await;
}

async fn what_cannot_be_checked_ends_it_with_code_2(parts: Parts) {
    let stack = Stack::start(parts, emulator().await).await;
    let unknown = doctor(&stack, &["--channel", "Cnowhere"]).await;
    unknown.is(2);
    assert!(unknown.said.contains("unknown channel Cnowhere"), "{}", unknown.said);
    let away = doctor(&stack, &["--database", "postgres://nobody@127.0.0.1:1/none"]).await;
    away.is(2);
    assert!(away.said.contains("cannot open the database"), "{}", away.said);
}

async fn what_fails_leaves_the_rest_to_be_checked(parts: Parts) {
    let (mut stack, channel) = talking(parts).await;
    stack.ground.sql("UPDATE channels SET message_count = message_count + 1").await;
    let line = format!("{channel}: messages of the channel: recorded: 13; true: 12");
    let without = async |stack: &Stack, args: &[&str], sentence: &str| {
        let found = doctor(stack, args).await;
        found.is(2);
        assert!(found.printed.contains(&line), "{:?}", found.printed);
        assert!(found.said.contains(sentence), "{}", found.said);
        let told = "1 difference remains; 1 part could not be checked";
        assert!(found.said.ends_with(told), "{}", found.said);
        let json = doctor(stack, &[args, &["--json"]].concat()).await;
        json.is(2);
        let unchecked = &json.summary()["unchecked"];
        assert_eq!(unchecked.as_array().unwrap().len(), 1, "{unchecked}");
        assert!(unchecked[0].as_str().unwrap().contains(sentence), "{unchecked}");
        json
    };
    let away = ["--bus", "nats://someone:hunter2@127.0.0.1:1"];
    let found = without(&stack, &away, "running search indexes are not compared: ").await;
    assert!(!found.said.contains("hunter2"), "{}", found.said);

    let mut s3 = S3::start();
    s3.kill();
    let settings = stack.ground.settings.len();
    stack.ground.settings.extend(s3.environment());
    let found = without(&stack, &[], "files are not checked: ").await;
    assert_eq!(found.summary()["checked"]["files"], 0);
    assert_eq!(found.summary()["checked"]["indexed"], 12);
    stack.ground.settings.truncate(settings);

    assert!(stack.process.terminate().await.success());
    let index = stack.ground.folder.path().join("index");
    for file in below(&index).into_iter().filter(|file| file.ends_with("meta.json")) {
        std::fs::write(file, "{").unwrap();
    }
    without(&stack, &[], &format!("the search index in {} is not", index.display())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_a_process_left_behind_is_no_difference() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (chat, people) = group(&mut stack).await;
    let say = async |text: &str| {
        stack.line.say(&chat.chat_id, &people[0].user_id, text).await.unwrap();
    };
    say("before it was left").await;
    stack.kept(&chat.chat_id, 1).await;
    let store = stack.ground.store().await;
    let folder = stack.ground.folder.path().join("index");
    let second = Replica::open(store.clone(), folder, Arc::new(SystemClock)).await.unwrap();
    second.catch_up().await.unwrap();
    let left = second.folder().to_path_buf();
    assert!(left.ends_with("index-2"), "{}", left.display());
    drop((second, store));
    say("after it was left").await;
    stack.kept(&chat.chat_id, 2).await;
    stack.drained().await;
    let found = doctor(&stack, &[]).await;
    found.is(0);
    let sentence = "index-2 is not compared: no process has it any more";
    assert!(found.said.contains(sentence), "{}", found.said);
    assert!(found.said.ends_with(", 2 messages in the index"), "{}", found.said);
    assert!(stack.process.terminate().await.success());
    stack.ground.command(&stack.line, &["reindex"]).await;
    assert!(!left.exists());
    doctor(&stack, &[]).await.is(0);
}

on_both!(
    differences_are_told_and_set_right,
    a_running_service_sets_its_index_right,
    what_cannot_be_checked_ends_it_with_code_2,
    what_fails_leaves_the_rest_to_be_checked,
);
