//! Real PostgreSQL clusters: one shared by all tests of this process, each with a database of its
//! own, and own ones for tests that stop the server.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use chatkeep_core::config::Database;
use chatkeep_store::Store;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::launch::{Launch, Running, Signal, setpriv};
use super::wait::{DEADLINE, until};
use super::{ports, scratch};

/// Number of ports tried when another process takes the chosen one first.
const ATTEMPTS: usize = 5;

/// User created by Debian's package: PostgreSQL refuses to run as root.
const SYSTEM_USER: &str = "postgres";

/// Role of the tests' connections.
const ROLE: &str = "chatkeep";

/// Durability of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Survives a killed server, not a power cut: nothing is synced to disk. For ordinary tests.
    Process,
    /// As in production. For measurements.
    Disk,
}

/// Running cluster. Dropping it kills it and removes its data.
pub(crate) struct Postgres {
    address: SocketAddr,
    durability: Durability,
    server: Option<Running>,
    folder: TempDir,
}

/// New, empty database, dropped with this value.
pub(crate) struct TestDb {
    address: SocketAddr,
    name: String,
}

impl Postgres {
    /// Creates an empty database in the shared cluster.
    pub(crate) async fn database() -> TestDb {
        Self::shared().await.create_database().await
    }

    /// Creates a database with chatkeep's tables in the shared cluster: a copy of one that was
    /// migrated once.
    pub(crate) async fn migrated() -> TestDb {
        static TEMPLATE: OnceCell<TestDb> = OnceCell::const_new();
        let shared = Self::shared().await;
        let template = TEMPLATE.get_or_init(|| async {
            let template = shared.create_database().await;
            let folder = scratch::folder("template-");
            let url = Database::Postgres(template.url().into());
            let store = Store::open(&url, folder.path(), 1).await;
            store.unwrap_or_else(|error| panic!("cannot migrate: {error}")).close().await;
            template
        });
        let name = &template.await.name;
        // Copied file by file: little more than half of the work of copying through the log.
        shared.create(&format!(" TEMPLATE {name} STRATEGY file_copy")).await
    }

