//! Least speed at which the peer of a connection has to read or send bytes.
//!
//! Long transfers are limited by their progress, never by their whole time. Only time spent waiting
//! for the peer counts, so nobody is cut off because this side was busy, and a stream with nothing
//! to send may stay open.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Sleep, sleep};

/// Least speed: a number of bytes in each window of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimumRate {
    /// Window over which the speed is averaged.
    pub window: Duration,
    /// Minimum number of bytes per second.
    pub bytes_per_second: u64,
}

/// Measures one direction of one connection against a [`MinimumRate`].
#[derive(Clone, Debug)]
pub struct ThroughputMeter {
    window: Duration,
    /// Minimum number of bytes in a whole window of waiting.
    least: u64,
    /// Start of the current wait for the peer.
    since: Option<Instant>,
    /// Time waited in this window, before `since`.
    waited: Duration,
    /// Time waited in all windows, before `since`.
    total: Duration,
    /// Bytes moved in this window.
    moved: u64,
}

impl ThroughputMeter {
    /// Starts the measurement of a connection.
    pub fn new(speed: MinimumRate) -> Self {
        let MinimumRate { window, bytes_per_second } = speed;
        let least = bytes_per_second.saturating_mul(window.as_secs().max(1));
        let (waited, total) = (Duration::ZERO, Duration::ZERO);
        Self { window, least, since: None, waited, total, moved: 0 }
    }

    /// Records that the peer is waited for from `now` on.
    pub fn wait(&mut self, now: Instant) {
        if self.since.is_none() {
            // Bytes that nobody had to wait for do not make up for a later stall.
            if self.waited.is_zero() {
                self.moved = 0;
            }
            self.since = Some(now);
        }
    }

    /// Records that `bytes` moved, which ends the wait.
    pub fn advance(&mut self, now: Instant, bytes: u64) {
        let waited = self.running(now);
        self.since = None;
        self.waited += waited;
        self.total += waited;
        self.moved = self.moved.saturating_add(bytes);
        if self.waited >= self.window && self.moved >= self.least {
            (self.waited, self.moved) = (Duration::ZERO, 0);
        }
    }

    /// Returns whether a whole window brought too few bytes.
    pub fn is_too_slow(&self, now: Instant) -> bool {
        self.waited + self.running(now) >= self.window && self.moved < self.least
    }

    /// Returns the time left in the window.
    pub fn left(&self, now: Instant) -> Duration {
        self.window.saturating_sub(self.waited + self.running(now))
    }

    /// Returns the time waited so far.
    pub fn total(&self, now: Instant) -> Duration {
        self.total + self.running(now)
    }

    fn running(&self, now: Instant) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// The peer sent its bytes too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transfer is too slow")]
pub struct TooSlow;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A stream of bytes that fails with [`TooSlow`] if its current speed falls below one limit, or its
/// overall speed below another. The latter limits the time of a whole file by its size.
#[derive(Debug)]
pub struct MinimumRateStream<S> {
    bytes: S,
    pace: ThroughputMeter,
    overall: MinimumRate,
    /// Bytes so far.
    moved: u64,
    timer: Option<Pin<Box<Sleep>>>,
    ended: bool,
}

impl<S> MinimumRateStream<S> {
    /// Wraps `bytes`, which must come at `speed` at any time, and at `overall` in total once its
    /// window has passed.
    pub fn new(bytes: S, speed: MinimumRate, overall: MinimumRate) -> Self {
        Self {
            bytes,
            pace: ThroughputMeter::new(speed),
            overall,
            moved: 0,
            timer: None,
            ended: false,
        }
    }

