//! The API against its own document: schemathesis (`tests/schema`) makes requests of all kinds from
//! it, valid and not, and compares every response with the document.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::process::Program;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::media::Scene;
use crate::stack::{DEADLINE, Stack};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schema");

/// Timeout; the run takes a quarter of a minute on an idle machine.
const TIMEOUT: Duration = Duration::from_mins(8);

/// Number of keys, more than the run deletes.
const SPARE_KEYS: usize = 30;
const RULES: usize = 30;
const WEBHOOKS: usize = 14;
const SAVED_SEARCHES: usize = 30;
const SPARE_EXPORTS: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_as_documented() {
    let mut scene = Scene::embedded().await;
    let spare = fill(&scene).await;
    let folder = scratch::folder("schema-");
    let (stack, channel) = (&mut scene.stack, scene.channel.as_str());
    prepare(stack, folder.path(), channel, &spare).await;

    let address = format!("http://{}", stack.ground.address);
    let document = format!("{address}/openapi.json");
    let mut run = Program::new(&format!("{FOLDER}/.venv/bin/schemathesis"))
        .args(["--config-file", "schemathesis.toml", "run", &document, "--checks", "all"])
        .env("CHATKEEP_URL", &address)
        .env("CHATKEEP_KEY", stack.key())
        .env("CHATKEEP_SPARE_CHANNEL", &spare)
        // Nothing is written beside the sources.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1")
        .env("HOME", folder.path())
        .folder(folder.path())
        .start();
    let status = run.finish_within(TIMEOUT).await;
    let (said, complaints) = (run.stdout().join("\n"), run.stderr().join("\n"));
    assert!(status.success(), "{status}; tests/run installs it when missing\n{said}\n{complaints}");
    let summary = said.split_once("SUMMARY").map_or(&*said, |(_, summary)| summary);
    println!("{summary}");
    let tested = format!("Tested: {}\n", chatkeep_api::catalogue().len());
    assert!(summary.contains(&tested), "not every operation was tested\n{said}");
    stack.get("/me").await;
    assert_eq!(stack.get(&format!("/channels/{channel}")).await["role"], "owner");
    assert!(stack.process.terminate().await.success());
}

/// Fills the group with messages and a file, and creates another one whose data may be deleted.
async fn fill(scene: &Scene) -> String {
    let (stack, ann) = (&scene.stack, user(&scene.stack).await);
    let spare = stack.line.add_group("Spare", None, &[&ann, &scene.person]).chat_id;
    stack.line.bot_joins(&spare).await.unwrap();
    stack.line.say(&spare, &ann, "hello").await.unwrap();
    stack.known(&spare).await;
    for chat in [&scene.channel, &spare] {
        stack.post(&format!("/channels/{chat}/backup/subscribe"), json!({})).await;
        for number in 0..6 {
            let text = format!("hours of day {number}? https://example.com");
            stack.line.say(chat, [&ann, &scene.person][number % 2], text).await.unwrap();
        }
    }
    let file = scene.send("規約.pdf").await;
    scene.stored(&file, "application/pdf", b"be kind").await;
    stack.drained().await;
    spare
}

/// Returns the user of the calls.
async fn user(stack: &Stack) -> String {
    stack.get("/me").await["userId"].as_str().unwrap().to_owned()
}

/// Writes the settings into the folder, and beside them the ids that exist.
async fn prepare(stack: &Stack, folder: &Path, channel: &str, spare: &str) {
    for name in ["schemathesis.toml", "hooks.py"] {
        fs::copy(format!("{FOLDER}/{name}"), folder.join(name)).unwrap();
    }
    let mut keys = Vec::new();
    for _ in 0..SPARE_KEYS {
        let key = json!({"name": "to be deleted", "scopes": ["read:members"]});
        keys.push(stack.post("/keys", key).await);
    }
    let of = |chat: &str, rest: &str| format!("/channels/{chat}{rest}");
    let messages = stack.messages(channel).await;
    let files = stack.get(&of(channel, "/backup/media")).await["media"].take();
    // All but the owner, who runs this.
    let me = json!(user(stack).await);
    let mut people = stack.get(&of(channel, "/members")).await["members"].take();
    people.as_array_mut().unwrap().retain(|person| person["userId"] != me);
    write(folder, "channel", "channelId", &json!([{"channelId": channel}]));
    write(folder, "message", "id", &json!(messages));
    write(folder, "file", "id", &files);
    write(folder, "person", "userId", &people);
    write(folder, "rule", "id", &rules(stack, channel).await);
    write(folder, "spare-rule", "id", &rules(stack, spare).await);
    write(folder, "spare-key", "keyId", &json!(keys));
    job(stack, folder, channel).await;
    exports(stack, folder, channel).await;
    webhooks(stack, folder).await;
    saved_searches(stack, folder).await;
}

