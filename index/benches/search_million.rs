//! Messages by the million with a vocabulary that grows (names, numbers, links), indexed and
//! searched, beside a bare tantivy index of character pairs over the same messages in the same run.
//!
//! Environment: `CHATKEEP_SEARCH_MESSAGES` (1,000,000), `CHATKEEP_SEARCH_CHANNELS` (1,000; 1 for
//! all in one channel), `CHATKEEP_SEARCH_QUERIES` of each kind (1,000), `CHATKEEP_SEARCH_KIND` for
//! one kind alone (`question`, say), `CHATKEEP_SEARCH_BARE=0` leaves the bare index out.
//! `CHATKEEP_SEARCH_CORPUS=FOLDER` stores messages and queries in that folder, for
//! `benches/search.py` to search them elsewhere; messages that are there already are used as they
//! are, so that other text can be measured. `CHATKEEP_SEARCH_INDEX=FOLDER` keeps the index there; a
//! complete one is searched as it is.

#![expect(clippy::disallowed_methods, reason = "the size of a run by hand, threads with a pace")]
#![expect(clippy::expect_used, clippy::cast_precision_loss, reason = "a bench fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chatkeep_index::search::{
    BatchLimits, IndexChange, IndexDoc, IndexSearch, MessageIndex, Query, Sort, WriterOptions,
};

#[path = "million/bare.rs"]
mod bare;
mod corpus;
#[path = "million/measure.rs"]
mod measure;
#[path = "million/messages.rs"]
mod messages;

use bare::Bare;
use corpus::Language;
use measure::{Clock, own_memory, print_size, print_times};
use messages::{Asked, KINDS, Shape, each_message, queries, sender, write_messages, write_queries};

/// Threads that search while messages arrive, and for how long.
const SEARCHERS: usize = 32;
const LOAD: Duration = Duration::from_secs(10);
/// Messages that arrive at once, and the time between two arrivals: 1,000 a second.
const ARRIVING: usize = 500;
const PAUSE: Duration = Duration::from_millis(500);

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

fn main() {
    let shape = Shape {
        messages: number("CHATKEEP_SEARCH_MESSAGES", 1_000_000),
        channels: number("CHATKEEP_SEARCH_CHANNELS", 1_000),
        queries: number("CHATKEEP_SEARCH_QUERIES", 1_000),
    };
    let kept = |name| std::env::var_os(name).map(PathBuf::from);
    let passing = tempfile::tempdir().expect("a folder");
    let folder = kept("CHATKEEP_SEARCH_CORPUS").unwrap_or_else(|| passing.path().to_path_buf());
    fs::create_dir_all(&folder).expect("a folder");
    let languages = Language::all();
    if !folder.join("messages.tsv").exists() {
        write_messages(&folder, &languages, shape);
    }
    let queries = queries(&languages, shape);
    write_queries(&folder, &queries);
    let dir = kept("CHATKEEP_SEARCH_INDEX").unwrap_or_else(|| passing.path().join("own"));
    let own = Own::build(&dir, &folder);
    let with_bare = number("CHATKEEP_SEARCH_BARE", 1) > 0;
    let bare = with_bare.then(|| Bare::build(&passing.path().join("bare"), &folder));
    println!("\ntop 20 of one channel, counted             p50           p99");
    let only = std::env::var("CHATKEEP_SEARCH_KIND").ok();
    for kind in KINDS.into_iter().filter(|kind| only.as_deref().is_none_or(|only| only == *kind)) {
        let queries: Vec<_> = queries.iter().filter(|query| query.kind == kind).collect();
        report(&format!("{kind:9} own, by relevance"), &queries, |q| {
            own.search(q, Sort::Relevance)
        });
        report(&format!("{kind:9} own, by time"), &queries, |q| own.search(q, Sort::Newest));
        if let Some(bare) = bare.as_ref().filter(|_| ["two", "four", "word"].contains(&kind)) {
            report(&format!("{kind:9} bare, by relevance"), &queries, |q| bare.by_score(q));
            report(&format!("{kind:9} bare, by time"), &queries, |q| bare.by_time(q));
        }
    }
    println!("{} MB of memory besides files", own_memory());
    if only.is_none() {
        under_load(&own, &queries);
    }
}

