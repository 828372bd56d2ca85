//! Commits of few messages to an index of 105,000, as chats in use make them: the processor time of
//! a commit with the merges that follow from it, the segments that are left, and the time of searches
//! in one of 100 channels then.

#![expect(clippy::cast_precision_loss, reason = "numbers that are printed")]
#![expect(clippy::disallowed_methods, reason = "the pace of the commits, without a runtime")]
#![expect(clippy::expect_used, reason = "a bench fails by panicking")]
#![expect(clippy::print_stdout, reason = "results")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use chatkeep_index::search::{
    IndexChange, IndexDoc, IndexSearch, MessageIndex, Query, WriterOptions,
};

mod corpus;
#[path = "million/measure.rs"]
#[expect(dead_code, reason = "shared with another bench")]
mod measure;

use corpus::{Language, Numbers};
use measure::{processor_seconds, segments_of};

/// Messages of the commits before: a large segment or two, and one of a day.
const BEFORE: [usize; 2] = [100_000, 5_000];
const CHANNELS: usize = 100;
const COMMITS: usize = 120;
/// Interval between commits.
const PACE: Duration = Duration::from_millis(250);

fn main() {
    for messages in [1, 5, 50] {
        let folder = tempfile::tempdir().expect("a folder");
        trickle(folder.path(), messages);
    }
}

fn trickle(folder: &Path, messages: usize) {
    let mut chat = Chat::new();
    let index = MessageIndex::open(folder).expect("an index");
    let mut writer = index.writer(WriterOptions::default()).expect("the only writer");
    for messages in BEFORE {
        writer.apply(&chat.next(messages)).expect("changes apply");
        writer.commit("somewhere").expect("a commit");
    }
    let used = processor_seconds();
    for _ in 0..COMMITS {
        let begun = Instant::now();
        writer.apply(&chat.next(messages)).expect("changes apply");
        writer.commit("somewhere").expect("a commit");
        thread::sleep(PACE.saturating_sub(begun.elapsed()));
    }
    let segments = segments_of(folder);
    writer.close().expect("merges end");
    let each = (processor_seconds() - used) * 1e3 / COMMITS as f64;
    println!("commits of {messages}: {each:.1} ms each, {segments} segments; {}", searches(&index));
}

/// Returns the medians of searches for two words and for eight, in one channel.
fn searches(index: &MessageIndex) -> String {
    let mut chat = Chat::new();
    let (two, eight) = (median(index, &mut chat, 2), median(index, &mut chat, 8));
    format!("two words {two:.0} µs, eight words {eight:.0} µs")
}

/// Returns the median time of 500 searches, in microseconds.
fn median(index: &MessageIndex, chat: &mut Chat, words: usize) -> f64 {
    let channel = format!("C{:032x}", 1);
    let channels = [channel.as_str()];
    let mut times = Vec::with_capacity(500);
    for _ in 0..500 {
        let query = Query::parse(&chat.words(words)).expect("a query");
        let search =
            IndexSearch { channels: Some(&channels), limit: 20, ..IndexSearch::new(&query) };
        let begun = Instant::now();
        std::hint::black_box(index.search(&search).expect("a page"));
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Messages in the languages of the corpus.
struct Chat {
    languages: Vec<Language>,
    numbers: Numbers,
    sent: usize,
}

impl Chat {
    fn new() -> Self {
        Self { languages: Language::all(), numbers: Numbers(2), sent: 0 }
    }

    fn text(&mut self) -> String {
        let language = self.numbers.below(self.languages.len());
        self.languages[language].message(&mut self.numbers)
    }

    /// Returns words of one language, frequent ones more often, with spaces between them.
    fn words(&mut self, count: usize) -> String {
        let words = &self.languages[self.numbers.below(self.languages.len())].words;
        let word = || words[self.numbers.skewed(words.len())].as_str();
        std::iter::repeat_with(word).take(count).collect::<Vec<_>>().join(" ")
    }

    fn next(&mut self, count: usize) -> Vec<IndexChange> {
        let mut message = || {
            self.sent += 1;
            IndexChange::Put(IndexDoc {
                channel_id: format!("C{:032x}", self.numbers.below(CHANNELS)),
                message_id: format!("{}", 500_000_000_000_000_000 + self.sent),
                sender_id: Some(format!("U{:032x}", self.numbers.below(5_000))),
                kind: "text".to_owned(),
                sent_at: 1_700_000_000_000 + i64::try_from(self.sent).expect("small") * 1_000,
                text: self.text(),
            })
        };
        std::iter::repeat_with(&mut message).take(count).collect()
    }
}
