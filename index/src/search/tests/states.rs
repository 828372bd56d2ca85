//! An index against a map: after any steps of a writer it holds what was committed, once each, and
//! a rebuild that messages change under ends with what the store has.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::corpus::small_writer;
use super::*;

/// Step of a writer; channels, messages and words by their numbers.
#[derive(Clone, Debug)]
enum WriterStep {
    Put(u8, u8, u8),
    Erase(u8, u8),
    EraseChannel(u8),
    Commit,
    Save,
    Rollback,
    Wipe,
    Purge,
    /// The process of the writer ends, and another one begins.
    Anew,
}

/// Messages by channel and id, with their words.
type Messages = BTreeMap<(String, String), u8>;

/// Expected content of an index.
#[derive(Default)]
struct IndexModel {
    pending: Messages,
    committed: Messages,
    position: Option<String>,
    commits: usize,
}

fn channel(number: u8) -> String {
    format!("C{number}")
}

/// Returns an id; some are the beginning of others.
fn id(number: u8) -> String {
    "1".repeat(usize::from(number) + 1)
}

fn doc((channel_id, message_id): &(String, String), word: u8) -> IndexDoc {
    IndexDoc {
        channel_id: channel_id.clone(),
        message_id: message_id.clone(),
        sender_id: None,
        kind: "text".to_owned(),
        sent_at: i64::from(word),
        text: format!("every word{word}"),
    }
}

fn steps() -> impl Strategy<Value = Vec<WriterStep>> {
    let step = prop_oneof![
        12 => (0_u8..3, 0_u8..6, 0_u8..4).prop_map(|(c, m, word)| WriterStep::Put(c, m, word)),
        4 => (0_u8..3, 0_u8..6).prop_map(|(c, m)| WriterStep::Erase(c, m)),
        1 => (0_u8..3).prop_map(WriterStep::EraseChannel),
        6 => Just(WriterStep::Commit),
        1 => Just(WriterStep::Save),
        2 => Just(WriterStep::Rollback),
        1 => Just(WriterStep::Wipe),
        2 => Just(WriterStep::Purge),
        2 => Just(WriterStep::Anew),
    ];
    vec(step, 1..36)
}

/// Returns the change of a step that is one.
fn change(step: &WriterStep) -> Option<IndexChange> {
    match *step {
        WriterStep::Put(c, m, word) => Some(IndexChange::Put(doc(&(channel(c), id(m)), word))),
        WriterStep::Erase(c, m) => {
            Some(IndexChange::Erase { channel_id: channel(c), message_id: id(m) })
        }
        WriterStep::EraseChannel(c) => Some(IndexChange::EraseChannel { channel_id: channel(c) }),
        _ => None,
    }
}

/// Makes a change to a map of messages.
fn make(change: &WriterStep, messages: &mut Messages) {
    match *change {
        WriterStep::Put(c, m, word) => {
            messages.insert((channel(c), id(m)), word);
        }
        WriterStep::Erase(c, m) => {
            messages.remove(&(channel(c), id(m)));
        }
        WriterStep::EraseChannel(c) => messages.retain(|(of, _), _| *of != channel(c)),
        _ => {}
    }
}

impl IndexModel {
    /// Takes a step with a writer and here.
    fn take(&mut self, step: &WriterStep, index: &MessageIndex, writer: &mut MessageWriter) {
        match step {
            WriterStep::Commit => {
                self.commits += 1;
                let position = self.commits.to_string();
                writer.commit(&position).unwrap();
                (self.committed, self.position) = (self.pending.clone(), Some(position));
            }
            WriterStep::Save => {
                writer.save().unwrap();
                (self.committed, self.position) = (self.pending.clone(), None);
            }
            WriterStep::Rollback => {
                writer.rollback().unwrap();
                self.pending.clone_from(&self.committed);
            }
            WriterStep::Wipe => {
                writer.wipe().unwrap();
                (self.pending, self.committed, self.position) =
                    (Messages::new(), Messages::new(), None);
            }
            WriterStep::Purge => writer.purge().unwrap(),
            WriterStep::Anew => self.pending.clone_from(&self.committed),
            _ => {
                writer.apply(&change(step).into_iter().collect::<Vec<_>>()).unwrap();
                make(step, &mut self.pending);
            }
        }
        self.check(index);
    }

    /// Compares an index with what it should hold.
    fn check(&self, index: &MessageIndex) {
        assert_eq!(index.doc_count(), self.committed.len() as u64);
        assert_eq!(index.position(), self.position);
        compare(index, &self.committed);
    }
}

