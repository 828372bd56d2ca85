//! Tests of the test bench itself: a bench that does not break anything proves nothing.

#![cfg(test)]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

use crate::harness::nats::Nats;
use crate::harness::postgres::{Durability, Postgres};
use crate::harness::process::Program;
use crate::harness::proxy::Proxy;
use crate::harness::wait::{DEADLINE, until};
use crate::harness::{ports, scratch};

#[tokio::test]
async fn nats_keeps_its_port_and_store_over_a_crash_and_a_restart() {
    let mut nats = Nats::start().await;
    let url = nats.url();
    let stream =
        async_nats::jetstream::stream::Config { name: "KEPT".into(), ..Default::default() };
    let client = async_nats::connect(&url).await.unwrap();
    async_nats::jetstream::new(client).create_stream(stream).await.unwrap();

    for crash in [true, false] {
        if crash {
            nats.kill();
        } else {
            nats.stop().await;
        }
        assert!(TcpStream::connect(nats.address()).await.is_err(), "the server is still there");
        nats.restart().await;
        assert_eq!(nats.url(), url);
        let client = async_nats::connect(&url).await.unwrap();
        let kept = async_nats::jetstream::new(client).get_stream("KEPT").await;
        assert!(kept.is_ok(), "the stream is lost: {kept:?}");
    }
}

#[tokio::test]
async fn each_database_is_its_own_in_one_shared_cluster() {
    let (first, second) = tokio::join!(Postgres::database(), Postgres::database());
    first.query("CREATE TABLE only_in_first ()").await;
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'only_in_first'";
    assert_eq!(first.query(tables).await, "1");
    assert_eq!(second.query(tables).await, "0");
    assert_ne!(first.url(), second.url());
    let cluster = "SELECT inet_server_port()";
    assert_eq!(first.query(cluster).await, second.query(cluster).await);
}

#[tokio::test]
async fn a_dropped_database_is_gone() {
    let (left, dropped) = tokio::join!(Postgres::database(), Postgres::database());
    let name = dropped.query("SELECT current_database()").await;
    let exists = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(left.query(&exists).await, "1");
    drop(dropped);
    assert_eq!(left.query(&exists).await, "0");
}

#[tokio::test]
async fn an_own_cluster_keeps_its_data_over_a_restart() {
    let mut postgres = Postgres::start(Durability::Disk).await;
    let database = postgres.create_database().await;
    assert_eq!(database.query("SHOW fsync").await, "on");
    database.query("CREATE TABLE kept AS SELECT 7 AS value").await;
    postgres.stop().await;
    assert!(TcpStream::connect(postgres.address()).await.is_err(), "the server is still there");
    postgres.restart().await;
    assert_eq!(database.query("SELECT value FROM kept").await, "7");
}

#[tokio::test]
async fn text_does_not_sort_by_bytes_in_the_test_cluster() {
    let database = Postgres::database().await;
    assert_eq!(database.query("SELECT 'a' < 'B'").await, "t");
}

#[tokio::test]
async fn a_database_is_reached_through_a_proxy() {
    let postgres = Postgres::start(Durability::Process).await;
    let database = postgres.create_database().await;
    let proxy = Proxy::to(postgres.address()).await;
    let pool = sqlx::PgPool::connect(&database.url_through(proxy.address())).await.unwrap();
    let answer = sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&pool).await.unwrap();
    assert_eq!(answer, 1);
}

#[tokio::test]
async fn the_proxy_forwards_cuts_refuses_and_restores() {
    let mut proxy = Proxy::to(echo_server().await).await;
    let mut first = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut first).await);

    proxy.cut().await;
    assert!(!echoes(&mut first).await, "a cut connection still works");
    let mut second = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut second).await, "a cut refuses new connections");

    proxy.refuse().await;
    assert!(!echoes(&mut second).await, "a refusing proxy keeps old connections");
    // A program that another test starts at this moment has the closed socket until it runs.
    until("a new connection is refused", DEADLINE, async || {
        TcpStream::connect(proxy.address()).await.is_err()
    })
    .await;

    proxy.restore().await;
    let mut third = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut third).await, "nothing is forwarded after restoring");
}

#[tokio::test]
async fn a_stalled_proxy_holds_bytes_back_until_it_is_restored() {
    let mut proxy = Proxy::to(echo_server().await).await;
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert!(echoes(&mut client).await);
    proxy.stall();
    client.write_all(b"held").await.unwrap();
    let mut answer = [0; 4];
    // Silence can only be observed by waiting for a while.
    let silence = Duration::from_millis(200);
    let early = tokio::time::timeout(silence, client.read_exact(&mut answer)).await;
    assert!(early.is_err(), "bytes passed a stalled proxy");
    proxy.restore().await;
    tokio::time::timeout(DEADLINE, client.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"held");
}

#[tokio::test]
async fn a_process_is_watched_and_ended() {
    let script = "trap 'echo ending >&2; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let mut process = Program::new("sh").args(["-c", script]).start();
    assert_eq!(process.line("ready").await, "ready");
    assert!(process.resident_bytes() > 100_000);
    assert_eq!(process.terminate().await.code(), Some(7));
    assert_eq!(process.stdout(), ["ready"]);
    assert_eq!(process.stderr(), ["ending"]);
}

