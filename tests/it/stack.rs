//! A whole chatkeep as its users run it: the built program on real servers, with the emulator in
//! place of LINE.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chatkeep_core::config::Database;
use chatkeep_core::id::{KeyId, UserId};
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_emulator::Emulator;
use chatkeep_store::Store;
use chatkeep_workers::StageName;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};
use tempfile::TempDir;

use crate::harness::nats::Nats;
use crate::harness::postgres::{Postgres, TestDb};
use crate::harness::process::{Process, Program};
pub(crate) use crate::harness::wait::DEADLINE;
use crate::harness::wait::until;
use crate::harness::{http, ports, scratch, sqlite};
use crate::store::unbounded_key;

/// The emulator's own secrets.
pub(crate) const SECRET: &str = "emulator-channel-secret";
pub(crate) const TOKEN: &str = "emulator-access-token";

/// The two ways to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// SQLite and the embedded bus.
    Embedded,
    /// PostgreSQL and NATS JetStream.
    Servers,
}

/// Servers and folders that outlive the program.
pub(crate) struct TestEnv {
    pub(crate) folder: TempDir,
    pub(crate) nats: Option<Nats>,
    pub(crate) database: Option<TestDb>,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: SocketAddr,
    /// File of the program: the one under test unless a test sets another.
    pub(crate) binary: String,
    /// Settings of the program beside the usual.
    pub(crate) settings: Vec<(&'static str, String)>,
}

/// The program on its ground, with LINE.
pub(crate) struct Stack {
    pub(crate) ground: TestEnv,
    pub(crate) line: Emulator,
    pub(crate) process: Process,
    http: reqwest::Client,
    key: String,
}

impl TestEnv {
    /// Prepares servers and folders, with a database as the program leaves it after its first
    /// start.
    pub(crate) async fn new(parts: Parts) -> Self {
        let database = match parts {
            Parts::Embedded => None,
            Parts::Servers => Some(Postgres::migrated().await),
        };
        let ground = Self::on(parts, database).await;
        if parts == Parts::Embedded {
            sqlite::migrate(ground.folder.path()).await;
        }
        ground
    }

    /// Prepares servers and folders with nothing in them.
    pub(crate) async fn bare(parts: Parts) -> Self {
        let database = match parts {
            Parts::Embedded => None,
            Parts::Servers => Some(Postgres::database().await),
        };
        Self::on(parts, database).await
    }

    async fn on(parts: Parts, database: Option<TestDb>) -> Self {
        let nats = match parts {
            Parts::Embedded => None,
            Parts::Servers => Some(Nats::start().await),
        };
        let folder = scratch::folder("stack-");
        let (address, metrics) = (ports::free(), ports::free());
        let binary = env!("CARGO_BIN_EXE_chatkeep").to_owned();
        Self { folder, nats, database, address, metrics, binary, settings: Vec::new() }
    }

    /// Returns the program with these arguments and its whole environment.
    pub(crate) fn program(&self, line: &Emulator, args: &[&str]) -> Program {
        self.told(line, Program::new(&self.binary).args(args.iter().copied()))
    }

    /// Returns a shell script that starts the program in some way, with its whole environment.
    pub(crate) fn shell(&self, line: &Emulator, script: &str) -> Program {
        self.told(line, Program::new("sh").args(["-c", script]))
    }

    fn told(&self, line: &Emulator, program: Program) -> Program {
        let mut program = program
            .env("CHATKEEP_DATA", self.folder.path())
            .env("CHATKEEP_LISTEN", self.address.to_string())
            .env("CHATKEEP_METRICS_LISTEN", self.metrics.to_string())
            .env("CHATKEEP_LINE_CHANNEL_SECRET", SECRET)
            .env("CHATKEEP_LINE_ACCESS_TOKEN", TOKEN)
            .env("CHATKEEP_LINE_API_BASE", line.api_base())
            .env("CHATKEEP_LINE_DATA_API_BASE", line.api_base())
            // Tests send requests faster than allowed; those about the limit set their own.
            .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0");
        if let Some(nats) = &self.nats {
            program = program.env("CHATKEEP_BUS", nats.url());
        }
        if let Some(database) = &self.database {
            program = program.env("CHATKEEP_DATABASE", database.url());
        }
        for (name, value) in &self.settings {
            program = program.env(name, value);
        }
        program
    }

