//! Tool calls over `/mcp` on 1,000,000 messages of 1,000 channels, 20 of them the caller's.
//! `cargo bench --bench tools`; `-- overview` measures `get_overview` on a channel of its own, and
//! `-- sqlite` or `-- postgres` one database alone.

#[path = "../index/benches/corpus/mod.rs"]
#[expect(clippy::expect_used, reason = "a bench fails by panicking")]
mod corpus;
#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "support/overview.rs"]
mod overview;
#[path = "support/people.rs"]
mod people;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::time::{Clock as _, SystemClock, Timestamp};
use chatkeep_store::{ChannelChange, PresenceEvidence, PresenceEvidenceKind, Store};
use corpus::{Language, Numbers};
use harness::postgres::Postgres;
use harness::process::{Process, Program};
use harness::{http, ports, scratch};
use people::{KEY, add_key, latency};
use reqwest::Client;
use serde_json::{Value, json};

const MESSAGES: usize = 1_000_000;
const CHANNELS: usize = 1_000;
/// Channels of the caller.
const OWN: usize = 20;
/// People of a channel, including the caller in the caller's channels.
const PEOPLE: usize = 50;
/// Calls of each kind.
const ROUNDS: usize = 1_000;
const REVISION: &str = "2026-07-28";

#[tokio::main]
async fn main() -> Result<()> {
    if std::env::args().any(|argument| argument == "overview") {
        return overview::run().await;
    }
    println!("{MESSAGES} messages in {CHANNELS} channels, {OWN} the caller's; {ROUNDS} calls each");
    if wanted("sqlite") {
        let folder = scratch::folder("bench-");
        fill(&Store::open(&Database::Sqlite, folder.path(), 4).await?).await?;
        measure("SQLite", program(folder.path())).await?;
    }
    if !wanted("postgres") {
        return Ok(());
    }
    let (folder, database) = (scratch::folder("bench-"), Postgres::database().await);
    let url = Database::Postgres(database.url().into());
    fill(&Store::open(&url, Path::new("."), 4).await?).await?;
    let program = program(folder.path()).env("CHATKEEP_DATABASE", database.url());
    measure("PostgreSQL", program).await
}

/// Returns true if the arguments name this database, or none.
fn wanted(database: &str) -> bool {
    let named = |name: &str| std::env::args().any(|argument| argument == name);
    named(database) || !(named("sqlite") || named("postgres"))
}

fn program(folder: &Path) -> Program {
    Program::chatkeep()
        .args(["serve"])
        .env("CHATKEEP_DATA", folder)
        .env("CHATKEEP_LINE_ACCESS_TOKEN", "unused")
        .env("CHATKEEP_LINE_CHANNEL_SECRET", "unused")
        .env("CHATKEEP_METRICS_LISTEN", "")
        .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0")
}

fn channel(number: usize) -> String {
    format!("C{number}")
}

async fn fill(store: &Store) -> Result<()> {
    let now = SystemClock.now();
    for number in 0..CHANNELS {
        let people = usize::from(number >= OWN)..PEOPLE;
        let evidence: Vec<_> = people
            .map(|person| PresenceEvidence {
                channel: ChannelRef { id: channel(number).into(), kind: ChannelKind::Group },
                platform: PlatformKind::Line,
                bot: "main".to_owned(),
                at: now,
                kind: PresenceEvidenceKind::Present(format!("U{person}").into()),
            })
            .collect();
        store.members().record_presence(&evidence, now).await?;
        // Channels belong to whoever subscribed them.
        let subscriber = if number < OWN { "U0" } else { "U1" };
        store.accounts().subscribe(&channel(number).into(), &subscriber.into(), now).await?;
    }
    add_key(store, &"U0".into(), now).await?;
    let (languages, mut numbers) = (Language::all(), Numbers(1));
    for first in (0..MESSAGES).step_by(1_000) {
        let batch = (first..first + 1_000).map(|n| message(n, &languages, &mut numbers));
        store.messages().ingest(&batch.collect::<Result<Vec<_>>>()?, now).await?;
    }
    store.close().await;
    Ok(())
}

fn message(n: usize, languages: &[Language], numbers: &mut Numbers) -> Result<ChannelChange> {
    let text = languages[numbers.below(languages.len())].message(numbers);
    let received = Received {
        at: Timestamp::from_millis(1_700_000_000_000 + i64::try_from(n)? * 1_000),
        sender: Some(format!("U{}", 1 + numbers.below(PEOPLE - 1)).into()),
        kind: MessageType::Text,
        content: serde_json::to_string(&Content::text(text))?,
        quoted: None,
        is_bot: false,
    };
    let change = MessageChange::Received(received);
    let channel = channel(numbers.below(CHANNELS)).into();
    Ok(ChannelChange { channel, message: format!("{n}").into(), change })
}

/// Returns the arguments of a call, and the tool to call.
fn asked(numbers: &mut Numbers, languages: &[Language], kind: &str) -> (&'static str, Value) {
    let mut word = |language: usize, chars: usize| {
        let words = &languages[language].words;
        words[numbers.skewed(words.len())].chars().take(chars).collect::<String>()
    };
    match kind {
        "channels" => ("list_channels", json!({})),
        "messages of a channel" => ("get_messages", json!({"channelId": "C3", "limit": 20})),
        "members of a channel" => ("get_members", json!({"channelId": "C3"})),
        "two characters in a channel" => {
            ("search_messages", json!({"query": word(0, 2), "channelId": "C3"}))
        }
        "two characters" => ("search_messages", json!({"query": word(0, 2)})),
        "a word" => ("search_messages", json!({"query": word(4, 12)})),
        _ => ("search_messages", json!({"query": word(0, 3) + &word(0, 3)})),
    }
}

const KINDS: [&str; 7] = [
    "channels",
    "messages of a channel",
    "members of a channel",
    "two characters in a channel",
    "two characters",
    "a word",
    "two words without a space",
];

async fn measure(what: &str, program: Program) -> Result<()> {
    let address = ports::free();
    let program = program.env("CHATKEEP_LISTEN", address.to_string());
    let mut process: Process = program.start();
    process.ready(address, "/readyz").await;
    let start = Instant::now();
    harness::wait::until("the search index", Duration::from_mins(10), async || {
        process.stderr().iter().chain(&process.stdout()).any(|line| line.contains("index filled"))
    })
    .await;
    println!("{what:<11} index filled in {:.1?}", start.elapsed());
    let client = http::client(Duration::from_mins(1));
    let url = format!("http://{address}/mcp");
    let (languages, mut numbers) = (Language::all(), Numbers(7));
    for kind in KINDS {
        let one = async || {
            let (tool, arguments) = asked(&mut numbers, &languages, kind);
            call(&client, &url, tool, arguments).await
        };
        let (half, most) = latency(ROUNDS, one).await?;
        println!("{what:<11} {kind:<28} p50 {half:>9.2?}  p99 {most:>9.2?}");
    }
    process.kill().await;
    Ok(())
}

/// Calls a tool as clients of the newest protocol revision do.
async fn call(client: &Client, url: &str, tool: &str, arguments: Value) -> Result<()> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let request = client
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", REVISION)
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .bearer_auth(KEY);
    let answer = request.send().await?.error_for_status()?.bytes().await?;
    let answer: Value = serde_json::from_slice(&answer).context("no JSON was answered")?;
    ensure!(answer["result"]["isError"] == json!(false), "{tool} failed: {answer}");
    Ok(())
}
