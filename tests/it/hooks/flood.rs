//! Many deliveries to a receiver that fails at random, by a program that is killed meanwhile:
//! everything arrives at least once, every signature is right.

use std::collections::BTreeSet;
use std::time::Duration;

use super::flow::Scene;
use super::sink::Reply;
use super::verify;
use crate::harness::wait::until;
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts};

on_both!(everything_arrives_at_a_flaky_receiver_over_kills);

/// Number of messages and kills; `CHATKEEP_HOOKS=10000,3 cargo test --release --test it flood` for
/// more.
const USUAL: (usize, usize) = (400, 3);
/// Percentage of attempts that fail.
const FAILING: u64 = 30;

#[expect(clippy::disallowed_methods, reason = "a test's size is no setting of the program")]
fn size() -> (usize, usize) {
    let Ok(size) = std::env::var("CHATKEEP_HOOKS") else { return USUAL };
    let (messages, kills) = size.split_once(',').unwrap();
    (messages.parse().unwrap(), kills.parse().unwrap())
}

async fn everything_arrives_at_a_flaky_receiver_over_kills(parts: Parts) {
    let (messages, kills) = size();
    let retries = ["1"; 20].join(",");
    let settings = [
        ("CHATKEEP_WEBHOOKS_RETRY_SECONDS", retries.as_str()),
        ("CHATKEEP_WEBHOOKS_TIMEOUT_SECONDS", "5"),
    ];
    let mut scene = Scene::new(parts, &settings).await;
    let (_, secret) = scene.hook("/flaky", &["message.received"]).await;
    scene.sink.answer("/flaky", Reply::Flaky(FAILING));
    let mut said = BTreeSet::new();
    for part in 0..=kills {
        while said.len() < messages * (part + 1) / (kills + 1) {
            said.insert(scene.say(&format!("number {}", said.len())).await);
        }
        if part < kills {
            let before = scene.sink.at("/flaky").len();
            until("it is at work", DEADLINE, async || scene.sink.at("/flaky").len() > before).await;
            scene.stack.crash().await;
        }
    }
    let timeout = DEADLINE + Duration::from_millis(20) * u32::try_from(messages).unwrap();
    let (mut read, mut missing) = (0, said.clone());
    until("everything arrived", timeout, async || {
        let received = scene.sink.at("/flaky");
        for one in received[read..].iter().filter(|one| one.taken) {
            missing.remove(one.json()["data"]["message"]["id"].as_str().unwrap());
        }
        read = received.len();
        missing.is_empty()
    })
    .await;
    let received = scene.sink.at("/flaky");
    let ids: BTreeSet<_> = received.iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(ids.len(), said.len(), "one id for each message, whatever came between");
    let cases: Vec<_> = received.iter().map(|one| one.to_verify(&secret)).collect();
    verify::all(&cases).await;
    println!("{parts:?}: {} attempts for {messages} messages over {kills} kills", received.len());
}
