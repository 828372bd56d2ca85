//! Webhooks a second at the ingress, durable publish included, beside a bare server that does the
//! same work with nothing around it. `cargo bench --bench ingress`.

#![expect(
    clippy::disallowed_methods,
    reason = "benches join what they spawn, and events have the present time"
)]

#[path = "support/bare.rs"]
mod bare;
#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;
#[path = "support/load.rs"]
mod load;
#[path = "support/processor.rs"]
mod processor;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::{Config, RateLimitConfig, Sources};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::health::Health;
use chatkeep_core::time::{SharedClock, SystemClock};
use chatkeep_http::rate_limit::Limiter;
use chatkeep_http::server::Server as HttpServer;
use chatkeep_ingress::{Ingress, IngressBot, IngressBots};
use chatkeep_platform::line::LineWebhooks;
use chatkeep_workers::StageName;
use chatkeep_workers::tap::Tap;
use harness::nats::Nats;
use harness::process::{Process, Program};
use harness::{ports, scratch};
use load::{Figures, Requests};
use processor::Processor;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const SECRET: &str = "bench";
const CONNECTIONS: usize = 64;
const REQUESTS: usize = 100_000;
/// Runs of the bare server and of the ingress in turn: the machine is not the same for a minute.
const ROUNDS: usize = 3;
/// Clients of a crowd.
const IDLE: usize = 1_000;
const SLOW: usize = 200;
/// The default of `bus_limits.dedupe_window_seconds`.
const WINDOW: Duration = Duration::from_mins(10);

/// Argument with which this program starts itself again as the bare server; below, as chatkeep's
/// ingress on the embedded bus with no stage beside it.
const BARE: &str = "bare-server";
const EMBEDDED: &str = "embedded-ingress";
/// The same ingress without the limits of chatkeep's own HTTP server.
const UNBOUNDED: &str = "embedded-ingress-unbounded";

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let role = args.next();
    if role.as_deref() == Some(BARE) {
        let url = args.next().unwrap_or_default();
        println!("{}", bare::serve(&url, SECRET, WINDOW).await?);
        return std::future::pending().await;
    }
    if let Some(role @ (EMBEDDED | UNBOUNDED)) = role.as_deref() {
        let folder = args.next().unwrap_or_default();
        println!("{}", embedded_ingress(Path::new(&folder), role == EMBEDDED).await?);
        return std::future::pending().await;
    }
    println!("{REQUESTS} webhooks of one event, {CONNECTIONS} connections");
    let mut shares = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let floor = on_nats(Server::Bare).await?;
        let ingress = on_nats(Server::Ingress).await?;
        shares.push(100.0 * ingress.rate() / floor.rate());
        println!("  p99 of the bare server: {:?}", floor.percentile(99));
    }
    println!("ingress of bare, in percent: {shares:.0?}");
    on_nats(Server::Everything).await?;
    for (what, role) in
        [("embedded, bare axum::serve", UNBOUNDED), ("embedded, ingress only", EMBEDDED)]
    {
        let embedded = scratch::folder("bench-");
        let data = embedded.path().display().to_string();
        let itself = std::env::current_exe()?.display().to_string();
        let mut alone = Program::new(&itself).args([role, &data]).start();
        let address = alone.line("127.0.0.1:").await.parse()?;
        measure(what, address).await?;
        if role == EMBEDDED {
            let crowd = Crowd::gather(address).await?;
            measure(&format!("  beside {IDLE} idle, {SLOW} slow clients"), address).await?;
            drop(crowd);
        }
    }
    let embedded = scratch::folder("bench-");
    let data = embedded.path().display().to_string();
    let (process, address) = chatkeep("embedded", &data, None).await;
    measure("embedded, all roles", address).await?;
    drop(process);
    Ok(())
}

/// Clients that hold their connections: some send nothing, others a byte of a head now and then.
struct Crowd {
    idle: Vec<TcpStream>,
    slow: JoinSet<()>,
}