    /// Returns the time that may still be waited for the next bytes.
    fn left(&self, now: Instant) -> Duration {
        let earned = self.moved.saturating_mul(1_000) / self.overall.bytes_per_second.max(1);
        let allowed = self.overall.window.saturating_add(Duration::from_millis(earned));
        allowed.saturating_sub(self.pace.total(now))
    }
}

impl<S, E> Stream for MinimumRateStream<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<BoxError>,
{
    type Item = Result<Bytes, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        loop {
            if let Poll::Ready(item) = Pin::new(&mut this.bytes).poll_next(context) {
                this.timer = None;
                let bytes = item.as_ref().and_then(|item| item.as_ref().ok()).map_or(0, Bytes::len);
                this.pace.advance(Instant::now(), bytes as u64);
                this.moved = this.moved.saturating_add(bytes as u64);
                return Poll::Ready(item.map(|item| item.map_err(Into::into)));
            }
            let now = Instant::now();
            this.pace.wait(now);
            let left = this.left(now);
            if this.pace.is_too_slow(now) || left.is_zero() {
                this.ended = true;
                return Poll::Ready(Some(Err(TooSlow.into())));
            }
            let left = left.min(this.pace.left(now)).max(Duration::from_millis(1));
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(left)));
            ready!(timer.as_mut().poll(context));
            this.timer = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    const SPEED: MinimumRate =
        MinimumRate { window: Duration::from_secs(10), bytes_per_second: 100 };

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_dripping_side_is_too_slow_after_one_window() {
        let (mut pace, start) = (ThroughputMeter::new(SPEED), Instant::now());
        for second in 0..9 {
            pace.wait(at(start, second));
            pace.advance(at(start, second + 1), 1);
            assert!(!pace.is_too_slow(at(start, second + 1)), "after {second}");
        }
        pace.wait(at(start, 9));
        assert!(!pace.is_too_slow(at(start, 9)));
        assert!(pace.is_too_slow(at(start, 10)));
    }

    #[test]
    fn a_steady_side_goes_on_for_ever_and_a_fast_start_does_not_pay_for_a_stall() {
        let (mut pace, start) = (ThroughputMeter::new(SPEED), Instant::now());
        for second in 0..1_000 {
            pace.wait(at(start, second));
            pace.advance(at(start, second + 1), 100);
            assert!(!pace.is_too_slow(at(start, second + 1)), "after {second}");
        }
        let (mut pace, start) = (ThroughputMeter::new(SPEED), Instant::now());
        pace.advance(start, 1_000_000);
        pace.wait(start);
        assert!(!pace.is_too_slow(at(start, 9)) && pace.is_too_slow(at(start, 10)));
    }

    #[test]
    fn time_of_this_side_does_not_count() {
        let (mut pace, start) = (ThroughputMeter::new(SPEED), Instant::now());
        pace.wait(start);
        pace.advance(at(start, 1), 1);
        assert!(!pace.is_too_slow(at(start, 3_600)), "nobody waited for the other side");
        assert_eq!(pace.left(at(start, 3_600)), Duration::from_secs(9));
    }

    #[tokio::test]
    async fn a_stream_that_stalls_ends_and_one_that_flows_does_not() {
        let speed = MinimumRate { window: Duration::from_millis(50), bytes_per_second: 1 };
        let long = MinimumRate { window: Duration::from_mins(1), bytes_per_second: 1 };
        let chunk = || Ok::<_, BoxError>(Bytes::from_static(b"x"));
        let flowing = stream::iter(vec![chunk(), chunk()]);
        let all: Vec<_> = MinimumRateStream::new(flowing, speed, long).collect().await;
        assert!(all.len() == 2 && all.iter().all(Result::is_ok));
        let stalled = stream::iter(vec![chunk()]).chain(stream::pending());
        let all: Vec<_> = MinimumRateStream::new(Box::pin(stalled), speed, long).collect().await;
        let error = all[1].as_ref().unwrap_err();
        assert!(all.len() == 2 && error.is::<TooSlow>());
        // Fast enough at any time, and yet too slow for its size.
        let overall = MinimumRate { window: Duration::from_millis(20), bytes_per_second: 1_000 };
        let slow = stream::iter(vec![chunk(), chunk()]).chain(stream::pending());
        let mut slow = MinimumRateStream::new(Box::pin(slow), long, overall);
        assert!(slow.next().await.unwrap().is_ok() && slow.next().await.unwrap().is_ok());
        assert!(slow.next().await.unwrap().is_err() && slow.next().await.is_none());
    }
}
