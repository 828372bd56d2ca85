//! The connections there are, and which of them have to go.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::HeaderMap;
use chatkeep_core::config::HttpConfig;
use chatkeep_core::http::guard::is_public;

use super::entry::{End, Entry};
use crate::limit::Address;

/// The share of all connections that only webhooks and checks of health get.
const RESERVED: usize = 4;
/// The share of all connections that make room at once, so that a flood does not have all of them
/// looked at for each newcomer.
const BATCH: usize = 64;
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
        entry.begin();
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
        self.entry.finish();
    }
}
