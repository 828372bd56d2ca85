//! Token bucket arithmetic in integers: a token is 60,000 units, so that the refill in a
//! millisecond is a whole number of units at any rate.

use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::time::Timestamp;

/// Units in a token: milliseconds in a minute.
const TOKEN: i64 = 60_000;

/// Refill rate and capacity of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// Tokens a minute, equal to units a millisecond; above 0.
    per_minute: i64,
    /// Tokens in a full bucket.
    burst: u32,
}

/// A caller's bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Units missing from the full bucket; more than its capacity is debt.
    missing: i64,
    /// Time as of which `missing` is true.
    at: Timestamp,
}

/// Decision about a request, with the figures for its rate limit headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateDecision {
    /// True if the request is allowed.
    pub allowed: bool,
    /// Requests that a full bucket holds; 0 when there is no limit, and then the other figures have
    /// no meaning.
    pub limit: u32,
    /// Requests that the caller may still make at once.
    pub remaining: u32,
    /// Time at which the bucket is full again, in seconds since 1970.
    pub reset: i64,
    /// Retry-after in whole seconds; 0 when the request is allowed.
    pub retry_after: u32,
}

impl Rate {
    /// Returns the rate; `None` for no limit.
    pub(super) fn new(config: RateLimitConfig) -> Option<Self> {
        let RateLimitConfig { per_minute, burst } = config;
        (per_minute > 0).then(|| Self { per_minute: i64::from(per_minute), burst: burst.max(1) })
    }

    pub(super) fn burst(&self) -> u32 {
        self.burst
    }

    /// Returns the milliseconds after which every bucket is full again.
    pub(super) fn fills_in(&self) -> i64 {
        self.millis(self.most_missing())
    }

    fn capacity(&self) -> i64 {
        i64::from(self.burst) * TOKEN
    }

    /// Returns the maximum debt: what is refilled in a minute. However wrong the others are about a
    /// caller, it is not blocked for longer.
    fn most_missing(&self) -> i64 {
        self.capacity() + self.per_minute * TOKEN
    }

    /// Returns the milliseconds until that many units are refilled.
    fn millis(&self, units: i64) -> i64 {
        rounded_up(units.max(0), self.per_minute)
    }
}

impl Bucket {
    pub(super) fn full(now: Timestamp) -> Self {
        Self { missing: 0, at: now }
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&mut self, rate: Rate, now: Timestamp) -> RateDecision {
        self.settle(rate, now);
        let short = self.missing + TOKEN - rate.capacity();
        let allowed = short <= 0;
        if allowed {
            self.missing += TOKEN;
        }
        let left = (rate.capacity() - self.missing).max(0) / TOKEN;
        let reset = now.millis().saturating_add(rate.millis(self.missing));
        let wait = rounded_up(rate.millis(short), 1_000);
        RateDecision {
            allowed,
            limit: rate.burst,
            remaining: u32::try_from(left).unwrap_or(u32::MAX),
            reset: rounded_up(reset, 1_000),
            retry_after: u32::try_from(wait).unwrap_or(u32::MAX),
        }
    }

    /// Puts a token back.
    pub(super) fn give_back(&mut self) {
        self.missing = (self.missing - TOKEN).max(0);
    }

    /// Charges tokens that were granted elsewhere already, whether they are there or not.
    pub(super) fn charge(&mut self, rate: Rate, now: Timestamp, tokens: u32) {
        self.settle(rate, now);
        let missing = self.missing + i64::from(tokens) * TOKEN;
        self.missing = missing.min(rate.most_missing());
    }

    /// Refills by the time since. A clock that went back costs nobody anything.
    fn settle(&mut self, rate: Rate, now: Timestamp) {
        let passed = i64::try_from(now.since(self.at).as_millis()).unwrap_or(i64::MAX);
        let back = passed.saturating_mul(rate.per_minute);
        self.missing = self.missing.saturating_sub(back).max(0);
        self.at = now;
    }
}

