//! Messages a second from the bus into the store, beside bare batched inserts into the same kind
//! of database and, for PostgreSQL, beside bare writers of the same rows. `cargo bench --bench drain`;
//! `-- sqlite`, `-- postgres` or `-- nats` for one of the databases, the last without bare writers;
//! a number for as many channels, whose messages come in turn.

#![expect(clippy::disallowed_methods, reason = "benches join what they spawn")]

#[path = "support/bare_insert.rs"]
mod bare_insert;
#[path = "support/bare_rows.rs"]
mod bare_rows;
#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "support/processor.rs"]
mod processor;
#[path = "support/shape.rs"]
mod shape;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use bare_insert::{Figures, Load};
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits, Outgoing};
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::health::Health;
use chatkeep_core::time::{Clock as _, SharedClock, SystemClock, Timestamp};
use chatkeep_platform::line::WebhookBody;
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind, Store};
use chatkeep_workers::backup::Backup;
use chatkeep_workers::tap::Tap;
use chatkeep_workers::{LONG_WAIT, PipelineStage, RecentTraces, Runner, RunnerSettings, StageName};
use harness::nats::Nats;
use harness::postgres::Postgres;
use harness::scratch;
use processor::Processor;
use tokio_util::sync::CancellationToken;

const MESSAGES: usize = 200_000;
/// Channels without a number on the command line.
const CHANNELS: usize = 100;
/// The default of `workers.batch`.
const BATCH: usize = 5_000;
/// Names and numbers of statements of 1,000 rows in a transaction of bare writers: what is usual, and
/// as many as the stage stores at once.
const BARE_TRANSACTIONS: [(&str, usize); 2] = [("1,000 each", 1), ("5,000 each", 5)];
const LEASE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<()> {
    let number = |argument: &String| argument.parse::<usize>().ok();
    let given = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let (numbers, names): (Vec<_>, Vec<_>) = given.partition(|given| number(given).is_some());
    let channels = numbers.first().and_then(number).unwrap_or(CHANNELS).max(1);
    let wanted = |name: &str| names.first().is_none_or(|only| only == name);
    println!("{MESSAGES} messages of {channels} channels");
    if wanted("sqlite") {
        sqlite(channels).await?;
    }
    if wanted("postgres") {
        bare_postgres(channels).await?;
    }
    if wanted("postgres") || wanted("nats") {
        postgres(channels).await?;
    }
    Ok(())
}

async fn sqlite(channels: usize) -> Result<()> {
    let folder = scratch::folder("bench-");
    for (what, statements) in BARE_TRANSACTIONS {
        let file = folder.path().join(format!("bare-{statements}.db"));
        let load = Load { rows: MESSAGES, channels, statements };
        let used = Processor::now();
        print(&format!("SQLite, bare, {what}"), &bare_insert::sqlite(&file, load).await?, &used);
    }
    let store = Store::open(&Database::Sqlite, folder.path(), 4).await?;
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), clock()).await?;
    drain("SQLite, embedded bus", channels, store, Bus::Embedded(bus)).await
}

async fn bare_postgres(channels: usize) -> Result<()> {
    for writers in [1, 2] {
        for (what, statements) in BARE_TRANSACTIONS {
            let database = Postgres::database().await;
            let load = Load { rows: MESSAGES, channels, statements };
            let used = Processor::now();
            let bare = bare_insert::postgres(&database.url(), load, writers).await?;
            print(&format!("PostgreSQL, {writers} bare, {what}"), &bare, &used);
        }
    }
    for (writers, what) in [(1, "  1 writer of our rows"), (2, "  2 writers of our rows")] {
        let database = Postgres::database().await;
        bare_rows::prepare(&database.url(), channels).await?;
        let used = Processor::now();
        let bare = bare_rows::postgres(&database.url(), MESSAGES, channels, writers).await?;
        print(what, &bare, &used);
    }
    Ok(())
}

