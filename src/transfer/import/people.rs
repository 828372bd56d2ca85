//! Resolution of names in an exported text: a member of the channel when exactly one has that name,
//! else a person known by the name only.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::Content;
use chatkeep_core::role::Role;
use chatkeep_core::sha256;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Store, StoreError};

use super::super::line::{ParsedMessage, placeholder_kind};

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
    /// Person known by the name only, with the members of that name.
    Shared(UserId, &'a [UserId]),
    /// Person of a name that nobody has, with the members who may have had it: those who opted out
    /// at some time.
    Unknown(UserId, &'a [UserId]),
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
        let id = || UserId::new(format!("import:{}", hash([&name.trim()])));
        match self.names.get(name.trim()).map(Vec::as_slice) {
            Some([user]) => NamedPerson::Member(user),
            Some(several) => NamedPerson::Shared(id(), several),
            None => NamedPerson::Unknown(id(), &self.opted_out),
        }
    }
}

/// Milliseconds in a minute.
pub(super) const MINUTE: i64 = 60_000;

/// Generator of ids for the messages of a text, which have none. They are the same in every export
/// of the same chat, also after somebody has taken another name and in another language of the
/// app; times keep their order within a minute.
#[derive(Debug)]
pub(super) struct SyntheticIds {
    channel: ChannelId,
    /// Day of the messages counted in `seen` and `minutes`, in days since the epoch.
    day: i64,
    /// Occurrences of the same text in the same minute, by the hash of what makes the id.
    seen: HashMap<String, u32>,
    /// Number of messages of each minute.
    minutes: HashMap<i64, i64>,
}

impl SyntheticIds {
    pub(super) fn new(channel: &ChannelId) -> Self {
        Self { channel: channel.clone(), day: 0, seen: HashMap::new(), minutes: HashMap::new() }
    }

    /// Returns the ids of a message that was sent in the minute `at`, and its time: the minute, plus
    /// one millisecond for each earlier message of that minute. A later export that continues an
    /// earlier one yields the same for both.
    pub(super) fn next(&mut self, at: Timestamp, said: &ParsedMessage) -> SyntheticId {
        let day = at.millis().div_euclid(24 * 3_600_000);
        if day != self.day {
            self.day = day;
            self.seen.clear();
            self.minutes.clear();
        }
        let (minute, [kind, text]) = (at.millis().to_string(), identity(said));
        let id = self.counted(&["2", &minute, kind, text]);
        let former_id = self.counted(&[&minute, said.name.trim(), &said.text]);
        let place = self.minutes.entry(at.millis()).or_insert(0);
        let sent_at = Timestamp::from_millis(at.millis() + (*place).min(MINUTE - 1));
        *place += 1;
        SyntheticId { id, former_id, sent_at }
    }

    /// Returns the id that those parts make, and their number if they were there before.
    fn counted(&mut self, parts: &[&str]) -> MessageId {
        let same = hash([self.channel.as_str()].iter().chain(parts));
        let count = self.seen.entry(same.clone()).or_insert(0);
        *count += 1;
        let id = if *count == 1 { same } else { hash(&[&*same, &count.to_string()]) };
        MessageId::new(format!("import:{id}"))
    }
}

/// Ids and time of a message of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntheticId {
    pub(super) id: MessageId,
    /// Id of earlier builds, made of the sender's name and the words of a placeholder as well.
    pub(super) former_id: MessageId,
    pub(super) sent_at: Timestamp,
}

/// Returns what tells a message from others of its minute: the app writes the present names of
/// people, and placeholders in its own language.
fn identity(said: &ParsedMessage) -> [&str; 2] {
    match &said.content {
        None => ["unsent", ""],
        // Whether a word was typed or stands for a file is decided by the whole of an export.
        Some(Content::Text { .. }) => match placeholder_kind(&said.text) {
            Some(kind) => [kind, ""],
            None => ["text", &said.text],
        },
        Some(Content::File(file)) => ["file", file.file_name.as_deref().unwrap_or_default()],
        Some(content) => [content.kind().name(), ""],
    }
}

/// Returns the part of an id that stands for several texts.
fn hash<'a>(parts: impl IntoIterator<Item = &'a &'a str>) -> String {
    hex::encode(&sha256::of_parts(parts)[..ID])
}