    async fn shared() -> &'static Self {
        static SHARED: OnceCell<Postgres> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(Durability::Process)).await
    }

    /// Starts a cluster of its own, to be stopped and started at will.
    pub(crate) async fn start(durability: Durability) -> Self {
        let folder = scratch::folder("postgres-");
        give_to_system_user(folder.path());
        let mut postgres = Self { address: ports::free(), durability, server: None, folder };
        let mut initdb = postgres.initdb();
        let made = tokio::task::spawn_blocking(move || initdb.output()).await;
        check("initdb", made.map_err(std::io::Error::other).flatten());
        for _ in 0..ATTEMPTS {
            if postgres.try_launch().await {
                return postgres;
            }
            postgres.address = ports::free();
        }
        panic!("PostgreSQL does not start:\n{}", postgres.log());
    }

    /// Creates an empty database in this cluster.
    pub(crate) async fn create_database(&self) -> TestDb {
        self.create("").await
    }

    async fn create(&self, options: &str) -> TestDb {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.run(&format!("CREATE DATABASE {name}{options}")).await;
        TestDb { address: self.address, name }
    }

    /// Has the server ask this role for its password from now on.
    pub(crate) async fn ask_password_of(&self, role: &str) {
        let file = self.data().join("pg_hba.conf");
        let rules = fs::read_to_string(&file).unwrap_or_else(|error| panic!("no rules: {error}"));
        let rules = format!("host all {role} 127.0.0.1/32 scram-sha-256\n{rules}");
        fs::write(&file, rules).unwrap_or_else(|error| panic!("cannot write rules: {error}"));
        self.run("SELECT pg_reload_conf()").await;
    }

    /// Returns the socket, for a proxy in front of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the server at once, as a crash would but without leaking shared memory; connections
    /// break and the next start recovers from the log.
    pub(crate) async fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.signal(Signal::Quit);
            server.wait(DEADLINE).await;
        }
    }

    /// Starts the server again on the same port and data, ending it before if need be.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        assert!(self.try_launch().await, "PostgreSQL does not start again:\n{}", self.log());
    }

    /// Makes a standby of this cluster, which does not run yet.
    pub(crate) async fn standby(&self) -> Self {
        let folder = scratch::folder("standby-");
        give_to_system_user(folder.path());
        let standby =
            Self { address: ports::free(), durability: self.durability, server: None, folder };
        let mut copy = as_system_user(&program("pg_basebackup"));
        copy.args(["--checkpoint=fast", "--write-recovery-conf", "--no-sync", "--username", ROLE])
            .args(["--host", &self.address.ip().to_string()])
            .args(["--port", &self.address.port().to_string(), "--pgdata"])
            .arg(standby.data());
        let copied = tokio::task::spawn_blocking(move || copy.output()).await;
        check("pg_basebackup", copied.map_err(std::io::Error::other).flatten());
        standby
    }

    /// Starts a standby and has every commit wait until it is there, too.
    pub(crate) async fn wait_for(&self, standby: &mut Self) {
        standby.restart().await;
        self.run("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
        self.run("SELECT pg_reload_conf()").await;
        until("commits to wait for the standby", DEADLINE, async || {
            self.run("SELECT sync_state FROM pg_stat_replication").await == "sync"
        })
        .await;
    }

    /// Ends the server at once and has a standby take over, at the same address.
    pub(crate) async fn fail_over(&mut self, mut standby: Self) {
        self.stop().await;
        standby.stop().await;
        std::mem::swap(&mut self.folder, &mut standby.folder);
        assert!(self.try_launch().await, "the standby does not start:\n{}", self.log());
        // It waits for no other one.
        self.run("ALTER SYSTEM RESET synchronous_standby_names").await;
        self.run("SELECT pg_reload_conf()").await;
        assert_eq!(self.run("SELECT pg_promote()").await, "t", "{}", self.log());
    }

    /// Runs a statement in no database of a test, and returns its output.
    async fn run(&self, sql: &str) -> String {
        let mut command = psql(self.address, sql);
        let printed = tokio::task::spawn_blocking(move || command.output()).await;
        check(sql, printed.map_err(std::io::Error::other).flatten())
    }

    /// Starts the server and waits until it is ready; false when it ended instead.
    async fn try_launch(&mut self) -> bool {
        let answers = async || {
            let mut ping = psql(self.address, "SELECT 1");
            let answer = tokio::task::spawn_blocking(move || ping.output()).await;
            matches!(answer, Ok(Ok(output)) if output.status.success())
        };
        let server = self.launch().once("PostgreSQL to accept queries", answers).await;
        self.server = server;
        self.server.is_some()
    }

    fn launch(&self) -> Running {
        let mut launch = Launch::new(program("postgres"), Signal::Quit, system_user());
        launch.log_to(&self.log_file());
        let command = launch.command();
        command.arg("-D").arg(self.data());
        for setting in self.settings() {
            command.args(["-c", &setting]);
        }
        launch.start()
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![
            format!("port={}", self.address.port()),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            // Many concurrent tests, each with pools of its own.
            "max_connections=400".to_owned(),
            "max_prepared_transactions=10".to_owned(),
            "timezone=UTC".to_owned(),
        ];
        if self.durability == Durability::Process {
            // Each of many connections maps the buffers.
            let settings_of_tests = ["fsync=off", "full_page_writes=off", "shared_buffers=32MB"];
            settings.extend(settings_of_tests.map(str::to_owned));
        }
        settings
    }

    fn initdb(&self) -> Command {
        let mut command = as_system_user(&program("initdb"));
        // A collation by language, as servers in the field have: a test must not pass because text
        // sorts by bytes.
        command
            .args(["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"])
            .args(["--locale-provider=icu", "--icu-locale=en", "--no-sync", "--no-instructions"])
            .args(["--username", ROLE, "-D"])
            .arg(self.data());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_else(|error| error.to_string())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            // A killed server would leave its shared memory behind.
            server.signal(Signal::Quit);
            let _ = server.child().wait();
        }
    }
}

impl TestDb {
    /// Returns the address for clients.
    pub(crate) fn url(&self) -> String {
        self.url_through(self.address)
    }

    /// Returns the address for clients of another role.
    pub(crate) fn url_as(&self, role: &str) -> String {
        format!("postgres://{role}@{}/{}", self.address, self.name)
    }

    /// Returns the address of the same database behind a proxy.
    pub(crate) fn url_through(&self, address: SocketAddr) -> String {
        format!("postgres://{ROLE}@{address}/{}", self.name)
    }

