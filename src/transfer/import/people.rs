//! Resolution of names in an exported text: a member of the channel when exactly one has that name,
//! else a person known by the name only.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Store, StoreError};
use sha2::{Digest as _, Sha256};

/// Page size when reading members.
const PAGE: u32 = 500;
/// Bytes of a hash in an id.
const ID: usize = 16;

/// People of a channel by name.
#[derive(Debug, Default)]
pub(super) struct NameDirectory {
    names: HashMap<String, Vec<UserId>>,
    /// Members who opted out at some time. A name that nobody has may be theirs: names of people
    /// who opted out are not kept up to date.
    opted_out: Vec<UserId>,
}

/// Person of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NamedPerson<'a> {
    /// The only member of that name.
    Member(&'a UserId),
    /// Person known by the name only, with the members who may be it: those of that name, or those
    /// who opted out at some time when nobody has it.
    Guess(UserId, &'a [UserId]),
}

impl NameDirectory {
    /// Reads all present and former members of the channel.
    pub(super) async fn of(store: &Store, channel: &ChannelId) -> Result<Self, StoreError> {
        let mut people = Self::default();
        // Guests are listed only on request.
        for role in [None, Some(Role::Guest)] {
            let mut after = None;
            loop {
                let page = store.members().list(channel, role, None, after.as_ref(), PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.user.clone());
                let opt_outs =
                    store.members().opt_outs(page.iter().map(|member| &member.user)).await?;
                for member in page {
                    if opt_outs.mention(&member.user) {
                        people.opted_out.push(member.user.clone());
                    }
                    if let Some(name) = member.display_name {
                        people.add(name.trim(), &member.user);
                    }
                }
            }
        }
        Ok(people)
    }

    fn add(&mut self, name: &str, user: &UserId) {
        let known = self.names.entry(name.to_owned()).or_default();
        if !known.contains(user) {
            known.push(user.clone());
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Returns the person of that name.
    pub(super) fn find(&self, name: &str) -> NamedPerson<'_> {
        let guess = |people| {
            let id = UserId::new(format!("import:{}", hash(&[name.trim()])));
            NamedPerson::Guess(id, people)
        };
        match self.names.get(name.trim()).map(Vec::as_slice) {
            Some([user]) => NamedPerson::Member(user),
            Some(several) => guess(several),
            None => guess(&self.opted_out),
        }
    }
}

/// Milliseconds in a minute.
pub(super) const MINUTE: i64 = 60_000;

/// Generator of ids for the messages of a text, which have none. They are the same in every export
/// of the same chat; times keep their order within a minute.
#[derive(Debug)]
pub(super) struct SyntheticIds {
    channel: ChannelId,
    /// Day of the messages counted in `seen` and `minutes`, in days since the epoch.
    day: i64,
    /// Occurrences of the same text in the same minute.
    seen: HashMap<String, u32>,
    /// Number of messages of each minute.
    minutes: HashMap<i64, i64>,
}

impl SyntheticIds {
    pub(super) fn new(channel: &ChannelId) -> Self {
        Self { channel: channel.clone(), day: 0, seen: HashMap::new(), minutes: HashMap::new() }
    }

    /// Returns the id of a message that was sent in the minute `at`, and its time: the minute, plus
    /// one millisecond for each earlier message of that minute. A later export that continues an
    /// earlier one yields the same for both.
    pub(super) fn next(&mut self, at: Timestamp, name: &str, text: &str) -> (MessageId, Timestamp) {
        let day = at.millis().div_euclid(24 * 3_600_000);
        if day != self.day {
            self.day = day;
            self.seen.clear();
            self.minutes.clear();
        }
        let channel = self.channel.as_str();
        let same = hash(&[channel, &at.millis().to_string(), name.trim(), text]);
        let count = self.seen.entry(same.clone()).or_insert(0);
        *count += 1;
        let id = if *count == 1 { same } else { hash(&[&same, &count.to_string()]) };
        let place = self.minutes.entry(at.millis()).or_insert(0);
        let sent_at = Timestamp::from_millis(at.millis() + (*place).min(MINUTE - 1));
        *place += 1;
        (MessageId::new(format!("import:{id}")), sent_at)
    }
}

/// Hashes several texts, each with its length, so that none runs into the next.
fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..ID])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_have_is_nobodys() {
        let opted_out = vec!["U4".into()];
        let mut people = NameDirectory { opted_out, ..NameDirectory::default() };
        people.add("Ann", &"U1".into());
        people.add("Bob", &"U2".into());
        people.add("Bob", &"U3".into());
        assert_eq!(people.find(" Ann "), NamedPerson::Member(&"U1".into()));
        let guess = |name| match people.find(name) {
            NamedPerson::Guess(id, candidates) => (id, candidates.to_vec()),
            member @ NamedPerson::Member(_) => panic!("{member:?}"),
        };
        let bob = guess("Bob");
        assert!(bob.0.as_str().starts_with("import:"));
        assert_eq!(bob.1, ["U2".into(), "U3".into()]);
        assert_eq!(guess("Bob"), bob);
        assert_ne!(guess("Carol").0, bob.0);
        assert_eq!(guess("Carol").1, ["U4".into()], "they may have taken another name");
    }

    #[test]
    fn ids_are_the_same_every_time_and_differ_for_every_message() {
        let at = |minute| Timestamp::from_millis(minute * 60_000);
        let read = |from: i64| {
            let mut ids = SyntheticIds::new(&"C1".into());
            let said = [(1, "Ann", "ok"), (1, "Ann", "ok"), (1, "Bob", "ok"), (2, "Ann", "ok")];
            let said = said.into_iter().filter(move |(minute, ..)| *minute >= from);
            said.map(|(minute, name, text)| ids.next(at(minute), name, text).0).collect::<Vec<_>>()
        };
        let (all, later) = (read(1), read(2));
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!((different.len(), &all[3]), (4, &later[0]));
        assert_eq!(all, read(1));
        assert_ne!(SyntheticIds::new(&"C2".into()).next(at(1), "Ann", "ok").0, all[0]);
    }

    #[test]
    fn messages_of_a_minute_keep_their_order() {
        let mut ids = SyntheticIds::new(&"C1".into());
        let mut next =
            |minute: i64| ids.next(Timestamp::from_millis(minute * MINUTE), "Ann", "x").1.millis();
        assert_eq!([next(1), next(1), next(2), next(1)], [60_000, 60_001, 120_000, 60_002]);
        for _ in 0..MINUTE {
            next(3);
        }
        assert_eq!(next(3), 4 * MINUTE - 1);
    }
}
