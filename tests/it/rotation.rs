//! Secrets that are replaced while the service runs, and addresses that it refuses to serve.

use chatkeep_emulator::signature;
use reqwest::StatusCode;
use serde_json::Value;

use crate::harness::http;
use crate::harness::nats::Nats;
use crate::harness::postgres::{Durability, Postgres};
use crate::harness::process::Process;
use crate::harness::wait::until;
use crate::pipeline::conversation::emulator;
use crate::stack::{DEADLINE, Parts, SECRET, TOKEN, TestEnv};

const OLD: &str = "the-former-channel-secret";
const BODY: &str = r#"{"events":[]}"#;

/// Service whose secrets are in files.
struct Service {
    ground: TestEnv,
    process: Process,
    http: reqwest::Client,
}

impl Service {
    /// Starts the service with another channel secret and access token than the platform's.
    async fn start() -> Self {
        Self::start_after(":").await
    }

    /// Starts the same service from a shell that runs this command before.
    async fn start_after(command: &str) -> Self {
        let mut ground = TestEnv::new(Parts::Embedded).await;
        let names = [
            ("CHATKEEP_LINE_CHANNEL_SECRET_FILE", "secret"),
            ("CHATKEEP_LINE_CHANNEL_SECRET_PREVIOUS_FILE", "previous"),
            ("CHATKEEP_LINE_ACCESS_TOKEN_FILE", "token"),
        ];
        for (variable, name) in names {
            let path = ground.folder.path().join(name).display().to_string();
            ground.settings.push((variable, path));
        }
        let line = emulator().await;
        let program = env!("CARGO_BIN_EXE_chatkeep");
        let script = format!(
            "{command}; unset CHATKEEP_LINE_CHANNEL_SECRET CHATKEEP_LINE_ACCESS_TOKEN; \
             exec {program} serve"
        );
        for (name, text) in [("secret", OLD), ("previous", ""), ("token", "not-the-token")] {
            std::fs::write(ground.folder.path().join(name), text).unwrap();
        }
        let mut process = ground.shell(&line, &script).start();
        process.ready(ground.address, "/readyz").await;
        Self { ground, process, http: http::client(DEADLINE) }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.ground.folder.path().join(name), text).unwrap();
    }

    /// Returns the status of a webhook that is signed with this secret.
    async fn webhook(&self, secret: &str) -> StatusCode {
        let url = format!("http://{}/webhook/line", self.ground.address);
        let request =
            self.http.post(url).header("x-line-signature", signature(secret, BODY.as_bytes()));
        request.body(BODY).send().await.unwrap().status()
    }

    /// Returns true if the access token is said to be refused.
    async fn is_token_refused(&self) -> bool {
        let url = format!("http://{}/readyz", self.ground.address);
        let ready: Value = self.http.get(url).send().await.unwrap().json().await.unwrap();
        let problems = ready["problems"].as_array().unwrap();
        problems.iter().any(|problem| problem["part"] == "access_token:main")
    }

    /// Waits until that many lines of the log contain `text`.
    async fn told(&self, text: &str, times: usize) {
        until(text, DEADLINE, async || {
            let log = self.process.stderr();
            log.iter().filter(|line| line.contains(text)).count() >= times
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_replaced_without_a_restart() {
    let mut service = Service::start().await;
    until("the token is refused", DEADLINE, async || service.is_token_refused().await).await;
    assert_eq!(service.webhook(OLD).await, StatusCode::OK);
    assert_eq!(service.webhook(SECRET).await, StatusCode::UNAUTHORIZED);

    for (name, text) in [("secret", SECRET), ("previous", OLD), ("token", TOKEN)] {
        service.write(name, text);
    }
    service.process.reload();
    service.told("the secret was replaced setting=\"line.channel_secret\"", 1).await;
    service.told("the secret was replaced setting=\"line.access_token\"", 1).await;
    for secret in [SECRET, OLD] {
        assert_eq!(service.webhook(secret).await, StatusCode::OK, "both are valid for a while");
    }
    until("the new token works", DEADLINE, async || !service.is_token_refused().await).await;

    service.write("previous", "");
    service.process.reload();
    service.told("setting=\"line.channel_secret_previous\" is_set=false", 1).await;
    assert_eq!(service.webhook(OLD).await, StatusCode::UNAUTHORIZED);
    assert_eq!(service.webhook(SECRET).await, StatusCode::OK);

    // What cannot be read, or is empty, replaces nothing.
    std::fs::remove_file(service.ground.folder.path().join("secret")).unwrap();
    service.process.reload();
    service.told("settings cannot be read again; the present secrets stay in use", 1).await;
    service.write("secret", "");
    service.process.reload();
    service.told("the secret is empty now; the present one stays in use", 1).await;
    assert_eq!(service.webhook(SECRET).await, StatusCode::OK);
    service.write("secret", SECRET);
    service.process.reload();
    service.told("secrets were read again: none has changed", 1).await;

    assert!(service.process.terminate().await.success());
    let log = service.process.stderr().join("\n");
    for secret in [OLD, SECRET, TOKEN, "not-the-token"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_nohup_started_replaces_its_secrets() {
    let mut service = Service::start_after("trap '' HUP").await;
    service.write("secret", SECRET);
    service.process.reload();
    service.told("the secret was replaced setting=\"line.channel_secret\"", 1).await;
    assert_eq!(service.webhook(SECRET).await, StatusCode::OK);
    service.process.reload();
    service.told("secrets were read again: none has changed", 1).await;
    assert!(service.process.terminate().await.success());
}

/// Process that is no child of the test. A failed test kills it.
struct Orphan(String);

impl Orphan {
    fn signal(&self, name: &str) {
        let kill = r#"kill -s "$1" "$2""#;
        let sent =
            std::process::Command::new("sh").args(["-c", kill, "kill", name, &self.0]).status();
        assert!(sent.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.signal("KILL");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_nohup_started_outlives_its_terminal() {
    let (ground, line) = (TestEnv::new(Parts::Embedded).await, emulator().await);
    let file = |name: &str| ground.folder.path().join(name);
    let (log, pid) = (file("log"), file("pid"));
    let program = env!("CARGO_BIN_EXE_chatkeep");
    let inside = format!(
        "trap \"\" HUP; echo $$ >{}; exec {program} serve 2>{}",
        pid.display(),
        log.display()
    );
    let script = format!("exec script --quiet --return --command '{inside}' /dev/null");
    let mut terminal = ground.shell(&line, &script).start();
    terminal.ready(ground.address, "/readyz").await;
    let service = Orphan(std::fs::read_to_string(&pid).unwrap().trim().to_owned());
    terminal.kill().await;
    let told = async |text: &str| {
        until(text, DEADLINE, async || std::fs::read_to_string(&log).unwrap().contains(text)).await;
    };
    told("secrets were read again: none has changed").await;
    let url = format!("http://{}/healthz", ground.address);
    let health = http::client(DEADLINE).get(url).send().await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
    service.signal("TERM");
    told("chatkeep has stopped").await;
    assert!(!std::fs::read_to_string(&log).unwrap().contains("SIGHUP"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_of_servers_are_replaced_without_a_restart() {
    const FIRST: &str = "the-first-password";
    const SECOND: &str = "the-second-password";
    let postgres = Postgres::start(Durability::Process).await;
    let database = postgres.create_database().await;
    database.query(&format!("CREATE ROLE app LOGIN PASSWORD '{FIRST}'")).await;
    database.query("GRANT CREATE, USAGE ON SCHEMA public TO app").await;
    postgres.ask_password_of("app").await;
    let settings = "authorization { user: app, password: $NATS_PASSWORD }".to_owned();
    let mut nats = Nats::configured(settings, FIRST).await;
    let (line, mut ground) = (emulator().await, TestEnv::bare(Parts::Embedded).await);
    let file = |name: &str| ground.folder.path().join(name);
    let (database_file, bus_file) = (file("database"), file("bus"));
    let write = |password: &str| {
        let user = format!("app:{password}");
        std::fs::write(&database_file, database.url_as(&user)).unwrap();
        std::fs::write(&bus_file, format!("nats://{user}@{}", nats.address())).unwrap();
    };
    write(FIRST);
    for (variable, file) in
        [("CHATKEEP_DATABASE_FILE", &database_file), ("CHATKEEP_BUS_FILE", &bus_file)]
    {
        ground.settings.push((variable, file.display().to_string()));
    }
    let mut process = ground.serve(&line).await;
    let connections = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'app'";
    assert_ne!(database.query(connections).await, "0");

    write(SECOND);
    process.reload();
    process.line("the secret was replaced setting=\"database\"").await;
    process.line("the secret was replaced setting=\"bus\"").await;
    // From now on only the new ones are valid, for new connections.
    database.query(&format!("ALTER ROLE app PASSWORD '{SECOND}'")).await;
    let end = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'app'";
    assert_ne!(database.query(end).await, "0");
    nats.change_password(SECOND).await;
    let url = format!("http://{}/readyz", ground.address);
    let http = http::client(DEADLINE);
    until("both are connected again", DEADLINE, async || {
        let ready = http.get(&url).send().await.is_ok_and(|ready| ready.status() == StatusCode::OK);
        ready && database.query(connections).await != "0"
    })
    .await;
    assert!(process.terminate().await.success());
    let log = process.stderr().join("\n");
    assert!(![FIRST, SECOND].iter().any(|secret| log.contains(secret)), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_served_only_where_their_address_is_named() {
    let (ground, line) = (TestEnv::new(Parts::Embedded).await, emulator().await);
    let listen = format!("0.0.0.0:{}", ground.address.port());
    let args = ["--listen", &listen, "serve"];
    let mut refused = ground.program(&line, &args).start();
    assert_eq!(refused.finish().await.code(), Some(2));
    let said = refused.stderr().join("\n");
    assert!(said.contains("CHATKEEP_API_BASE_URL") && said.contains(&listen), "{said}");
    let address = "http://chat.example.org";
    let named = ground.program(&line, &args).env("CHATKEEP_API_BASE_URL", address);
    let mut served = named.start();
    served.ready(ground.address, "/readyz").await;
    served.line("api.base_url is plain http").await;
    assert!(served.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_during_the_start_are_heeded() {
    let (ground, line) = (TestEnv::bare(Parts::Embedded).await, emulator().await);
    let mut reloaded = ground.program(&line, &["serve"]).start();
    reloaded.line("chatkeep starts").await;
    reloaded.reload();
    reloaded.ready(ground.address, "/readyz").await;
    reloaded.line("secrets were read again: none has changed").await;
    assert!(reloaded.terminate().await.success());
    let mut stopped = ground.program(&line, &["serve"]).start();
    stopped.line("chatkeep starts").await;
    assert!(stopped.terminate().await.success());
}
