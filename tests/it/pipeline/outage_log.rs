//! Outages in the log: one line when a server goes away, one when it is back, and nothing else
//! above debug, whatever needs the server meanwhile. `/metrics` and `/readyz` show it all the time.

use chatkeep_emulator::{Action, Emulator, Post, Signed};
use reqwest::Method;

use super::conversation::{emulator, group};
use crate::harness::ports;
use crate::harness::postgres::{Durability, Postgres};
use crate::harness::wait::until;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

const AWAY: &str = "is unavailable";
const BACK: &str = "is available again";

fn message(line: &Emulator, chat: &str, user: &str, text: &str) -> Signed {
    let post = Post::Text(text.into());
    let send = Action::Send { chat: chat.to_owned(), user: user.to_owned(), post };
    line.sign(line.build(send).unwrap(), false)
}

/// A service on servers of its own, in use.
struct Bench {
    postgres: Postgres,
    stack: Stack,
    chat: String,
    user: String,
    /// Lines of the log before the outage.
    before: usize,
}

impl Bench {
    async fn start() -> Self {
        let postgres = Postgres::start(Durability::Process).await;
        let mut ground = TestEnv::new(Parts::Servers).await;
        ground.database = Some(postgres.create_database().await);
        let mut stack = Stack::on(ground, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let (chat, user) = (group.chat_id, people[1].user_id.clone());
        stack.drained().await;
        let before = stack.process.stderr().len();
        Self { postgres, stack, chat, user, before }
    }

    /// Uses everything that the service does for somebody; says what the ingress answers.
    async fn use_it(&self) -> Option<u16> {
        let line = &self.stack.line;
        let search = format!("/channels/{}/backup/search?q=words", self.chat);
        // Side by side: each waits some seconds for a database that is away.
        let (answer, ..) = tokio::join!(
            line.post(message(line, &self.chat, &self.user, "some words")),
            self.stack.call(Method::GET, "/me", None),
            self.stack.call(Method::GET, &search, None),
            self.stack.call(Method::GET, "/usage", None),
        );
        answer
    }

    /// Uses it until the log says that so many dependencies are away, and the metrics show it.
    async fn notices(&self, names: &[&str]) {
        until(&format!("{names:?} are noticed"), DEADLINE, async || {
            self.use_it().await;
            let metrics = self.stack.metrics().await;
            let shown = |name: &&&str| {
                let gauge = format!("chatkeep_dependency_up{{dependency=\"{name}\"");
                metrics.lines().any(|line| line.starts_with(&gauge) && line.ends_with(" 0"))
            };
            names.iter().filter(shown).count() == names.len() && !self.stack.ready().await
        })
        .await;
        for _ in 0..2 {
            self.use_it().await;
        }
    }

    /// Uses it until so many lines say that something is back, and all is done.
    async fn recovers(&self, backs: usize) {
        until("it is said to be back", DEADLINE, async || {
            self.use_it().await;
            let lines = self.stack.process.stderr();
            lines.iter().filter(|line| line.contains(BACK)).count() == backs
        })
        .await;
        assert!(self.stack.ready().await);
        self.stack.drained().await;
    }

    /// The lines since the start that an operator has to read.
    fn told(&self) -> Vec<String> {
        let lines = self.stack.process.stderr().split_off(self.before);
        let loud = |line: &String| {
            let line = line.as_str();
            ["WARN", "ERROR", AWAY, BACK].into_iter().any(|part| line.contains(part))
        };
        lines.into_iter().filter(loud).collect()
    }
}

fn assert_told(lines: &[String], expected: &[[&str; 4]]) {
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, parts) in lines.iter().zip(expected) {
        assert!(parts.iter().all(|part| line.contains(part)), "{parts:?}: {line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_nats_is_two_lines() {
    let mut bench = Bench::start().await;
    let url = bench.stack.ground.nats.as_ref().unwrap().url();
    bench.stack.ground.nats.as_mut().unwrap().stop().await;
    bench.notices(&["bus"]).await;
    assert_eq!(bench.use_it().await, Some(503));
    bench.stack.ground.nats.as_mut().unwrap().restart().await;
    bench.recovers(1).await;
    let away = ["WARN", "the bus is unavailable", &url, "setting=\"CHATKEEP_BUS\""];
    let back = ["INFO", "the bus is available again", &url, "away_ms="];
    assert_told(&bench.told(), &[away, back]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_postgresql_is_two_lines() {
    let mut bench = Bench::start().await;
    let url = format!("@{}/", bench.postgres.address());
    bench.postgres.stop().await;
    bench.notices(&["database"]).await;
    bench.postgres.restart().await;
    bench.recovers(1).await;
    let away = ["WARN", "the database is unavailable", &url, "setting=\"CHATKEEP_DATABASE\""];
    let back = ["INFO", "the database is available again", &url, "away_ms="];
    assert_told(&bench.told(), &[away, back]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_both_is_two_lines_each() {
    let mut bench = Bench::start().await;
    bench.postgres.stop().await;
    bench.notices(&["database"]).await;
    bench.stack.ground.nats.as_mut().unwrap().stop().await;
    bench.notices(&["database", "bus"]).await;
    bench.postgres.restart().await;
    bench.stack.ground.nats.as_mut().unwrap().restart().await;
    bench.recovers(2).await;
    let mut told = bench.told();
    let told_last = told.split_off(2);
    let of = |name| [name, AWAY, "setting=", "error="];
    assert_told(&told, &[of("the database"), of("the bus")]);
    assert!(told_last.iter().all(|line| line.contains(BACK)), "{told_last:#?}");
    assert_eq!(told_last.len(), 2, "{told_last:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_a_server_names_address_setting_and_cause_once() {
    let ground = TestEnv::new(Parts::Embedded).await;
    let line = emulator().await;
    let nobody = ports::free();
    let cases = [
        ("CHATKEEP_BUS", format!("nats://bob:s3cret@{nobody}"), "nats://"),
        ("CHATKEEP_DATABASE", format!("postgres://bob:s3cret@{nobody}/chat"), "postgres://"),
    ];
    for (setting, url, scheme) in cases {
        let mut process = ground.program(&line, &["serve"]).env(setting, url).start();
        let status = process.finish().await;
        let said = process.stderr();
        assert_eq!(status.code(), Some(1), "{said:#?}");
        let last = said.last().unwrap();
        for part in [setting, scheme, &nobody.to_string(), "onnection refused"] {
            assert_eq!(last.matches(part).count(), 1, "{part}: {said:#?}");
        }
        assert!(!said.iter().any(|line| line.contains("s3cret")), "{said:#?}");
        let loud = |line: &&String| line.contains("WARN") || line.contains("ERROR");
        assert_eq!(said.iter().filter(loud).count(), 0, "{said:#?}");
    }
}
