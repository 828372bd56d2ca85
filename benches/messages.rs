//! The message list over HTTP on a channel of a million messages: first page against page ten
//! thousand. `cargo bench --bench messages`.

#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "support/people.rs"]
mod people;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::time::{Clock as _, SystemClock, Timestamp};
use chatkeep_store::{ChannelChange, PresenceEvidence, PresenceEvidenceKind, Store};
use harness::postgres::Postgres;
use harness::process::{Process, Program};
use harness::{http, ports, scratch};
use people::{KEY, add_key, latency};
use reqwest::Client;
use serde_json::Value;

const MESSAGES: i64 = 1_000_000;
const PAGE: usize = 50;
/// Number of the page that is compared with the first one.
const DEEP: usize = 10_000;
/// Requests per page.
const ROUNDS: usize = 2_000;

#[tokio::main]
async fn main() -> Result<()> {
    println!("{MESSAGES} messages in one channel, pages of {PAGE}, {ROUNDS} requests each");
    let folder = scratch::folder("bench-");
    let store = Store::open(&Database::Sqlite, folder.path(), 4).await?;
    fill(&store).await?;
    measure("SQLite", program(folder.path())).await?;

    let (folder, database) = (scratch::folder("bench-"), Postgres::database().await);
    let url = Database::Postgres(database.url().into());
    let store = Store::open(&url, Path::new("."), 4).await?;
    fill(&store).await?;
    let program = program(folder.path()).env("CHATKEEP_DATABASE", database.url());
    measure("PostgreSQL", program).await
}

fn program(folder: &Path) -> Program {
    Program::chatkeep()
        .args(["serve", "--roles", "api"])
        .env("CHATKEEP_DATA", folder)
        .env("CHATKEEP_METRICS_LISTEN", "")
        .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0")
}

async fn fill(store: &Store) -> Result<()> {
    let (now, user) = (SystemClock.now(), "U1".into());
    let channel = ChannelRef { id: "C1".into(), kind: ChannelKind::Group };
    let kind = PresenceEvidenceKind::Present("U1".into());
    let (platform, bot) = (PlatformKind::Line, "main".to_owned());
    store
        .members()
        .record_presence(&[PresenceEvidence { channel, platform, bot, at: now, kind }], now)
        .await?;
    store.accounts().subscribe(&"C1".into(), &user, now).await?;
    add_key(store, &user, now).await?;
    for first in (0..MESSAGES).step_by(1_000) {
        let batch: Result<Vec<_>> = (first..first + 1_000).map(message).collect();
        store.messages().ingest(&batch?, now).await?;
    }
    store.close().await;
    Ok(())
}

fn message(n: i64) -> Result<ChannelChange> {
    let content = Content::text(format!("message {n}: 大家今晚幾點到? see you at the station"));
    let received = Received {
        at: Timestamp::from_millis(1_700_000_000_000 + n * 1_000),
        sender: Some(format!("U{}", n % 50).into()),
        kind: MessageType::Text,
        content: serde_json::to_string(&content)?,
        quoted: None,
        is_bot: false,
    };
    let change = MessageChange::Received(received);
    Ok(ChannelChange { channel: "C1".into(), message: format!("{n}").into(), change })
}

async fn measure(what: &str, program: Program) -> Result<()> {
    let address = ports::free();
    let mut process: Process = program.env("CHATKEEP_LISTEN", address.to_string()).start();
    process.ready(address, "/readyz").await;
    let client = http::client(Duration::from_mins(1));
    let first = format!("http://{address}/api/channels/C1/backup/messages?limit={PAGE}");
    let mut deep = first.clone();
    for _ in 1..DEEP {
        let page: Value = serde_json::from_slice(&get(&client, &deep).await?)?;
        let cursor = page["nextCursor"].as_str().context("the list ended too early")?;
        deep = format!("{first}&cursor={cursor}");
    }
    for (page, url) in [(1, &first), (DEEP, &deep)] {
        let (half, most) = latency(ROUNDS, async || get(&client, url).await.map(drop)).await?;
        println!("{what:<11} page {page:>6}: p50 {half:>9.2?}  p99 {most:>9.2?}");
    }
    process.kill().await;
    Ok(())
}

async fn get(client: &Client, url: &str) -> Result<Vec<u8>> {
    let answer = client.get(url).bearer_auth(KEY).send().await?.error_for_status()?;
    Ok(answer.bytes().await?.to_vec())
}
