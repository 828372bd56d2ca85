//! Time from a message to its being found, through every process, with search in three worker
//! processes on NATS and PostgreSQL; memory and disk of each replica. `cargo bench --bench
//! replicas`.

#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "../tests/it/stack.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod stack;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chatkeep::demo::emulator::{Emulator, Options};
use chatkeep_core::time::{Clock as _, SystemClock};
use harness::ports;
use harness::postgres::{Durability, Postgres};
use harness::process::Process;
use serde_json::{Value, json};
use stack::{Ground, Parts, Stack};

/// Messages said in one go, two thirds of them in one channel.
const BULK: usize = 30_000;
const SMALL_CHANNELS: usize = 100;
/// Messages said one by one and looked for through each API process.
const PROBES: usize = 300;
const PROBE_INTERVAL: Duration = Duration::from_millis(100);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_mins(10);

#[tokio::main]
async fn main() -> Result<()> {
    let postgres = Postgres::start(Durability::Process).await;
    let mut ground = Ground::new(Parts::Servers).await;
    ground.database = Some(postgres.create_database().await);
    let line = Emulator::start(Options::new(Arc::new(|| SystemClock.now().millis()))).await?;
    let mut stack = Stack::on(ground, line).await;
    let speaker = stack.line.add_user("Ann", None).user_id;
    stack.act_as(&speaker).await;
    let channels = channels(&stack, &speaker).await?;
    ensure!(stack.process.terminate().await.success(), "the first process failed");

    let front = process(&stack, "ingress,api", Some(stack.ground.address)).await;
    let second = process(&stack, "ingress,api", None).await;
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(process(&stack, "worker,search", None).await);
    }
    let apis = [front.1, second.1];
    bulk(&stack, &speaker, &channels, &apis).await?;
    probes(&stack, &speaker, &channels, &apis).await?;
    for (worker, _) in &workers {
        println!(
            "replica: resident {} MB, peak {} MB",
            worker.resident_bytes() / 1_000_000,
            worker.peak_bytes() / 1_000_000
        );
    }
    for entry in std::fs::read_dir(stack.ground.folder.path().join("index"))? {
        let path = entry?.path();
        println!("{}: {} kB", path.display(), size(&path)? / 1_000);
    }
    Ok(())
}

/// Groups that the speaker subscribed; the first is the large one.
async fn channels(stack: &Stack, speaker: &str) -> Result<Vec<String>> {
    let mut channels = Vec::new();
    for number in 0..=SMALL_CHANNELS {
        let group = stack.line.add_group(&format!("group {number}"), None, &[speaker]);
        stack.line.bot_joins(&group.chat_id).await.context("join")?;
        stack.line.say(&group.chat_id, speaker, "hello").await.context("say")?;
        channels.push(group.chat_id);
    }
    for channel in &channels {
        stack.known(channel).await;
        stack.post(&format!("/channels/{channel}/backup/subscribe"), json!({})).await;
    }
    Ok(channels)
}

async fn process(stack: &Stack, roles: &str, address: Option<SocketAddr>) -> (Process, SocketAddr) {
    let address = address.unwrap_or_else(ports::free);
    let mut process = stack
        .ground
        .program(&stack.line, &["serve", "--roles", roles])
        .env("CHATKEEP_LISTEN", address.to_string())
        .env("CHATKEEP_METRICS_LISTEN", "")
        .start();
    process.ready(address, "/readyz").await;
    (process, address)
}

async fn bulk(
    stack: &Stack,
    speaker: &str,
    channels: &[String],
    apis: &[SocketAddr],
) -> Result<()> {
    let start = Instant::now();
    for number in 0..BULK {
        let small = 1 + number % SMALL_CHANNELS;
        let channel = &channels[if number % 3 == 0 { small } else { 0 }];
        let text = format!("bulk message {number} of the quick brown fox 今天天氣很好");
        stack.line.say(channel, speaker, &text).await.context("say")?;
    }
    let said = start.elapsed();
    for api in apis {
        found(stack, *api, "bulk", BULK as u64).await?;
    }
    let found = start.elapsed();
    println!(
        "{BULK} messages: said in {said:.1?}, all found {:.2?} later",
        found.saturating_sub(said)
    );
    Ok(())
}

async fn probes(
    stack: &Stack,
    speaker: &str,
    channels: &[String],
    apis: &[SocketAddr],
) -> Result<()> {
    let mut times = Vec::new();
    for number in 0..PROBES {
        let word = format!("probe{number}x");
        let channel = &channels[number % channels.len()];
        let start = Instant::now();
        stack.line.say(channel, speaker, &word).await.context("say")?;
        for api in apis {
            found(stack, *api, &word, 1).await?;
        }
        times.push(start.elapsed());
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
    times.sort_unstable();
    let (half, most, last) = (times[PROBES / 2], times[PROBES * 99 / 100], times[PROBES - 1]);
    println!("one message, found through both: p50 {half:.0?}, p99 {most:.0?}, max {last:.0?}");
    Ok(())
}

/// Waits until so many messages with that word are found through a process.
async fn found(stack: &Stack, api: SocketAddr, word: &str, count: u64) -> Result<()> {
    let http = harness::http::client(LONGEST);
    let url = format!("http://{api}/api/search?limit=1&q={word}");
    let poll = async {
        loop {
            let answer = http.get(&url).bearer_auth(stack.key()).send().await?;
            let answer: Value = answer.json().await?;
            if answer["total"].as_u64() == Some(count) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(LONGEST, poll).await.context("not found in time")?
}

fn size(path: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
