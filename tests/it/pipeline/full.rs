//! A disk that fills up, and a database locked by another writer: reads go on, writes are refused,
//! and all recovers by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chatkeep_emulator::{Action, Emulator, Media, Post, Signed};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, SqliteConnection};
use tokio::task::JoinSet;

use super::conversation::{emulator, group};
use crate::harness::small_disk::SmallDisk;
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Size of the disk in MiB for the logs of both databases and the index.
const DISK: u32 = 160;
/// Number of concurrent senders of webhooks.
const SENDERS: usize = 4;

/// Outcomes of the sent texts.
#[derive(Default)]
struct Load {
    accepted: Vec<String>,
    refused: usize,
}

fn message(line: &Emulator, chat: &str, user: &str, text: &str) -> Signed {
    let post = Post::Text(text.into());
    let send = Action::Send { chat: chat.to_owned(), user: user.to_owned(), post };
    line.sign(line.build(send).unwrap(), false)
}

/// Sends webhooks until `stop`, several at once.
fn load(line: &Emulator, chat: &str, user: &str, stop: &Arc<AtomicBool>) -> JoinSet<Load> {
    let mut senders = JoinSet::new();
    for sender in 0..SENDERS {
        let (line, chat, user) = (line.clone(), chat.to_owned(), user.to_owned());
        let stop = Arc::clone(stop);
        senders.spawn(async move {
            let mut load = Load::default();
            for n in 0.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let text = format!("load {sender}-{n}");
                match line.post(message(&line, &chat, &user, &text)).await {
                    Some(200) => load.accepted.push(text),
                    Some(503) => load.refused += 1,
                    other => panic!("{text}: {other:?}"),
                }
            }
            load
        });
    }
    senders
}