fn report(what: &str, queries: &[&Asked], mut search: impl FnMut(&Asked) -> usize) {
    let found: usize = queries.iter().take(50).map(|query| search(query)).sum();
    let mut times: Vec<Duration> = Vec::with_capacity(queries.len());
    for query in queries {
        let begun = Instant::now();
        std::hint::black_box(search(query));
        times.push(begun.elapsed());
    }
    print_times(what, times, &format!("({found} found by 50)"));
}

/// Searches in many threads while messages arrive, each kind of query by itself, then all.
fn under_load(own: &Own, queries: &[Asked]) {
    println!("\n{SEARCHERS} threads, 1,000 messages/s arriving        p50           p99");
    for sort in [Sort::Relevance, Sort::Newest] {
        let (next, done) = (AtomicUsize::new(0), AtomicBool::new(false));
        let begun = Instant::now();
        let times: Vec<Duration> = thread::scope(|scope| {
            let search = || {
                let mut times = Vec::new();
                while begun.elapsed() < LOAD {
                    let query = &queries[next.fetch_add(1, Ordering::Relaxed) % queries.len()];
                    let begun = Instant::now();
                    own.search(query, sort);
                    times.push(begun.elapsed());
                }
                times
            };
            let searchers: Vec<_> = (0..SEARCHERS).map(|_| scope.spawn(search)).collect();
            let writer = scope.spawn(|| own.arrive(&done));
            let times = searchers.into_iter().flat_map(|thread| thread.join().expect("times"));
            let times = times.collect();
            done.store(true, Ordering::Relaxed);
            writer.join().expect("a writer");
            times
        });
        let rate = times.len() as f64 / LOAD.as_secs_f64();
        print_times(&format!("all kinds, {sort:?}"), times, &format!("{rate:.0} searches/s"));
    }
}

/// The index of this crate.
struct Own(MessageIndex);

fn put(id: usize, channel: &str, sent_at: i64, text: &str) -> IndexChange {
    IndexChange::Put(IndexDoc {
        channel_id: channel.to_owned(),
        message_id: format!("{}", 500_000_000_000_000_000 + id),
        sender_id: Some(sender(id)),
        kind: "text".to_owned(),
        sent_at,
        text: text.to_owned(),
    })
}

impl Own {
    fn build(dir: &Path, corpus: &Path) -> Self {
        let index = MessageIndex::open(dir).expect("an index");
        if index.position().as_deref() == Some("the end") {
            return Self(index);
        }
        let clock = Clock::start();
        let mut writer = index.writer(WriterOptions::default()).expect("the only writer");
        let mut batch = Vec::with_capacity(2_000);
        let mut messages = 0;
        each_message(corpus, |id, channel, sent_at, text| {
            messages = id + 1;
            batch.push(put(id, channel, sent_at, text));
            if batch.len() == 2_000 {
                writer.apply(&batch).expect("changes apply");
                batch.clear();
                if writer.is_due(BatchLimits::default(), Duration::ZERO) {
                    writer.commit("somewhere").expect("a commit");
                }
            }
        });
        writer.apply(&batch).expect("changes apply");
        writer.commit("the end").expect("a commit");
        clock.print("own", messages);
        writer.close().expect("merges end");
        clock.print("own, merges included", messages);
        print_size("own", dir);
        Self(index)
    }

    fn search(&self, asked: &Asked, sort: Sort) -> usize {
        let query = Query::parse(&asked.text).expect("a query");
        let channels = [asked.channel.as_str()];
        let request =
            IndexSearch { channels: Some(&channels), sort, limit: 20, ..IndexSearch::new(&query) };
        self.0.search(&request).expect("a page").hits.len()
    }

    /// Puts a thousand messages a second until `done`, and commits them twice a second. They
    /// replace each other, so that a kept index stays as it is but for these.
    fn arrive(&self, done: &AtomicBool) {
        let mut writer = self.0.writer(WriterOptions::default()).expect("the only writer");
        let channel = messages::channel(0);
        let mut now = 1_800_000_000_000;
        while !done.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let puts: Vec<_> = (0..ARRIVING)
                .map(|at| put(1 << 40 | at, &channel, now + 1, "a new message 新的消息"))
                .collect();
            now += 1_000;
            writer.apply(&puts).expect("changes apply");
            writer.commit("the end").expect("a commit");
            thread::sleep(PAUSE.saturating_sub(begun.elapsed()));
        }
    }
}
