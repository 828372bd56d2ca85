//! State of one connection, and since when.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chatkeep_core::config::HttpConfig;
use chatkeep_core::http::minimum_rate::ThroughputMeter;
use chatkeep_core::metric;
use tokio::sync::Notify;

use crate::rate_limit::Address;

/// Minimum time before a connection may be evicted for want of room.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Reason for ending a connection from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The request head timed out.
    SlowHead,
    /// The wait for the next request timed out.
    Idle,
    /// The client reads its response too slowly.
    SlowReader,
    /// Evicted for others.
    Room,
    /// Evicted for the memory of its request body.
    Memory,
    /// The server stops.
    Stop,
}

/// Fault of a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFault {
    /// It came too slowly.
    Slow,
    /// There was no memory for it.
    NoMemory,
}

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waiting for a request head: the first one, or one that was received in part.
    Head,
    /// Waiting for the next request.
    Idle,
    /// Waiting for a request body.
    Body,
    /// A request is handled, or its response is being sent.
    Busy,
}

/// One connection.
#[derive(Debug)]
pub(super) struct ConnectionEntry {
    pub(super) id: u64,
    /// Address that it is counted for.
    pub(super) address: Option<Address>,
    state: Mutex<State>,
    ended: Notify,
    pub(super) config: HttpConfig,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Start of the phase; of a body, the time of the request.
    since: Instant,
    writing: ThroughputMeter,
    end: Option<End>,
    /// True if bytes came since the last request.
    heard: bool,
    /// Fault of the request body.
    body_fault: Option<BodyFault>,
    /// Bytes of the request body that are held in memory, until the end of the response.
    held: usize,
}

impl ConnectionEntry {
    pub(super) fn new(id: u64, address: Option<Address>, config: HttpConfig, now: Instant) -> Self {
        let state = State {
            phase: Phase::Head,
            since: now,
            writing: ThroughputMeter::new(config.answer),
            end: None,
            heard: false,
            body_fault: None,
            held: 0,
        };
        Self { id, address, state: Mutex::new(state), ended: Notify::new(), config }
    }

    /// Waits until the connection is to end.
    pub(super) async fn ended(&self) -> End {
        loop {
            if let Some(end) = self.state().end {
                return end;
            }
            self.ended.notified().await;
        }
    }

    /// Records the start of a request.
    pub(super) fn begin(&self) {
        let mut state = self.state();
        (state.phase, state.since) = (Phase::Busy, Instant::now());
        (state.heard, state.body_fault) = (false, None);
    }

    /// Records the end of a response; returns the bytes of the request body that were held.
    pub(super) fn finish(&self) -> usize {
        let mut state = self.state();
        (state.phase, state.since) = (Phase::Idle, Instant::now());
        std::mem::take(&mut state.held)
    }

    /// Records bytes of the request body that are held in memory.
    pub(super) fn hold(&self, bytes: usize) {
        self.state().held += bytes;
    }

    /// Returns the bytes of the request body that are held.
    pub(super) fn held(&self) -> usize {
        self.state().held
    }

    /// Returns since when the request of an incomplete body has been under way.
    pub(super) fn incomplete_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.phase == Phase::Body).then_some(state.since)
    }

    /// Returns true if a part of a request came to which no response is possible any more.
    pub(super) fn is_heard(&self) -> bool {
        self.state().heard
    }

    /// Records received bytes.
    pub(super) fn record_received(&self) {
        let mut state = self.state();
        state.heard = true;
        if state.phase == Phase::Idle {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Records that sending is blocked until the client reads.
    pub(super) fn blocked(&self) {
        self.state().writing.wait(Instant::now());
    }

    /// Records sent bytes.
    pub(super) fn written(&self, bytes: usize) {
        self.state().writing.advance(Instant::now(), bytes as u64);
    }

    /// Records the wait for a request body.
    pub(super) fn await_body(&self) {
        let mut state = self.state();
        if state.phase == Phase::Busy {
            state.phase = Phase::Body;
        }
    }

    /// Records the end of a request body, or of the wait for a part of it.
    pub(super) fn body_ended(&self, fault: Option<BodyFault>) {
        let mut state = self.state();
        state.body_fault = state.body_fault.or(fault);
        if state.phase == Phase::Body {
            state.phase = Phase::Busy;
        }
    }

    /// Returns the fault of the request body.
    pub(super) fn body_fault(&self) -> Option<BodyFault> {
        self.state().body_fault
    }

    pub(super) fn end(&self, end: End) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(end);
            metric::HTTP_CLOSED.add([end.name().into()], 1);
            drop(state);
            self.ended.notify_one();
        }
    }

    pub(super) fn maintain(&self, now: Instant, stopped: Option<Instant>) {
        let overdue = self.state().overdue(&self.config, now, stopped);
        if let Some(end) = overdue {
            self.end(end);
        }
    }

    /// Returns the eviction rank: the lower, the sooner.
    pub(super) fn rank(&self, now: Instant) -> Option<(u8, Instant)> {
        let state = self.state();
        let is_past_grace = now.saturating_duration_since(state.since) >= GRACE_PERIOD;
        let rank = match state.phase {
            Phase::Head if is_past_grace => 0,
            Phase::Idle => 1,
            Phase::Body if is_past_grace => 2,
            Phase::Head => 3,
            Phase::Body | Phase::Busy => return None,
        };
        Some((rank, state.since))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn overdue(&self, config: &HttpConfig, now: Instant, stopped: Option<Instant>) -> Option<End> {
        let age = now.saturating_duration_since(self.since);
        // Bytes sent before the stop have a moment to arrive.
        let stopping = stopped.is_some_and(|at| now.saturating_duration_since(at) >= GRACE_PERIOD);
        match self.phase {
            _ if self.writing.is_too_slow(now) => Some(End::SlowReader),
            Phase::Idle if stopped.is_some() => Some(End::Stop),
            Phase::Head if stopping => Some(End::Stop),
            Phase::Idle if age >= config.idle => Some(End::Idle),
            Phase::Head if age >= config.header => Some(End::SlowHead),
            _ => None,
        }
    }
}

impl End {
    const fn name(self) -> &'static str {
        match self {
            Self::SlowHead => "slow_head",
            Self::Idle => "idle",
            Self::SlowReader => "slow_reader",
            Self::Room => "room",
            Self::Memory => "memory",
            Self::Stop => "stop",
        }
    }
}
