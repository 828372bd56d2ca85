//! Failover of PostgreSQL to a standby, at the same address: nothing is lost that the standby has,
//! and what it lacks is noticed.

use chatkeep_emulator::{Author, Chat, User};
use reqwest::StatusCode;
use serde_json::Value;

use crate::harness::postgres::{Durability, Postgres};
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Waits until that many messages are found.
async fn found(stack: &Stack, chat: &str, count: usize) {
    let path = format!("/channels/{chat}/backup/search?q=lunch");
    until("every message is found", DEADLINE, async || {
        let (status, found) = stack.call(reqwest::Method::GET, &path, None).await;
        status == StatusCode::OK && found["total"] == count
    })
    .await;
}

/// Returns a service on a PostgreSQL of its own.
async fn prepared() -> (Postgres, Stack) {
    let postgres = Postgres::start(Durability::Process).await;
    let mut ground = TestEnv::new(Parts::Servers).await;
    ground.database = Some(postgres.create_database().await);
    let stack = Stack::on(ground, emulator().await).await;
    (postgres, stack)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_the_primary_waits_for_loses_and_repeats_nothing() {
    const ALL: usize = 120;
    let (mut postgres, mut stack) = prepared().await;
    let (group, people) = group(&mut stack).await;
    let chat = group.chat_id.as_str();
    let (mut other, _) = stack.serve("worker,search").await;
    let mut standby = postgres.standby().await;
    postgres.wait_for(&mut standby).await;
    let talk = async {
        for number in 0..ALL {
            // Every second one is answered.
            let text = ["lunch at", "lunch? wifi"][number % 2];
            let text = format!("{text} {number}");
            stack.line.say(chat, &people[number % 3].user_id, &text).await.unwrap();
        }
    };
    let fail = async {
        until("some are stored", DEADLINE, async || {
            let usage = stack.get("/usage").await;
            usage["channels"][chat]["messageCount"].as_u64() >= Some(ALL as u64 / 4)
        })
        .await;
        postgres.fail_over(standby).await;
    };
    tokio::join!(talk, fail);

    stack.kept(chat, ALL + ALL / 2).await;
    found(&stack, chat, ALL).await;
    let said = stack.line.transcript(chat).into_iter();
    let answers = said.filter(|entry| matches!(entry.author, Author::Bot)).count();
    assert_eq!(answers, ALL / 2);
    assert!(stack.line.violations().is_empty(), "{:?}", stack.line.violations());
    stack.drained().await;
    stack.is_well().await;
    let coverage = stack.get(&format!("/channels/{chat}/backup/coverage")).await;
    assert_eq!(outages(&coverage), 0, "{coverage}");
    for process in [&mut stack.process, &mut other] {
        assert!(process.terminate().await.success());
    }
}

fn outages(coverage: &Value) -> usize {
    let gaps = coverage["gaps"].as_array().unwrap();
    gaps.iter().filter(|gap| gap["reason"] == "outage").count()
}

/// Starts a chat of which a search index knows more than a standby: `each` messages that the standby
/// has, and three times as many that it lacks.
async fn behind(
    stack: &mut Stack,
    postgres: &Postgres,
    each: usize,
) -> (Chat, Vec<User>, Postgres) {
    let (group, people) = group(stack).await;
    let chat = group.chat_id.as_str();
    say(stack, chat, &people, "kept", each).await;
    found(stack, chat, each).await;
    let standby = postgres.standby().await;
    say(stack, chat, &people, "lost", 3 * each).await;
    found(stack, chat, 4 * each).await;
    (group, people, standby)
}

async fn say(stack: &Stack, chat: &str, people: &[User], what: &str, count: usize) {
    for number in 0..count {
        let text = format!("lunch {what} {number}");
        stack.line.say(chat, &people[number % 3].user_id, &text).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_standby_lacks_is_noticed_while_it_takes_over() {
    const EACH: usize = 5;
    let (mut postgres, mut stack) = prepared().await;
    let (group, people, standby) = behind(&mut stack, &postgres, EACH).await;
    let chat = group.chat_id.as_str();
    postgres.fail_over(standby).await;
    say(&stack, chat, &people, "new", EACH).await;
    found(&stack, chat, 2 * EACH).await;
    let coverage = stack.get(&format!("/channels/{chat}/backup/coverage")).await;
    assert_eq!(outages(&coverage), 1, "{coverage}");
    stack.is_well().await;
    assert!(stack.process.terminate().await.success());
}

/// A standby that lost its connection takes over, and counts on from where it was: new messages get
/// positions in the log that the lost ones had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_standby_lacks_hides_nothing_that_comes_later() {
    const EACH: usize = 5;
    let (mut postgres, mut stack) = prepared().await;
    let (group, people, standby) = behind(&mut stack, &postgres, EACH).await;
    let chat = group.chat_id.as_str();
    let read = stack.get("/events?limit=100").await;
    let cursor = read["nextCursor"].as_str().unwrap().to_owned();
    assert!(stack.process.terminate().await.success());
    postgres.fail_over(standby).await;

    // Others write before the index is looked at again.
    let front = stack.ground.program(&stack.line, &["serve", "--roles", "ingress,api,worker"]);
    let mut front = front.start();
    front.ready(stack.ground.address, "/readyz").await;
    say(&stack, chat, &people, "new", EACH).await;
    stack.kept(chat, 2 * EACH).await;
    let (mut search, _) = stack.serve("search").await;
    found(&stack, chat, 2 * EACH).await;
    until("the feed goes on", DEADLINE, async || {
        let after = stack.get(&format!("/events?limit=100&cursor={cursor}")).await;
        let told = |number| after.to_string().contains(&format!("lunch new {number}"));
        (0..EACH).all(told)
    })
    .await;
    let coverage = stack.get(&format!("/channels/{chat}/backup/coverage")).await;
    assert_eq!(outages(&coverage), 1, "{coverage}");
    for process in [&mut front, &mut search] {
        assert!(process.terminate().await.success());
    }
}
