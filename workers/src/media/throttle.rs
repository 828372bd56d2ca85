//! Throttle of the platform's requests for a pause: one throttled worker pauses all workers of the
//! same bot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_bus::{Bus, BusError};
use chatkeep_core::causes::with_causes;
use chatkeep_core::time::{SharedClock, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// Bus topic of pauses.
const TOPIC: &str = "slow-down";
/// Pause if the platform names none.
const DEFAULT_PAUSE: Duration = Duration::from_secs(2);
/// Longest pause that is accepted.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// End of the pause in downloads, by bot. Clones share it.
#[derive(Clone, Debug)]
pub struct ContentThrottle {
    until: Arc<Mutex<HashMap<String, Timestamp>>>,
    clock: SharedClock,
    bus: Bus,
}

impl ContentThrottle {
    /// Creates a throttle without pauses.
    pub fn new(bus: Bus, clock: SharedClock) -> Self {
        Self { until: Arc::default(), clock, bus }
    }

    /// Waits until the bot's pause is over, if there is one.
    #[boxed]
    pub async fn wait(&self, bot: &str) {
        loop {
            let left = self.left(bot);
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    fn left(&self, bot: &str) -> Duration {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.get(bot).map_or(Duration::ZERO, |until| until.since(self.clock.now()));
        // A longer one is of a clock that was ahead.
        if left > LONGEST_PAUSE { Duration::ZERO } else { left }
    }

    /// Pauses every worker of the bot, as the platform requested.
    #[boxed]
    pub async fn slow_down(&self, bot: &str, retry_after: Option<Duration>) {
        let until = self.clock.now().plus(retry_after.unwrap_or(DEFAULT_PAUSE).min(LONGEST_PAUSE));
        self.pause(bot, until);
        let sent = self.bus.broadcast(TOPIC, Bytes::from(format!("{} {bot}", until.millis())));
        if let Err(error) = sent.await {
            debug!(error = with_causes(&error), "cannot broadcast the throttle to other workers");
        }
    }

    fn pause(&self, bot: &str, until: Timestamp) {
        let mut all = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(bot.to_owned()).or_insert(until);
        // A clock that was ahead set a longer one.
        let longest = self.clock.now().plus(LONGEST_PAUSE);
        *known = if *known > longest { until } else { (*known).max(until) };
    }

    /// Subscribes to pauses of other workers until `stop`.
    ///
    /// # Errors
    /// Fails when the bus is closed.
    #[boxed]
    pub async fn listen(
        &self,
        stop: CancellationToken,
    ) -> Result<impl Future<Output = ()> + Send + use<>, BusError> {
        let mut messages = self.bus.subscribe(TOPIC).await?;
        let throttle = self.clone();
        Ok(async move {
            while let Some(Some(message)) = stop.run_until_cancelled(messages.next()).await {
                if let Some((until, bot)) = read(&message) {
                    throttle.pause(bot, until.min(throttle.clock.now().plus(LONGEST_PAUSE)));
                }
            }
        })
    }
}

fn read(message: &[u8]) -> Option<(Timestamp, &str)> {
    let (until, bot) = std::str::from_utf8(message).ok()?.split_once(' ')?;
    Some((Timestamp::from_millis(until.parse().ok()?), bot))
}