    /// Gives this database and another one each other's names, as after a change of what an address leads
    /// to.
    pub(crate) async fn trade_places(&self, other: &Self) {
        let (one, two) = (&self.name, &other.name);
        let steps = [
            format!("ALTER DATABASE {one} ALLOW_CONNECTIONS false"),
            format!("ALTER DATABASE {two} ALLOW_CONNECTIONS false"),
            format!(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
                 WHERE datname IN ('{one}', '{two}')"
            ),
            format!("ALTER DATABASE {one} RENAME TO {one}_{two}"),
            format!("ALTER DATABASE {two} RENAME TO {one}"),
            format!("ALTER DATABASE {one}_{two} RENAME TO {two}"),
            format!("ALTER DATABASE {one} ALLOW_CONNECTIONS true"),
            format!("ALTER DATABASE {two} ALLOW_CONNECTIONS true"),
        ];
        for sql in steps {
            let mut command = psql(self.address, &sql);
            let done = tokio::task::spawn_blocking(move || command.output()).await;
            check(&sql, done.map_err(std::io::Error::other).flatten());
        }
    }

    /// Runs statements and returns their output, one row a line, columns separated by `|`.
    pub(crate) async fn query(&self, sql: &str) -> String {
        let mut command = psql(self.address, sql);
        command.args(["--dbname", &self.name]);
        let printed = tokio::task::spawn_blocking(move || command.output()).await;
        check(sql, printed.map_err(std::io::Error::other).flatten())
    }
}

impl TestDb {
    /// Returns a dump of the database in PostgreSQL's own format.
    pub(crate) async fn dump(&self) -> Vec<u8> {
        let mut command = Command::new(program("pg_dump"));
        command.args(["--format=custom", "--dbname", &self.url()]);
        let dumped = tokio::task::spawn_blocking(move || command.output()).await;
        let dumped = dumped.map_err(std::io::Error::other).flatten();
        let output = dumped.unwrap_or_else(|error| panic!("cannot run pg_dump: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pg_dump failed: {errors}");
        output.stdout
    }

    /// Loads a dump into this database, which is empty.
    pub(crate) async fn load(&self, dump: &[u8]) {
        let folder = scratch::folder("dump-");
        let file = folder.path().join("chatkeep.dump");
        fs::write(&file, dump).unwrap_or_else(|error| panic!("cannot write a dump: {error}"));
        let mut command = Command::new(program("pg_restore"));
        command.args(["--exit-on-error", "--dbname", &self.url()]).arg(file);
        let loaded = tokio::task::spawn_blocking(move || command.output()).await;
        check("pg_restore", loaded.map_err(std::io::Error::other).flatten());
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        // Saves disk space in long runs. A stopped server has taken the database with it.
        let _ = psql(self.address, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).output();
    }
}

/// Returns a `psql` that runs `sql` and prints bare rows.
fn psql(address: SocketAddr, sql: &str) -> Command {
    let mut command = Command::new(program("psql"));
    command
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
        .args(["--set=ON_ERROR_STOP=1", "--username", ROLE, "--host"])
        .arg(address.ip().to_string())
        .args(["--port", &address.port().to_string(), "--command", sql])
        .env("PGDATABASE", "postgres");
    command
}

/// Returns the standard output of a program that must succeed.
fn check(what: &str, output: std::io::Result<Output>) -> String {
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run {what}: {error} (is the package postgresql installed?)")
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} failed: {errors}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Returns a program of the newest PostgreSQL that Debian has installed, else of the search path.
fn program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        versions
            .map(|entry| entry.path().join("bin"))
            .filter(|bin| bin.join("initdb").exists())
            .max_by_key(|bin| version(bin))
            .unwrap_or_default()
    });
    folder.join(name)
}

/// Returns 15 of `/usr/lib/postgresql/15/bin`.
fn version(bin: &Path) -> Option<u32> {
    bin.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Returns the user to run servers as: another one only when we are root.
fn system_user() -> Option<&'static str> {
    let root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    root.then_some(SYSTEM_USER)
}

fn as_system_user(program: &Path) -> Command {
    let Some(user) = system_user() else {
        return Command::new(program);
    };
    let mut command = Command::new(setpriv());
    command.args(["--reuid", user, "--regid", user, "--init-groups", "--"]).arg(program);
    command.current_dir("/");
    command
}

/// Changes the owner of `folder` to the system user.
fn give_to_system_user(folder: &Path) {
    let Some(user) = system_user() else { return };
    let id = |which: &str| {
        let id = check("id", Command::new("id").args([which, user]).output());
        id.parse::<u32>().unwrap_or_else(|error| panic!("strange id {id}: {error}"))
    };
    chown(folder, Some(id("-u")), Some(id("-g")))
        .unwrap_or_else(|error| panic!("cannot give {} away: {error}", folder.display()));
}
