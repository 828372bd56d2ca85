//! The connections there are, what each of them is doing, and which one has to go.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use chatkeep_core::config::HttpConfig;
use chatkeep_core::http::guard::is_public;
use chatkeep_core::http::pace::Pace;
use metrics::counter;
use tokio::sync::Notify;

use crate::limit::Address;

/// The share of all connections that only webhooks and checks of health get.
const RESERVED: usize = 4;
/// The share of all connections that make room at once, so that a flood does not have all of them
/// looked at for each newcomer.
const BATCH: usize = 64;
/// A connection is not closed for want of room before it had this long to show something.
const CHANCE: Duration = Duration::from_secs(1);

/// Why a connection is ended from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The head of its request did not come in time.
    SlowHead,
    /// It waited too long for its next request.
    Idle,
    /// It takes its answer too slowly.
    SlowReader,
    /// Others need its place.
    Room,
    /// The server stops.
    Stop,
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The head of a request is awaited: of the first one, or some of it came already.
    Head,
    /// The next request is awaited.
    Idle,
    /// The body of a request is awaited.
    Body,
    /// A request is handled, or its answer is on its way.
    Busy,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Entry {
    id: u64,
    /// The address that it is counted for.
    address: Option<Address>,
    state: Mutex<State>,
    ended: Notify,
    pub(super) config: HttpConfig,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Since when; of a body, since the request came.
    since: Instant,
    writing: Pace,
    end: Option<End>,
    /// Bytes came since the last request.
    heard: bool,
    /// The body of the request came too slowly.
    slow_body: bool,
}

/// All connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    config: HttpConfig,
    behind_proxies: bool,
    all: Mutex<All>,
    /// Requests under way that have no claim to what is reserved.
    ordinary: AtomicUsize,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    by_id: HashMap<u64, Arc<Entry>>,
    by_address: HashMap<Address, usize>,
    stopped: Option<Instant>,
}

/// A connection's place; dropping it makes it free.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) entry: Arc<Entry>,
    connections: Arc<Connections>,
}

/// A request that is under way; dropping it makes its connection wait for the next one.
#[derive(Debug)]
pub(super) struct UnderWay {
    entry: Arc<Entry>,
    /// Where it is counted, unless it has a claim to what is reserved.
    ordinary: Option<Arc<Connections>>,
}

impl Connections {
    pub(super) fn new(config: HttpConfig, behind_proxies: bool) -> Self {
        let (all, ordinary) = (Mutex::default(), AtomicUsize::new(0));
        Self { config, behind_proxies, all, ordinary }
    }

    pub(super) fn count(&self) -> usize {
        self.all().by_id.len()
    }

