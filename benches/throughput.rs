//! Requests a second of many clients over HTTP, on 1,000,000 messages of one channel with a vocabulary
//! that grows; first with nothing beside them, then while another process stores messages one by one.
//! `cargo bench --bench throughput [-- [MESSAGES] [KIND...]]`.

#![expect(clippy::expect_used, reason = "the corpus of the index' benches fails by panicking")]

#[path = "../index/benches/corpus/mod.rs"]
mod corpus;
#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "../index/benches/million/messages.rs"]
#[expect(dead_code, reason = "the queries are not written to a file here")]
mod messages;
#[path = "support/people.rs"]
#[expect(dead_code, reason = "requests are under way side by side here")]
mod people;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::time::{Clock as _, SystemClock, Timestamp};
use chatkeep_store::{ChannelChange, PresenceEvidence, PresenceEvidenceKind, Store};
use corpus::Language;
use harness::process::{Process, Program};
use harness::{http, ports, scratch};
use messages::{Asked, KINDS, Shape, channel, each_message, queries, sender, write_messages};
use people::{KEY, add_key};
use reqwest::{Client, Url};
use tokio::task::JoinSet;

/// Messages of the channel without a number on the command line.
const MESSAGES: usize = 1_000_000;
/// Messages that are stored at once.
const BATCH: usize = 1_000;
/// Clients that ask at the same time, each without a pause.
const CLIENTS: usize = 32;
/// Time for which a kind of request is asked.
const LOAD: Duration = Duration::from_secs(5);
/// Time between two messages that are stored beside the requests.
const ARRIVING: Duration = Duration::from_millis(20);
/// Queries of each kind, asked in turn.
const QUERIES: usize = 1_000;
/// Time in which a server at rest works for a fiftieth of it at most.
const REST: Duration = Duration::from_secs(3);
/// Maximum time until the messages can be searched.
const INDEXED: Duration = Duration::from_mins(20);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let given = arguments.iter().find_map(|argument| argument.parse::<usize>().ok());
    let shape = Shape { messages: given.unwrap_or(MESSAGES), channels: 1, queries: QUERIES };
    println!("{} messages in one channel, {CLIENTS} clients", shape.messages);
    let languages = Language::all();
    let folder = scratch::folder("bench-");
    write_messages(folder.path(), &languages, shape);
    fill(folder.path()).await?;

    let address = ports::free();
    let program = Program::chatkeep()
        .args(["serve", "--roles", "api,search"])
        .env("CHATKEEP_DATA", folder.path())
        .env("CHATKEEP_METRICS_LISTEN", "")
        .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0");
    let mut process = program.env("CHATKEEP_LISTEN", address.to_string()).start();
    let client = http::client(Duration::from_mins(1));
    let backup = format!("http://{address}/api/channels/{}/backup", channel(0));
    indexed(&client, &format!("{backup}/search?q=a")).await?;
    settled(&process).await?;

    let asked = requests(&backup, &queries(&languages, shape), &arguments)?;
    for (what, urls) in &asked {
        measure(what, urls, &client, &process).await?;
    }
    println!("beside a message every {ARRIVING:?}");
    let mut arriving = JoinSet::new();
    arriving.spawn(arrive(folder.path().to_owned(), shape.messages));
    for (what, urls) in &asked {
        measure(what, urls, &client, &process).await?;
    }
    if let Some(ended) = arriving.try_join_next() {
        ended??;
    }
    arriving.abort_all();
    println!("{} MB resident", process.resident_bytes() / 1_000_000);
    process.kill().await;
    Ok(())
}

/// Returns what is asked, and the addresses of each: the list, and the kinds of queries that are named,
/// or all.
fn requests(backup: &str, queries: &[Asked], wanted: &[String]) -> Result<Vec<(String, Vec<Url>)>> {
    let list = vec![Url::parse(&format!("{backup}/messages?limit=50"))?];
    let mut requests = vec![("list".to_owned(), list)];
    let named = |kind: &str| wanted.iter().any(|argument| argument == kind);
    let all = !KINDS.iter().any(|kind| named(kind));
    let search = format!("{backup}/search");
    for kind in KINDS.into_iter().filter(|kind| all || named(kind)) {
        for sort in ["relevance", "newest"] {
            let of_kind = queries.iter().filter(|query| query.kind == kind);
            let address = |text| Url::parse_with_params(&search, [("q", text), ("sort", sort)]);
            let urls = of_kind.map(|query| address(query.text.as_str()));
            requests.push((format!("{kind}, {sort}"), urls.collect::<Result<_, _>>()?));
        }
    }
    Ok(requests)
}