async fn postgres(channels: usize) -> Result<()> {
    let (database, nats) = (Postgres::database().await, Nats::start().await);
    let url = Database::Postgres(database.url().into());
    let store = Store::open(&url, Path::new("."), 4).await?;
    let bus = NatsBus::connect(&nats.url(), BusLimits::default(), clock()).await?;
    drain("PostgreSQL, NATS", channels, store, Bus::Nats(bus)).await
}

fn print(what: &str, figures: &Figures, used: &Processor) {
    println!("{what:<27} {figures}  {}", used.each(MESSAGES));
}

fn clock() -> SharedClock {
    Arc::new(SystemClock)
}

/// Fills the bus, then lets the backup stage drain it.
async fn drain(what: &str, channels: usize, store: Store, bus: Bus) -> Result<()> {
    bus.ensure(&StageName::Backup.consumer(LEASE)).await?;
    subscribe(&store, channels).await?;
    for first in (0..MESSAGES).step_by(1_000) {
        let body = body(first, 1_000, channels);
        let webhook = WebhookBody::parse(body.as_bytes())?;
        let envelopes = webhook.envelopes("main", Timestamp::from_millis(1));
        let messages = envelopes.iter().map(Outgoing::event).collect::<Result<_, _>>()?;
        bus.publish(messages).await?;
    }
    let stop = CancellationToken::new();
    let runner = Runner::new(
        stage(&store, &bus),
        bus.clone(),
        RunnerSettings { lease: LEASE, max_attempts: 8, long_wait: LONG_WAIT },
        Tap::default(),
        Health::new(clock()),
        stop.clone(),
    );
    let (start, used) = (Instant::now(), Processor::now());
    let running = tokio::spawn(PipelineStage::run(runner));
    loop {
        let begin = Instant::now();
        if stored(&store).await? >= MESSAGES {
            break;
        }
        // Counting takes a twentieth of the time at most.
        tokio::time::sleep((begin.elapsed() * 20).max(Duration::from_millis(20))).await;
    }
    print(what, &Figures::new(MESSAGES, start.elapsed()), &used);
    stop.cancel();
    running.await?;
    bus.close().await;
    store.close().await;
    Ok(())
}

fn stage(store: &Store, bus: &Bus) -> Backup {
    Backup {
        store: store.clone(),
        bus: bus.clone(),
        clock: clock(),
        batch: BATCH,
        traces: RecentTraces::default(),
    }
}

async fn subscribe(store: &Store, channels: usize) -> Result<()> {
    let now = SystemClock.now();
    for channel in 0..channels {
        let id = shape::channel(channel);
        let channel = ChannelRef { id: id.as_str().into(), kind: ChannelKind::Group };
        let item = PresenceEvidence {
            channel,
            platform: PlatformKind::Line,
            bot: "main".to_owned(),
            at: now,
            kind: PresenceEvidenceKind::Present("U1".into()),
        };
        store.members().record_presence(&[item], now).await?;
        store.accounts().subscribe(&id.as_str().into(), &"U1".into(), now).await?;
    }
    Ok(())
}

async fn stored(store: &Store) -> Result<usize> {
    let usage = store.accounts().usage(&"U1".into()).await?;
    let messages: i64 = usage.channels.iter().map(|channel| channel.message_count).sum();
    Ok(usize::try_from(messages)?)
}

fn body(first: usize, count: usize, channels: usize) -> String {
    let event = |n: usize| {
        serde_json::json!({
            "type": "message", "mode": "active", "timestamp": 1_700_000_000_000_u64 + n as u64,
            "webhookEventId": shape::event(n), "deliveryContext": {"isRedelivery": false},
            "source": {"type": "group", "groupId": shape::channel(n % channels),
                       "userId": shape::sender(n, channels)},
            "replyToken": format!("{n:032x}"),
            "message": {"type": "text", "id": shape::message(n), "quoteToken": format!("{n:048x}"),
                        "text": shape::text(n)},
        })
    };
    let events: Vec<_> = (first..first + count).map(event).collect();
    serde_json::json!({"destination": "U1", "events": events}).to_string()
}
