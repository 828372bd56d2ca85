//! Order of the limits of a request: its secret is counted before the user of it is looked up.
//!
//! Looking up a secret costs a query, so an unknown one is first counted for the address that it
//! comes from, which gets the token back when the secret turns out to be valid. So guessing secrets
//! is throttled before it costs anything, and a known caller is never held up by others behind the
//! same address.
//!
//! A page with many pictures asks for all of them at once. So what a browser's session loads for a
//! page ([`RequestClass::File`]) has buckets of its own: it takes nothing from the pages, and is
//! bounded all the same.

use std::time::Duration;

use chatkeep_bus::Bus;
use chatkeep_core::cache::Cache;
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::id::UserId;
use chatkeep_core::time::SharedClock;
use chatkeep_workers::supervisor::Supervisor;
use sha2::{Digest as _, Sha256};

use super::{Address, FILE_TOPIC, FILE_USER_TOPIC, Limiter, RateDecision, TOPIC, USER_TOPIC};

/// Rate of one user over all keys and sessions, as a multiple of one of them.
const USER: u32 = 5;
/// Rate of files of pages, as a multiple of that of other requests.
const FILE: u32 = 10;
/// Maximum number of secrets cached with their users: about 20 MB.
const CACHED_SECRETS: usize = 100_000;
/// Idle time after which a secret is looked up like a new one.
const IDLE: Duration = Duration::from_hours(24);

/// First check of every request. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RateLimitGate {
    ordinary: Limits,
    files: Limits,
    /// Users of secrets, by SHA-256.
    known: Cache<[u8; 32], UserId>,
}

/// Limits of one class of requests.
#[derive(Clone, Debug)]
struct Limits {
    callers: Limiter,
    users: Limiter,
}

/// Class of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// Page, call of the API, anything else.
    Ordinary,
    /// Picture or file that a page of a signed-in person shows.
    File,
}

/// Request that passed the gate, before its secret is looked up.
#[derive(Clone, Debug)]
pub struct AdmittedRequest {
    /// Decision, with the figures for its rate limit headers.
    pub verdict: RateDecision,
    address: String,
    class: RequestClass,
    /// Secret of the request that can be looked up.
    secret: Option<Secret>,
}

#[derive(Clone, Debug)]
struct Secret {
    hash: [u8; 32],
    /// True if it was counted for its own bucket and its user's already.
    is_known: bool,
}

impl AdmittedRequest {
    /// Returns true if its secret is that of a caller who was known before the request.
    pub fn is_of_known_caller(&self) -> bool {
        self.secret.as_ref().is_some_and(|secret| secret.is_known)
    }
}

/// Result of looking up a request's secret.
#[derive(Clone, Copy, Debug)]
pub enum Lookup<'a> {
    /// It belongs to this user.
    Of(&'a UserId),
    /// It is invalid.
    Nobody,
    /// The lookup failed.
    Failed,
}

impl RateLimitGate {
    /// Creates a gate with limits that all processes on the bus share until
    /// `supervisor` stops.
    pub fn new(
        config: RateLimitConfig,
        bus: &Bus,
        clock: &SharedClock,
        supervisor: &Supervisor,
    ) -> Self {
        let limiter = |config, topic| {
            Limiter::on_topic(config, topic, bus.clone(), clock.clone(), supervisor)
        };
        let limits = |config, topic, user_topic| Limits {
            callers: limiter(config, topic),
            users: limiter(times(config, USER), user_topic),
        };
        Self::build(
            limits(config, TOPIC, USER_TOPIC),
            limits(times(config, FILE), FILE_TOPIC, FILE_USER_TOPIC),
        )
    }

    /// Creates a gate for this process alone.
    pub fn alone(config: RateLimitConfig, clock: &SharedClock) -> Self {
        let limiter = |config| Limiter::alone(config, clock.clone());
        let limits =
            |config| Limits { callers: limiter(config), users: limiter(times(config, USER)) };
        Self::build(limits(config), limits(times(config, FILE)))
    }

    fn build(ordinary: Limits, files: Limits) -> Self {
        let known = Cache::new(CACHED_SECRETS, IDLE).renewed_by_reads();
        Self { ordinary, files, known }
    }