/// Divides `amount` by `by`, rounded up.
const fn rounded_up(amount: i64, by: i64) -> i64 {
    amount / by + (amount % by > 0) as i64
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn rate(per_minute: u32, burst: u32) -> Rate {
        Rate::new(RateLimitConfig { per_minute, burst }).unwrap()
    }

    const fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_burst_then_the_steady_rate() {
        let (rate, start) = (rate(120, 3), 1_000_000);
        let mut bucket = Bucket::full(at(start));
        let verdict = bucket.take(rate, at(start));
        let expected =
            RateDecision { allowed: true, limit: 3, remaining: 2, reset: 1_001, retry_after: 0 };
        assert_eq!(verdict, expected);
        assert!(bucket.take(rate, at(start)).allowed && bucket.take(rate, at(start)).allowed);
        let refused = bucket.take(rate, at(start));
        let expected =
            RateDecision { allowed: false, limit: 3, remaining: 0, reset: 1_002, retry_after: 1 };
        assert_eq!(refused, expected);
        assert!(!bucket.take(rate, at(start + 499)).allowed);
        assert!(bucket.take(rate, at(start + 500)).allowed);
        assert!(!bucket.take(rate, at(start + 999)).allowed);
    }

    #[test]
    fn debt_is_paid_first_and_never_lasts_longer_than_a_minute() {
        let rate = rate(60, 10);
        let mut bucket = Bucket::full(at(0));
        bucket.charge(rate, at(0), 15);
        assert_eq!(bucket.take(rate, at(0)).retry_after, 6, "five of debt and one to take");
        assert!(!bucket.take(rate, at(5_999)).allowed);
        assert!(bucket.take(rate, at(6_000)).allowed);
        bucket.charge(rate, at(6_000), u32::MAX);
        assert_eq!(bucket.take(rate, at(6_000)).retry_after, 61);
    }

    #[test]
    fn a_clock_that_goes_back_costs_nothing() {
        let rate = rate(60, 1);
        let mut bucket = Bucket::full(at(3_600_000));
        assert!(bucket.take(rate, at(3_600_000)).allowed);
        assert!(!bucket.take(rate, at(0)).allowed);
        assert!(bucket.take(rate, at(1_000)).allowed);
    }

    proptest! {
        /// Defining property of a token bucket: no period has more grants than the burst and its
        /// refill, and nothing is refused that this would allow.
        #[test]
        fn grants_what_the_rate_allows_and_no_more(
            per_minute in 1_u32..2_000,
            burst in 1_u32..20,
            pauses in vec(0_i64..2_000, 1..200),
        ) {
            let rate = rate(per_minute, burst);
            let mut bucket = Bucket::full(at(0));
            let (mut now, mut grants) = (0, Vec::<i64>::new());
            for pause in pauses {
                now += pause;
                let verdict = bucket.take(rate, at(now));
                let fits = (0..=grants.len()).all(|first| {
                    let since = grants.get(first).copied().unwrap_or(now);
                    let count = i64::try_from(grants.len() - first + 1).unwrap();
                    (count - i64::from(burst)) * TOKEN <= (now - since) * i64::from(per_minute)
                });
                prop_assert_eq!(verdict.allowed, fits, "at {}, granted at {:?}", now, grants);
                if verdict.allowed {
                    grants.push(now);
                }
            }
        }

        /// The figures in a verdict come true, and not later than need be.
        #[test]
        fn tells_the_truth(
            per_minute in 1_u32..2_000,
            burst in 1_u32..20,
            steps in vec((0_i64..2_000, 0_u32..3), 1..50),
        ) {
            let rate = rate(per_minute, burst);
            let (mut bucket, mut now) = (Bucket::full(at(0)), 0);
            for (pause, elsewhere) in steps {
                now += pause;
                bucket.charge(rate, at(now), elsewhere);
                let verdict = bucket.take(rate, at(now));
                prop_assert!(verdict.remaining < burst);
                prop_assert_eq!(verdict.limit, burst);
                let then = |seconds: i64| at(now + seconds * 1_000);
                let mut later = bucket;
                if verdict.allowed {
                    prop_assert_eq!(verdict.retry_after, 0);
                    for _ in 0..verdict.remaining {
                        prop_assert!(later.take(rate, at(now)).allowed);
                    }
                    prop_assert!(!later.take(rate, at(now)).allowed);
                } else {
                    let wait = i64::from(verdict.retry_after);
                    prop_assert!(wait >= 1);
                    prop_assert!(wait == 1 || !later.take(rate, then(wait - 1)).allowed);
                    prop_assert!(later.take(rate, then(wait)).allowed);
                }
                let mut full = bucket;
                prop_assert_eq!(full.take(rate, at(verdict.reset * 1_000)).remaining, burst - 1);
                let mut soon = bucket;
                let before = verdict.reset * 1_000 - 1_000;
                prop_assert!(before < now || soon.take(rate, at(before)).remaining < burst);
            }
        }

        #[test]
        fn is_full_when_it_is_said_to_be(per_minute in 1_u32.., burst in 1_u32.., owed: u32) {
            let rate = rate(per_minute, burst);
            let mut bucket = Bucket::full(at(0));
            bucket.charge(rate, at(0), owed);
            bucket.settle(rate, at(rate.fills_in()));
            prop_assert_eq!(bucket.missing, 0);
        }
    }
}
