//! The console's pages over HTTP on a channel of a million messages.
//! `cargo bench --bench console [-- [MESSAGES] [PAGE...]]`: names of pages measure these alone.

#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "support/people.rs"]
mod people;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::message::{Content, MediaInfo, MessageChange, Received};
use chatkeep_core::time::{Clock as _, SystemClock, Timestamp};
use chatkeep_store::{
    ChannelChange, NewSession, PresenceEvidence, PresenceEvidenceKind, SignedIn, Store,
};
use harness::postgres::Postgres;
use harness::process::{Process, Program};
use harness::{http, ports, scratch};
use people::{KEY, add_key, latency};
use reqwest::Client;
use reqwest::header::COOKIE;
use serde_json::Value;

/// Messages of the channel without a number on the command line.
const MESSAGES: i64 = 1_000_000;
/// Messages that are stored at once.
const BATCH: i64 = 1_000;
/// Time of the first message: 2023-11-14.
const START: i64 = 1_700_000_000_000;
/// Time between two messages in milliseconds: a million of them last a year.
const STEP: i64 = 31_500;
/// Requests per page.
const ROUNDS: usize = 2_000;
/// Goal for the 99th percentile of every page.
const GOAL: Duration = Duration::from_millis(20);
/// Maximum time until a million messages can be searched.
const INDEXED: Duration = Duration::from_mins(20);
/// The same for the page that counts everything.
const ACTIVITY_GOAL: Duration = Duration::from_millis(50);
/// Secret of the reader's session.
const SESSION: &str = "secret-of-the-bench-0123456789012345678901234567890123456789";

/// Address of a page, by the number of a message.
type PageOf = fn(i64) -> String;

#[tokio::main]
async fn main() -> Result<()> {
    let given = std::env::args().skip(1).find_map(|argument| argument.parse::<i64>().ok());
    let messages = given.unwrap_or(MESSAGES).max(BATCH) / BATCH * BATCH;
    println!("{messages} messages in one channel, {ROUNDS} requests for each page, goal {GOAL:?}");
    let folder = scratch::folder("bench-");
    let store = Store::open(&Database::Sqlite, folder.path(), 4).await?;
    fill(&store, messages).await?;
    measure("SQLite", program(folder.path()), messages).await?;

    let (folder, database) = (scratch::folder("bench-"), Postgres::database().await);
    let url = Database::Postgres(database.url().into());
    let store = Store::open(&url, Path::new("."), 4).await?;
    fill(&store, messages).await?;
    let program = program(folder.path()).env("CHATKEEP_DATABASE", database.url());
    measure("PostgreSQL", program, messages).await
}

fn program(folder: &Path) -> Program {
    Program::chatkeep()
        .args(["serve", "--roles", "api,search"])
        .env("CHATKEEP_DATA", folder)
        .env("CHATKEEP_METRICS_LISTEN", "")
        .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0")
}

async fn fill(store: &Store, messages: i64) -> Result<()> {
    let (now, user) = (SystemClock.now(), "U1".into());
    let channel = ChannelRef { id: "C1".into(), kind: ChannelKind::Group };
    let evidence = |user: i64| PresenceEvidence {
        channel: channel.clone(),
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        at: now,
        kind: PresenceEvidenceKind::Present(format!("U{user}").into()),
    };
    let evidence: Vec<_> = (1..50).map(evidence).collect();
    store.members().record_presence(&evidence, now).await?;
    store.accounts().subscribe(&"C1".into(), &user, now).await?;
    add_key(store, &user, now).await?;
    let session = NewSession { id: &"bench".into(), secret: SESSION, csrf: "csrf" };
    let person = SignedIn { user: &user, display_name: Some("Ann"), picture_url: None };
    store.sessions().sign_in(&person, &session, now).await?;
    for first in (0..messages).step_by(usize::try_from(BATCH)?) {
        let batch: Result<Vec<_>> = (first..first + BATCH).map(message).collect();
        store.messages().ingest(&batch?, now).await?;
    }
    store.close().await;
    Ok(())
}

/// Returns a message: every hundredth is a photo, every tenth quotes another one.
fn message(n: i64) -> Result<ChannelChange> {
    let content = match n % 100 {
        50 => Content::Image(MediaInfo::default()),
        _ => Content::text(format!("message {n}: 大家今晚幾點到? see you at the station")),
    };
    let received = Received {
        at: Timestamp::from_millis(START + n * STEP),
        sender: Some(format!("U{}", n % 50).into()),
        kind: content.kind(),
        content: serde_json::to_string(&content)?,
        quoted: (n % 10 == 7).then(|| format!("{}", n / 2).into()),
        is_bot: false,
    };
    let change = MessageChange::Received(received);
    Ok(ChannelChange { channel: "C1".into(), message: format!("{n}").into(), change })
}

