//! Many processes in one deployment: every message is found through each of them, whichever dies,
//! and a process with conflicting settings does not start.

use std::fs;
use std::sync::Arc;

use async_nats::jetstream;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{Bus, BusLimits, ConsumerSpec, Stream};
use chatkeep_core::time::SystemClock;
use chatkeep_emulator::Media;
use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::harness::ports;
use crate::harness::postgres::{Durability, Postgres};
use crate::harness::s3::S3;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Returns the number of search results for that word through the process at `address`; `None` when
/// search is unavailable.
async fn total(stack: &Stack, address: std::net::SocketAddr, path: &str) -> Option<u64> {
    let http = crate::harness::http::client(DEADLINE);
    let url = format!("http://{address}/api{path}");
    let answer = http.get(url).bearer_auth(stack.key()).send().await.ok()?;
    if answer.status() != StatusCode::OK {
        return None;
    }
    answer.json::<Value>().await.ok()?["total"].as_u64()
}

/// Returns what a process that is ready says about its problems.
pub(crate) async fn problems(address: std::net::SocketAddr) -> String {
    let answer = reqwest::get(format!("http://{address}/readyz")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    answer.json::<Value>().await.unwrap()["problems"].to_string()
}

/// Returns whether a process can use its media store, by its metrics.
async fn media_store(metrics: std::net::SocketAddr) -> Option<bool> {
    let answer = reqwest::get(format!("http://{metrics}/metrics")).await.unwrap();
    let metrics = answer.text().await.unwrap();
    let of_it = |line: &&str| {
        line.starts_with("chatkeep_dependency_up") && line.contains("\"media store\"")
    };
    metrics.lines().find(of_it).map(|line| line.ends_with(" 1"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_is_found_through_every_process_whoever_dies() {
    const ROUNDS: usize = 24;
    const EACH: usize = 8;
    let mut postgres = Postgres::start(Durability::Process).await;
    let mut ground = TestEnv::new(Parts::Servers).await;
    ground.database = Some(postgres.create_database().await);
    let mut stack = Stack::on(ground, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let chat = group.chat_id.as_str();
    assert!(stack.process.terminate().await.success());

    let front = ["serve", "--roles", "ingress,api"];
    let mut one = stack.ground.program(&stack.line, &front).start();
    one.ready(stack.ground.address, "/readyz").await;
    let (two, second) = stack.further(&front);
    let mut two = two.start();
    two.ready(second, "/readyz").await;
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(stack.serve("worker,search").await.0);
    }
    for round in 0..ROUNDS {
        for number in 0..EACH {
            let text = format!("lunch {round} {number}");
            stack.line.say(chat, &people[number % 3].user_id, &text).await.unwrap();
        }
        if round % 4 == 3 {
            let dying = (round * 7) % workers.len();
            workers[dying].kill().await;
            workers[dying] = stack.serve("worker,search").await.0;
        }
        if round == ROUNDS / 2 {
            postgres.restart().await;
        }
    }
    let (path, all) = (format!("/channels/{chat}/backup/search?q=lunch"), (ROUNDS * EACH) as u64);
    for address in [stack.ground.address, second] {
        until("every message is found", DEADLINE, async || {
            total(&stack, address, &path).await == Some(all)
        })
        .await;
    }
    // Any of the replicas answers, and each indexes by itself.
    until("each replica has everything", DEADLINE, async || {
        for _ in 0..12 {
            if total(&stack, second, &path).await != Some(all) {
                return false;
            }
        }
        true
    })
    .await;
    let clean = stack.ground.said(&stack.line, &["doctor"]).await;
    assert!(clean.starts_with("no differences: "), "{clean}");
    assert!(clean.trim().ends_with(" in 3 indexes"), "{clean}");
    let status = stack.ground.command(&stack.line, &["status", "--json"]).await;
    let status: Value = serde_json::from_str(&status).unwrap();
    let ready = |process: &&Value| process["search"]["phase"] == "ready";
    let processes = status["processes"].as_array().unwrap();
    assert_eq!((processes.len(), processes.iter().filter(ready).count()), (5, 3), "{status}");

    // Without any replica, search is unavailable and not empty.
    for worker in &mut workers {
        worker.kill().await;
    }
    until("nobody can search", DEADLINE, async || total(&stack, second, &path).await.is_none())
        .await;
    let mut last = stack.serve("worker,search").await.0;
    until("it is back", DEADLINE, async || total(&stack, second, &path).await == Some(all)).await;
    for process in [&mut one, &mut two, &mut last] {
        assert!(process.terminate().await.success());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_are_answered_while_a_replica_hangs() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let chat = group.chat_id.as_str();
    assert!(stack.process.terminate().await.success());
    let (_front, address) = stack.serve("api,worker,ingress").await;
    stack.line.set_webhook_url(Some(format!("http://{address}/webhook/line")));
    let (_other, _) = stack.serve("search").await;
    let (mut hanging, _) = stack.serve("search").await;
    stack.line.say(chat, &people[0].user_id, "lunch").await.unwrap();
    let path = format!("/channels/{chat}/backup/search?q=lunch");
    until("both replicas have it", DEADLINE, async || {
        let asked = (0..12).map(|_| total(&stack, address, &path));
        join_all(asked).await.into_iter().all(|found| found == Some(1))
    })
    .await;
    hanging.freeze();
    // The bus gives half of them to the one that hangs.
    let asked = (0..16).map(|_| total(&stack, address, &path));
    assert_eq!(join_all(asked).await, [Some(1); 16]);
    hanging.thaw();
    assert!(hanging.terminate().await.success());
}

on_both!(a_process_that_would_make_others_wrong_does_not_start);

async fn a_process_that_would_make_others_wrong_does_not_start(parts: Parts) {
    let stack = Stack::start(parts, emulator().await).await;
    let refused = async |args: &[&str], (name, value): (&str, &str), says: &str| {
        let (program, _) = stack.further(args);
        let mut process = program.env(name, value).start();
        let status = process.finish().await;
        let said = process.stderr().join("\n");
        assert_eq!(status.code(), Some(2), "{name}={value}: {said}");
        assert!(said.contains(says), "{name}={value}: {said}");
    };
    let other = tempfile::TempDir::new().unwrap();
    let other = other.path().to_str().unwrap();
    let api = ["serve", "--roles", "api"];
    // Each waits for a while, in case the process that it conflicts with is about to end.
    tokio::join!(
        refused(
            &api,
            ("CHATKEEP_RETENTION_UNSUBSCRIBED_DAYS", "30"),
            "retention.unsubscribed_days is \"30 days\" here and \"never\" in the process",
        ),
        refused(&api, ("CHATKEEP_BLOBS", other), "differs from that of the process"),
        async {
            // One process at a time owns the embedded bus of a folder.
            if parts == Parts::Servers {
                let says = "the bus differs from that of the process";
                refused(&["serve"], ("CHATKEEP_BUS", "embedded"), says).await;
            }
        },
    );
    // The running one is unaffected, and more of the same start beside it.
    let (program, address) = stack.further(&["serve", "--roles", "api"]);
    let mut process = program.start();
    process.ready(address, "/readyz").await;
    assert!(process.terminate().await.success());
    assert!(stack.ready().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_media_store_that_answers_late_is_compared_then() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let mut s3 = S3::start();
    s3.kill();
    let (program, address) = stack.further(&["serve", "--roles", "api"]);
    let metrics = ports::free();
    let mut program = program.env("CHATKEEP_METRICS_LISTEN", metrics.to_string());
    for (name, value) in s3.environment() {
        program = program.env(name, value);
    }
    let mut process = program.start();
    process.ready(address, "/readyz").await;
    assert_eq!(problems(address).await, "[]");
    s3.restart();
    let differs = "the media store (one folder shared by all processes, or one bucket) differs";
    until("the difference is told", DEADLINE, async || problems(address).await.contains(differs))
        .await;
    // Nothing is stored or read there while it may be a wrong one.
    until("it is not used", DEADLINE, async || media_store(metrics).await == Some(false)).await;
    assert!(stack.process.terminate().await.success());
    until("nobody differs", DEADLINE, async || !problems(address).await.contains(differs)).await;
    until("it is used", DEADLINE, async || media_store(metrics).await == Some(true)).await;
    assert!(process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_media_store_that_answers_while_another_process_ends_is_used() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let mut s3 = S3::start();
    s3.kill();
    let (program, address) = stack.further(&["serve", "--roles", "api"]);
    let metrics = ports::free();
    let mut program = program
        .env("CHATKEEP_METRICS_LISTEN", metrics.to_string())
        .env("CHATKEEP_MEDIA_MAX_BYTES", "12345678");
    for (name, value) in s3.environment() {
        program = program.env(name, value);
    }
    let mut process = program.start();
    // It has given up the media store for now.
    process.line("waiting for the other process to end").await;
    s3.restart();
    assert!(stack.process.terminate().await.success());
    process.ready(address, "/readyz").await;
    until("it is used", DEADLINE, async || media_store(metrics).await == Some(true)).await;
    assert_eq!(problems(address).await, "[]");
    assert!(process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_media_store_whose_disk_is_gone_is_not_used_until_it_is_back() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let picture = vec![Media::new("image/png", vec![1, 2, 3])];
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    stack.line.send_images(chat, user, picture.clone()).await.unwrap();
    let stored = async |stack: &Stack| {
        let path = format!("/channels/{chat}/backup/messages?type=image");
        let listed = stack.get(&path).await;
        let messages = listed["messages"].as_array().unwrap();
        messages.iter().filter(|message| message["mediaStatus"] == "stored").count()
    };
    until("it is stored", DEADLINE, async || stored(&stack).await == 1).await;
    let folder = stack.ground.folder.path().join("blobs");
    let disk = folder.with_extension("disk");
    // Unmounted: another folder is in its place.
    fs::rename(&folder, &disk).unwrap();
    fs::create_dir(&folder).unwrap();
    let address = stack.ground.address;
    let differs = "it has no media-store.id, and that of the files is";
    until("it is told", DEADLINE, async || problems(address).await.contains(differs)).await;
    stack.line.send_images(chat, user, picture).await.unwrap();
    stack.line.say(chat, user, "meanwhile").await.unwrap();
    let found = format!("/channels/{chat}/backup/search?q=meanwhile");
    until("messages go on", DEADLINE, async || total(&stack, address, &found).await == Some(1))
        .await;
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is lost below the mount point");
    fs::remove_dir(&folder).unwrap();
    fs::rename(&disk, &folder).unwrap();
    until("it is back", DEADLINE, async || problems(address).await == "[]").await;
    until("both are stored", DEADLINE, async || stored(&stack).await == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_that_nobody_serves_are_told_and_removed() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let nats = stack.ground.nats.as_ref().unwrap().url();
    let client = async_nats::connect(&nats).await.unwrap();
    let context = jetstream::new(client);
    let (group, people) = group(&mut stack).await;
    assert!(stack.process.terminate().await.success());
    // The consumer of an older version, with a job of it; and an unknown one.
    let jobs = context.get_stream("JOBS").await.unwrap();
    let old = jetstream::consumer::pull::Config {
        durable_name: Some("indexer".to_owned()),
        filter_subject: "job.index.>".to_owned(),
        ..Default::default()
    };
    jobs.create_consumer(old).await.unwrap();
    context.publish("job.index.1", "{}".into()).await.unwrap().await.unwrap();
    let events = context.get_stream("EVENTS").await.unwrap();
    let unknown = jetstream::consumer::pull::Config {
        durable_name: Some("forgotten".to_owned()),
        ..Default::default()
    };
    events.create_consumer(unknown).await.unwrap();

    stack.process = stack.ground.serve(&stack.line).await;
    assert!(jobs.get_consumer::<jetstream::consumer::pull::Config>("indexer").await.is_err());
    assert_eq!(context.get_stream("JOBS").await.unwrap().cached_info().state.messages, 0);
    stack.line.say(&group.chat_id, &people[1].user_id, "hello").await.unwrap();
    let told = async || problems(stack.ground.address).await.contains("forgotten");
    until("it is told", DEADLINE, told).await;
    assert!(stack.metrics().await.contains("chatkeep_problem{part=\"consumer:forgotten\"} 1"));
    let listed = stack.ground.command(&stack.line, &["bus", "consumers"]).await;
    assert!(listed.contains("forgotten") && !listed.contains("indexer"), "{listed}");
    for stage in ["backup", "external_media"] {
        let args = ["bus", "remove-consumer", stage];
        let mut refused = stack.ground.program(&stack.line, &args).start();
        assert_eq!(refused.finish().await.code(), Some(2), "{stage}");
    }
    stack.ground.command(&stack.line, &["bus", "remove-consumer", "forgotten"]).await;
    let listed = stack.ground.command(&stack.line, &["bus", "consumers", "--json"]).await;
    assert!(!listed.contains("forgotten"), "{listed}");
    let (status, _) = stack.call(Method::GET, "/me", None).await;
    assert_eq!(status, StatusCode::OK);
    until("it is told no longer", DEADLINE, async || {
        !problems(stack.ground.address).await.contains("forgotten")
    })
    .await;
}

/// Only the owner of the embedded bus' file changes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_of_the_embedded_bus_is_removed_while_nothing_runs() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let args = ["bus", "remove-consumer", "forgotten"];
    let mut refused = stack.ground.program(&stack.line, &args).start();
    assert!(!refused.finish().await.success());
    let said = refused.stderr().join("\n");
    assert!(said.contains("running") || said.contains("in use"), "{said}");
    assert!(stack.process.terminate().await.success());
    let (folder, clock) = (stack.ground.folder.path(), Arc::new(SystemClock));
    let bus = EmbeddedBus::open(folder, BusLimits::default(), clock).await;
    let bus = Bus::Embedded(bus.unwrap());
    let spec = ConsumerSpec {
        name: "forgotten",
        stream: Stream::Events,
        queue: None,
        lease: DEADLINE,
        max_in_flight: 1,
    };
    bus.ensure(&spec).await.unwrap();
    bus.close().await;
    let list = ["bus", "consumers", "--json"];
    assert!(stack.ground.command(&stack.line, &list).await.contains("forgotten"));
    stack.ground.command(&stack.line, &args).await;
    assert!(!stack.ground.command(&stack.line, &list).await.contains("forgotten"));
}
