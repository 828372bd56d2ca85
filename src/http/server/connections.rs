//! Set of open connections, and eviction at the bounds of their number and of their memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::HeaderMap;
use chatkeep_core::config::HttpConfig;
use chatkeep_core::http::guard::is_public;

use super::entry::{ConnectionEntry, End};
use crate::rate_limit::Address;

/// Divisor of all connections for the part reserved to webhooks and health checks.
const RESERVED: usize = 4;
/// Divisor of all connections for the part evicted at once, so that a flood does not cause a scan
/// of all of them for each newcomer.
const BATCH: usize = 64;
/// Divisor of the memory of request bodies for the part made free at once, for the same reason.
const MEMORY_BATCH: usize = 16;

/// All connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    config: HttpConfig,
    behind_proxies: bool,
    all: Mutex<All>,
    /// Requests under way that may not use the reserve.
    ordinary: AtomicUsize,
    /// Bytes of request bodies that are held in memory.
    held: AtomicUsize,
}

#[derive(Debug, Default)]
struct All {
    next: u64,
    by_id: HashMap<u64, Arc<ConnectionEntry>>,
    by_address: HashMap<Address, usize>,
    stopped: Option<Instant>,
}

/// Slot of a connection; released on drop.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) entry: Arc<ConnectionEntry>,
    connections: Arc<Connections>,
}

/// Request under way; on drop its connection waits for the next one.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    entry: Arc<ConnectionEntry>,
    connections: Arc<Connections>,
    /// True if it may use the reserve, and is not counted among the ordinary ones.
    reserved: bool,
}

impl Connections {
    pub(super) fn new(config: HttpConfig, behind_proxies: bool) -> Self {
        let (ordinary, held) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { config, behind_proxies, all: Mutex::default(), ordinary, held }
    }

    pub(super) fn count(&self) -> usize {
        self.all().by_id.len()
    }

    /// Returns the number of requests under way that may not use the reserve.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        self.ordinary.load(Ordering::Relaxed)
    }

    /// Admits a connection from a peer; at the bound by evicting another one. `None` when its
    /// address has enough, or none can be evicted.
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
        let entry = Arc::new(ConnectionEntry::new(all.next, address, self.config, now));
        all.by_id.insert(entry.id, Arc::clone(&entry));
        drop(all);
        Some(Admitted { entry, connections: Arc::clone(self) })
    }

    /// Returns the bytes of request bodies that are held in memory.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Holds `bytes` more of a connection's request body in memory. Beyond the bound, evicts those
    /// whose bodies have been incomplete for longest; `false` when that is not enough.
    pub(super) fn hold(&self, entry: &ConnectionEntry, bytes: usize) -> bool {
        entry.hold(bytes);
        let held = self.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        held <= self.config.max_bodies || self.all().make_memory(self.config.max_bodies, entry.id)
    }

    /// Evicts some connections for want of room, where any can be closed.
    pub(super) fn evict(&self) {
        self.all().make_room(Instant::now());
    }

    /// Ends overdue connections.
    pub(super) fn maintain(&self) {
        let now = Instant::now();
        let all = self.all();
        for entry in all.by_id.values() {
            entry.maintain(now, all.stopped);
        }
    }

    /// Ends idle connections at once from now on, and others after their request.
    pub(super) fn stop(&self) {
        self.all().stopped = Some(Instant::now());
        self.maintain();
    }

    /// Ends every connection, whatever its state.
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
    /// Evicts the connections that have shown the least, the oldest first; `false` when none of
    /// them can be ended.
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

    /// Evicts connections with incomplete request bodies, the oldest first and not `own`, until all
    /// the others' hold less than `max` bytes by a part for newcomers; `false` when `max` is
    /// exceeded still.
    fn make_memory(&mut self, max: usize, own: u64) -> bool {
        let mut held: usize = self.by_id.values().map(|entry| entry.held()).sum();
        if held <= max {
            // Those that are evicted already are about to release theirs.
            return true;
        }
        let incomplete = self.by_id.values().filter(|entry| entry.id != own && entry.held() > 0);
        let mut incomplete: Vec<_> = incomplete
            .filter_map(|entry| Some((entry.incomplete_since()?, entry.id, entry.held())))
            .collect();
        incomplete.sort_unstable();
        for (_, id, bytes) in incomplete {
            if held <= max - max / MEMORY_BATCH {
                break;
            }
            held -= bytes;
            self.remove(id).inspect(|entry| entry.end(End::Memory));
        }
        held <= max
    }

    fn remove(&mut self, id: u64) -> Option<Arc<ConnectionEntry>> {
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

impl Admitted {
    /// Returns the connection, and the set that it is in.
    pub(super) fn parts(&self) -> (Arc<ConnectionEntry>, Arc<Connections>) {
        (Arc::clone(&self.entry), Arc::clone(&self.connections))
    }

    /// Begins a request; `reserved`: one that may use the reserve. `None` when the maximum of
    /// others is under way.
    pub(super) fn begin(&self, reserved: bool) -> Option<ActiveRequest> {
        let (entry, connections) = self.parts();
        if !reserved {
            let max = connections.config.max_connections;
            let room = max - (max / RESERVED).max(1);
            let one_more = |under_way| (under_way < room).then_some(under_way + 1);
            connections
                .ordinary
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
                .ok()?;
        }
        entry.begin();
        Some(ActiveRequest { entry, connections, reserved })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.connections.all().remove(self.entry.id);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let Connections { ordinary, held, .. } = &*self.connections;
        if !self.reserved {
            ordinary.fetch_sub(1, Ordering::Relaxed);
        }
        held.fetch_sub(self.entry.finish(), Ordering::Relaxed);
    }
}