    /// Runs one command to its end and returns its output.
    pub(crate) async fn command(&self, line: &Emulator, args: &[&str]) -> String {
        let mut process = self.program(line, args).start();
        let status = process.finish().await;
        assert!(status.success(), "{args:?}: {status}\n{}", process.stderr().join("\n"));
        process.stdout().join("\n")
    }

    /// Runs one command to its end and returns its side output.
    pub(crate) async fn said(&self, line: &Emulator, args: &[&str]) -> String {
        let mut process = self.program(line, args).start();
        let status = process.finish().await;
        assert!(status.success(), "{args:?}: {status}\n{}", process.stderr().join("\n"));
        process.stderr().join("\n")
    }

    /// Opens the database beside the program.
    pub(crate) async fn store(&self) -> Store {
        let url = self.database.as_ref().map(|database| database.url().into());
        let database = url.map_or(Database::Sqlite, Database::Postgres);
        Store::open(&database, self.folder.path(), 1).await.unwrap()
    }

    /// Changes the database behind the program's back.
    pub(crate) async fn sql(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.query(sql).await;
            return;
        }
        let file = self.folder.path().join("chatkeep.db");
        let address = format!("sqlite://{}", file.display());
        let mut connection = SqliteConnection::connect(&address).await.unwrap();
        connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    }

    /// Starts the service and waits until it is ready.
    pub(crate) async fn serve(&self, line: &Emulator) -> Process {
        let mut process = self.program(line, &["serve"]).start();
        process.ready(self.address, "/readyz").await;
        process
    }
}

impl Stack {
    pub(crate) async fn start(parts: Parts, line: Emulator) -> Self {
        Self::on(TestEnv::new(parts).await, line).await
    }

    pub(crate) async fn on(ground: TestEnv, line: Emulator) -> Self {
        line.set_webhook_url(Some(format!("http://{}/webhook/line", ground.address)));
        let process = ground.serve(&line).await;
        Self { ground, line, process, http: http::client(DEADLINE), key: String::new() }
    }

    /// Returns a further process, on an address of its own.
    pub(crate) fn further(&self, args: &[&str]) -> (Program, SocketAddr) {
        let address = ports::free();
        let program = self
            .ground
            .program(&self.line, args)
            .env("CHATKEEP_LISTEN", address.to_string())
            .env("CHATKEEP_METRICS_LISTEN", "");
        (program, address)
    }

    /// Starts a further process with these roles.
    pub(crate) async fn serve(&self, roles: &str) -> (Process, SocketAddr) {
        let (program, address) = self.further(&["serve", "--roles", roles]);
        let mut process = program.start();
        process.ready(address, "/readyz").await;
        (process, address)
    }

    /// Kills the program without any chance to clean up, and starts it again.
    pub(crate) async fn crash(&mut self) {
        self.process.kill().await;
        self.process = self.ground.serve(&self.line).await;
    }

    /// Calls the API as that person from now on, with all scopes.
    pub(crate) async fn act_as(&mut self, user: &str) {
        static KEYS: AtomicU32 = AtomicU32::new(1);
        let number = KEYS.fetch_add(1, Ordering::Relaxed);
        self.key = format!("ck_test_{number}");
        let (id, user) = (KeyId::from(format!("key_{number}")), UserId::from(user));
        let key = unbounded_key(&id, &self.key, &user);
        let (store, now) = (self.ground.store().await, SystemClock.now());
        store.accounts().add_user(&user, None, now).await.unwrap();
        assert!(store.keys().add_key(&key, now).await.unwrap().is_some());
        store.close().await;
    }

