//! The order of messages in a segment: by channel, and in a channel the newest first.
//!
//! A channel is one run of documents then, a period in it one range of the run, and reading a run
//! from its start yields the newest matches first. The order key consists of [`CHANNEL_BITS`] of
//! the channel's hash (two channels may share them: see [`super::runs`]) and the *age*, the
//! milliseconds between the time of sending and the last time that fits.

/// Bits of the channel in an order key.
const CHANNEL_BITS: u32 = 22;
/// Bits of the age.
const AGE_BITS: u32 = u64::BITS - CHANNEL_BITS;
/// The greatest age, and the last time that fits, in milliseconds since 1970: the year 2109.
pub(super) const MAX_AGE: u64 = (1 << AGE_BITS) - 1;

/// Returns the order key of a message sent at `sent_at`, in milliseconds since 1970.
pub(super) fn key(channel_id: &str, sent_at: i64) -> u64 {
    channel(channel_id) << AGE_BITS | age(sent_at)
}

/// Returns the channel's part of the order key.
pub(super) fn channel(channel_id: &str) -> u64 {
    // The upper bits of the hash alone hardly depend on the last letters.
    hash(channel_id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> AGE_BITS
}

/// Returns the age of a message sent at `sent_at`; times outside of 1970 to 2109 have that of the
/// nearest time inside.
pub(super) fn age(sent_at: i64) -> u64 {
    MAX_AGE - u64::try_from(sent_at).unwrap_or(0).min(MAX_AGE)
}

/// Returns the age in an order key.
pub(super) const fn age_of(key: u64) -> u64 {
    key & MAX_AGE
}

/// Returns FNV-1a of a key, written out because the order of results must not change with a
/// library's version.
pub(super) fn hash(key: &str) -> u64 {
    key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A period of sending, as ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// Minimum and maximum age.
    pub(super) ages: (u64, u64),
    /// First and last time, if ages do not decide alone.
    exact: Option<(i64, i64)>,
}

impl Period {
    /// All times.
    pub(super) const ALL: Self = Self { ages: (0, MAX_AGE), exact: None };

    /// Returns the period from `from` to `to` (exclusive), in milliseconds since 1970; `None` if
    /// it is empty.
    pub(super) fn new(from: Option<i64>, to: Option<i64>) -> Option<Self> {
        let first = from.unwrap_or(i64::MIN);
        let last = to.map_or(Some(i64::MAX), |to| to.checked_sub(1))?;
        if first > last {
            return None;
        }
        // Between the first and the last age, and not among them, an age is a time.
        let decides =
            |bound: Option<i64>| bound.is_none_or(|time| (1..MAX_AGE).contains(&age(time)));
        let exact = !(decides(from) && decides(to.map(|_| last)));
        let ages = (to.map_or(0, |_| age(last)), from.map_or(MAX_AGE, age));
        Some(Self { ages, exact: exact.then_some((first, last)) })
    }

    /// Returns whether a message sent at that time was sent in the period.
    pub(super) fn holds(self, sent_at: i64) -> bool {
        let (newest, oldest) = self.ages;
        (newest..=oldest).contains(&age(sent_at)) && self.contains(|| sent_at)
    }

    /// Returns whether a message of an age within [`Period::ages`] was sent in the period.
    pub(super) fn contains(self, sent_at: impl FnOnce() -> i64) -> bool {
        self.exact.is_none_or(|(first, last)| (first..=last).contains(&sent_at()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_channel_is_first() {
        let (new, old) = (key("c", 1_700_000_000_001), key("c", 1_700_000_000_000));
        assert!(new < old);
        assert_eq!(new >> AGE_BITS, channel("c"));
        assert_eq!(age_of(new) + 1, age_of(old));
        assert_eq!((age(-5), age(i64::MAX)), (MAX_AGE, 0));
        assert_ne!(channel("C0000000000000001"), channel("C0000000000000002"));
    }

    #[test]
    fn a_period_holds_the_times_in_it_and_no_other() {
        let far = i64::MAX / 2;
        let times = [i64::MIN, -far, -1, 0, 1, 1_000, 2_000, far, far + 1, i64::MAX];
        for from in times.map(Some).into_iter().chain([None]) {
            for to in times.map(Some).into_iter().chain([None]) {
                let period = Period::new(from, to);
                for time in times {
                    let expected =
                        from.is_none_or(|from| from <= time) && to.is_none_or(|to| time < to);
                    let holds = period.is_some_and(|period| period.holds(time));
                    assert_eq!(holds, expected, "{time} from {from:?} to {to:?}");
                }
            }
        }
        assert_eq!(Period::new(None, None), Some(Period::ALL));
    }
}
