//! Webhook deliveries a second to a local receiver, beside bare requests to it in the same run.
//! `cargo bench --bench hooks`.

#![expect(clippy::disallowed_methods, reason = "benches join what they spawn")]

#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::config::Database;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::id::WebhookId;
use chatkeep_core::message::{Content, MessageChange, MessageType, Received};
use chatkeep_core::signing;
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_platform::Bots;
use chatkeep_store::{
    ChannelChange, LeasedDelivery, NewWebhook, OutboxEventKind, PresenceEvidence,
    PresenceEvidenceKind, Store, StoreError, WebhookChange, WebhookMaker,
};
use chatkeep_workers::RecentTraces;
use chatkeep_workers::notifier::{Bodies, Notifier, NotifierSettings};
use harness::postgres::Postgres;
use harness::scratch;
use tokio_util::sync::CancellationToken;

const MESSAGES: usize = 2_000;
/// Number of webhooks: nearly as many as one user may have; below, the concurrency per webhook.
const WEBHOOKS: usize = 16;
const EACH: usize = 4;
/// Typical size of a delivered body, in bytes.
const BODY: usize = 600;

#[derive(Debug)]
struct Fixed;

impl Bodies for Fixed {
    type Error = StoreError;

    async fn body(&self, _: &LeasedDelivery) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(Some(vec![b'x'; BODY]))
    }

    fn is_transient(error: &StoreError) -> bool {
        error.is_transient()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    println!("{MESSAGES} messages to {WEBHOOKS} webhooks, {EACH} at once to each");
    let folder = scratch::folder("bench-");
    let count = Arc::<AtomicUsize>::default();
    let address = receiver(Arc::clone(&count)).await?;
    bare(address, &count).await?;
    let store = Store::open(&Database::Sqlite, folder.path(), 4).await?;
    deliver("SQLite", store, address, &count).await?;
    let database = Postgres::database().await;
    let url = Database::Postgres(database.url().into());
    deliver("PostgreSQL", Store::open(&url, Path::new("."), 8).await?, address, &count).await
}

async fn receiver(count: Arc<AtomicUsize>) -> Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let take = async |State(count): State<Arc<AtomicUsize>>, _: axum::body::Bytes| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let router = Router::new().fallback(take).with_state(count);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

fn report(name: &str, done: usize, took: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let rate = done as f64 / took.as_secs_f64();
    println!("{name:<12} {rate:>8.0} a second ({done} in {took:.1?})");
}

/// Sends the same number of requests at the same concurrency, and does nothing else.
async fn bare(address: SocketAddr, count: &AtomicUsize) -> Result<()> {
    let http = GuardedClient::new(true)?;
    let start = Instant::now();
    let senders = (0..WEBHOOKS * EACH).map(|_| {
        let http = http.clone();
        tokio::spawn(async move {
            for _ in 0..MESSAGES / EACH {
                let url = http.check(&format!("http://{address}/"))?;
                http.request(reqwest::Method::POST, url).body(vec![b'x'; BODY]).send().await?;
            }
            anyhow::Ok(())
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await??;
    }
    report("bare", count.swap(0, Ordering::Relaxed), start.elapsed());
    Ok(())
}

async fn deliver(name: &str, store: Store, address: SocketAddr, count: &AtomicUsize) -> Result<()> {
    prepare(&store, address).await?;
    let stop = CancellationToken::new();
    let notifier = Notifier {
        store,
        bodies: Fixed,
        http: GuardedClient::new(true)?,
        bots: Bots::default(),
        clock: Arc::new(SystemClock),
        settings: NotifierSettings {
            parallel: WEBHOOKS * EACH,
            parallel_each: EACH,
            timeout: Duration::from_secs(15),
            retries: vec![Duration::from_secs(5)],
            give_up: Duration::from_hours(120),
            keep: Duration::from_hours(720),
            tell_owners: false,
        },
        traces: RecentTraces::default(),
    };
    let start = Instant::now();
    let running = tokio::spawn(Arc::new(notifier).run(stop.clone()));
    let wanted = MESSAGES * WEBHOOKS;
    harness::wait::until("everything is delivered", Duration::from_mins(10), async || {
        count.load(Ordering::Relaxed) >= wanted
    })
    .await;
    report(name, count.swap(0, Ordering::Relaxed), start.elapsed());
    stop.cancel();
    running.await.context("the notifier failed")
}

async fn prepare(store: &Store, address: SocketAddr) -> Result<()> {
    let (channel, user, now) = ("C1".into(), "U1".into(), SystemClock.now());
    let item = |kind| PresenceEvidence {
        channel: ChannelRef { id: "C1".into(), kind: ChannelKind::Group },
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        at: now,
        kind,
    };
    let seen = [PresenceEvidenceKind::BotJoined, PresenceEvidenceKind::Present("U1".into())];
    store.members().record_presence(&seen.map(item), now).await?;
    store.accounts().subscribe(&channel, &user, now).await?;
    let url = format!("http://{address}/");
    for n in 0..WEBHOOKS {
        let (id, secret) = (WebhookId::from(format!("wh_{n}")), signing::secret([1; 32]));
        let change = WebhookChange {
            url: &url,
            description: "",
            events: &[OutboxEventKind::MessageReceived],
            channels: None,
            enabled: true,
        };
        let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
        let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
        store.webhooks().add_webhook(&new, now).await?;
    }
    let messages = (0..MESSAGES).map(|n| ChannelChange {
        channel: channel.clone(),
        message: format!("m{n}").into(),
        change: MessageChange::Received(Received {
            at: now,
            sender: Some(user.clone()),
            kind: MessageType::Text,
            content: serde_json::to_string(&Content::text("hello")).unwrap_or_default(),
            quoted: None,
            is_bot: false,
        }),
    });
    store.messages().ingest(&messages.collect::<Vec<_>>(), now).await?;
    while store.webhooks().fan_out_webhooks(now).await?.is_some() {}
    Ok(())
}