    /// Counts a request with `secret`, or without a plausible one. Without a known one, every
    /// request is an ordinary one of its address.
    pub fn enter(
        &self,
        secret: Option<&str>,
        address: Address,
        class: RequestClass,
    ) -> AdmittedRequest {
        let address = format!("address:{address}");
        let hash = secret.map(|secret| <[u8; 32]>::from(Sha256::digest(secret.as_bytes())));
        let user = hash.as_ref().and_then(|hash| self.known.get(hash));
        let verdict = match (&hash, &user) {
            (Some(hash), Some(user)) => self.count(class, hash, user),
            _ => self.ordinary.callers.take(&address),
        };
        let is_known = user.is_some();
        let secret = hash.map(|hash| Secret { hash, is_known });
        AdmittedRequest { verdict, address, class, secret }
    }

    /// Completes the count of an allowed request, once its secret was looked up.
    pub fn looked_up(&self, entry: &AdmittedRequest, lookup: Lookup<'_>) -> RateDecision {
        match (&entry.secret, lookup) {
            (Some(secret), Lookup::Of(user)) if !secret.is_known => {
                self.ordinary.callers.give_back(&entry.address);
                self.known.insert(secret.hash, user.clone());
                self.count(entry.class, &secret.hash, user)
            }
            (Some(secret), Lookup::Nobody) if secret.is_known => {
                // It expired. From now on it costs the address, as any invalid one.
                self.known.remove(&secret.hash);
                entry.verdict
            }
            _ => entry.verdict,
        }
    }

    /// Takes a request off the bucket of a secret and off its user's; off neither if it is refused.
    fn count(&self, class: RequestClass, hash: &[u8; 32], user: &UserId) -> RateDecision {
        let limits = match class {
            RequestClass::Ordinary => &self.ordinary,
            RequestClass::File => &self.files,
        };
        let secret = [b"secret:", &hash[..]].concat();
        let own = limits.callers.take_bytes(&secret);
        if !own.allowed {
            return own;
        }
        let all = limits.users.take(&format!("user:{user}"));
        if !all.allowed {
            limits.callers.give_back_bytes(&secret);
            return all;
        }
        RateDecision { remaining: own.remaining.min(all.remaining), ..own }
    }
}