#[tokio::test]
async fn a_killed_process_is_gone() {
    let mut process = Program::new("sh").args(["-c", "echo $$; exec sleep 600"]).start();
    let pid = process.line("").await;
    assert!(Path::new("/proc").join(&pid).exists());
    process.kill().await;
    assert!(!Path::new("/proc").join(&pid).exists(), "it runs, or is a zombie");
}

#[tokio::test]
async fn a_process_gets_its_own_environment_and_folder_only() {
    let folder = scratch::folder("folder-");
    let program = Program::new("sh").args(["-c", "env; pwd"]).folder(folder.path());
    let mut process = program.env("GIVEN", "yes").start();
    assert!(process.finish().await.success());
    let printed = process.stdout();
    assert!(printed.contains(&"GIVEN=yes".to_owned()));
    assert!(!printed.iter().any(|line| line.starts_with("CARGO")), "cargo's variables are there");
    assert!(printed.contains(&folder.path().display().to_string()));
}

#[tokio::test]
async fn readiness_is_an_answer_of_200() {
    let address = ports::free();
    let server = tokio::spawn(async move {
        let listener = TcpListener::bind(address).await.unwrap();
        for status in ["503 Service Unavailable", "200 OK"] {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let read = client.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /readyz HTTP/1.1\r\n"));
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            client.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let mut process = Program::new("sleep").args(["600"]).start();
    process.ready(address, "/readyz").await;
    server.await.unwrap();
}

#[tokio::test]
async fn a_process_that_ends_while_awaited_tells_what_it_printed() {
    let message = panic_of(async {
        let mut process = Program::new("sh").args(["-c", "echo no such setting >&2"]).start();
        process.line("listening").await;
    })
    .await;
    assert!(message.contains("listening") && message.contains("no such setting"), "{message}");
}

#[tokio::test]
async fn a_wait_in_vain_says_for_what_and_where() {
    let message = panic_of(async {
        until("the sea to dry up", Duration::from_millis(30), async || false).await;
    })
    .await;
    assert!(message.contains("the sea to dry up"), "{message}");
    assert!(message.contains(file!()), "{message}");
}

#[tokio::test]
async fn the_program_under_test_starts() {
    assert!(Program::chatkeep().args(["--help"]).start().finish().await.success());
}

/// Servers and folders of a killed test run do not outlive it. The run to be killed is this very
/// test, started a second time with [`VICTIM`] set.
#[tokio::test]
async fn a_killed_test_run_leaves_nothing_behind() {
    const NAME: &str = "harness_tests::a_killed_test_run_leaves_nothing_behind";
    const VICTIM: &str = "HARNESS_VICTIM";
    #[expect(clippy::disallowed_methods, reason = "tells the two runs of this test apart")]
    let is_victim = env::var_os(VICTIM).is_some();
    if is_victim {
        return be_killed().await;
    }
    let this = env::current_exe().unwrap();
    let mut run = Program::new(this.to_str().unwrap())
        .args(["--exact", "--nocapture", NAME])
        .env(VICTIM, "1")
        .env("TMPDIR", env::temp_dir())
        .start();
    let line = run.line("servers run in ").await;
    let (_, base) = line.split_once("servers run in ").unwrap();
    let programs = processes_naming(base);
    assert!(["nats-server", "postgres", "guard"].iter().all(|name| programs.contains(*name)));

    run.kill().await;
    until("its servers to end", DEADLINE, async || processes_naming(base).is_empty()).await;
    assert!(!Path::new(base).exists(), "{base} is left behind");
}

async fn be_killed() {
    let nats = Nats::start().await;
    let database = Postgres::database().await;
    let folder = scratch::folder("victim-");
    println!("servers run in {}", folder.path().parent().unwrap().display());
    // Without its killer it would be killed by the kernel (`harness::launch`).
    std::future::pending::<()>().await;
    drop((nats, database));
}

/// Returns the command lines of running processes that contain `text`, one a line.
fn processes_naming(text: &str) -> String {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(text)).collect::<Vec<_>>().join("\n")
}

async fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = client.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    address
}

/// Returns true if sent data comes back; false when the connection is broken.
async fn echoes(client: &mut TcpStream) -> bool {
    let mut answer = [0; 4];
    let exchange = async {
        client.write_all(b"ping").await?;
        client.read_exact(&mut answer).await
    };
    let exchanged = tokio::time::timeout(DEADLINE, exchange).await.expect("neither echo nor break");
    exchanged.is_ok() && &answer == b"ping"
}

/// Returns the panic message of `test`.
async fn panic_of(test: impl Future<Output = ()> + 'static) -> String {
    let tasks = LocalSet::new();
    let running = tasks.spawn_local(test);
    let outcome = tasks.run_until(running).await;
    let panic = outcome.expect_err("it did not panic").into_panic();
    *panic.downcast::<String>().expect("a formatted message")
}