/// Stores a message of the channel every now and then, from number `first` on.
async fn arrive(folder: PathBuf, first: usize) -> Result<()> {
    let store = Store::open(&Database::Sqlite, &folder, 1).await?;
    let mut ticks = tokio::time::interval(ARRIVING);
    for id in first.. {
        ticks.tick().await;
        let now = SystemClock.now();
        let message = message(id, &channel(0), now.millis(), "a new message 新的消息");
        store.messages().ingest(&[message], now).await?;
    }
    Ok(())
}

async fn fill(folder: &Path) -> Result<()> {
    let store = Store::open(&Database::Sqlite, folder, 4).await?;
    let (now, user, id) = (SystemClock.now(), "U1".into(), channel(0));
    let channel = ChannelRef { id: id.as_str().into(), kind: ChannelKind::Group };
    let kind = PresenceEvidenceKind::Present("U1".into());
    let (platform, bot) = (PlatformKind::Line, "main".to_owned());
    let evidence = PresenceEvidence { channel, platform, bot, at: now, kind };
    store.members().record_presence(&[evidence], now).await?;
    store.accounts().subscribe(&id.as_str().into(), &user, now).await?;
    add_key(&store, &user, now).await?;
    let mut all = Vec::new();
    each_message(folder, |id, channel, at, text| all.push(message(id, channel, at, text)));
    for batch in all.chunks(BATCH) {
        store.messages().ingest(batch, now).await?;
    }
    store.close().await;
    Ok(())
}

fn message(id: usize, channel: &str, at: i64, text: &str) -> ChannelChange {
    let content = Content::text(text.to_owned());
    let received = Received {
        at: Timestamp::from_millis(at),
        sender: Some(sender(id).into()),
        kind: MessageType::Text,
        content: serde_json::to_string(&content).expect("JSON"),
        quoted: None,
        is_bot: false,
    };
    let change = MessageChange::Received(received);
    ChannelChange { channel: channel.into(), message: format!("{id}").into(), change }
}

/// Waits until a search is answered.
async fn indexed(client: &Client, url: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let answer = client.get(url).bearer_auth(KEY).send().await;
        if answer.is_ok_and(|answer| answer.status().is_success()) {
            println!("indexed after {:.1} s", begun.elapsed().as_secs_f64());
            return Ok(());
        }
        (begun.elapsed() < INDEXED).then_some(()).context("the index is not ready")?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until the server is at rest: what was just filled in is still merged after the first search
/// is answered.
async fn settled(process: &Process) -> Result<()> {
    let begun = Instant::now();
    let mut worked = process.processor_time();
    loop {
        tokio::time::sleep(REST).await;
        let before = std::mem::replace(&mut worked, process.processor_time());
        if worked.saturating_sub(before) < REST / 50 {
            println!("at rest after {:.1} s more", begun.elapsed().as_secs_f64());
            return Ok(());
        }
        (begun.elapsed() < INDEXED).then_some(()).context("the server does not come to rest")?;
    }
}

/// Asks for these addresses in turn, and prints the rate, the times to the first byte of the answers,
/// and the processor time of the server for each.
async fn measure(what: &str, urls: &[Url], client: &Client, server: &Process) -> Result<()> {
    let urls: Arc<[Url]> = urls.into();
    let next = Arc::new(AtomicUsize::new(0));
    let (begun, used) = (Instant::now(), server.processor_time());
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (urls, next, client) = (Arc::clone(&urls), Arc::clone(&next), client.clone());
        clients.spawn(async move {
            let mut times = Vec::new();
            while begun.elapsed() < LOAD {
                let url = &urls[next.fetch_add(1, Ordering::Relaxed) % urls.len()];
                let asked = Instant::now();
                let answer =
                    client.get(url.clone()).bearer_auth(KEY).send().await?.error_for_status()?;
                times.push(asked.elapsed());
                answer.bytes().await?;
            }
            anyhow::Ok(times)
        });
    }
    let mut times = Vec::new();
    while let Some(done) = clients.join_next().await {
        times.extend(done??);
    }
    times.sort_unstable();
    let count = u32::try_from(times.len())?;
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    let each = server.processor_time().saturating_sub(used) / count.max(1);
    let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!(
        "{what:<24} {rate:6.0}/s  first byte p50 {half:>9.2?}  p99 {most:>9.2?}  server {each:>9.2?} each"
    );
    Ok(())
}