impl Crowd {
    async fn gather(address: SocketAddr) -> Result<Self> {
        let mut crowd = Self { idle: Vec::with_capacity(IDLE), slow: JoinSet::new() };
        for _ in 0..IDLE {
            crowd.idle.push(TcpStream::connect(address).await?);
        }
        for _ in 0..SLOW {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(b"POST /webhook/line HTTP/1.1\r\nhost: bench\r\nx-slow: ").await?;
            crowd.slow.spawn(async move {
                // Until the server has had enough of it.
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            });
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.slow.abort_all();
        self.idle.clear();
    }
}

#[derive(Clone, Copy)]
enum Server {
    Bare,
    Ingress,
    Everything,
}

async fn on_nats(server: Server) -> Result<Figures> {
    let nats = Nats::start().await;
    let folder = scratch::folder("bench-");
    let data = folder.path().display().to_string();
    let (what, roles) = match server {
        Server::Bare => {
            let itself = std::env::current_exe()?.display().to_string();
            let mut bare = Program::new(&itself).args([BARE, &nats.url()]).start();
            let address = bare.line("127.0.0.1:").await.parse()?;
            return measure("NATS, bare axum server", address).await;
        }
        Server::Ingress => ("NATS, ingress only", Some("ingress")),
        Server::Everything => ("NATS, all roles", None),
    };
    let (process, address) = chatkeep(&nats.url(), &data, roles).await;
    let figures = measure(what, address).await?;
    drop(process);
    Ok(figures)
}

/// Starts the ingress as the program puts it together, without anything that drains the bus: on two
/// processors the stages' share would hide the throughput of the ingress.
async fn embedded_ingress(folder: &Path, bounded: bool) -> Result<SocketAddr> {
    let clock: SharedClock = Arc::new(SystemClock);
    let bus = EmbeddedBus::open(folder, BusLimits::default(), Arc::clone(&clock)).await?;
    let bus = Bus::Embedded(bus);
    for stage in StageName::ALL {
        bus.ensure(&stage.consumer(Duration::from_secs(30))).await?;
    }
    let webhooks =
        LineWebhooks::new(&[SECRET.to_owned().into()]).context("the secret is not empty")?;
    let rejected = RateLimitConfig { per_minute: 600, burst: 600 };
    let rejected = Limiter::alone(rejected, Arc::clone(&clock));
    let bots = IngressBots::new([IngressBot::new(
        "main",
        Arc::new(webhooks),
        None,
        Health::new(Arc::new(SystemClock)),
    )]);
    let (tap, disk) = (Tap::default(), DiskReserve::new(0));
    let ingress = Ingress { bus, bots, clock, tap, rejected, proxies: 0, disk };
    let router = chatkeep_ingress::router(ingress, 1024 * 1024);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    if bounded {
        let http = Config::load(Sources::default())?.http;
        let server = HttpServer::new("service", router, http, false);
        tokio::spawn(server.run(listener, CancellationToken::new(), Duration::ZERO));
    } else {
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    Ok(address)
}

async fn chatkeep(bus: &str, data: &str, roles: Option<&str>) -> (Process, SocketAddr) {
    let address = ports::free();
    let listen = address.to_string();
    let mut args = vec!["--listen", &listen, "--data", data, "--bus", bus, "serve"];
    if let Some(roles) = roles {
        args.extend(["--roles", roles]);
    }
    let mut process = Program::chatkeep()
        .args(args)
        .env("CHATKEEP_LINE_CHANNEL_SECRET", SECRET)
        .env("CHATKEEP_LINE_ACCESS_TOKEN", "none")
        // An unused port: names stay unknown, which this measurement does not need.
        .env("CHATKEEP_LINE_API_BASE", "http://127.0.0.1:9")
        .env("CHATKEEP_METRICS_LISTEN", "")
        .env("CHATKEEP_LOG_FILTER", "warn")
        .start();
    process.ready(address, "/readyz").await;
    (process, address)
}

async fn measure(what: &str, address: SocketAddr) -> Result<Figures> {
    send(2_000, address).await?;
    let used = Processor::now();
    let figures = send(REQUESTS, address).await?;
    println!("{what:<26} {figures}  {}", used.each(REQUESTS));
    ensure!(figures.failed() == 0, "requests failed: the figures mean nothing");
    Ok(figures)
}

/// Runs the load generator, which has a runtime of its own that cannot start inside another one.
async fn send(count: usize, address: SocketAddr) -> Result<Figures> {
    let load = move || Requests::prepare(count, bare::PATH, SECRET)?.send(address, CONNECTIONS);
    tokio::task::spawn_blocking(load).await?
}
