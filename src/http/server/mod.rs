//! The HTTP server: accepts connections, and ends those that cost more than they bring.
//!
//! Anybody can open connections and then send nothing, or a byte now and then. So the head of a
//! request has a timeout, bodies and responses have a minimum speed (never a total timeout:
//! exports, files and event streams may take long), and the number of connections is bounded. At
//! the bound it does not reject newcomers but evicts those that have shown the least so far: those
//! without a request, then those that are idle, then those whose body is incomplete, always the
//! oldest first. A quarter of all connections is reserved to webhooks and health checks, so that
//! those are served whatever else goes on. The bodies of requests under way share a bound of memory;
//! at that, those that have been incomplete for longest are evicted.

mod body;
mod connection;
mod connections;
mod entry;
mod open_files;
mod refusal;
mod socket;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use axum::Router;
use chatkeep_core::config::HttpConfig;
use chatkeep_core::metric;
use chatkeep_workers::supervisor::track;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use connection::Connection;
use connections::Connections;
pub use open_files::room_for;

/// Interval between checks of connections.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Pause after a connection could not be accepted, as when there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);
/// Time for ended connections to close.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Serves routes over HTTP/1.1.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its listener's name in metrics: several servers of a process set the same gauges.
    name: &'static str,
    router: Router,
    connections: Arc<Connections>,
}

impl Server {
    /// Creates a server of `router`, named `name` in metrics. With `behind_proxies`, the addresses
    /// of sockets are those of proxies, which have as many connections as they need.
    pub fn new(
        name: &'static str,
        router: Router,
        config: HttpConfig,
        behind_proxies: bool,
    ) -> Self {
        Self { name, router, connections: Arc::new(Connections::new(config, behind_proxies)) }
    }

    /// Accepts connections until `stop` is cancelled, then lets requests under way finish for at
    /// most `drain`, and aborts the rest.
    ///
    /// Handlers find the socket's address as `ConnectInfo<SocketAddr>`.
    #[boxed]
    pub async fn run(self, listener: TcpListener, stop: CancellationToken, drain: Duration) {
        let tasks = TaskTracker::new();
        self.accept(listener, &tasks, &stop).await;
        tasks.close();
        let ends = Instant::now() + drain;
        self.connections.stop();
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        loop {
            tokio::select! {
                () = tasks.wait() => return,
                () = tokio::time::sleep_until(ends) => break,
                _ = ticks.tick() => self.connections.maintain(),
            }
        }
        warn!(connections = tasks.len(), "requests did not finish in time and are aborted");
        self.connections.end_all();
        // A handler that does not yield cannot be aborted; nobody waits for it.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, tasks.wait()).await;
    }

    async fn accept(&self, listener: TcpListener, tasks: &TaskTracker, stop: &CancellationToken) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {
                    self.connections.maintain();
                    self.show();
                }
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => self.take(stream, peer, tasks, stop),
                    Err(error) => self.not_accepted(&error).await,
                }
            }
        }
    }

    /// Sets the gauges of this listener.
    fn show(&self) {
        let (connections, held) = (self.connections.count(), self.connections.held());
        metric::HTTP_CONNECTIONS.count([self.name.into()], connections as u64);
        metric::HTTP_BODY_BYTES.count([self.name.into()], held as u64);
    }

    fn take(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) {
        let Some(admitted) = self.connections.admit(peer.ip()) else {
            metric::HTTP_CLOSED.add(["refused".into()], 1);
            return;
        };
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "cannot set TCP_NODELAY");
        }
        let connection = Connection { router: self.router.clone(), peer, admitted };
        track(tasks, "connection", connection.serve(stream, stop.clone()));
    }

    /// Handles a failed accept. A connection that is gone already is ignored; anything else is a
    /// shortage of the machine, which closing a connection may relieve.
    async fn not_accepted(&self, error: &std::io::Error) {
        use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        warn!(%error, "cannot accept a connection");
        self.connections.evict();
        tokio::time::sleep(PAUSE).await;
    }
}
