//! A dedicated NATS server: free port, own folder, stopped with its test.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;

/// Paths of the oldest server that is supported: Debian's is not on everyone's `PATH`.
const OLDEST: &[&str] = &["nats-server", "/usr/sbin/nats-server"];
/// Path of the server that `deploy/` names.
const CURRENT: &[&str] =
    &[concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/nats/.venv/bin/nats-server")];

pub(crate) struct NatsServer {
    programs: &'static [&'static str],
    port: u16,
    arguments: Vec<String>,
    folder: TempDir,
    process: Option<Child>,
}

impl NatsServer {
    /// Starts the oldest server that is supported.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        Self::start_one_of(OLDEST, arguments).await
    }

    /// Starts the server that `deploy/` names.
    pub(crate) async fn start_current(arguments: &[&str]) -> Self {
        Self::start_one_of(CURRENT, arguments).await
    }

    async fn start_one_of(programs: &'static [&'static str], arguments: &[&str]) -> Self {
        let mut server = Self {
            programs,
            port: free_port(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            folder: TempDir::new().unwrap(),
            process: None,
        };
        server.restart().await;
        server
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills the server at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Restarts the server on the same port with its stored data.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        self.process = Some(spawn(self.programs, self.port, self.folder.path(), &self.arguments));
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.is_err() {
            assert!(tokio::time::Instant::now() < deadline, "nats-server did not start");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Restarts the server without its stored data.
    pub(crate) async fn restart_empty(&mut self) {
        self.kill();
        self.folder = TempDir::new().unwrap();
        self.restart().await;
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(programs: &[&str], port: u16, folder: &Path, arguments: &[String]) -> Child {
    for program in programs {
        let spawned = Command::new(program)
            .args(["--addr", "127.0.0.1", "--port", &port.to_string(), "--jetstream"])
            .arg("--store_dir")
            .arg(folder)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match spawned {
            Ok(process) => return process,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => panic!("{program} does not start: {error}"),
        }
    }
    panic!("these tests need nats-server, which tests/run installs: {programs:?}")
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
