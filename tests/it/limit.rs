//! The rate limit of several processes on one NATS server.

use std::sync::Arc;
use std::time::Duration;

use chatkeep::rate_limit::Limiter;
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits};
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::health::Health;
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_workers::supervisor::Supervisor;
use tokio_util::sync::CancellationToken;

use crate::harness::nats::Nats;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

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
async fn a_client_of_three_processes_gets_what_one_would_give() {
    // Minutes pass as seconds: 100 requests a second.
    let config = RateLimitConfig { per_minute: 6_000, burst: 60 };
    let nats = Nats::start().await;
    let mut processes = Vec::new();
    for _ in 0..3 {
        processes.push(Process::start(&nats, config).await);
    }
    let start = SystemClock.now();
    let one_gives = move || 60 + SystemClock.now().since(start).as_millis() * 100 / 1_000;
    let mut clients = Vec::new();
    for process in &processes {
        let limiter = process.limiter.clone();
        clients.push(tokio::spawn(async move {
            let mut grants = 0;
            while one_gives() < 600 {
                grants += u128::from(limiter.take("key:hasty").allowed);
                // About the speed of one connection.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            grants
        }));
    }
    let mut grants = 0;
    for client in clients {
        grants += client.await.unwrap();
    }
    let allowed = one_gives();
    println!("three processes granted {grants}, one would have granted {allowed}");
    assert!(grants * 10 <= allowed * 12, "{grants} of {allowed}");
    assert!(grants * 2 >= allowed, "only {grants} of {allowed}");
    for process in processes {
        assert!(process.limiter.take("key:calm").allowed, "others are not held up");
        process.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_server_each_limits_by_itself_and_then_together_again() {
    let config = RateLimitConfig { per_minute: 1, burst: 100_000 };
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
