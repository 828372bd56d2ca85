//! IDs of everything that the emulator creates, reproducible from run to run.
//!
//! IDs of people and chats derive from the seed and the order of creation, so a world built in the
//! same way has the same IDs. IDs of messages and events also contain the clock's time: a world
//! that is rebuilt later does not repeat them.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// Returns the time in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Crockford's base 32, the alphabet of ULIDs.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Message IDs per millisecond; together with the milliseconds they have LINE's 18 digits.
const PER_MILLISECOND: u64 = 100_000;

/// Counters by kind of ID.
#[derive(Debug, Default)]
struct Counters {
    users: u64,
    groups: u64,
    rooms: u64,
    events: u64,
    requests: u64,
    image_sets: u64,
}

/// Generator of IDs.
#[derive(Debug)]
pub(super) struct Ids {
    seed: u64,
    made: Counters,
    last_message: u64,
}

impl Ids {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, made: Counters::default(), last_message: 0 }
    }

    /// Returns the bot's own user ID.
    pub(super) fn bot(&self) -> String {
        format!("U{}", self.hex("bot", "", 32))
    }

    pub(super) fn user(&mut self) -> String {
        let number = next(&mut self.made.users);
        format!("U{}", self.hex("user", &number, 32))
    }

    pub(super) fn group(&mut self) -> String {
        let number = next(&mut self.made.groups);
        format!("C{}", self.hex("group", &number, 32))
    }

    pub(super) fn room(&mut self) -> String {
        let number = next(&mut self.made.rooms);
        format!("R{}", self.hex("room", &number, 32))
    }

    /// Returns a webhook event ID: a ULID of that time.
    pub(super) fn event(&mut self, now: i64) -> String {
        self.made.events += 1;
        let time = u128::from(u64::try_from(now).unwrap_or(0)) << 80;
        let seed = u128::from(self.seed & 0xffff) << 64;
        ulid(time | seed | u128::from(self.made.events))
    }

    /// Returns a message ID: decimal digits that increase, also while the clock stands still.
    pub(super) fn message(&mut self, now: i64) -> String {
        let from_time = u64::try_from(now).unwrap_or(0).saturating_mul(PER_MILLISECOND);
        self.last_message = from_time.max(self.last_message + 1);
        self.last_message.to_string()
    }

    /// Returns the ID of images that are sent together.
    pub(super) fn image_set(&mut self, now: i64) -> String {
        let number = next(&mut self.made.image_sets);
        self.hex("images", &format!("{now}/{number}"), 64).to_uppercase()
    }

    /// Returns a value for `x-line-request-id`, in the form of a UUID.
    pub(super) fn request(&mut self, now: i64) -> String {
        let number = next(&mut self.made.requests);
        let hex = self.hex("request", &format!("{now}/{number}"), 32);
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    pub(super) fn reply_token(&self, event: &str) -> String {
        self.hex("reply", event, 32)
    }

    pub(super) fn quote_token(&self, message: &str) -> String {
        self.hex("quote", message, 48)
    }

    /// `length` hexadecimal digits, up to 64, that depend on the seed, the label and the name.
    fn hex(&self, label: &str, name: &str, length: usize) -> String {
        let digest = Sha256::new()
            .chain_update(self.seed.to_le_bytes())
            .chain_update(label)
            .chain_update([0])
            .chain_update(name)
            .finalize();
        let mut digits = hex::encode(digest);
        digits.truncate(length);
        digits
    }
}

fn next(counter: &mut u64) -> String {
    *counter += 1;
    counter.to_string()
}

fn ulid(value: u128) -> String {
    let digit = |place: u32| {
        let five_bits = (value >> (place * 5)) & 31;
        // Five bits are an index of the alphabet's 32 letters.
        char::from(CROCKFORD[usize::try_from(five_bits).unwrap_or_default()])
    };
    (0..26).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_767_323_045_678;

    #[test]
    fn forms_are_those_of_line() {
        let mut ids = Ids::new(7);
        for (id, prefix) in [(ids.user(), 'U'), (ids.group(), 'C'), (ids.room(), 'R')] {
            assert!(id.len() == 33 && id.starts_with(prefix), "{id}");
            assert!(id[1..].bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
        }
        let message = ids.message(NOW);
        assert!(message.len() == 18 && message.bytes().all(|b| b.is_ascii_digit()), "{message}");
        let event = ids.event(NOW);
        assert!(event.len() == 26 && event.bytes().all(|b| CROCKFORD.contains(&b)), "{event}");
    }

    #[test]
    fn an_event_id_is_a_ulid_of_its_time() {
        // The example of the ULID specification: this time reads 01ARYZ6S41.
        assert!(Ids::new(0).event(1_469_918_176_385).starts_with("01ARYZ6S41"));
    }

    #[test]
    fn the_same_seed_gives_the_same_ids_and_another_seed_others() {
        let all = |seed| {
            let mut ids = Ids::new(seed);
            [ids.bot(), ids.user(), ids.user(), ids.group(), ids.event(NOW), ids.request(NOW)]
        };
        assert_eq!(all(1), all(1));
        assert!(all(1).iter().zip(&all(2)).all(|(one, two)| one != two));
    }

    #[test]
    fn message_ids_grow_whatever_the_clock_does() {
        let mut ids = Ids::new(1);
        let made: Vec<u64> =
            [NOW, NOW, NOW - 5, NOW + 1].map(|now| ids.message(now).parse().unwrap()).to_vec();
        assert!(made.is_sorted_by(|a, b| a < b), "{made:?}");
    }
}
