//! Agreement of running processes on the database, on the bus, and on settings by which each of them goes.

use std::net::SocketAddr;

use reqwest::{Method, StatusCode};

use crate::harness::nats::Nats;
use crate::harness::postgres::{Postgres, TestDb};
use crate::harness::proxy::Proxy;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::replicas::problems;
use crate::stack::{DEADLINE, Parts, Stack};

/// Returns true if readiness tells that, whether the process is ready or not.
async fn tells(address: SocketAddr, what: &str) -> bool {
    let answer = reqwest::get(format!("http://{address}/readyz")).await.unwrap();
    answer.text().await.unwrap().contains(what)
}

/// Returns true if readiness says that another database is where the known one was.
async fn says_that_the_database_is_another_one(stack: &Stack) -> bool {
    tells(stack.ground.address, "the database is another one than at the start").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_database_in_the_file_is_left_alone() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    stack.act_as("U1").await;
    stack.sql("UPDATE deployment SET store_id = store_id || 'x'".to_owned()).await;
    until("it is told", DEADLINE, async || says_that_the_database_is_another_one(&stack).await)
        .await;
    assert!(!stack.ready().await);
    let (status, _) = stack.call(Method::GET, "/me", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let back = "UPDATE deployment SET store_id = SUBSTR(store_id, 1, LENGTH(store_id) - 1)";
    stack.sql(back.to_owned()).await;
    until("it is used again", DEADLINE, async || stack.ready().await).await;
    assert_eq!(problems(stack.ground.address).await, "[]");
}

/// Another database takes the place of the one that a running service uses, and goes again.
async fn a_database_in_the_place_of_the_known_one_is_left_alone(other: TestDb) {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    stack.line.say(chat, user, "before").await.unwrap();
    stack.kept(chat, 1).await;
    let tables = other.query("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").await;
    let database = stack.ground.database.as_ref().unwrap();
    database.trade_places(&other).await;
    until("it is told", DEADLINE, async || says_that_the_database_is_another_one(&stack).await)
        .await;
    // The bus has it until the database is back.
    stack.line.say(chat, user, "meanwhile").await.unwrap();
    database.trade_places(&other).await;
    until("the known one is used again", DEADLINE, async || stack.ready().await).await;
    stack.kept(chat, 2).await;
    until("nothing is told", DEADLINE, async || problems(stack.ground.address).await == "[]").await;
    let left = other.query("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").await;
    assert_eq!(left, tables, "no tables were made");
    if tables.trim() != "0" {
        let rows = "SELECT (SELECT COUNT(*) FROM processes) + (SELECT COUNT(*) FROM messages)";
        assert_eq!(other.query(rows).await.trim(), "0", "nothing was stored");
    }
    stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_another_deployment_is_left_alone() {
    let other = Postgres::migrated().await;
    other.query("UPDATE deployment SET store_id = 'of another deployment'").await;
    a_database_in_the_place_of_the_known_one_is_left_alone(other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_database_is_left_alone() {
    let other = Postgres::database().await;
    a_database_in_the_place_of_the_known_one_is_left_alone(other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_two_buses_are_told() {
    let stack = Stack::start(Parts::Servers, emulator().await).await;
    let args = ["serve", "--roles", "worker", "--stages", "members"];
    let (program, address) = stack.further(&args);
    // Behind the address of one of them is another server from now on.
    let mut other = Nats::start().await;
    let mut proxy = Proxy::to(stack.ground.nats.as_ref().unwrap().address()).await;
    let bus = format!("nats://{}", proxy.address());
    let mut process = program.env("CHATKEEP_BUS", bus).start();
    process.ready(address, "/readyz").await;
    assert_eq!(problems(address).await, "[]");
    proxy.lead_to(other.address()).await;
    let differs = "the bus differs from that of the process";
    until("it is told", DEADLINE, async || tells(address, differs).await).await;
    assert!(process.terminate().await.success());
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_that_another_process_has_differently_is_told_by_both() {
    let stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (program, address) = stack.further(&["serve", "--roles", "api"]);
    let mut process = program.env("CHATKEEP_TIME_ZONE", "Asia/Bangkok").start();
    process.ready(address, "/readyz").await;
    let here = "the setting time_zone is \\\"Asia/Bangkok\\\" here and";
    until("it is told there", DEADLINE, async || tells(address, here).await).await;
    let other = "and \\\"Asia/Bangkok\\\" in the process";
    until("it is told here", DEADLINE, async || tells(stack.ground.address, other).await).await;
    assert!(process.terminate().await.success());
    until("it is over", DEADLINE, async || problems(stack.ground.address).await == "[]").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_belong_to_the_processes_of_one_database() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let folder = scratch::folder("other-");
    // As one that was started without the address of the database.
    let elsewhere = |args: &[&str]| {
        let (program, _) = stack.further(args);
        program.env("CHATKEEP_DATABASE", "sqlite").env("CHATKEEP_DATA", folder.path())
    };
    let mut refused = elsewhere(&["serve", "--roles", "worker"]).start();
    assert_eq!(refused.finish().await.code(), Some(2));
    let said = refused.stderr().join(" ");
    assert!(said.contains("the events of this bus belong to another database"), "{said}");
    for n in 1..=20 {
        stack.line.say(chat, user, &format!("message {n}")).await.unwrap();
    }
    stack.kept(chat, 20).await;
    assert_eq!(problems(stack.ground.address).await, "[]");

    let mut adopted = elsewhere(&["bus", "adopt"]).start();
    assert!(adopted.finish().await.success(), "{:?}", adopted.stderr());
    until("it is told", DEADLINE, async || tells(stack.ground.address, "bus_owner").await).await;
    assert!(!stack.ready().await);
    let mut back = stack.further(&["bus", "adopt"]).0.start();
    assert!(back.finish().await.success(), "{:?}", back.stderr());
    until("it is used again", DEADLINE, async || stack.ready().await).await;
    stack.line.say(chat, user, "afterwards").await.unwrap();
    stack.kept(chat, 21).await;
    stack.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_nats_server_is_adopted() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    assert!(stack.process.terminate().await.success());
    let mut refused = stack.further(&["bus", "adopt"]).0.start();
    assert_eq!(refused.finish().await.code(), Some(2));
    let said = refused.stderr().join(" ");
    assert!(said.contains("only a NATS server is adopted"), "{said}");
}
