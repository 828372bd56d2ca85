//! Schedule of retries after failed deliveries.

use std::time::Duration;

use chatkeep_core::id::shard_of;
use chatkeep_core::time::Timestamp;
use chatkeep_store::Next;

/// Maximum pause that is accepted from a `Retry-After` header.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);
/// Divisor of a pause that gives its maximum jitter, so that simultaneous failures are not retried
/// simultaneously.
const JITTER: u32 = 10;

/// Returns the next step after a failed attempt, with `attempts` failed ones before it; `key`
/// identifies the delivery.
pub(super) fn after_failure(
    retries: &[Duration],
    attempts: u32,
    key: &str,
    retry_after: Option<Timestamp>,
    now: Timestamp,
) -> Next {
    let Some(pause) = usize::try_from(attempts).ok().and_then(|nth| retries.get(nth)) else {
        return Next::Failed;
    };
    let chance = shard_of(&format!("{key}:{attempts}"));
    let due = now.plus(*pause + *pause / JITTER * chance / chatkeep_core::id::SHARDS);
    Next::Retry(retry_after.map_or(due, |retry_after| due.max(retry_after)))
}

/// Parses the time of `Retry-After`: seconds, or a date.
pub(super) fn retry_after(header: &str, now: Timestamp) -> Option<Timestamp> {
    let header = header.trim();
    let at = match header.parse() {
        Ok(seconds) => now.plus(Duration::from_secs(seconds)),
        Err(_) => Timestamp::parse_http(header)?,
    };
    Some(at.min(now.plus(MAX_RETRY_AFTER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRIES: [Duration; 2] = [Duration::from_secs(5), Duration::from_mins(5)];

    fn pause(attempts: u32, key: &str, retry_after: Option<i64>) -> Option<i64> {
        let retry_after = retry_after.map(Timestamp::from_millis);
        match after_failure(&RETRIES, attempts, key, retry_after, Timestamp::from_millis(1_000)) {
            Next::Retry(at) => Some(at.millis() - 1_000),
            _ => None,
        }
    }

    #[test]
    fn pauses_grow_with_some_chance_and_end() {
        for (attempts, least) in [(0, 5_000), (1, 300_000)] {
            let pauses: Vec<_> =
                (0..100).map(|n| pause(attempts, &format!("d{n}"), None).unwrap()).collect();
            assert!(pauses.iter().all(|p| (least..least + least / 10).contains(p)), "{pauses:?}");
            assert!(pauses.iter().any(|p| *p != pauses[0]), "they differ");
        }
        assert_eq!(pause(2, "d", None), None);
    }

    #[test]
    fn a_retry_after_only_makes_it_later() {
        assert_eq!(pause(0, "d", Some(61_000)), Some(60_000));
        assert_eq!(pause(0, "d", Some(2_000)), pause(0, "d", None));
        let now = Timestamp::from_millis(1_767_323_045_000);
        assert_eq!(retry_after(" 120 ", now), Some(now.plus(Duration::from_mins(2))));
        let date = retry_after("Fri, 02 Jan 2026 03:05:05 GMT", now);
        assert_eq!(date, Some(now.plus(Duration::from_mins(1))));
        assert_eq!(retry_after("99999999999", now), Some(now.plus(MAX_RETRY_AFTER)));
        assert_eq!(retry_after("soon", now), None);
    }
}
