//! A load generator for the webhook ingress that leaves the processor to the server it measures.
//!
//! Requests are signed and built before the clock starts; then plain keep-alive HTTP/1.1 over
//! sockets, one request at a time on each connection, with no HTTP client in between.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Maximum size of a response, in bytes; responses to webhooks are a few hundred.
const MAX_ANSWER: usize = 16 * 1024;

/// Number of groups the events are spread over.
const CHANNELS: usize = 100;

/// Prepared requests, each a signed LINE webhook with one text event of its own id.
pub(crate) struct Requests(Vec<Vec<u8>>);

/// Result of a run.
pub(crate) struct Figures {
    requests: usize,
    failed: usize,
    elapsed: Duration,
    /// Latencies in ascending order.
    latencies: Vec<Duration>,
}

impl Requests {
    /// Prepares `count` requests to `path`, signed with the channel secret.
    pub(crate) fn prepare(count: usize, path: &str, secret: &str) -> Result<Self> {
        let start = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let requests = (0..count).map(|number| request(number, start, path, secret));
        requests.collect::<Result<_>>().map(Self)
    }

    /// Sends all requests over `connections` connections and waits for every response. Blocks the
    /// calling thread, which does all the work: the server must run on threads or in a process of
    /// its own.
    pub(crate) fn send(self, address: SocketAddr, connections: usize) -> Result<Figures> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(self.send_all(address, connections))
    }

    async fn send_all(self, address: SocketAddr, connections: usize) -> Result<Figures> {
        let shared = std::sync::Arc::new((self.0, AtomicUsize::new(0)));
        let mut streams = Vec::with_capacity(connections);
        for _ in 0..connections {
            let stream = TcpStream::connect(address).await.context("connecting")?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let start = Instant::now();
        let mut running = JoinSet::new();
        for stream in streams {
            let shared = std::sync::Arc::clone(&shared);
            running.spawn(async move { exchange(stream, &shared.0, &shared.1).await });
        }
        let mut answers = Vec::with_capacity(shared.0.len());
        while let Some(done) = running.join_next().await {
            answers.extend(done??);
        }
        Ok(Figures::of(answers, start.elapsed()))
    }
}

impl Figures {
    fn of(answers: Vec<(u16, Duration)>, elapsed: Duration) -> Self {
        let failed = answers.iter().filter(|(status, _)| *status != 200).count();
        let mut latencies: Vec<_> = answers.into_iter().map(|(_, latency)| latency).collect();
        latencies.sort_unstable();
        Self { requests: latencies.len(), failed, elapsed, latencies }
    }

    /// Number of responses other than 200. A run with any of them is void.
    pub(crate) fn failed(&self) -> usize {
        self.failed
    }

    /// Returns responses per second.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.requests).unwrap_or(u32::MAX)) / self.elapsed.as_secs_f64()
    }

    /// Returns the latency that `percent` of the requests did not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.requests * percent).div_ceil(100).saturating_sub(1);
        self.latencies.get(rank).copied().unwrap_or_default()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, failed) = (self.rate(), self.failed);
        let (p50, p99) = (self.percentile(50), self.percentile(99));
        write!(out, "{rate:8.0} requests/s  p50 {p50:7.2?}  p99 {p99:7.2?}  failed {failed}")
    }
}

/// Builds one request, ready for a socket. `start` (epoch milliseconds) is part of the ids, so that
/// a server with a store from an earlier run does not treat the events as duplicates.
fn request(number: usize, start: u128, path: &str, secret: &str) -> Result<Vec<u8>> {
    let channel = number % CHANNELS;
    let body = serde_json::json!({
        "destination": "U00000000000000000000000000000b07",
        "events": [{
            "type": "message",
            "mode": "active",
            "timestamp": u64::try_from(start)? + number as u64 / 1000,
            "webhookEventId": format!("01{start:013}{number:011}"),
            "deliveryContext": { "isRedelivery": false },
            "source": {
                "type": "group",
                "groupId": format!("C{channel:032x}"),
                "userId": format!("U{:032x}", number % 1000),
            },
            "replyToken": format!("{start:016x}{number:016x}"),
            "message": {
                "id": format!("{start}{number:08}"),
                "type": "text",
                "quoteToken": "q3Plxr4AgKd",
                "text": format!("Message {number}: shall we meet at the station at half past six?"),
            },
        }],
    })
    .to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())?;
    mac.update(body.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let length = body.len();
    Ok(format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         X-Line-Signature: {signature}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes())
}

/// Sends requests until none are left; returns status code and latency of each.
async fn exchange(
    mut stream: TcpStream,
    requests: &[Vec<u8>],
    next: &AtomicUsize,
) -> Result<Vec<(u16, Duration)>> {
    let mut answers = Vec::new();
    let mut buffer = vec![0; MAX_ANSWER];
    while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
        let sent = Instant::now();
        stream.write_all(request).await?;
        answers.push((answer(&mut stream, &mut buffer).await?, sent.elapsed()));
    }
    Ok(answers)
}

/// Reads one whole response; returns its status code.
async fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<u16> {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            bail!("the server closed the connection, or its answer is over {MAX_ANSWER} bytes");
        }
        filled += read;
        let Some(head) = head_length(&buffer[..filled]) else {
            continue;
        };
        let (status, body) = parse_head(&buffer[..head])?;
        if filled >= head + body {
            return Ok(status);
        }
    }
}

fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|end| end + 4)
}

/// Parses status code and body length from a response head.
fn parse_head(head: &[u8]) -> Result<(u16, usize)> {
    let head = std::str::from_utf8(head)?;
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status line")?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or("0", |(_, value)| value.trim());
    Ok((status.parse()?, length.parse()?))
}
