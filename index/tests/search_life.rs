//! Tests of an index over its life: paged during writes, killed during writes, rebuilt during use.

#![expect(clippy::disallowed_methods, reason = "a child process, killed at a random moment")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use chatkeep_index::search::{
    Cursor, IndexChange, IndexDoc, IndexError, IndexSearch, MessageIndex, MessageWriter, Query,
    Rebuild, Sort, Touched, WriterOptions,
};

/// `SplitMix64`: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn put(id: u64, text: &str) -> IndexChange {
    IndexChange::Put(IndexDoc {
        channel_id: format!("c{}", id % 3),
        message_id: id.to_string(),
        sender_id: None,
        kind: "text".to_owned(),
        sent_at: i64::try_from(id * 17 % 1_009).unwrap(),
        text: text.to_owned(),
    })
}

fn erase(id: u64) -> IndexChange {
    IndexChange::Erase { channel_id: format!("c{}", id % 3), message_id: id.to_string() }
}

/// Creates a writer. A child that another test starts shares this process' files until it runs its
/// program, and with them the locks of writers that are dropped meanwhile.
fn writer(index: &MessageIndex) -> MessageWriter {
    let begun = Instant::now();
    loop {
        match index.writer(WriterOptions::default()) {
            Err(IndexError::WriterBusy) if begun.elapsed() < Duration::from_mins(1) => {
                thread::yield_now();
            }
            writer => return writer.unwrap(),
        }
    }
}

/// Returns the ids that match a query; no message may match twice.
fn find(index: &MessageIndex, query: &str) -> BTreeSet<u64> {
    let query = Query::parse(query).unwrap();
    let request = IndexSearch { limit: 100_000, sort: Sort::Newest, ..IndexSearch::new(&query) };
    let page = index.search(&request).unwrap();
    let ids: BTreeSet<u64> = page.hits.iter().map(|hit| hit.message_id.parse().unwrap()).collect();
    assert_eq!((ids.len(), page.total), (page.hits.len(), page.hits.len()));
    ids
}

/// Copies the files of a folder that an index' last commit does not know of, as a process leaves
/// them that is killed between writing them and its commit.
fn leave_behind(from: &Path, to: &Path) -> usize {
    let mut left = Vec::new();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            return leave_behind(&entry.path(), &target);
        }
        if !target.exists() {
            std::fs::copy(entry.path(), &target).unwrap();
            left.push(entry.file_name().to_str().unwrap().to_owned());
        }
    }
    let managed = to.join(".managed.json");
    let mut names: Vec<String> = serde_json::from_slice(&std::fs::read(&managed).unwrap()).unwrap();
    names.extend(left.iter().cloned());
    std::fs::write(managed, serde_json::to_vec(&names).unwrap()).unwrap();
    left.iter().filter(|name| Path::new(name).extension().is_some_and(|e| e == "del")).count()
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn what_a_killed_writer_left_behind_is_in_nobodys_way() {
    let folders = tempfile::tempdir().unwrap();
    let [index, copy] = ["index", "copy"].map(|name| folders.path().join(name));
    let open = MessageIndex::open(&index).unwrap();
    let mut first = writer(&open);
    // Enough messages that one erased one causes no merge, which would remove the file.
    let mut many = vec![put(1, "one"), put(2, "two")];
    many.extend((3..50).map(|id| put(id, "three")));
    first.apply(&many).unwrap();
    first.commit("1").unwrap();
    first.close().unwrap();
    drop(open);
    // The next writer's files, seen in a copy.
    copy_all(&index, &copy);
    let change = |folder: &Path| {
        let index = MessageIndex::open(folder).unwrap();
        let mut writer = writer(&index);
        writer.apply(&[erase(2)]).unwrap();
        writer.commit("2").unwrap();
        // Its own threads still delete files until then.
        writer.close().unwrap();
    };
    change(&copy);
    assert_eq!(leave_behind(&copy, &index), 1, "a file of erased messages");
    change(&index);
    let index = MessageIndex::open(&index).unwrap();
    assert_eq!(find(&index, "two"), BTreeSet::new());
    assert_eq!(find(&index, "three"), (3..50).collect());
}