fn times(config: RateLimitConfig, factor: u32) -> RateLimitConfig {
    let RateLimitConfig { per_minute, burst } = config;
    RateLimitConfig {
        per_minute: per_minute.saturating_mul(factor),
        burst: burst.saturating_mul(factor),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use axum::http::HeaderMap;
    use chatkeep_core::time::{ManualClock, Timestamp};

    use super::*;

    const BURST: u32 = 4;

    fn gate() -> RateLimitGate {
        let clock: SharedClock =
            Arc::new(ManualClock::new(Timestamp::from_millis(1_767_323_045_678)));
        RateLimitGate::alone(RateLimitConfig { per_minute: 1, burst: BURST }, &clock)
    }

    fn address(last: u8) -> Address {
        Address::new(IpAddr::from([192, 0, 2, last]), &HeaderMap::new(), 0)
    }

    /// Returns true twice for a request that costs a query, and that is allowed after it.
    fn request(
        gate: &RateLimitGate,
        secret: &str,
        from: Address,
        user: Option<&UserId>,
    ) -> (bool, bool) {
        request_of(RequestClass::Ordinary, gate, secret, from, user)
    }

    fn request_of(
        class: RequestClass,
        gate: &RateLimitGate,
        secret: &str,
        from: Address,
        user: Option<&UserId>,
    ) -> (bool, bool) {
        let entry = gate.enter(Some(secret), from, class);
        if !entry.verdict.allowed {
            return (false, false);
        }
        let lookup = user.map_or(Lookup::Nobody, Lookup::Of);
        (true, gate.looked_up(&entry, lookup).allowed)
    }

    #[test]
    fn secrets_that_are_tried_stop_costing_queries() {
        let (gate, user) = (gate(), UserId::from("U1"));
        assert_eq!(request(&gate, "good", address(1), Some(&user)), (true, true));
        let mut queries = 0;
        for n in 0..100 {
            queries += u32::from(request(&gate, &format!("bad{n}"), address(1), None).0);
        }
        assert_eq!(queries, BURST, "what the good one cost was given back");
        assert!(
            !gate.enter(None, address(1), RequestClass::Ordinary).verdict.allowed,
            "nobody has the same bucket"
        );
        // Known callers go on, from there, too; others have their own.
        assert_eq!(request(&gate, "good", address(1), Some(&user)), (true, true));
        assert_eq!(request(&gate, "bad", address(2), None), (true, true));
    }

    #[test]
    fn a_known_secret_over_its_limit_costs_no_query() {
        let (gate, user) = (gate(), UserId::from("U1"));
        for _ in 0..BURST {
            assert_eq!(request(&gate, "good", address(1), Some(&user)), (true, true));
        }
        assert_eq!(request(&gate, "good", address(1), Some(&user)), (false, false));
        assert_eq!(request(&gate, "other", address(1), Some(&user)), (true, true));
    }

    #[test]
    fn a_secret_that_ended_costs_its_address() {
        let (gate, user) = (gate(), UserId::from("U1"));
        assert_eq!(request(&gate, "good", address(1), Some(&user)), (true, true));
        assert!(request(&gate, "good", address(1), None).0);
        let mut queries = 0;
        for _ in 0..100 {
            queries += u32::from(request(&gate, "good", address(1), None).0);
        }
        assert_eq!(queries, BURST);
        // An outage of the database invalidates nothing.
        assert_eq!(request(&gate, "x", address(2), Some(&user)), (true, true));
        let entry = gate.enter(Some("x"), address(2), RequestClass::Ordinary);
        assert!(gate.looked_up(&entry, Lookup::Failed).allowed);
        assert!(gate.enter(Some("x"), address(2), RequestClass::Ordinary).secret.unwrap().is_known);
    }

    #[test]
    fn many_keys_of_one_user_have_five_times_as_much_together() {
        let (gate, user) = (gate(), UserId::from("U1"));
        let mut granted = 0;
        for key in 0..50 {
            for _ in 0..BURST {
                let secret = format!("key{key}");
                let from = address(key);
                granted += u32::from(request(&gate, &secret, from, Some(&user)).1);
            }
        }
        assert_eq!(granted, BURST * USER);
        let other = UserId::from("U2");
        assert_eq!(request(&gate, "theirs", address(1), Some(&other)), (true, true));
    }

    #[test]
    fn what_the_limit_of_a_user_refuses_costs_the_key_nothing() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_323_045_678)));
        let shared: SharedClock = Arc::<ManualClock>::clone(&clock);
        let config = RateLimitConfig { per_minute: 1, burst: BURST };
        let (gate, user) = (RateLimitGate::alone(config, &shared), UserId::from("U1"));
        for key in 0..5 {
            for _ in 0..BURST {
                assert!(request(&gate, &format!("key{key}"), address(key), Some(&user)).1);
            }
        }
        let granted = || {
            let requests = (0..2 * BURST).map(|_| request(&gate, "last", address(9), Some(&user)));
            requests.filter(|(_, granted)| *granted).count()
        };
        assert_eq!(granted(), 0);
        clock.advance(Duration::from_mins(1));
        assert_eq!(granted(), 4, "the whole burst of the key");
    }

    #[test]
    fn files_of_pages_have_buckets_of_their_own() {
        let (gate, user) = (gate(), UserId::from("U1"));
        assert_eq!(request(&gate, "page", address(1), Some(&user)), (true, true));
        let mut files = 0;
        for _ in 0..10 * BURST * FILE {
            let known = request_of(RequestClass::File, &gate, "page", address(1), Some(&user));
            files += u32::from(known.1);
        }
        assert_eq!(files, BURST * FILE, "they are bounded");
        for _ in 1..BURST {
            assert!(request(&gate, "page", address(1), Some(&user)).1, "pages go on");
        }
        assert!(!request(&gate, "page", address(1), Some(&user)).1);
        // Who is not known gains nothing by asking for files.
        let mut queries = 0;
        for n in 0..100 {
            let secret = format!("bad{n}");
            let guess = request_of(RequestClass::File, &gate, &secret, address(2), None);
            queries += u32::from(guess.0);
        }
        assert_eq!(queries, BURST);
    }
}