    /// Returns the key of the calls.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Calls the API with that key from now on.
    pub(crate) fn use_key(&mut self, key: &str) {
        key.clone_into(&mut self.key);
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let url = format!("http://{}/api{path}", self.ground.address);
        let mut request = self.http.request(method, url).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        (status, answer.json().await.unwrap_or(Value::Null))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(Method::GET, path, None).await;
        assert!(status.is_success(), "GET {path}: {status} {body}");
        body
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(Method::PUT, path, Some(body)).await;
        assert!(status.is_success(), "PUT {path}: {status} {answer}");
        answer
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(Method::POST, path, Some(body)).await;
        assert!(status.is_success(), "POST {path}: {status} {answer}");
        answer
    }

    /// Returns every stored message of a channel, oldest first.
    pub(crate) async fn messages(&self, channel: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("/channels/{channel}/backup/messages?order=asc&limit=100{next}");
            let page = self.get(&path).await;
            all.extend(page["messages"].as_array().unwrap().iter().cloned());
            match page["nextCursor"].as_str() {
                Some(cursor) => next = format!("&cursor={cursor}"),
                None => return all,
            }
        }
    }

    /// Waits until that many messages of a channel are stored.
    pub(crate) async fn kept(&self, channel: &str, count: usize) {
        let path = "/usage";
        until(&format!("{count} messages kept"), DEADLINE, async || {
            let usage = self.get(path).await;
            usage["channels"][channel]["messageCount"] == json!(count)
        })
        .await;
    }

    /// Checks that the doctor finds no difference, while the service runs.
    pub(crate) async fn is_well(&self) {
        let mut doctor = self.ground.program(&self.line, &["doctor", "--deep"]).start();
        let status = doctor.finish_within(DEADLINE).await;
        let found = [doctor.stdout(), doctor.stderr()].concat().join("\n");
        assert!(status.success(), "{found}");
        assert!(!found.contains("is behind the store"), "{found}");
    }

    /// Changes the database behind the program's back.
    pub(crate) async fn sql(&self, sql: String) {
        self.ground.sql(&sql).await;
    }

    /// Returns true if bus and store respond.
    pub(crate) async fn ready(&self) -> bool {
        let url = format!("http://{}/readyz", self.ground.address);
        self.http.get(url).send().await.is_ok_and(|answer| answer.status() == StatusCode::OK)
    }

    /// Waits until no event waits for any stage, nor for the index.
    pub(crate) async fn drained(&self) {
        self.drained_within(DEADLINE).await;
    }

    pub(crate) async fn drained_within(&self, deadline: Duration) {
        let url = format!("http://{}/metrics", self.ground.metrics);
        until("every stage is through", deadline, async || {
            let Ok(answer) = self.http.get(&url).send().await else {
                return false;
            };
            let text = answer.text().await.unwrap_or_default();
            let backlog: Vec<_> =
                text.lines().filter(|line| line.starts_with("chatkeep_backlog{")).collect();
            let searchable = |line: &str| line == "chatkeep_search_lag_seconds 0";
            backlog.len() == StageName::ALL.len()
                && backlog.iter().all(|line| line.ends_with(" 0"))
                && text.lines().any(searchable)
        })
        .await;
    }

    /// Returns `/metrics`.
    pub(crate) async fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.ground.metrics);
        let answer = self.http.get(url).send().await.unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap();
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        answer.text().await.unwrap()
    }

    /// Waits until the channel and the person in it are known, which subscribing needs.
    pub(crate) async fn known(&self, channel: &str) {
        until("the channel is known", DEADLINE, async || {
            let (status, _) = self.call(Method::GET, &format!("/channels/{channel}"), None).await;
            status == StatusCode::OK
        })
        .await;
    }
}