/// Pages through a query, calling `between` after each page.
fn page_through(
    index: &MessageIndex,
    query: &str,
    sort: Sort,
    mut between: impl FnMut(usize),
) -> Vec<u64> {
    let query = Query::parse(query).unwrap();
    let (mut seen, mut cursor) = (Vec::new(), None::<Cursor>);
    for page_number in 0.. {
        let cursor_text = cursor.as_ref().map(ToString::to_string);
        let cursor_back: Option<Cursor> = cursor_text.map(|text| text.parse().unwrap());
        let request = IndexSearch {
            sort,
            limit: 9,
            cursor: cursor_back.as_ref(),
            ..IndexSearch::new(&query)
        };
        let page = index.search(&request).unwrap();
        seen.extend(page.hits.iter().map(|hit| hit.message_id.parse::<u64>().unwrap()));
        match page.next {
            None => break,
            next => cursor = next,
        }
        between(page_number);
    }
    seen
}

/// Returns texts of different lengths and word frequencies.
fn text_of(id: u64) -> String {
    let times = usize::try_from(id % 4).unwrap();
    let filler = usize::try_from(id * 31 % 11).unwrap();
    format!("tea{} {}明天下午見面", " tea".repeat(times), "and so on ".repeat(filler))
}

/// Number of messages to page through.
const MESSAGES: u64 = 100;

#[test]
fn pages_hold_still_while_a_writer_adds_replaces_erases_and_merges() {
    // Exact results only, exact ones and then related ones, related ones only.
    for query in ["下午 tea", "tea 明天見面?", "後天下午見面嗎"] {
        for sort in [Sort::Relevance, Sort::Newest] {
            let index = MessageIndex::in_memory().unwrap();
            let mut writer = writer(&index);
            for id in 0..MESSAGES {
                writer.apply(&[put(id, &text_of(id))]).unwrap();
                if id % 41 == 0 {
                    writer.commit("").unwrap();
                }
            }
            writer.commit("").unwrap();
            let before = page_through(&index, query, sort, |_| {});
            assert_eq!(before.len() as u64, MESSAGES, "{query}");
            let mut erased = BTreeSet::new();
            let seen = page_through(&index, query, sort, |page| {
                let page = u64::try_from(page).unwrap();
                // New messages that match, and make the words rarer or more frequent; a replacement
                // that changes nothing; an erased one; and now and then one segment of all.
                for new in 0..40 {
                    let text = if new % 2 == 0 { text_of(new) } else { "下午好".repeat(9) };
                    writer.apply(&[put(10_000 + page * 100 + new, &text)]).unwrap();
                }
                writer.apply(&[put(page * 5 % MESSAGES, &text_of(page * 5 % MESSAGES))]).unwrap();
                let victim = (page * 37 + 11) % MESSAGES;
                erased.insert(victim);
                writer.apply(&[erase(victim)]).unwrap();
                writer.commit("").unwrap();
                if page % 4 == 3 {
                    writer.purge().unwrap();
                }
            });
            let old = |ids: &[u64]| -> Vec<u64> {
                let lasting = |id: &u64| *id < MESSAGES && !erased.contains(id);
                ids.iter().copied().filter(lasting).collect()
            };
            assert_eq!(old(&seen), old(&before), "{query} {sort:?}");
            let distinct: BTreeSet<u64> = seen.iter().copied().collect();
            assert_eq!(distinct.len(), seen.len(), "{query} {sort:?}");
        }
    }
}

/// Returns the changes of one step of the child's work: the content of the index after `n` steps
/// follows from `n` alone.
fn step(n: u64) -> Vec<IndexChange> {
    let mut numbers = Numbers(n);
    let mut changes = Vec::new();
    for _ in 0..20 {
        let id = numbers.below(300);
        match numbers.below(4) {
            0 => changes.push(erase(id)),
            _ => changes.push(put(id, &format!("word version{n}"))),
        }
    }
    changes
}

