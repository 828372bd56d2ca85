//! TCP proxy with which tests break the network between the program and a server.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::ports;

/// Forwards connections to a server until disturbed. Dropping it breaks them all.
///
/// It lives on the runtime of the test that created it.
pub(crate) struct Proxy {
    address: SocketAddr,
    server: SocketAddr,
    flowing: watch::Sender<bool>,
    connections: Arc<Mutex<JoinSet<()>>>,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Opens a proxy in front of `server`.
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let mut proxy = Self {
            address: ports::free(),
            server,
            flowing: watch::Sender::new(true),
            connections: Arc::default(),
            accepting: None,
        };
        proxy.restore().await;
        proxy
    }

    /// Returns the address for clients.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every open connection; new ones are forwarded.
    pub(crate) async fn cut(&self) {
        let mut open =
            std::mem::take(&mut *self.connections.lock().unwrap_or_else(PoisonError::into_inner));
        open.shutdown().await;
    }

    /// Breaks every connection and refuses new ones: the server's machine is up, the server not.
    pub(crate) async fn refuse(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // Its end closes the listener; being aborted is no error here.
            let _ = accepting.await;
        }
        self.cut().await;
    }

    /// Breaks every connection and leads new ones to another server.
    pub(crate) async fn lead_to(&mut self, server: SocketAddr) {
        self.refuse().await;
        self.server = server;
        self.restore().await;
    }

    /// Keeps connections open, accepts new ones, and lets nothing through: packets are lost.
    pub(crate) fn stall(&self) {
        self.flowing.send_replace(false);
    }

    /// Forwards again, on the same port. Data held back by a stall arrives now.
    #[expect(clippy::disallowed_methods, reason = "ended with the proxy")]
    pub(crate) async fn restore(&mut self) {
        self.flowing.send_replace(true);
        if self.accepting.is_some() {
            return;
        }
        let listener = TcpListener::bind(self.address)
            .await
            .unwrap_or_else(|error| panic!("proxy cannot listen on {}: {error}", self.address));
        let (server, flow) = (self.server, self.flowing.subscribe());
        let connections = Arc::clone(&self.connections);
        self.accepting = Some(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut open = connections.lock().unwrap_or_else(PoisonError::into_inner);
                while open.try_join_next().is_some() {} // those that ended by themselves
                open.spawn(forward(client, server, flow.clone()));
            }
        }));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

/// Carries bytes both ways until both sides have closed or one breaks, which breaks the other too.
async fn forward(client: TcpStream, server: SocketAddr, flow: watch::Receiver<bool>) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    // Small packets must not wait for one another: latencies would be the proxy's.
    let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let _ = tokio::try_join!(
        carry(from_client, to_server, flow.clone()),
        carry(from_server, to_client, flow),
    );
}

async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut flow: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        flow.wait_for(|flowing| *flowing).await.map_err(io::Error::other)?;
        if read == 0 {
            // Passes the half-close on; the other direction may still speak.
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}