#[cfg(test)]
#[path = "id_tests.rs"]
mod id_tests;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chatkeep_core::message::MediaInfo;
    use chrono::NaiveDateTime;

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
            NamedPerson::Shared(id, candidates) | NamedPerson::Unknown(id, candidates) => {
                (id, candidates.to_vec())
            }
            member @ NamedPerson::Member(_) => panic!("{member:?}"),
        };
        let bob = guess("Bob");
        assert!(bob.0.as_str().starts_with("import:"));
        assert_eq!(bob.1, ["U2".into(), "U3".into()]);
        assert_eq!(guess("Bob"), bob);
        assert_ne!(guess("Carol").0, bob.0);
        assert_eq!(guess("Carol").1, ["U4".into()], "they may have taken another name");
    }

    fn said(name: &str, text: &str) -> ParsedMessage {
        let at = NaiveDateTime::default();
        let content = Some(Content::text(text));
        ParsedMessage { at, name: name.to_owned(), text: text.to_owned(), content }
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_millis(minute * MINUTE)
    }

    #[test]
    fn ids_are_the_same_every_time_and_differ_for_every_message() {
        let read = |from: i64, ann: &str| {
            let mut ids = SyntheticIds::new(&"C1".into());
            let all = [(1, ann), (1, ann), (1, "Bob"), (2, ann)];
            let all = all.into_iter().filter(move |(minute, _)| *minute >= from);
            all.map(|(minute, name)| ids.next(at(minute), &said(name, "ok"))).collect::<Vec<_>>()
        };
        let (all, later) = (read(1, "Ann"), read(2, "Ann"));
        let different: BTreeSet<_> = all.iter().flat_map(|id| [&id.id, &id.former_id]).collect();
        assert_eq!((different.len(), &all[3]), (8, &later[0]));
        assert_eq!(all, read(1, "Ann"));
        let ids = |all: Vec<SyntheticId>| all.into_iter().map(|id| id.id).collect::<Vec<_>>();
        assert_eq!(ids(read(1, "Ann 🌸")), ids(all.clone()), "she has another name now");
        let other = SyntheticIds::new(&"C2".into()).next(at(1), &said("Ann", "ok"));
        assert_ne!(other.id, all[0].id);
    }

    #[test]
    fn ids_do_not_depend_on_the_language_of_placeholders() {
        let mut ids = [SyntheticIds::new(&"C1".into()), SyntheticIds::new(&"C1".into())];
        let file = |name: &str| {
            let file_name = Some(name.to_owned());
            Content::File(MediaInfo { file_name, ..MediaInfo::default() })
        };
        let image = || Content::Image(MediaInfo::default());
        let sent = [
            (["[Photo]", "[照片]"], Some(image())),
            (["[Photo]", "[照片]"], Some(image())),
            (["[File] a.pdf", "[檔案] a.pdf"], Some(file("a.pdf"))),
            (["[File] b.pdf", "[檔案] b.pdf"], Some(file("b.pdf"))),
            (["Message unsent.", "已收回訊息"], None),
            (["Photo", "照片"], Some(Content::text("typed"))),
        ];
        let mut all = BTreeSet::new();
        for (texts, content) in sent {
            let [one, other] = [0, 1].map(|language| {
                let said =
                    ParsedMessage { content: content.clone(), ..said("Ann", texts[language]) };
                ids[language].next(at(1), &said)
            });
            assert_eq!(one.id, other.id, "{texts:?}");
            assert_ne!(one.former_id, other.former_id);
            assert!(all.insert(one.id), "{texts:?}");
        }
    }

    #[test]
    fn messages_of_a_minute_keep_their_order() {
        let mut ids = SyntheticIds::new(&"C1".into());
        let mut next = |minute: i64| ids.next(at(minute), &said("Ann", "x")).sent_at.millis();
        assert_eq!([next(1), next(1), next(2), next(1)], [60_000, 60_001, 120_000, 60_002]);
        for _ in 0..MINUTE {
            next(3);
        }
        assert_eq!(next(3), 4 * MINUTE - 1);
    }
}
