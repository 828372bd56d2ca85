//! Indexing 100,000 messages in five languages and 100 channels, and searching them.
//!
//! `index` writes and commits them all (items are messages); the queries run over the whole index
//! (`all`) or as members of one channel see it (`channel`), 20 hits a page with an exact total.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]

use std::sync::LazyLock;

use chatkeep_index::search::{
    Highlighter, IndexChange, IndexDoc, IndexSearch, MessageIndex, Query, Sort, WriterOptions,
};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

mod corpus;

use corpus::{Language, Numbers};

const MESSAGES: usize = 100_000;
const CHANNELS: usize = MESSAGES / 1_000;
/// Messages between two commits while indexing.
const BATCH: usize = 50_000;

/// Typical queries: substrings, words, prefixes of words, phrases, texts without a match.
const QUERIES: [&str; 10] = [
    "one_han",
    "two_han",
    "four_han",
    "two_kana",
    "thai",
    "hangul",
    "word",
    "prefix",
    "two_words",
    "phrase",
];

fn main() {
    divan::main();
}

static CHANGES: LazyLock<Vec<IndexChange>> = LazyLock::new(|| {
    let languages = Language::all();
    let mut numbers = Numbers(2);
    let message = |id: usize| IndexDoc {
        channel_id: format!("C{:032x}", numbers.below(CHANNELS)),
        message_id: format!("{}", 500_000_000_000_000_000 + id),
        sender_id: Some(format!("U{:032x}", numbers.below(5_000))),
        kind: "text".to_owned(),
        sent_at: 1_700_000_000_000 + i64::try_from(id).expect("a small number") * 1_000,
        text: languages[numbers.below(languages.len())].message(&mut numbers),
    };
    (0..MESSAGES).map(message).map(IndexChange::Put).collect()
});

static INDEX: LazyLock<MessageIndex> = LazyLock::new(|| {
    let index = MessageIndex::in_memory().expect("an empty index");
    fill(&index, WriterOptions::default());
    index
});

fn fill(index: &MessageIndex, options: WriterOptions) {
    let mut writer = index.writer(options).expect("the only writer");
    for batch in CHANGES.chunks(BATCH) {
        writer.apply(batch).expect("changes apply");
        writer.commit("somewhere").expect("a commit");
    }
    writer.close().expect("merges end");
}

/// Returns 64 queries of one kind, taken from messages of the index.
fn queries(kind: &str) -> Vec<Query> {
    let languages = Language::all();
    let mut numbers = Numbers(3);
    let mut word = |language: usize, chars: usize| loop {
        let words = &languages[language].words;
        let word = &words[numbers.skewed(words.len())];
        if word.chars().count() >= chars {
            return word.chars().take(chars).collect::<String>();
        }
    };
    let mut query = || match kind {
        "one_han" => word(0, 1),
        "two_han" => word(0, 2),
        "four_han" => word(0, 2) + &word(0, 2),
        "two_kana" => word(1, 2),
        "thai" => word(2, 3),
        "hangul" => word(3, 2),
        "word" => word(4, 6),
        "prefix" => word(4, 2),
        "two_words" => format!("{} {}", word(4, 3), word(4, 6)),
        _ => format!("\"{} {}\"", word(4, 3), word(4, 2)),
    };
    (0..64).map(|_| Query::parse(&query()).expect("a query")).collect()
}

fn run(bencher: Bencher<'_, '_>, kind: &str, sort: Sort, channels: Option<&[&str]>) {
    let queries = queries(kind);
    let mut next = queries.iter().cycle();
    let index = &*INDEX;
    bencher.bench_local(|| {
        let query = next.next().expect("an endless cycle");
        let request = IndexSearch { channels, sort, limit: 20, ..IndexSearch::new(query) };
        index.search(black_box(&request)).expect("a page")
    });
}

#[divan::bench(sample_count = 3, sample_size = 1, args = [1, 2])]
fn index(bencher: Bencher<'_, '_>, threads: usize) {
    LazyLock::force(&CHANGES);
    bencher.counter(ItemsCount::new(MESSAGES)).bench_local(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let index = MessageIndex::open(folder.path()).expect("an empty index");
        fill(&index, WriterOptions { threads, ..WriterOptions::default() });
        index
    });
}

#[divan::bench(args = QUERIES, sample_count = 512, sample_size = 1)]
fn all_by_relevance(bencher: Bencher<'_, '_>, kind: &str) {
    run(bencher, kind, Sort::Relevance, None);
}

#[divan::bench(args = QUERIES, sample_count = 512, sample_size = 1)]
fn all_by_time(bencher: Bencher<'_, '_>, kind: &str) {
    run(bencher, kind, Sort::Newest, None);
}

#[divan::bench(args = QUERIES, sample_count = 512, sample_size = 1)]
fn channel_by_relevance(bencher: Bencher<'_, '_>, kind: &str) {
    run(bencher, kind, Sort::Relevance, Some(&["C00000000000000000000000000000007"]));
}

#[divan::bench(args = QUERIES, sample_count = 512, sample_size = 1)]
fn channel_by_time(bencher: Bencher<'_, '_>, kind: &str) {
    run(bencher, kind, Sort::Newest, Some(&["C00000000000000000000000000000007"]));
}

#[divan::bench(args = QUERIES)]
fn highlights(bencher: Bencher<'_, '_>, kind: &str) {
    let query = &queries(kind)[0];
    let Some(IndexChange::Put(message)) = CHANGES.first() else { return };
    bencher.bench_local(|| Highlighter::new(query).highlight(black_box(&message.text)));
}