/// Sets the reserves of free disk space in MiB.
fn reserve(ground: &mut TestEnv, media: u64, ingress: u64) {
    let bytes = |mebibytes: u64| (mebibytes << 20).to_string();
    ground.settings.push(("CHATKEEP_DISK_MEDIA_RESERVE_BYTES", bytes(media)));
    ground.settings.push(("CHATKEEP_DISK_INGRESS_RESERVE_BYTES", bytes(ingress)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_then_webhooks_pause_before_the_disk_is_full() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    reserve(&mut ground, 64, 32);
    let disk = SmallDisk::over(ground.folder.path(), DISK);
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat, user) = (stack.line.clone(), group.chat_id, people[1].user_id.clone());
    let problems = async || {
        let url = format!("http://{}/readyz", stack.ground.address);
        let ready: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
        let parts = ready["problems"].as_array().unwrap().iter();
        let parts: Vec<_> = parts.filter_map(|one| one["part"].as_str()).collect();
        let low = |work: &str| parts.contains(&format!("disk:{work}").as_str());
        (ready["disk"] == "low", low("media"), low("ingress"))
    };
    let send = async |text: &str| line.post(message(&line, &chat, &user, text)).await;
    let picture = async || {
        let post = Post::Image(Media::new("image/png", b"\x89PNG\r\n\x1a\n".to_vec()));
        let send = Action::Send { chat: chat.clone(), user: user.clone(), post };
        line.post(line.sign(line.build(send).unwrap(), false)).await
    };
    let pending = async || {
        let coverage = stack.ground.command(&line, &["status", "--local", "--json"]).await;
        let status: Value = serde_json::from_str(&coverage).unwrap();
        status["media"]["pending"].as_i64().unwrap()
    };
    assert_eq!(problems().await, (false, false, false));

    let mut filler = disk.filler();
    filler.leave(48);
    until("files pause", DEADLINE, async || problems().await == (true, true, false)).await;
    assert_eq!((send("a text").await, picture().await), (Some(200), Some(200)));
    until("the file waits", DEADLINE, async || pending().await == 1).await;

    filler.leave(16);
    until("webhooks pause", DEADLINE, async || problems().await == (true, true, true)).await;
    assert_eq!(send("refused").await, Some(503));
    // What was accepted can be stored, and people can act.
    stack.put(&format!("/channels/{chat}/assistant/rules"), json!({"content": "be kind"})).await;
    assert!(stack.ready().await, "reading goes on");
    let metrics = stack.metrics().await;
    for work in ["ingress", "media"] {
        assert!(metrics.contains(&format!("chatkeep_disk_low{{work=\"{work}\"}} 1")), "{metrics}");
    }

    drop(filler);
    until("all resumes", DEADLINE, async || problems().await == (false, false, false)).await;
    assert_eq!(send("accepted").await, Some(200));
    until("the file is stored", DEADLINE, async || pending().await == 0).await;
    stack.drained().await;
    let kept = stack.messages(&chat).await;
    let has = |text: &str| kept.iter().any(|message| message["content"] == text);
    assert!(has("a text") && has("accepted") && !has("refused"), "{kept:?}");
    stack.is_well().await;
    assert!(stack.process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_survived_without_a_restart() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    // Without a reserve, so that bus and store find out by themselves.
    reserve(&mut ground, 0, 0);
    let disk = SmallDisk::over(ground.folder.path(), DISK);
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (line, chat, user) = (stack.line.clone(), group.chat_id, people[1].user_id.clone());
    let rules = format!("/channels/{chat}/assistant/rules");
    let numbers = AtomicU64::new(0);
    let write = async || {
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        let body = json!({"content": format!("be kind {number}")});
        stack.call(Method::PUT, &rules, Some(body)).await.0
    };
    let stop = Arc::new(AtomicBool::new(false));
    let senders = load(&line, &chat, &user, &stop);
    until("messages are kept", DEADLINE, async || {
        let usage = stack.get("/usage").await;
        usage["channels"][&chat]["messageCount"].as_i64() >= Some(50)
    })
    .await;

    let mut filler = disk.filler();
    until("bus and store are full", DEADLINE, async || {
        filler.fill();
        let probe = line.post(message(&line, &chat, &user, "probe")).await;
        probe == Some(503) && write().await == StatusCode::SERVICE_UNAVAILABLE
    })
    .await;
    let (status, me) = stack.call(Method::GET, "/me", None).await;
    assert_eq!(status, StatusCode::OK, "reading needs no room: {me}");

    drop(filler);
    until("bus and store take writes again", DEADLINE, async || {
        let probe = line.post(message(&line, &chat, &user, "probe")).await;
        probe == Some(200) && write().await.is_success() && stack.ready().await
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let loads = senders.join_all().await;
    assert!(loads.iter().map(|load| load.refused).sum::<usize>() > 0);
    let accepted: Vec<_> = loads.into_iter().flat_map(|load| load.accepted).collect();
    stack.drained().await;
    let kept = stack.messages(&chat).await;
    let kept: Vec<_> = kept.iter().filter_map(|message| message["content"].as_str()).collect();
    let lost: Vec<_> = accepted.iter().filter(|text| !kept.contains(&text.as_str())).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), accepted.len());
    let dead = stack.ground.command(&line, &["dead", "list", "--json"]).await;
    assert_eq!(dead, "", "a full disk is nobody's poison");
    stack.is_well().await;
    assert!(stack.process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_does_not_wait_for_whoever_writes() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, _) = group(&mut stack).await;
    let file = stack.ground.folder.path().join("chatkeep.db");
    let mut other =
        SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    // A key that was not used for long has its use recorded.
    other.execute("PRAGMA busy_timeout = 60000").await.unwrap();
    other.execute("UPDATE api_keys SET last_used_at = 1").await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    for path in ["/me".to_owned(), "/usage".to_owned(), format!("/channels/{}", group.chat_id)] {
        // The writer goes on: who waited for it would be refused in the end.
        let (status, answer) = stack.call(Method::GET, &path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
    }
    other.execute("ROLLBACK").await.unwrap();
    until("the use is written", DEADLINE, async || {
        let used: (i64,) = sqlx::query_as("SELECT last_used_at FROM api_keys")
            .fetch_one(&mut other)
            .await
            .unwrap();
        used.0 > 1
    })
    .await;
}
