//! `get_overview` on a channel of 1,000,000 messages of a year, and on a busy one.

use std::path::Path;

use anyhow::Result;
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::message::{
    Content, MediaInfo, Mention, MessageChange, MessageType, Received, Sticker,
};
use chatkeep_core::time::{Clock as _, SystemClock, Timestamp};
use chatkeep_store::{ChannelChange, PresenceEvidence, PresenceEvidenceKind, Store};
use serde_json::{Value, json};

use super::corpus::{Language, Numbers};
use super::harness::postgres::Postgres;
use super::harness::process::Process;
use super::harness::{http, ports, scratch};
use super::people::{add_key, latency};
use super::{ROUNDS, call, program, wanted};

/// Channels with the number of their messages and the time between two in milliseconds: a million in
/// a year, and 300,000 in a month.
const CHANNELS: [(&str, usize, i64); 2] = [("C1", 1_000_000, 31_500), ("C2", 300_000, 9_000)];
/// People of a channel.
const PEOPLE: usize = 200;

/// Measures the tool on both databases.
pub(crate) async fn run() -> Result<()> {
    println!("get_overview on {CHANNELS:?}; {ROUNDS} calls each, goal 50 ms");
    if wanted("sqlite") {
        let folder = scratch::folder("bench-");
        fill(&Store::open(&Database::Sqlite, folder.path(), 4).await?).await?;
        measure("SQLite", program(folder.path()).args(["--roles", "api"])).await?;
    }
    if !wanted("postgres") {
        return Ok(());
    }
    let (folder, database) = (scratch::folder("bench-"), Postgres::database().await);
    let url = Database::Postgres(database.url().into());
    fill(&Store::open(&url, Path::new("."), 4).await?).await?;
    let program = program(folder.path()).args(["--roles", "api"]);
    measure("PostgreSQL", program.env("CHATKEEP_DATABASE", database.url())).await
}

async fn fill(store: &Store) -> Result<()> {
    let now = SystemClock.now();
    for (channel, ..) in CHANNELS {
        let evidence = |person: usize| PresenceEvidence {
            channel: ChannelRef { id: channel.into(), kind: ChannelKind::Group },
            platform: PlatformKind::Line,
            bot: "main".to_owned(),
            at: now,
            kind: PresenceEvidenceKind::Present(format!("U{person}").into()),
        };
        let evidence: Vec<_> = (0..PEOPLE).map(evidence).collect();
        store.members().record_presence(&evidence, now).await?;
        store.accounts().subscribe(&channel.into(), &"U0".into(), now).await?;
    }
    add_key(store, &"U0".into(), now).await?;
    let (languages, mut numbers) = (Language::all(), Numbers(1));
    for (channel, messages, step) in CHANNELS {
        for first in (0..messages).step_by(1_000) {
            let mut batch = Vec::new();
            for n in first..first + 1_000 {
                let at = now.millis() - i64::try_from(messages - n)? * step;
                batch.extend(message((channel, n, at), &languages, &mut numbers)?);
            }
            store.messages().ingest(&batch, now).await?;
        }
    }
    store.close().await;
    Ok(())
}

/// Returns a message, perhaps with its edit or unsend: of a hundred 12 are stickers or files, 8 ask,
/// 3 have a link, 3 a mention, 10 quote.
fn message(
    (channel, n, at): (&str, usize, i64),
    languages: &[Language],
    numbers: &mut Numbers,
) -> Result<Vec<ChannelChange>> {
    let mut text = languages[numbers.below(languages.len())].message(numbers);
    let dice = numbers.below(100);
    let user_id = Some(format!("U{}", numbers.below(PEOPLE)).into());
    let mut mentions = Vec::new();
    match dice {
        0..8 => text.push('?'),
        8..11 => text = format!("{text} https://h{}.example/{n}", numbers.below(40)),
        11..14 => {
            mentions = vec![Mention { user_id, start: 0, length: 2, is_self: false, is_all: None }];
        }
        _ => {}
    }
    let content = match dice {
        80..88 => Content::Sticker(Sticker::default()),
        88..92 => Content::File(MediaInfo { file_name: Some(text), ..MediaInfo::default() }),
        _ => Content::Text { text, emojis: Vec::new(), mentions },
    };
    let quoted = (numbers.below(10) == 0).then(|| n.saturating_sub(1 + numbers.below(20)));
    let received = Received {
        at: Timestamp::from_millis(at),
        sender: Some(format!("U{}", numbers.below(PEOPLE)).into()),
        kind: content.kind(),
        content: serde_json::to_string(&content)?,
        quoted: quoted.map(|n| format!("{n}").into()),
        is_bot: false,
    };
    let is_text = received.kind == MessageType::Text;
    let later = Timestamp::from_millis(at + 60_000);
    let change =
        |change| ChannelChange { channel: channel.into(), message: format!("{n}").into(), change };
    let mut changes = vec![change(MessageChange::Received(received))];
    match numbers.below(400) {
        0 => changes.push(change(MessageChange::Unsent { at: later })),
        1 if is_text => {
            let content = serde_json::to_string(&Content::text("as I said"))?;
            changes.push(change(MessageChange::Edited { at: later, by: None, content }));
        }
        _ => {}
    }
    Ok(changes)
}

async fn measure(what: &str, program: super::Program) -> Result<()> {
    let address = ports::free();
    let program = program.env("CHATKEEP_LISTEN", address.to_string());
    let mut process: Process = program.start();
    process.ready(address, "/readyz").await;
    let client = http::client(std::time::Duration::from_mins(1));
    let url = format!("http://{address}/mcp");
    for channel in [Some("C1"), Some("C2"), None] {
        for days in [1, 7, 31] {
            let arguments: Value = match channel {
                Some(channel) => json!({"channelId": channel, "days": days}),
                None => json!({"days": days}),
            };
            let one = async || call(&client, &url, "get_overview", arguments.clone()).await;
            let (half, most) = latency(ROUNDS, one).await?;
            let of = channel.unwrap_or("all");
            println!("{what:<11} {of:<4} {days:>2} days  p50 {half:>9.2?}  p99 {most:>9.2?}");
        }
    }
    process.kill().await;
    Ok(())
}