    /// Requests under way that have no claim to what is reserved.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        self.ordinary.load(Ordering::Relaxed)
    }

    /// A place for a connection from there; at the bound somebody else's. `None` when its address
    /// has enough, or nobody can make room.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Admitted> {
        let now = Instant::now();
        let counted = !self.behind_proxies && is_public(peer);
        let address = counted.then(|| Address::new(peer, &HeaderMap::new(), 0));
        let mut all = self.all();
        if let Some(address) = &address
            && all.by_address.get(address).is_some_and(|&had| had >= self.config.max_per_address)
        {
            return None;
        }
        if all.by_id.len() >= self.config.max_connections && !all.make_room(now) {
            return None;
        }
        if let Some(address) = address {
            *all.by_address.entry(address).or_default() += 1;
        }
        all.next += 1;
        let entry = Arc::new(Entry::new(all.next, address, self.config, now));
        all.by_id.insert(entry.id, Arc::clone(&entry));
        drop(all);
        Some(Admitted { entry, connections: Arc::clone(self) })
    }

    /// Closes some connections for want of room, where there are any to close.
    pub(super) fn make_room(&self) {
        self.all().make_room(Instant::now());
    }

    /// Ends what is overdue.
    pub(super) fn look_after(&self) {
        let now = Instant::now();
        let all = self.all();
        for entry in all.by_id.values() {
            entry.look_after(now, all.stopped);
        }
    }

    /// From now on idle connections end at once, and others after their request.
    pub(super) fn stop(&self) {
        self.all().stopped = Some(Instant::now());
        self.look_after();
    }

    /// Ends every connection, whatever it is doing.
    pub(super) fn end_all(&self) {
        for entry in self.all().by_id.values() {
            entry.end(End::Stop);
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        // Every step leaves it usable.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    /// Ends the connections that have shown the least, the oldest first; `false` when none of them
    /// can be ended.
    fn make_room(&mut self, now: Instant) -> bool {
        let entries = self.by_id.values();
        let mut found: Vec<_> = entries
            .filter_map(|entry| {
                let (rank, since) = entry.rank(now)?;
                Some((rank, since, entry.id))
            })
            .collect();
        found.sort_unstable();
        found.truncate((self.by_id.len() / BATCH).max(1));
        for (_, _, id) in &found {
            self.remove(*id).inspect(|entry| entry.end(End::Room));
        }
        !found.is_empty()
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Entry>> {
        let entry = self.by_id.remove(&id)?;
        if let Some(address) = entry.address
            && let Some(count) = self.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(entry)
    }
}

impl Entry {
    fn new(id: u64, address: Option<Address>, config: HttpConfig, now: Instant) -> Self {
        let state = State {
            phase: Phase::Head,
            since: now,
            writing: Pace::new(config.answer),
            end: None,
            heard: false,
            slow_body: false,
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

    /// Whether a part of a request came that cannot be answered any more.
    pub(super) fn is_heard(&self) -> bool {
        self.state().heard
    }

    /// Notes that bytes came.
    pub(super) fn hear(&self) {
        let mut state = self.state();
        state.heard = true;
        if state.phase == Phase::Idle {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Notes that the client has to take something before more can be sent.
    pub(super) fn blocked(&self) {
        self.state().writing.wait(Instant::now());
    }

    /// Notes that the client took something.
    pub(super) fn written(&self, bytes: usize) {
        self.state().writing.advance(Instant::now(), bytes as u64);
    }

    /// Notes that the body of the request is awaited.
    pub(super) fn await_body(&self) {
        let mut state = self.state();
        if state.phase == Phase::Busy {
            state.phase = Phase::Body;
        }
    }

    /// Notes that the body of the request is there, or came too slowly.
    pub(super) fn body_ended(&self, too_slow: bool) {
        let mut state = self.state();
        state.slow_body |= too_slow;
        if state.phase == Phase::Body {
            state.phase = Phase::Busy;
        }
    }

    /// Whether the body of the request came too slowly.
    pub(super) fn has_slow_body(&self) -> bool {
        self.state().slow_body
    }

    fn end(&self, end: End) {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(end);
            counter!("chatkeep_http_closed_total", "reason" => end.name()).increment(1);
            drop(state);
            self.ended.notify_one();
        }
    }

    fn look_after(&self, now: Instant, stopped: Option<Instant>) {
        let overdue = self.state().overdue(&self.config, now, stopped);
        if let Some(end) = overdue {
            self.end(end);
        }
    }

    /// How soon it has to make room: the lower, the sooner.
    fn rank(&self, now: Instant) -> Option<(u8, Instant)> {
        let state = self.state();
        let had_its_chance = now.saturating_duration_since(state.since) >= CHANCE;
        let rank = match state.phase {
            Phase::Head if had_its_chance => 0,
            Phase::Idle => 1,
            Phase::Body if had_its_chance => 2,
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
        // What was sent before the stop has a moment to arrive.
        let stopping = stopped.is_some_and(|at| now.saturating_duration_since(at) >= CHANCE);
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
            Self::Stop => "stop",
        }
    }
}

impl Admitted {
    /// Begins a request; `reserved`: one with a claim to what is reserved. `None` when there are as
    /// many others under way as may be.
    pub(super) fn begin(&self, reserved: bool) -> Option<UnderWay> {
        let (entry, connections) = (Arc::clone(&self.entry), Arc::clone(&self.connections));
        let ordinary = if reserved {
            None
        } else {
            let max = connections.config.max_connections;
            let room = max - (max / RESERVED).max(1);
            let one_more = |under_way| (under_way < room).then_some(under_way + 1);
            connections
                .ordinary
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
                .ok()?;
            Some(connections)
        };
        let mut state = entry.state();
        (state.phase, state.since) = (Phase::Busy, Instant::now());
        (state.heard, state.slow_body) = (false, false);
        drop(state);
        Some(UnderWay { entry, ordinary })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.connections.all().remove(self.entry.id);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(connections) = &self.ordinary {
            connections.ordinary.fetch_sub(1, Ordering::Relaxed);
        }
        let mut state = self.entry.state();
        (state.phase, state.since) = (Phase::Idle, Instant::now());
    }
}