/// Creates a finished job; one that takes that long needs more messages than there are.
async fn job(stack: &Stack, folder: &Path, channel: &str) {
    let me = user(stack).await;
    let columns = "id, channel_id, kind, sent_before, created_by, created_at, total, done, status";
    let row = format!("'job_ended', '{channel}', 'deletion', 1, '{me}', 1, 2, 2, 'done'");
    let sql = format!("INSERT INTO channel_jobs ({columns}, finished_at) VALUES ({row}, 2)");
    stack.sql(sql).await;
    write(folder, "job", "id", &json!([{"id": "job_ended"}]));
}

/// Creates a completed export, and some that may be deleted; those that the run creates are of the
/// spare channel.
async fn exports(stack: &Stack, folder: &Path, channel: &str) {
    let path = format!("/channels/{channel}/backup/exports");
    let export = stack.post(&path, json!({"format": "jsonl"})).await;
    until("the export is completed", DEADLINE, async || {
        stack.get(&path).await["exports"][0]["status"] == "done"
    })
    .await;
    write(folder, "export", "id", &json!([export]));
    let me = user(stack).await;
    let ids: Vec<_> = (0..SPARE_EXPORTS).map(|number| format!("exp_spare{number}")).collect();
    for id in &ids {
        let columns = "id, channel_id, created_by, created_at, format, sent_before, time_zone,
                       language, total, status, finished_at, expires_at";
        let row = format!(
            "'{id}', '{channel}', '{me}', 1, 'csv', 1, 'UTC', 'en', 0, 'failed', 1, {}",
            i64::MAX
        );
        stack.sql(format!("INSERT INTO exports ({columns}) VALUES ({row})")).await;
    }
    let spare: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
    write(folder, "spare-export", "id", &json!(spare));
}

/// Creates a webhook with a delivery, and some that may be deleted; there is room for those that
/// the run creates.
async fn webhooks(stack: &Stack, folder: &Path) {
    let mut made = Vec::new();
    for _ in 0..WEBHOOKS {
        let webhook = json!({"url": "https://hooks.invalid/", "events": ["member.left"]});
        made.push(stack.post("/webhooks", webhook).await);
    }
    let (kept, spare) = made.split_at(1);
    let path = format!("/webhooks/{}/test", kept[0]["webhookId"].as_str().unwrap());
    let delivery = stack.post(&path, json!({})).await;
    write(folder, "webhook", "webhookId", &json!(kept));
    write(folder, "spare-webhook", "webhookId", &json!(spare));
    write(folder, "delivery", "deliveryId", &json!([delivery]));
}

/// Saves a search, and some that may be deleted; there is room for those that the run saves.
async fn saved_searches(stack: &Stack, folder: &Path) {
    let mut made = Vec::new();
    for _ in 0..SAVED_SEARCHES {
        made.push(stack.post("/saved-searches", json!({"name": "n", "query": "hours"})).await);
    }
    let (kept, spare) = made.split_at(1);
    write(folder, "saved-search", "savedSearchId", &json!(kept));
    write(folder, "spare-saved-search", "savedSearchId", &json!(spare));
}

async fn rules(stack: &Stack, channel: &str) -> Value {
    let path = format!("/channels/{channel}/assistant/qa");
    for number in 0..RULES {
        let rule = json!({"keywords": [format!("word {number}")], "answer": "yes"});
        stack.post(&path, rule).await;
    }
    stack.get(&path).await["items"].take()
}

/// Writes one quoted value a line, as the dictionaries of fuzzers.
fn write(folder: &Path, name: &str, field: &str, things: &Value) {
    let mut lines = String::new();
    for thing in things.as_array().unwrap() {
        writeln!(lines, "{}", thing[field]).unwrap();
    }
    assert!(!lines.is_empty(), "no {name}");
    fs::write(folder.join(format!("{name}.dict")), lines).unwrap();
}