/// Compares what an index lists and finds with messages.
fn compare(index: &MessageIndex, messages: &Messages) {
    let mut listed = Vec::new();
    loop {
        let last = listed.last().map(|key: &IndexedKey| (&*key.channel_id, &*key.message_id));
        let page = index.keys(last, 4).unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    assert!(listed.iter().all(|key| key.copies == 1), "{listed:?}");
    let keys = listed.into_iter().map(|key| (key.channel_id, key.message_id));
    assert!(keys.eq(messages.keys().cloned()), "by channel and id: {messages:?}");
    for word in 0..4 {
        let query = Query::phrase(&format!("every word{word}")).unwrap();
        let request = IndexSearch { sort: Sort::Newest, ..IndexSearch::new(&query) };
        let hits = index.search(&request).unwrap().hits.into_iter();
        let mut found: Vec<_> = hits.map(|hit| (hit.channel_id, hit.message_id)).collect();
        found.sort();
        let expected = messages.iter().filter(|(_, of)| **of == word).map(|(key, _)| key.clone());
        assert!(expected.eq(found.iter().cloned()), "word{word} {found:?} of {messages:?}");
    }
    for (number, absent) in [(9, 0), (0, 9)] {
        assert_eq!(index.copies(&channel(number), &id(absent)).unwrap(), 0);
    }
}

/// Returns the changes that a store has for what a rebuild missed.
fn from_store(store: &Messages, touched: &[Touched]) -> Vec<IndexChange> {
    let mut changes = Vec::new();
    for Touched { channel_id, message_id } in touched {
        let Some(message_id) = message_id else {
            changes.push(IndexChange::EraseChannel { channel_id: channel_id.clone() });
            let own = store.iter().filter(|((channel, _), _)| channel == channel_id);
            changes.extend(own.map(|(key, word)| IndexChange::Put(doc(key, *word))));
            continue;
        };
        let key = (channel_id.clone(), message_id.clone());
        changes.push(match store.get(&key) {
            Some(word) => IndexChange::Put(doc(&key, *word)),
            None => IndexChange::Erase { channel_id: key.0, message_id: key.1 },
        });
    }
    changes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn after_any_steps_an_index_holds_what_was_committed(steps in steps()) {
        let index = MessageIndex::in_memory().unwrap();
        let mut model = IndexModel::default();
        for lives in steps.split_inclusive(|step| matches!(step, WriterStep::Anew)) {
            let mut writer = index.writer(small_writer()).unwrap();
            for step in lives {
                model.take(step, &index, &mut writer);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn a_rebuild_ends_with_what_the_store_has(before in steps(), meanwhile in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let index = MessageIndex::open(folder.path()).unwrap();
        let mut service = index.writer(small_writer()).unwrap();
        let mut store = Messages::new();
        for step in &before {
            service.apply(&change(step).into_iter().collect::<Vec<_>>()).unwrap();
            make(step, &mut store);
        }
        service.commit("before").unwrap();
        let mut rebuild = Rebuild::start(&index, small_writer()).unwrap();
        let scan: Vec<_> =
            store.iter().map(|(key, word)| IndexChange::Put(doc(key, *word))).collect();
        // Half of it is read before anything changes, and the rest as it was then.
        let (first, rest) = scan.split_at(scan.len() / 2);
        rebuild.apply(first).unwrap();
        for steps in meanwhile.chunks(8) {
            for step in steps {
                service.apply(&change(step).into_iter().collect::<Vec<_>>()).unwrap();
                make(step, &mut store);
            }
            service.commit("meanwhile").unwrap();
        }
        rebuild.apply(rest).unwrap();
        let mut rounds = 0;
        while !rebuild.swap("rebuilt").unwrap() {
            let missed = rebuild.missed_changes().unwrap();
            prop_assert!(missed.is_sorted_by(|a, b| a < b), "none twice: {:?}", missed);
            rebuild.apply(&from_store(&store, &missed)).unwrap();
            rounds += 1;
            prop_assert!(rounds < 3, "nothing changes any more");
        }
        prop_assert!(matches!(service.commit("late"), Err(IndexError::Superseded)));
        let position = index.position();
        prop_assert_eq!(position.as_deref(), Some("rebuilt"));
        compare(&index, &store);
        compare(&MessageIndex::open_existing(folder.path()).unwrap().unwrap(), &store);
    }
}

#[test]
fn a_page_of_keys_is_as_long_as_asked_for_and_passes_what_is_erased() {
    let index = MessageIndex::in_memory().unwrap();
    let mut writer = index.writer(small_writer()).unwrap();
    for number in 0..9 {
        writer.apply(&[IndexChange::Put(doc(&(channel(number % 2), id(number)), 0))]).unwrap();
        writer.commit("").unwrap();
    }
    let gone = |number: u8| IndexChange::Erase { channel_id: channel(0), message_id: id(number) };
    writer.apply(&[gone(2), gone(4)]).unwrap();
    writer.commit("").unwrap();
    let keys = |after: Option<(&str, &str)>, limit| -> Vec<String> {
        let page = index.keys(after, limit).unwrap();
        page.into_iter().map(|key| format!("{}:{}", key.channel_id, key.message_id.len())).collect()
    };
    assert_eq!(keys(None, 4), ["C0:1", "C0:7", "C0:9", "C1:2"]);
    assert_eq!(keys(Some(("C0", "111")), 2), ["C0:7", "C0:9"], "from after one that is gone");
    assert_eq!(keys(Some(("C0", "zzz")), 9), ["C1:2", "C1:4", "C1:6", "C1:8"]);
    assert_eq!(keys(Some(("C1", "11111111")), 9), [""; 0]);
    assert_eq!(keys(None, 0), [""; 0]);
    assert_eq!(index.copies("C0", "111").unwrap() + index.copies("C0", "zzz").unwrap(), 0);
    assert_eq!(index.copies("C1", "11").unwrap(), 1);
}
