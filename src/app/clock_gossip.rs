//! Time of the platform, from processes that call it to those that do not: all of a deployment go by
//! the same time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_bus::{Bus, BusError, TopicSubscriber};
use chatkeep_core::config::LineConfig;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_workers::supervisor::Supervisor;
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::App;

/// Bus topic of the time.
const TOPIC: &str = "clock";
/// Intervals between two broadcasts of a process, and of looking whether it knows the time.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

impl App {
    /// Takes the time from other processes while no platform has told this one, and broadcasts it
    /// if this one has it from a platform.
    pub(super) async fn share_clock(&self, supervisor: &Supervisor) -> anyhow::Result<()> {
        let asks = |line: &LineConfig| self.services.bot_setup.setup_of(&line.name).is_some();
        let asks = self.config.line.iter().any(asks);
        if asks {
            let (bus, clock) = (self.bus.clone(), Arc::clone(&self.clock));
            supervisor
                .run("clock_gossip", move |stop| broadcast(bus.clone(), Arc::clone(&clock), stop));
        }
        let (bus, clock) = (self.bus.clone(), Arc::clone(&self.clock));
        let listening = move |stop| {
            let (bus, clock) = (bus.clone(), Arc::clone(&clock));
            async move { Ok::<_, BusError>(listen(clock, bus.subscribe(TOPIC).await?, asks, stop)) }
        };
        Ok(supervisor.run_prepared("clock_listener", listening).await?)
    }
}

async fn broadcast(bus: Bus, clock: SharedClock, stop: CancellationToken) {
    loop {
        let is_confirmed = clock.is_confirmed();
        if is_confirmed {
            let now = Bytes::from(clock.now().millis().to_string());
            if let Err(error) = bus.broadcast(TOPIC, now).await {
                debug!(%error, "cannot broadcast the time");
            }
        }
        let wait = tokio::time::sleep(if is_confirmed { INTERVALS.0 } else { INTERVALS.1 });
        if stop.run_until_cancelled(wait).await.is_none() {
            return;
        }
    }
}

/// Takes the time from others. A process that `asks` a platform itself needs it only while that has
/// told nothing.
async fn listen(
    clock: SharedClock,
    mut news: TopicSubscriber,
    asks: bool,
    stop: CancellationToken,
) {
    while let Some(Some(mut message)) = stop.run_until_cancelled(news.next()).await {
        // Those that waited are of an earlier time.
        while let Some(Some(newer)) = news.next().now_or_never() {
            message = newer;
        }
        let time = str::from_utf8(&message).ok().and_then(|text| text.parse().ok());
        if let Some(time) = time.filter(|_| !asks || !clock.is_confirmed()) {
            clock.observe(Timestamp::from_millis(time), clock.machine());
        }
    }
}