/// Returns the version of each message after `n` steps.
fn state_after(steps: u64) -> BTreeMap<u64, u64> {
    let mut state = BTreeMap::new();
    for n in 0..steps {
        for change in step(n) {
            match change {
                IndexChange::Put(message) => {
                    state.insert(message.message_id.parse().unwrap(), n);
                }
                IndexChange::Erase { message_id, .. } => {
                    state.remove(&message_id.parse().unwrap());
                }
                IndexChange::EraseChannel { .. } => {}
            }
        }
    }
    state
}

const CHILD_FOLDER: &str = "CHATKEEP_TEST_INDEX";

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child_that_indexes_until_it_is_killed() {
    let Ok(folder) = std::env::var(CHILD_FOLDER) else { return };
    let index = MessageIndex::open(Path::new(&folder)).unwrap();
    let mut writer = writer(&index);
    let done = index.position().map_or(0, |position| position.parse().unwrap());
    for n in done.. {
        writer.apply(&step(n)).unwrap();
        if n % 3 == 2 {
            writer.commit(&(n + 1).to_string()).unwrap();
        }
        if n % 40 == 39 {
            writer.purge().unwrap();
        }
    }
}

#[test]
fn a_writer_killed_at_any_moment_loses_nothing_and_doubles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut numbers = Numbers(5);
    let mut before = 0;
    for _ in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_indexes_until_it_is_killed", "--ignored"])
            .env(CHILD_FOLDER, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for_position(folder.path(), before);
        // A random moment of its work, not of the clock.
        wait_for_writes(child.id(), numbers.below(200));
        child.kill().unwrap();
        child.wait().unwrap();

        let index = MessageIndex::open(folder.path()).unwrap();
        let position: u64 = index.position().unwrap().parse().unwrap();
        assert!(position > before);
        before = position;
        let expected = state_after(position);
        assert_eq!(find(&index, "word"), expected.keys().copied().collect());
        let (id, version) = expected.iter().next_back().unwrap();
        assert!(find(&index, &format!("version{version}")).contains(id));
        assert_eq!(index.doc_count(), expected.len() as u64);
    }
}

