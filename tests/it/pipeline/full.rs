//! A disk that fills up, and a database locked by another writer: reads go on, writes are refused,
//! and all recovers by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chatkeep_emulator::{Action, Emulator, Post, Signed};
use reqwest::{Method, StatusCode};
use serde_json::json;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_survived_without_a_restart() {
    let ground = TestEnv::new(Parts::Embedded).await;
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
