//! A real `nats-server` with `JetStream`, one for each test that needs one.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;

use super::launch::{Launch, Running, Signal};
use super::wait::DEADLINE;
use super::{ports, scratch};

/// Number of ports tried when another process takes the chosen one first.
const ATTEMPTS: usize = 5;

/// Server with a port and a store of its own. Dropping it kills it and removes the store.
pub(crate) struct Nats {
    address: SocketAddr,
    /// Settings file, and the password that it reads from the environment.
    settings: Option<(String, String)>,
    server: Option<Running>,
    folder: TempDir,
}

impl Nats {
    /// Starts a server and waits until it serves clients, with `JetStream`.
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts one with these settings and `NATS_PASSWORD`.
    pub(crate) async fn configured(settings: String, password: &str) -> Self {
        Self::start_with(Some((settings, password.to_owned()))).await
    }

    async fn start_with(settings: Option<(String, String)>) -> Self {
        let folder = scratch::folder("nats-");
        let mut nats = Self { address: ports::free(), settings, server: None, folder };
        for _ in 0..ATTEMPTS {
            if nats.try_launch().await {
                return nats;
            }
            nats.address = ports::free();
        }
        panic!("nats-server does not start:\n{}", nats.log());
    }

    /// Restarts a configured server with another `NATS_PASSWORD`.
    pub(crate) async fn change_password(&mut self, password: &str) {
        if let Some((_, present)) = &mut self.settings {
            password.clone_into(present);
        }
        self.restart().await;
    }

    /// Returns the address for clients.
    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Returns the socket, for a proxy in front of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the server gracefully; its store stays.
    pub(crate) async fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.signal(Signal::Term);
            server.wait(DEADLINE).await;
        }
    }

    /// Kills the server as a crash would; its store stays as it is on disk.
    pub(crate) fn kill(&mut self) {
        self.server = None;
    }

    /// Kills the server and starts it again on the same port with an empty store.
    pub(crate) async fn lose_everything(&mut self) {
        self.kill();
        let store = self.folder.path().join("jetstream");
        fs::remove_dir_all(&store)
            .unwrap_or_else(|error| panic!("cannot remove {}: {error}", store.display()));
        self.restart().await;
    }

    /// Starts the server again on the same port and store, ending it before if need be.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        assert!(self.try_launch().await, "nats-server does not start again:\n{}", self.log());
    }

    /// Starts the server and waits until it is ready; false when it ended instead.
    async fn try_launch(&mut self) -> bool {
        let greets = async || greets(self.address).await;
        let server = self.launch().once("nats-server to accept clients", greets).await;
        self.server = server;
        self.server.is_some()
    }

    fn launch(&self) -> Running {
        let mut launch = Launch::new(program(), Signal::Kill, None);
        launch.log_to(&self.log_file());
        launch
            .command()
            .args(["--jetstream", "--addr", "127.0.0.1", "--port"])
            .arg(self.address.port().to_string())
            .arg("--store_dir")
            .arg(self.folder.path());
        if let Some((settings, password)) = &self.settings {
            let file = self.folder.path().join("nats.conf");
            fs::write(&file, settings)
                .unwrap_or_else(|error| panic!("cannot write the settings: {error}"));
            let monitor = ports::free().port().to_string();
            let command = launch.command().env("NATS_PASSWORD", password);
            command.arg("--config").arg(file).args(["--http_port", &monitor]);
        }
        launch.start()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_else(|error| error.to_string())
    }
}

/// Returns `nats-server` of the search path, or Debian's: not on an ordinary user's path.
fn program() -> &'static str {
    if Command::new("nats-server").arg("--version").output().is_ok() {
        "nats-server"
    } else {
        "/usr/sbin/nats-server"
    }
}

/// Returns true if a NATS server with `JetStream` introduces itself there.
async fn greets(address: SocketAddr) -> bool {
    let Ok(stream) = TcpStream::connect(address).await else {
        return false;
    };
    let mut greeting = String::new();
    let read = BufReader::new(stream).read_line(&mut greeting).await;
    read.is_ok() && greeting.starts_with("INFO ") && greeting.contains(r#""jetstream":true"#)
}