/// Waits until a process has committed more than `before`.
fn wait_for_position(folder: &Path, before: u64) {
    let begun = Instant::now();
    loop {
        let index = MessageIndex::open_existing(folder).unwrap_or(None);
        let position = index.and_then(|index| index.position());
        if position.is_some_and(|position| position.parse::<u64>().unwrap() > before) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "the child does not index");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a process has written that many times more.
fn wait_for_writes(process: u32, more: u64) {
    let begun = Instant::now();
    let end = writes(process) + more;
    while writes(process) < end {
        assert!(begun.elapsed() < Duration::from_mins(1), "the child does not write");
        thread::yield_now();
    }
}

/// Returns the number of system calls by which a process has written.
fn writes(process: u32) -> u64 {
    let figures = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let writes = figures.lines().find_map(|line| line.strip_prefix("syscw: "));
    writes.unwrap().parse().unwrap()
}

/// Returns the store's changes for the messages that a rebuild missed.
fn from_store(store: &BTreeMap<u64, String>, touched: &[Touched]) -> Vec<IndexChange> {
    let change = |touched: &Touched| {
        let id = touched.message_id.as_ref().unwrap().parse().unwrap();
        store.get(&id).map_or_else(|| erase(id), |text| put(id, text))
    };
    touched.iter().map(change).collect()
}

#[test]
fn a_rebuilt_index_takes_over_without_missing_what_changed_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let index = MessageIndex::open(folder.path()).unwrap();
    // Another process that searches, and one that writes: separate handles.
    let reader = |folder: &Path| MessageIndex::open_existing(folder).unwrap().unwrap();
    let mut service = writer(&index);
    let mut store: BTreeMap<u64, String> =
        (0..50).map(|id| (id, format!("tea number{id}"))).collect();
    let puts: Vec<_> = store.iter().map(|(&id, text)| put(id, text)).collect();
    service.apply(&puts).unwrap();
    // A message that no store knows: a rebuild has to remove it.
    service.apply(&[put(900, "tea of a lost message")]).unwrap();
    service.commit("1").unwrap();
    let other = reader(folder.path());

    let mut rebuild = Rebuild::start(&index, WriterOptions::default()).unwrap();
    assert!(matches!(
        Rebuild::start(&index, WriterOptions::default()),
        Err(IndexError::RebuildBusy)
    ));
    let scanned: Vec<_> = store.iter().map(|(&id, text)| put(id, text)).collect();
    rebuild.apply(&scanned).unwrap();
    // Meanwhile one is new, one is edited, one is unsent.
    store.insert(60, "tea new".to_owned());
    store.insert(7, "coffee".to_owned());
    store.remove(&8);
    service.apply(&[put(60, "tea new"), put(7, "coffee"), erase(8)]).unwrap();
    service.commit("2").unwrap();
    assert!(find(&index, "tea").contains(&900), "the index in use is searched until the swap");

    assert!(!rebuild.swap("filled").unwrap(), "three changes were missed");
    let missed = rebuild.missed_changes().unwrap();
    assert_eq!(missed.len(), 3);
    rebuild.apply(&from_store(&store, &missed)).unwrap();
    service.apply(&[put(61, "too late")]).unwrap();
    assert!(rebuild.swap("filled").unwrap());

    let tea: BTreeSet<u64> = (0..50).filter(|id| ![7, 8].contains(id)).chain([60]).collect();
    assert_eq!(find(&index, "tea"), tea);
    assert!(find(&other, "tea").contains(&900));
    other.refresh().unwrap();
    assert_eq!(find(&other, "tea"), tea);
    assert_eq!(find(&reader(folder.path()), "tea"), tea);
    assert_eq!(index.position().as_deref(), Some("filled"));

    // The old writer is superseded, and its uncommitted changes are applied to the new index.
    assert!(matches!(service.commit("3"), Err(IndexError::Superseded)));
    drop(service);
    assert!(matches!(index.writer(WriterOptions::default()), Err(IndexError::WriterBusy)));
    drop(rebuild);
    let mut service = writer(&index);
    service.apply(&[put(61, "too late")]).unwrap();
    service.commit("3").unwrap();
    assert_eq!(find(&index, "late"), BTreeSet::from([61]));
    assert!(!folder.path().join("g1").exists() && folder.path().join("g2").exists());
}

#[test]
fn the_process_that_rebuilds_can_go_on_writing() {
    let folder = tempfile::tempdir().unwrap();
    let index = MessageIndex::open(folder.path()).unwrap();
    let mut rebuild = Rebuild::start(&index, WriterOptions::default()).unwrap();
    rebuild.apply(&[put(1, "tea")]).unwrap();
    assert!(rebuild.swap("1").unwrap());
    let mut writer = rebuild.into_writer().unwrap();
    writer.apply(&[put(2, "tea")]).unwrap();
    writer.commit("2").unwrap();
    assert_eq!(find(&index, "tea"), BTreeSet::from([1, 2]));
}

#[test]
fn a_rebuild_that_is_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let index = MessageIndex::open(folder.path()).unwrap();
    let mut service = writer(&index);
    service.apply(&[put(1, "tea")]).unwrap();
    service.commit("1").unwrap();
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let mut rebuild = Rebuild::start(&index, WriterOptions::default()).unwrap();
    let during = files();
    rebuild.apply(&[put(2, "tea")]).unwrap();
    rebuild.commit("").unwrap();
    drop(rebuild);
    assert_eq!(files(), during - 2, "neither the generation nor the journal");
    service.apply(&[put(3, "tea")]).unwrap();
    service.commit("2").unwrap();
    assert_eq!(find(&index, "tea"), BTreeSet::from([1, 3]));
    assert!(MessageIndex::in_memory().is_ok_and(|index| matches!(
        Rebuild::start(&index, WriterOptions::default()),
        Err(IndexError::NoFolder)
    )));
}
