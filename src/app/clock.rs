//! Clock of a process in its deployment: processes that call the platform tell its time to those that
//! do not, and a time that nothing confirms is reported.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_bus::{Bus, BusError, TopicSubscriber};
use chatkeep_core::config::LineConfig;
use chatkeep_core::health::Health;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_workers::supervisor::Supervisor;
use futures_util::FutureExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::App;

/// Bus topic of the time.
const TOPIC: &str = "clock";
/// Interval between two broadcasts of a process, and of looking whether anything confirms the time.
const INTERVAL: Duration = Duration::from_secs(10);
/// Interval at which a process that does not know the time looks whether it can broadcast it.
const UNCONFIRMED_INTERVAL: Duration = Duration::from_secs(1);
/// Time for which nothing confirms the time after which that is a problem.
const MAX_UNCONFIRMED_TIME: Duration = Duration::from_mins(30);
/// Part of the process that an unconfirmed time is a problem of.
const PART: &str = "clock_unconfirmed";

impl App {
    /// Takes the time from other processes while this one has it from no platform, broadcasts it if this
    /// one has it from a platform, and reports that nobody knows it.
    pub(super) async fn share_clock(&self, supervisor: &Supervisor) -> anyhow::Result<()> {
        let asks = |line: &LineConfig| self.services.bot_setup.setup_of(&line.name).is_some();
        let asks = self.config.line.iter().any(asks);
        if asks {
            let (bus, clock) = (self.bus.clone(), Arc::clone(&self.clock));
            supervisor.run("clock_broadcast", move |stop| {
                broadcast(bus.clone(), Arc::clone(&clock), stop)
            });
        }
        let (bus, clock) = (self.bus.clone(), Arc::clone(&self.clock));
        let listening = move |stop| {
            let (bus, clock) = (bus.clone(), Arc::clone(&clock));
            async move { Ok::<_, BusError>(listen(clock, bus.subscribe(TOPIC).await?, asks, stop)) }
        };
        supervisor.run_prepared("clock_listener", listening).await?;
        let (clock, health) = (Arc::clone(&self.clock), self.health.clone());
        supervisor.run("clock_watch", move |stop| watch(Arc::clone(&clock), health.clone(), stop));
        Ok(())
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
        let wait = tokio::time::sleep(if is_confirmed { INTERVAL } else { UNCONFIRMED_INTERVAL });
        if stop.run_until_cancelled(wait).await.is_none() {
            return;
        }
    }
}

/// Takes the time from others. A process that `asks` a platform itself needs it only while that has
/// named none.
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

/// Reports a time that nothing confirms, while that lasts.
async fn watch(clock: SharedClock, health: Health, stop: CancellationToken) {
    let mut since = Instant::now();
    while stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
        if clock.is_confirmed() {
            since = Instant::now();
            health.clear(PART);
        } else if since.elapsed() > MAX_UNCONFIRMED_TIME {
            let reason = "no answer of LINE has said what the time is for half an hour: nothing is \
                          removed because of its age meanwhile";
            health.raise(PART, reason.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::clock::CorrectedClock;
    use chatkeep_core::panics;
    use chatkeep_core::time::SystemClock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_time_that_nothing_confirms_is_reported_while_it_lasts() {
        let clock: SharedClock = Arc::new(CorrectedClock::new(Arc::new(SystemClock)));
        let health = Health::new(Arc::clone(&clock));
        let stop = CancellationToken::new();
        let watching = watch(Arc::clone(&clock), health.clone(), stop.clone());
        let watching = panics::spawn("clock_watch", watching);
        let later = async |minutes| tokio::time::sleep(Duration::from_mins(minutes)).await;
        later(29).await;
        assert!(health.problems().is_empty());
        later(2).await;
        assert_eq!(health.problems()[0].part, PART);
        clock.observe(clock.machine(), clock.machine());
        later(1).await;
        assert!(health.problems().is_empty());
        stop.cancel();
        drop(watching.await);
    }
}
