//! The rate limit of several processes on one NATS server.

use std::sync::Arc;

use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::health::Health;
use chatkeep_core::time::SystemClock;
use chatkeep_http::rate_limit::Limiter;
use chatkeep_workers::supervisor::Supervisor;
use tokio_util::sync::CancellationToken;

use crate::harness::nats::Nats;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Requests that a client may make at once: far more than a test makes while it waits.
const BURST: u32 = 100_000;

/// Rate limit of one API process.
struct Process {
    limiter: Limiter,
    bus: Bus,
    supervisor: Supervisor,
}

impl Process {
    async fn start(nats: &Nats, config: RateLimitConfig) -> Self {
        let (url, clock) = (nats.url(), Arc::new(SystemClock));
        let bus = NatsBus::connect(&url, BusLimits::default(), clock.clone()).await.unwrap();
        let bus = Bus::Nats(bus);
        let supervisor = Supervisor::new(Health::new(clock.clone()), CancellationToken::new());
        let limiter = Limiter::new(config, bus.clone(), clock, &supervisor);
        Self { limiter, bus, supervisor }
    }

    async fn end(self) {
        let tasks = self.supervisor.tasks();
        self.supervisor.stop().cancel();
        tasks.close();
        tokio::time::timeout(DEADLINE, tasks.wait()).await.unwrap();
        self.bus.close().await;
    }
}

/// Waits until grants of `one` cost tokens at `other`. Each poll costs one there too.
async fn hears(one: &Process, other: &Process, caller: &str) {
    let mut before = other.limiter.take(caller).remaining;
    until("grants are heard of", DEADLINE, async || {
        one.limiter.take(caller);
        let now = other.limiter.take(caller).remaining;
        let heard = now + 1 < before;
        before = now;
        heard
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_has_granted_the_others_refuse() {
    // How much they grant together is tested with a clock that stands still
    // (`src/http/rate_limit/tests.rs`); here, that they hear of each other over a server.
    let config = RateLimitConfig { per_minute: 1, burst: BURST };
    let nats = Nats::start().await;
    let mut processes = Vec::new();
    for _ in 0..3 {
        processes.push(Process::start(&nats, config).await);
    }
    let [one, others @ ..] = processes.as_slice() else { panic!("three of them") };
    for other in others {
        hears(one, other, "key:first").await;
    }
    while one.limiter.take("key:hasty").allowed {}
    for other in others {
        let refuses = async || !other.limiter.take("key:hasty").allowed;
        until("the others refuse what one has granted", DEADLINE, refuses).await;
    }
    for process in processes {
        assert!(process.limiter.take("key:calm").allowed, "others are not held up");
        process.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_server_each_limits_by_itself_and_then_together_again() {
    let config = RateLimitConfig { per_minute: 1, burst: BURST };
    let mut nats = Nats::start().await;
    let (one, other) = (Process::start(&nats, config).await, Process::start(&nats, config).await);
    hears(&one, &other, "key:a").await;
    nats.kill();
    until("the server is gone", DEADLINE, async || one.bus.ready().await.is_err()).await;
    assert!(one.limiter.take("key:a").allowed, "nobody waits for the server");
    nats.restart().await;
    hears(&one, &other, "key:b").await;
    hears(&other, &one, "key:c").await;
    one.end().await;
    other.end().await;
}