/// Pages that are measured: those that show a place of the conversation, at many places.
const PAGES: [(&str, PageOf); 27] = [
    ("home", |_| "/console".to_owned()),
    ("newest messages", |_| "/c/C1".to_owned()),
    ("in the middle", |n| format!("/c/C1?around={n}")),
    ("jump to a date", |n| format!("/c/C1?date={}", day(n))),
    ("search", |n| format!("/c/C1/search?q=%22message+{n}%22")),
    ("photos and files", |_| "/c/C1/media".to_owned()),
    ("permalink", |n| format!("/c/C1/m/{n}")),
    ("all activity", |_| "/c/C1/activity?period=all".to_owned()),
    ("recent activity", |_| "/c/C1/activity".to_owned()),
    ("people", |_| "/c/C1/people".to_owned()),
    ("person", |n| format!("/c/C1/people/U{}", n % 49 + 1)),
    ("settings", |_| "/c/C1/settings".to_owned()),
    ("export", |_| "/c/C1/export".to_owned()),
    ("activity log", |_| "/c/C1/activity-log".to_owned()),
    ("readers", |_| "/c/C1/activity-log?show=reads".to_owned()),
    ("assistant", |_| "/c/C1/assistant".to_owned()),
    ("texts", |_| "/c/C1/assistant/texts".to_owned()),
    ("rules", |_| "/c/C1/assistant/rules".to_owned()),
    ("try it", |n| format!("/c/C1/assistant/try?text=message+{n}")),
    ("account", |_| "/console/account".to_owned()),
    ("keys", |_| "/console/account/keys".to_owned()),
    ("new key", |_| "/console/account/keys/new".to_owned()),
    ("webhooks", |_| "/console/account/webhooks".to_owned()),
    ("models", |_| "/console/account/mcp".to_owned()),
    ("sessions", |_| "/console/account/sessions".to_owned()),
    ("my data", |_| "/console/my-data".to_owned()),
    ("my data of a chat", |_| "/console/my-data/chats/C1".to_owned()),
];

/// Returns the day of a message.
fn day(n: i64) -> String {
    let text = Timestamp::from_millis(START + n * STEP).to_string();
    text.chars().take(10).collect()
}

async fn measure(what: &str, program: Program, messages: i64) -> Result<()> {
    let address = ports::free();
    let mut process: Process = program.env("CHATKEEP_LISTEN", address.to_string()).start();
    process.ready(address, "/readyz").await;
    let client = http::client(Duration::from_mins(1));
    let base = format!("http://{address}");
    indexed(&client, &base, messages).await?;
    let wanted: Vec<_> = std::env::args().skip(1).filter(|given| is_page(given)).collect();
    for (name, page) in PAGES {
        if !wanted.is_empty() && !wanted.iter().any(|given| given == name) {
            continue;
        }
        let mut n = 0;
        let (half, most) = latency(ROUNDS, async || {
            // Steps that visit the whole conversation.
            n = (n + 7_919 * 31) % messages;
            open(&client, &format!("{base}{}", page(n))).await
        })
        .await?;
        let goal = if name == "all activity" { ACTIVITY_GOAL } else { GOAL };
        let missed = if most > goal { "  above the goal" } else { "" };
        println!("{what:<11} {name:<17} p50 {half:>9.2?}  p99 {most:>9.2?}{missed}");
    }
    process.kill().await;
    Ok(())
}

fn is_page(given: &str) -> bool {
    PAGES.iter().any(|(name, _)| *name == given)
}

/// Waits until the last message is found.
async fn indexed(client: &Client, base: &str, messages: i64) -> Result<()> {
    let last = messages - 1;
    let url = format!("{base}/api/channels/C1/backup/search?q=%22message+{last}%22");
    let found = async || {
        let answer = client.get(&url).bearer_auth(KEY).send().await?.error_for_status()?;
        let page: Value = serde_json::from_slice(&answer.bytes().await?)?;
        let first = page["hits"][0]["message"]["id"].as_str().context("not found")?;
        ensure!(first == last.to_string(), "another one is found");
        Ok(())
    };
    let start = Instant::now();
    loop {
        match found().await {
            Err(error) if start.elapsed() > INDEXED => {
                return Err(error.context(format!("message {last} was not found in {INDEXED:?}")));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(500)).await,
            found => return found,
        }
    }
}

async fn open(client: &Client, url: &str) -> Result<()> {
    let request = client.get(url).header(COOKIE, format!("chatkeep_session={SESSION}"));
    let answer = request.send().await?.error_for_status()?;
    let page = answer.text().await?;
    ensure!(page.contains("sign-out"), "{url} is not a page of the reader");
    Ok(())
}
