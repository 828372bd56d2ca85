//! Tests of concurrency: many publishers, consumers, members.

use std::time::Duration;

use chatkeep_bus::{Bus, ConsumerSpec};
use tokio::time::Instant;

use crate::fixture::{Fixture, TIMEOUT, event, events, until_backlog};

const PUBLISHERS: usize = 8;
const CALLS: usize = 50;
const MESSAGES: usize = 5;

/// Takes messages until the consumer's backlog is empty; retries one in ten once.
async fn member(
    bus: Bus,
    spec: ConsumerSpec,
    done: tokio::sync::watch::Receiver<bool>,
) -> Vec<String> {
    let mut consumer = bus.consume(&spec).await.unwrap();
    let mut finished = Vec::new();
    let deadline = Instant::now() + TIMEOUT * 3;
    loop {
        let come = consumer.fetch(17, Duration::from_millis(50)).await.unwrap();
        if come.is_empty() && *done.borrow() && bus.backlog(&spec).await.unwrap() == 0 {
            return finished;
        }
        assert!(Instant::now() < deadline, "never empty");
        for delivery in come {
            if delivery.attempt == 1 && delivery.id.ends_with('3') {
                delivery.retry(Duration::from_millis(20)).await.unwrap();
            } else {
                finished.push(delivery.id.clone());
                delivery.ack().await.unwrap();
            }
        }
    }
}

pub(crate) async fn delivers_each_of_many_once(fixture: Fixture) {
    let bus = fixture.open().await;
    let specs = [events("backup"), events("assistant")];
    for spec in &specs {
        bus.ensure(spec).await.unwrap();
    }
    let (tell, done) = tokio::sync::watch::channel(false);
    let mut members = Vec::new();
    for spec in specs.iter().chain(&specs) {
        let running = tokio::spawn(member(bus.clone(), spec.clone(), done.clone()));
        members.push((spec.name, running));
    }
    let mut publishers = Vec::new();
    for publisher in 0..PUBLISHERS {
        let bus = bus.clone();
        publishers.push(tokio::spawn(async move {
            for call in 0..CALLS {
                let name = |n| format!("{publisher}-{call}-{n}");
                bus.publish((0..MESSAGES).map(|n| event(name(n))).collect()).await.unwrap();
            }
        }));
    }
    for publisher in publishers {
        publisher.await.unwrap();
    }
    tell.send(true).unwrap();

    let mut finished: [Vec<String>; 2] = Default::default();
    for (name, running) in members {
        finished[usize::from(name == "assistant")].extend(running.await.unwrap());
    }
    for mut ids in finished {
        assert_eq!(ids.len(), PUBLISHERS * CALLS * MESSAGES);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), PUBLISHERS * CALLS * MESSAGES, "each exactly once");
    }
    for spec in &specs {
        until_backlog(&bus, spec, 0).await;
    }
    bus.close().await;
}
